//! [`KernelRun`]: one launch of a kernel. For each block it has the memory instructions in order,
//! with the items and threads of each ([`BlockStream`]).

mod align;
mod items;
mod load;
mod part;
mod raw;
mod spill;
mod stream;

pub use align::Alignment;
pub(crate) use align::{InstructionCursor, PhaseSite, in_lockstep};
pub use items::{Grain, ItemClass};
pub(crate) use items::{ItemTable, OUTSIDE};
pub use load::{Loading, Spaces};
pub(crate) use spill::SpillFile;
pub(crate) use stream::{BlockCursor, BlockWriter, DistinctItems, StreamStore};
pub use stream::{BlockInstruction, BlockStream};

use std::sync::Arc;

use reuselens_warp::Launch;

use crate::SimtError;
use crate::transactions::Transactions;

/// One launch of a kernel, for one memory space or several, with items numbered from 0.
///
/// Memory: that of its [`BlockStream`]s, as far as they are in memory ([`Loading::memory`]), and 8
/// to 9 bytes for each item.
#[derive(Clone, Debug)]
pub struct KernelRun {
    pub(crate) launch: Launch,
    pub(crate) blocks: Vec<BlockStream>,
    pub(crate) items: Arc<ItemTable>,
    pub(crate) grain: Grain,
    pub(crate) is_last: bool,
    pub(crate) uses_shared: bool,
    pub(crate) class: ItemClass,
    /// As the stream has the launch; none if items are no elements.
    pub(crate) loaded: Option<Transactions>,
    /// Where the streams are that are not in memory.
    pub(crate) file: Option<Arc<SpillFile>>,
}

impl KernelRun {
    /// The launch.
    pub fn launch(&self) -> &Launch {
        &self.launch
    }

    /// Whether threads of the launch exchange data, whichever memory is looked at: in shared memory
    /// or, where the stream records it, by barriers, shuffles, votes and the like.
    pub fn has_exchange(&self) -> bool {
        let used = self.launch.used;
        self.uses_shared || used.is_some_and(|used| used.has_exchange || used.shared() > 0)
    }

    /// The blocks that access the memory looked at, in order of their numbers.
    pub fn blocks(&self) -> &[BlockStream] {
        &self.blocks
    }

    /// The transactions of the launch as the stream has it, where all data stays where it is: the
    /// sectors of the items' class, and all requests. None if items are no elements.
    pub fn loaded_transactions(&self) -> Option<Transactions> {
        self.loaded
    }

    /// Number of distinct items of the class.
    pub fn items(&self) -> u32 {
        self.items.len() as u32
    }

    /// Where an item begins, in bytes.
    pub fn address(&self, item: u32) -> u64 {
        self.items.address(item)
    }

    /// What an item is.
    pub fn grain(&self) -> Grain {
        self.grain
    }

    /// Touches of all blocks, of items of all classes.
    pub fn touches(&self) -> u64 {
        self.blocks.iter().map(|block| block.touches() as u64).sum()
    }

    /// Bytes that it holds in memory.
    pub fn bytes(&self) -> u64 {
        let blocks = self.blocks.iter().map(|block| block.bytes() as u64);
        self.items.bytes() + blocks.sum::<u64>()
    }

    /// Whether all that was read back from the file with its streams was read; to be asked after
    /// the streams were visited.
    ///
    /// # Errors
    /// [`SimtError::Trace`] if the file could not be read. What was visited then lacks something.
    pub fn check(&self) -> Result<(), SimtError> {
        match &self.file {
            Some(file) => Ok(file.check()?),
            None => Ok(()),
        }
    }

    /// The same with one block only, by its number in the grid.
    pub fn only(&self, number: u32) -> KernelRun {
        let blocks = self.blocks.iter().filter(|block| block.number == number);
        KernelRun {
            launch: self.launch.clone(),
            blocks: blocks.cloned().collect(),
            items: Arc::clone(&self.items),
            file: self.file.clone(),
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
