//! Call paths: by which calls the program came here.
//!
//! A call path is the list of return addresses, which is read from the stack by the frame
//! information of the code. Each distinct list is looked at once: its addresses become modules and
//! addresses in their files. From then on it has a number, which is what messages say.
//!
//! In a thread that runs Python, it is the list of calls in Python: each function counts as a
//! module, and each line as an address.

use std::arch::naked_asm;
use std::collections::BTreeMap;

use reuselens_guest::modules::{self, MappedModule};
use reuselens_guest::sys;
use reuselens_guest::unwind::{self, CallCursor};

use super::guarded::{Guarded, is_forking};
use super::python::{self, PythonCall};

/// Calls of a path that are kept: the innermost.
const MAX_FRAMES: usize = 64;
/// Paths that get a number.
const MAX_PATHS: usize = 1 << 16;

/// A file with code of the program.
#[derive(Clone, PartialEq, Eq)]
pub struct ProgramModule {
    pub path: Vec<u8>,
    pub build_id: Vec<u8>,
    /// The function, of a file that an interpreter runs; else empty.
    pub function: Vec<u8>,
    /// What to add to an address of its file.
    bias: u64,
}

/// A call path, as the analysing process gets it.
#[derive(Clone, Default)]
pub struct ResolvedPath {
    /// The outermost first: number of the module, address in its file.
    pub frames: Vec<(u32, u64)>,
    pub is_cut: bool,
}

struct KnownPaths {
    modules: Vec<ProgramModule>,
    /// By number, without number 0.
    paths: Vec<ResolvedPath>,
    /// Numbers by return addresses, the innermost first; by calls in Python, after [`OF_PYTHON`].
    numbers: BTreeMap<Vec<u64>, u32>,
    /// How many modules had been unmapped when `numbers` was begun.
    unmapped: u64,
}

static KNOWN: Guarded<KnownPaths> = Guarded::new(KnownPaths {
    modules: Vec::new(),
    paths: Vec::new(),
    numbers: BTreeMap::new(),
    unmapped: 0,
});

/// Where the caller of this function is.
#[unsafe(naked)]
extern "C" fn cursor(to: *mut [u64; 3]) {
    naked_asm!(
        "mov rax, qword ptr [rsp]",
        "mov qword ptr [rdi], rax",
        "lea rax, [rsp + 8]",
        "mov qword ptr [rdi + 8], rax",
        "mov qword ptr [rdi + 16], rbp",
        "ret",
    )
}

/// Calls from the caller of this function outwards.
#[inline(always)]
fn walk() -> impl Iterator<Item = CallCursor> {
    let mut here = [0; 3];
    cursor(&raw mut here);
    let [return_address, sp, bp] = here;
    // SAFETY: the callers, into which this is inlined, use the walk before they return.
    let first = unsafe { CallCursor::new(return_address, sp, bp) };
    std::iter::successors(Some(first), |cursor| cursor.caller())
}

/// The return addresses of the calls that lead here, the innermost first; none in a fork handler,
/// as for [`here`].
#[inline(never)]
pub fn return_addresses() -> Vec<u64> {
    if is_forking() {
        return Vec::new();
    }
    let calls = walk().map(|call| call.return_address());
    calls.take(MAX_FRAMES).collect()
}

/// What no return address is: the key of a path of Python begins with it.
const OF_PYTHON: u64 = u64::MAX;

/// The number of the call path that leads here; 0 if there are too many, and in a fork handler of
/// the program: the unwinder's lock is held then. Cost: some nanoseconds for each call of it, if
/// the path has been seen before; microseconds in Python, whose lock it takes, so that none of this
/// library's may be held ([`python`]).
#[inline(never)]
pub fn here() -> u32 {
    if is_forking() {
        return 0;
    }
    match python::calls() {
        Some(calls) => number_of_calls(&calls),
        None => here_on_stack(),
    }
}

/// The number of a path of calls in Python, the innermost first.
fn number_of_calls(calls: &[PythonCall]) -> u32 {
    let mut key = vec![OF_PYTHON];
    key.extend(calls.iter().flat_map(|&(function, line)| [function, line]));
    if let Some(number) = KNOWN.with(|known| known.numbers.get(&key).copied()) {
        return number;
    }
    let is_cut = calls.len() == python::MAX_CALLS;
    let calls = calls.iter().rev().filter_map(|&(function, line)| {
        let python::PythonFunction { file, name } = python::function(function)?;
        let module = ProgramModule {
            path: file,
            build_id: Vec::new(),
            function: name,
            bias: 0,
        };
        Some((module, line))
    });
    let calls: Vec<_> = calls.collect();
    KNOWN.with(|known| known.add(key, calls, is_cut))
}

/// The number of the call path that leads here by the stack, as for [`here`]; without Python's
/// lock.
#[inline(never)]
pub fn here_on_stack() -> u32 {
    if is_forking() {
        return 0;
    }
    let mut addresses = [0; MAX_FRAMES];
    let (mut count, mut is_cut) = (0, false);
    for cursor in walk() {
        match addresses.get_mut(count) {
            Some(room) => *room = cursor.return_address(),
            None => {
                is_cut = true;
                break;
            }
        }
        count += 1;
    }
    let addresses = &addresses[..count];
    let unmapped = modules::changes().map_or(0, |(_, unmapped)| unmapped);
    let number = KNOWN.with(|known| {
        if known.unmapped != unmapped {
            // Other code may be at the same addresses now.
            known.unmapped = unmapped;
            known.numbers.clear();
            unwind::forget();
        }
        known.numbers.get(addresses).copied()
    });
    // The loader's lock is taken here: not while ours is held.
    number.unwrap_or_else(|| add(addresses, is_cut))
}

/// Gives a path a number.
#[cold]
fn add(addresses: &[u64], is_cut: bool) -> u32 {
    let found: Vec<(ProgramModule, u64)> = addresses
        .iter()
        .rev()
        .filter_map(|&address| find(address - 1))
        .collect();
    KNOWN.with(|known| known.add(addresses.to_vec(), found, is_cut))
}

impl KnownPaths {
    /// Gives a path a number, by its key and its calls, the outermost first.
    fn add(&mut self, key: Vec<u64>, calls: Vec<(ProgramModule, u64)>, is_cut: bool) -> u32 {
        if self.paths.len() >= MAX_PATHS {
            return 0;
        }
        let frames = calls
            .into_iter()
            .map(|(module, address)| (self.number_of(module), address))
            .collect();
        self.paths.push(ResolvedPath { frames, is_cut });
        let number = self.paths.len() as u32;
        self.numbers.insert(key, number);
        number
    }

    fn number_of(&mut self, module: ProgramModule) -> u32 {
        let known = self.modules.iter().position(|known| *known == module);
        known.unwrap_or_else(|| {
            self.modules.push(module);
            self.modules.len() - 1
        }) as u32
    }
}

/// The module around an address, and the address in its file; `None` for this library's own code.
fn find(address: u64) -> Option<(ProgramModule, u64)> {
    let mut found = None;
    let own = here as *const () as u64;
    modules::for_each(|module| {
        let is_around = module.holds(address);
        if is_around && !module.holds(own) {
            found = Some((described(module), address.wrapping_sub(module.bias)));
        }
        is_around
    });
    found
}

/// The path of the program itself.
fn program() -> Vec<u8> {
    let mut path = vec![0; 4096];
    let length = sys::executable(&mut path);
    path.truncate(length);
    path
}

fn described(module: &MappedModule<'_>) -> ProgramModule {
    let path = match module.path {
        [] => program(),
        path => path.to_vec(),
    };
    ProgramModule {
        path,
        build_id: module.build_id().to_vec(),
        function: Vec::new(),
        bias: module.bias,
    }
}

/// What a number means.
pub fn resolved(number: u32) -> Option<ResolvedPath> {
    let index = (number as usize).checked_sub(1)?;
    KNOWN.with(|known| known.paths.get(index).cloned())
}

/// A module by its number.
pub fn module(number: u32) -> Option<ProgramModule> {
    KNOWN.with(|known| known.modules.get(number as usize).cloned())
}

/// The module around an address of data, its number, and the address in its file.
pub fn module_around(address: u64) -> Option<(u32, u64)> {
    let (module, address) = find(address)?;
    Some((KNOWN.with(|known| known.number_of(module)), address))
}

/// A function whose frame an address is in.
pub struct FrameAround {
    /// The module's number, and the address in its file where the function begins.
    pub module: u32,
    pub function: u64,
    /// Bytes from the address up to the canonical frame address.
    pub below: u64,
}

/// The frame of this thread's stack that an address is in; none in a fork handler, as for [`here`].
#[inline(never)]
pub fn frame_around(address: u64) -> Option<FrameAround> {
    if is_forking() {
        return None;
    }
    let mut cursors = walk();
    let mut inner = cursors.next()?;
    if address < inner.sp() {
        return None;
    }
    // The frame of the function that `inner` returns to ends where the stack pointer is after it
    // has returned itself.
    for outer in cursors {
        if address < outer.sp() {
            let start = unwind::function_start(inner.return_address())?;
            let (module, function) = module_around(start)?;
            let below = outer.sp() - address;
            return Some(FrameAround {
                module,
                function,
                below,
            });
        }
        inner = outer;
    }
    None
}

/// Holds back other threads from what a forked child needs.
pub fn before_fork() {
    KNOWN.lock().take();
    unwind::before_fork();
}

/// Lets them go on, in the parent and in the child.
pub fn after_fork() {
    unwind::after_fork();
    KNOWN.lock().release();
}
