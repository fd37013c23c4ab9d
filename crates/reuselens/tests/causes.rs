//! What a profile records of why accesses miss: the same bytes for any number of threads and any
//! blocks, sums that agree with the distances, and refusals.

mod common;

use std::num::NonZeroUsize;

use common::{Made, What};
use reuselens::attribute::Kinds;
use reuselens::profile::{Profile, Sharing};
use reuselens::trace::{Kind, Row};
use reuselens::units::{Bytes, Granularity};
use reuselens::{AnalysisOptions, analyze, check};
use reuselens_testing::traces::foreign::{self, PASS_LINES, PASSES};

/// Bytes of the cache, and the lines that it holds.
const CACHE: Bytes = Bytes(4096);
const LINES: u64 = 64;

/// Two threads: each sweeps over its own lines, two bytes of each line a sweep, and both store to
/// different bytes of one line in between.
fn program(length: usize) -> Made {
    let mut steps = Vec::new();
    for sweep in 0..6_u64 {
        for thread in 0..2_u32 {
            let base = u64::from(thread) << 32 | 1 << 20;
            let mut rows = Vec::new();
            let mut access = |kind, pc, addr| {
                rows.push(Row {
                    kind,
                    size: 1,
                    pc,
                    addr,
                })
            };
            for line in 0..100 {
                access(Kind::Load, 0x100, base + line * 64 + sweep);
                access(Kind::Store, 0x200, base + line * 64 + 63);
            }
            access(Kind::Store, 0x300, (5 << 40) + 8 * u64::from(thread));
            for block in rows.chunks(length) {
                steps.push(((0, thread), What::Rows(block.to_vec())));
            }
        }
    }
    Made { steps, at: 0 }
}

fn options(threads: usize) -> AnalysisOptions {
    AnalysisOptions {
        causes: Some(CACHE),
        granularity: Some(Granularity::LINE_64),
        threads: NonZeroUsize::new(threads),
        memory_limit: Some(Bytes(1 << 30)),
        ..AnalysisOptions::default()
    }
}

fn profile(length: usize, options: &AnalysisOptions) -> Profile {
    analyze(&mut program(length), vec![], options, &mut |_| {}).unwrap()
}

/// The codes of the warnings. The programs above name no data, which is among them.
fn codes(profile: &Profile) -> Vec<&str> {
    profile.warnings.iter().map(|it| it.code.as_str()).collect()
}

#[test]
fn causes_agree_with_the_distances_of_their_cells() {
    let profile = profile(64, &options(1));
    let causes = profile.causes.as_ref().unwrap();
    assert_eq!(causes.cache, CACHE);
    let misses = profile.histogram.misses(LINES);
    // Each sweep evicts all lines, that of the other thread and the one that both store to.
    assert_eq!(misses, 2 * 6 * 101);
    let fills: u64 = profile.cells.iter().map(|cell| cell.causes.fills).sum();
    assert_eq!(fills, misses);
    for cell in &profile.cells {
        let site = &profile.sites[cell.site as usize];
        let used = cell.causes.used_bytes;
        match cell.causes.fills {
            0 => assert_eq!(used, 0, "{site:?}"),
            // A byte that is loaded and one that is stored.
            600 => assert_eq!(used, 1200, "{site:?}"),
            // The line that both store to is evicted before the other thread stores.
            fills => assert_eq!((fills, used), (6, 6), "{site:?}"),
        }
    }
    let invalidated: u64 = profile
        .cells
        .iter()
        .map(|cell| cell.causes.false_sharing)
        .sum();
    // Each store but the first of each thread follows one of the other thread.
    assert_eq!(invalidated, 10);
    assert!(
        profile
            .cells
            .iter()
            .all(|cell| cell.causes.true_sharing == 0)
    );
    let intervals = &causes.phases.intervals;
    assert_eq!(
        intervals.iter().map(|it| it.accesses).sum::<u64>(),
        2 * 6 * 201
    );
    assert_eq!(intervals.iter().map(|it| it.misses).sum::<u64>(), misses);
}

/// Blocks of the heap of 48 bytes, of which one field of 8 is read again and again.
#[test]
fn blocks_of_one_size_are_counted_by_offset() {
    let row = |kind, size, pc, addr| Row {
        kind,
        size,
        pc,
        addr,
    };
    let blocks = (0..100).map(|block| (1 << 30) + block * 64);
    let mut rows = Vec::new();
    for block in blocks.clone() {
        rows.push(row(Kind::Alloc, 0, 0x500, block));
        rows.push(row(Kind::Operand, 0, 0, 48));
    }
    for _ in 0..6 {
        rows.extend(
            blocks
                .clone()
                .map(|block| row(Kind::Load, 8, 0x600, block + 8)),
        );
    }
    let steps = vec![((0, 0), What::Rows(rows))];
    let profile = analyze(&mut Made { steps, at: 0 }, vec![], &options(1), &mut |_| {}).unwrap();
    let causes = profile.causes.as_ref().unwrap();
    let [element] = &causes.elements[..] else {
        panic!("{:?}", causes.elements);
    };
    assert_eq!(element.layout, None);
    let only = |byte: usize, count: u64| -> Vec<u64> {
        (0..48)
            .map(|at| if at == byte { count } else { 0 })
            .collect()
    };
    assert_eq!(element.accesses, only(8, 600));
    assert_eq!(element.misses, only(8, 600));
    let used = |byte: usize| if (8..16).contains(&byte) { 600 } else { 0 };
    assert_eq!(element.used, (0..48).map(used).collect::<Vec<u64>>());
}

#[test]
fn causes_do_not_depend_on_threads_or_blocks() {
    let first = profile(64, &options(1)).to_bytes();
    for (length, threads) in [(64, 2), (7, 1), (1000, 3)] {
        assert!(
            profile(length, &options(threads)).to_bytes() == first,
            "{length} {threads}"
        );
    }
}

#[test]
fn a_profile_with_causes_is_read_back() {
    let profile = profile(64, &options(1));
    assert_eq!(Profile::from_bytes(&profile.to_bytes()).unwrap(), profile);
    let merged = Profile::merge(&[profile.clone(), profile]).unwrap();
    assert_eq!(merged.causes, None);
    assert!(merged.cells.iter().all(|cell| cell.causes.is_empty()));
}

/// As many sweeps over many more lines, of which 16 bytes are used in each.
fn long_program() -> Made {
    let mut steps = Vec::new();
    for sweep in 0..8_u64 {
        for part in 0..64_u64 {
            let row = |line: u64| Row {
                kind: Kind::Load,
                size: 8,
                pc: 0x100,
                addr: (1 << 20) + line * 64 + 8 * (sweep % 2) + 16 * (line % 3),
            };
            let lines = part * 1000..(part + 1) * 1000;
            let rows = lines.flat_map(|line| [row(line), row(line)]).collect();
            steps.push(((0, 0), What::Rows(rows)));
        }
    }
    Made { steps, at: 0 }
}

#[test]
fn a_sample_bounds_the_bytes_used_and_warns_of_what_is_not_known() {
    let cache = Bytes(64 << 10);
    let all = AnalysisOptions {
        causes: Some(cache),
        ..options(1)
    };
    let profile = |options: &AnalysisOptions| {
        analyze(&mut long_program(), vec![], options, &mut |_| {}).unwrap()
    };
    let sums = |profile: &Profile| {
        let mut sum = reuselens::profile::CellCauses::default();
        (profile.cells.iter()).for_each(|cell| sum.merge(&cell.causes));
        sum
    };
    let exact = sums(&profile(&all));
    let truth = exact.utilisation(64).unwrap();
    for (engine, seed) in [("auto", 1), ("sampled", 2), ("auto", 3)] {
        let options = AnalysisOptions {
            engine: engine.to_owned(),
            sample: Some(0.05),
            seed,
            ..all.clone()
        };
        let sampled = profile(&options);
        let causes = sampled.causes.as_ref().unwrap();
        assert!(!sampled.method.exact);
        assert_eq!((causes.cache, causes.sample_rate), (cache, Some(0.05)));
        let known = causes.sampled_use[0];
        assert!((known.utilisation - truth).abs() <= known.half_width);
        assert!(known.half_width < 0.05, "{known:?}");
        let fills = sums(&sampled).fills as f64 / exact.fills as f64;
        assert!((0.9..1.1).contains(&fills), "{fills}");
        assert!(causes.phases.intervals.is_empty() && causes.set_caches.is_empty());
        assert_eq!(codes(&sampled), ["causes-in-part", "sampled-causes"]);
        assert_eq!(Profile::from_bytes(&sampled.to_bytes()).unwrap(), sampled);
        let threads = AnalysisOptions {
            threads: NonZeroUsize::new(3),
            ..options
        };
        assert!(profile(&threads).to_bytes() == sampled.to_bytes());
        // Bounds of several runs do not add up.
        let merged = Profile::merge(&[sampled.clone(), sampled]).unwrap();
        assert_eq!(merged.causes, None);
        assert!(codes(&merged).contains(&"causes-of-one-run"));
    }
}

/// Distances of a short trace are exact though a sample is asked for, and so are causes.
#[test]
fn a_sample_of_a_short_trace_has_all_causes() {
    let asked = AnalysisOptions {
        sample: Some(0.01),
        ..options(1)
    };
    let (mut sampled, mut exact) = (profile(64, &asked), profile(64, &options(1)));
    assert!(sampled.method.exact);
    assert_eq!(sampled.causes.as_ref().unwrap().sample_rate, None);
    assert_eq!(codes(&sampled), ["causes-in-part", "sampled-causes"]);
    assert_eq!(codes(&exact), ["causes-in-part", "no-basic-blocks"]);
    for profile in [&mut sampled, &mut exact] {
        profile.warnings.clear();
        profile.method.engine.clear();
    }
    assert!(sampled == exact);
    let all = AnalysisOptions {
        sample: Some(1.0),
        ..options(1)
    };
    assert_eq!(profile(64, &all).causes, exact.causes);
}

#[test]
fn nothing_is_recorded_unless_it_is_asked_for() {
    let options = AnalysisOptions {
        causes: None,
        ..options(1)
    };
    let profile = profile(64, &options);
    assert_eq!(profile.causes, None);
    assert!(profile.cells.iter().all(|cell| cell.causes.is_empty()));
}

#[test]
fn causes_refuse_what_they_do_not_go_together_with() {
    let refused = |change: fn(&mut AnalysisOptions)| {
        let mut options = options(1);
        change(&mut options);
        check(&options).unwrap_err().to_string()
    };
    assert!(refused(|it| it.sharing = Sharing::Private).contains("--sharing private"));
    assert!(refused(|it| it.kinds = Kinds::Loads).contains("--kind"));
    assert!(refused(|it| it.totals_only = true).contains("--by program"));
    assert!(refused(|it| it.engine = "hp-rda".to_owned()).contains("engine"));
    assert!(refused(|it| it.causes = Some(Bytes(63))).contains("holds no item"));
}

/// Warnings list what a trace of another tool does not have, and what it has is counted.
#[test]
fn foreign_traces_warn_of_what_is_not_known() {
    let (instructions, data, threads) = (
        "which instructions miss",
        "which data they miss",
        "threads share lines",
    );
    for (format, trace, unknown) in [
        // Its rows of instructions come before those of their accesses.
        ("lackey", foreign::lackey(), [false, true, true]),
        ("csv", foreign::pin(), [false, true, false]),
        ("drmemtrace", foreign::drmemtrace(), [false, true, true]),
    ] {
        let input = reuselens_io::Input::new(std::io::Cursor::new(trace), "trace");
        let mut source = reuselens_formats::read(input, Some(format)).unwrap();
        let profile = analyze(&mut *source, vec![], &options(1), &mut |_| {}).unwrap();
        assert_eq!(
            codes(&profile),
            ["causes-in-part", "no-basic-blocks"],
            "{format}"
        );
        let message = &profile.warnings[0].message;
        let says = [instructions, data, threads].map(|part| message.contains(part));
        assert_eq!(says, unknown, "{format}: {message}");
        let mut sum = reuselens::profile::CellCauses::default();
        (profile.cells.iter()).for_each(|cell| sum.merge(&cell.causes));
        assert_eq!(
            (sum.fills, sum.used_bytes),
            (PASSES * PASS_LINES, PASSES * PASS_LINES * 16),
            "{format}"
        );
    }
}
