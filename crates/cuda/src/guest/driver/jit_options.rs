//! Options of the driver's compiler (`CUjit_option`). There is no such compiler, so its options
//! change nothing; but programs read its logs, which have to be there.

use crate::status::Status;

/// Options with the buffers of the logs of warnings and of errors, each followed by the option with
/// its bytes. The value of the latter is where the driver says how many bytes it wrote.
const INFO_LOG: u32 = 3;
const ERROR_LOG: u32 = 5;

/// Said in the log of errors: the analysing process has the message.
const TEXT: &[u8] =
    b"reuselens names the cause in a warning of its own when the program has ended\0";

/// A log that a program wants: its buffer, its bytes, and the place for the bytes written.
#[derive(Clone, Copy)]
struct Log {
    buffer: *mut u8,
    bytes: usize,
    written: *mut usize,
}

/// The logs that a program gives room for.
pub struct JitOptions {
    info: Option<Log>,
    errors: Option<Log>,
}

// SAFETY: the program keeps the buffers for as long as it uses the link, in whatever thread.
unsafe impl Send for JitOptions {}

impl JitOptions {
    /// Of lists of that many options and values; no options where either list is null.
    pub fn new(count: u32, options: *const u32, values: *mut usize) -> JitOptions {
        let find = |wanted: u32| -> Option<*mut usize> {
            let mut indices = 0..count as usize;
            // SAFETY: the program passes that many options.
            let index = indices.find(|&index| unsafe { *options.add(index) } == wanted)?;
            // SAFETY: and as many values.
            Some(unsafe { values.add(index) })
        };
        let log = |option: u32| {
            if options.is_null() || values.is_null() {
                return None;
            }
            let (buffer, written) = (find(option)?, find(option + 1)?);
            // SAFETY: values of the program.
            let (buffer, bytes) = unsafe { (*buffer as *mut u8, *written as u32 as usize) };
            (!buffer.is_null()).then_some(Log {
                buffer,
                bytes,
                written,
            })
        };
        JitOptions {
            info: log(INFO_LOG),
            errors: log(ERROR_LOG),
        }
    }

    /// Makes the logs empty.
    pub fn clear_logs(&self) {
        for log in [self.info, self.errors].into_iter().flatten() {
            log.write(b"\0");
        }
    }

    /// Writes how a piece of work ended.
    pub fn log(&self, ended: Result<(), Status>) {
        self.clear_logs();
        if let (Err(_), Some(log)) = (ended, self.errors) {
            log.write(TEXT);
        }
    }
}

impl Log {
    /// Writes a text with the zero at its end, as far as there is room, and how many bytes it has
    /// without the zero.
    fn write(self, text: &[u8]) {
        let written = text.len().min(self.bytes);
        // SAFETY: the program says that the buffer has room for these bytes, and the value is its.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), self.buffer, written);
            if let Some(last) = written.checked_sub(1) {
                self.buffer.add(last).write(0);
            }
            self.written.write(written.saturating_sub(1));
        }
    }
}
