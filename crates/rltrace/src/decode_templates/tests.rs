//! What forged blocks of shapes cost.

use super::*;
use crate::templates::ENOUGH_DESCRIBED;
use reuselens_io::varint::Portable;
use reuselens_trace::{Block, Kind};
use reuselens_units::Granularity;

/// Bytes of memory that a decoder holds.
fn held(decoder: &ShapeDecoder) -> usize {
    decoder.sites.capacity() * size_of::<Site>()
        + decoder.words.bytes()
        + decoder.groups.capacity() * size_of::<Group>()
        + decoder.eights.capacity() * size_of::<Eight>()
        + decoder.own_words.capacity() * size_of::<Word>()
        + decoder.notes.capacity() * size_of::<Note>()
        + decoder.plan.bytes()
        + decoder.values.capacity() * size_of::<u64>()
        + decoder.trails.bytes()
        + decoder.lasts.capacity() * size_of::<u64>()
        + decoder.described.capacity() * size_of::<ShapeRow>()
}

/// Shapes that each have a row, of a program counter of its own, with the last of that many words.
fn described(shapes: usize, words: usize) -> Vec<u8> {
    let row = [1, Kind::Load as u8, 8, 2, words as u8, 0];
    row.repeat(shapes)
}

/// Tokens as they are stored: a bit for each, then those that are not 0.
fn masked(tokens: &[u8]) -> Vec<u8> {
    let bits = |eight: &[u8]| {
        let bits = (0..).zip(eight);
        bits.fold(0, |all, (at, token)| all | u8::from(*token != 0) << at)
    };
    let mut stored: Vec<u8> = tokens.chunks(8).map(bits).collect();
    stored.extend(tokens.iter().filter(|&&token| token != 0));
    stored
}

/// Decodes one block of shapes of one row each; there is an address of one byte for each of `words`
/// words.
fn block(
    decoder: &mut ShapeDecoder,
    described: &[u8],
    tokens: &[u8],
    words: usize,
) -> Result<(), Damage> {
    let addrs = vec![0; words];
    let masked = masked(tokens);
    let mut streams = Streams {
        described: Cursor::new(described, 0),
        tokens: Cursor::new(&masked, 0),
        addrs: Cursor::new(&addrs, 0),
    };
    let (notes, mut rows) = (tokens.len(), Block::new());
    let mut columns = rows.overwrite(notes + SLACK);
    let notes = Notes { notes, rows: notes };
    decoder.block_here(Portable, &mut streams, notes, &mut columns)
}

#[test]
fn words_that_have_no_addresses_take_no_memory() {
    let mut tokens = vec![AGAIN as u8; MAX_SHAPED_ROWS];
    (tokens[0], tokens[1]) = (NEW as u8, 3);
    let mut decoder = ShapeDecoder::new(None);
    let damage = block(&mut decoder, &described(1, 64), &tokens, 1000).unwrap_err();
    assert_eq!(damage, END);
    assert!(held(&decoder) < 1 << 18, "{} bytes", held(&decoder));
}

#[test]
fn a_block_has_no_more_words_than_a_writers() {
    let mut tokens = vec![AGAIN as u8; MAX_SHAPED_WORDS / 64 + 1];
    (tokens[0], tokens[1]) = (NEW as u8, 3);
    let (described, words) = (described(1, 64), 64 * tokens.len());
    let mut decoder = ShapeDecoder::new(None);
    let most = tokens.len() - 1;
    block(&mut decoder, &described, &tokens[..most], words).unwrap();
    decoder.clear();
    let damage = block(&mut decoder, &described, &tokens, words).unwrap_err();
    assert_eq!(damage, END);
    assert!(held(&decoder) < 40 << 20, "{} bytes", held(&decoder));
}

/// Blocks of new shapes that have that many words each, until they are refused; how many shapes
/// there were.
fn most_shapes(decoder: &mut ShapeDecoder, words: usize) -> usize {
    let notes = MAX_SHAPED_ROWS.min(MAX_SHAPED_WORDS / words) / 8;
    let tokens = vec![NEW as u8; notes];
    let described = described(notes, words);
    let mut shapes = 0;
    while let Ok(()) = block(decoder, &described, &tokens, words * notes) {
        shapes += notes;
        assert!(shapes < 10 * MOST_SHAPE_ROWS);
    }
    shapes
}

#[test]
fn a_chunk_describes_no_more_than_a_writers() {
    let projection = ItemProjection::new(Granularity::LINE_64, |_| true);
    for (projection, most_held) in [(None, 120 << 20), (Some(projection), 190 << 20)] {
        for words in [1, 2, 3, 8, 64] {
            let mut decoder = ShapeDecoder::new(projection);
            let shapes = most_shapes(&mut decoder, words);
            assert!(shapes <= MOST_SHAPE_ROWS && shapes * words <= MOST_SHAPE_WORDS);
            // What a writer could have made came through.
            assert!(shapes >= ENOUGH_DESCRIBED.min(MOST_SHAPE_WORDS / words) / 2);
            // Twice what there is of anything, as that is how memory grows.
            let held = held(&decoder);
            assert!(held < most_held, "{held} bytes");
            println!("{words} words: {shapes} shapes, {} MiB", held >> 20);
        }
    }
}

#[test]
fn rows_are_counted_without_slack() {
    let mut decoder = ShapeDecoder::new(None);
    let part = MOST_SHAPE_ROWS / 4;
    let tokens = vec![NEW as u8; part];
    for _ in 0..4 {
        block(&mut decoder, &described(part, 1), &tokens, part).unwrap();
    }
    assert_eq!(decoder.sites.len(), MOST_SHAPE_ROWS + 1);
    let damage = block(&mut decoder, &described(1, 1), &[NEW as u8], 1).unwrap_err();
    assert!(damage.0.contains("more sites"), "{}", damage.0);
}
