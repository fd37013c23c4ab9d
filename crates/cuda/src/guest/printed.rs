//! What kernels print: kept until the program waits for the device, as CUDA does.

use std::ffi::c_void;
use std::sync::Mutex;

use super::lock;

#[link(name = "c")]
unsafe extern "C" {
    static stdout: *mut c_void;
    static stderr: *mut c_void;
    fn fwrite(from: *const c_void, size: usize, count: usize, to: *mut c_void) -> usize;
}

/// For the standard output and for the standard error.
static PRINTED: Mutex<[Vec<u8>; 2]> = Mutex::new([Vec::new(), Vec::new()]);

/// Keeps text.
pub fn keep(output: &[u8], error: &[u8]) {
    let [kept_output, kept_error] = &mut *lock(&PRINTED);
    kept_output.extend(output);
    kept_error.extend(error);
}

/// Writes what was kept to the program's standard output and standard error, by the buffers that
/// its own text goes through.
pub fn flush() {
    let texts = std::mem::take(&mut *lock(&PRINTED));
    // SAFETY: the C library sets these before any code of the program runs.
    let streams = unsafe { [stdout, stderr] };
    for (text, stream) in texts.iter().zip(streams) {
        if !text.is_empty() {
            // SAFETY: the C library's stream, and bytes that are there.
            unsafe { fwrite(text.as_ptr().cast(), 1, text.len(), stream) };
        }
    }
}
