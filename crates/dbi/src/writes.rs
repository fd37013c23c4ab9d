//! [`release`]: before a system call by which the kernel writes to the program's memory, unprotects
//! the pages there (see `watch`). Without that the call would fail, and could not be repeated in
//! all cases: a call that fails at the copy may have consumed its input, such as a datagram.
//!
//! This covers the calls that consume input. After others that fail with `EFAULT`,
//! `syscalls::after` unprotects all pages and lets the program make the call again.

use reuselens_guest::sys;

use super::watch;

/// `struct iovec`: where, and how many bytes.
const VECTOR_BYTES: u64 = 16;
/// `struct mmsghdr`: a message, and how long it was.
const MESSAGE_BYTES: u64 = 64;
/// The most vectors, and the most messages, that the kernel takes at once.
const MOST: u64 = 1024;

/// Before system call `number` with these first arguments: unprotects the memory that it writes to.
pub fn release(number: u64, [one, two, three, four, five, _]: [u64; 6]) {
    if !watch::is_used() {
        return;
    }
    match number {
        sys::READ | sys::PREAD | sys::RECVFROM | sys::GETDENTS64 => bytes(two, three),
        sys::GETRANDOM => bytes(one, two),
        sys::READV | sys::PREADV | sys::PREADV2 | sys::PROCESS_VM_READV => vectors(two, three),
        // The other process may be this one. A part of the write that succeeds is no error.
        sys::PROCESS_VM_WRITEV => vectors(four, five),
        sys::RECVMSG => message(two),
        sys::RECVMMSG => {
            for index in 0..three.min(MOST) {
                message(two.wrapping_add(index * MESSAGE_BYTES));
            }
        }
        _ => {}
    }
}

fn bytes(low: u64, bytes: u64) {
    watch::release(low, low.saturating_add(bytes));
}

fn vectors(at: u64, count: u64) {
    for index in 0..count.min(MOST) {
        let Some([low, length]) = words(at.wrapping_add(index * VECTOR_BYTES)) else {
            return;
        };
        bytes(low, length);
    }
}

/// Bytes of these vectors.
pub fn length(at: u64, count: u64) -> u64 {
    let lengths = (0..count.min(MOST)).map_while(|index| {
        let words: Option<[u64; 2]> = words(at.wrapping_add(index * VECTOR_BYTES));
        words.map(|[_, length]| length)
    });
    lengths.fold(0, u64::saturating_add)
}

/// `struct msghdr`: name, vectors, control data, each with its length; and flags, which the kernel
/// writes, too.
fn message(at: u64) {
    let Some([name, name_bytes, first, count, control, control_bytes]) = words(at) else {
        return;
    };
    bytes(at, MESSAGE_BYTES);
    bytes(name, name_bytes & 0xffff_ffff);
    bytes(control, control_bytes);
    vectors(first, count);
}

/// Words of the program's memory; `None` if not all of them can be read.
fn words<const COUNT: usize>(at: u64) -> Option<[u64; COUNT]> {
    let mut words = [[0; 8]; COUNT];
    sys::peek(at, words.as_flattened_mut()).then(|| words.map(u64::from_le_bytes))
}
