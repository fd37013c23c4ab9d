//! What kernels print: kept until the program waits for the device, as CUDA does.

use std::ffi::c_void;
use std::sync::Mutex;

use super::lock;

#[link(name = "c")]
unsafe extern "C" {
    static stdout: *mut c_void;
    fn fwrite(from: *const c_void, size: usize, count: usize, to: *mut c_void) -> usize;
}

static PRINTED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Keeps text.
pub fn keep(text: &[u8]) {
    lock(&PRINTED).extend(text);
}

/// Writes what was kept to the program's standard output, by the buffer that its own text goes
/// through.
pub fn flush() {
    let text = std::mem::take(&mut *lock(&PRINTED));
    if !text.is_empty() {
        // SAFETY: the C library's stream, and bytes that are there.
        unsafe { fwrite(text.as_ptr().cast(), 1, text.len(), stdout) };
    }
}
