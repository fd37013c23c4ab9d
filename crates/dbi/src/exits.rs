//! [`Exits`]: the list of all exits of translated blocks, by number. Code that leaves a block
//! stores its exit's number in the thread's state, and the dispatcher looks the target up here.

use alloc::vec::Vec;

/// The exits of blocks.
#[derive(Default)]
pub struct Exits {
    list: Vec<Exit>,
}

/// A way out of a block.
#[derive(Clone, Copy)]
pub struct Exit {
    /// Address in the program at which it continues.
    pub target: u64,
    /// Address in the cache of the 32-bit distance of the jump that can be linked to the target's
    /// block, or 0 if the exit has no such jump.
    pub at: u64,
}

impl Exits {
    /// No exits.
    pub const fn new() -> Exits {
        Exits { list: Vec::new() }
    }

    /// The exit with this number.
    pub fn get(&self, number: u32) -> Exit {
        self.list[number as usize]
    }

    /// Adds an exit and returns its number.
    pub fn add(&mut self, target: u64, at: u64) -> u32 {
        self.list.push(Exit { target, at });
        self.list.len() as u32 - 1
    }
}
