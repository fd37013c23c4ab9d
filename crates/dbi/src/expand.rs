//! Notes of blocks go out: as they are where they have plain accesses only, as records where not.

use core::sync::atomic::Ordering;

use reuselens_wire::{
    NOTE_BYTES_MOST, RECORD_BYTES, Record, SPECIAL, WireKind, enter_words, head_word, unpack_head,
};

use super::allocations::{self, Calls};
use super::codes;
use super::descriptor::{Access, Descriptor, Gather, NO_WORD, Op};
use super::gate;
use super::thread::{BUFFER_BYTES, Thread};

/// What waits for a later note.
#[derive(Clone, Copy, Default)]
pub struct Pending {
    /// A call whose function is known by the block that runs next: return address, stack pointer.
    entered: Option<(u64, u64)>,
    /// Functions of the allocator that have not returned.
    pub calls: Calls,
}

impl Pending {
    /// Whether no function waits to show itself.
    pub fn is_empty(&self) -> bool {
        self.entered.is_none()
    }
}

/// A note: its words, the head included.
struct Note {
    at: *const u64,
    fs_base: u64,
}

impl Note {
    #[inline]
    fn word(&self, index: u16) -> u64 {
        // SAFETY: descriptors name only words that their blocks note.
        unsafe { *self.at.add(usize::from(index)) }
    }

    #[inline]
    fn address(&self, access: &Access) -> u64 {
        let word = if access.word == NO_WORD {
            0
        } else {
            self.word(access.word)
        };
        let base = if access.fs { self.fs_base } else { 0 };
        word.wrapping_add(access.displacement).wrapping_add(base)
    }
}

/// The head of the note at `at`.
pub fn head(at: u64) -> u32 {
    // SAFETY: the buffer holds whole notes up to the cursor.
    unsafe { *(at as *const u64).add(usize::from(NO_WORD)) as u32 }
}

/// Empties a thread's buffer. It must be the calling thread's, or one that rests in a system call.
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
            at = hand_on(thread, at, end);
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
    // A signal may have come in between.
    if thread.pending.load(Ordering::Relaxed) != 0 {
        thread.limit.store(0, Ordering::Relaxed);
    }
}

/// Records of the longest note, and what is copied too much of it.
const ROOM: usize = NOTE_BYTES_MOST / RECORD_BYTES + AT_ONCE;
/// So many records of a note are copied at once: most have as many or fewer.
const AT_ONCE: usize = 4;

/// Hands on the notes from `at` on as they are; the first that cannot be, or `end`.
///
/// Where the next note begins is known from the head alone: it must not wait for a look-up.
fn hand_on(thread: &mut Thread, mut at: u64, mut end: u64) -> u64 {
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
            let note = at as *mut u64;
            // SAFETY: the buffer holds whole notes up to the cursor.
            let mut head = unsafe { *note.add(usize::from(NO_WORD)) } as u32;
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
                if special.head == 0 || (special.results && within) {
                    end = at;
                    break;
                }
                head = special.head;
                if special.enters {
                    // SAFETY: as above.
                    waiting = Some(unsafe { special.call(note) });
                }
            }
            // SAFETY: there is room for the longest note, and too much of one may be read before
            // the guard.
            unsafe {
                copy(note.cast(), to, records, at < safe);
                // Here and not before: what was just written in part is slow to read as a whole.
                (*to).word1 = head_word(head);
                to = to.add(records);
            }
            at += (records * RECORD_BYTES) as u64;
            // SAFETY: as above.
            (at, to) = unsafe { again(at, end.min(safe), head, to, last) };
        }
        thread.channel.advance(to);
        if at < end {
            thread.channel.publish(true);
        }
    }
    thread.waiting.entered = waiting;
    // Nobody listens any more, if it is not there yet.
    end
}

/// The record of the function that was called, if the note with this head tells which it is.
#[inline(always)]
fn entered(head: u32, (back, pointer): (u64, u64), stack_high: u64) -> Option<Record> {
    let pc = codes::entry(head).pc;
    (pc != 0).then(|| enter_words(pc, back, stack_high.wrapping_sub(pointer) >> 3))
}

/// Copies notes with this head from `at` on, as long as there are more. A loop writes the same note
/// again and again: then the processor need not wait for a head to know where the next one is.
///
/// # Safety
/// As [`copy`] with `more` asks up to `end` and `last`.
#[inline(always)]
unsafe fn again(
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

/// Copies records, and some more if `more`.
///
/// # Safety
/// They must be there, and room for them; with `more`, for the next multiple of [`AT_ONCE`].
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
            // Else the compiler calls a function for the whole.
            core::arch::asm!("", options(nostack, preserves_flags));
        }
        done += AT_ONCE;
        if done >= records {
            return;
        }
    }
}

/// Hands on the note at `at`, which is not special.
pub fn one_note(thread: &mut Thread, at: u64) {
    let note = at as *const u64;
    // SAFETY: the buffer holds whole notes.
    let records = unpack_head(unsafe { *note.add(usize::from(NO_WORD)) } as u32).1;
    if let Some(to) = thread.channel.room(records) {
        // SAFETY: as above, and there is room.
        unsafe {
            core::ptr::copy_nonoverlapping(note.cast::<Record>(), to, records);
            thread.channel.advance(to.add(records));
        }
    }
}

/// Expands the accesses of a note that are made by instructions before number `before`.
pub fn expand(thread: &mut Thread, descriptor: &Descriptor, at: u64, before: u16) {
    let note = Note {
        at: at as *const u64,
        fs_base: thread.fs_base,
    };
    if thread.waiting.entered.is_some() && !descriptor.stub {
        enter(thread, descriptor.pc);
    }
    for access in descriptor.accesses {
        if access.instruction < before {
            one(thread, &note, access);
        }
    }
}

/// The function that was called has shown itself.
#[cold]
fn enter(thread: &mut Thread, pc: u64) {
    if let Some((back, pointer)) = thread.waiting.entered.take() {
        let depth = thread.channel.stack_high().wrapping_sub(pointer) >> 3;
        thread.put(&[enter_words(pc, back, depth)]);
    }
}

fn size(access: &Access) -> u64 {
    access.meta >> 48 & 0xff
}

fn one(thread: &mut Thread, note: &Note, access: &Access) {
    let address = note.address(access);
    match access.op {
        Op::Plain | Op::Exit => thread.put(&[Record {
            word0: address,
            word1: access.meta,
        }]),
        Op::Enter { back } => {
            thread.waiting.entered = Some((back, address));
        }
        Op::Range { end } => {
            let (end, size) = (note.word(end), size(access));
            let start = note.word(access.word);
            // Downwards, the first element is the highest.
            let low = if end < start {
                end.wrapping_add(size)
            } else {
                start
            };
            range(thread, access, low, start.abs_diff(end));
        }
        Op::Masked { mask, lanes } => {
            let bits = note.word(mask) & (u64::MAX >> (64 - u32::from(lanes).min(64)));
            lanes_of(thread, access, address, bits);
        }
        Op::Signed { mask, lanes } => {
            let bits = sign_bits(note, mask, lanes, size(access));
            lanes_of(thread, access, address, bits);
        }
        Op::Gather(gather) => gathered(thread, note, access, address, &gather),
        Op::Allocator { .. } | Op::Result { .. } => {
            if thread.waiting.calls.is_within() || matches!(access.op, Op::Allocator { .. }) {
                flush(thread);
            }
            allocations::noted(thread, access, address, |word| note.word(word));
        }
        Op::Region { begins, words } => {
            if begins {
                gate::begin_region(thread, note.word(words), note.word(words + 1));
            } else {
                gate::end_region(thread);
            }
        }
        Op::Order => thread.channel.mark(note.word(access.word)),
        Op::Function => gate::enter_function(thread, address),
        Op::State { mask } => {
            let bytes = super::x86_64::state_bytes(note.word(mask));
            range(thread, access, address, bytes);
        }
    }
}

/// What follows is recorded in any case: whoever reads it is to know in which function.
fn flush(thread: &mut Thread) {
    if thread.gated {
        gate::flush(thread);
    }
}

/// A record of many bytes.
fn range(thread: &mut Thread, access: &Access, low: u64, bytes: u64) {
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

/// From the first active lane to the last: one access, as the processor makes it.
fn lanes_of(thread: &mut Thread, access: &Access, address: u64, bits: u64) {
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

/// A bit for each element of `bytes` whose sign is set.
fn sign_bits(note: &Note, mask: u16, lanes: u8, bytes: u64) -> u64 {
    let at = note.at.wrapping_add(usize::from(mask)).cast::<u8>();
    (0..u64::from(lanes)).fold(0, |bits, lane| {
        let last = (lane + 1) * bytes - 1;
        // SAFETY: the block noted that many elements.
        let negative = unsafe { *at.add(last as usize) } >> 7;
        bits | u64::from(negative) << lane
    })
}

fn gathered(thread: &mut Thread, note: &Note, access: &Access, base: u64, gather: &Gather) {
    let bits = if gather.signed {
        sign_bits(note, gather.mask, gather.lanes, size(access))
    } else {
        note.word(gather.mask)
    };
    for lane in 0..u16::from(gather.lanes) {
        if bits >> lane & 1 == 0 {
            continue;
        }
        let index = if gather.wide {
            note.word(gather.indices + lane)
        } else {
            let pair = note.word(gather.indices + lane / 2);
            (pair >> (32 * (lane % 2))) as i32 as i64 as u64
        };
        thread.put(&[Record {
            word0: base.wrapping_add(index.wrapping_mul(u64::from(gather.scale))),
            word1: access.meta,
        }]);
    }
}
