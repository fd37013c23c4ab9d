//! The items of a trace, for examples that measure engines on them.

use std::path::Path;

use reuselens::attribute::{Attributor, Columns, NoSymbols, Options};
use reuselens::formats;
use reuselens::trace::{Block, Step, TraceError};
use reuselens::units::Granularity;

/// All items of a trace, of this size; of a trace of ids, the ids. They are 8 bytes in memory each.
pub fn read(path: &Path, granularity: Granularity) -> Result<Vec<u64>, TraceError> {
    let mut source = formats::open(path, None)?;
    let ids = !source.has_addresses();
    let mut attributor = Attributor::new(Options {
        granularity: if ids { Granularity::BYTE } else { granularity },
        contexts: false,
        totals_only: true,
        ids,
        ..Options::default()
    });
    let (mut block, mut columns, mut items) = (Block::new(), Columns::new(), Vec::new());
    loop {
        match source.next(&mut block)? {
            Step::Block => attributor.pieces(&block, &mut columns, |piece| {
                items.extend_from_slice(&piece.items);
            }),
            Step::Event(event) => attributor.event(&event, &mut NoSymbols),
            Step::End => return Ok(items),
        }
    }
}
