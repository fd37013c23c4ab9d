//! Large zeroed arrays, on huge pages where the system has them. Miri maps memory, and knows none
//! of the hints and requests about it.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};

use memmap2::MmapMut;

use crate::exhausted::refused;

/// Types of which all bytes zero is a value, and that need no drop.
///
/// # Safety
/// The implementing type must be valid when all of its bytes are zero, hold no references, and have
/// an alignment of at most a page.
pub unsafe trait Zeroable: Copy {}

// SAFETY: plain numbers.
unsafe impl Zeroable for u16 {}
// SAFETY: plain numbers.
unsafe impl Zeroable for u32 {}
// SAFETY: plain numbers.
unsafe impl Zeroable for u64 {}
// SAFETY: an array of such values.
unsafe impl<T: Zeroable, const N: usize> Zeroable for [T; N] {}

/// Bytes that are given back at once: two of the largest pages that are common. Under Miri, which
/// takes a second for some MiB, so few that tests have several.
pub const PIECE: usize = if cfg!(miri) { 12 << 10 } else { 4 << 20 };
/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;
/// Bytes of an array from which on it may end with a huge page.
const SEVERAL: usize = 8 * HUGE_PAGE;

/// A slice of zeros to begin with, whose memory comes page by page as it is first touched.
///
/// The processor finds the pages of a table that is walked at random in a cache of its own, which
/// on pages of 4 KiB is far too small: with pages of 2 MiB a random access is a third faster.
///
/// An array of at least a huge page begins with one, and one of several ends with one if its values
/// fill half of that: it takes up to 1 MiB more than they do.
pub struct Huge<T> {
    map: Option<MmapMut>,
    /// Bytes of the map before the first value.
    ahead: usize,
    len: usize,
    what: PhantomData<T>,
}

impl<T: Zeroable> Huge<T> {
    /// `len` zeros.
    ///
    /// # Panics
    /// If the system refuses the address space, it unwinds to the next [`catch`](crate::catch).
    pub fn new(len: usize) -> Self {
        let bytes = len.checked_mul(size_of::<T>());
        let bytes = bytes.unwrap_or_else(|| refused(usize::MAX));
        let map = (bytes > 0).then(|| mapped(bytes).unwrap_or_else(|| refused(bytes)));
        let (map, ahead) = map.unzip();
        Huge {
            map,
            ahead: ahead.unwrap_or(0),
            len,
            what: PhantomData,
        }
    }

    /// Asks for the memory of these elements at once, for who will touch them all, in no order.
    /// Left to itself a page that is read before it is written is made twice, and the second time
    /// all processors of the program have to forget the first. Where the system cannot be asked,
    /// memory comes page by page.
    ///
    /// # Panics
    /// If the range is not within the array.
    pub fn make_ready(&mut self, range: Range<usize>) {
        let bytes = size_of_val(&self[range.clone()]);
        #[cfg(all(target_os = "linux", not(miri)))]
        if let Some(map) = &self.map {
            let start = self.ahead + range.start * size_of::<T>();
            // Only a hint.
            let _ = map.advise_range(memmap2::Advice::PopulateWrite, start, bytes);
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        let _ = bytes;
    }

    /// As long as `len`, the new places zeros. Nothing happens if it is that long already.
    ///
    /// Cost: a copy of what there is. Memory: what is copied is given back meanwhile, so the most
    /// that is held is what is held in the end, and a few MiB.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn lengthen(&mut self, len: usize) {
        if len <= self.len {
            return;
        }
        let old = std::mem::replace(self, Huge::new(len));
        let mut at = 0;
        old.into_pieces(|piece| {
            let whole: &mut [T] = self;
            whole[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        });
    }

    /// Shows all of it, piece after piece, and gives the memory of each back to the system after it
    /// was shown: for what moves to another place. All pieces but the last have [`PIECE`] bytes, or
    /// whole elements of nearly that many.
    pub fn into_pieces(mut self, mut show: impl FnMut(&[T])) {
        let step = (PIECE / size_of::<T>().max(1)).max(1);
        for start in (0..self.len).step_by(step) {
            let end = (start + step).min(self.len);
            show(&self[start..end]);
            self.give_back(start..end);
        }
    }

    /// Gives the pages of the range back, and those before it that end in it: elements up to the
    /// end of the range are what they were, or zeros. Where the system does not do that, nothing
    /// happens.
    fn give_back(&mut self, range: Range<usize>) {
        #[cfg(all(target_os = "linux", not(miri)))]
        if let Some(map) = &mut self.map {
            let Range { start, end } =
                given_back(range.start * size_of::<T>()..range.end * size_of::<T>());
            if start < end {
                // SAFETY: the map is private and of no file, so pages given back read as zeros, of
                // which any `T` can be made; and `self` is borrowed for writing, so nobody looks
                // meanwhile.
                let given = unsafe {
                    map.unchecked_advise_range(
                        memmap2::UncheckedAdvice::DontNeed,
                        self.ahead + start,
                        end - start,
                    )
                };
                // Refused, as it may be on larger pages, it only costs memory.
                let _ = given;
            }
        }
        #[cfg(not(all(target_os = "linux", not(miri))))]
        let _ = range;
    }

    /// The bytes of the values.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

/// Memory for so many bytes, on huge pages if it is large, and those before the first of them;
/// `None` if the system has none.
fn mapped(bytes: usize) -> Option<(MmapMut, usize)> {
    let whole = if bytes < SEVERAL || bytes % HUGE_PAGE < HUGE_PAGE / 2 {
        Some(bytes)
    } else {
        bytes.checked_next_multiple_of(HUGE_PAGE)
    };
    let slack = if bytes < HUGE_PAGE { 0 } else { HUGE_PAGE };
    let room = whole.and_then(|whole| whole.checked_add(slack));
    let map = MmapMut::map_anon(room?).ok()?;
    // Only a hint: where it is refused, the pages are small.
    #[cfg(all(target_os = "linux", not(miri)))]
    let _ = map.advise(memmap2::Advice::HugePage);
    let ahead = map.as_ptr().align_offset(HUGE_PAGE);
    let ahead = if ahead < slack { ahead } else { 0 };
    Some((map, ahead))
}

/// The bytes to give back when those of this range were shown, and all before them: of whole pages,
/// whatever the size of a page is, since the system rounds the end of a range up to one. The page
/// that begins in what was shown before is among them, for otherwise a small one would stay at each
/// end, and a huge one with it.
fn given_back(shown: Range<usize>) -> Range<usize> {
    /// The largest pages that any system calls its own.
    const PAGE: usize = 1 << 16;
    shown.start & !(PAGE - 1)..shown.end & !(PAGE - 1)
}

impl<T: Zeroable> Default for Huge<T> {
    fn default() -> Self {
        Huge {
            map: None,
            ahead: 0,
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
            // SAFETY: the map has `len * size_of::<T>()` bytes behind the first `ahead`, begins at
            // a page, as they do, which is enough for the alignment of a `Zeroable`, lives as long
            // as `self`, and holds values of `T`: zeros to begin with, which are some, and then
            // what was written through this type.
            Some(map) => unsafe {
                std::slice::from_raw_parts(map.as_ptr().add(self.ahead).cast(), self.len)
            },
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
                std::slice::from_raw_parts_mut(map.as_mut_ptr().add(self.ahead).cast(), self.len)
            },
            None => &mut [],
        }
    }
}

/// Room for so many more values, as `Vec::reserve` makes it, but on huge pages where the system has
/// them: for tables that grow and are touched at random. Cost: a copy of all values when there is
/// no room, which at least doubles it then.
///
/// # Panics
/// If there is no memory, it unwinds to the next [`catch`](crate::catch); the values are as they
/// were.
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
    let mut moved = Vec::new();
    if moved.try_reserve_exact(room).is_err() {
        refused(room.saturating_mul(size_of::<T>()));
    }
    ask_for_huge_pages(&mut moved);
    moved.append(values);
    *values = moved;
}

/// Asks for huge pages under the memory of values, of which none was touched yet; of no effect if
/// that is small.
#[cfg(all(target_os = "linux", not(miri)))]
fn ask_for_huge_pages<T>(values: &mut Vec<T>) {
    const PAGE: usize = 4096;
    let room = values.spare_capacity_mut();
    let bytes = size_of_val(room);
    if bytes < HUGE_PAGE {
        return;
    }
    let begin = room.as_mut_ptr().cast::<u8>();
    let ahead = begin.align_offset(PAGE);
    let whole = bytes.saturating_sub(ahead) / PAGE * PAGE;
    // SAFETY: whole pages that lie in memory that is borrowed for writing. The advice changes none
    // of it, and where it is refused the pages are small.
    unsafe {
        libc::madvise(begin.add(ahead).cast(), whole, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn ask_for_huge_pages<T>(_values: &mut Vec<T>) {}

#[cfg(test)]
mod tests;
