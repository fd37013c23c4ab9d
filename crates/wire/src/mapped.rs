//! A segment in the memory of a process: where its parts are. The only unsafe code of this crate.

use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use crate::{
    BLOCK_BYTES, BLOCKS, BLOCKS_OFFSET, BlockHeader, HEADER_BYTES, Header, MAGIC, MARKS_OFFSET,
    Marks, SLOTS, STAGES_OFFSET, Slot, Stage, VERSION,
};

/// A segment that is mapped into this process, and stays so until the process ends.
#[derive(Clone, Copy, Debug)]
pub struct MappedSegment {
    base: NonNull<u8>,
}

// SAFETY: all fields that the mapping is read and written by are atomic.
unsafe impl Send for MappedSegment {}
// SAFETY: as above.
unsafe impl Sync for MappedSegment {}

impl MappedSegment {
    /// The segment at `base`.
    ///
    /// # Safety
    /// [`SEGMENT_BYTES`](crate::SEGMENT_BYTES) are mapped there, to be read and written, at a
    /// multiple of the page size. They stay mapped as long as anything that this value hands out is
    /// used. They are a segment, or all zero.
    #[inline]
    pub const unsafe fn new(base: NonNull<u8>) -> MappedSegment {
        MappedSegment { base }
    }

    /// The header.
    #[inline]
    pub fn header(self) -> &'static Header {
        // SAFETY: a segment starts with its header. All its fields are atomic, and any bytes are
        // one.
        unsafe { self.base.cast().as_ref() }
    }

    /// Whether this is a segment of this version of reuselens.
    pub fn is_ours(self) -> bool {
        let header = self.header();
        header.magic.load(Ordering::Acquire) == MAGIC
            && header.version.load(Ordering::Relaxed) == VERSION
    }

    /// Slot `index`, which must be below [`SLOTS`].
    #[inline]
    pub fn slot(self, index: usize) -> &'static Slot {
        assert!(index < SLOTS);
        // SAFETY: the slots follow the header, and this is one of them. All its fields are atomic.
        unsafe {
            self.base
                .add(HEADER_BYTES)
                .cast::<Slot>()
                .add(index)
                .as_ref()
        }
    }

    /// Where slot `index` has its stage; `index` must be below [`SLOTS`]. Its gate is not atomic:
    /// only the slot's own thread may write to it.
    #[inline]
    pub fn stage(self, index: usize) -> NonNull<Stage> {
        assert!(index < SLOTS);
        // SAFETY: in bounds of the mapping.
        unsafe { self.base.add(STAGES_OFFSET).cast::<Stage>().add(index) }
    }

    /// Address of block `index`. There is a block only if `index` is below [`BLOCKS`].
    #[inline]
    pub fn block_address(self, index: u32) -> u64 {
        self.base.as_ptr() as u64 + BLOCKS_OFFSET as u64 + u64::from(index) * BLOCK_BYTES as u64
    }

    /// Header of block `index`, which must be below [`BLOCKS`]: the pool hands out no other, and
    /// what comes from shared memory is to be checked first.
    #[inline]
    pub fn block(self, index: u32) -> &'static BlockHeader {
        assert!((index as usize) < BLOCKS);
        // SAFETY: in bounds of the mapping; a block starts with its header. All fields are atomic.
        unsafe {
            let offset = BLOCKS_OFFSET + index as usize * BLOCK_BYTES;
            self.base.add(offset).cast().as_ref()
        }
    }

    /// The marks of block `index`, as for [`MappedSegment::block`].
    #[inline]
    pub fn marks(self, index: u32) -> &'static Marks {
        assert!((index as usize) < BLOCKS);
        // SAFETY: in bounds of the mapping. All fields are atomic.
        unsafe {
            let marks = self.base.add(MARKS_OFFSET).cast::<Marks>();
            marks.add(index as usize).as_ref()
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    extern crate std;
    use std::alloc::{Layout, alloc_zeroed};

    use crate::SEGMENT_BYTES;

    /// A new segment in memory of this process, which is never given back.
    pub(crate) fn segment() -> MappedSegment {
        // Aligned by hand: with a larger alignment in the layout the allocator would write all
        // zeros.
        let layout = Layout::from_size_align(SEGMENT_BYTES + BLOCK_BYTES, 8).unwrap();
        // SAFETY: the layout is not empty; the memory is all zero, nobody frees it, and behind the
        // next block's border there is as much as a segment needs.
        let segment = unsafe {
            let start = NonNull::new(alloc_zeroed(layout)).unwrap();
            MappedSegment::new(start.add(start.as_ptr().align_offset(BLOCK_BYTES)))
        };
        segment.header().queue.init();
        segment
    }

    #[test]
    fn parts_of_a_segment_do_not_overlap() {
        let segment = segment();
        let base = core::ptr::from_ref(segment.header()) as usize;
        let end_of = |start: usize, bytes: usize| start - base + bytes;
        let slot = core::ptr::from_ref(segment.slot(SLOTS - 1)) as usize;
        assert!(end_of(base, size_of::<Header>()) <= HEADER_BYTES);
        assert_eq!(end_of(slot, size_of::<Slot>()), STAGES_OFFSET);
        let stage = segment.stage(SLOTS - 1).as_ptr() as usize;
        assert!(end_of(stage, size_of::<Stage>()) <= BLOCKS_OFFSET);
        let block = segment.block_address(BLOCKS as u32 - 1) as usize;
        let header = segment.block(BLOCKS as u32 - 1);
        assert_eq!(core::ptr::from_ref(header) as usize, block);
        assert_eq!(end_of(block, BLOCK_BYTES), crate::DICTIONARY_OFFSET);
        let marks = core::ptr::from_ref(segment.marks(BLOCKS as u32 - 1)) as usize;
        assert_eq!(end_of(marks, size_of::<Marks>()), SEGMENT_BYTES);
    }

    #[test]
    #[should_panic(expected = "index < SLOTS")]
    fn slot_beyond_the_last_is_refused() {
        segment().slot(SLOTS);
    }

    #[test]
    fn only_this_version_is_ours() {
        let segment = segment();
        let header = segment.header();
        assert!(!segment.is_ours());
        header.magic.store(MAGIC, Ordering::Relaxed);
        header.version.store(VERSION - 1, Ordering::Relaxed);
        assert!(!segment.is_ours());
        header.version.store(VERSION, Ordering::Relaxed);
        assert!(segment.is_ours());
    }
}
