//! [`reserve`]: address space for the rewriter in a program that is traced and stopped.

use std::io;

use reuselens_wire::{
    CACHE, HEAP, IMAGE, IMAGE_STACK_BYTES, RESERVED_BYTES, Registers, START_BYTES,
};

use super::Refusal;
use super::tracee::Tracee;

const MMAP: u64 = 9;
const MPROTECT: u64 = 10;
const MUNMAP: u64 = 11;
const READ_WRITE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;
const EXECUTE: u64 = libc::PROT_EXEC as u64;

/// Reserves address space from [`IMAGE`] on, as much as the program's limits allow, and makes
/// accessible what the rewriter starts with. Returns the end of the space. Where that fails, the
/// program is as it was before, and can go on by itself.
///
/// # Errors
/// If a limit leaves no room, or the program may not have memory that is writable and executable.
pub fn reserve(tracee: &Tracee, registers: &Registers) -> Result<u64, Refusal> {
    let bytes = map(tracee, registers)?;
    for (at, end, rights) in [
        (IMAGE, CACHE + START_BYTES[0], READ_WRITE | EXECUTE),
        (HEAP, HEAP + START_BYTES[1], READ_WRITE),
    ] {
        let result = tracee.call(registers, MPROTECT, [at, end - at, rights, 0, 0, 0])?;
        if result != 0 {
            tracee.call(registers, MUNMAP, [IMAGE, bytes, 0, 0, 0, 0])?;
            return Err(refusal(result));
        }
    }
    Ok(IMAGE + bytes)
}

/// Maps the space without rights, which counts towards `RLIMIT_AS` only. Returns its bytes.
fn map(tracee: &Tracee, registers: &Registers) -> Result<u64, Refusal> {
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let mut result = 0;
    for bytes in RESERVED_BYTES {
        let arguments = [IMAGE, bytes, 0, flags as u64, u64::MAX, 0];
        result = tracee.call(registers, MMAP, arguments)?;
        if result == IMAGE as i64 {
            return Ok(bytes);
        }
        // Kernels before 4.17 take the address for a wish.
        if result > 0 {
            tracee.call(registers, MUNMAP, [result as u64, bytes, 0, 0, 0, 0])?;
            result = -i64::from(libc::EEXIST);
        }
        if result != -i64::from(libc::ENOMEM) {
            break;
        }
    }
    Err(refusal(result))
}

/// The reason for a result of `mmap` or `mprotect`.
fn refusal(result: i64) -> Refusal {
    match -result as i32 {
        libc::ENOMEM => Refusal::NoRoom,
        libc::EACCES | libc::EPERM => Refusal::NotExecutable,
        error => Refusal::System(io::Error::from_raw_os_error(error)),
    }
}

const _: () = assert!(IMAGE_STACK_BYTES < CACHE - IMAGE);
