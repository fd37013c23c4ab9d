//! Damage to files, and a way to read what is left.

use reuselens_formats::AnySource;
use reuselens_trace::{Block, Source, Step, TraceError};

use super::Random;

/// Far more steps than any input here has.
const MOST_STEPS: usize = 10_000;

/// Reads to the end; returns how many rows came.
pub fn rows_of(source: Result<AnySource, TraceError>) -> usize {
    let Ok(mut source) = source else {
        return 0;
    };
    let mut block = Block::new();
    let mut rows = 0;
    for _ in 0..MOST_STEPS {
        match source.next(&mut block) {
            Ok(Step::Block) => rows += block.len(),
            Ok(Step::Event(_)) => {}
            Ok(Step::End) | Err(_) => return rows,
        }
    }
    panic!("no end after {MOST_STEPS} steps");
}

/// What [`damage`] is to put in, for readers of any format: ends of numbers, and what text readers
/// cut at.
pub const LIKELY: &[u8] = &[0, 0x7f, 0x80, 0xff, b'\n', b' ', b','];

/// Changes a few places: bits, bytes (some to those of `likely`), runs removed or repeated, an end
/// cut off or drawn out.
pub fn damage(random: &mut Random, bytes: &mut Vec<u8>, likely: &[u8]) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let end = (at + 1 + random.below(16)).min(bytes.len());
        match random.below(7) {
            _ if bytes.is_empty() => bytes.push(random.next() as u8),
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => bytes[at] = likely[random.below(likely.len())],
            3 => drop(bytes.drain(at..end)),
            4 => {
                let run = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, run);
            }
            5 => bytes.truncate(at),
            _ => bytes.resize(bytes.len() + random.below(64), bytes[at]),
        }
    }
}
