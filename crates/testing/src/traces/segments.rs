//! What files of records and archives of them deliver in segments.

use reuselens_trace::{AnyStretch, Block, Source, Step, Stretch, Wish};
use reuselens_units::Accesses;

use super::{Piece, Random, drain, rows};

/// Items, and the error that they end with, if any.
pub type Delivered = (Vec<u64>, Option<String>);

/// The items of the rows of a source, and what the rows end with.
pub fn items_of_rows(source: &mut dyn Source, wish: Wish) -> Delivered {
    let (pieces, error) = drain(source);
    let rows = rows(&pieces);
    let counted = rows.iter().filter(|row| wish.counts(row.kind));
    let items = counted.map(|row| row.addr >> wish.granularity.shift());
    (items.collect(), error.map(|error| error.to_string()))
}

/// The items of a source that makes no rows.
pub fn items(source: &mut dyn Source) -> Delivered {
    let (pieces, error) = drain(source);
    let (mut items, mut events) = (Vec::new(), 0);
    for piece in &pieces {
        match piece {
            Piece::Block(block) => {
                assert!(block.is_empty() && block.touches.is_there());
                assert_eq!(block.touches.references, block.touches.items.len() as u64);
                items.extend_from_slice(&block.touches.items);
            }
            Piece::Event(_) => events += 1,
        }
    }
    assert_eq!(events, 2, "the process and its thread");
    (items, error.map(|error| error.to_string()))
}

/// The items that stretches deliver one after the other, up to the first error.
pub fn together(stretches: Vec<AnyStretch>) -> Delivered {
    joined(stretches, items)
}

/// What `delivered` finds in stretches one after the other, up to the first error.
pub fn joined<T>(
    stretches: Vec<AnyStretch>,
    delivered: impl Fn(&mut dyn Source) -> (Vec<T>, Option<String>),
) -> (Vec<T>, Option<String>) {
    let mut all = Vec::new();
    for mut stretch in stretches {
        let (more, error) = delivered(&mut stretch);
        all.extend(more);
        if error.is_some() {
            return (all, error);
        }
    }
    (all, None)
}

/// The items of stretches that are split again and again while they are read, and how often that
/// was.
pub fn split_meanwhile(mut waiting: Vec<AnyStretch>, random: &mut Random) -> (Vec<u64>, usize) {
    let (mut all, mut splits) = (Vec::new(), 0);
    while !waiting.is_empty() {
        let mut stretch = waiting.remove(0);
        let mut block = Block::new();
        loop {
            if random.below(2) == 0
                && let Some(half) = stretch.split_off(Accesses(500)).unwrap()
            {
                waiting.insert(0, half);
                splits += 1;
            }
            match stretch.next(&mut block).unwrap() {
                Step::Block => all.extend_from_slice(&block.touches.items),
                Step::Event(_) => {}
                Step::End => break,
            }
        }
    }
    (all, splits)
}
