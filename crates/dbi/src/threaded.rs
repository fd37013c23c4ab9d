//! What a process may become, so that some blocks are translated again: one with several threads
//! ([`is_threaded`]), whose blocks with atomic instructions record the time at which these run (the
//! order of threads' accesses is taken from these times); and one that handles faults
//! ([`shows_faults`]), whose blocks save the flags that they overwrite and leave out no jump.

use core::sync::atomic::{AtomicBool, Ordering};

use super::Codes;

/// Whether the process ever had several threads.
static THREADED: AtomicBool = AtomicBool::new(false);

/// Whether the process ever had several threads.
pub fn is_threaded() -> bool {
    THREADED.load(Ordering::Relaxed)
}

/// Whether the process ever had a handler for a signal of faults.
static SHOWS_FAULTS: AtomicBool = AtomicBool::new(false);

/// Whether the program ever had a handler for a signal of faults.
pub fn shows_faults() -> bool {
    SHOWS_FAULTS.load(Ordering::Relaxed)
}

impl Codes {
    /// The program is about to install a handler for a signal of faults: discards the blocks in
    /// which such a handler would not find all as it should. Nothing if it had such a handler
    /// before.
    pub fn show_faults(&mut self) {
        if SHOWS_FAULTS.swap(true, Ordering::Relaxed) {
            return;
        }
        for number in 0..self.blocks.len() as u32 {
            if self.blocks[number as usize].blurs_faults {
                self.kill(number);
            }
        }
    }

    /// The process is about to start its second thread: discards the blocks with atomic
    /// instructions that do not record their time. Nothing if it had several threads before.
    pub fn become_threaded(&mut self) {
        if THREADED.swap(true, Ordering::Relaxed) {
            return;
        }
        for number in 0..self.blocks.len() as u32 {
            if self.blocks[number as usize].unordered {
                self.kill(number);
            }
        }
    }
}
