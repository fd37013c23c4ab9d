//! Distances within each program thread: those that an oracle finds for the thread alone, whatever
//! the order of the threads and however many threads count.

mod common;

use std::collections::BTreeMap;

use reuselens::distance::generate::Random;
use reuselens::engines::by_name;
use reuselens::formats;
use reuselens::io::Input;
use reuselens::locality::{ExactHistogram, FineHistogram, ReuseTimes};
use reuselens::profile::{Outcome, Profile, Sharing};
use reuselens::shard::{Piece, TraceIdentity, analyze_shard};
use reuselens::units::{Bytes, Distance};
use reuselens::{AnalysisOptions, Error, analyze};

use common::{Made, What, Who, options, refusal};

impl Made {
    /// Threads that run in turn, by chance; some of their items are their own, some are of all.
    fn random(seed: u64, threads: u64, blocks: u64, longest: u64) -> Made {
        let mut random = Random::new(seed);
        let step = |_| {
            let thread = random.below(threads);
            let who = ((thread % 2) as u16, thread as u32);
            let mut load = || {
                let instruction = random.below(3);
                let all = random.below(3) == 0;
                let item = if all {
                    random.below(50)
                } else {
                    1_000 * (thread + 1) + random.below(20 + 60 * instruction)
                };
                (item, 0x400 + 0x40 * thread + 16 * instruction)
            };
            let length = 1 + load().0 % longest;
            (who, What::Loads((0..length).map(|_| load()).collect()))
        };
        Made {
            steps: (0..blocks).map(step).collect(),
            at: 0,
        }
    }

    /// The part of each thread.
    fn apart(&self) -> BTreeMap<Who, Made> {
        let mut parts: BTreeMap<Who, Made> = BTreeMap::new();
        for (who, what) in &self.steps {
            let part = parts.entry(*who).or_default();
            part.steps.push((*who, what.clone()));
        }
        parts
    }

    fn loads(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let loads = self.steps.iter().filter_map(|(_, what)| match what {
            What::Loads(loads) => Some(loads),
            What::Accesses(_) | What::Rows(_) | What::Block(_) | What::End | What::Note(_) => None,
        });
        loads.flatten().copied()
    }

    fn profile(&self, options: &AnalysisOptions) -> Profile {
        analyze(&mut self.clone(), Vec::new(), options, &mut |_| {}).unwrap()
    }
}

/// All distances, and those of each instruction, as the definition has them.
fn oracle(trace: &Made) -> (ExactHistogram, BTreeMap<u64, FineHistogram>) {
    let mut all = ExactHistogram::new();
    let mut each: BTreeMap<u64, FineHistogram> = BTreeMap::new();
    for part in trace.apart().values() {
        let (items, pcs): (Vec<u64>, Vec<u64>) = part.loads().unzip();
        let mut distances = vec![Distance::COLD; items.len()];
        by_name("brute").unwrap().process(&items, &mut distances);
        all.add_column(&distances);
        for (pc, distance) in pcs.into_iter().zip(distances) {
            each.entry(pc).or_default().add(distance, 1);
        }
    }
    (all, each)
}

fn by_instruction(
    profile: &Profile,
    of: impl Fn(&reuselens::profile::Cell) -> FineHistogram,
) -> BTreeMap<u64, FineHistogram> {
    let mut each: BTreeMap<u64, FineHistogram> = BTreeMap::new();
    for cell in &profile.cells {
        let pc = profile.sites[cell.site as usize].offset;
        each.entry(pc).or_default().merge(&of(cell));
    }
    each
}

#[test]
fn distances_are_those_of_each_thread_alone() {
    for seed in 0..12 {
        let trace = Made::random(seed, 1 + seed % 6, 150, 90);
        let (all, each) = oracle(&trace);
        for engine in ["auto", "counting", "olken", "fenwick", "brute"] {
            for threads in [1, 3] {
                let asked = AnalysisOptions {
                    engine: engine.to_owned(),
                    ..options(Sharing::Private, threads)
                };
                let profile = trace.profile(&asked);
                assert_eq!(profile.histogram, all, "seed {seed}, {engine}, {threads}");
                let found = by_instruction(&profile, |cell| cell.histogram.clone());
                // The sites give the addresses in another order, or not at all.
                let (found, each): (Vec<_>, Vec<_>) = (
                    found.into_values().collect(),
                    each.values().cloned().collect(),
                );
                assert_eq!(found, each, "seed {seed}, {engine}, {threads}");
                assert_eq!(profile.method.sharing, Sharing::Private);
                assert!(profile.method.exact);
            }
        }
        if seed % 6 > 0 {
            let shared = trace.profile(&options(Sharing::Shared, 1));
            assert_ne!(shared.histogram, all, "sharing makes a difference");
        }
    }
}

#[test]
fn the_number_of_threads_that_count_does_not_show() {
    // Long enough for many batches; more program threads than shelves.
    for (program_threads, blocks) in [(2, 120), (5, 150), (70, 700)] {
        let trace = Made::random(3, program_threads, blocks, 4_000);
        let asked = |threads| AnalysisOptions {
            reuse_times: true,
            forward: true,
            ..options(Sharing::Private, threads)
        };
        let alone = trace.profile(&asked(1));
        for threads in [2, 3, 7] {
            let profile = trace.profile(&asked(threads));
            assert_eq!(profile, alone, "{program_threads} on {threads}");
            assert_eq!(profile.to_bytes(), alone.to_bytes());
        }
    }
}

#[test]
fn times_and_forward_distances_are_sums_over_the_threads() {
    let trace = Made::random(5, 4, 200, 300);
    let asked = |sharing| AnalysisOptions {
        reuse_times: true,
        forward: true,
        ..options(sharing, 2)
    };
    let whole = trace.profile(&asked(Sharing::Private));
    let mut times = ReuseTimes::default();
    let mut forward: BTreeMap<u64, FineHistogram> = BTreeMap::new();
    for part in trace.apart().values() {
        let part = part.profile(&asked(Sharing::Shared));
        times.merge(part.reuse_times.as_ref().unwrap());
        for (pc, histogram) in by_instruction(&part, |cell| cell.forward.clone()) {
            forward.entry(pc).or_default().merge(&histogram);
        }
    }
    assert_eq!(whole.reuse_times, Some(times));
    assert_eq!(by_instruction(&whole, |cell| cell.forward.clone()), forward);
}

#[test]
fn one_thread_has_the_same_distances_either_way() {
    let trace = Made::random(11, 1, 60, 500);
    let mut private = trace.profile(&options(Sharing::Private, 2));
    let shared = trace.profile(&options(Sharing::Shared, 2));
    assert_eq!(
        private.method.order,
        "each thread by itself, in program order"
    );
    private.method.sharing = Sharing::Shared;
    private.method.order.clone_from(&shared.method.order);
    assert_eq!(private.to_bytes(), shared.to_bytes());
}

#[test]
fn a_trace_of_ids_without_threads_has_the_same_distances_either_way() {
    let profile = |sharing| {
        let input = Input::new(
            std::io::Cursor::new("a b c a c c b d a ".repeat(400)),
            "letters",
        );
        let mut source = formats::read(input, Some("text")).unwrap();
        let options = options(sharing, 3);
        analyze(&mut *source, Vec::new(), &options, &mut |_| {}).unwrap()
    };
    let (private, shared) = (profile(Sharing::Private), profile(Sharing::Shared));
    assert_eq!(private.histogram, shared.histogram);
    assert_eq!(private.cells, shared.cells);
}

#[test]
fn a_largest_distance_holds_within_each_thread() {
    let trace = Made::random(2, 3, 200, 200);
    let (all, _) = oracle(&trace);
    let limit = 40;
    let asked = AnalysisOptions {
        max_distance: Some(limit),
        ..options(Sharing::Private, 2)
    };
    let bounded = trace.profile(&asked);
    for size in 0..=limit {
        assert_eq!(bounded.histogram.misses(size), all.misses(size));
    }
    assert!(bounded.histogram.max() < Some(limit));
    assert_eq!(bounded.method.max_distance, Some(limit));
}

/// Threads that touch ever more items.
fn growing(threads: u32) -> Made {
    let block = |at: u32| {
        let who = (0, at % threads);
        let items = (0..4_000).map(|load| (u64::from(at) * 4_000 + load, 0x400));
        (who, What::Loads(items.collect()))
    };
    Made {
        steps: (0..400).map(block).collect(),
        at: 0,
    }
}

#[test]
fn the_limit_on_memory_is_one_for_all_engines_and_met_at_the_same_access() {
    let asked = |threads| AnalysisOptions {
        memory_limit: Some(Bytes(8 << 20)),
        ..options(Sharing::Private, threads)
    };
    let alone = growing(4).profile(&asked(1));
    assert!(matches!(alone.method.engine.as_str(), "counting"));
    assert!(
        matches!(alone.outcome, Outcome::Incomplete(_)),
        "{:?}",
        alone.outcome
    );
    let codes: Vec<_> = alone.warnings.iter().map(|warning| &warning.code).collect();
    assert_eq!(codes, ["memory-limit"]);
    // Each of the four engines alone would have had room for all of its own.
    let accesses = alone.histogram.accesses();
    assert!((100_000..1_500_000).contains(&accesses), "{accesses}");
    for threads in [2, 3, 7] {
        assert_eq!(growing(4).profile(&asked(threads)), alone, "{threads}");
    }
}

/// Some hundred threads of a thousand items each: what their tables take when they grow fits, and
/// is not thought to be more than it can be.
#[test]
fn the_limit_on_memory_of_many_small_threads_is_met_at_the_same_access() {
    let mut trace = Made::default();
    for turn in 0..2 {
        for thread in 0..200_u64 {
            let items = (0..1_000).map(|item| {
                // No two close together: a hash table.
                let item = (thread * 1_000 + item).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                (item >> 16, 0x400 + turn)
            });
            let who = (0, thread as u32);
            trace.steps.push((who, What::Loads(items.collect())));
        }
    }
    let profile = |limit: u64, threads| {
        trace.profile(&AnalysisOptions {
            memory_limit: Some(Bytes(limit << 20)),
            ..options(Sharing::Private, threads)
        })
    };
    for limit in [12, 28, 44, 256] {
        let alone = profile(limit, 1);
        let is_whole = alone.outcome == Outcome::Complete;
        assert_eq!(is_whole, alone.histogram.accesses() == 400_000);
        assert!(is_whole || limit < 44, "{limit} MiB are enough");
        assert!(!is_whole || limit > 12, "{limit} MiB are too little");
        for threads in [2, 4] {
            assert_eq!(profile(limit, threads), alone, "{limit} MiB, {threads}");
        }
    }
}

/// A touch of a late cell takes room for all cells before it, on the shelf of its thread.
#[test]
fn the_limit_on_memory_counts_room_for_cells() {
    let mut trace = Made::default();
    let mut block = |thread: u32, first: u64| {
        let loads = (first..first + 4_000).map(|load| (load % 50, 0x400 + 16 * load));
        trace
            .steps
            .push(((0, thread), What::Loads(loads.collect())));
    };
    (0..40).for_each(|at| block(0, at * 4_000));
    (1..20).for_each(|thread| block(thread, 0));
    (0..80).for_each(|_| block(0, 0));
    let asked = |threads| AnalysisOptions {
        memory_limit: Some(Bytes(256 << 20)),
        ..options(Sharing::Private, threads)
    };
    let alone = trace.profile(&asked(1));
    assert!(
        matches!(alone.outcome, Outcome::Incomplete(_)),
        "{:?}",
        alone.outcome
    );
    for threads in [2, 3] {
        let profile = trace.profile(&asked(threads));
        assert_eq!(
            profile.histogram.accesses(),
            alone.histogram.accesses(),
            "{threads}"
        );
    }
}

#[test]
fn threads_that_have_ended_take_no_memory() {
    let mut trace = Made::default();
    // All on the same items, each on its own.
    for thread in 0..400 {
        let who = (0, thread);
        for _ in 0..6 {
            let items = (0..4_000).map(|item| (item, 0x400));
            trace.steps.push((who, What::Loads(items.collect())));
        }
        trace.steps.push((who, What::End));
        // What a signal handler did comes behind the end, and is of the same thread.
        let late = vec![(7, 0x400)];
        trace.steps.push((who, What::Loads(late)));
    }
    let accesses = 400 * (6 * 4_000 + 1);
    for threads in [1, 3] {
        let asked = AnalysisOptions {
            memory_limit: Some(Bytes(24 << 20)),
            ..options(Sharing::Private, threads)
        };
        let profile = trace.profile(&asked);
        assert_eq!(profile.outcome, Outcome::Complete, "{:?}", profile.warnings);
        assert_eq!(profile.histogram.accesses(), accesses);
        assert_eq!(profile.histogram.cold(), 400 * 4_000);
    }
    for (_, what) in &mut trace.steps {
        if matches!(what, What::End) {
            *what = What::Loads(Vec::new());
        }
    }
    let asked = AnalysisOptions {
        memory_limit: Some(Bytes(24 << 20)),
        ..options(Sharing::Private, 1)
    };
    let outcome = trace.profile(&asked).outcome;
    assert!(matches!(outcome, Outcome::Incomplete(_)), "it does not fit");
}

#[test]
fn what_follows_all_threads_as_one_is_refused() {
    let error = |change: &dyn Fn(&mut AnalysisOptions)| refusal(Sharing::Private, change);
    for engine in ["sampled", "hp-rda"] {
        let message = error(&|asked| asked.engine = engine.to_owned());
        assert!(message.contains(engine), "{message}");
        assert!(message.contains("leave out --sharing private"), "{message}");
    }
    let message = error(&|asked| asked.sample = Some(0.5));
    assert!(message.contains("leave out --sample or --sharing private"));
    let both = error(&|asked| {
        asked.engine = "olken".to_owned();
        asked.sample = Some(0.5);
    });
    assert!(both.contains("looks at every access"), "{both}");
    let olken = error(&|asked| {
        asked.engine = "olken".to_owned();
        asked.max_distance = Some(7);
    });
    assert!(olken.contains("only 'counting' can"), "{olken}");
    let table = error(&|asked| {
        asked.forward = true;
        asked.max_distance = Some(7);
    });
    assert!(table.contains("--max-distance"), "{table}");
    let unknown = error(&|asked| asked.engine = "quick".to_owned());
    assert!(unknown.contains("there is no engine"), "{unknown}");
}

#[test]
fn pieces_are_of_shared_distances_only() {
    let identity = TraceIdentity {
        bytes: 1,
        head: 0,
        tail: 0,
    };
    let piece = Piece::new(1, 1).unwrap();
    let asked = options(Sharing::Private, 1);
    let mut trace = Made::random(1, 2, 5, 5);
    let part = analyze_shard(&mut trace, identity, Vec::new(), &asked, piece, &mut |_| {});
    let Err(Error::Part(error)) = part else {
        panic!("a part of private distances");
    };
    let message = error.to_string();
    assert!(message.contains("--sharing private"), "{message}");
    assert!(message.contains("reuselens analyze"), "{message}");
}

#[test]
fn profiles_of_different_sharing_do_not_add_up() {
    let trace = Made::random(1, 2, 5, 5);
    let one = trace.profile(&options(Sharing::Private, 1));
    let other = trace.profile(&options(Sharing::Shared, 1));
    let error = Profile::merge(&[one.clone(), other]).unwrap_err();
    assert!(error.to_string().contains("same --sharing"), "{error}");
    let twice = Profile::merge(&[one.clone(), one]).unwrap();
    assert_eq!(twice.method.sharing, Sharing::Private);
    let read = Profile::from_bytes(&twice.to_bytes()).unwrap();
    assert_eq!(read.method.sharing, Sharing::Private);
}
