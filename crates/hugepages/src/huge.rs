//! [`Huge`]: large zeroed arrays on huge pages, where the system has them; and [`reserve`], which
//! makes room in a `Vec` on such pages. Tables of the engines are of both kinds.
//!
//! Requests for huge pages, and giving memory back to the system, are hints: if they fail, only
//! time and memory are lost. Under Miri, which supports mappings but no hints, they are left out.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};

use memmap2::MmapMut;

use crate::exhausted::refused;

/// Types for which all bytes zero is a valid value, and that need no drop.
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
// SAFETY: plain numbers; all bytes zero are 0.0.
unsafe impl Zeroable for f32 {}
// SAFETY: an array of such values.
unsafe impl<T: Zeroable, const N: usize> Zeroable for [T; N] {}

/// Bytes that are given back at once: two huge pages. Under Miri, which takes a second for some
/// MiB, so few that tests have several pieces.
pub const PIECE: usize = if cfg!(miri) { 12 << 10 } else { 4 << 20 };
/// Bytes of a huge page.
const HUGE_PAGE: usize = 2 << 20;
/// The least bytes of an array that may end with a huge page.
const SEVERAL: usize = 8 * HUGE_PAGE;

/// An array that is zero at first, and takes memory page by page when it is first accessed.
///
/// At random accesses to a large table, the processor's cache of page addresses (TLB) is far too
/// small for pages of 4 KiB: with pages of 2 MiB a random access is a third faster.
///
/// An array of at least a huge page begins with one. An array of several ends with one if its
/// values fill half of that; it then takes up to 1 MiB more than its values.
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

    /// Requests the memory of these elements at once, for callers that will access all of them in
    /// random order. Otherwise a page that is read before it is written is mapped twice, and the
    /// second time all processors of the program must drop the first mapping from their TLBs. If
    /// the system does not support the request, memory is taken page by page.
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

    /// Makes the array longer, with zeros in the new places. Nothing happens if it is at least
    /// `len` long already.
    ///
    /// Cost: a copy of all values. Memory: copied parts are given back meanwhile, so it never takes
    /// more than a few MiB in addition to the new array.
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
            let all: &mut [T] = self;
            all[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        });
    }

    /// Passes all values to `show`, piece after piece, and gives the memory of each piece back to
    /// the system after that: for values that move elsewhere. All pieces but the last have
    /// [`PIECE`] bytes, rounded down to elements.
    pub fn into_pieces(mut self, mut show: impl FnMut(&[T])) {
        let step = (PIECE / size_of::<T>().max(1)).max(1);
        for start in (0..self.len).step_by(step) {
            let end = (start + step).min(self.len);
            show(&self[start..end]);
            self.give_back(start..end);
        }
    }

    /// Gives the pages of the range back, and a page before it that ends in it. After that,
    /// elements up to the end of the range are unchanged or zero. If the system does not support
    /// it, nothing happens.
    fn give_back(&mut self, range: Range<usize>) {
        #[cfg(all(target_os = "linux", not(miri)))]
        if let Some(map) = &mut self.map {
            let Range { start, end } =
                given_back(range.start * size_of::<T>()..range.end * size_of::<T>());
            if start < end {
                // SAFETY: the map is private and of no file, so pages given back read as zeros,
                // which are valid for `T`; and `self` is borrowed for writing, so no other
                // reference exists.
                let given = unsafe {
                    map.unchecked_advise_range(
                        memmap2::UncheckedAdvice::DontNeed,
                        self.ahead + start,
                        end - start,
                    )
                };
                // A refusal, as on larger pages, only costs memory.
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

/// A mapping for `bytes` bytes, on huge pages if it is large, and the offset of the first byte in
/// it; `None` if the system refuses.
fn mapped(bytes: usize) -> Option<(MmapMut, usize)> {
    let rounded = if bytes < SEVERAL || bytes % HUGE_PAGE < HUGE_PAGE / 2 {
        Some(bytes)
    } else {
        bytes.checked_next_multiple_of(HUGE_PAGE)
    };
    let slack = if bytes < HUGE_PAGE { 0 } else { HUGE_PAGE };
    let room = rounded.and_then(|rounded| rounded.checked_add(slack));
    let map = MmapMut::map_anon(room?).ok()?;
    // Only a hint: if it is refused, the pages are small.
    #[cfg(all(target_os = "linux", not(miri)))]
    let _ = map.advise(memmap2::Advice::HugePage);
    let ahead = map.as_ptr().align_offset(HUGE_PAGE);
    let ahead = if ahead < slack { ahead } else { 0 };
    Some((map, ahead))
}

/// The bytes to give back when those of this range, and all before them, are not needed any more.
/// Both ends are rounded down to the largest page size that any system has, because the system
/// rounds the end of a range up to a page. So the page that the range begins in is given back, too;
/// otherwise one small page would stay at each end, and with it a huge one.
fn given_back(shown: Range<usize>) -> Range<usize> {
    /// The largest size of a normal page on any system.
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
            // SAFETY: the map has `len * size_of::<T>()` bytes after the first `ahead`. Both begin
            // at a page, which is enough for the alignment of a `Zeroable`. The map lives as long
            // as `self`, and has values of `T`: zeros at first, which are valid, and then what was
            // written through this type.
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

/// Makes room for `more` more values, as `Vec::reserve` does, but on huge pages where the system
/// has them: for tables that grow and are accessed at random. Cost: a copy of all values if there
/// is not enough room, which is then at least doubled.
///
/// # Panics
/// If there is no memory, it unwinds to the next [`catch`](crate::catch); the values are unchanged.
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

/// Requests huge pages for the memory of values, of which none was accessed yet; no effect if that
/// is small.
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
    let in_pages = bytes.saturating_sub(ahead) / PAGE * PAGE;
    // SAFETY: complete pages in memory that is borrowed for writing. The advice does not change
    // their contents; if it is refused, the pages are small.
    unsafe {
        libc::madvise(begin.add(ahead).cast(), in_pages, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn ask_for_huge_pages<T>(_values: &mut Vec<T>) {}

#[cfg(test)]
mod tests;
