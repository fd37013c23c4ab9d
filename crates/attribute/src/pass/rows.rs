//! Rows one by one: accesses, calls, allocations, and the data structures that the program names.
//!
//! This way serves every trace of addresses. A trace of ids, whose addresses are items already
//! ([`Options::ids`](crate::Options::ids)), needs none of it. Most rows are plain accesses:
//! `row_batches.rs` and `repeats.rs` take those faster, and leave all other rows to [`Pass::row`].
//! Where only items are asked for, `items_only.rs` takes all but the rare rows.

use std::ops::Range;

use reuselens_io::text_of_bytes;
use reuselens_trace::{Block, Kind, Row};

use super::Pass;
use super::access::RawAccess;
use crate::contexts::CallKey;
use crate::locals::NewFrame;
use crate::objects::{ObjectKey, Where};
use crate::places::CodePlace;
use crate::shared::Shared;
use crate::stack::{EnteredFunction, FrameExtent};
use crate::state::ProcessState;
use crate::structures::owner;

/// Longer range operations (64 GiB) are treated as damage: each of their items is counted, so one
/// row must not cost more.
const MAX_RANGE: u64 = 1 << 36;

/// Columns of rows: those of a block, or of a repeat at its present addresses.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub kinds: &'a [Kind],
    pub sizes: &'a [u8],
    pub pcs: &'a [u64],
    pub addrs: &'a [u64],
}

impl<'a> Rows<'a> {
    /// The rows of a block.
    pub fn of(block: &'a Block) -> Rows<'a> {
        Rows {
            kinds: block.kinds(),
            sizes: block.sizes(),
            pcs: block.pcs(),
            addrs: block.addrs(),
        }
    }

    /// The rows of a range.
    #[inline]
    pub fn range(self, range: Range<usize>) -> Self {
        Rows {
            kinds: &self.kinds[range.clone()],
            sizes: &self.sizes[range.clone()],
            pcs: &self.pcs[range.clone()],
            addrs: &self.addrs[range],
        }
    }

    /// One row, which must exist.
    #[inline]
    pub fn row(self, row: usize) -> Row {
        Row {
            kind: self.kinds[row],
            size: self.sizes[row],
            pc: self.pcs[row],
            addr: self.addrs[row],
        }
    }

    /// Operand `number` (from 1) of a row.
    #[inline]
    pub fn operand(self, row: usize, number: usize) -> Option<u64> {
        let row = row.checked_add(number)?;
        (*self.kinds.get(row)? == Kind::Operand).then(|| self.addrs[row])
    }

    /// The text of `length` bytes in operand rows from `row` on.
    fn text(self, row: usize, length: u64) -> Option<String> {
        let length = usize::try_from(length).ok()?;
        let last = row.checked_add(length.div_ceil(8))?;
        let operands = self.kinds.get(row..last)?;
        if operands.iter().any(|kind| *kind != Kind::Operand) {
            return None;
        }
        let mut bytes: Vec<u8> = self.addrs[row..last]
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        bytes.truncate(length);
        Some(text_of_bytes(&bytes).into_owned())
    }
}

/// Whether a row is an access that its columns describe completely.
#[inline(always)]
pub(super) fn is_plain_access(kind: Kind) -> bool {
    matches!(kind, Kind::Load | Kind::Store | Kind::Atomic)
}

/// Rows of any kind. `PLAIN`: the options filter no access
/// ([`Options::is_plain`](crate::Options::is_plain)).
impl Pass<'_> {
    /// Takes all rows of a block.
    pub(super) fn run_rows<const PLAIN: bool>(&mut self, block: &Block) {
        self.take_rows::<PLAIN>(Rows::of(block), 0..block.len());
        self.resolve_pending();
    }

    /// Takes the rows of a range.
    #[inline(always)]
    pub(super) fn take_rows<const PLAIN: bool>(&mut self, rows: Rows<'_>, range: Range<usize>) {
        let Range {
            start: mut row,
            end,
        } = range;
        while row < end {
            if PLAIN {
                row = self.run_batches(rows, row..end);
            }
            // The row at which the batches stopped.
            if row < end {
                self.row::<PLAIN>(rows, row);
                row += 1;
            }
        }
    }

    /// Takes one row.
    pub(super) fn row<const PLAIN: bool>(&mut self, rows: Rows<'_>, row: usize) {
        let (kind, pc, address) = (rows.kinds[row], rows.pcs[row], rows.addrs[row]);
        match kind {
            Kind::Load | Kind::Store | Kind::Atomic => {
                let size = u64::from(rows.sizes[row]);
                self.access::<PLAIN>(
                    RawAccess {
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
            _ => self.rare_row::<PLAIN>(rows, row),
        }
    }

    /// Takes a row that is neither a plain access nor a call. All its kinds but the statement mark
    /// need an operand.
    pub(super) fn rare_row<const PLAIN: bool>(&mut self, rows: Rows<'_>, row: usize) {
        let (kind, pc, address) = (rows.kinds[row], rows.pcs[row], rows.addrs[row]);
        if kind == Kind::Statement {
            self.shared.lacks_statements = false;
            return self.statement.begin();
        }
        let Some(number) = rows.operand(row, 1) else {
            return self.malformed();
        };
        match kind {
            Kind::RangeLoad | Kind::RangeStore => {
                self.range_access::<PLAIN>(RawAccess {
                    kind,
                    pc,
                    address,
                    size: number,
                });
            }
            Kind::Alloc => self.allocate(pc, address, number),
            Kind::Free => self.free(address, number),
            Kind::Named => self.named_access::<PLAIN>(pc, address, number),
            Kind::PartialData => {
                let ProcessState { entries, space, .. } = &mut *self.process;
                entries.add(number, address, space, &self.shared.structures);
            }
            Kind::Data => self.name_data(rows, row, number),
            // `row` and `row_items_only` take all other kinds themselves.
            _ => {}
        }
    }

    fn range_access<const PLAIN: bool>(&mut self, access: RawAccess) {
        let mut access = access;
        if access.size > MAX_RANGE {
            self.shared.warnings.once(
                "range-too-long",
                "a range operation is said to cover more than 64 GiB; only its first byte counts",
                "the trace is damaged; record it again",
            );
            access.size = 1;
        }
        if access.size > 0 {
            self.access::<PLAIN>(access, None);
        }
    }

    fn allocate(&mut self, pc: u64, low: u64, bytes: u64) {
        let Shared {
            objects, contexts, ..
        } = &mut *self.shared;
        let call = self.process.mappings.place(pc);
        let node = self.stack.node();
        let object = objects
            .number(&ObjectKey::Heap { node, call })
            .unwrap_or_else(|| {
                objects.add_heap(node, call, contexts.callers_of_allocator(node, pc))
            });
        if self.options.offsets {
            if self.shared.ballots.is_changed_by(object, bytes) {
                // The cells so far count offsets in elements of the old size.
                self.resolve_pending();
                self.shared.add_cells(self.options, self.columns);
            }
            self.shared.begin_elements(object, (node, call), bytes);
        }
        let Shared {
            objects,
            chunks,
            references,
            ..
        } = &mut *self.shared;
        let high = low.saturating_add(bytes);
        let space = &mut self.process.space;
        if let Some(chunks) = chunks {
            let pieces = chunks.split(object, (low, high), objects);
            space.allocate(&pieces, |low, high, old| {
                chunks.end(old, high - low, *references, objects);
            });
            chunks.begin(object, high - low, *references);
        } else {
            space.allocate(&[(low, high, object)], |low, high, old| {
                objects.end(old, high - low);
            });
            objects.begin(object, high - low);
        }
        if objects.objects_full {
            self.shared.warnings.once(
                "objects-not-told-apart",
                "the program has more than 16 million data objects; the rest counts as one",
                "",
            );
        }
    }

    /// Ends `bytes` bytes of the heap, or all of the block at `low` if they are 0.
    fn free(&mut self, low: u64, bytes: u64) {
        let Shared {
            objects,
            chunks,
            references,
            ..
        } = &mut *self.shared;
        let space = &mut self.process.space;
        let Some(chunks) = chunks else {
            let ended = |low, high, object| objects.end(object, high - low);
            space.free(low, bytes, ended);
            return;
        };
        let follows = |piece, next, bytes: u64| {
            let ((object, start), (of, next)) = (objects.start_of(piece), objects.start_of(next));
            object == of && start + bytes == next
        };
        let bytes = match bytes {
            0 => space.block_bytes(low, follows),
            _ => bytes,
        };
        space.free(low, bytes, |low, high, piece| {
            chunks.end(piece, high - low, *references, objects);
        });
    }

    /// Warns of a row without the operands that its kind needs.
    #[cold]
    pub(super) fn malformed(&mut self) {
        self.shared.warnings.once(
            "malformed-rows",
            "rows of the trace lack the numbers that must follow them; those rows were left out",
            "the trace is damaged; record it again",
        );
    }
}

/// Data structures that the program names, and the accesses that it names.
impl Pass<'_> {
    /// Counts an access to the element, at `address`, of the structure that `base` enters; or to
    /// one byte at `address` if there is no such structure.
    pub(super) fn named_access<const PLAIN: bool>(&mut self, pc: u64, address: u64, base: u64) {
        if self.process.instrumented {
            return self.shared.warnings.once(
                "record-access-ignored",
                "RecordAccess ignored because compiler instrumentation is present: it sees the same accesses",
                "",
            );
        }
        let ProcessState { entries, space, .. } = &mut *self.process;
        let entered = entries.enter(base, space, &self.shared.structures);
        let element = entered.and_then(|(_, structure)| structure.element(address));
        let (Some((number, structure)), Some((start, size))) = (entered, element) else {
            let access = RawAccess {
                kind: Kind::Named,
                pc,
                address,
                size: 1,
            };
            return self.access::<PLAIN>(access, None);
        };
        let access = RawAccess {
            kind: Kind::Named,
            pc,
            address: start,
            size,
        };
        self.access::<PLAIN>(access, Some((structure.object, number)));
    }

    /// Names `bytes` bytes as a data structure: takes a row of `RecordData`.
    #[cold]
    fn name_data(&mut self, rows: Rows<'_>, row: usize, bytes: u64) {
        let operands = (rows.operand(row, 2), rows.operand(row, 3));
        let (Some(element), Some(length)) = operands else {
            return self.malformed();
        };
        let Some(name) = rows.text(row + 4, length) else {
            return self.malformed();
        };
        let base = rows.addrs[row];
        if bytes == 0 {
            return;
        }
        let place = self.place_of(base);
        let data = AnnouncedData {
            pc: rows.pcs[row],
            base,
            bytes,
            element,
            place,
        };
        let object = match name.as_str() {
            "" => self.unnamed_object(&data),
            _ => Some(self.named_object(&data, name)),
        };
        let Some(object) = object else {
            return;
        };
        if self.options.offsets && self.shared.objects.spans.is_new(object) {
            self.shared.objects.spans.agree(object, element);
        }
        // The object keeps the bytes that the program gave; the structure must end within the
        // address space.
        let bytes_in_space = bytes.min(u64::MAX - base);
        let number = self.shared.structure(base, bytes_in_space, element, object);
        self.process.entries.forget(base);
        if let Some(structure) = self.shared.structures.get(number) {
            self.process
                .space
                .name(base, base + bytes_in_space, owner(number, structure));
        }
        if place == Where::Stack {
            self.process.named_on_stack = true;
            // The structure may be in the innermost frame. Empties `top`, so that accesses to that
            // frame are located.
            self.frame_changed();
        }
    }

    /// The object of data that the program gives a name.
    fn named_object(&mut self, data: &AnnouncedData, name: String) -> u32 {
        let key = ObjectKey::Named {
            process: self.process.id,
            name,
            element: data.element,
            place: data.place,
        };
        self.begin_object(key, data)
    }

    /// The object of data that the program announces without a name: the one that the memory has by
    /// its symbol or allocation, if the data begin where it begins and it has no elements of
    /// another size; else a part of it, or what the announcing call announces. `None` if the data
    /// stay what they are: chunks are parts of objects already.
    fn unnamed_object(&mut self, data: &AnnouncedData) -> Option<u32> {
        let element = data.element;
        let Some((owner, low)) = self.owner_of(data.base) else {
            let key = ObjectKey::Unnamed {
                owner: 0,
                start: 0,
                call: self.process.mappings.place(data.pc),
                element,
            };
            return Some(self.begin_object(key, data));
        };
        let start = data.base - low;
        let raw = self.shared.objects.get_mut(owner);
        if start == 0 && [0, element].contains(&raw.element_bytes) {
            if self.shared.chunks.is_some() && self.process.instrumented {
                return None;
            }
            raw.element_bytes = element;
            return Some(owner);
        }
        let key = ObjectKey::Unnamed {
            owner,
            start,
            call: CodePlace::UNKNOWN,
            element,
        };
        Some(self.begin_object(key, data))
    }

    /// The object with this key, with one more block unless these data are one already.
    fn begin_object(&mut self, key: ObjectKey, data: &AnnouncedData) -> u32 {
        let object = self.shared.objects.get_or_add(key, data.place);
        let known = self.process.space.find_named(data.base);
        let is_again = known.is_some_and(|region| {
            region.object == object
                && (region.low, region.high - region.low) == (data.base, data.bytes)
        });
        if !is_again {
            self.shared.objects.begin(object, data.bytes);
        }
        self.shared.objects.get_mut(object).element_bytes = data.element;
        object
    }

    /// The object that a symbol, an allocation or a variable's declaration gives the memory at an
    /// address, and the first byte of it there; whatever the program names it.
    fn owner_of(&self, address: u64) -> Option<(u32, u64)> {
        if let Some(region) = self.process.space.find_unnamed_whole(address) {
            let (owner, start) = self.shared.objects.start_of(region.object);
            return Some((owner, region.low.saturating_sub(start)));
        }
        let found = self.stack.find_local(address, None, &self.shared.layouts);
        let (low, _, local, _) = found?;
        Some((local?.object, low))
    }
}

/// Data that the program announces by a row of `RecordData`.
struct AnnouncedData {
    /// The return address of the call.
    pc: u64,
    base: u64,
    bytes: u64,
    /// Bytes of an element.
    element: u64,
    /// What memory they are in.
    place: Where,
}

/// Calls and returns.
impl Pass<'_> {
    /// Enters a function at the stack pointer `pointer`. `by_call`: the pointer is that of the
    /// moment of the call.
    fn enter(&mut self, (pc, by_call): (u64, bool), pointer: u64, return_address: Option<u64>) {
        let Some(return_address) = return_address else {
            return self.malformed();
        };
        let Pass {
            stack,
            shared,
            process,
            ..
        } = self;
        let stack_bounds = stack.bounds();
        stack.set_by_call(by_call);
        // Frames whose exit is missing (exceptions, `longjmp`) end here.
        stack.unwind(pointer, |extent| {
            end_frame(extent, by_call, stack_bounds, shared, process);
        });
        let call = CallKey {
            code: process.code,
            pc,
            return_address,
        };
        let (node, object) = shared.enter(stack.node(), call, &process.mappings);
        let outer = stack.live_around(return_address, &shared.layouts);
        let layout = if by_call {
            shared.objects.usage(object).layout
        } else {
            0
        };
        let frame = NewFrame {
            outer,
            layout,
            low: pointer,
            entry: pc,
        };
        let entered = EnteredFunction {
            entry: pc,
            call: return_address,
            node,
            object,
            layout,
            live: if layout == 0 {
                outer
            } else {
                shared.live_frames.number(frame)
            },
            outer,
        };
        if let Some(extent) = stack.push(pointer, entered) {
            shared.objects.begin(object, extent.high - extent.low);
            if layout != 0 {
                shared.begin_locals(layout);
            }
        }
        self.frame_changed();
    }

    /// Leaves a function at the stack pointer `pointer`; `pc` as in [`ShadowStack::exit`].
    ///
    /// [`ShadowStack::exit`]: crate::stack::ShadowStack::exit
    fn exit(&mut self, pc: u64, pointer: u64) {
        let Pass {
            stack,
            shared,
            process,
            ..
        } = self;
        let (stack_bounds, by_call) = (stack.bounds(), stack.is_by_call());
        stack.exit(pointer, pc, |extent| {
            end_frame(extent, by_call, stack_bounds, shared, process);
        });
        self.frame_changed();
    }

    /// Brings what depends on the innermost frame up to date: call it whenever that changes.
    #[inline]
    pub(super) fn frame_changed(&mut self) {
        let context = if self.options.contexts {
            self.stack.node()
        } else {
            0
        };
        self.owner = u64::from(context) << 32 | u64::from(self.thread);
        let Shared {
            visits, contexts, ..
        } = &mut *self.shared;
        if let Some(visits) = visits {
            visits.be_at(self.thread, context, self.columns.len(), contexts);
        }
        self.top.bytes = 0;
        let mut live = 0;
        // A structure that is named on a stack may be in this frame: `top` stays empty then, and
        // each access is located.
        if !self.process.named_on_stack
            && let Some(innermost) = self.stack.innermost(&self.shared.layouts)
        {
            self.top = innermost;
            live = self.stack.live();
        }
        self.process.space.set_live_frames(live);
    }
}

/// Ends a frame, its variables, and the names of its memory. `stack_bounds` are the low and the
/// high end of the thread's stack; 0, 0 = unknown. `by_call`: see
/// [`crate::stack::ShadowStack`].
fn end_frame(
    extent: &FrameExtent,
    by_call: bool,
    stack_bounds: (u64, u64),
    shared: &mut Shared,
    process: &mut ProcessState,
) {
    shared.objects.end(extent.object, extent.high - extent.low);
    if extent.layout != 0 {
        shared.end_locals(extent.layout);
    }
    if process.named_on_stack {
        // Stacks grow downwards: all names between the stack's low end and the frame's high end
        // end too. Where the low end is unknown, those from the frame's `low` on.
        let (stack_low, stack_high) = stack_bounds;
        let low = if stack_high == 0 {
            extent.low
        } else {
            stack_low
        };
        let high = if by_call {
            extent.frame_address()
        } else {
            extent.high
        };
        process.space.unname(low, high);
    }
}
