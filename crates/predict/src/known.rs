//! The blocks of code that a thread has run.

/// What is known of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    start: u64,
    /// The code of the loop that begins here; high is 0 if none does.
    low: u64,
    high: u64,
    /// The call in which it ran last; 0 is none.
    activation: u32,
    /// The block that came next last time.
    next: u32,
}

/// Blocks by address, numbered as they come.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    blocks: Vec<Seen>,
    /// Open addressing: number of a block and one, or 0. At most half full.
    slots: Vec<u32>,
}

impl Known {
    /// No block but number 0, which is none.
    pub fn new() -> Self {
        let mut known = Known {
            blocks: Vec::new(),
            slots: vec![0; 256],
        };
        known.insert(u64::MAX);
        known
    }

    /// The number of the block at this address, which came after block `last`.
    #[inline]
    pub fn find(&mut self, start: u64, last: u32) -> u32 {
        let guess = self.blocks[last as usize].next;
        if self.blocks[guess as usize].start == start {
            return guess;
        }
        let slot = self.slot(start);
        let number = match self.slots[slot].checked_sub(1) {
            Some(number) => number,
            None => self.insert(start),
        };
        self.blocks[last as usize].next = number;
        number
    }

    fn slot(&self, start: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (start.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask;
        loop {
            match self.slots[slot].checked_sub(1) {
                Some(number) if self.blocks[number as usize].start != start => {
                    slot = (slot + 1) & mask;
                }
                _ => return slot,
            }
        }
    }

    fn insert(&mut self, start: u64) -> u32 {
        let number = self.blocks.len() as u32;
        self.blocks.push(Seen {
            start,
            ..Seen::default()
        });
        if self.blocks.len() * 2 > self.slots.len() {
            self.slots = vec![0; self.slots.len() * 2];
            for number in 0..self.blocks.len() {
                let slot = self.slot(self.blocks[number].start);
                self.slots[slot] = number as u32 + 1;
            }
        } else {
            let slot = self.slot(start);
            self.slots[slot] = number + 1;
        }
        number
    }

    /// A block ran in a call.
    pub fn ran(&mut self, number: u32, activation: u32) {
        self.blocks[number as usize].activation = activation;
    }

    /// Whether it ran in this call, and in none since.
    pub fn ran_in(&self, number: u32, activation: u32) -> bool {
        self.blocks[number as usize].activation == activation
    }

    /// A loop begins with this block, and an edge from the code in `low..high` closes it.
    pub fn loops(&mut self, number: u32, low: u64, high: u64) {
        let block = &mut self.blocks[number as usize];
        if block.high == 0 {
            block.low = block.start;
        }
        block.low = block.low.min(low);
        block.high = block.high.max(high).max(block.start.saturating_add(1));
    }

    /// The code of the loop that begins with this block; ends at 0 if none does.
    pub fn range(&self, number: u32) -> (u64, u64) {
        let block = &self.blocks[number as usize];
        (block.low, block.high)
    }

    pub fn memory(&self) -> usize {
        self.blocks.capacity() * size_of::<Seen>() + self.slots.capacity() * size_of::<u32>()
    }
}
