//! [`ArrayView`]: memory of this process that a kernel accesses; and the buffers of the device that
//! stand for it while kernels run ([`Buffers`]).
//!
//! The interpreter has the device's memory in one piece, so it cannot take an array where it is:
//! bytes go in before a launch, and those that the kernel changed go out after it. Each is one pass
//! at the speed of memory, which is little beside the launch.

use std::collections::HashMap;

use pyo3::prelude::*;
use reuselens_ptx::{Device, DeviceError};

/// An array, as Python describes it. All addresses are those of the process.
#[derive(Clone, Debug, FromPyObject)]
pub struct ArrayView {
    /// Its first byte: of a view, the lowest address of an element.
    pub address: u64,
    /// Bytes up to the end of its last element.
    pub nbytes: u64,
    /// The first byte of the memory that it is a view of.
    pub base_address: u64,
    /// Bytes of that memory.
    pub base_nbytes: u64,
    /// Whether it may be written.
    pub writable: bool,
    /// The variable's name.
    pub name: String,
    /// The name with what it is and where it was made.
    pub label: String,
}

/// Memory of the process that has one buffer on the device: arrays that overlap share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first byte.
    pub start: u64,
    /// The first byte after it.
    pub end: u64,
    /// Whether an array in it may be written.
    pub is_writable: bool,
    /// The names of its arrays.
    pub name: String,
    /// Its first byte on the device.
    pub device: u64,
}

impl Region {
    fn bytes(&self) -> usize {
        (self.end - self.start) as usize
    }
}

/// The memory of these arrays, in the order of addresses, and for each array the index of its
/// region. Regions do not overlap.
pub fn regions(views: &[ArrayView]) -> (Vec<Region>, Vec<usize>) {
    let mut order: Vec<usize> = (0..views.len()).collect();
    order.sort_by_key(|&index| (views[index].base_address, index));
    let mut regions: Vec<Region> = Vec::new();
    let mut region_of = vec![0; views.len()];
    for index in order {
        let view = &views[index];
        let start = view.base_address.min(view.address);
        let end = (view.base_address.saturating_add(view.base_nbytes))
            .max(view.address.saturating_add(view.nbytes));
        match regions.last_mut() {
            Some(last) if start < last.end || (start, end) == (last.start, last.end) => {
                last.end = last.end.max(end);
                last.is_writable |= view.writable;
                join(&mut last.name, &view.name);
            }
            _ => regions.push(Region {
                start,
                end,
                is_writable: view.writable,
                name: view.name.clone(),
                device: 0,
            }),
        }
        region_of[index] = regions.len() - 1;
    }
    (regions, region_of)
}

/// Adds a name to a list of names, once.
pub fn join(names: &mut String, name: &str) {
    if !names.split(" / ").any(|known| known == name) {
        names.push_str(" / ");
        names.push_str(name);
    }
}

/// Buffers of the device for memory of the process. They stay for later launches, so that the model
/// of the caches finds the same data at the same addresses.
#[derive(Debug, Default)]
pub struct Buffers {
    /// By first address and bytes.
    known: HashMap<(u64, u64), Buffer>,
    launches: u64,
}

#[derive(Clone, Copy, Debug)]
struct Buffer {
    device: u64,
    /// The last launch that used it.
    used: u64,
}

/// A buffer that this many launches did not use is freed: its array is likely gone.
const KEPT_LAUNCHES: u64 = 64;
/// Vector instructions of PTX access up to 16 bytes at a multiple of their size: addresses of the
/// device are equal to those of the process up to this.
const ALIGNMENT: u64 = 16;

impl Buffers {
    /// Finds or makes a buffer for each region, and sets where it is. A launch begins.
    ///
    /// # Errors
    /// If the device has too little memory, also without the buffers of earlier launches.
    pub fn place(
        &mut self,
        device: &mut Device,
        regions: &mut [Region],
    ) -> Result<(), DeviceError> {
        self.launches += 1;
        let oldest = self.launches.saturating_sub(KEPT_LAUNCHES);
        self.free(device, |buffer| buffer.used < oldest);
        for region in regions {
            let size = region.end - region.start;
            let key = (region.start, size);
            let shift = region.start % ALIGNMENT;
            let begin = match self.known.get(&key) {
                Some(buffer) => buffer.device,
                None => {
                    let mut taken = device.allocate(&region.name, size + shift);
                    if taken.is_err() {
                        let launch = self.launches;
                        self.free(device, |buffer| buffer.used < launch);
                        taken = device.allocate(&region.name, size + shift);
                    }
                    taken?
                }
            };
            let used = self.launches;
            self.known.insert(
                key,
                Buffer {
                    device: begin,
                    used,
                },
            );
            device.rename(begin, &region.name);
            region.device = begin + shift;
        }
        Ok(())
    }

    fn free(&mut self, device: &mut Device, is_free: impl Fn(&Buffer) -> bool) {
        self.known.retain(|_, buffer| {
            let stays = !is_free(buffer);
            if !stays {
                device.free(buffer.device);
            }
            stays
        });
    }
}

/// Bytes that are compared, and copied if they differ.
const CHUNK: usize = 4096;

/// Copies a region to its buffer.
///
/// # Safety
/// The region's bytes are readable memory of this process.
pub unsafe fn copy_in(device: &mut Device, region: &Region) -> Result<(), DeviceError> {
    let bytes = region.bytes();
    if bytes > 0 {
        let to = device.bytes_mut(region.device, bytes as u64)?;
        // SAFETY: the caller's; `to` has as many bytes, and is the device's own.
        unsafe { std::ptr::copy_nonoverlapping(region.start as *const u8, to.as_mut_ptr(), bytes) };
    }
    Ok(())
}

/// Copies the bytes of a region that the kernel changed back. Returns whether that was possible:
/// not if the region is read-only and has changed.
///
/// # Safety
/// The region's bytes are memory of this process, writable if the region is.
pub unsafe fn copy_out(device: &Device, region: &Region) -> Result<bool, DeviceError> {
    if region.bytes() == 0 {
        return Ok(true);
    }
    let from = device.read(region.device, region.bytes() as u64)?;
    for (index, chunk) in from.chunks(CHUNK).enumerate() {
        let there = (region.start as usize + index * CHUNK) as *mut u8;
        // SAFETY: the caller's: the chunk is a part of the region.
        let is_same = unsafe { std::slice::from_raw_parts(there, chunk.len()) } == chunk;
        if is_same {
            continue;
        }
        if !region.is_writable {
            return Ok(false);
        }
        // SAFETY: as above; `chunk` is the device's own memory.
        unsafe { std::ptr::copy_nonoverlapping(chunk.as_ptr(), there, chunk.len()) };
    }
    Ok(true)
}
