//! Tests of large arrays: their values, and which of their pages are in memory.

use super::*;

/// Values of a long array: fewer under Miri, which is thousands of times as slow.
const MANY: u64 = if cfg!(miri) { 5_000 } else { 1_000_000 };

#[test]
fn reserve_keeps_values_and_adds_room() {
    let mut values: Vec<u64> = Vec::new();
    for value in 0..MANY {
        reserve(&mut values, 1);
        let room = values.capacity();
        values.push(value);
        assert_eq!(values.capacity(), room);
    }
    let many = MANY as usize;
    assert!(values.iter().copied().eq(0..MANY));
    assert!(values.capacity() <= many.next_power_of_two());
    reserve(&mut values, 3 * many);
    assert!(values.capacity() >= 4 * many && values.len() == many);
    let mut nothing: Vec<()> = vec![(); 3];
    reserve(&mut nothing, 5);
    assert_eq!(nothing.len(), 3);
}

#[test]
fn new_array_is_zero_and_can_be_written_and_cloned() {
    for len in [0, 1, 1000, MANY.next_power_of_two() as usize] {
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
fn lengthen_and_into_pieces_keep_all_values() {
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

/// With any size of a page, to which the system rounds the end of a range up.
#[test]
fn given_back_has_no_page_with_later_values() {
    let step = PIECE.max(1 << 20) / 12 * 12;
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

/// Bytes of the pages of this range that are in memory; `None` if the system does not report that.
#[cfg(all(target_os = "linux", not(miri)))]
fn resident(start: *const u64, bytes: usize) -> Option<usize> {
    use std::os::unix::fs::FileExt;
    const PAGE: usize = 1 << 12;
    let mut entries = vec![0; bytes / PAGE * 8];
    let pages = std::fs::File::open("/proc/self/pagemap").ok()?;
    let first = start.addr() / PAGE * 8;
    pages.read_exact_at(&mut entries, first as u64).ok()?;
    // The highest bit of each entry is set if the page is in memory.
    let there = entries.chunks(8).filter(|entry| entry[7] & 0x80 != 0);
    Some(there.count() * PAGE)
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
fn into_pieces_gives_memory_back() {
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
        // All pieces that are still to come, and at most a huge page of earlier ones, which the
        // system has made again.
        let left = resident(start, 16 * PIECE).unwrap();
        let to_come = 16 * PIECE - at;
        assert!((to_come..to_come + PIECE).contains(&left), "{left}");
        at += size_of_val(piece);
    });
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
fn make_ready_brings_pages_into_memory() {
    let probe = MmapMut::map_anon(1 << 12).unwrap();
    if probe.advise(memmap2::Advice::PopulateWrite).is_err() {
        eprintln!("not shown: the system cannot be asked for memory");
        return;
    }
    for len in [(3 << 20) / 8 + 1, (20 << 20) / 8 + 1, (19 << 20) / 8 + 1] {
        let mut huge: Huge<u64> = Huge::new(len);
        let bytes = huge.bytes();
        assert!(huge.as_ptr().addr().is_multiple_of(HUGE_PAGE));
        let Some(before) = resident(huge.as_ptr(), bytes) else {
            eprintln!("not shown: the system does not say which pages are there");
            return;
        };
        assert_eq!(before, 0);
        let half = bytes / 2;
        huge.make_ready(0..len / 2);
        let there = resident(huge.as_ptr(), bytes).unwrap();
        assert!((half - 4096..=half + HUGE_PAGE).contains(&there), "{there}");
        huge.make_ready(len / 2..len);
        assert_eq!(resident(huge.as_ptr(), bytes), Some(bytes / 4096 * 4096));
        assert!(huge.iter().all(|value| *value == 0));
    }
}

/// More than any processor has addresses for.
#[test]
#[cfg_attr(miri, ignore = "Miri ends itself where it has no memory")]
fn catch_returns_refused_memory() {
    let len = 1 << 58;
    let refused = crate::catch(|| Huge::<u64>::new(len).len());
    assert_eq!(refused, Err(crate::OutOfMemory { bytes: len * 8 }));
    assert_eq!(crate::out_of_memory(), None, "nothing but a table");
    let mut values = vec![1_u64, 2];
    let refused = crate::catch(|| reserve(&mut values, len));
    assert!(refused.is_err_and(|refused| refused.bytes >= len * 8));
    assert_eq!(values, [1, 2]);
    assert_eq!(crate::catch(|| Huge::<u64>::new(7).len()), Ok(7));
}

#[test]
#[should_panic(expected = "of another kind")]
fn catch_passes_other_panics_on() {
    let _ = crate::catch(|| panic!("of another kind"));
}
