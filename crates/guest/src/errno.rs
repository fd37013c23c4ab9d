//! Results of system calls as functions of the C library give them.

use core::ffi::c_int;

use crate::sys;

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
}

/// The result of a system call that was made in place of a function of the C library, as that
/// function gives it: -1 and `errno` where it failed.
pub fn reported(result: i64) -> i64 {
    if sys::failed(result) {
        // SAFETY: the place is this thread's.
        unsafe { *__errno_location() = -result as c_int };
        return -1;
    }
    result
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn errors_are_in_errno_and_addresses_are_passed_on() {
        assert_eq!(reported(-2), -1);
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
        assert_eq!(reported(-4096), -4096);
        assert_eq!(reported(7), 7);
    }
}
