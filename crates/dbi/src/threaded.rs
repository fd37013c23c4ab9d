//! Blocks that synchronise threads, once there are several.

use core::sync::atomic::{AtomicBool, Ordering};

use super::Codes;

/// Whether the process ever had several threads. As long as it has one, nothing need be known of
/// their order.
static THREADED: AtomicBool = AtomicBool::new(false);

/// Whether the process ever had several threads.
pub fn is_threaded() -> bool {
    THREADED.load(Ordering::Relaxed)
}

impl Codes {
    /// From here on the process has several threads: blocks because of which another one can go on
    /// are made anew, and note when.
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
