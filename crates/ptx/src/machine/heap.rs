//! [`Heap`]: the memory that kernels allocate with `malloc` and `new`. It is one buffer of the
//! device; here is which parts of it are taken.
//!
//! Kernels that allocate run block after block, so that the addresses that they get are the same
//! with any number of threads: those of the first gap that is large enough, calls in the order of
//! blocks, warps' turns, and lanes. What is allocated stays, also for later launches, until a
//! kernel frees it.

use std::collections::BTreeMap;

use crate::decode::kernel::{HeapCall, HeapOp, NamedSpace};
use crate::lanes::WARP;

use super::fault::{Fault, FaultKind};
use super::memory::BlockMemory;
use super::warp::Warp;

/// Bytes of the heap unless the program asks for others, as CUDA has it.
pub const HEAP_BYTES: u64 = 8 << 20;

/// What addresses are multiples of.
const ALIGNMENT: u64 = 16;

/// Which parts of the heap are taken.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    /// Bytes of the buffer; 0 if kernels have not used it yet.
    pub size: u64,
    /// What is allocated: address, bytes.
    taken: BTreeMap<u64, u64>,
    /// What is not: address, bytes. No two ranges touch.
    gaps: BTreeMap<u64, u64>,
}

impl Heap {
    /// A heap in a buffer.
    pub fn new(address: u64, size: u64) -> Heap {
        Heap {
            size,
            taken: BTreeMap::new(),
            gaps: BTreeMap::from([(address, size)]),
        }
    }

    /// Allocates; 0 if there is no room. An allocation of no bytes has an address of its own.
    fn allocate(&mut self, bytes: u64) -> u64 {
        let Some(bytes) = bytes.max(1).checked_next_multiple_of(ALIGNMENT) else {
            return 0;
        };
        let Some((&address, &room)) = self.gaps.iter().find(|(_, room)| **room >= bytes) else {
            return 0;
        };
        self.gaps.remove(&address);
        if room > bytes {
            self.gaps.insert(address + bytes, room - bytes);
        }
        self.taken.insert(address, bytes);
        address
    }

    /// Frees what begins at an address; whether there is something.
    fn free(&mut self, address: u64) -> bool {
        let Some(mut bytes) = self.taken.remove(&address) else {
            return false;
        };
        let mut begin = address;
        if let Some(after) = self.gaps.remove(&(address + bytes)) {
            bytes += after;
        }
        if let Some((&before, &room)) = self.gaps.range(..address).next_back()
            && before + room == address
        {
            begin = before;
            bytes += room;
        }
        self.gaps.insert(begin, bytes);
        true
    }
}

/// Allocates or frees for the lanes of the mask, in their order.
#[cold]
pub fn call(
    memory: &mut BlockMemory<'_>,
    warp: &mut Warp,
    op: &HeapOp,
    mask: u32,
) -> Result<(), Box<Fault>> {
    for lane in (0..WARP).filter(|lane| mask >> lane & 1 != 0) {
        let argument = op.argument.address(&warp.registers, lane);
        let argument = memory.read(NamedSpace::Local, warp, argument, 8, lane);
        match op.call {
            HeapCall::Allocate(result) => {
                let address = memory.heap.allocate(argument);
                let result = result.address(&warp.registers, lane);
                memory.write(NamedSpace::Local, warp, result, 8, address, lane);
            }
            HeapCall::Free if argument == 0 || memory.heap.free(argument) => {}
            HeapCall::Free => {
                let what = format!(
                    "`free` of {argument:#x}, which `malloc` in a kernel did not return, or which \
                     is freed already"
                );
                return Err(Fault::new(FaultKind::Operand, Some(lane as u32), what));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::random::SplitMix64;

    #[test]
    fn allocations_never_overlap_and_all_comes_back() {
        let mut random = SplitMix64::new(5);
        let mut heap = Heap::new(1 << 20, 1 << 16);
        let mut live: Vec<(u64, u64)> = Vec::new();
        let mut refused = 0;
        for _ in 0..5000 {
            if !live.is_empty() && random.below(2) == 0 {
                let (address, _) = live.swap_remove(random.below(live.len() as u64) as usize);
                assert!(heap.free(address));
                assert!(!heap.free(address), "freed twice");
                continue;
            }
            let bytes = random.below(3000);
            let address = heap.allocate(bytes);
            if address == 0 {
                refused += 1;
                continue;
            }
            assert_eq!(address % ALIGNMENT, 0);
            assert!(address >= 1 << 20 && address + bytes <= (1 << 20) + (1 << 16));
            let apart = |&(other, size): &(u64, u64)| {
                other + size <= address || address + bytes.max(1) <= other
            };
            assert!(live.iter().all(apart));
            live.push((address, bytes.max(1)));
        }
        assert!(refused > 0, "the heap is small enough to be full");
        for (address, _) in live {
            assert!(heap.free(address));
        }
        assert_eq!(heap.gaps, BTreeMap::from([(1 << 20, 1 << 16)]));
        assert_eq!(heap.allocate(u64::MAX), 0);
    }
}
