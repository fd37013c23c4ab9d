//! [`Overlay`]: the pages of device memory that a block has written. The block reads its own writes
//! at once; others see them after [`apply`], when the block has ended.
//!
//! So blocks that run at the same time cannot get into each other's way, on any number of threads,
//! and memory that they share is only read.

use super::device_memory::{PAGE, PAGE_BITS};

/// A page as a block left it.
#[derive(Clone, Debug)]
pub struct Patch {
    page: u32,
    bytes: [u8; PAGE],
    /// Which bytes differ from what the block found.
    changed: [u64; PAGE / 64],
}

/// Pages that a block has written.
#[derive(Debug, Default)]
pub struct Overlay {
    /// For each page of memory the number of its copy, from 1; 0 for pages without.
    table: Vec<u32>,
    copies: Vec<[u8; PAGE]>,
    /// The page of each copy.
    pages: Vec<u32>,
}

impl Overlay {
    /// Makes room for memory of this size.
    pub fn fit(&mut self, bytes: usize) {
        self.table.resize(bytes / PAGE, 0);
    }

    /// `size` bytes at `offset` that are in one page or in pages that have not been written, if so.
    #[inline(always)]
    pub fn run<'a>(&'a self, base: &'a [u8], offset: usize, size: usize) -> Option<&'a [u8]> {
        let (first, last) = (offset >> PAGE_BITS, (offset + size - 1) >> PAGE_BITS);
        let copy = self.table[first];
        if copy | self.table[last] == 0 {
            return base.get(offset..offset + size);
        }
        if first != last {
            return None;
        }
        self.copies[copy as usize - 1].get(offset % PAGE..offset % PAGE + size)
    }

    /// `N` bytes that are in one page.
    #[inline(always)]
    pub fn read<const N: usize>(&self, base: &[u8], offset: usize) -> [u8; N] {
        let copy = self.table[offset >> PAGE_BITS];
        let bytes = if copy == 0 {
            &base[offset..offset + N]
        } else {
            &self.copies[copy as usize - 1][offset % PAGE..offset % PAGE + N]
        };
        bytes.try_into().unwrap_or([0; N])
    }

    /// Whether nothing has been written.
    #[inline(always)]
    pub fn is_clean(&self) -> bool {
        self.pages.is_empty()
    }

    /// The page of a byte, to be written.
    #[inline(always)]
    pub fn page(&mut self, base: &[u8], offset: usize) -> &mut [u8; PAGE] {
        let page = offset >> PAGE_BITS;
        let mut copy = self.table[page] as usize;
        if copy == 0 {
            copy = self.add(base, page);
        }
        &mut self.copies[copy - 1]
    }

    #[inline(never)]
    fn add(&mut self, base: &[u8], page: usize) -> usize {
        let mut bytes = [0; PAGE];
        bytes.copy_from_slice(&base[page << PAGE_BITS..][..PAGE]);
        self.copies.push(bytes);
        self.pages.push(page as u32);
        self.table[page] = self.copies.len() as u32;
        self.copies.len()
    }

    /// Writes bytes, which may are in several pages.
    #[inline(always)]
    pub fn write(&mut self, base: &[u8], offset: usize, bytes: &[u8]) {
        let within = offset % PAGE;
        if within + bytes.len() <= PAGE {
            self.page(base, offset)[within..within + bytes.len()].copy_from_slice(bytes);
            return;
        }
        let (head, rest) = bytes.split_at(PAGE - within);
        self.page(base, offset)[within..].copy_from_slice(head);
        self.write_rest(base, offset + head.len(), rest);
    }

    #[inline(never)]
    fn write_rest(&mut self, base: &[u8], offset: usize, bytes: &[u8]) {
        let mut at = offset;
        for piece in bytes.chunks(PAGE) {
            self.page(base, at)[..piece.len()].copy_from_slice(piece);
            at += piece.len();
        }
    }

    /// What has changed; the overlay is clean then.
    pub fn take(&mut self, base: &[u8]) -> Vec<Patch> {
        let mut patches = Vec::with_capacity(self.pages.len());
        for (&page, bytes) in self.pages.iter().zip(&self.copies) {
            let before = &base[(page as usize) << PAGE_BITS..][..PAGE];
            let mut changed = [0; PAGE / 64];
            for (index, word) in changed.iter_mut().enumerate() {
                for bit in 0..64 {
                    let byte = index * 64 + bit;
                    *word |= u64::from(bytes[byte] != before[byte]) << bit;
                }
            }
            if changed != [0; PAGE / 64] {
                patches.push(Patch {
                    page,
                    bytes: *bytes,
                    changed,
                });
            }
        }
        self.clear();
        patches
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        for &page in &self.pages {
            self.table[page as usize] = 0;
        }
        self.pages.clear();
        self.copies.clear();
    }
}

/// Writes what blocks have changed into memory.
pub fn apply(patches: &[Patch], memory: &mut [u8]) {
    for patch in patches {
        let page = &mut memory[(patch.page as usize) << PAGE_BITS..][..PAGE];
        for (byte, (old, new)) in page.iter_mut().zip(patch.bytes).enumerate() {
            if patch.changed[byte / 64] >> (byte % 64) & 1 != 0 {
                *old = new;
            }
        }
    }
}
