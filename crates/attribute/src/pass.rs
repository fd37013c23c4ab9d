//! The pass over a block.

use reuselens_trace::{Block, Kind};
use reuselens_units::Granularity;

use crate::attributor::{ProcessState, ThreadState};
use crate::cells::CellKey;
use crate::columns::Columns;
use crate::contexts::Call;
use crate::objects::{ObjectKey, Objects, Where};
use crate::options::{DataFilter, Kinds, NamesMode, Options};
use crate::shadow::NO_STRUCTURE;
use crate::shared::Shared;
use crate::stack::{Extent, ShadowStack};
use crate::statement::Touched;
use crate::structures::owner;

/// Bits of an address above which the process is folded in.
const PROCESS_SHIFT: u32 = 48;
/// A range operation on more bytes than this is no range operation but a broken trace.
const MAX_RANGE: u64 = 1 << 40;

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
        };
        pass.moved();
        pass
    }

    /// Takes in a block.
    pub fn run(&mut self, block: &Block) {
        let options = self.options;
        if options.ids {
            return self.run_ids(block);
        }
        let plain = options.kinds == Kinds::All
            && options.data == DataFilter::All
            && options.names == NamesMode::Instruction;
        if plain {
            self.run_rows::<true>(block)
        } else {
            self.run_rows::<false>(block)
        }
    }

    /// `PLAIN`: everything counts.
    fn run_rows<const PLAIN: bool>(&mut self, block: &Block) {
        let kinds = block.kinds();
        let rows = kinds.len();
        let (sizes, pcs, addrs) = (
            &block.sizes()[..rows],
            &block.pcs()[..rows],
            &block.addrs()[..rows],
        );
        for row in 0..rows {
            let (kind, pc, address) = (kinds[row], pcs[row], addrs[row]);
            match kind {
                Kind::Load | Kind::Store | Kind::Atomic => {
                    let size = u64::from(sizes[row]);
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
                Kind::Enter => self.enter(pc, address, operand(block, row, 1)),
                Kind::Exit => self.exit(pc, address),
                _ => self.rare::<PLAIN>(block, row),
            }
        }
    }

    /// The addresses are the items.
    fn run_ids(&mut self, block: &Block) {
        let cell = self.shared.cell(CellKey {
            thread: self.thread,
            ..CellKey::default()
        });
        for (&kind, &item) in block.kinds().iter().zip(block.addrs()) {
            if self.options.kinds.counts(kind) {
                self.columns.push(item, cell);
                self.shared.references += 1;
            }
        }
    }

    /// Counts an access; `known` is its object and structure, where that is known beforehand.
    #[inline(always)]
    fn access<const PLAIN: bool>(&mut self, access: Access, known: Option<(u32, u32)>) {
        let Access {
            kind,
            pc,
            address,
            size,
        } = access;
        if !PLAIN && !self.options.kinds.counts(kind) {
            return;
        }
        let ProcessState {
            sites,
            mappings,
            space,
            ..
        } = &mut *self.process;
        let slot = sites.entry(pc, kind, || self.shared.add_site(mappings, pc, kind));
        let (object, structure) = if let Some(known) = known {
            known
        } else if address.wrapping_sub(self.top_low) < self.top_bytes {
            (self.top_object, NO_STRUCTURE)
        } else if let Some(recalled) = sites.slot(slot).recall(address, &space.versions()) {
            recalled
        } else {
            self.locate(slot, address)
        };
        if !PLAIN && !self.passes(object, structure, address) {
            return;
        }
        if structure != NO_STRUCTURE {
            self.shared.count_elements(structure, address, size);
        }
        let remembered = self.process.sites.slot(slot);
        let cell = if remembered.object == object && remembered.owner == self.owner {
            remembered.cell
        } else {
            self.cell(slot, object)
        };
        self.shared.references += 1;
        let (first, last) = self.granularity.cover(address ^ self.fold, size);
        self.columns.push(first, cell);
        if last != first {
            self.push_rest(first + 1, last, cell);
        }
    }

    /// The items after the first.
    #[cold]
    fn push_rest(&mut self, first: u64, last: u64, cell: u32) {
        for item in first..=last {
            if self.columns.len() >= self.piece {
                (self.full)(self.columns);
                self.columns.clear();
            }
            self.columns.push(item, cell);
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
        let element = structure.and_then(|structure| structure.element_start(address));
        self.touched.insert(element.unwrap_or(address))
    }

    /// The object and the structure of an address that the site does not remember.
    #[inline(never)]
    fn locate(&mut self, slot: usize, address: u64) -> (u32, u32) {
        let (low, high) = self.stack.bounds();
        let own = low <= address && address < high;
        if own && !self.process.named_on_stack {
            return (frame_object(self.stack, address), NO_STRUCTURE);
        }
        let region = self.process.space.find(address);
        if own && region.structure == NO_STRUCTURE {
            return (frame_object(self.stack, address), NO_STRUCTURE);
        }
        if region.object == 0 {
            return (self.in_any_stack(address), NO_STRUCTURE);
        }
        let versions = self.process.space.versions();
        self.process.sites.slot(slot).remember(&region, &versions);
        (region.object, region.structure)
    }

    /// The object of an address that may lie in another thread's stack; 0 = in none.
    fn in_any_stack(&mut self, address: u64) -> u32 {
        if self.stack.contains(address) {
            return frame_object(self.stack, address);
        }
        let threads = self.threads;
        let holds = |thread: &usize| threads[*thread].stack.contains(address);
        let others = || {
            self.process
                .threads
                .iter()
                .map(|thread| *thread as usize)
                .find(holds)
        };
        match Some(self.neighbour).filter(holds).or_else(others) {
            Some(thread) => {
                self.neighbour = thread;
                frame_object(&threads[thread].stack, address)
            }
            None => 0,
        }
    }

    /// The cell of a site's access to an object, which the site remembers from now on.
    fn cell(&mut self, slot: usize, object: u32) -> u32 {
        let slot = self.process.sites.slot(slot);
        let (context, thread) = ((self.owner >> 32) as u32, self.owner as u32);
        let cell = self.shared.cell(CellKey {
            site: slot.site,
            object,
            context,
            thread,
        });
        (slot.object, slot.owner, slot.cell) = (object, self.owner, cell);
        cell
    }

    fn enter(&mut self, pc: u64, pointer: u64, return_address: Option<u64>) {
        let Some(return_address) = return_address else {
            return self.malformed();
        };
        let Pass {
            stack,
            shared,
            process,
            ..
        } = self;
        let bounds = stack.bounds();
        stack.unwind(pointer, |extent| left(extent, bounds, shared, process));
        let call = Call {
            code: process.code,
            pc,
            return_address,
        };
        let (node, object) = shared.enter(stack.node(), call, &process.mappings);
        if let Some(extent) = stack.push(pointer, return_address, node, object) {
            shared.objects.begin(object, extent.high - extent.low);
        }
        self.moved();
    }

    fn exit(&mut self, pc: u64, pointer: u64) {
        let Pass {
            stack,
            shared,
            process,
            ..
        } = self;
        let bounds = stack.bounds();
        stack.exit(pointer, pc, |extent| left(extent, bounds, shared, process));
        self.moved();
    }

    /// The innermost frame is another one.
    #[inline]
    fn moved(&mut self) {
        let context = if self.options.contexts {
            self.stack.node()
        } else {
            0
        };
        self.owner = u64::from(context) << 32 | u64::from(self.thread);
        self.top_bytes = 0;
        if let Some(top) = self.stack.top().filter(|_| !self.process.named_on_stack) {
            (self.top_low, self.top_bytes) = (top.low, top.high - top.low);
            self.top_object = top.object;
        }
    }

    fn rare<const PLAIN: bool>(&mut self, block: &Block, row: usize) {
        let (kind, pc, address) = (block.kinds()[row], block.pcs()[row], block.addrs()[row]);
        if kind == Kind::Statement {
            return self.touched.begin();
        }
        let Some(number) = operand(block, row, 1) else {
            return self.malformed();
        };
        match kind {
            Kind::RangeLoad | Kind::RangeStore => {
                self.range::<PLAIN>(Access {
                    kind,
                    pc,
                    address,
                    size: number,
                });
            }
            Kind::Alloc => self.allocated(pc, address, number),
            Kind::Free => {
                let objects = &mut self.shared.objects;
                let ended = |low, high, object| objects.end(object, high - low);
                self.process.space.free(address, number, ended);
            }
            Kind::Named => self.named::<PLAIN>(pc, address, number),
            Kind::PartialData => {
                let ProcessState { entries, space, .. } = &mut *self.process;
                entries.add(number, address, space, &self.shared.structures);
            }
            Kind::Data => self.data(block, row, number),
            _ => {}
        }
    }

    fn range<const PLAIN: bool>(&mut self, access: Access) {
        let mut access = access;
        if access.size > MAX_RANGE {
            self.shared.warnings.once(
                "range-too-long",
                "a range operation is said to cover more than 2^40 bytes; only its first byte counts",
                "the trace is damaged; record it again",
            );
            access.size = 1;
        }
        if access.size > 0 {
            self.access::<PLAIN>(access, None);
        }
    }

    fn allocated(&mut self, pc: u64, low: u64, bytes: u64) {
        let Shared { objects, .. } = &mut *self.shared;
        let call = self.process.mappings.place(pc);
        let key = ObjectKey::Heap {
            node: self.stack.node(),
            call,
        };
        let object = objects.get_or_add(key, Where::Heap);
        let high = low.saturating_add(bytes);
        self.process
            .space
            .allocate(low, high, object, |low, high, old| {
                objects.end(old, high - low)
            });
        objects.begin(object, high - low);
        if objects.objects_full {
            self.shared.warnings.once(
                "objects-not-told-apart",
                "the program has more than 16 million data objects; the rest counts as one",
                "",
            );
        }
    }

    fn named<const PLAIN: bool>(&mut self, pc: u64, address: u64, base: u64) {
        if self.process.instrumented {
            return self.shared.warnings.once(
                "record-access-ignored",
                "RecordAccess ignored because compiler instrumentation is present: it sees the same accesses",
                "",
            );
        }
        let ProcessState { entries, space, .. } = &*self.process;
        let number = entries.find(base, space, &self.shared.structures);
        let structure = number
            .and_then(|number| self.shared.structures.get(number))
            .copied();
        let start = structure.and_then(|structure| structure.element_start(address));
        let (Some(number), Some(structure), Some(start)) = (number, structure, start) else {
            let access = Access {
                kind: Kind::Named,
                pc,
                address,
                size: 1,
            };
            return self.access::<PLAIN>(access, None);
        };
        // The last element may be cut short.
        let size = structure
            .element
            .min(structure.bytes - (start - structure.base));
        let access = Access {
            kind: Kind::Named,
            pc,
            address: start,
            size,
        };
        self.access::<PLAIN>(access, Some((structure.object, number)));
    }

    #[cold]
    fn data(&mut self, block: &Block, row: usize, bytes: u64) {
        let operands = (operand(block, row, 2), operand(block, row, 3));
        let (Some(element), Some(length)) = operands else {
            return self.malformed();
        };
        let Some(name) = text(block, row + 4, length) else {
            return self.malformed();
        };
        let base = block.addrs()[row];
        if bytes == 0 {
            return;
        }
        let place = self.place_of(base);
        let key = ObjectKey::Named {
            process: self.process.id,
            name,
            element,
            place,
        };
        let object = self.shared.objects.get_or_add(key, place);
        self.shared.objects.begin(object, bytes);
        self.shared.objects.get_mut(object).element_bytes = element;
        let bytes = bytes.min(u64::MAX - base);
        let number = self.shared.structure(base, bytes, element, object);
        self.process.entries.forget(base);
        if let Some(structure) = self.shared.structures.get(number) {
            self.process
                .space
                .name(base, base + bytes, owner(number, structure));
        }
        if place == Where::Stack {
            self.process.named_on_stack = true;
            self.moved();
        }
    }

    /// Where an address lies, whatever the program calls it.
    fn place_of(&mut self, address: u64) -> Where {
        if let Some(region) = self.process.space.find_unnamed(address) {
            return self.shared.objects.place(region.object);
        }
        if self.in_any_stack(address) != 0 {
            Where::Stack
        } else {
            Where::Unknown
        }
    }

    #[cold]
    fn malformed(&mut self) {
        self.shared.warnings.once(
            "malformed-rows",
            "rows of the trace lack the numbers that must follow them; those rows were left out",
            "the trace is damaged; record it again",
        );
    }
}

/// The object of an address in a stack.
fn frame_object(stack: &ShadowStack, address: u64) -> u32 {
    stack
        .find(address)
        .map_or(Objects::UNKNOWN_FRAME, |extent| extent.object)
}

/// A frame is gone, and the names of its memory with it.
fn left(extent: &Extent, bounds: (u64, u64), shared: &mut Shared, process: &mut ProcessState) {
    shared.objects.end(extent.object, extent.high - extent.low);
    if process.named_on_stack {
        let low = if bounds.1 == 0 { extent.low } else { bounds.0 };
        process.space.unname(low, extent.high);
    }
}

/// Operand `number` (from 1) of a row.
#[inline]
fn operand(block: &Block, row: usize, number: usize) -> Option<u64> {
    let row = row.checked_add(number)?;
    (*block.kinds().get(row)? == Kind::Operand).then(|| block.addrs()[row])
}

/// A text of `length` bytes in operand rows from `row` on.
fn text(block: &Block, row: usize, length: u64) -> Option<String> {
    let length = usize::try_from(length).ok()?;
    let rows = length.div_ceil(8);
    let last = row.checked_add(rows)?;
    let operands = block.kinds().get(row..last)?;
    if operands.iter().any(|kind| *kind != Kind::Operand) {
        return None;
    }
    let mut bytes: Vec<u8> = block.addrs()[row..last]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    bytes.truncate(length);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
