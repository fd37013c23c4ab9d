//! Whether the process has several threads ([`is_threaded`]), and what happens when it gets its
//! second one: blocks with atomic instructions are translated again, so that they record the time
//! at which these run. The order of threads' accesses is taken from these times.

use core::sync::atomic::{AtomicBool, Ordering};

use super::Codes;

/// Whether the process ever had several threads.
static THREADED: AtomicBool = AtomicBool::new(false);

/// Whether the process ever had several threads.
pub fn is_threaded() -> bool {
    THREADED.load(Ordering::Relaxed)
}

impl Codes {
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
