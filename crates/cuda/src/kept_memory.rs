//! [`KeptMemory`]: what memory of a device held before a launch, to be restored.

use std::collections::BTreeMap;

use crate::device::{CudaFault, Device};

/// Copies of blocks, on the device as long as it has the memory, else in this process.
#[derive(Debug, Default)]
pub struct KeptMemory {
    /// By the addresses of the blocks.
    copies: BTreeMap<u64, KeptBlock>,
}

/// The copy of a block.
#[derive(Debug)]
struct KeptBlock {
    bytes: u64,
    copy: BlockCopy,
}

/// Where a copy is.
#[derive(Debug)]
enum BlockCopy {
    /// At this address of the device.
    Device(u64),
    Host(Vec<u8>),
}

impl KeptMemory {
    /// Copies blocks: addresses and bytes. Copies of other blocks are given back.
    ///
    /// # Errors
    /// If the device does not work.
    pub fn keep<D: Device>(
        &mut self,
        device: &mut D,
        blocks: &BTreeMap<u64, u64>,
    ) -> Result<(), CudaFault> {
        let known = self.copies.iter();
        let gone = known.filter(|(address, kept)| blocks.get(address) != Some(&kept.bytes));
        let gone: Vec<u64> = gone.map(|(&address, _)| address).collect();
        for address in gone {
            if let Some(kept) = self.copies.remove(&address) {
                kept.give_back(device);
            }
        }
        for (&address, &bytes) in blocks.iter().filter(|(_, bytes)| **bytes > 0) {
            let kept = self.copies.entry(address).or_insert_with(|| {
                let (free, all) = device.memory();
                // A quarter is left: for records, and for what launches take themselves.
                let has_room = free.saturating_sub(bytes) >= all / 4;
                let copied = has_room.then(|| device.allocate(bytes, 1).ok()).flatten();
                KeptBlock {
                    bytes,
                    copy: copied.map_or_else(
                        || BlockCopy::Host(vec![0; bytes as usize]),
                        BlockCopy::Device,
                    ),
                }
            });
            match &mut kept.copy {
                BlockCopy::Device(copy) => device.copy(*copy, address, bytes)?,
                BlockCopy::Host(copy) => device.read_into(address, copy)?,
            }
        }
        Ok(())
    }

    /// Makes the blocks what they were.
    ///
    /// # Errors
    /// If the device does not work.
    pub fn restore<D: Device>(&self, device: &mut D) -> Result<(), CudaFault> {
        for (&address, kept) in &self.copies {
            match &kept.copy {
                BlockCopy::Device(copy) => device.copy(address, *copy, kept.bytes)?,
                BlockCopy::Host(copy) => device.write(address, copy)?,
            }
        }
        Ok(())
    }

    /// Gives all memory back; whether some was the device's.
    pub fn give_back<D: Device>(&mut self, device: &mut D) -> bool {
        let mut had = false;
        for kept in std::mem::take(&mut self.copies).into_values() {
            had |= kept.give_back(device);
        }
        had
    }
}

impl KeptBlock {
    /// Gives its memory back; whether that was the device's.
    fn give_back<D: Device>(self, device: &mut D) -> bool {
        match self.copy {
            // A copy that is not given back is the device's loss only.
            BlockCopy::Device(copy) => device.free(copy).is_ok(),
            BlockCopy::Host(_) => false,
        }
    }
}
