//! Large zeroed arrays, on huge pages where the system has them.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};

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

/// Bytes that are given back at once: two of the largest pages that are common.
pub const PIECE: usize = 4 << 20;

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

    /// As long as `len`, the new places zeros. Nothing happens if it is that long already.
    ///
    /// Cost: a copy of what there is. Memory: what is copied is given back meanwhile, so the most that is held is what
    /// is held in the end, and a few MiB.
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

    /// Shows all of it, piece after piece, and gives the memory of each back to the system after it was shown: for
    /// what moves to another place. All pieces but the last have [`PIECE`] bytes, or whole elements of nearly that many.
    pub fn into_pieces(mut self, mut show: impl FnMut(&[T])) {
        let step = (PIECE / size_of::<T>().max(1)).max(1);
        for start in (0..self.len).step_by(step) {
            let end = (start + step).min(self.len);
            show(&self[start..end]);
            self.give_back(start..end);
        }
    }

    /// Gives the pages of the range back, and those before it that end in it: elements up to the end of the range are what
    /// they were, or zeros. Where the system does not do that, nothing happens.
    fn give_back(&mut self, range: Range<usize>) {
        #[cfg(target_os = "linux")]
        if let Some(map) = &mut self.map {
            let Range { start, end } =
                given_back(range.start * size_of::<T>()..range.end * size_of::<T>());
            if start < end {
                // SAFETY: the map is private and of no file, so pages given back read as zeros, of which any `T` can
                // be made; and `self` is borrowed for writing, so nobody looks meanwhile.
                let given = unsafe {
                    map.unchecked_advise_range(
                        memmap2::UncheckedAdvice::DontNeed,
                        start,
                        end - start,
                    )
                };
                // Refused, as it may be on larger pages, it only costs memory.
                let _ = given;
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = range;
    }

    /// The bytes of address space.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

/// The bytes to give back when those of this range were shown, and all before them: of whole pages, whatever the size of
/// a page is, since the system rounds the end of a range up to one. The page that begins in what was shown before is
/// among them, for otherwise a small one would stay at each end, and a huge one with it.
fn given_back(shown: Range<usize>) -> Range<usize> {
    /// The largest pages that any system calls its own.
    const PAGE: usize = 1 << 16;
    shown.start & !(PAGE - 1)..shown.end & !(PAGE - 1)
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

    #[test]
    fn nothing_is_lost_on_the_way() {
        for len in [0, 1, 1000, PIECE / 12, 3 * PIECE / 12 + 5] {
            let mut huge: Huge<[u32; 3]> = Huge::new(len);
            let value = |at: usize| [at as u32, !(at as u32), 7];
            for (at, place) in huge.iter_mut().enumerate() {
                *place = value(at);
            }
            huge.lengthen(len / 2);
            assert_eq!(huge.len(), len);
            huge.lengthen(2 * len + 3);
            assert_eq!(huge.len(), 2 * len + 3);
            assert!((0..len).all(|at| huge[at] == value(at)));
            assert!(huge[len..].iter().all(|place| *place == [0; 3]));
            let mut at = 0;
            huge.into_pieces(|piece| {
                assert!(size_of_val(piece) <= PIECE);
                let expected = |at| if at < len { value(at) } else { [0; 3] };
                assert!((at..).zip(piece).all(|(at, place)| *place == expected(at)));
                at += piece.len();
            });
            assert_eq!(at, 2 * len + 3);
        }
    }

    /// Whatever the size of a page of memory is, and the system rounds ends of ranges up to one: nothing that was not
    /// shown is given back.
    #[test]
    fn only_what_was_shown_is_given_back() {
        let step = PIECE / 12 * 12;
        let mut given = 0;
        for end in [
            step,
            2 * step,
            3 * step,
            3 * step + 70_000,
            3 * step + 70_012,
        ] {
            let range = given_back(end.saturating_sub(step)..end);
            for page in [1 << 12, 1 << 14, 1 << 16] {
                assert!(
                    range.end.next_multiple_of(page) <= end,
                    "{range:?} of {end}"
                );
            }
            assert!(range.start <= given, "a page between two pieces stays");
            assert!(end - range.end < 1 << 16);
            given = range.end;
        }
    }

    /// Bytes of the pages of this range that are there, by what the system says of each. `None` if it says nothing.
    #[cfg(target_os = "linux")]
    fn resident(start: *const u64, bytes: usize) -> Option<usize> {
        use std::os::unix::fs::FileExt;
        const PAGE: usize = 1 << 12;
        let mut entries = vec![0; bytes / PAGE * 8];
        let pages = std::fs::File::open("/proc/self/pagemap").ok()?;
        let first = start.addr() / PAGE * 8;
        pages.read_exact_at(&mut entries, first as u64).ok()?;
        // The highest bit of each says that it is there.
        let there = entries.chunks(8).filter(|entry| entry[7] & 0x80 != 0);
        Some(there.count() * PAGE)
    }

    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn what_was_moved_is_given_back() {
        let mut huge: Huge<u64> = Huge::new(16 * PIECE / 8);
        huge.fill(1);
        let start = huge.as_ptr();
        let Some(before) = resident(start, 16 * PIECE) else {
            eprintln!("not shown: the system does not say which pages are there");
            return;
        };
        assert_eq!(before, 16 * PIECE);
        let mut at = 0;
        huge.into_pieces(|piece| {
            assert!(piece.iter().all(|one| *one == 1));
            // All that is still to come, and of what was no more than a huge page that the system made anew.
            let left = resident(start, 16 * PIECE).unwrap();
            let to_come = 16 * PIECE - at;
            assert!((to_come..to_come + PIECE).contains(&left), "{left}");
            at += size_of_val(piece);
        });
    }
}
