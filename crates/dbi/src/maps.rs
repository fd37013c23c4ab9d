//! What is mapped where in the program: the list in `/proc/thread-self/maps`, read each time it is
//! needed. Mappings that code was found in are remembered, until [`forget`] is called because
//! mappings have changed.

use alloc::vec::Vec;

use reuselens_guest::sys::{self, File};

use super::lock::Lock;

/// A mapping.
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    pub low: u64,
    pub high: u64,
    pub readable: bool,
    pub writable: bool,
    pub executable: bool,
    /// Whether other processes that map the file see what is written.
    pub shared: bool,
    /// Whether the memory may change by writes to other addresses: it is shared, or private but of
    /// a file that is also mapped shared in this process. Set only for mappings with code.
    pub changes: bool,
    /// Which file: its device as text, and its inode number.
    pub file: ([u8; 8], u64),
    /// Offset in its file.
    pub offset: u64,
    /// Its file; empty if there is none, in brackets if it is something else.
    pub path: Vec<u8>,
}

/// Mappings that code was found in.
static KNOWN: Lock<Vec<Mapping>> = Lock::new(Vec::new());

/// All mappings; `None` if the list cannot be read: the program has changed its root, or has no
/// descriptor left.
///
/// The list is that of the calling thread: `/proc/self` is the process's first thread, whose list
/// is empty once that thread has ended.
pub fn all() -> Option<Vec<Mapping>> {
    let file = File::open(c"/proc/thread-self/maps", 0)?;
    let mut text = Vec::with_capacity(64 << 10);
    let mut piece = [0; 4096];
    loop {
        let read = file.read(&mut piece);
        if read == 0 {
            break;
        }
        text.extend_from_slice(&piece[..read]);
    }
    drop(file);
    let lines = text.split(|byte| *byte == b'\n');
    let all: Vec<Mapping> = lines.filter_map(parse).collect();
    // The code that runs here is mapped, so an empty list is wrong.
    (!all.is_empty()).then_some(all)
}

fn parse(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let range = fields.next()?;
    let dash = range.iter().position(|byte| *byte == b'-')?;
    let rights = fields.next()?;
    let offset = hexadecimal(fields.next()?)?;
    let (name, number) = (fields.next()?, decimal(fields.next()?)?);
    let mut device = [0; 8];
    for (into, from) in device.iter_mut().zip(name) {
        *into = *from;
    }
    let path = fields.next().unwrap_or_default();
    let start = path.iter().position(|byte| *byte != b' ');
    Some(Mapping {
        low: hexadecimal(&range[..dash])?,
        high: hexadecimal(&range[dash + 1..])?,
        readable: rights.first() == Some(&b'r'),
        writable: rights.get(1) == Some(&b'w'),
        executable: rights.get(2) == Some(&b'x'),
        shared: rights.get(3) == Some(&b's'),
        changes: false,
        file: (device, number),
        offset,
        path: path[start.unwrap_or(path.len())..].to_vec(),
    })
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = (*digit as char).to_digit(16)?;
        Some(number << 4 | u64::from(digit))
    })
}

fn decimal(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = (*digit as char).to_digit(10)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The mapping that an address is in, if the list of mappings can be read.
pub fn around(address: u64) -> Option<Mapping> {
    let found = |mapping: &Mapping| mapping.low <= address && address < mapping.high;
    all()?.into_iter().find(found)
}

/// Whether the program may write at an address.
pub fn is_writable(address: u64) -> bool {
    match all() {
        Some(all) => all
            .iter()
            .any(|mapping| mapping.low <= address && address < mapping.high && mapping.writable),
        None => sys::may_write(address & !4095),
    }
}

/// A mapping from which code can be executed.
pub struct CodeMapping {
    /// First address after it.
    pub high: u64,
    /// Whether its contents may change, by writes there or elsewhere.
    pub changes: bool,
    pub readable: bool,
}

/// The mapping around an address, if code can be executed there.
pub fn code_around(address: u64) -> Option<CodeMapping> {
    with_code(address, |mapping| CodeMapping {
        high: mapping.high,
        changes: mapping.writable || mapping.changes,
        readable: mapping.readable,
    })
}

/// Reads code that may be executed and not read. Returns the number of bytes, 0 if the system
/// refuses.
pub fn read_code(address: u64, into: &mut [u8]) -> usize {
    let memory = File::open(c"/proc/thread-self/mem", 0);
    memory.map_or(0, |memory| memory.read_at(into, address))
}

/// Calls `of` with the mapping around an address; `None` if no code can be executed there.
pub fn with_code<T>(address: u64, of: impl Fn(&Mapping) -> T) -> Option<T> {
    let inside = |mapping: &&Mapping| mapping.low <= address && address < mapping.high;
    let mut known = KNOWN.lock();
    if let Some(mapping) = known.iter().find(inside) {
        return Some(of(mapping));
    }
    let mapping = code_mapping(address)?;
    if !mapping.executable {
        return None;
    }
    let found = of(&mapping);
    known.push(mapping);
    Some(found)
}

fn code_mapping(address: u64) -> Option<Mapping> {
    let Some(all) = all() else {
        return probe(address);
    };
    let mut mapping = all
        .iter()
        .find(|mapping| mapping.low <= address && address < mapping.high)?
        .clone();
    // A private page has the file's contents until it is written to.
    let same = |other: &Mapping| other.shared && other.file == mapping.file;
    mapping.changes = mapping.shared || (mapping.file.1 != 0 && all.iter().any(same));
    Some(mapping)
}

/// The page of an address, where the list of mappings cannot be read.
///
/// A readable page is taken for code: only the kernel knows whether it may be executed, and
/// programs that jump to data on purpose are rarer than programs that change their root. Other
/// mappings of the page are not found.
fn probe(address: u64) -> Option<Mapping> {
    let low = address & !4095;
    sys::peek(low, &mut [0]).then(|| Mapping {
        low,
        high: low + 4096,
        readable: true,
        writable: sys::may_write(low),
        executable: true,
        ..Mapping::default()
    })
}

/// The private mappings with code of the file that is mapped at an address: low and high of each.
/// All memory if the list of mappings cannot be read.
pub fn code_of_the_file_at(address: u64) -> Vec<(u64, u64)> {
    let Some(all) = all() else {
        return alloc::vec![(0, u64::MAX)];
    };
    let file = all
        .iter()
        .find(|mapping| mapping.low <= address && address < mapping.high)
        .map(|mapping| mapping.file)
        .filter(|file| file.1 != 0);
    let code =
        |mapping: &&Mapping| Some(mapping.file) == file && mapping.executable && !mapping.shared;
    let found = all.iter().filter(code);
    found.map(|mapping| (mapping.low, mapping.high)).collect()
}

/// The end of what `shmat` has mapped at an address, which may have been split into several
/// mappings since; `None` if the list of mappings cannot be read.
pub fn end_of_segment(address: u64) -> Option<u64> {
    let all = all()?;
    let mut pieces = all.iter().skip_while(|mapping| mapping.low != address);
    let Some(first) = pieces.next() else {
        return Some(address);
    };
    let follows = |end: u64, next: &Mapping| {
        (next.low == end
            && next.file == first.file
            && next.offset == end - first.low + first.offset)
            .then_some(next.high)
    };
    let ends = pieces.map_while({
        let mut end = first.high;
        move |next| {
            end = follows(end, next)?;
            Some(end)
        }
    });
    Some(ends.last().unwrap_or(first.high))
}

/// Forgets the remembered mappings: mappings have changed.
pub fn forget() {
    KNOWN.lock().clear();
}

/// Holds the lock of this module until the result is dropped, for a fork.
pub fn hold() -> impl Sized {
    KNOWN.lock()
}
