//! Empties a thread's buffer of block records into its channel ([`drain`]).
//!
//! Block records that have plain accesses only are copied unchanged, for the analysing side expands
//! them by the segment's dictionary ([`send_block_records`]). All others are expanded here, one
//! record for each of their accesses ([`expand`]). The order of accesses stays that of the program.

use core::sync::atomic::Ordering;

use reuselens_wire::{
    BLOCK_RECORD_BYTES_MOST, RECORD_BYTES, Record, SPECIAL, WireKind, enter_words, head_word,
    unpack_head,
};

use super::allocations::{self, Calls};
use super::codes;
use super::descriptor::{BlockAccess, Descriptor, Gather, NO_WORD, Op, Special};
use super::gate;
use super::thread::{BUFFER_BYTES, Thread};

/// What is known from earlier block records, and needed for later ones.
#[derive(Clone, Copy, Default)]
pub struct Pending {
    /// A call whose function is not known before the next block record: return address, stack
    /// pointer.
    pub entered: Option<(u64, u64)>,
    /// The allocator's function that has not returned.
    pub calls: Calls,
}

/// A block record in the buffer: its words, the head included.
struct BlockRecord {
    at: *const u64,
    fs_base: u64,
}

impl BlockRecord {
    /// The one at `at` in a thread's buffer.
    fn new(thread: &Thread, at: u64) -> BlockRecord {
        BlockRecord {
            at: at as *const u64,
            fs_base: thread.fs_base,
        }
    }

    #[inline]
    fn word(&self, index: u16) -> u64 {
        // SAFETY: descriptors name only words that their blocks write.
        unsafe { *self.at.add(usize::from(index)) }
    }

    #[inline]
    fn address(&self, access: &BlockAccess) -> u64 {
        let word = if access.word == NO_WORD {
            0
        } else {
            self.word(access.word)
        };
        let base = if access.fs { self.fs_base } else { 0 };
        word.wrapping_add(access.displacement).wrapping_add(base)
    }
}

/// The head of the block record at `at`.
pub fn head(at: u64) -> u32 {
    // SAFETY: the buffer holds complete block records up to the cursor.
    unsafe { *(at as *const u64).add(usize::from(NO_WORD)) as u32 }
}

/// Empties a thread's buffer. It must be the calling thread's, or that of a thread that is in a
/// system call.
pub fn drain(thread: &mut Thread) {
    let end = thread.cursor;
    let mut at = thread.buffer;
    if thread.channel.is_closed() {
        at = end;
    }
    while at < end {
        if thread.gated {
            at = gate::drain(thread, at, end);
        }
        if !thread.gated || thread.is_direct() {
            at = send_block_records(thread, at, end);
        }
        if at < end {
            let descriptor = codes::descriptor(head(at));
            expand(thread, descriptor, at, u16::MAX);
            at += 8 * u64::from(descriptor.words);
        }
    }
    if thread.gated {
        gate::report(thread);
    }
    thread.cursor = thread.buffer;
    let limit = thread.buffer + BUFFER_BYTES;
    thread.limit.store(limit, Ordering::Relaxed);
    // A signal may have arrived since; its handler has set the limit to 0.
    if thread.pending.load(Ordering::Relaxed) != 0 {
        thread.limit.store(0, Ordering::Relaxed);
    }
}

/// Records of the longest block record, and of what may be copied beyond it.
const ROOM: usize = BLOCK_RECORD_BYTES_MOST / RECORD_BYTES + AT_ONCE;
/// Records that are copied at once: most block records have as many or fewer.
const AT_ONCE: usize = 4;

/// Sends the block records from `at` on unchanged. Returns the address of the first that must be
/// expanded, or `end`. Whether one of them must be is known by [`must_be_expanded`].
///
/// The length of a block record is in its head, so that the processor need not wait for a look-up
/// to know where the next one begins.
pub fn send_block_records(thread: &mut Thread, mut at: u64, mut end: u64) -> u64 {
    let safe = thread.guard() - (ROOM * RECORD_BYTES) as u64;
    let stack_high = thread.channel.stack_high();
    let mut waiting = thread.waiting.entered;
    let within = thread.waiting.calls.is_within();
    while at < end {
        let Some((mut to, room)) = thread.channel.free(ROOM + 1) else {
            break;
        };
        // SAFETY: that much room is left.
        let last = unsafe { to.add(room - ROOM - 1) };
        while at < end && to <= last {
            let block_record = at as *mut u64;
            // SAFETY: the buffer holds complete block records up to the cursor.
            let mut head = unsafe { *block_record.add(usize::from(NO_WORD)) } as u32;
            let records = unpack_head(head).1;
            if let Some(call) = waiting
                && let Some(record) = entered(head, call, stack_high)
            {
                // SAFETY: there is room.
                unsafe {
                    to.write(record);
                    to = to.add(1);
                }
                waiting = None;
            }
            if head & SPECIAL != 0 {
                let special = codes::special(head);
                if must_be_expanded(special, within) {
                    end = at;
                    break;
                }
                head = special.head;
                if special.enters {
                    // SAFETY: as above.
                    waiting = Some(unsafe { special.call(block_record) });
                }
            }
            // SAFETY: there is room for the longest block record, and more than it may be read if
            // it is far enough before the guard.
            unsafe {
                copy(block_record.cast(), to, records, at < safe);
                // Not in the buffer before the copy: a wide load of bytes of which some were just
                // stored is slow.
                (*to).word1 = head_word(head);
                to = to.add(records);
            }
            at += (records * RECORD_BYTES) as u64;
            // SAFETY: as above.
            (at, to) = unsafe { copy_repeated(at, end.min(safe), head, to, last) };
        }
        thread.channel.advance(to);
        if at < end {
            thread.channel.publish(true);
        }
    }
    thread.waiting.entered = waiting;
    // If `at` is not there yet, the channel is closed: the rest is dropped.
    end
}

/// Whether block records with this meaning cannot be sent unchanged; `within` an allocator's
/// function that has not returned.
#[inline(always)]
pub fn must_be_expanded(special: &Special, within: bool) -> bool {
    special.head == 0 || (special.results && within)
}

/// The record of the called function, if a block record with this head shows which function it is.
#[inline(always)]
fn entered(head: u32, (back, pointer): (u64, u64), stack_high: u64) -> Option<Record> {
    let pc = codes::entry(head).pc;
    (pc != 0).then(|| enter_words(pc, back, stack_high.wrapping_sub(pointer) >> 3))
}

/// Copies block records with this head from `at` on, up to the first with another head. A loop
/// writes many with the same head; here the processor need not wait for a head to know where the
/// next one begins. Returns where both sides have come.
///
/// # Safety
/// As [`copy`] with `more` asks up to `end` and `last`.
#[inline(always)]
unsafe fn copy_repeated(
    mut at: u64,
    end: u64,
    head: u32,
    mut to: *mut Record,
    last: *mut Record,
) -> (u64, *mut Record) {
    let records = unpack_head(head).1;
    while at < end && to <= last && self::head(at) == head {
        // SAFETY: by the caller.
        unsafe {
            copy(at as *const Record, to, records, true);
            to = to.add(records);
        }
        at += (records * RECORD_BYTES) as u64;
    }
    (at, to)
}

/// Copies `records` records; with `more`, up to the next multiple of [`AT_ONCE`], which is faster.
///
/// # Safety
/// That many must be readable at `from` and writable at `to`.
#[inline(always)]
unsafe fn copy(from: *const Record, to: *mut Record, records: usize, more: bool) {
    if !more {
        // SAFETY: by the caller.
        return unsafe { core::ptr::copy_nonoverlapping(from, to, records) };
    }
    let mut done = 0;
    loop {
        // SAFETY: by the caller.
        unsafe {
            let (from, to) = (from.add(done).cast::<[Record; AT_ONCE]>(), to.add(done));
            to.cast::<[Record; AT_ONCE]>().write(from.read());
            // Without this the compiler makes the loop a call of `memcpy`.
            core::arch::asm!("", options(nostack, preserves_flags));
        }
        done += AT_ONCE;
        if done >= records {
            return;
        }
    }
}

/// Writes a record for each access in the block record at `at` that is made by an instruction with
/// a number below `before`.
pub fn expand(thread: &mut Thread, descriptor: &Descriptor, at: u64, before: u16) {
    let block_record = BlockRecord::new(thread, at);
    if thread.waiting.entered.is_some() && !descriptor.stub {
        enter(thread, descriptor.pc);
    }
    for access in descriptor.accesses {
        if access.instruction < before {
            expand_access(thread, &block_record, access);
        }
    }
}

/// The called function is known: it is the one around `pc`.
#[cold]
fn enter(thread: &mut Thread, pc: u64) {
    if let Some((back, pointer)) = thread.waiting.entered.take() {
        let depth = thread.channel.stack_high().wrapping_sub(pointer) >> 3;
        thread.put(&[enter_words(pc, back, depth)]);
    }
}

/// The record of an access in the block record at `at`.
#[inline(always)]
pub fn record(thread: &Thread, access: &BlockAccess, at: u64) -> Record {
    Record {
        word0: BlockRecord::new(thread, at).address(access),
        word1: access.meta,
    }
}

/// How many accesses the block record at `at` has.
pub fn count(thread: &Thread, descriptor: &Descriptor, at: u64) -> u64 {
    let block_record = BlockRecord::new(thread, at);
    let accesses = descriptor.accesses.iter();
    u64::from(descriptor.hits)
        + accesses
            .map(|access| varying(&block_record, access))
            .sum::<u64>()
}

/// How many accesses one makes whose number depends on the block record; 0 for all others.
fn varying(block_record: &BlockRecord, access: &BlockAccess) -> u64 {
    match access.op {
        Op::Range { end } => u64::from(block_record.word(end) != block_record.word(access.word)),
        Op::Masked { mask, lanes } => u64::from(mask_bits(block_record, mask, lanes) != 0),
        Op::Signed { mask, lanes } => {
            u64::from(sign_bits(block_record, mask, lanes, size(access)) != 0)
        }
        Op::Gather(gather) => gathered_lanes(block_record, access, &gather).count() as u64,
        Op::State { mask } => u64::from(super::x86_64::state_bytes(block_record.word(mask)) != 0),
        Op::Plain
        | Op::Enter { .. }
        | Op::Exit
        | Op::Allocator { .. }
        | Op::Result { .. }
        | Op::Region { .. }
        | Op::Function
        | Op::Order => 0,
    }
}

/// Does what follows from the block record at `at` besides its accesses.
pub fn follow(thread: &mut Thread, descriptor: &Descriptor, at: u64) {
    let block_record = BlockRecord::new(thread, at);
    for access in descriptor.accesses {
        match access.op {
            Op::Enter { .. } | Op::Exit | Op::Allocator { .. } | Op::Result { .. } | Op::Order => {
                expand_access(thread, &block_record, access)
            }
            // Accesses, which are counted; and what ends a run, so that it is not in one.
            Op::Plain
            | Op::Range { .. }
            | Op::Masked { .. }
            | Op::Signed { .. }
            | Op::Gather(_)
            | Op::State { .. }
            | Op::Region { .. }
            | Op::Function => {}
        }
    }
}

fn size(access: &BlockAccess) -> u64 {
    access.meta >> 48 & 0xff
}

fn expand_access(thread: &mut Thread, block_record: &BlockRecord, access: &BlockAccess) {
    let address = block_record.address(access);
    match access.op {
        Op::Plain | Op::Exit => thread.put(&[Record {
            word0: address,
            word1: access.meta,
        }]),
        Op::Enter { back } => {
            thread.waiting.entered = Some((back, address));
        }
        Op::Range { end } => {
            let (end, size) = (block_record.word(end), size(access));
            let start = block_record.word(access.word);
            // Downwards, the first element is the highest.
            let low = if end < start {
                end.wrapping_add(size)
            } else {
                start
            };
            range(thread, access, low, start.abs_diff(end));
        }
        Op::Masked { mask, lanes } => {
            let bits = mask_bits(block_record, mask, lanes);
            lanes_of(thread, access, address, bits);
        }
        Op::Signed { mask, lanes } => {
            let bits = sign_bits(block_record, mask, lanes, size(access));
            lanes_of(thread, access, address, bits);
        }
        Op::Gather(gather) => gathered(thread, block_record, access, address, &gather),
        Op::Allocator { .. } | Op::Result { .. } => {
            if thread.waiting.calls.is_within() || matches!(access.op, Op::Allocator { .. }) {
                flush(thread);
            }
            allocations::follow(thread, access, address, |word| block_record.word(word));
        }
        Op::Region { begins, words } => {
            if begins {
                gate::begin_region(
                    thread,
                    block_record.word(words),
                    block_record.word(words + 1),
                );
            } else {
                gate::end_region(thread);
            }
        }
        Op::Order => thread.channel.mark(block_record.word(access.word)),
        Op::Function => gate::enter_function(thread, address),
        Op::State { mask } => {
            let bytes = super::x86_64::state_bytes(block_record.word(mask));
            range(thread, access, address, bytes);
        }
    }
}

/// Sends waiting function entries: what follows is always recorded, and its reader must know the
/// function.
fn flush(thread: &mut Thread) {
    if thread.gated {
        gate::flush(thread);
    }
}

/// Writes the record of a range of `bytes` bytes from `low` on; nothing if there are none.
fn range(thread: &mut Thread, access: &BlockAccess, low: u64, bytes: u64) {
    let load = access.meta >> 56 == WireKind::Load as u64;
    let kind = if load {
        WireKind::RangeLoad
    } else {
        WireKind::RangeStore
    };
    if bytes > 0 {
        thread.put(&[
            Record::new(kind, 0, access.meta, low),
            Record::new(WireKind::Operand, 0, 0, bytes),
        ]);
    }
}

/// Writes the record of a masked access: one access from the first active lane to the last, as the
/// processor makes it. `bits` has a bit for each active lane.
fn lanes_of(thread: &mut Thread, access: &BlockAccess, address: u64, bits: u64) {
    if bits == 0 {
        return;
    }
    let lane = size(access);
    let first = u64::from(bits.trailing_zeros());
    let count = 64 - u64::from(bits.leading_zeros()) - first;
    let meta = access.meta & !(0xff << 48) | (lane * count).min(255) << 48;
    thread.put(&[Record {
        word0: address.wrapping_add(first * lane),
        word1: meta,
    }]);
}

/// The lowest `lanes` bits of word `mask`.
fn mask_bits(block_record: &BlockRecord, mask: u16, lanes: u8) -> u64 {
    block_record.word(mask) & (u64::MAX >> (64 - u32::from(lanes).min(64)))
}

/// A bit for each of `lanes` elements of `bytes` bytes, from word `mask` on: whether its sign is
/// set.
fn sign_bits(block_record: &BlockRecord, mask: u16, lanes: u8, bytes: u64) -> u64 {
    let at = block_record.at.wrapping_add(usize::from(mask)).cast::<u8>();
    (0..u64::from(lanes)).fold(0, |bits, lane| {
        let last = (lane + 1) * bytes - 1;
        // SAFETY: the block wrote that many elements.
        let negative = unsafe { *at.add(last as usize) } >> 7;
        bits | u64::from(negative) << lane
    })
}

/// Writes a record for each active lane of a gather or scatter.
fn gathered(
    thread: &mut Thread,
    block_record: &BlockRecord,
    access: &BlockAccess,
    base: u64,
    gather: &Gather,
) {
    for lane in gathered_lanes(block_record, access, gather) {
        let index = if gather.wide {
            block_record.word(gather.indices + lane)
        } else {
            let pair = block_record.word(gather.indices + lane / 2);
            (pair >> (32 * (lane % 2))) as i32 as i64 as u64
        };
        thread.put(&[Record {
            word0: base.wrapping_add(index.wrapping_mul(u64::from(gather.scale))),
            word1: access.meta,
        }]);
    }
}

/// The active lanes of a gather or scatter.
fn gathered_lanes(
    block_record: &BlockRecord,
    access: &BlockAccess,
    gather: &Gather,
) -> impl Iterator<Item = u16> + use<> {
    let bits = if gather.signed {
        sign_bits(block_record, gather.mask, gather.lanes, size(access))
    } else {
        block_record.word(gather.mask)
    };
    (0..u16::from(gather.lanes)).filter(move |lane| bits >> lane & 1 != 0)
}
