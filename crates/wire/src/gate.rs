//! [`Gate`]: the state by which a thread decides which of its records are recorded, where the
//! analysing side does not want all of them ([`Control`]).
//!
//! The gate knows which regions and wanted functions its thread is in, and holds access numbers
//! claimed from the `Control`. [`Gate::sort`] takes a thread's records in their order and passes on
//! the wanted ones. The run time sorts the records of a [`ControlStage`]; the rewriter passes each
//! record through, before it is written to the segment. The analysing side sorts what a killed
//! thread left in its stage.
//!
//! While a thread's accesses are not recorded, its function entries wait: until another record is
//! passed on, whose reader must know the function, or until the function's exit cancels its entry.
//!
//! Where a burst of each stratum is recorded, a record that says so is passed on before the first
//! access of each part of a burst ([`WireKind::Burst`]). A thread that sleeps with numbers claimed
//! makes these accesses later: then they are in the part that is on, for its reader.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::control::{Control, FUNCTIONS, Recording};
use crate::layout::Slot;
use crate::record::{ENTER_DEPTH_UNKNOWN, Record, WireKind, unpack_enter};

/// The most function entries that wait.
const ENTRIES: usize = 64;

/// Addresses of a function in a process.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// Its first address.
    pub low: u64,
    /// The first address after it.
    pub high: u64,
}

/// The state of a thread. All fields are numbers, so any bytes are a valid gate: it can be read
/// from the memory of a process that was killed or that has written over it. Whatever the numbers
/// are, the time of [`Gate::sort`] is linear in the records.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// How many regions the thread is in.
    nested: u64,
    /// A bit for each of the 64 outermost of them, the outermost lowest: whether it is wanted.
    matched: u64,
    /// Stack pointer with which a wanted function was entered; 0 outside of wanted functions.
    function: u64,
    /// Calls within that function that have not returned.
    deeper: u64,
    /// Not 0 if an exit with the stack pointer of the wanted function is always its own.
    own_exits: u64,
    /// Access numbers that were claimed and not used yet.
    budget: u64,
    /// Not 0 if the accesses with these numbers are recorded.
    claimed: u64,
    /// The part of a burst ([`Claim::part`](crate::Claim::part)) that these numbers are in. They
    /// may be claimed before the access comes that uses the first of them, so it is not yet:
    claimed_part: u64,
    /// the part that the last recorded access is in. What is passed on in between (allocations) is
    /// still before it.
    part: u64,
    /// The part that was announced last.
    announced: u64,
    /// Not 0 if the last access was recorded.
    on: u64,
    /// Accesses left out that are not yet added to [`Control::left_out`].
    left_out: u64,
    /// Addresses of the wanted functions; the first `ranges_known` are used.
    ranges: [Range; FUNCTIONS],
    ranges_known: u64,
    entries_waiting: u64,
    /// Function entries that wait, innermost last; the first `entries_waiting` are used.
    entries: [Record; ENTRIES],
    /// Stack pointers of these entries; 0 = unknown.
    pointers: [u64; ENTRIES],
}

/// The regions and the wanted function that a thread is in: what its child processes inherit of
/// its gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordingScope {
    nested: u64,
    matched: u64,
    function: u64,
}

/// What is decided about the next accesses of a thread ([`Gate::phase`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Whether they are recorded.
    pub recorded: bool,
    /// How many they are, if the thread's regions and functions stay the same; `u64::MAX` if all.
    pub accesses: u64,
}

impl Gate {
    /// The gate of a thread that starts within `scope`.
    pub const fn new(scope: RecordingScope) -> Self {
        Gate {
            nested: scope.nested,
            matched: scope.matched,
            function: scope.function,
            deeper: 0,
            own_exits: 0,
            budget: 0,
            claimed: 0,
            claimed_part: 0,
            part: 0,
            announced: 0,
            on: 0,
            left_out: 0,
            ranges: [Range { low: 0, high: 0 }; FUNCTIONS],
            ranges_known: 0,
            entries_waiting: 0,
            entries: [Record { word0: 0, word1: 0 }; ENTRIES],
            pointers: [0; ENTRIES],
        }
    }

    /// The gate of a thread whose exits have the address of the return address, as the rewriter's
    /// have: no callee has the stack pointer of its caller, as callees that end with a jump to the
    /// exit hook have. So calls that were left without a return (`longjmp`) do not matter.
    pub const fn with_own_exits(mut self) -> Self {
        self.own_exits = 1;
        self
    }

    /// Whether an exit with this stack pointer, of a thread with so many `deeper` calls, is that of
    /// the wanted function, or shows that it was left before (exceptions).
    #[inline]
    fn ends_function(&self, pointer: u64, deeper: u64) -> bool {
        // A callee that ends with a jump to the exit hook has freed its frame before, so its exit
        // has the stack pointer of the wanted function itself.
        let callee = self.own_exits == 0 && pointer == self.function && deeper > 0;
        pointer >= self.function && !callee
    }

    /// What a child process of the thread starts with.
    pub fn scope(&self) -> RecordingScope {
        RecordingScope {
            nested: self.nested,
            matched: self.matched,
            function: self.function,
        }
    }

    /// Sets the addresses of the wanted functions, as far as their files are mapped; the first
    /// [`FUNCTIONS`] of them are used.
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

    /// A wanted function is entered with this stack pointer. Recursive calls change nothing.
    pub fn enter_function(&mut self, control: &Control, pointer: u64) {
        if self.function == 0 || pointer > self.function {
            self.function = pointer.max(1);
            self.deeper = 0;
            control.entered.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A function was left with this stack pointer. That ends the wanted function if it is the
    /// function that was left, or one that an exception has left before.
    #[inline]
    fn leave_function(&mut self, pointer: u64) {
        if self.ends_function(pointer, self.deeper) {
            self.function = 0;
        }
        self.deeper = self.deeper.saturating_sub(1);
    }

    /// Whether accesses of the thread pass the two conditions other than the schedule: its regions
    /// and functions are wanted, and the recording is open.
    #[inline]
    fn passes(&self, control: &Control) -> bool {
        let order = Ordering::Relaxed;
        (self.matched != 0 || control.regions.load(order) == 0)
            && (self.function != 0 || control.functions.load(order) == 0)
            && control.state.load(order) == Recording::Open as u32
    }

    /// Whether all accesses of the thread are recorded until it leaves its region, so that its
    /// records need not be sorted. Before a caller stops sorting it must pass on the waiting
    /// entries ([`Self::flush`]).
    #[inline]
    pub fn is_direct(&self, control: &Control) -> bool {
        self.budget == 0
            && control.functions.load(Ordering::Relaxed) == 0
            && control.is_unmetered()
            && self.passes(control)
    }

    /// Claims access numbers, if none are left.
    #[inline]
    fn claim(&mut self, control: &Control) {
        if self.budget == 0 {
            let claim = control.claim();
            (self.claimed, self.budget) = (u64::from(claim.recorded), claim.count);
            self.claimed_part = claim.part;
        }
    }

    /// Whether the part of a burst that these accesses are in must be announced before them.
    #[inline]
    pub fn begins_part(&self, phase: Phase) -> bool {
        phase.recorded && self.claimed_part != self.announced
    }

    /// Decides about the next accesses. Returns whether they are recorded, and how many of `wanted`
    /// the decision is for: these are used up, at least one if `wanted` is not 0.
    #[inline]
    pub fn take(&mut self, control: &Control, wanted: u64) -> (bool, u64) {
        let (mut on, mut granted) = (self.passes(control), wanted);
        if on && !(self.budget == 0 && control.is_unmetered()) {
            self.claim(control);
            on = self.claimed != 0;
            granted = wanted.min(self.budget);
            self.budget -= granted;
            if on {
                self.part = self.claimed_part;
            }
        }
        self.on = u64::from(on);
        if !on {
            self.left_out = self.left_out.wrapping_add(granted);
        }
        (on, granted)
    }

    /// What is decided about the next accesses. Claims numbers for them if they need some and none
    /// are left; uses none up ([`Self::spend`]).
    pub fn phase(&mut self, control: &Control) -> Phase {
        let passes = self.passes(control);
        if !passes || (self.budget == 0 && control.is_unmetered()) {
            return Phase {
                recorded: passes,
                accesses: u64::MAX,
            };
        }
        self.claim(control);
        Phase {
            recorded: self.claimed != 0,
            accesses: self.budget,
        }
    }

    /// Uses up `count` accesses of a phase, at most as many as it has.
    pub fn spend(&mut self, phase: Phase, count: u64) {
        if count == 0 {
            return;
        }
        // A claim is never for all accesses.
        if phase.accesses != u64::MAX {
            self.budget = self.budget.saturating_sub(count);
        }
        if !phase.recorded {
            self.left_out = self.left_out.wrapping_add(count);
        }
        self.on = u64::from(phase.recorded);
    }

    /// Whether the last access was recorded.
    pub fn was_recorded(&self) -> bool {
        self.on != 0
    }

    /// Adds the accesses left out since the last call to [`Control::left_out`].
    pub fn report(&mut self, control: &Control) {
        if self.left_out != 0 {
            let left_out = core::mem::take(&mut self.left_out);
            control.left_out.fetch_add(left_out, Ordering::Relaxed);
        }
    }

    /// Passes on the waiting function entries, so that the reader knows which function the records
    /// after them belong to, after the record of the part of a burst that begins with these.
    pub fn flush(&mut self, out: &mut impl FnMut(&[Record])) {
        if self.part != self.announced {
            self.announced = self.part;
            out(&[Record::new(WireKind::Burst, 0, 0, self.part)]);
        }
        let waiting = core::mem::take(&mut self.entries_waiting) as usize;
        if waiting != 0 {
            out(&self.entries[..waiting.min(ENTRIES)]);
        }
    }

    /// Passes the wanted ones of a thread's records to `out`, in their order. Left out are
    /// accesses, statements and basic blocks that are not wanted, and pairs of a function's entry
    /// and exit with no other record passed on between them. All other records are passed on.
    /// `stack_high` is the first address above the thread's stack.
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
            let flush = (self.entries_waiting != 0 || self.part != self.announced) && keep;
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

    /// Passes the record of a function's entry to `out` or lets it wait, as [`Self::sort`] does.
    /// Returns whether the thread has entered or left its wanted function.
    #[inline]
    pub fn enter(
        &mut self,
        control: &Control,
        stack_high: u64,
        record: Record,
        out: &mut impl FnMut(&[Record]),
    ) -> bool {
        let before = self.function;
        if self.entered(control, stack_high, record) {
            self.flush(out);
            out(&[record]);
        }
        before != self.function
    }

    /// The same for the record of a function's exit.
    #[inline]
    pub fn leave(&mut self, record: Record, out: &mut impl FnMut(&[Record])) -> bool {
        let before = self.function;
        if self.left(record.word0) {
            self.flush(out);
            out(&[record]);
        }
        before != self.function
    }

    /// Whether the thread is in no wanted function.
    pub fn is_outside(&self) -> bool {
        self.function == 0
    }

    /// Lets the record of a function's entry wait, whose stack pointer is known, while accesses are
    /// left out and the thread [`is_outside`](Self::is_outside) of wanted functions. False, and
    /// nothing is done, if there is no room or the function is wanted: see [`Self::enter`].
    #[inline(always)]
    pub fn wait(&mut self, record: Record, pointer: u64) -> bool {
        let at = self.entries_waiting as usize;
        let known = (self.ranges_known as usize).min(FUNCTIONS);
        let pc = record.pc();
        let is_wanted = |range: &Range| range.low <= pc && pc < range.high;
        if at >= ENTRIES || self.ranges[..known].iter().any(is_wanted) {
            return false;
        }
        self.entries[at] = record;
        self.pointers[at] = pointer;
        self.entries_waiting += 1;
        true
    }

    /// Removes the entry that waits last, if an exit with this stack pointer is its exit, while
    /// accesses are left out and the thread [`is_outside`](Self::is_outside) of wanted functions.
    /// Else false, and nothing is done: see [`Self::leave`].
    #[inline(always)]
    pub fn cancel_last(&mut self, pointer: u64) -> bool {
        let last = self.entries_waiting.wrapping_sub(1);
        let is_its = last < ENTRIES as u64 && self.pointers[last as usize] == pointer;
        self.entries_waiting -= u64::from(is_its);
        is_its
    }

    /// Counts the entry of a function and the exit after it, if each is there, of a thread that
    /// is recorded within its wanted function; `exit` is its stack pointer. False, and nothing is
    /// counted, if the wanted function may not go on: then [`Self::sort`] has to decide.
    pub fn goes_on(&mut self, stack_high: u64, entry: Option<Record>, exit: Option<u64>) -> bool {
        let mut deeper = self.deeper;
        if let Some(entry) = entry {
            let (_, depth) = unpack_enter(entry);
            let pointer = stack_high.wrapping_sub(depth * 8);
            if depth == ENTER_DEPTH_UNKNOWN || pointer > self.function {
                return false;
            }
            deeper = deeper.wrapping_add(1);
        }
        if let Some(pointer) = exit {
            if self.ends_function(pointer, deeper) {
                return false;
            }
            deeper = deeper.saturating_sub(1);
        }
        self.deeper = deeper;
        true
    }

    /// Whether the first of these records are kept, and how many of them the answer is for.
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
        let with_operands = 1 + records[1..].iter().take_while(operand).count();
        match record.kind() {
            ENTER => (self.entered(control, stack_high, record), 1),
            EXIT => (self.left(record.word0), 1),
            STATEMENT | BASIC_BLOCK => (self.on != 0, 1),
            kind if is_access(kind) => (self.take(control, 1).0, with_operands),
            _ => (true, with_operands),
        }
    }

    fn entered(&mut self, control: &Control, stack_high: u64, record: Record) -> bool {
        let pc = record.pc();
        let (_, depth) = unpack_enter(record);
        let pointer = stack_high.wrapping_sub(depth * 8);
        let known = (self.ranges_known as usize).min(FUNCTIONS);
        let counts = |range: &Range| range.low <= pc && pc < range.high;
        if depth != ENTER_DEPTH_UNKNOWN {
            // An entry at a higher stack pointer shows that the function was left.
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
            // No room for one more: all of them are passed on, and this one.
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

    /// Removes the waiting entry that an exit with this stack pointer belongs to, and all entries
    /// of deeper calls, whose exits are missing (exceptions). False if the entry is not waiting.
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

/// Whether a record of this kind is an access without operands.
#[inline]
fn is_plain(kind: u8) -> bool {
    (WireKind::Load as u8..=WireKind::Atomic as u8).contains(&kind)
}

/// Whether a record of this kind is an access.
#[inline]
fn is_access(kind: u8) -> bool {
    (WireKind::Load as u8..=WireKind::RangeStore as u8).contains(&kind)
        || kind == WireKind::Named as u8
}

/// Whether [`Gate::sort`] may leave out records of this kind; it passes on all others.
#[inline]
pub fn is_gated(kind: u8) -> bool {
    is_access(kind)
        || kind == WireKind::Enter as u8
        || kind == WireKind::Exit as u8
        || kind == WireKind::Statement as u8
        || kind == WireKind::BasicBlock as u8
}

/// A block in which records of a thread of the run time wait for [`Gate::sort`], with the gate.
/// It is in the segment, so that the analysing side can sort what a killed thread left.
#[repr(C, align(128))]
pub struct ControlStage {
    /// The slot that the hooks write through instead of the thread's own one.
    pub slot: Slot,
    /// Not 0 while the records are sorted.
    pub sorting: AtomicU32,
    /// The gate. Only its thread uses it; the analysing side copies it once the thread is dead.
    pub gate: Gate,
}

#[cfg(test)]
mod tests;
