//! Memory that a captured graph takes (`cudaMallocAsync` of a stream that is captured). The device
//! gives it when it is captured, for the addresses are among the arguments of later kernels, and
//! has it back when nothing is left of the graph. What the program or the graph itself frees in
//! between stays, as memory that a graph frees is its own again at its next launch.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::blocks::allocate_on_device;
use super::call_paths;
use super::connection::ask_number_of;
use super::lock;
use crate::protocol::{AllocationKind, Operation};
use crate::status::Status;

/// Where the blocks of graphs begin, and the number of each. After a reset of the device another
/// block may have the address of one, so a block is known by its number.
static BLOCKS: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());

/// A block of a graph, freed when it is dropped.
pub struct GraphBlock {
    address: u64,
    /// No other block of a graph has it.
    number: u64,
    call_path: u32,
}

impl GraphBlock {
    /// Takes memory of the device for a graph; the block, and its address.
    pub fn new(bytes: u64) -> Result<(GraphBlock, u64), Status> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let address = allocate_on_device(bytes, 1, AllocationKind::StreamOrdered)?;
        let block = GraphBlock {
            address,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            call_path: call_paths::here(),
        };
        lock(&BLOCKS).insert(address, block.number);
        Ok((block, address))
    }
}

impl Drop for GraphBlock {
    fn drop(&mut self) {
        let mut blocks = lock(&BLOCKS);
        if blocks.get(&self.address) != Some(&self.number) {
            // The device was reset, which has freed it.
            return;
        }
        blocks.remove(&self.address);
        // It is dropped with locks held, so its call path is that which took it.
        let _ = ask_number_of(self.call_path, Operation::Free, &[self.address]);
    }
}

/// Whether a block of a graph begins at an address.
pub fn is_of_graph(address: u64) -> bool {
    lock(&BLOCKS).contains_key(&address)
}

/// Forgets all blocks, as the device is reset, which frees them. Graphs that had them stay.
pub fn clear() {
    lock(&BLOCKS).clear();
}
