//! The histograms, whatever they count: they agree with each other and with the definition.

use proptest::prelude::*;
use reuselens_locality::{
    ExactHistogram, FineHistogram, Histogram, KeyedHistograms, Log2Histogram, MissRatioCurve,
};
use reuselens_units::Distance;

/// Distances as they occur: mostly short, some long, some cold, a few enormous.
fn distance() -> impl Strategy<Value = Distance> {
    let raw = prop_oneof![
        6 => 0..80_u64,
        4 => 0..100_000_u64,
        1 => (0..64_u32, 0..100_u64).prop_map(|(shift, more)| (1_u64 << shift).saturating_add(more)),
        2 => Just(u64::MAX),
    ];
    raw.prop_map(Distance::new)
}

fn column() -> impl Strategy<Value = Vec<Distance>> {
    prop::collection::vec(distance(), 0..200)
}

fn exact(distances: &[Distance]) -> ExactHistogram {
    let mut histogram = ExactHistogram::new();
    histogram.add_column(distances);
    histogram
}

fn fine(distances: &[Distance]) -> FineHistogram {
    let mut histogram = FineHistogram::new();
    histogram.add_column(distances);
    histogram
}

/// Misses by the definition.
fn misses(distances: &[Distance], items: u64) -> u64 {
    distances
        .iter()
        .filter(|d| d.items().is_none_or(|distance| distance >= items))
        .count() as u64
}

proptest! {
    #[test]
    fn histograms_count_every_access(column in column()) {
        let all = column.len() as u64;
        prop_assert_eq!(exact(&column).accesses(), all);
        prop_assert_eq!(fine(&column).accesses(), all);
        prop_assert_eq!(exact(&column).log2().accesses(), all);
        let sum: u128 = column.iter().filter_map(|d| d.items()).map(u128::from).sum();
        prop_assert_eq!(exact(&column).distance_sum(), sum);
        prop_assert_eq!(exact(&column).max(), column.iter().filter_map(|d| d.items()).max());
    }

    #[test]
    fn coarser_bins_agree_with_exact_counts(column in column()) {
        let mut log2 = Log2Histogram::new();
        column.iter().for_each(|distance| log2.add(*distance, 1));
        prop_assert_eq!(&exact(&column).log2(), &log2);
        prop_assert_eq!(&fine(&column).log2(), &log2);
        let mut from_exact = FineHistogram::new();
        from_exact.add_exact(&exact(&column));
        prop_assert_eq!(from_exact, fine(&column));
    }

    #[test]
    fn misses_equal_their_definition(column in column(), size in distance(), octave in 0..59_u32, part in 1..32_u64) {
        let (exact, fine) = (exact(&column), fine(&column));
        let curve = MissRatioCurve::new(&exact);
        for items in [size.raw(), part << octave, 0, 1] {
            let expected = misses(&column, items);
            prop_assert_eq!(exact.misses(items), expected);
            prop_assert_eq!(curve.misses(items), expected);
            prop_assert_eq!(MissRatioCurve::new(&fine).misses(items), fine.misses(items));
            if fine.is_exact_at(items) {
                prop_assert_eq!(fine.misses(items), expected);
            }
        }
        prop_assert!(fine.is_exact_at(part << octave));
    }

    #[test]
    fn curves_never_rise(column in column()) {
        for curve in [MissRatioCurve::new(&exact(&column)), MissRatioCurve::new(&fine(&column))] {
            let points = curve.default_points();
            prop_assert!(points.is_sorted_by(|a, b| a.items < b.items && a.misses >= b.misses));
            prop_assert!(points.iter().all(|point| (0.0..=1.0).contains(&point.miss_ratio)));
            prop_assert_eq!(points.last().map(|point| point.misses), Some(curve.cold()));
        }
    }

    #[test]
    fn any_order_and_association_gives_the_same(a in column(), b in column(), c in column()) {
        let mut left = exact(&a);
        left.merge(&exact(&b));
        left.merge(&exact(&c));
        let mut right = exact(&c);
        right.merge(&exact(&b));
        let mut whole = exact(&[]);
        whole.merge(&right);
        whole.merge(&exact(&a));
        prop_assert_eq!(&left, &whole);
        prop_assert_eq!(&left, &exact(&[a.clone(), b.clone(), c.clone()].concat()));
        prop_assert_eq!(serde_json::to_vec(&left).unwrap(), serde_json::to_vec(&whole).unwrap());

        let mut left = fine(&a);
        left.merge(&fine(&b));
        let mut right = fine(&b);
        right.merge(&fine(&a));
        prop_assert_eq!(&left, &right);
        prop_assert_eq!(serde_json::to_vec(&left).unwrap(), serde_json::to_vec(&right).unwrap());
    }

    #[test]
    fn histograms_round_trip(column in column()) {
        let text = serde_json::to_string(&exact(&column)).unwrap();
        prop_assert_eq!(serde_json::from_str::<ExactHistogram>(&text).unwrap(), exact(&column));
        let text = serde_json::to_string(&fine(&column)).unwrap();
        prop_assert_eq!(serde_json::from_str::<FineHistogram>(&text).unwrap(), fine(&column));
    }

    #[test]
    fn cells_are_the_histograms_of_their_accesses(rows in prop::collection::vec((0..9_u32, distance()), 0..300), cut in 0..300_usize) {
        let mut keyed = KeyedHistograms::new();
        let (cells, distances): (Vec<_>, Vec<_>) = rows.iter().copied().unzip();
        let cut = cut.min(rows.len());
        keyed.add_column(&cells[..cut], &distances[..cut]);
        keyed.add_column(&cells[cut..], &distances[cut..]);
        prop_assert_eq!(keyed.len(), cells.iter().max().map_or(0, |top| *top as usize + 1));
        for cell in 0..keyed.len() as u32 {
            let mine: Vec<_> = rows.iter().filter(|row| row.0 == cell).map(|row| row.1).collect();
            let (histogram, sum, max) = keyed.get(cell).unwrap();
            prop_assert_eq!(sum, exact(&mine).distance_sum());
            prop_assert_eq!(max, exact(&mine).max().unwrap_or(0));
            prop_assert_eq!(histogram.reuses() + histogram.cold(), mine.len() as u64);
            prop_assert_eq!(histogram, fine(&mine));
        }
    }
}
