//! [`KernelRun`]: one launch of a kernel. For each block it has the memory instructions in order,
//! with the items and threads of each ([`BlockStream`]).

mod align;
mod items;
mod load;

pub use align::Alignment;
pub(crate) use align::{InstructionCursor, PhaseSite, in_lockstep};
pub use items::Grain;
pub use load::{Loading, Spaces};

use reuselens_warp::Launch;

/// One launch, for one memory space, with items numbered from 0.
///
/// Memory: 6 bytes an item access and 8 a memory instruction of a block, 12 where there are barriers.
#[derive(Clone, Debug)]
pub struct KernelRun {
    pub(crate) launch: Launch,
    pub(crate) blocks: Vec<BlockStream>,
    /// Where each item begins, in bytes; of shared and local memory within its block or thread.
    pub(crate) addresses: Vec<u64>,
    /// Bytes of the first access to each item.
    pub(crate) sizes: Vec<u8>,
    pub(crate) grain: Grain,
    pub(crate) is_last: bool,
    pub(crate) uses_shared: bool,
}

/// The stream of memory instructions of one block: all its threads in lockstep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockStream {
    /// Its index in the grid.
    pub number: u32,
    sites: Vec<u32>,
    /// Of each instruction; empty while all are 0.
    phases: Vec<u32>,
    /// Where each instruction's touches begin; one more than there are instructions.
    starts: Vec<u32>,
    items: Vec<u32>,
    threads: Vec<u16>,
}

impl BlockStream {
    pub(crate) fn new(number: u32) -> BlockStream {
        BlockStream {
            number,
            starts: vec![0],
            ..BlockStream::default()
        }
    }

    /// Number of memory instructions.
    pub fn len(&self) -> usize {
        self.sites.len()
    }

    /// Whether it accesses nothing.
    pub fn is_empty(&self) -> bool {
        self.sites.is_empty()
    }

    /// Touches of all instructions.
    pub fn touches(&self) -> usize {
        self.items.len()
    }

    /// Which instruction of the kernel the `at`-th is.
    pub fn site(&self, at: usize) -> u32 {
        self.sites[at]
    }

    /// The phase of the `at`-th instruction: see [`WarpAccess::phase`](reuselens_warp::WarpAccess).
    pub fn phase(&self, at: usize) -> u32 {
        self.phases.get(at).copied().unwrap_or(0)
    }

    /// The items that the `at`-th instruction touches, in order of threads; one for each touch.
    pub fn items(&self, at: usize) -> &[u32] {
        &self.items[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// The threads of the touches of the `at`-th instruction, rising. A thread that touches several
    /// items at once is there several times.
    pub fn threads(&self, at: usize) -> &[u16] {
        &self.threads[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Adds a touch to the instruction that is being made.
    #[inline]
    pub(crate) fn touch(&mut self, thread: u16, item: u32) {
        self.items.push(item);
        self.threads.push(thread);
    }

    /// Ends the instruction that is being made.
    pub(crate) fn end(&mut self, (phase, site): PhaseSite) {
        if phase != 0 && self.phases.is_empty() {
            self.phases.resize(self.len(), 0);
        }
        if phase != 0 || !self.phases.is_empty() {
            self.phases.push(phase);
        }
        self.sites.push(site);
        self.starts.push(self.items.len() as u32);
    }

    /// The distinct items that it touches, rising.
    pub fn footprint(&self) -> Vec<u32> {
        let mut items = self.items.clone();
        items.sort_unstable();
        items.dedup();
        items
    }
}

impl KernelRun {
    /// The launch.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Whether the launch accesses shared memory, whichever memory is looked at: threads of a block
    /// exchange data there.
    pub fn uses_shared(&self) -> bool {
        self.uses_shared
    }

    /// The blocks that access the memory looked at, in order of their numbers.
    pub fn blocks(&self) -> &[BlockStream] {
        &self.blocks
    }

    /// Number of distinct items.
    pub fn items(&self) -> u32 {
        self.addresses.len() as u32
    }

    /// Where an item begins, in bytes.
    pub fn address(&self, item: u32) -> u64 {
        self.addresses[item as usize]
    }

    /// What an item is.
    pub fn grain(&self) -> Grain {
        self.grain
    }

    /// Touches of all blocks.
    pub fn touches(&self) -> u64 {
        self.blocks.iter().map(|block| block.touches() as u64).sum()
    }

    /// The same with one block only, by its number in the grid.
    pub fn only(&self, number: u32) -> KernelRun {
        let blocks = self.blocks.iter().filter(|block| block.number == number);
        KernelRun {
            launch: self.launch.clone(),
            blocks: blocks.cloned().collect(),
            addresses: self.addresses.clone(),
            sizes: self.sizes.clone(),
            ..*self
        }
    }

    /// Whether the stream has no launch after this one.
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// Threads of the launch.
    pub fn threads(&self) -> u64 {
        let blocks = self.launch.grid.count();
        blocks.saturating_mul(self.block_threads().into())
    }

    /// Threads of a block.
    pub fn block_threads(&self) -> u32 {
        self.launch.block.count() as u32
    }
}
