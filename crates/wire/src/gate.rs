//! A thread's own part in what is recorded: which regions and functions it is in, and which of its
//! accesses pass.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::control::{Control, FUNCTIONS, Recording};
use crate::layout::Slot;
use crate::record::{ENTER_DEPTH_UNKNOWN, Record, WireKind, unpack_enter};

/// Function entries that wait for an access that is recorded, or for their exit.
const ENTRIES: usize = 64;

/// Where a function lies in a process.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Its first address.
    pub low: u64,
    /// The first address behind it.
    pub high: u64,
}

/// The state of a thread. Numbers only: any bytes are a valid one, so it can be read from the
/// memory of a process that was killed, or that has written over it. No number makes [`Gate::sort`]
/// take longer than its records do.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// Regions that the thread is in, and for each of the first 64, from the outermost on, a bit:
    /// whether it counts.
    nested: u64,
    matched: u64,
    /// Stack pointer with which a function that counts was entered; 0 outside.
    function: u64,
    /// Calls within it that have not returned.
    deeper: u64,
    /// Accesses that may be made as `claimed` says before more are claimed.
    budget: u64,
    claimed: u64,
    /// Whether the last access was recorded.
    on: u64,
    /// Accesses left out that [`Control::left_out`] does not know yet.
    left_out: u64,
    ranges: [Range; FUNCTIONS],
    ranges_known: u64,
    entries_waiting: u64,
    entries: [Record; ENTRIES],
    /// Their stack pointers; 0 = unknown.
    pointers: [u64; ENTRIES],
}

/// Where a thread is, as far as its child processes inherit it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    nested: u64,
    matched: u64,
    function: u64,
}

impl Gate {
    /// A thread that has just begun.
    pub const fn new(place: Place) -> Self {
        Gate {
            nested: place.nested,
            matched: place.matched,
            function: place.function,
            deeper: 0,
            budget: 0,
            claimed: 0,
            on: 0,
            left_out: 0,
            ranges: [Range { low: 0, high: 0 }; FUNCTIONS],
            ranges_known: 0,
            entries_waiting: 0,
            entries: [Record { word0: 0, word1: 0 }; ENTRIES],
            pointers: [0; ENTRIES],
        }
    }

    /// Where the thread is.
    pub fn place(&self) -> Place {
        Place {
            nested: self.nested,
            matched: self.matched,
            function: self.function,
        }
    }

    /// Tells where the functions lie that count.
    pub fn set_ranges(&mut self, ranges: &[Range]) {
        let count = ranges.len().min(FUNCTIONS);
        self.ranges[..count].copy_from_slice(&ranges[..count]);
        self.ranges_known = count as u64;
    }

    /// A region begins.
    pub fn begin_region(&mut self, control: &Control, name: &[u8]) {
        if self.nested < 64 && control.wants_region(name) {
            self.matched |= 1 << self.nested;
            control.entered.fetch_add(1, Ordering::Relaxed);
        }
        self.nested = self.nested.wrapping_add(1);
    }

    /// The region begun last ends; nothing if there is none.
    pub fn end_region(&mut self) {
        self.nested = self.nested.saturating_sub(1);
        if self.nested < 64 {
            self.matched &= !(1 << self.nested);
        }
    }

    /// A function that counts is entered with this stack pointer. Calls of itself change nothing.
    pub fn enter_function(&mut self, control: &Control, pointer: u64) {
        if self.function == 0 || pointer > self.function {
            self.function = pointer.max(1);
            self.deeper = 0;
            control.entered.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A function was left with this stack pointer: perhaps the one that counts, or it is gone
    /// already (an exception).
    #[inline]
    fn leave_function(&mut self, pointer: u64) {
        // A callee that ends with a jump to the hook has given its frame back: it is left with the
        // pointer of the function itself.
        let callee = pointer == self.function && self.deeper > 0;
        if pointer >= self.function && !callee {
            self.function = 0;
        }
        self.deeper = self.deeper.saturating_sub(1);
    }

    /// Whether accesses pass, as far as that is the thread's matter and time's.
    #[inline]
    fn passes(&self, control: &Control) -> bool {
        let order = Ordering::Relaxed;
        (self.matched != 0 || control.regions.load(order) == 0)
            && (self.function != 0 || control.functions.load(order) == 0)
            && control.state.load(order) == Recording::Open as u32
    }

    /// Whether everything the thread does is recorded until it leaves its region: nobody needs to
    /// look at single accesses. Who goes on so hands on first what waits ([`Self::flush`]).
    #[inline]
    pub fn is_direct(&self, control: &Control) -> bool {
        self.budget == 0
            && control.functions.load(Ordering::Relaxed) == 0
            && control.is_unmetered()
            && self.passes(control)
    }

    /// Whether the next accesses are recorded, and how many of `wanted` that holds for. They are
    /// made.
    #[inline]
    pub fn take(&mut self, control: &Control, wanted: u64) -> (bool, u64) {
        self.take_as(control, wanted, self.passes(control))
    }

    /// The same where it is known whether accesses pass.
    #[inline]
    fn take_as(&mut self, control: &Control, wanted: u64, passes: bool) -> (bool, u64) {
        let (mut on, mut granted) = (passes, wanted);
        if on && !(self.budget == 0 && control.is_unmetered()) {
            if self.budget == 0 {
                let (claimed, budget) = control.claim();
                (self.claimed, self.budget) = (u64::from(claimed), budget);
            }
            on = self.claimed != 0;
            granted = wanted.min(self.budget);
            self.budget -= granted;
        }
        self.on = u64::from(on);
        if !on {
            self.left_out = self.left_out.wrapping_add(granted);
        }
        (on, granted)
    }

    /// Like [`Self::take`] for all of `wanted`, or `None` and nothing happens if they differ.
    #[inline]
    pub fn take_all(&mut self, control: &Control, wanted: u64) -> Option<bool> {
        let passes = self.passes(control);
        let metered = self.budget != 0 || !control.is_unmetered();
        if passes && metered && self.budget < wanted {
            return None;
        }
        let (on, granted) = self.take_as(control, wanted, passes);
        debug_assert!(granted == wanted);
        Some(on)
    }

    /// Whether the access made last was recorded.
    pub fn was_recorded(&self) -> bool {
        self.on != 0
    }

    /// Tells everyone how much was left out since.
    pub fn report(&mut self, control: &Control) {
        if self.left_out != 0 {
            let left_out = core::mem::take(&mut self.left_out);
            control.left_out.fetch_add(left_out, Ordering::Relaxed);
        }
    }

    /// Hands on the function entries that wait: whoever reads on is to know where the thread is.
    pub fn flush(&mut self, out: &mut impl FnMut(&[Record])) {
        let waiting = core::mem::take(&mut self.entries_waiting) as usize;
        if waiting != 0 {
            out(&self.entries[..waiting.min(ENTRIES)]);
        }
    }

    /// Hands on those of a thread's records that are recorded. Entries and exits that cancel each
    /// other out go with what is left out between them; all else is handed on. `stack_high` is the
    /// address above the thread's stack.
    pub fn sort(
        &mut self,
        control: &Control,
        stack_high: u64,
        records: &[Record],
        out: &mut impl FnMut(&[Record]),
    ) {
        let (mut kept, mut at) = (0, 0);
        while at < records.len() {
            let from = at;
            let (keep, count) = self.next(control, stack_high, &records[from..]);
            at += count;
            let flush = self.entries_waiting != 0 && keep;
            if flush || !keep {
                if kept < from {
                    out(&records[kept..from]);
                }
                kept = if keep { from } else { at };
            }
            if flush {
                self.flush(out);
            }
        }
        if kept < records.len() {
            out(&records[kept..]);
        }
    }

    /// Whether the first of these records are kept, and how many that holds for.
    fn next(&mut self, control: &Control, stack_high: u64, records: &[Record]) -> (bool, usize) {
        const ENTER: u8 = WireKind::Enter as u8;
        const EXIT: u8 = WireKind::Exit as u8;
        const STATEMENT: u8 = WireKind::Statement as u8;
        const BASIC_BLOCK: u8 = WireKind::BasicBlock as u8;
        let plain = records.iter().take_while(|record| is_plain(record.kind()));
        let plain = plain.count();
        if plain > 0 {
            let (on, granted) = self.take(control, plain as u64);
            return (on, granted as usize);
        }
        let record = records[0];
        let operand = |record: &&Record| record.kind() == WireKind::Operand as u8;
        let whole = 1 + records[1..].iter().take_while(operand).count();
        match record.kind() {
            ENTER => (self.entered(control, stack_high, record), 1),
            EXIT => (self.left(record.word0), 1),
            STATEMENT | BASIC_BLOCK => (self.on != 0, 1),
            kind if is_access(kind) => (self.take(control, 1).0, whole),
            _ => (true, whole),
        }
    }

    fn entered(&mut self, control: &Control, stack_high: u64, record: Record) -> bool {
        let pc = record.pc();
        let (_, depth) = unpack_enter(record);
        let pointer = stack_high.wrapping_sub(depth * 8);
        let known = (self.ranges_known as usize).min(FUNCTIONS);
        let counts = |range: &Range| range.low <= pc && pc < range.high;
        if depth != ENTER_DEPTH_UNKNOWN {
            // What lies higher shows that the function was left.
            if self.function != 0 && pointer > self.function {
                self.function = 0;
            }
            if self.function != 0 {
                self.deeper = self.deeper.wrapping_add(1);
            }
            if self.ranges[..known].iter().any(counts) {
                self.enter_function(control, pointer);
            }
        }
        if !self.passes(control) {
            self.on = 0;
        }
        if self.on != 0 {
            return true;
        }
        if self.entries_waiting as usize >= ENTRIES {
            // Too deep to wait: they are handed on, this one with them.
            return true;
        }
        let at = self.entries_waiting as usize;
        self.entries[at] = record;
        self.pointers[at] = if depth == ENTER_DEPTH_UNKNOWN {
            0
        } else {
            pointer
        };
        self.entries_waiting += 1;
        false
    }

    /// An exit with this stack pointer; whether it is kept.
    fn left(&mut self, pointer: u64) -> bool {
        let kept = self.on != 0 || !self.cancel(pointer);
        self.leave_function(pointer);
        kept
    }

    /// Takes away the entry that an exit belongs to, and those that lie deeper, whose exits are
    /// missing (exceptions). False if the entry is not among those that wait.
    fn cancel(&mut self, pointer: u64) -> bool {
        self.entries_waiting = self.entries_waiting.min(ENTRIES as u64);
        while let Some(last) = self.entries_waiting.checked_sub(1) {
            let entered = self.pointers[last as usize % ENTRIES];
            if entered > pointer {
                return false;
            }
            self.entries_waiting = last;
            if entered == pointer || entered == 0 {
                return true;
            }
        }
        false
    }
}

/// Whether a record is an access by itself.
#[inline]
fn is_plain(kind: u8) -> bool {
    (WireKind::Load as u8..=WireKind::Atomic as u8).contains(&kind)
}

/// Whether a record is an access.
#[inline]
fn is_access(kind: u8) -> bool {
    (WireKind::Load as u8..=WireKind::RangeStore as u8).contains(&kind)
        || kind == WireKind::Named as u8
}

/// Whether records of this kind are looked at by [`Gate::sort`]; others are handed on as they come.
#[inline]
pub fn is_gated(kind: u8) -> bool {
    is_access(kind)
        || kind == WireKind::Enter as u8
        || kind == WireKind::Exit as u8
        || kind == WireKind::Statement as u8
        || kind == WireKind::BasicBlock as u8
}

/// Where a thread's records wait to be sorted: a block of its own, and the state with which it is.
#[repr(C, align(128))]
pub struct Stage {
    /// What the hooks write through in the place of the thread's own slot.
    pub slot: Slot,
    /// Not 0 while the records are sorted.
    pub sorting: AtomicU32,
    /// The state: the thread's own. Others copy it once the thread is dead.
    pub gate: Gate,
}

#[cfg(test)]
mod tests;
