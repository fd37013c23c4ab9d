//! Caches of program threads that are kept coherent: distances and invalidations are those of the
//! definition, whatever the counts are broken down by and however many threads count.

mod common;

use std::collections::BTreeMap;

use reuselens::attribute::{Kinds, NamesMode};
use reuselens::distance::generate::Random;
use reuselens::locality::ExactHistogram;
use reuselens::profile::{Dimension, Profile, Sharing};
use reuselens::trace::Kind;
use reuselens::units::{Distance, Granularity};
use reuselens::{AnalysisOptions, analyze};

use common::{Made, What, Who, options, refusal};

/// Threads of two processes that run in turn, by chance, and mostly access the same items.
fn random(seed: u64, threads: u64, blocks: u64) -> Made {
    let mut random = Random::new(seed);
    let step = |_| {
        let thread = random.below(threads);
        let who = ((thread % 2) as u16, thread as u32);
        let mut access = || {
            let instruction = random.below(4);
            let kind = [Kind::Load, Kind::Load, Kind::Store, Kind::Atomic][instruction as usize];
            let item = match random.below(5) {
                0 => 100 * (thread + 1) + random.below(30),
                _ => random.below(20),
            };
            (kind, item, 0x400 + 16 * instruction)
        };
        let length = 1 + access().1 % 9;
        (who, What::Accesses((0..length).map(|_| access()).collect()))
    };
    Made {
        steps: (0..blocks).map(step).collect(),
        at: 0,
    }
}

/// What the definition says of a trace.
#[derive(Default)]
struct Definition {
    histogram: ExactHistogram,
    invalidated: u64,
    /// By instruction: first touches, and invalidated accesses.
    each: BTreeMap<u64, (u64, u64)>,
}

impl Definition {
    /// Stacks as lists of an item and whether it is valid, one for each thread; processes share no
    /// items.
    fn of(trace: &Made) -> Definition {
        let mut definition = Definition::default();
        let mut stacks: BTreeMap<Who, Vec<(u64, bool)>> = BTreeMap::new();
        for (who, what) in &trace.steps {
            let What::Accesses(accesses) = what else {
                continue;
            };
            for &(kind, item, pc) in accesses {
                let stack = stacks.entry(*who).or_default();
                let found = stack.iter().position(|entry| entry.0 == item);
                let valid = found.map(|at| stack.remove(at).1);
                stack.insert(0, (item, true));
                let distance = match (found, valid) {
                    (Some(at), Some(true)) => Distance::new(at as u64),
                    _ => Distance::COLD,
                };
                definition.histogram.add(distance, 1);
                let (first, lost) = (valid.is_none(), valid == Some(false));
                let each = definition.each.entry(pc).or_default();
                *each = (each.0 + u64::from(first), each.1 + u64::from(lost));
                definition.invalidated += u64::from(lost);
                if kind == Kind::Load {
                    continue;
                }
                let others = stacks
                    .iter_mut()
                    .filter(|(other, _)| *other != who && other.0 == who.0);
                for entry in others.flat_map(|(_, stack)| stack) {
                    entry.1 &= entry.0 != item;
                }
            }
        }
        definition
    }
}

fn profile(trace: &Made, options: &AnalysisOptions) -> Profile {
    analyze(&mut trace.clone(), Vec::new(), options, &mut |_| {}).unwrap()
}

#[test]
fn distances_and_invalidations_are_those_of_the_definition() {
    for seed in 0..10 {
        let trace = random(seed, 1 + seed % 6, 400);
        let right = Definition::of(&trace);
        assert!(right.invalidated > 0 || seed % 6 < 2);
        for (engine, threads) in [("auto", 1), ("counting", 3), ("olken", 1), ("brute", 2)] {
            let asked = AnalysisOptions {
                engine: engine.to_owned(),
                ..options(Sharing::Coherent, threads)
            };
            let found = profile(&trace, &asked);
            assert_eq!(found.histogram, right.histogram, "{seed}, {engine}");
            assert_eq!(found.invalidated, right.invalidated, "{seed}, {engine}");
            assert_eq!(found.method.sharing, Sharing::Coherent);
            assert!(found.method.exact);
            let groups = found.groups(Dimension::Instruction);
            let mut each: Vec<_> = groups.iter().map(|g| (g.cold, g.invalidated)).collect();
            let mut wanted: Vec<_> = right.each.values().copied().collect();
            each.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(each, wanted, "{seed}, {engine}");
            for group in found.groups(Dimension::Thread) {
                let reuses: u64 = group.histogram.iter().map(|(.., count)| count).sum();
                assert_eq!(reuses + group.cold + group.invalidated, group.accesses);
            }
            let read = Profile::from_bytes(&found.to_bytes()).unwrap();
            assert_eq!(read, found);
        }
        let whole = profile(
            &trace,
            &AnalysisOptions {
                totals_only: true,
                ..options(Sharing::Coherent, 2)
            },
        );
        assert_eq!(whole.histogram, right.histogram);
        assert_eq!(whole.invalidated, right.invalidated);
        assert_eq!(whole.cells[0].invalidated, right.invalidated);
    }
}

#[test]
fn a_store_across_two_items_invalidates_both() {
    // A store of the second thread across two items, between loads of both.
    let loads = |items: [u64; 2]| What::Accesses(items.map(|item| (Kind::Load, item, 1)).into());
    let trace = Made {
        steps: vec![
            ((0, 0), loads([1, 2])),
            ((0, 1), What::Accesses(vec![(Kind::Store, 1, 2)])),
            ((0, 0), loads([2, 1])),
        ],
        at: 0,
    };
    let wide = AnalysisOptions {
        granularity: Some(Granularity::new(4).unwrap()),
        ..options(Sharing::Coherent, 1)
    };
    // Accesses are of 8 bytes: two items of 4 each.
    let found = profile(&trace, &wide);
    assert_eq!((found.first_touches(), found.invalidated), (6, 2));
}

#[test]
fn one_thread_invalidates_nothing() {
    let trace = random(1, 1, 300);
    let coherent = profile(&trace, &options(Sharing::Coherent, 2));
    let shared = profile(&trace, &options(Sharing::Shared, 2));
    assert_eq!(coherent.histogram, shared.histogram);
    assert_eq!(coherent.cells, shared.cells);
    assert_eq!(coherent.invalidations(), Some(0));
    assert_eq!(shared.invalidations(), None);
}

#[test]
fn merged_profiles_add_invalidations_up() {
    let trace = random(5, 4, 300);
    let one = profile(&trace, &options(Sharing::Coherent, 1));
    let twice = Profile::merge(&[one.clone(), one.clone()]).unwrap();
    assert_eq!(twice.invalidated, 2 * one.invalidated);
    assert_eq!(twice.first_touches(), 2 * one.first_touches());
    let cells: u64 = twice.cells.iter().map(|cell| cell.invalidated).sum();
    assert_eq!(cells, twice.invalidated);
    let private = profile(&trace, &options(Sharing::Private, 1));
    let error = Profile::merge(&[one, private]).unwrap_err();
    assert!(error.to_string().contains("same --sharing"), "{error}");
}

#[test]
fn what_coherent_caches_cannot_be_asked_is_refused() {
    let error = |change: &dyn Fn(&mut AnalysisOptions)| refusal(Sharing::Coherent, change);
    for engine in ["sampled", "hp-rda"] {
        let message = error(&|asked| asked.engine = engine.to_owned());
        assert!(message.contains("--sharing coherent"), "{message}");
    }
    let sample = error(&|asked| asked.sample = Some(0.5));
    assert!(sample.contains("leave out --sample or --sharing coherent"));
    type Change = (&'static str, fn(&mut AnalysisOptions));
    let changes: [Change; 6] = [
        ("--kind", |asked| asked.kinds = Kinds::Loads),
        ("--names statement", |asked| {
            asked.names = NamesMode::Statement
        }),
        ("--max-distance", |asked| asked.max_distance = Some(9)),
        ("--times", |asked| asked.reuse_times = true),
        ("--forward", |asked| asked.forward = true),
        ("--by path", |asked| asked.paths = true),
    ];
    for (option, change) in changes {
        let message = error(&change);
        assert!(message.contains(option), "{message}");
        assert!(message.contains("--sharing coherent"), "{message}");
    }
}
