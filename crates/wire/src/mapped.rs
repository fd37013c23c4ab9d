//! [`MappedSegment`]: a segment that is mapped into the calling process, with a method for each of
//! its parts. Producers and the consumer use it. It has the only unsafe code of this crate.
//!
//! The methods return references to atomics with the lifetime `'static`: a mapped segment is never
//! unmapped. What is written there may be anything, for a measured program can write over it.

use core::ptr::NonNull;
use core::sync::atomic::Ordering;

use crate::{
    BLOCK_BYTES, BLOCKS, BLOCKS_OFFSET, BlockHeader, ControlStage, HEADER_BYTES, Header, MAGIC,
    MARKS_OFFSET, Marks, SLOTS, STAGES_OFFSET, Slot, VERSION,
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

    /// Whether the header has the magic number and the version of this build.
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

    /// The stage of slot `index`, which must be below [`SLOTS`]. The stage's gate is not atomic:
    /// only the slot's own thread may write to it.
    #[inline]
    pub fn stage(self, index: usize) -> NonNull<ControlStage> {
        assert!(index < SLOTS);
        // SAFETY: in bounds of the mapping.
        unsafe {
            self.base
                .add(STAGES_OFFSET)
                .cast::<ControlStage>()
                .add(index)
        }
    }

    /// Address of block `index`. It is a block's only if `index` is below [`BLOCKS`].
    #[inline]
    pub fn block_address(self, index: u32) -> u64 {
        self.base.as_ptr() as u64 + BLOCKS_OFFSET as u64 + u64::from(index) * BLOCK_BYTES as u64
    }

    /// Header of block `index`, which must be below [`BLOCKS`]. Numbers from the pool are; numbers
    /// read from shared memory must be checked first.
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
        // SAFETY: the layout is not empty; the memory is all zero, nobody frees it, and from the
        // next block border on it is as long as a segment.
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
        assert!(end_of(stage, size_of::<ControlStage>()) <= BLOCKS_OFFSET);
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
    fn segment_of_another_version_is_refused() {
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
