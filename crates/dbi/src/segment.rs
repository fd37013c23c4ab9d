//! The shared segment in this process: [`open`] maps it when the program starts, [`get`] returns it
//! as long as recording goes on. It is never unmapped, so that references into it stay valid, but
//! after [`abandon`] nothing is recorded into it.

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use reuselens_guest::sys::{self, File};
use reuselens_wire::{
    BLOCK_BYTES, DICTIONARY_OFFSET, ENTRY_UNIT, MappedSegment, SEGMENT_BYTES, WANTS_BASIC_BLOCKS,
};

use super::memory;

/// The segment's address as long as recording goes on, else 0.
static BASE: AtomicU64 = AtomicU64::new(0);
/// The segment's address once it is mapped.
static MAPPED: AtomicU64 = AtomicU64::new(0);
/// The header's `wants` when the segment was mapped.
static WANTS: AtomicU32 = AtomicU32::new(0);

/// Whether basic blocks are to be recorded.
pub fn wants_basic_blocks() -> bool {
    WANTS.load(Ordering::Relaxed) & WANTS_BASIC_BLOCKS != 0
}

/// Address of entry `number` of the dictionary. The segment must be mapped.
#[inline]
pub fn entry_address(number: u32) -> u64 {
    MAPPED.load(Ordering::Relaxed)
        + DICTIONARY_OFFSET as u64
        + u64::from(number) * ENTRY_UNIT as u64
}

/// The segment, as long as recording goes on.
#[inline]
pub fn get() -> Option<MappedSegment> {
    at(BASE.load(Ordering::Acquire))
}

/// The segment, if it was mapped, also after recording has ended.
pub fn ever() -> Option<MappedSegment> {
    at(MAPPED.load(Ordering::Acquire))
}

#[inline]
fn at(base: u64) -> Option<MappedSegment> {
    let base = NonNull::new(base as *mut u8)?;
    // SAFETY: `open` has mapped a segment there, for as long as the process lives.
    Some(unsafe { MappedSegment::new(base) })
}

/// Records nothing from now on: the analysing side is gone.
pub fn abandon() {
    BASE.store(0, Ordering::Release);
}

/// Whether other threads record too, or did.
pub fn others_run() -> bool {
    get().is_some_and(|segment| segment.header().slots_used.load(Ordering::Relaxed) > 1)
}

/// Maps the file at `path` (ended by a zero byte), so that blocks are aligned to their size. If
/// that fails or it is no segment of this build, nothing is recorded.
pub fn open(path: &[u8]) {
    let Ok(path) = CStr::from_bytes_until_nul(path) else {
        return;
    };
    let Some(file) = File::open(path, sys::O_RDWR) else {
        return;
    };
    let address = memory::reserve(SEGMENT_BYTES as u64, BLOCK_BYTES as u64);
    let (rights, flags) = (sys::PROT_READ_WRITE, sys::MAP_SHARED | sys::MAP_FIXED);
    let (at_address, fd) = (address as usize, file.descriptor());
    // SAFETY: our own address space, which counts already.
    let base = unsafe { sys::mmap(at_address, SEGMENT_BYTES, rights, flags, fd, 0) };
    drop(file);
    if base != address as i64 {
        return;
    }
    let Some(segment) = at(address).filter(|segment| segment.is_ours()) else {
        return;
    };
    WANTS.store(
        segment.header().wants.load(Ordering::Relaxed),
        Ordering::Relaxed,
    );
    MAPPED.store(address, Ordering::Release);
    BASE.store(address, Ordering::Release);
}

/// Makes memory of zeros the segment, in which nothing has happened yet. Other tests that do so
/// wait until the result is dropped; the memory stays the segment until then and after.
#[cfg(test)]
pub fn use_for_tests() -> impl Sized {
    extern crate std;
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(|failed| failed.into_inner());
    let bytes = SEGMENT_BYTES + BLOCK_BYTES;
    let memory: &'static mut [u8] = alloc::vec![0; bytes].leak();
    let address = (memory.as_ptr() as u64).next_multiple_of(BLOCK_BYTES as u64);
    MAPPED.store(address, Ordering::Release);
    BASE.store(address, Ordering::Release);
    turn
}
