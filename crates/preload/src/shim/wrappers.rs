//! C++'s `operator new`: functions that allocate for their caller, by `malloc` and its kin.
//!
//! A path begins at the call of `operator new`, and the library sees the call of `malloc` within
//! it. So the returns of such calls are in the table of [`sites`](super::sites) too, and where one
//! of them is found, its caller is looked up in its place. `operator new` itself stays the
//! program's: it throws as ever, and a program's own one is used.

use core::ffi::CStr;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use reuselens_guest::modules::MappedModule;
use reuselens_guest::unwind;

use super::plan;
use crate::layout::{NEW_NAMES, table};

/// Functions that are remembered, at most: those of four modules.
const KNOWN: usize = 4 * NEW_NAMES.len();
/// Returns of their calls, at most.
pub const RETURNS: usize = 4 * KNOWN;
/// Bytes of a function that are searched for calls, at most.
const MOST_BYTES: u64 = 1024;
/// The same where a function's symbol has no size.
const UNSIZED_BYTES: u64 = 128;

/// Pairs of numbers that one thread changes at a time. A thread that reads them meanwhile may miss
/// an allocation.
struct Pairs<const N: usize> {
    pairs: [[AtomicU64; 2]; N],
    count: AtomicUsize,
}

impl<const N: usize> Pairs<N> {
    const fn new() -> Self {
        Pairs {
            pairs: [const { [const { AtomicU64::new(0) }; 2] }; N],
            count: AtomicUsize::new(0),
        }
    }

    fn all(&self) -> impl Iterator<Item = (u64, u64)> {
        let count = self.count.load(Ordering::Acquire).min(N);
        let value = |of: &AtomicU64| of.load(Ordering::Relaxed);
        self.pairs[..count]
            .iter()
            .map(move |[first, second]| (value(first), value(second)))
    }

    fn set(&self, found: &FoundPairs<N>) {
        for (known, (first, second)) in self.pairs.iter().zip(found.all()) {
            known[0].store(*first, Ordering::Relaxed);
            known[1].store(*second, Ordering::Relaxed);
        }
        self.count.store(found.count, Ordering::Release);
    }
}

/// Pairs that a scan finds; those beyond the room for them are left out.
struct FoundPairs<const N: usize> {
    pairs: [(u64, u64); N],
    count: usize,
}

impl<const N: usize> FoundPairs<N> {
    fn new() -> Self {
        FoundPairs {
            pairs: [(0, 0); N],
            count: 0,
        }
    }

    fn all(&self) -> &[(u64, u64)] {
        &self.pairs[..self.count]
    }

    /// Adds a pair that is not there yet; whether it did.
    fn add(&mut self, pair: (u64, u64)) -> bool {
        let is_new = self.count < N && !self.all().contains(&pair);
        if is_new {
            self.pairs[self.count] = pair;
            self.count += 1;
        }
        is_new
    }
}

/// The code of the functions, as first address and first after.
static CODE: Pairs<KNOWN> = Pairs::new();
/// The return addresses of their calls, each with where the frame of the function ends, from the
/// stack pointer after the return; 0 where that is not known.
static CALLS: Pairs<RETURNS> = Pairs::new();

/// Whether a call with this return address is made by one of the functions.
pub fn calls(return_address: u64) -> bool {
    let mut code = CODE.all();
    code.any(|(low, high)| low < return_address && return_address <= high)
}

/// The return addresses of all calls in the code of the functions, each with where the frame ends,
/// and perhaps some addresses that are none: the code is searched for bytes that look like calls.
pub fn returns() -> impl Iterator<Item = (u64, u64)> {
    CALLS.all()
}

/// The functions that a scan finds.
pub struct Wrappers {
    code: FoundPairs<KNOWN>,
    calls: FoundPairs<RETURNS>,
}

impl Wrappers {
    pub fn new() -> Self {
        Wrappers {
            code: FoundPairs::new(),
            calls: FoundPairs::new(),
        }
    }

    /// Adds those that a module exports.
    pub fn add_exported(&mut self, module: &MappedModule<'_>) {
        let Some(symbols) = module.symbols() else {
            return;
        };
        for name in NEW_NAMES {
            let name = CStr::from_bytes_with_nul(name.as_bytes());
            if let Some((low, bytes)) = name.ok().and_then(|name| symbols.function(name)) {
                self.add(module, low, low.wrapping_add(bytes));
            }
        }
    }

    /// Adds those that the plan has for a module, which does not export them.
    pub fn add_planned(&mut self, number: usize, module: &MappedModule<'_>) {
        for wrapper in 0..plan::count(table::WRAPPERS) {
            let at = plan::record(table::WRAPPERS, wrapper);
            if plan::get(at) == number as u64 {
                self.add(module, plan::get(at + 1), plan::get(at + 2));
            }
        }
    }

    /// Adds a function by its addresses in the file of its module, which is mapped meanwhile.
    fn add(&mut self, module: &MappedModule<'_>, low: u64, high: u64) {
        let place = |at: u64| module.bias.wrapping_add(at);
        let (low, high) = (place(low), place(high));
        // Functions in assembly may have no size.
        let high = if low == high {
            low.saturating_add(UNSIZED_BYTES)
        } else {
            high.min(low.saturating_add(MOST_BYTES))
        };
        if low >= high || !module.holds(low) || !module.holds(high - 1) {
            return;
        }
        if !self.code.add((low, high)) {
            return;
        }
        // SAFETY: these bytes are in segments of the module, in one as the code of a function is.
        let code = unsafe { core::slice::from_raw_parts(low as *const u8, (high - low) as usize) };
        for (at, bytes) in code.windows(2).enumerate() {
            let length = match *bytes {
                [0xe8, _] => 5,
                [0xff, 0x15] => 6,
                // By a register.
                [0xff, 0xd0..=0xd7] => 2,
                _ => continue,
            };
            let after = low + at as u64 + length;
            let frame = unwind::frame_after(after).unwrap_or(0);
            self.calls.add((after, frame.into()));
        }
    }

    /// Makes these the known ones; whether they are others than before.
    pub fn publish(self) -> bool {
        let is_new = !CODE.all().eq(self.code.all().iter().copied());
        if is_new {
            CODE.set(&self.code);
            CALLS.set(&self.calls);
        }
        is_new
    }
}
