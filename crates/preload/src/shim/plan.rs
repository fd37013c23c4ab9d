//! The plan: the mapped file of [`layout`](crate::layout), and the counts in it.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use reuselens_guest::sys::{self, File};

use crate::layout::{MAGIC, PLAN_VARIABLE, call, head, module, object, path, table};

static WORDS: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
static LEN: AtomicUsize = AtomicUsize::new(0);

/// The longest path of it.
const PATH: usize = 4096;

/// A word of the file.
pub fn word(at: usize) -> &'static AtomicU64 {
    static NONE: AtomicU64 = AtomicU64::new(0);
    let words = WORDS.load(Ordering::Acquire);
    if at < LEN.load(Ordering::Relaxed) {
        // SAFETY: the file is mapped with so many words, for as long as the process runs.
        unsafe { &*words.add(at) }
    } else {
        &NONE
    }
}

pub fn get(at: usize) -> u64 {
    word(at).load(Ordering::Relaxed)
}

/// Counts.
pub fn add(at: usize, count: u64) {
    word(at).fetch_add(count, Ordering::Relaxed);
}

/// Number of records of a table.
pub fn count(table: usize) -> usize {
    get(head::TABLES + 2 * table) as usize
}

/// The first word of a record.
pub fn record(table: usize, number: usize) -> usize {
    get(head::TABLES + 2 * table + 1) as usize + number * table::SIZES[table]
}

/// A field of an object.
pub fn of_object(number: usize, field: usize) -> usize {
    record(table::OBJECTS, number) + field
}

/// A field of a tier.
pub fn of_tier(number: usize, field: usize) -> usize {
    record(table::TIERS, number) + field
}

pub fn verifies() -> bool {
    get(head::VERIFY) != 0
}

/// The chunks of an object, as first byte and first after.
fn chunks(number: usize) -> impl Iterator<Item = (usize, usize)> {
    let first = get(of_object(number, object::CHUNK)) as usize;
    let chunks = first..first + get(of_object(number, object::CHUNKS)) as usize;
    chunks.map(|chunk| {
        let at = record(table::CHUNKS, chunk);
        (get(at) as usize, get(at + 1) as usize)
    })
}

/// The parts of `bytes` bytes of an object that are placed, as first byte and first after: its
/// chunks, cut at the end; all bytes if it has none.
pub fn parts(number: usize, bytes: usize) -> impl Iterator<Item = (usize, usize)> {
    let has_chunks = get(of_object(number, object::CHUNKS)) > 0;
    let all = (!has_chunks).then_some((0, bytes));
    let chunks = chunks(number).map(move |(low, high)| (low.min(bytes), high.min(bytes)));
    all.into_iter().chain(chunks)
}

/// How many of `bytes` bytes of an object are placed: those of its chunks, or all.
fn planned_bytes(number: usize, bytes: usize) -> u64 {
    let parts = parts(number, bytes);
    parts
        .map(|(low, high)| high.saturating_sub(low) as u64)
        .sum()
}

/// Counts a block of an object that its tier has room for.
pub fn count_placed(number: usize, bytes: usize) {
    add(of_object(number, object::BLOCKS), 1);
    add(
        of_object(number, object::PLACED),
        planned_bytes(number, bytes),
    );
}

/// Counts a block of an object that its tier has no room for.
pub fn count_no_room(number: usize, bytes: usize) {
    add(of_object(number, object::NO_ROOM), 1);
    add(
        of_object(number, object::NO_ROOM_BYTES),
        planned_bytes(number, bytes),
    );
}

/// A path of calls.
#[derive(Clone, Copy)]
pub struct PlannedPath {
    pub object: usize,
    first: usize,
    pub calls: usize,
}

pub fn path(number: usize) -> PlannedPath {
    let at = record(table::PATHS, number);
    PlannedPath {
        object: get(at + path::OBJECT) as usize,
        first: get(at + path::CALL) as usize,
        calls: get(at + path::CALLS) as usize,
    }
}

impl PlannedPath {
    /// The module (`None` for any calls) and the address in its file of a call.
    pub fn call(&self, number: usize) -> (Option<usize>, u64) {
        let at = record(table::CALLS, self.first + number);
        let module = get(at + call::MODULE);
        (
            (module != call::ANY).then_some(module as usize),
            get(at + call::OFFSET),
        )
    }
}

/// Copies the bytes that are stored in words of a module's record.
fn text(at: usize, bytes: usize, into: &mut [u8]) -> usize {
    let bytes = bytes.min(into.len());
    for (index, byte) in into[..bytes].iter_mut().enumerate() {
        *byte = get(at + index / 8).to_le_bytes()[index % 8];
    }
    bytes
}

/// Whether a mapped file is a module of the plan: by its build, or by its name only.
pub enum Match {
    Same,
    OtherBuild,
    No,
}

pub fn matches(number: usize, name: &[u8], build: &[u8]) -> Match {
    let at = record(table::MODULES, number);
    let mut buffer = [0_u8; module::NAME_MAX];
    let len = text(
        at + module::NAME,
        get(at + module::NAME_LEN) as usize,
        &mut buffer,
    );
    let is_named = buffer[..len] == name[..name.len().min(module::NAME_MAX)];
    let mut buffer = [0_u8; module::BUILD_MAX];
    let len = text(
        at + module::BUILD,
        get(at + module::BUILD_LEN) as usize,
        &mut buffer,
    );
    let is_built = len > 0 && buffer[..len] == build[..build.len().min(module::BUILD_MAX)];
    if is_built || is_named && get(head::LOOSE) != 0 {
        Match::Same
    } else if is_named {
        Match::OtherBuild
    } else {
        Match::No
    }
}

/// Maps the file that the environment names; whether there is one.
pub fn open() -> bool {
    let mut path = [0_u8; PATH];
    let Some(len) = variable(&mut path) else {
        return false;
    };
    if len == 0 || len >= PATH {
        return false;
    }
    let path = CStr::from_bytes_until_nul(&path).ok();
    let Some(file) = path.and_then(|path| File::open(path, sys::O_RDWR)) else {
        return false;
    };
    let mut start = [0_u8; 8 * head::SIZE];
    if file.read(&mut start) < start.len() {
        return false;
    }
    let field = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&start[8 * at..8 * at + 8]);
        u64::from_le_bytes(bytes)
    };
    let words = field(head::WORDS) as usize;
    if field(head::MAGIC) != MAGIC || words > 1 << 30 {
        return false;
    }
    let Some(at) = file.map(8 * words) else {
        return false;
    };
    LEN.store(words, Ordering::Relaxed);
    WORDS.store(at as *mut AtomicU64, Ordering::Release);
    true
}

/// Copies the value of the environment variable, as the process was started with it: the C library
/// may not have its own copy yet.
fn variable(into: &mut [u8; PATH]) -> Option<usize> {
    let file = File::open(c"/proc/self/environ", 0)?;
    let mut buffer = [0_u8; 4096];
    let name = PLAN_VARIABLE.as_bytes();
    // Bytes of the entry so far, and whether it is ours so far.
    let (mut at, mut is_ours) = (0, true);
    loop {
        let read = file.read(&mut buffer);
        if read == 0 {
            return None;
        }
        for &byte in &buffer[..read] {
            if byte == 0 {
                if is_ours && at > name.len() {
                    let len = at - name.len() - 1;
                    *into.get_mut(len)? = 0;
                    return Some(len);
                }
                (at, is_ours) = (0, true);
                continue;
            }
            match name.get(at) {
                Some(expected) => is_ours &= byte == *expected,
                None if at == name.len() => is_ours &= byte == b'=',
                None if is_ours => *into.get_mut(at - name.len() - 1)? = byte,
                None => {}
            }
            at += 1;
        }
    }
}
