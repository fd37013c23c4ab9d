//! What of the data does not grow, and when it is left out of the sizes.

use reuselens_locality::ExactHistogram;
use reuselens_predict::{PredictOptions, Prediction, predict};
use reuselens_profile::{Cell, Frame, Method, Outcome, Profile, Site};
use reuselens_units::{Distance, Granularity};

fn site(file: &str) -> Site {
    let frame = Frame {
        function: "run".into(),
        file: file.into(),
        line: 1,
    };
    Site {
        module: "prog".into(),
        offset: file.len() as u64,
        frames: vec![frame],
        kind: "load".into(),
    }
}

/// A run over `all` items, of which one line accesses the same `start` in every run.
fn run(all: u64, start: u64) -> Profile {
    let mut histogram = ExactHistogram::new();
    let mut cell = |site: u32, cold: u64, reuses: u64| {
        let mut cell = Cell {
            site,
            ..Cell::default()
        };
        for (distance, count) in [(Distance::COLD, cold), (Distance::new(all), reuses)] {
            if count > 0 {
                cell.histogram.add(distance, count);
                histogram.add(distance, count);
            }
        }
        cell
    };
    let cells = vec![cell(1, start, 0), cell(2, all - start, 5 * all)];
    Profile {
        command: vec!["prog".into()],
        method: Method {
            exact: true,
            ..Method::default()
        },
        outcome: Outcome::Exit(0),
        references: histogram.accesses(),
        histogram,
        sites: vec![Site::default(), site("start.c"), site("in.c")],
        cells,
        ..Profile::empty(Granularity::LINE_64)
    }
}

fn of(sizes: [u64; 2], start: u64, size: f64) -> Prediction {
    let runs = sizes.map(|all| run(all, start));
    predict(&[&runs[0], &runs[1]], size, &PredictOptions::default()).unwrap()
}

fn codes(prediction: &Prediction) -> Vec<&str> {
    let warnings = prediction.warnings.iter();
    warnings.map(|warning| warning.code.as_str()).collect()
}

#[test]
fn fixed_data_is_subtracted_up_to_half_of_the_smallest_run() {
    let some = of([10_000, 40_000], 3000, 100_000.0);
    assert_eq!((some.fixed, codes(&some)), (3000.0, vec![]));
    // 500 and 1500 would seem to be three times as much.
    let most = of([10_000, 11_000], 9500, 100_000.0);
    assert_eq!(most.fixed, 0.0);
    assert_eq!(codes(&most), ["close-sizes", "much-fixed"]);
}

#[test]
fn size_below_fixed_data_warns() {
    // Nor is one where that was too much to leave out.
    let most = of([10_000, 11_000], 9500, 9000.0);
    assert!(codes(&most).contains(&"below-fixed"));
    let found = of([10_000, 40_000], 3000, 2000.0);
    assert_eq!(codes(&found)[..2], ["below-fixed", "below-training"]);
}

#[test]
fn a_smallest_run_that_is_hardly_more_than_the_start_changes_nothing() {
    let runs = [3500, 40_000, 160_000].map(|all| run(all, 3000));
    let of = |runs: &[&Profile]| predict(runs, 1e6, &PredictOptions::default()).unwrap();
    let (three, larger) = (
        of(&[&runs[0], &runs[1], &runs[2]]),
        of(&[&runs[1], &runs[2]]),
    );
    // 3000 of 3500 items do not grow: with that run, they stayed in the sizes of all.
    assert_eq!((three.fixed, three.training.len()), (3000.0, 2));
    assert_eq!(codes(&three), ["small-runs"]);
    assert_eq!(three.program.histogram, larger.program.histogram);
    // A run with more data is used.
    let runs = [10_000, 40_000, 160_000].map(|all| run(all, 3000));
    let used = of(&[&runs[0], &runs[1], &runs[2]]);
    assert_eq!((used.training.len(), codes(&used)), (3, vec![]));
}

#[test]
fn the_start_does_not_move_the_ranks_of_the_other_accesses() {
    let runs = [10_000, 40_000].map(|all| {
        let mut profile = run(all, 3000);
        let far = Distance::new(2000);
        profile.cells[0].histogram.add(far, 20_000);
        profile.histogram.add(far, 20_000);
        profile
    });
    let found = predict(&[&runs[0], &runs[1]], 160_000.0, &PredictOptions::default()).unwrap();
    let histogram = &found.program.histogram;
    let within = |low: u64, high: u64| {
        let here = histogram.iter().filter(|(at, _)| (low..=high).contains(at));
        here.map(|(_, count)| count).sum::<u64>()
    };
    assert_eq!(within(2000, 2000), 20_000);
    // Of the reuses of the smaller run, which are 70,000, those of the start are 29 %; of the
    // larger, 9 %.
    assert_eq!(within(50_000, u64::MAX), 5 * 160_000);
    assert_eq!(within(0, u64::MAX), 20_000 + 5 * 160_000);
}
