//! Counters of slots.

use super::*;

#[test]
fn counts_pass_16_bits() {
    let mut counters = Counters::default();
    counters.add_column([1, 70, 70].into_iter());
    counters.add(70, u64::from(u16::MAX) - 2);
    assert!(counters.apart.is_empty());
    counters.add_column([70, 3, 70].into_iter());
    assert_eq!(counters.get(70), (1 << 16) + 1);
    let many = vec![3; 300_000];
    counters.add_column(many.iter().copied());
    counters.add(3, (5 << 32) + 6);
    counters.add(1 << 50, 9);
    let all = [
        (1, 1),
        (3, (5 << 32) + 300_007),
        (70, (1 << 16) + 1),
        (1 << 50, 9),
    ];
    assert_eq!(counters.iter_from(0).collect::<Vec<_>>(), all);
    assert_eq!(counters.iter_from(4).collect::<Vec<_>>(), all[2..]);
    let sums_are_right = |counters: &Counters| {
        for first in [
            0,
            1,
            3,
            4,
            63,
            64,
            70,
            71,
            4095,
            4096,
            4097,
            1 << 16,
            1 << 50,
            u64::MAX,
        ] {
            let sum = total(counters.iter_from(first).map(|(_, count)| count));
            assert_eq!(counters.sum_from(first), sum, "from {first}");
        }
    };
    sums_are_right(&counters);
    sums_are_right(&Counters::default());
    counters.add(4096, 7);
    sums_are_right(&counters);
    counters.add_column([4095, 5000, 1 << 13].into_iter());
    sums_are_right(&counters);
    for slot in [4096, 4095, 5000, 1 << 13] {
        counters.clear(slot);
    }
    sums_are_right(&counters);
    assert_eq!(counters.last(), Some(1 << 50));
    let mut twice = counters.clone();
    sums_are_right(&twice);
    twice.merge(&counters);
    sums_are_right(&twice);
    assert_eq!(twice.get(70), (2 << 16) + 2);
    twice.add(3, u64::MAX);
    sums_are_right(&twice);
    assert_eq!(twice.get(3), u64::MAX);
}

#[test]
fn sums_of_arrays_are_sums_of_counts() {
    let count = |slots: &[(u64, u64)]| {
        let mut counters = Counters::default();
        for (slot, times) in slots {
            counters.add_column(vec![*slot; *times as usize].into_iter());
        }
        counters
    };
    let (one, two) = (
        [
            (0, 9),
            (3, 70_001),
            (63, 200_000),
            (64, 40_000),
            (5_000, 65_535),
        ],
        [
            (0, 1),
            (3, 9),
            (63, 100_000),
            (64, 40_000),
            (5_000, 1),
            (90_000, 2),
        ],
    );
    for (one, two) in [(&one[..], &two[..]), (&two, &one), (&one, &one)] {
        let mut sum = count(one);
        sum.merge(&count(two));
        let all = count(&[one, two].concat());
        assert!(sum.iter_from(0).eq(all.iter_from(0)));
        for slot in [63, 64, 90_001] {
            sum.clear(slot);
            assert_eq!(sum.get(slot), 0);
        }
        let rest = all
            .iter_from(0)
            .filter(|(slot, _)| ![63, 64].contains(slot));
        assert!(sum.iter_from(0).eq(rest));
    }
}

/// Bytes of an array that were ever written, in pages, by what the system says of each of its
/// pages. `None` if it says nothing.
#[cfg(target_os = "linux")]
fn resident(array: &[u16]) -> Option<usize> {
    use std::os::unix::fs::FileExt;
    let mut entries = vec![0; size_of_val(array) / 4096 * 8];
    let pages = std::fs::File::open("/proc/self/pagemap").ok()?;
    let first = array.as_ptr().addr() / 4096 * 8;
    pages.read_exact_at(&mut entries, first as u64).ok()?;
    // The highest bit of each says that it is there.
    let there = entries.chunks(8).filter(|entry| entry[7] & 0x80 != 0);
    Some(there.count() * 4096)
}

/// Two slots with many pages between them, which adding arrays reads and never writes.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn empty_pages_take_no_memory_when_arrays_are_added_or_grow() {
    const FAR: u64 = 60 << 20;
    let mut sparse = Counters {
        named: FAR,
        ..Counters::default()
    };
    sparse.add(FAR, 1);
    sparse.add(5, 1);
    let mut sum = Counters::default();
    sum.merge(&sparse);
    sum.merge(&sparse);
    sum.add(4 * FAR, 1);
    // Pages may be of 2 MiB.
    match resident(&sum.flat) {
        Some(bytes) => assert!(bytes <= 10 << 20, "{bytes} bytes for five pages"),
        None => eprintln!("not shown: the system does not say which pages are there"),
    }
    let all = [(5, 2), (FAR, 2), (4 * FAR, 1)];
    assert_eq!(sum.iter_from(0).collect::<Vec<_>>(), all);
}

#[test]
fn distant_slots_allocate_no_array() {
    let mut counters = Counters::default();
    counters.add_column([1 << 40, 5, (1 << 26) + 1].into_iter());
    assert!(counters.memory() < 1 << 14, "{}", counters.memory());
    assert_eq!(
        counters.iter_from(0).collect::<Vec<_>>(),
        [(5, 1), ((1 << 26) + 1, 1), (1 << 40, 1)]
    );
}

#[test]
fn counts_in_place_make_no_array_longer() {
    let mut counters = Counters::default();
    counters.add_column(
        (0..1_000_000)
            .map(|at: u64| at % 7)
            .collect::<Vec<_>>()
            .into_iter(),
    );
    let before = counters.memory();
    let far = [5, 3_000_000, 40_000_000];
    far.iter().for_each(|slot| counters.add_in_place(*slot, 9));
    let held = counters.memory();
    assert!(held <= before + 2 * 48, "{before} to {held}");
    assert_eq!(counters.sum_from(6), 142_857 + 18);
    let mut longer = counters.clone();
    // As many as were counted make the array as long as this.
    longer.add(40_000_000, 1);
    assert!(longer.memory() > 40_000_000);
    assert_eq!(longer.get(40_000_000), 10);
}
