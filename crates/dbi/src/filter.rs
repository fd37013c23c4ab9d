//! Filters of system calls that a program is about to install, or other restrictions of its code:
//! ours in it may do no more.

use reuselens_wire::{Restriction, restriction};

use super::sys;

/// Whether a system call of the program will restrict it, as far as can be seen before.
pub fn restricts(number: u64, arguments: [u64; 3]) -> bool {
    match restriction(number, arguments) {
        Some(Restriction::CallsAndTime) => true,
        Some(Restriction::Calls) if number == sys::SECCOMP || arguments[0] == SET_SECCOMP => {
            is_taken(arguments[2])
        }
        Some(Restriction::Calls) => true,
        None => false,
    }
}

const SET_SECCOMP: u64 = 22;

/// Whether the kernel will take the filter at an address (`struct sock_fprog`): else the program
/// goes on as before, and so do we.
fn is_taken(program: u64) -> bool {
    const MOST: u16 = 4096;
    let mut words = [0_u8; 16];
    if !sys::peek(program, &mut words) {
        return false;
    }
    let length = u16::from_le_bytes([words[0], words[1]]);
    (1..=MOST).contains(&length) && may_filter()
}

/// Whether the calling thread may install filters: it has given up gaining rights, or has that
/// right.
fn may_filter() -> bool {
    const GET_NO_NEW_PRIVILEGES: u64 = 39;
    const VERSION_3: u32 = 0x2008_0522;
    const SYS_ADMIN: u32 = 21;
    // SAFETY: only asks.
    let gave_up = unsafe { sys::call(sys::PRCTL, [GET_NO_NEW_PRIVILEGES, 0, 0, 0, 0, 0]) };
    let header = [VERSION_3, 0];
    // Effective, permitted and inheritable rights; twice, for 64 of them.
    let mut rights = [0_u32; 6];
    let into = rights.as_mut_ptr() as u64;
    // SAFETY: the kernel reads the header and writes the rights.
    unsafe { sys::call(sys::CAPGET, [header.as_ptr() as u64, into, 0, 0, 0, 0]) };
    gave_up == 1 || rights[0] >> SYS_ADMIN & 1 != 0
}
