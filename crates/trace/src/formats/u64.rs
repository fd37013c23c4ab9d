//! Raw items: little-endian 64-bit numbers, nothing else.

use crate::formats::Confidence;
use crate::formats::feed::{ENOUGH, Feed, item};
use crate::{Block, Input, Process, Source, Step, TraceError};

/// What to type after `--format`.
pub const NAME: &str = "u64";
/// One line for `reuselens formats`.
pub const SUMMARY: &str =
    "raw little-endian 64-bit items, nothing between them (ending .u64 or .bin)";

/// Never: any bytes could be raw numbers, so the format must be named.
pub fn detect(_head: &[u8]) -> Confidence {
    Confidence::No
}

/// Reads raw 64-bit items; each is a load of one byte whose address is the item.
pub struct Reader {
    input: Input,
    feed: Feed,
}

impl Reader {
    /// A reader at the start of `input`.
    ///
    /// # Errors
    /// [`TraceError::Empty`] or [`TraceError::Io`] if the first bytes cannot be had.
    pub fn new(mut input: Input) -> Result<Reader, TraceError> {
        input.head()?;
        Ok(Reader {
            input,
            feed: Feed::new(Process::default()),
        })
    }
}

impl Source for Reader {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        let input = &mut self.input;
        self.feed.next(block, |rows| fill(input, rows))
    }

    fn has_addresses(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        format!("64-bit items of {}", self.input.path().display())
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.input.progress()
    }
}

fn fill(input: &mut Input, rows: &mut Block) -> Result<bool, TraceError> {
    // To exactly that many, so that blocks are the same however the bytes come.
    while rows.len() < ENOUGH {
        let (items, rest) = input.at_least(8)?.as_chunks::<8>();
        if items.is_empty() {
            let left = rest.len();
            if left == 0 {
                return Ok(false);
            }
            let what = format!(
                "the last {left} bytes are no whole 64-bit item: the length of the input is not a multiple of 8"
            );
            return Err(input.bad_bytes(input.offset(), what));
        }
        let items = &items[..items.len().min(ENOUGH - rows.len())];
        rows.extend(items.iter().map(|&bytes| item(u64::from_le_bytes(bytes))));
        let taken = size_of_val(items);
        input.consume(taken);
    }
    Ok(true)
}
