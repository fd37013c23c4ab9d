//! [`StandardOutput`], which notices that standard output was closed when the process began.
//!
//! Rust's start opens `/dev/null` in the place of a closed descriptor, and what is written there is
//! lost without an error. So the loader calls a function of this file before that.

use std::io::{self, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether standard output was closed when this process began.
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Called by the loader, before Rust's own start.
#[used]
// SAFETY: the section holds functions of this signature, called before `main` with the C library
// ready.
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        let flags = rustix::io::fcntl_getfd(rustix::stdio::stdout());
        let is_closed = flags.is_err_and(|error| error == rustix::io::Errno::BADF);
        WAS_CLOSED.store(is_closed, Ordering::Relaxed);
    }
    begin
};

/// Standard output; writing to it fails where it was closed when the process began.
#[derive(Debug)]
pub struct StandardOutput(Stdout);

impl StandardOutput {
    pub(super) fn new() -> Self {
        StandardOutput(io::stdout())
    }

    /// Whether it can be written at all.
    ///
    /// # Errors
    /// If it was closed when the process began.
    pub fn check() -> io::Result<()> {
        if WAS_CLOSED.load(Ordering::Relaxed) {
            let what = "it is closed; leave out >&-, or write to /dev/null";
            return Err(io::Error::other(what));
        }
        Ok(())
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::check()?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
