//! [`DeviceMemory`]: the buffers of a device. Between two buffers is room that belongs to none, so
//! that an access beyond the end of a buffer is found. A buffer that is freed leaves its room to
//! later ones; until one takes it, an access there is found too.

use std::collections::BTreeMap;

use super::flow::FlowCounts;
use super::heap::{HEAP_BYTES, Heap};
use super::launch::LaunchError;
use super::skipped::{SkippedAccess, SkippedSum};
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
    /// By number. The numbers of freed buffers are in `vacant`, and their buffers have no bytes.
    allocations: Vec<Allocation>,
    vacant: Vec<u32>,
    /// For each page the number of its buffer, from 1; 0 where there is none.
    owners: Vec<u32>,
    /// Room that freed buffers left: first page, pages. No two ranges touch.
    gaps: BTreeMap<usize, usize>,
    /// Pages of all gaps.
    gap_pages: usize,
    /// What kernels have printed, since it was last taken.
    printed: Vec<u8>,
    /// Of the last launch whose kernel counts its control flow.
    flow: Option<FlowCounts>,
    /// What launches left out, since it was last taken.
    skipped: SkippedSum,
    /// What kernels allocate from.
    pub heap: Heap,
    /// Bytes of the heap, if not as many as CUDA has; see `set_heap`.
    heap_bytes: Option<u64>,
    /// Bytes of a thread's stack, if not as many as CUDA has.
    stack: Option<u64>,
}

/// Bytes of a thread's stack without another limit, as CUDA has it.
const STACK_BYTES: u64 = 1 << 10;

/// Text beyond that is not kept. CUDA's own limit is 1 MiB, if the program asks for no more.
pub const MAX_PRINTED: usize = 64 << 20;

/// Pages around a buffer that belong to none: one before it, one after it.
const FENCE_PAGES: usize = 2;

impl DeviceMemory {
    /// Adds a buffer of zeros, at a multiple of the power of two `alignment`, and returns its
    /// address; `None` if the memory does not suffice.
    /// `most` bounds all bytes, used or not.
    pub fn allocate(&mut self, name: &str, size: u64, alignment: u64, most: u64) -> Option<u64> {
        let pages = usize::try_from(size).ok()?.checked_add(PAGE - 1)? / PAGE;
        let room = pages.checked_add(FENCE_PAGES)?;
        let step = usize::try_from(alignment).ok()?.div_ceil(PAGE).max(1);
        let first = match self.take_gap(room, step) {
            Some(first) => {
                let begin = first * PAGE;
                self.bytes[begin..begin + room * PAGE].fill(0);
                first
            }
            None => self.extend(room, step, most)?,
        } + 1;
        let address = windows::GLOBAL + (first * PAGE) as u64;
        let buffer = Allocation {
            name: name.to_owned(),
            address,
            size,
        };
        let number = match self.vacant.pop() {
            Some(number) => {
                self.allocations[number as usize] = buffer;
                number
            }
            None => {
                self.allocations.push(buffer);
                self.allocations.len() as u32 - 1
            }
        };
        self.owners[first..first + pages].fill(number + 1);
        Some(address)
    }

    /// Frees the buffer that begins at an address; whether there is one.
    pub fn free(&mut self, address: u64) -> bool {
        let Some(number) = self.begins_at(address) else {
            return false;
        };
        let freed = &mut self.allocations[number];
        let pages = (std::mem::take(&mut freed.size) as usize).div_ceil(PAGE);
        let first = (address - windows::GLOBAL) as usize / PAGE;
        self.owners[first..first + pages].fill(0);
        self.vacant.push(number as u32);
        self.leave_gap(first - 1, pages + FENCE_PAGES);
        true
    }

    /// Gives the buffer that begins at an address another name; whether there is one.
    pub fn rename(&mut self, address: u64, name: &str) -> bool {
        let number = self.begins_at(address);
        if let Some(number) = number {
            name.clone_into(&mut self.allocations[number].name);
        }
        number.is_some()
    }

    /// The number of the buffer that begins at an address.
    fn begins_at(&self, address: u64) -> Option<usize> {
        let page = address.checked_sub(windows::GLOBAL)? / PAGE as u64;
        let owner = *self.owners.get(usize::try_from(page).ok()?)?;
        let number = (owner as usize).checked_sub(1)?;
        (self.allocations[number].address == address).then_some(number)
    }

    /// Pages at the end of the memory; the first one's number. A buffer after one fence begins at
    /// a multiple of `step` pages.
    fn extend(&mut self, pages: usize, step: usize, most: u64) -> Option<usize> {
        let before = self.bytes.len() / PAGE;
        let first = after_fence(before, step)?;
        let end = first.checked_add(pages)?;
        let bytes = end
            .checked_mul(PAGE)
            .filter(|&bytes| bytes as u64 <= most)?;
        self.bytes.try_reserve(bytes - self.bytes.len()).ok()?;
        self.bytes.resize(bytes, 0);
        self.owners.resize(end, 0);
        self.leave_gap(before, first - before);
        Some(first)
    }

    /// Takes `pages` of the first gap with room for them, as `extend` does.
    fn take_gap(&mut self, pages: usize, step: usize) -> Option<usize> {
        let (begin, room, first) = self.gaps.iter().find_map(|(&begin, &room)| {
            let first = after_fence(begin, step)?;
            (first.checked_add(pages)? <= begin + room).then_some((begin, room, first))
        })?;
        self.gaps.remove(&begin);
        self.gap_pages -= room;
        self.leave_gap(begin, first - begin);
        self.leave_gap(first + pages, begin + room - first - pages);
        Some(first)
    }

    /// Adds a gap, joined with those that it touches.
    fn leave_gap(&mut self, mut first: usize, mut pages: usize) {
        if pages == 0 {
            return;
        }
        self.gap_pages += pages;
        if let Some(after) = self.gaps.remove(&(first + pages)) {
            pages += after;
        }
        if let Some((&before, &room)) = self.gaps.range(..first).next_back()
            && before + room == first
        {
            first = before;
            pages += room;
        }
        self.gaps.insert(first, pages);
    }

    /// The buffer that begins at an address.
    pub fn buffer(&self, address: u64) -> Option<&Allocation> {
        Some(&self.allocations[self.begins_at(address)?])
    }

    /// All buffers, in the order of their addresses. Cost: a sort.
    fn allocations(&self) -> Vec<&Allocation> {
        let mut vacant = self.vacant.clone();
        vacant.sort_unstable();
        let numbers = 0..self.allocations.len();
        let mut live: Vec<&Allocation> = numbers
            .filter(|number| vacant.binary_search(&(*number as u32)).is_err())
            .map(|number| &self.allocations[number])
            .collect();
        live.sort_unstable_by_key(|buffer| buffer.address);
        live
    }

    /// Bytes that buffers take, with the room between them.
    pub fn taken(&self) -> u64 {
        (self.bytes.len() - self.gap_pages * PAGE) as u64
    }

    /// Keeps what a kernel printed.
    pub fn print(&mut self, text: Vec<u8>) {
        let room = MAX_PRINTED.saturating_sub(self.printed.len());
        self.printed.extend(text.into_iter().take(room));
    }

    /// Takes what kernels have printed.
    pub fn take_printed(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.printed)
    }

    /// Sets the size of the heap; whether that is still possible.
    pub fn set_heap(&mut self, bytes: u64) -> bool {
        let is_open = self.heap.size == 0;
        if is_open {
            self.heap_bytes = Some(bytes);
        }
        is_open
    }

    /// Bytes of a thread's stack, in kernels that have one.
    pub fn stack_bytes(&self) -> u64 {
        self.stack.unwrap_or(STACK_BYTES)
    }

    /// Sets the bytes of a thread's stack.
    pub fn set_stack(&mut self, bytes: Option<u64>) {
        self.stack = bytes;
    }

    /// Makes room for the heap, unless there is some.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn make_heap(&mut self) -> Result<(), LaunchError> {
        if self.heap.size != 0 {
            return Ok(());
        }
        let bytes = self.heap_bytes.unwrap_or(HEAP_BYTES).max(1);
        let name = "heap of `malloc` in kernels";
        let address = self.allocate(name, bytes, 1, u64::MAX).ok_or_else(|| {
            LaunchError::Refused(format!("there is no memory for a heap of {bytes} bytes"))
        })?;
        self.heap = Heap::new(address, bytes);
        Ok(())
    }

    /// Keeps the control flow of a launch.
    pub fn keep_flow(&mut self, flow: FlowCounts) {
        self.flow = Some(flow);
    }

    /// Takes the control flow of the last launch.
    pub fn take_flow(&mut self) -> Option<FlowCounts> {
        self.flow.take()
    }

    /// Keeps what blocks left out.
    pub fn keep_skipped(&mut self, skipped: Vec<SkippedAccess>) {
        self.skipped.add(skipped);
    }

    /// Takes what launches left out.
    pub fn take_skipped(&mut self) -> Vec<SkippedAccess> {
        std::mem::take(&mut self.skipped).into_accesses()
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
        let buffers = self.allocations();
        let after = buffers.partition_point(|known| known.address <= address);
        if let Some(before) = after.checked_sub(1).map(|index| buffers[index]) {
            let distance = address - before.address;
            if distance < before.size {
                return format!(
                    "it begins {distance} bytes into '{}' and reaches past its end ({} bytes)",
                    before.name, before.size
                );
            }
            let beyond = distance - before.size;
            if beyond < 1 << 20 {
                return format!(
                    "{beyond} bytes behind the end of '{}' ({} bytes)",
                    before.name, before.size
                );
            }
        }
        if let Some(next) = buffers.get(after)
            && next.address - address < 1 << 20
        {
            return format!("{} bytes before '{}'", next.address - address, next.name);
        }
        if address < 4096 {
            "a null pointer".to_owned()
        } else if (PROGRAMS..HOST_END).contains(&address) {
            "in no buffer; it looks like a pointer of the host, whose memory a kernel reaches by a \
             copy (cudaMemcpy) or if it is managed"
                .to_owned()
        } else {
            "in no buffer".to_owned()
        }
    }
}

/// Where a program of Linux on x86-64 has its code, heap and stacks: from here if it is
/// position-independent.
const PROGRAMS: u64 = 0x5000_0000_0000;
/// The first address that no program of Linux on x86-64 has.
const HOST_END: u64 = 1 << 47;

/// The first page from `first` on whose next one is a multiple of `step`.
fn after_fence(first: usize, step: usize) -> Option<usize> {
    Some((first + 1).checked_next_multiple_of(step)? - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::random::SplitMix64;

    const MOST: u64 = 1 << 30;

    #[test]
    fn all_bytes_are_bounded_whatever_the_alignment() {
        let mut memory = DeviceMemory::default();
        for bits in 0..64 {
            memory.allocate("buffer", 1, 1 << bits, 1 << 20);
            assert!(memory.bytes().len() <= 1 << 20, "{bits}");
        }
    }

    #[test]
    fn a_renamed_buffer_is_described_by_its_new_name() {
        let mut memory = DeviceMemory::default();
        let address = memory.allocate("first", 1000, 1, MOST).unwrap();
        assert!(memory.rename(address, "second"));
        assert!(!memory.rename(address + 256, "third"), "in the middle");
        assert!(memory.describe(address + 1004).contains("'second'"));
    }

    #[test]
    fn a_freed_buffer_is_no_longer_there_and_its_room_is_taken_again() {
        let mut memory = DeviceMemory::default();
        let first = memory.allocate("first", 1000, 1, MOST).unwrap();
        let second = memory.allocate("second", 1000, 1, MOST).unwrap();
        let taken = memory.taken();
        assert!(memory.free(first));
        assert!(!memory.free(first), "freed twice");
        assert!(!memory.free(second + 256), "in the middle");
        assert_eq!(memory.range(first, 1), None);
        let third = memory.allocate("third", 900, 1, MOST).unwrap();
        assert_eq!((third, memory.taken()), (first, taken));
        let names: Vec<&str> = memory
            .allocations()
            .iter()
            .map(|b| b.name.as_str())
            .collect();
        assert_eq!(names, ["third", "second"]);
    }

    #[test]
    fn buffers_never_overlap_and_are_zero_whatever_is_freed() {
        let mut random = SplitMix64::new(7);
        let mut memory = DeviceMemory::default();
        let mut live: Vec<(u64, u64)> = Vec::new();
        for _ in 0..4000 {
            if live.len() > 40 || (!live.is_empty() && random.below(3) == 0) {
                let index = random.below(live.len() as u64) as usize;
                let (address, _) = live.swap_remove(index);
                assert!(memory.free(address));
                continue;
            }
            let size = 1 + random.below(3000);
            let alignment = 1 << random.below(14);
            let address = memory.allocate("buffer", size, alignment, MOST).unwrap();
            assert_eq!(address % alignment, 0);
            let range = memory.range(address, size).unwrap();
            assert_eq!(memory.range(address, size + 1), None);
            assert!(memory.bytes()[range.clone()].iter().all(|&byte| byte == 0));
            memory.bytes_mut()[range].fill(0xff);
            let apart = |&(other, bytes): &(u64, u64)| {
                other + bytes + PAGE as u64 <= address || address + size + PAGE as u64 <= other
            };
            assert!(live.iter().all(apart), "{address:#x} {live:x?}");
            live.push((address, size));
        }
        for (address, _) in live {
            assert!(memory.free(address));
        }
        assert_eq!((memory.taken(), memory.gaps.len()), (0, 1));
    }
}
