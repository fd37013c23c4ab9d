//! [`restricts`]: whether a system call of the program will restrict what code in its process may
//! do, as a filter of system calls (`seccomp`) does. The dispatcher asks before each call; if so,
//! it detaches all threads first, for our code in the process would be restricted, too.

use reuselens_guest::sys;
use reuselens_wire::{Restriction, restriction};

/// Whether a system call of the program will restrict it, as far as that can be known before.
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

/// Whether the kernel will accept the filter at an address (`struct sock_fprog`). If not, the call
/// fails and changes nothing.
fn is_taken(program: u64) -> bool {
    const MOST: u16 = 4096;
    let mut words = [0_u8; 16];
    if !sys::peek(program, &mut words) {
        return false;
    }
    let length = u16::from_le_bytes([words[0], words[1]]);
    (1..=MOST).contains(&length) && may_filter()
}

/// Whether the calling thread may install filters: it has given up gaining privileges, or has the
/// capability `CAP_SYS_ADMIN`.
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
