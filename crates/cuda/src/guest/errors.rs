//! The last error of each thread, and the words for errors. Each function of the runtime ends here,
//! so this also knows which threads use the runtime.

use std::cell::Cell;
use std::ffi::c_char;

use super::connection::reported_fatal;
use crate::status::Status;

thread_local! {
    static LAST: Cell<u32> = const { Cell::new(0) };
    static USES_RUNTIME: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread has called a function of the runtime.
pub fn uses_runtime() -> bool {
    USES_RUNTIME.get()
}

/// Runs a function of the runtime for one of the driver: the program does not call the former.
pub fn for_driver<R>(work: impl FnOnce() -> R) -> R {
    let before = (LAST.get(), USES_RUNTIME.get());
    let result = work();
    LAST.set(before.0);
    USES_RUNTIME.set(before.1);
    result
}

/// The number that a function returns; an error is remembered as the thread's last one.
pub fn returned(result: Result<(), Status>) -> u32 {
    USES_RUNTIME.set(true);
    match result {
        Ok(()) => 0,
        Err(status) => {
            LAST.set(status.0);
            status.0
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> u32 {
    let last = LAST.take();
    reported_fatal().map_or_else(|status| status.0, |()| last)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> u32 {
    reported_fatal().map_or_else(|status| status.0, |()| LAST.get())
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(status: u32) -> *const c_char {
    Status(status).c_name().as_ptr().cast()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(status: u32) -> *const c_char {
    Status(status).c_text().as_ptr().cast()
}
