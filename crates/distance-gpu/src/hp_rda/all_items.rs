//! [`AllItems`]: the hash table of all items in the device's memory, with the place of the last
//! reference to each.

use reuselens_cuda::{Device, DeviceArray, Gpu, GpuFault, Params};

use super::transfer::MERGE_THREADS;

/// Numbers of a slot: item, place and block, as `Slot` in `kernels/distance/hp_rda.cu`.
const SLOT: u64 = 3;
/// Slots of an empty table.
const FEWEST: u64 = 1 << 10;
/// Blocks of threads that copy a table.
const COPY_BLOCKS: u64 = 2048;

/// A table of which at most half of the slots are in use. Its size is a power of two.
pub(crate) struct AllItems {
    slots: DeviceArray<u64>,
    /// The number of items.
    used: DeviceArray<u64>,
    /// The same, as of the last block.
    items: u64,
}

impl AllItems {
    /// Bytes of an empty one.
    pub const FEWEST_BYTES: u64 = 8 * (SLOT * FEWEST + 1);

    /// An empty one.
    pub fn new<D: Device>(gpu: &mut Gpu<D>) -> Result<Self, GpuFault> {
        Ok(AllItems {
            slots: gpu.array(SLOT * FEWEST)?,
            used: gpu.array(1)?,
            items: 0,
        })
    }

    /// The number of items.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The table, the number of slots less one, and where kernels count new items.
    pub fn parts(&self) -> (&DeviceArray<u64>, u64, &DeviceArray<u64>) {
        (&self.slots, self.slots.room() / SLOT - 1, &self.used)
    }

    /// Looks up how many items there are after kernels have added some.
    pub fn count<D: Device>(&mut self, gpu: &Gpu<D>) -> Result<(), GpuFault> {
        self.items = gpu.read(&self.used, 0..1)?[0];
        Ok(())
    }

    /// Makes room for this many more.
    pub fn make_room<D: Device>(
        &mut self,
        gpu: &mut Gpu<D>,
        more: u64,
        key: u64,
    ) -> Result<(), GpuFault> {
        let slots = (2 * (self.items + more)).next_power_of_two().max(FEWEST);
        let before = self.slots.room() / SLOT;
        if slots <= before {
            return Ok(());
        }
        let larger = gpu.array(SLOT * slots)?;
        let params = Params::default()
            .array(&self.slots)
            .long(before)
            .long(key)
            .array(&larger)
            .long(slots - 1);
        let blocks = before.div_ceil(MERGE_THREADS.into()).min(COPY_BLOCKS);
        gpu.launch_blocks("hp_grow", blocks as u32, MERGE_THREADS, params)?;
        gpu.free(std::mem::replace(&mut self.slots, larger))
    }
}
