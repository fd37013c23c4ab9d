//! What files of records and archives of them deliver in segments.

use reuselens_trace::{AnySegment, Block, ItemProjection, Source, Step, TraceSegment};
use reuselens_units::Accesses;

use super::{Piece, Random, drain, rows};

/// Items, and the error that they end with, if any.
pub type Delivered = (Vec<u64>, Option<String>);

/// The items of the rows of a source, and what the rows end with.
pub fn items_of_rows(source: &mut dyn Source, projection: ItemProjection) -> Delivered {
    let (pieces, error) = drain(source);
    let rows = rows(&pieces);
    let counted = rows.iter().filter(|row| projection.counts(row.kind));
    let items = counted.map(|row| row.addr >> projection.granularity.shift());
    (items.collect(), error.map(|error| error.to_string()))
}

/// The items of a source that makes no rows.
pub fn items(source: &mut dyn Source) -> Delivered {
    let (pieces, error) = drain(source);
    let (mut items, mut events) = (Vec::new(), 0);
    for piece in &pieces {
        match piece {
            Piece::Block(block) => {
                assert!(block.is_empty() && block.item_batch.is_used());
                assert_eq!(
                    block.item_batch.references,
                    block.item_batch.items.len() as u64
                );
                items.extend_from_slice(&block.item_batch.items);
            }
            Piece::Event(_) => events += 1,
        }
    }
    assert_eq!(events, 2, "the process and its thread");
    (items, error.map(|error| error.to_string()))
}

/// The items that segments deliver one after the other, up to the first error.
pub fn together(segments: Vec<AnySegment>) -> Delivered {
    joined(segments, items)
}

/// What `delivered` finds in segments one after the other, up to the first error.
pub fn joined<T>(
    segments: Vec<AnySegment>,
    delivered: impl Fn(&mut dyn Source) -> (Vec<T>, Option<String>),
) -> (Vec<T>, Option<String>) {
    let mut all = Vec::new();
    for mut segment in segments {
        let (more, error) = delivered(&mut segment);
        all.extend(more);
        if error.is_some() {
            return (all, error);
        }
    }
    (all, None)
}

/// The items of segments that are split again and again while they are read, and how often that
/// was.
pub fn split_meanwhile(mut waiting: Vec<AnySegment>, random: &mut Random) -> (Vec<u64>, usize) {
    let (mut all, mut splits) = (Vec::new(), 0);
    while !waiting.is_empty() {
        let mut segment = waiting.remove(0);
        let mut block = Block::new();
        loop {
            if random.below(2) == 0
                && let Some(half) = segment.split_off(Accesses(500)).unwrap()
            {
                waiting.insert(0, half);
                splits += 1;
            }
            match segment.next(&mut block).unwrap() {
                Step::Block => all.extend_from_slice(&block.item_batch.items),
                Step::Event(_) => {}
                Step::End => break,
            }
        }
    }
    (all, splits)
}
