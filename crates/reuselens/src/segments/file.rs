//! A segment of a trace file, and what it says of the program.

use reuselens_attribute::Columns;
use reuselens_profile::Machine;
use reuselens_trace::{AnySegment, Block, Source, Step, TraceError, TraceSegment};
use reuselens_units::{Accesses, Bytes};

use super::scheduler::{Divisible, Reading};
use crate::AnalysisOptions;
use crate::attribution::Attribution;

/// Item accesses that are gathered before they are counted: they stay in a processor's own cache.
const TOGETHER: usize = 1 << 13;

/// A segment of a trace file, and the attribution of its blocks and events.
pub(super) struct FileSegment<'a> {
    source: AnySegment,
    machine: &'a Machine,
    options: &'a AnalysisOptions,
    pub attribution: Attribution,
    block: Block,
    columns: Columns,
    /// Whether there was a block.
    pub begun: bool,
    /// The signal by which an end was asked for before all was read.
    pub asked: Option<i32>,
}

impl<'a> FileSegment<'a> {
    pub(super) fn new(
        source: AnySegment,
        machine: &'a Machine,
        options: &'a AnalysisOptions,
    ) -> Self {
        FileSegment {
            attribution: Attribution::new(&source, machine, options),
            source,
            machine,
            options,
            block: Block::new(),
            columns: Columns::new(),
            begun: false,
            asked: None,
        }
    }

    /// Counts what was gathered, after which nothing more is read, and frees the buffers.
    fn end(&mut self, count: &mut dyn FnMut(&[u64])) {
        self.block = Block::new();
        count(&std::mem::take(&mut self.columns).items);
    }
}

impl Divisible for FileSegment<'_> {
    fn read(&mut self, count: &mut dyn FnMut(&[u64])) -> Reading {
        match self.source.next(&mut self.block) {
            Ok(Step::Block) => {
                self.begun = true;
                if self.block.item_batch.elements_straddle {
                    return Reading::Failed;
                }
                let (block, columns) = (&mut self.block, &mut self.columns);
                self.attribution
                    .gather(block, columns, |piece| count(&piece.items));
                if columns.len() >= TOGETHER {
                    count(&columns.items);
                    columns.clear();
                }
                Reading::More
            }
            Ok(Step::Event(event)) => {
                self.attribution.event(event);
                Reading::More
            }
            Ok(Step::End) => {
                self.end(count);
                Reading::End
            }
            Err(TraceError::Stopped { signal }) => {
                self.asked = Some(signal);
                self.end(count);
                Reading::Stopped
            }
            // Only a reader of the whole trace knows what is before the damage, and what to say.
            Err(_) => Reading::Failed,
        }
    }

    fn split_off(&mut self, shortest: Accesses) -> Option<Self> {
        // If the half cannot be read now, this segment cannot be read to its end either, and
        // returns the error then.
        let half = self.source.split_off(shortest).ok().flatten()?;
        Some(FileSegment::new(half, self.machine, self.options))
    }

    fn position(&self) -> u64 {
        self.source.progress().map_or(0, |(position, _)| position)
    }

    fn memory(&self) -> Bytes {
        self.attribution.memory() + self.source.buffers()
    }
}
