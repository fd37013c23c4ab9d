//! [`DeviceMemory`]: the buffers of a device. Between two buffers is room that belongs to none, so
//! that an access beyond the end of a buffer is found.

use super::windows;

/// Granularity of buffers, and of what a block keeps for itself until it ends.
pub const PAGE: usize = 256;
/// `PAGE` as a shift.
pub const PAGE_BITS: u32 = 8;

/// A buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// What it is called in messages.
    pub name: String,
    /// Its address on the device.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// All buffers.
#[derive(Clone, Debug, Default)]
pub struct DeviceMemory {
    bytes: Vec<u8>,
    allocations: Vec<Allocation>,
    /// For each page the number of its buffer, from 1; 0 where there is none.
    owners: Vec<u32>,
}

impl DeviceMemory {
    /// Adds a buffer of zeros and returns its address, or `None` if the memory does not suffice.
    pub fn allocate(&mut self, name: &str, size: u64) -> Option<u64> {
        let start = self.bytes.len() + PAGE;
        let pages = usize::try_from(size).ok()?.checked_add(PAGE - 1)? / PAGE;
        let end = start
            .checked_add(pages.checked_mul(PAGE)?)?
            .checked_add(PAGE)?;
        self.bytes.try_reserve(end - self.bytes.len()).ok()?;
        self.bytes.resize(end, 0);
        self.allocations.push(Allocation {
            name: name.to_owned(),
            address: windows::GLOBAL + start as u64,
            size,
        });
        self.owners.resize(start / PAGE, 0);
        self.owners
            .resize(start / PAGE + pages, self.allocations.len() as u32);
        self.owners.resize(end / PAGE, 0);
        Some(windows::GLOBAL + start as u64)
    }

    /// All buffers, in the order of their addresses.
    pub fn allocations(&self) -> &[Allocation] {
        &self.allocations
    }

    /// Bytes that are taken.
    pub fn taken(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The place of `size` bytes at an address, if they are in one buffer.
    pub fn range(&self, address: u64, size: u64) -> Option<std::ops::Range<usize>> {
        let end = address.checked_add(size)?;
        let start = self.span(address, end)?;
        Some(start..start + size as usize)
    }

    /// The place of the first of the bytes from `low` up to `end`, if all are in one buffer.
    #[inline(always)]
    pub fn span(&self, low: u64, end: u64) -> Option<usize> {
        let offset = low.wrapping_sub(windows::GLOBAL);
        let owner = *self.owners.get((offset >> PAGE_BITS) as usize)?;
        let allocation = self.allocations.get((owner as usize).wrapping_sub(1))?;
        (end <= allocation.address + allocation.size).then_some(offset as usize)
    }

    /// What is at an address, in words.
    pub fn describe(&self, address: u64) -> String {
        let after = self
            .allocations
            .partition_point(|known| known.address <= address);
        if let Some(before) = after.checked_sub(1).map(|index| &self.allocations[index]) {
            let distance = address - before.address;
            if distance < before.size {
                return format!(
                    "it begins {distance} bytes into '{}' and reaches past its end ({} bytes)",
                    before.name, before.size
                );
            }
            let behind = distance - before.size;
            if behind < 1 << 20 {
                return format!(
                    "{behind} bytes behind the end of '{}' ({} bytes)",
                    before.name, before.size
                );
            }
        }
        if let Some(next) = self.allocations.get(after)
            && next.address - address < 1 << 20
        {
            return format!("{} bytes before '{}'", next.address - address, next.name);
        }
        if address < 4096 {
            "a null pointer".to_owned()
        } else {
            "in no buffer".to_owned()
        }
    }
}
