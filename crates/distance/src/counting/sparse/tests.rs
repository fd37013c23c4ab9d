//! The hash table of last accesses: overflow, growth, expectations, and ids that collide.

use super::super::compare::Portable;
use super::*;

fn replace(table: &mut Sparse, item: u64, step: u32) -> u32 {
    table.make_room(1);
    let home = table.home(item);
    table.replace(Portable, item, home, step)
}

#[test]
fn zero_and_maximum_are_items() {
    let mut table = Sparse::new();
    for (item, step) in [(0, 1), (u64::MAX, 2), (1 << 63, 3)] {
        assert_eq!(replace(&mut table, item, step), NEVER);
    }
    assert_eq!(replace(&mut table, 0, 4), 1);
    assert_eq!(replace(&mut table, u64::MAX, 5), 2);
    assert_eq!(table.len(), 3);
}

/// All in one line to begin with, item 0 in the middle: it must not be taken for an empty place.
#[test]
fn overflow_goes_to_the_next_line_and_round_the_end() {
    let mut table = Sparse::with_lines(4);
    let items = [9, 8, 7, 0, 6, 5, 4, 3, 2, 1, 10, 11];
    for (step, item) in (1..).zip(items) {
        assert_eq!(table.replace(Portable, item, 3, step), NEVER);
    }
    for (step, item) in (1..).zip(items) {
        assert_eq!(table.replace(Portable, item, 3, step), step);
    }
    assert_eq!(table.len(), items.len());
}

#[test]
fn growth_keeps_every_step() {
    let mut table = Sparse::new();
    for item in 0..50_000_u64 {
        replace(&mut table, item << 40, item as u32 + 1);
    }
    assert_eq!(table.len(), 50_000);
    assert!(table.bytes() < 50_000 * 25);
    for item in 0..50_000_u64 {
        assert_eq!(replace(&mut table, item << 40, 1), item as u32 + 1);
    }
}

#[test]
fn growth_to_what_is_expected_keeps_every_step() {
    for expected in [0, 1, 60_000, 3_000_000] {
        let mut table = Sparse::expecting(expected);
        for item in 0..150_000_u64 {
            replace(&mut table, item << 40, item as u32 + 1);
        }
        assert_eq!(table.len(), 150_000);
        assert!(table.bytes() < 26 * expected.max(170_000), "{expected}");
        for item in 0..150_000_u64 {
            assert_eq!(replace(&mut table, item << 40, 1), item as u32 + 1);
        }
    }
}

/// Far too many were expected: that costs memory, but not all that there is.
#[test]
fn huge_expectations_take_bounded_memory() {
    let mut table = Sparse::expecting(u32::MAX as usize);
    for item in 0..50_000_u64 {
        replace(&mut table, item << 40, 1);
    }
    assert_eq!(table.bytes(), 128 << 20);
}

/// An item that is not at its home is found by the long way, whether it is new or not.
#[test]
fn replacing_at_home_and_elsewhere_is_complete() {
    let mut random = crate::generate::Random::new(3);
    let (mut parts, mut whole) = (Sparse::with_lines(64), Sparse::with_lines(64));
    let mut elsewhere = 0;
    for step in 1..4_000 {
        let item = random.below(250) << 30;
        let home = parts.home(item);
        let found = parts
            .replace_at_home(Portable, item, home, step)
            .unwrap_or_else(|| {
                elsewhere += 1;
                parts.replace_elsewhere(Portable, item, home, step)
            });
        assert_eq!(found, whole.replace(Portable, item, home, step));
    }
    assert!(elsewhere > 100, "{elsewhere}");
}

/// Ids made for the mix: their images are neighbours.
#[test]
fn ids_made_to_collide_are_spread() {
    let inverse = |odd: u64| {
        (0..6).fold(odd, |x, _| {
            x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)))
        })
    };
    let unmix = |image: u64| {
        let number = image.wrapping_mul(inverse(0xc4ce_b9fe_1a85_ec53));
        let number = (number ^ number >> 33).wrapping_mul(inverse(0xff51_afd7_ed55_8ccd));
        number ^ number >> 33
    };
    assert_eq!(mix(unmix(12_345)), 12_345);
    let mut table = Sparse::new();
    for step in 1..20_000_u32 {
        assert_eq!(replace(&mut table, unmix(step.into()), step), NEVER);
    }
    let mut beyond = 0;
    for step in 1..20_000_u32 {
        let item = unmix(step.into());
        let home = table.home(item);
        beyond += usize::from(Portable.equal(&table.lines[home], item) == 0);
        assert_eq!(replace(&mut table, item, step), step);
    }
    assert!(beyond < 20_000 / 4, "{beyond} not at home");
}

/// Strided ids are what real traces are made of: no stride may make probes long.
#[test]
fn strided_ids_are_spread() {
    for stride in (0..62)
        .map(|log2| 1_u64 << log2)
        .chain([3, 24, 4096 + 64, 0x9E37_79B9_7F4A_7C15])
    {
        let mut table = Sparse::with_lines(4096);
        let mut beyond = 0;
        for step in 1..=16_000_u32 {
            let item = u64::from(step).wrapping_mul(stride);
            let home = table.home(item);
            table.replace(Portable, item, home, step);
            beyond += usize::from(Portable.equal(&table.lines[home], item) == 0);
        }
        assert!(beyond < 16_000 / 4, "stride {stride}: {beyond} not at home");
    }
}
