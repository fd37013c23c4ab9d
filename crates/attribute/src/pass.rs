//! The pass over a block.

mod access;
mod dispatch;
mod frames;
mod iterations;

mod items_only;
mod named;
mod rare;
mod repeat_cache;
mod repeats;
mod row_batches;
mod rows;
mod touches;
mod waiting;

use std::ops::Range;

use reuselens_trace::{Block, Kind};
use reuselens_units::Granularity;

use crate::attributor::{ProcessState, ThreadState};
use crate::cells::CellKey;
use crate::columns::Columns;
use crate::objects::Where;
use crate::options::{DataFilter, Kinds, NamesMode, Options};
use crate::places::Place;
use crate::shadow::NO_STRUCTURE;
use crate::shared::Shared;
use crate::stack::ShadowStack;
use crate::statement_addresses::Touched;
use row_batches::Run;
use rows::Rows;
use waiting::Waiting;

pub(crate) use repeat_cache::Patterns;

/// Bits of an address above which the process is folded in.
const PROCESS_SHIFT: u32 = 48;

/// Columns, touches in a piece, and who takes a piece that is full.
type Output<'a> = (&'a mut Columns, usize, &'a mut dyn FnMut(&Columns));

/// An access, before it is known what it counts for.
#[derive(Clone, Copy)]
struct Access {
    kind: Kind,
    pc: u64,
    address: u64,
    size: u64,
}

/// A pass over a block, with all it needs in reach.
pub(crate) struct Pass<'a> {
    process: &'a mut ProcessState,
    stack: &'a mut ShadowStack,
    touched: &'a mut Touched,
    /// All threads; the current one's stack is in `stack`.
    threads: &'a [ThreadState],
    shared: &'a mut Shared,
    columns: &'a mut Columns,
    piece: usize,
    full: &'a mut dyn FnMut(&Columns),
    options: &'a Options,
    granularity: Granularity,
    /// What is folded into addresses so that processes do not share items.
    fold: u64,
    /// The innermost frame: low end, bytes, object.
    top_low: u64,
    top_bytes: u64,
    top_object: u32,
    /// Context and thread, as a slot of the site table remembers them.
    owner: u64,
    thread: u32,
    /// Thread in whose stack an address was found last.
    neighbour: usize,
    /// Touches whose cells are still to be looked up.
    waiting: Waiting,
    run: Run,
}

impl<'a> Pass<'a> {
    pub fn new(
        options: &'a Options,
        process: &'a mut ProcessState,
        threads: &'a [ThreadState],
        thread: usize,
        (stack, touched): (&'a mut ShadowStack, &'a mut Touched),
        shared: &'a mut Shared,
        (columns, piece, full): Output<'a>,
    ) -> Self {
        let mut pass = Pass {
            fold: u64::from(process.id) << PROCESS_SHIFT,
            granularity: options.granularity,
            process,
            stack,
            touched,
            threads,
            shared,
            columns,
            piece,
            full,
            options,
            top_low: 0,
            top_bytes: 0,
            top_object: 0,
            owner: 0,
            thread: thread as u32,
            neighbour: thread,
            waiting: Waiting::default(),
            run: Run::default(),
        };
        pass.moved();
        pass
    }

    /// Takes in a block.
    pub fn run(&mut self, block: &Block) {
        let options = self.options;
        if !block.folds.is_empty() {
            return match options.folds() {
                true => self.run_folded(block),
                false => {
                    let whole = self.shared.unfolder.unfold(block);
                    self.run(&whole)
                }
            };
        }
        if options.ids {
            return self.run_ids(block);
        }
        if options.is_whole() {
            return match block.touches.is_there() {
                true => self.run_touches(block),
                false if options.stores => {
                    self.shared.cell(CellKey::default());
                    (0..block.len()).for_each(|row| self.row_whole(block, row));
                }
                false => self.run_whole(block),
            };
        }
        if options.is_plain() {
            self.run_rows::<true>(block)
        } else {
            self.run_rows::<false>(block)
        }
    }

    /// `PLAIN`: everything counts.
    fn run_rows<const PLAIN: bool>(&mut self, block: &Block) {
        self.take::<PLAIN>(Rows::of(block), 0..block.len());
        self.resolve();
    }

    /// Takes the rows of a range.
    #[inline(always)]
    fn take<const PLAIN: bool>(&mut self, rows: Rows<'_>, range: Range<usize>) {
        let Range {
            start: mut row,
            end,
        } = range;
        while row < end {
            if PLAIN {
                row = self.run_near(rows, row..end);
            }
            if row < end {
                self.row::<PLAIN>(rows, row);
                row += 1;
            }
        }
    }

    fn row<const PLAIN: bool>(&mut self, rows: Rows<'_>, row: usize) {
        let (kind, pc, address) = (rows.kinds[row], rows.pcs[row], rows.addrs[row]);
        match kind {
            Kind::Load | Kind::Store | Kind::Atomic => {
                let size = u64::from(rows.sizes[row]);
                self.access::<PLAIN>(
                    Access {
                        kind,
                        pc,
                        address,
                        size,
                    },
                    None,
                );
            }
            Kind::Operand => {}
            Kind::BasicBlock => {
                if self.options.basic_blocks {
                    self.columns.begin(self.columns.len(), rows.row(row));
                }
            }
            Kind::Enter => {
                let by_call = rows.sizes[row] != 0;
                self.enter((pc, by_call), address, rows.operand(row, 1));
            }
            Kind::Exit => self.exit(pc, address),
            _ => self.rare::<PLAIN>(rows, row),
        }
    }

    /// The slot of an instruction.
    #[inline(always)]
    fn slot(&mut self, pc: u64, kind: Kind) -> usize {
        match self.process.sites.known(pc, kind) {
            Some(slot) => slot,
            None => self.new_slot(pc, kind),
        }
    }

    #[cold]
    fn new_slot(&mut self, pc: u64, kind: Kind) -> usize {
        // What waits knows slots by their places, which may change now.
        self.resolve();
        let ProcessState {
            sites, mappings, ..
        } = &mut *self.process;
        let site = self.shared.add_site(mappings, pc, kind);
        if site != 0 && self.shared.sites[site as usize].place.module == Place::NO_MODULE {
            sites.add_unplaced(pc, site);
        }
        sites.entry(pc, kind, || site)
    }

    /// Counts an access; `known` is its object and structure, where that is known beforehand.
    #[inline(always)]
    fn access<const PLAIN: bool>(&mut self, access: Access, known: Option<(u32, u32)>) {
        self.count_access::<PLAIN>(access, known);
        if !PLAIN {
            self.mark_stores(access.kind);
        }
    }

    /// Notes whether the touches of an access write, where that is asked for.
    #[inline(always)]
    fn mark_stores(&mut self, kind: Kind) {
        if self.options.stores {
            self.columns.set_stores(Kinds::writes(kind));
        }
    }

    #[inline(always)]
    fn count_access<const PLAIN: bool>(&mut self, access: Access, known: Option<(u32, u32)>) {
        let Access {
            kind,
            pc,
            address,
            size,
        } = access;
        if !PLAIN {
            if self.options.is_whole() {
                return self.touch(kind, pc, address, size);
            }
            if !self.options.kinds.counts(kind) {
                return;
            }
        }
        let slot = self.slot(pc, kind);
        let ProcessState { sites, space, .. } = &mut *self.process;
        let (object, structure) = if let Some(known) = known {
            known
        } else if address.wrapping_sub(self.top_low) < self.top_bytes {
            (self.top_object, NO_STRUCTURE)
        } else if let Some(recalled) = sites.slot(slot).recall(address, &space.versions())
            && (!self.stack.holds(address)
                || sites.slot(slot).is_in_frame()
                || (self.process.named_on_stack && recalled.1 != NO_STRUCTURE))
        {
            // What another thread's access remembers may be around this thread's stack, which comes
            // before: see `locate`.
            recalled
        } else {
            self.locate(slot, address)
        };
        if !PLAIN && !self.passes(object, structure, address) {
            return;
        }
        self.shared.references += 1;
        let (first, last) = self.granularity.cover(address ^ self.fold, size);
        if structure == NO_STRUCTURE && first == last {
            return self.count(slot, object, first);
        }
        let cell = self.cell(slot, object);
        self.columns.push(first, cell);
        if structure != NO_STRUCTURE {
            self.element(structure, address, size);
        }
        if last != first {
            self.push_rest(access, structure, cell);
        }
    }

    /// The items of an access after the first.
    #[cold]
    fn push_rest(&mut self, access: Access, structure: u32, cell: u32) {
        let (address, size) = (access.address, access.size);
        let (first, last) = self.granularity.cover(address ^ self.fold, size);
        for item in first + 1..=last {
            if self.columns.len() >= self.piece {
                self.mark_stores(access.kind);
                self.hand_over();
            }
            self.columns.push(item, cell);
            if structure != NO_STRUCTURE {
                let start = (item << self.granularity.shift()) ^ self.fold;
                let rest = size - start.wrapping_sub(address).min(size);
                self.element(structure, start, rest);
            }
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        self.columns.complete();
        if self.options.basic_blocks {
            self.shared.tell_sites(self.columns);
        }
        (self.full)(self.columns);
        self.columns.clear();
    }

    /// Counts the last touch for an element: that of the first byte at `address`, where `size`
    /// bytes are left of the access.
    #[inline(never)]
    fn element(&mut self, structure: u32, address: u64, size: u64) {
        let item_end = address | (self.granularity.bytes() - 1);
        let last = address.saturating_add(size.saturating_sub(1)).min(item_end);
        let element = self.shared.count_element(structure, address, last);
        if element != 0 {
            self.columns.set_element(element);
        }
    }

    /// Whether an access to this object counts; in statement mode, notes the address.
    fn passes(&mut self, object: u32, structure: u32, address: u64) -> bool {
        let place = self.shared.objects.place(object);
        let counts = match self.options.data {
            DataFilter::All => true,
            DataFilter::Heap => place == Where::Heap,
            DataFilter::Stack => place == Where::Stack,
            DataFilter::Static => place == Where::Static,
        };
        if !counts || self.options.names == NamesMode::Instruction {
            return counts;
        }
        let structure = self.shared.structures.get(structure);
        let element = structure.and_then(|structure| structure.element(address));
        self.touched
            .insert(element.map_or(address, |(start, _)| start))
    }
}
