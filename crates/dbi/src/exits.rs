//! The ways out of blocks.

use alloc::vec::Vec;

/// The exits of blocks.
#[derive(Default)]
pub struct Exits {
    list: Vec<Exit>,
}

/// A way out of a block.
#[derive(Clone, Copy)]
pub struct Exit {
    /// Where the program goes on.
    pub target: u64,
    /// Where the distance of the jump is that can lead there directly, or 0.
    pub at: u64,
}

impl Exits {
    /// No exits.
    pub const fn new() -> Exits {
        Exits { list: Vec::new() }
    }

    /// An exit.
    pub fn get(&self, number: u32) -> Exit {
        self.list[number as usize]
    }

    /// Adds an exit; its number.
    pub fn add(&mut self, target: u64, at: u64) -> u32 {
        self.list.push(Exit { target, at });
        self.list.len() as u32 - 1
    }
}
