//! The pass over one block: its rows become item accesses, each with the cell that it counts for.
//!
//! [`Pass::run`] chooses among five ways. The first serves every trace of addresses. The next three
//! give the same result in less time, where less is asked for or more is known:
//!
//! | way | file | used if |
//! |---|---|---|
//! | row by row | `rows.rs`, `access.rs` | nothing else fits |
//! | rows in batches of 64 | `row_batches.rs` | no access is filtered ([`Options::is_plain`]) |
//! | repeats | `repeats.rs`, `iterations.rs` | the block has compressed rows ([`Options::folds`]) |
//! | items only | `items_only.rs` | all accesses count for one cell ([`Options::is_totals_only`]) |
//! | ids | `items_only.rs` | addresses are items already ([`Options::ids`]) |

mod access;
mod dispatch;
mod items_only;
mod iterations;
mod object_at;
mod offsets;
mod parts;
mod repeat_cache;
mod repeats;
mod row_batches;
mod rows;

use reuselens_trace::{Block, RepeatExpander};
use reuselens_units::Granularity;

use crate::cells::CellKey;
use crate::columns::Columns;
use crate::options::Options;
use crate::shared::Shared;
use crate::stack::{ShadowStack, TopFrame};
use crate::state::{ProcessState, ThreadState};
use crate::statement_addresses::StatementAddresses;
use access::PendingCells;
use iterations::IterationBuffer;
use offsets::CurrentElements;
use repeat_cache::RepeatCache;
use row_batches::BatchBuffer;

/// The bits of an address from here on hold the number of its process, so that processes share no
/// items.
const PROCESS_SHIFT: u32 = 48;

/// Where a pass writes.
pub(crate) struct PassOutput<'a> {
    pub columns: &'a mut Columns,
    /// Item accesses in `columns` at which they are sent.
    pub piece: usize,
    /// Takes columns that are full.
    pub send: &'a mut dyn FnMut(&Columns),
}

/// The thread that ran the block. Its stack and addresses are taken out of the list of threads.
pub(crate) struct CurrentThread<'a> {
    pub number: usize,
    pub stack: &'a mut ShadowStack,
    pub statement: &'a mut StatementAddresses,
}

/// What passes keep of compressed rows from block to block.
#[derive(Debug, Default)]
pub(crate) struct RepeatState {
    cache: RepeatCache,
    iterations: IterationBuffer,
    /// Decompresses blocks, where [`Options::folds`] does not hold.
    expander: RepeatExpander,
}

impl RepeatState {
    /// Memory held, but for the iteration buffer, which is in proportion to one iteration.
    pub fn memory(&self) -> u64 {
        self.cache.memory()
    }
}

/// A pass over a block, with all that it reads and changes.
pub(crate) struct Pass<'a> {
    process: &'a mut ProcessState,
    stack: &'a mut ShadowStack,
    statement: &'a mut StatementAddresses,
    /// All threads; the stack of the current one is in `stack`.
    threads: &'a [ThreadState],
    shared: &'a mut Shared,
    repeats: &'a mut RepeatState,
    columns: &'a mut Columns,
    piece: usize,
    send: &'a mut dyn FnMut(&Columns),
    options: &'a Options,
    granularity: Granularity,
    /// The number of the process, shifted to where it is in addresses: see [`PROCESS_SHIFT`].
    process_bits: u64,
    top: TopFrame,
    /// Context and thread, as site slots and packed cell keys have them.
    owner: u64,
    thread: u32,
    /// The thread in whose stack an address was found last.
    last_stack: usize,
    /// The elements that the last access was to, where offsets are asked for.
    elements: Option<CurrentElements>,
    pending: PendingCells,
    batch: BatchBuffer,
    /// Item accesses in `columns` that are counted by cell: see [`crate::merging`].
    counted: usize,
}

impl<'a> Pass<'a> {
    pub fn new(
        options: &'a Options,
        process: &'a mut ProcessState,
        threads: &'a [ThreadState],
        thread: CurrentThread<'a>,
        shared: &'a mut Shared,
        repeats: &'a mut RepeatState,
        output: PassOutput<'a>,
    ) -> Self {
        let mut pass = Pass {
            process_bits: u64::from(process.id) << PROCESS_SHIFT,
            granularity: options.granularity,
            process,
            counted: output.columns.len(),
            stack: thread.stack,
            statement: thread.statement,
            threads,
            shared,
            repeats,
            columns: output.columns,
            piece: output.piece,
            send: output.send,
            options,
            top: TopFrame::default(),
            owner: 0,
            thread: thread.number as u32,
            last_stack: thread.number,
            elements: None,
            pending: PendingCells::default(),
            batch: BatchBuffer::default(),
        };
        if let Some(visits) = &mut pass.shared.visits {
            visits.begin_block();
        }
        pass.frame_changed();
        pass
    }

    /// Appends the item accesses of a block to the columns.
    pub fn run(&mut self, block: &Block) {
        let options = self.options;
        if !block.repeats.is_empty() {
            return if options.folds() {
                self.run_repeats(block)
            } else {
                let expanded = self.repeats.expander.expand(block);
                self.run(&expanded)
            };
        }
        if options.ids {
            return self.run_ids(block);
        }
        if options.is_totals_only() {
            return if block.item_batch.is_used() {
                self.run_item_accesses(block)
            } else if options.stores {
                self.shared.cell(CellKey::default());
                (0..block.len()).for_each(|row| self.row_items_only(block, row));
            } else {
                self.run_items_only(block)
            };
        }
        if options.is_plain() {
            self.run_rows::<true>(block)
        } else {
            self.run_rows::<false>(block)
        }
    }

    /// Passes the columns to their consumer and empties them.
    #[cold]
    fn send_columns(&mut self) {
        self.complete();
        self.shared.add_cells(self.options, self.columns);
        (self.send)(self.columns);
        self.columns.clear();
        self.counted = 0;
        if let Some(visits) = &mut self.shared.visits {
            visits.begin_columns(0);
        }
    }

    /// Completes the columns, and counts their new item accesses by cell and, if the options ask
    /// for it, by context and item.
    pub fn complete(&mut self) {
        self.columns.complete();
        let Shared {
            merging,
            cells,
            visits,
            ..
        } = &mut *self.shared;
        let Columns {
            items,
            cells: of_items,
            ..
        } = &*self.columns;
        merging.count(&of_items[self.counted..], cells);
        if let Some(visits) = visits {
            visits.count(self.counted, items, of_items, cells.keys());
            visits.begin_columns(items.len());
        }
        self.counted = self.columns.len();
    }
}
