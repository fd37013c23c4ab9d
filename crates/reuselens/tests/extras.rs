//! Reuse times, footprints, forward distances and bounded history, from a trace to its profile.

mod common;

use std::collections::{BTreeMap, HashSet};

use reuselens::distance::generate::Random;
use reuselens::locality::FineHistogram;
use reuselens::profile::{Cell, Dimension, Profile};
use reuselens::trace::{Block, Kind, Note, Projection, Row, Source, Step, ThreadId, TraceError};
use reuselens::units::{Bytes, Distance, Granularity};
use reuselens::{AnalysisOptions, analyze};

use common::{Made, What};

fn profile(accesses: &[(u64, u64)], options: &AnalysisOptions) -> Profile {
    let mut loads = Made::one(accesses, 700);
    analyze(&mut loads, Vec::new(), options, &mut |_| {}).unwrap()
}

fn options() -> AnalysisOptions {
    AnalysisOptions {
        granularity: Some(Granularity::LINE_64),
        ..AnalysisOptions::default()
    }
}

/// Items with the instruction that loads them: some instructions prefer some items.
fn stream(seed: u64, length: u64) -> Vec<(u64, u64)> {
    let mut random = Random::new(seed);
    let mut load = || {
        let pc = random.below(4);
        (random.below(10 + 40 * pc), 0x400 + 16 * pc)
    };
    (0..length).map(|_| load()).collect()
}

/// The distance of each access to the next one to its item, by looking.
fn forward(accesses: &[(u64, u64)], at: usize) -> Distance {
    let rest = &accesses[at + 1..];
    let next = rest.iter().position(|access| access.0 == accesses[at].0);
    next.map_or(Distance::COLD, |next| {
        let between: HashSet<u64> = rest[..next].iter().map(|access| access.0).collect();
        Distance::new(between.len() as u64)
    })
}

#[test]
fn forward_distances_are_those_of_each_instruction() {
    for seed in 0..6 {
        let accesses = stream(seed, 2_000);
        let asked = AnalysisOptions {
            forward: true,
            ..options()
        };
        let profile = profile(&accesses, &asked);
        let mut expected: BTreeMap<u64, FineHistogram> = BTreeMap::new();
        for (at, (_, pc)) in accesses.iter().enumerate() {
            expected
                .entry(*pc)
                .or_default()
                .add(forward(&accesses, at), 1);
        }
        let mut found: BTreeMap<u64, FineHistogram> = BTreeMap::new();
        let (mut backward, mut ahead) = (FineHistogram::new(), FineHistogram::new());
        for cell in &profile.cells {
            let pc = profile.sites[cell.site as usize].offset;
            found.entry(pc).or_default().merge(&cell.forward);
            assert_eq!(cell.forward.accesses(), cell.histogram.accesses());
            backward.merge(&cell.histogram);
            ahead.merge(&cell.forward);
        }
        assert_eq!(backward, ahead, "equal for the whole trace");
        let (found, expected): (Vec<_>, Vec<_>) = (
            found.into_values().collect(),
            expected.into_values().collect(),
        );
        assert_eq!(found, expected, "seed {seed}");
        assert!(
            profile
                .cells
                .iter()
                .any(|cell| cell.forward != cell.histogram)
        );
        assert!(profile.reuse_times.is_none());
        for by in [
            Dimension::Program,
            Dimension::Instruction,
            Dimension::Object,
        ] {
            let groups = profile.groups(by);
            let accesses = groups
                .iter()
                .map(|group| group.forward.as_ref().unwrap().accesses());
            assert_eq!(accesses.sum::<u64>(), 2_000, "{by}");
        }
    }
}

#[test]
fn reuse_times_and_footprints_are_those_of_all_windows() {
    let accesses = stream(9, 1_500);
    let asked = AnalysisOptions {
        reuse_times: true,
        ..options()
    };
    let profile = profile(&accesses, &asked);
    let times = profile.reuse_times.unwrap();
    let histogram = times.histogram();
    assert_eq!(histogram.accesses(), 1_500);
    assert_eq!(histogram.cold(), profile.histogram.cold());
    // No fewer accesses than items lie between two uses.
    for size in (0..200).filter(|size| histogram.is_exact_at(*size)) {
        assert!(histogram.misses(size) >= profile.histogram.misses(size));
    }
    for window in [1, 2, 3, 17, 32, 64, 256, 1024] {
        let sizes = accesses.windows(window).map(|window| {
            let items: HashSet<u64> = window.iter().map(|access| access.0).collect();
            items.len() as f64
        });
        let mean = sizes.sum::<f64>() / (1_500 - window + 1) as f64;
        let found = times.footprint(window as u64).unwrap();
        assert!((found - mean).abs() < 1e-9, "{window}: {found}, not {mean}");
    }
    assert!(profile.cells.iter().all(|cell| cell.forward.is_empty()));
}

#[test]
fn bounded_history_is_exact_below_the_limit() {
    let accesses: Vec<(u64, u64)> = (0..60_000_u64)
        .map(|at| {
            (
                if at % 3 == 0 {
                    1_000 + at
                } else {
                    at * at % 97
                },
                0x400,
            )
        })
        .collect();
    let whole = profile(&accesses, &options());
    let limit = 40;
    let bounded = AnalysisOptions {
        max_distance: Some(limit),
        ..options()
    };
    let bounded = profile(&accesses, &bounded);
    for size in 0..=limit {
        assert_eq!(bounded.histogram.misses(size), whole.histogram.misses(size));
    }
    assert!(bounded.histogram.max() < Some(limit));
    assert_eq!(bounded.histogram.accesses(), 60_000);
    assert_eq!(bounded.method.max_distance, Some(limit));
    assert!(
        bounded
            .warnings
            .iter()
            .any(|warning| warning.code == "max-distance")
    );
}

#[test]
fn what_does_not_go_together_is_refused() {
    let error = |options: AnalysisOptions| {
        let asked = analyze(&mut Made::default(), Vec::new(), &options, &mut |_| {});
        asked.unwrap_err().to_string()
    };
    let limit = Some(10);
    let olken = AnalysisOptions {
        engine: "olken".to_owned(),
        max_distance: limit,
        ..options()
    };
    assert!(error(olken).contains("only 'counting' can"));
    let both = AnalysisOptions {
        forward: true,
        max_distance: limit,
        ..options()
    };
    assert!(error(both).contains("--max-distance"));
}

/// Ids of two threads, in turns of three.
struct Ids(u64);

impl Source for Ids {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        if self.0 == 0 {
            return Ok(Step::End);
        }
        self.0 -= 1;
        block.clear();
        block.thread = ThreadId((self.0 % 2) as u32);
        for addr in 0..3 {
            block.push(Row {
                kind: Kind::Load,
                size: 1,
                pc: 0,
                addr: addr * self.0,
            });
        }
        Ok(Step::Block)
    }

    fn has_addresses(&self) -> bool {
        false
    }

    fn describe(&self) -> String {
        "ids made by hand".to_owned()
    }

    fn is_of_one_thread(&self) -> bool {
        false
    }

    fn progress(&self) -> Option<(u64, u64)> {
        None
    }

    fn memory(&self) -> Bytes {
        Bytes(0)
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}

    fn project(&mut self, _projection: Projection) -> bool {
        false
    }
}

#[test]
fn the_program_alone_is_one_group_of_all_threads_of_ids() {
    let [apart, whole] = [false, true].map(|whole| {
        let options = AnalysisOptions {
            totals_only: whole,
            forward: true,
            ..AnalysisOptions::default()
        };
        analyze(&mut Ids(50), Vec::new(), &options, &mut |_| {}).unwrap()
    });
    let mut all = Cell::default();
    for cell in &apart.cells {
        all.histogram.merge(&cell.histogram);
        all.forward.merge(&cell.forward);
    }
    assert_eq!((apart.cells.len(), whole.cells.len()), (2, 1));
    assert_eq!(whole.cells[0].histogram, all.histogram);
    assert_eq!(whole.cells[0].forward, all.forward);
    assert_eq!(whole.cells[0].thread, 0, "the only one there is");
}

#[test]
fn a_note_on_the_order_of_threads_that_is_not_understood_is_a_warning() {
    let with = |note: &Note| {
        let mut loads = Made::one(&[(1, 7), (2, 7)], 700);
        loads.steps.push(((0, 0), What::Note(note.clone())));
        analyze(&mut loads, Vec::new(), &options(), &mut |_| {}).unwrap()
    };
    let mut note = Note::thread_order(64);
    let profile = with(&note);
    assert_eq!(profile.method.order_guessed_below, Some(64));
    assert!(profile.warnings.is_empty());
    assert_eq!(
        with(&Note::thread_order(0)).method.order_guessed_below,
        None
    );
    note.message.insert_str(0, "all ");
    let profile = with(&note);
    assert_eq!(profile.method.order_guessed_below, None);
    assert_eq!(profile.warnings[0].message, note.message);
}
