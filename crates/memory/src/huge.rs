//! Large zeroed arrays, on huge pages where the system has them.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// Types of which all bytes zero is a value, and that need no drop.
///
/// # Safety
/// The implementing type must be valid when all of its bytes are zero, hold no references, and have an
/// alignment of at most a page.
pub unsafe trait Zeroable: Copy {}

// SAFETY: plain numbers.
unsafe impl Zeroable for u16 {}
// SAFETY: plain numbers.
unsafe impl Zeroable for u32 {}
// SAFETY: plain numbers.
unsafe impl Zeroable for u64 {}
// SAFETY: an array of such values.
unsafe impl<T: Zeroable, const N: usize> Zeroable for [T; N] {}

/// A slice of zeros to begin with, whose memory comes page by page as it is first touched.
///
/// The processor finds the pages of a table that is walked at random in a cache of its own, which on
/// pages of 4 KiB is far too small: with pages of 2 MiB a random access is a third faster.
pub struct Huge<T> {
    map: Option<MmapMut>,
    len: usize,
    what: PhantomData<T>,
}

impl<T: Zeroable> Huge<T> {
    /// `len` zeros.
    ///
    /// # Panics
    /// If the system refuses the address space, as an allocation would.
    pub fn new(len: usize) -> Self {
        let bytes = len.checked_mul(size_of::<T>());
        let map = bytes.filter(|bytes| *bytes > 0).map(|bytes| {
            let map = MmapMut::map_anon(bytes).expect("memory for the engine");
            // Only a hint: where it is refused, the pages are small.
            #[cfg(target_os = "linux")]
            let _ = map.advise(memmap2::Advice::HugePage);
            map
        });
        assert!(map.is_some() || len == 0, "memory for the engine");
        Huge {
            map,
            len,
            what: PhantomData,
        }
    }

    /// The bytes of address space.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl<T: Zeroable> Default for Huge<T> {
    fn default() -> Self {
        Huge {
            map: None,
            len: 0,
            what: PhantomData,
        }
    }
}

impl<T: Zeroable> Clone for Huge<T> {
    fn clone(&self) -> Self {
        let mut clone = Huge::new(self.len);
        clone.copy_from_slice(self);
        clone
    }
}

impl<T: Zeroable> Deref for Huge<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.map {
            // SAFETY: the map has `len * size_of::<T>()` bytes, begins at a page, which is enough for the
            // alignment of a `Zeroable`, lives as long as `self`, and holds values of `T`: zeros to begin
            // with, which are some, and then what was written through this type.
            Some(map) => unsafe { std::slice::from_raw_parts(map.as_ptr().cast(), self.len) },
            None => &[],
        }
    }
}

impl<T: Zeroable> DerefMut for Huge<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.map {
            // SAFETY: as above, and `self` is borrowed for writing.
            Some(map) => unsafe {
                std::slice::from_raw_parts_mut(map.as_mut_ptr().cast(), self.len)
            },
            None => &mut [],
        }
    }
}

/// Room for so many more values, as `Vec::reserve` makes it, but on huge pages where the system has them: for tables that grow
/// and are touched at random. Cost: a copy of all values when there is no room, which at least doubles it then.
#[inline(always)]
pub fn reserve<T>(values: &mut Vec<T>, more: usize) {
    if values.capacity() - values.len() < more {
        move_to_more(values, more);
    }
}

#[cold]
#[inline(never)]
fn move_to_more<T>(values: &mut Vec<T>, more: usize) {
    let needed = values.len().saturating_add(more);
    let room = needed.max(values.capacity().saturating_mul(2));
    let mut moved = Vec::with_capacity(room);
    ask_for_huge_pages(&mut moved);
    moved.append(values);
    *values = moved;
}

/// Asks for huge pages under the memory of values, of which none was touched yet; of no effect if that is small.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages<T>(values: &mut Vec<T>) {
    const PAGE: usize = 4096;
    const WORTH: usize = 2 << 20;
    let room = values.spare_capacity_mut();
    let bytes = size_of_val(room);
    if bytes < WORTH {
        return;
    }
    let begin = room.as_mut_ptr().cast::<u8>();
    let ahead = begin.align_offset(PAGE);
    let whole = bytes.saturating_sub(ahead) / PAGE * PAGE;
    // SAFETY: whole pages that lie in memory that is borrowed for writing. The advice changes none of it, and
    // where it is refused the pages are small.
    unsafe {
        libc::madvise(begin.add(ahead).cast(), whole, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages<T>(_values: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_where_room_is_made() {
        let mut values: Vec<u64> = Vec::new();
        for value in 0..1_000_000 {
            reserve(&mut values, 1);
            let room = values.capacity();
            values.push(value);
            assert_eq!(values.capacity(), room);
        }
        assert!(values.iter().copied().eq(0..1_000_000));
        assert!(values.capacity() <= 1 << 20);
        reserve(&mut values, 3_000_000);
        assert!(values.capacity() >= 4_000_000 && values.len() == 1_000_000);
        let mut nothing: Vec<()> = vec![(); 3];
        reserve(&mut nothing, 5);
        assert_eq!(nothing.len(), 3);
    }

    #[test]
    fn zeros_that_can_be_written_and_copied() {
        for len in [0, 1, 1000, 1 << 20] {
            let mut huge: Huge<[u32; 3]> = Huge::new(len);
            assert_eq!((huge.len(), huge.bytes()), (len, len * 12));
            assert!(huge.iter().all(|value| *value == [0; 3]));
            if let Some(last) = huge.last_mut() {
                *last = [1, 2, 3];
            }
            let copy = huge.clone();
            assert_eq!(copy[..], huge[..]);
            assert_eq!(copy.last().map(|last| last[2]), (len > 0).then_some(3));
        }
        assert!(Huge::<u64>::default().is_empty());
    }
}
