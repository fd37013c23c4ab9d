//! Memory that a captured graph takes (`cudaMallocAsync` of a stream that is captured). The device
//! gives it when it is captured, for the addresses are among the arguments of later kernels, and
//! has it back when nothing is left of the graph. What the program or the graph itself frees in
//! between stays, as memory that a graph frees is its own again at its next launch.

use std::collections::BTreeSet;
use std::sync::Mutex;

use super::blocks::allocate_on_device;
use super::call_paths;
use super::connection::ask_number_of;
use super::lock;
use crate::protocol::{AllocationKind, Operation};
use crate::status::Status;

/// Where the blocks of graphs begin.
static BLOCKS: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// A block of a graph, freed when it is dropped.
pub struct GraphBlock {
    address: u64,
    call_path: u32,
}

impl GraphBlock {
    /// Takes memory of the device for a graph; the block, and its address.
    pub fn new(bytes: u64) -> Result<(GraphBlock, u64), Status> {
        let address = allocate_on_device(bytes, 1, AllocationKind::StreamOrdered)?;
        lock(&BLOCKS).insert(address);
        let call_path = call_paths::here();
        Ok((GraphBlock { address, call_path }, address))
    }
}

impl Drop for GraphBlock {
    fn drop(&mut self) {
        lock(&BLOCKS).remove(&self.address);
        // It is dropped with locks held, so its call path is that which took it.
        let _ = ask_number_of(self.call_path, Operation::Free, &[self.address]);
    }
}

/// Whether a block of a graph begins at an address.
pub fn is_of_graph(address: u64) -> bool {
    lock(&BLOCKS).contains(&address)
}
