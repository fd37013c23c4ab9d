//! The files with code that are mapped in the program: announces them to the analysing side, and
//! finds in their symbol tables the functions of allocators ([`allocations`]), and by the control
//! the functions that are to be recorded.
//!
//! [`look`] is called when the program starts and when it maps a file with code. The translator
//! asks the other functions about the addresses of blocks.

use alloc::vec::Vec;
use core::ffi::CStr;
use core::sync::atomic::Ordering;

use reuselens_guest::sys::{self, File};
use reuselens_wire::{Record, WireKind};

use super::allocations;
use super::channel::Channel;
use super::lock::Lock;
use super::maps::{self, Mapping};
use super::{gate, space};

/// A mapped file with code in it.
#[derive(Default)]
struct Module {
    path: Vec<u8>,
    bias: u64,
    low: u64,
    high: u64,
    /// Addresses of an allocator's functions, and their numbers.
    functions: Vec<(u64, u8)>,
    /// Those of them that store their block: first address, and first address after the function.
    storing: Vec<(u64, u64)>,
    /// Addresses of functions that are to be recorded.
    wanted: Vec<u64>,
}

static MODULES: Lock<Vec<Module>> = Lock::new(Vec::new());

/// The number of the allocator's function that begins at an address, if one does, and whether the
/// address is in a file with an allocator, so that functions there may return blocks.
pub fn allocator_at(pc: u64) -> (Option<u8>, bool) {
    let modules = MODULES.lock();
    let found = modules.iter().find(|m| m.low <= pc && pc < m.high);
    let Some(module) = found.filter(|module| !module.functions.is_empty()) else {
        return (None, false);
    };
    let function = module.functions.iter().find(|(at, _)| *at == pc);
    (function.map(|(_, number)| *number), true)
}

/// Whether an address is in an allocator's function that stores its block.
pub fn is_storing(pc: u64) -> bool {
    let modules = MODULES.lock();
    let found = modules.iter().find(|m| m.low <= pc && pc < m.high);
    let holds = |(low, high): &(u64, u64)| *low <= pc && pc < *high;
    found.is_some_and(|module| module.storing.iter().any(holds))
}

/// Whether a function begins at an address that is to be recorded.
pub fn function_at(pc: u64) -> bool {
    let modules = MODULES.lock();
    let found = modules.iter().find(|m| m.low <= pc && pc < m.high);
    found.is_some_and(|module| module.wanted.contains(&pc))
}

/// Whether a function of an allocator begins at an address, or one that is to be recorded.
pub fn begins_at(pc: u64) -> bool {
    let modules = MODULES.lock();
    let found = modules.iter().find(|m| m.low <= pc && pc < m.high);
    found.is_some_and(|module| {
        module.wanted.contains(&pc) || module.functions.iter().any(|(at, _)| *at == pc)
    })
}

/// Addresses of the functions in a file that are to be recorded.
fn wanted(path: &[u8], bias: u64) -> Vec<u64> {
    let Some(control) = gate::control() else {
        return Vec::new();
    };
    let count = control.functions.load(Ordering::Relaxed) as usize;
    if count == 0 {
        return Vec::new();
    }
    let mut name = path.to_vec();
    name.push(0);
    let name = CStr::from_bytes_until_nul(&name).ok();
    let file = name.and_then(sys::identity);
    let functions = control.function.iter().take(count);
    let of_it = functions.filter(|function| {
        let device = function.device.load(Ordering::Relaxed);
        file == Some((device, function.inode.load(Ordering::Relaxed)))
    });
    of_it
        .map(|function| bias.wrapping_add(function.low.load(Ordering::Relaxed)))
        .collect()
}

/// Finds and announces files that were mapped since the last call; forgets those that are gone.
pub fn look(channel: &mut Channel) {
    let Some(mappings) = maps::all() else {
        return;
    };
    let mut modules = MODULES.lock();
    modules.retain(|module| {
        let same =
            |m: &Mapping| m.low <= module.low && module.low < m.high && m.path == module.path;
        mappings.iter().any(same)
    });
    for mapping in &mappings {
        let is_file = mapping.path.first() == Some(&b'/');
        let known = modules
            .iter()
            .any(|m| m.low == mapping.low && m.path == mapping.path);
        if !is_file || known || mapping.offset != 0 || !mapping.readable {
            continue;
        }
        let Some((bias, high)) = extent(mapping.low, mapping.high) else {
            continue;
        };
        let of_it = |m: &Mapping| m.path == mapping.path && (mapping.low..high).contains(&m.low);
        if !mappings.iter().any(|m| of_it(m) && m.executable) {
            continue;
        }
        let mut module = Module {
            path: mapping.path.clone(),
            bias,
            low: mapping.low,
            high,
            wanted: wanted(&mapping.path, bias),
            ..Module::default()
        };
        find_functions(&mut module);
        announce(channel, &module);
        modules.push(module);
    }
}

/// Announces all files again, for the child of a fork.
pub fn announce_all(channel: &mut Channel) {
    let modules = MODULES.lock();
    modules.iter().for_each(|module| announce(channel, module));
}

fn announce(channel: &mut Channel, module: &Module) {
    let path = &module.path[..module.path.len().min(4096)];
    let operands = [module.low, module.high, path.len() as u64];
    channel.announce(
        Record::new(WireKind::Module, 0, 0, module.bias),
        &operands,
        path,
    );
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(width)?)?;
    let mut number = [0; 8];
    number[..width].copy_from_slice(field);
    Some(u64::from_le_bytes(number))
}

/// Bias and high end of the file whose head is mapped at `low`.
fn extent(low: u64, head_end: u64) -> Option<(u64, u64)> {
    let mut head = [0_u8; 4096];
    let length = (head_end - low).min(4096) as usize;
    if !sys::peek(low, &mut head[..length]) || !head.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let (at, size) = (
        number(&head, 32, 8)? as usize,
        number(&head, 54, 2)? as usize,
    );
    let count = number(&head, 56, 2)? as usize;
    let (mut first, mut end) = (u64::MAX, 0);
    for index in 0..count {
        let header = at + index * size;
        if number(&head, header, 4)? == 1 {
            let address = number(&head, header + 16, 8)?;
            first = first.min(address);
            end = end.max(address.checked_add(number(&head, header + 40, 8)?)?);
        }
    }
    let bias = low.wrapping_sub(first & !4095);
    (first != u64::MAX).then(|| (bias, bias.wrapping_add(end)))
}

/// Finds the allocator's functions in a file.
fn find_functions(module: &mut Module) {
    if let Some((at, bytes)) = map_file(&module.path) {
        // SAFETY: mapped just now, for reading, and unmapped below. A file that is cut short
        // meanwhile would end the program; files that run are not changed in place.
        let file = unsafe { core::slice::from_raw_parts(at as *const u8, bytes) };
        let _ = search(file, module);
        // SAFETY: as above.
        unsafe { sys::munmap(at as usize, bytes) };
        space::shrink((bytes as u64).next_multiple_of(4096));
    }
}

fn map_file(path: &[u8]) -> Option<(u64, usize)> {
    const FROM_END: u64 = 2;
    let mut name = path.to_vec();
    name.push(0);
    let file = File::open(CStr::from_bytes_until_nul(&name).ok()?, 0)?;
    let fd = file.descriptor();
    // SAFETY: only asks for the end of our file.
    let bytes = unsafe { sys::call(sys::LSEEK, [fd as u64, 0, FROM_END, 0, 0, 0]) };
    if bytes <= 64 {
        return None;
    }
    let room = (bytes as u64).next_multiple_of(4096);
    space::grow(room);
    // Where the system has room: the mapping is gone before the program maps the next one.
    // SAFETY: takes only addresses that nobody uses.
    let at = unsafe { sys::mmap(0, bytes as usize, sys::PROT_READ, sys::MAP_PRIVATE, fd, 0) };
    if sys::failed(at) {
        space::shrink(room);
        return None;
    }
    Some((at as u64, bytes as usize))
}

/// Searches the symbol tables of a file for functions of allocators. `None` if a table is damaged:
/// functions found before that are kept.
fn search(file: &[u8], module: &mut Module) -> Option<()> {
    let (at, size) = (number(file, 40, 8)? as usize, number(file, 58, 2)? as usize);
    let count = number(file, 60, 2)? as usize;
    for index in 0..count {
        let section = at.checked_add(index * size)?;
        // Tables of symbols, and of those for the loader.
        if !matches!(number(file, section + 4, 4)?, 2 | 11) {
            continue;
        }
        let names = at.checked_add(number(file, section + 40, 4)? as usize * size)?;
        let (names_at, names_bytes) = (number(file, names + 24, 8)?, number(file, names + 32, 8)?);
        let names = file.get(names_at as usize..(names_at.checked_add(names_bytes)?) as usize)?;
        let (start, bytes) = (
            number(file, section + 24, 8)?,
            number(file, section + 32, 8)?,
        );
        let symbols = file.get(start as usize..start.checked_add(bytes)? as usize)?;
        for symbol in symbols.chunks_exact(24) {
            // Functions that are defined here.
            if symbol[4] & 15 != 2 || symbol[6..8] == [0, 0] {
                continue;
            }
            let name = number(symbol, 0, 4)? as usize;
            if let Some(function) = names.get(name..).and_then(allocations::named) {
                let address = module.bias.wrapping_add(number(symbol, 8, 8)?);
                if module.functions.iter().any(|(known, _)| *known == address) {
                    continue;
                }
                module.functions.push((address, function));
                if allocations::stores_block(function) {
                    let end = address.wrapping_add(number(symbol, 16, 8)?);
                    module.storing.push((address, end));
                }
            }
        }
    }
    Some(())
}

/// Holds the lock of this module until the result is dropped, for a fork.
pub fn hold() -> impl Sized {
    MODULES.lock()
}
