//! Which addresses of the program are whose: memory that both the program and kernels access
//! ([`Mirrored`]), memory of the device, and all other memory of the host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use super::call_paths;
use super::connection::{ask, ask_number, ask_number_of, device, own_process};
use super::lock;
use crate::protocol::{AllocationKind, Comparison, Message, Operation, PIECE_BYTES};
use crate::status::Status;

/// The system's pages.
const PAGE: usize = 4096;

// Of these locks, a function takes those that it needs in the order below; that of the connection
// comes after them.

/// Held while a kernel runs, and while mirrored memory is given back.
static RUNNING: Mutex<()> = Mutex::new(());

/// Memory that the program and kernels both access, by its address in the program. The program's
/// copy counts; kernels get it before they begin, and give it back when they have ended.
static MIRRORED: Mutex<BTreeMap<usize, Block>> = Mutex::new(BTreeMap::new());

/// Pages that were mapped for variables.
static PAGES: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// How memory came about that the program and kernels both access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mirrored {
    /// `cudaMallocManaged`.
    Managed,
    /// `cudaMallocHost`, `cudaHostAlloc`.
    Pinned,
    /// `cudaHostRegister`: the program has it from elsewhere.
    Registered,
}

impl Mirrored {
    fn allocation(self) -> AllocationKind {
        match self {
            Mirrored::Managed => AllocationKind::Managed,
            Mirrored::Pinned => AllocationKind::Pinned,
            Mirrored::Registered => AllocationKind::Registered,
        }
    }
}

#[derive(Clone, Copy)]
struct Block {
    bytes: usize,
    kind: Mirrored,
    /// Its address on the device: another one if it is registered, or a variable that is apart.
    device: usize,
}

impl Block {
    /// Whether it is a managed variable that the program has at another address than the device.
    fn is_apart(self, begin: usize) -> bool {
        self.kind == Mirrored::Managed && self.device != begin
    }
}

/// Where an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The program reads and writes it.
    Host(Option<Mirrored>),
    /// Only kernels and copies do.
    Device,
}

/// Where an address is.
pub fn place(address: u64) -> Result<Place, Status> {
    own_process()?;
    let blocks = lock(&MIRRORED);
    let before = blocks.range(..=address as usize).next_back();
    if let Some((&begin, block)) = before
        && address as usize - begin < block.bytes.max(1)
    {
        return Ok(Place::Host(Some(block.kind)));
    }
    drop(blocks);
    let [_, begin, end] = device()?;
    let is_of_device = if end == u64::MAX {
        // A GPU's addresses may be any, so only a block of the device is its memory.
        let around = ask(&Message::new(Operation::Around, &[address]))?;
        around.field(2) > 0
    } else {
        (begin..end).contains(&address)
    };
    Ok(if is_of_device {
        Place::Device
    } else {
        Place::Host(None)
    })
}

/// A block that kernels may access.
pub struct BlockAround {
    /// Where it begins: for the program, if that accesses it too.
    pub begin: u64,
    pub bytes: u64,
    /// No other block had this number or will have it.
    pub number: u64,
}

/// The block around an address; `None` for other memory of the program.
pub fn block_around(address: u64) -> Result<Option<BlockAround>, Status> {
    let mirrored = around(address as usize);
    let asked = mirrored.map_or(address, |(_, block)| block.device as u64);
    let answer = ask(&Message::new(Operation::Around, &[asked]))?;
    let [begin, bytes, number] = [0, 1, 2].map(|index| answer.field(index));
    let (begin, bytes) = match mirrored {
        Some((begin, block)) => (begin as u64, block.bytes as u64),
        None => (begin, bytes),
    };
    Ok((number > 0).then_some(BlockAround {
        begin,
        bytes,
        number,
    }))
}

/// Memory of the device at a multiple of a power of two; its address.
pub fn allocate_on_device(bytes: u64, alignment: u64, kind: AllocationKind) -> Result<u64, Status> {
    allocate_of(call_paths::here(), bytes, alignment, kind)
}

/// The same in the name of a call path.
fn allocate_of(
    call_path: u32,
    bytes: u64,
    alignment: u64,
    kind: AllocationKind,
) -> Result<u64, Status> {
    let fields = [bytes, alignment, kind as u64];
    ask_number_of(call_path, Operation::Allocate, &fields)
}

/// Takes memory that the program and kernels access at one address.
pub fn allocate(bytes: usize, kind: Mirrored) -> Result<usize, Status> {
    if bytes == 0 {
        return Err(Status::INVALID_VALUE);
    }
    // Whole pages, so that no other block or variable has a part of them.
    let room = bytes.checked_next_multiple_of(PAGE);
    let room = room.ok_or(Status::MEMORY_ALLOCATION)?;
    let address = allocate_and_map(room, kind)?;
    let device = address;
    let block = Block {
        bytes,
        kind,
        device,
    };
    lock(&MIRRORED).insert(address, block);
    Ok(address)
}

/// Takes pages of the device whose addresses the program does not use, and maps them. A GPU may
/// give addresses at which the program has something already: others are asked for then.
fn allocate_and_map(room: usize, kind: Mirrored) -> Result<usize, Status> {
    const TRIES: usize = 16;
    let mut taken = Vec::new();
    let mut mapped = Err(Status::MEMORY_ALLOCATION);
    while mapped.is_err() && taken.len() < TRIES {
        match allocate_on_device(room as u64, PAGE as u64, kind.allocation()) {
            Ok(address) if map(address as usize, room) => mapped = Ok(address as usize),
            Ok(address) => taken.push(address),
            Err(_) => break,
        }
    }
    for address in taken {
        let _ = ask_number(Operation::Free, &[address]);
    }
    mapped
}

/// Makes memory of the program accessible to kernels.
pub fn register(address: usize, bytes: usize) -> Result<(), Status> {
    let end = address.checked_add(bytes).ok_or(Status::INVALID_VALUE)?;
    let call_path = call_paths::here();
    let mut blocks = lock(&MIRRORED);
    let before = blocks.range(..end).next_back();
    if before.is_some_and(|(begin, block)| begin + block.bytes > address) {
        return Err(Status::HOST_REGISTERED);
    }
    let kind = Mirrored::Registered;
    let device = allocate_of(call_path, bytes as u64, 1, kind.allocation())? as usize;
    let block = Block {
        bytes,
        kind,
        device,
    };
    blocks.insert(address, block);
    Ok(())
}

/// Takes registered memory from kernels.
pub fn unregister(address: usize) -> Result<(), Status> {
    own_process()?;
    let call_path = call_paths::here();
    let _running = lock(&RUNNING);
    let mut blocks = lock(&MIRRORED);
    let block = blocks.get(&address).copied();
    let block = block.filter(|block| block.kind == Mirrored::Registered);
    let block = block.ok_or(Status::HOST_NOT_REGISTERED)?;
    blocks.remove(&address);
    ask_number_of(call_path, Operation::Free, &[block.device as u64]).map(drop)
}

/// The block that holds an address, and where it begins.
fn around(address: usize) -> Option<(usize, Block)> {
    let blocks = lock(&MIRRORED);
    let (&begin, &block) = blocks.range(..=address).next_back()?;
    (address - begin < block.bytes).then_some((begin, block))
}

/// The address on the device of memory that kernels access too.
pub fn on_device(address: usize) -> Result<usize, Status> {
    let (begin, block) = around(address).ok_or(Status::INVALID_VALUE)?;
    Ok(block.device + address - begin)
}

/// The same for managed variables that the program has at another address alone.
pub fn apart_on_device(address: usize) -> Option<usize> {
    let (begin, block) = around(address)?;
    let is_apart = block.is_apart(begin);
    is_apart.then(|| block.device + address - begin)
}

/// Makes memory that the device has already, a variable, accessible to the program at its address,
/// with what is in it. It is not given back.
pub fn mirror(address: usize, bytes: usize) -> Result<(), Status> {
    let mut blocks = lock(&MIRRORED);
    let (device, kind) = (address, Mirrored::Managed);
    let block = Block {
        bytes,
        kind,
        device,
    };
    let first = address & !(PAGE - 1);
    let mut pages = lock(&PAGES);
    for page in (first..address + bytes).step_by(PAGE) {
        // Another variable may have some of its pages.
        if !pages.contains(&page) {
            if !map(page, PAGE) {
                return Err(Status::MEMORY_ALLOCATION);
            }
            pages.insert(page);
        }
    }
    blocks.insert(address, block);
    drop((blocks, pages));
    read(address as *mut u8, address as u64, bytes).map(drop)
}

/// The same for a variable that the program has at another address.
pub fn mirror_apart(host: usize, device: usize, bytes: usize) -> Result<(), Status> {
    read(host as *mut u8, device as u64, bytes)?;
    let kind = Mirrored::Managed;
    let block = Block {
        bytes,
        kind,
        device,
    };
    lock(&MIRRORED).insert(host, block);
    Ok(())
}

/// Gives back mirrored memory that begins at an address. Fails if none of this kind does, and for a
/// variable, which is never given back.
pub fn free(address: usize, kind: Mirrored) -> Result<(), Status> {
    own_process()?;
    let call_path = call_paths::here();
    let _running = lock(&RUNNING);
    let block = {
        let mut blocks = lock(&MIRRORED);
        let block = blocks.get(&address).copied().ok_or(Status::INVALID_VALUE)?;
        let pages = lock(&PAGES);
        if kind != block.kind || is_variable(address, block, &pages) {
            return Err(Status::INVALID_VALUE);
        }
        blocks.remove(&address);
        block
    };
    // SAFETY: it was mapped by `map`, and the program has given it back.
    unsafe { libc_munmap(address as *mut _, block.bytes.next_multiple_of(PAGE)) };
    ask_number_of(call_path, Operation::Free, &[address as u64]).map(drop)
}

/// Runs a kernel with the program's copies of all mirrored memory, and brings back what it changed.
/// Bytes that it did not change stay as other threads leave them. Kernels run one by one, and no
/// block is given back meanwhile.
pub fn with_kernel(kernel: impl FnOnce() -> Result<(), Status>) -> Result<(), Status> {
    let _running = lock(&RUNNING);
    let mut sent = Vec::new();
    for (begin, block) in all() {
        // SAFETY: it is mapped for as long as it is in the list, and `RUNNING` is held.
        let bytes = unsafe { std::slice::from_raw_parts(begin as *const u8, block.bytes) }.to_vec();
        write(block.device as u64, bytes.as_ptr(), bytes.len())?;
        sent.push((begin, block, bytes));
    }
    kernel()?;
    for (begin, block, before) in sent {
        let mut after = vec![0; block.bytes];
        read(after.as_mut_ptr(), block.device as u64, block.bytes)?;
        for (index, (before, after)) in before.iter().zip(&after).enumerate() {
            if before != after {
                // SAFETY: as above.
                unsafe { (begin as *mut u8).add(index).write(*after) };
            }
        }
    }
    Ok(())
}

/// Gives all mirrored memory back, as the device is reset. Variables stay.
pub fn clear() {
    let _running = lock(&RUNNING);
    let mut blocks = lock(&MIRRORED);
    let pages = lock(&PAGES);
    blocks.retain(|&address, block| {
        let is_variable = is_variable(address, *block, &pages);
        if !is_variable && block.kind != Mirrored::Registered {
            // SAFETY: it was mapped by `map`, and the program has given it back.
            unsafe { libc_munmap(address as *mut _, block.bytes.next_multiple_of(PAGE)) };
        }
        is_variable
    });
}

/// Whether a block is a variable of a module, which is never given back.
fn is_variable(address: usize, block: Block, pages: &BTreeSet<usize>) -> bool {
    block.is_apart(address) || pages.contains(&(address & !(PAGE - 1)))
}

fn all() -> Vec<(usize, Block)> {
    let blocks = lock(&MIRRORED);
    let blocks = blocks.iter();
    blocks.map(|(&begin, &block)| (begin, block)).collect()
}

/// Copies memory of the program to the device; what was there.
pub fn write(to: u64, from: *const u8, bytes: usize) -> Result<Comparison, Status> {
    let (mut done, mut comparison) = (0, Comparison::NOTHING);
    while done < bytes {
        let piece = PIECE_BYTES.min(bytes - done);
        // SAFETY: the program says that this many bytes can be read there.
        let read = unsafe { std::slice::from_raw_parts(from.add(done), piece) };
        let fields = [to.wrapping_add(done as u64)];
        let request = Message::with_bytes(Operation::Write, &fields, read.to_vec());
        comparison.add(Comparison::from_answer(&ask(&request)?));
        done += piece;
    }
    Ok(comparison)
}

/// Copies memory of the device to the program; what was there.
pub fn read(to: *mut u8, from: u64, bytes: usize) -> Result<Comparison, Status> {
    let (mut done, mut comparison) = (0, Comparison::NOTHING);
    while done < bytes {
        let piece = PIECE_BYTES.min(bytes - done);
        let fields = [from.wrapping_add(done as u64), piece as u64];
        let answer = ask(&Message::new(Operation::Read, &fields))?;
        if answer.bytes.len() != piece {
            return Err(Status::UNKNOWN);
        }
        // SAFETY: the program says that this many bytes can be written there.
        comparison.add(unsafe { replace(to.add(done), answer.bytes.as_ptr(), piece) });
        done += piece;
    }
    Ok(comparison)
}

/// Copies; what was there. Writes of the program to its own memory are not seen, so the destination
/// never counts as written.
///
/// # Safety
/// That many bytes can be read and written.
pub unsafe fn replace(to: *mut u8, from: *const u8, bytes: usize) -> Comparison {
    // SAFETY: the caller's. Both are only read while these exist.
    let (before, after) = unsafe {
        (
            std::slice::from_raw_parts(to, bytes),
            std::slice::from_raw_parts(from, bytes),
        )
    };
    let comparison = Comparison::new(before, after, false);
    // SAFETY: the caller's.
    unsafe { std::ptr::copy(from, to, bytes) };
    comparison
}

#[link(name = "c")]
unsafe extern "C" {
    #[link_name = "mmap"]
    fn libc_mmap(
        address: *mut std::ffi::c_void,
        bytes: usize,
        protection: i32,
        flags: i32,
        file: i32,
        offset: i64,
    ) -> *mut std::ffi::c_void;
    #[link_name = "munmap"]
    fn libc_munmap(address: *mut std::ffi::c_void, bytes: usize) -> i32;
}

/// Maps memory of zeros at an address where the program has none.
fn map(address: usize, bytes: usize) -> bool {
    // Readable and writable; private, anonymous, and refused where something is mapped.
    const PROTECTION: i32 = 3;
    const FLAGS: i32 = 0x02 | 0x20 | 0x10_0000;
    // SAFETY: new memory, which takes no other's place.
    let mapped = unsafe { libc_mmap(address as *mut _, bytes, PROTECTION, FLAGS, -1, 0) };
    mapped as usize == address
}
