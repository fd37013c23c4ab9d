//! Traces in pieces and on threads: always the profile of the whole, to the byte.

use std::num::NonZeroUsize;

use reuselens::distance::generate::{Generator, Jacobi, Loop, Random, Uniform, Zipf};
use reuselens::distance::{CountingTree, Engine};
use reuselens::io::FileError;
use reuselens::locality::ExactHistogram;
use reuselens::profile::Profile;
use reuselens::shard::{
    Part, PartError, Piece, TraceIdentity, analyze_shard, finish, histogram_parallel, merge,
};
use reuselens::trace::{
    Block, Event, Kind, Process, ProcessEnd, ProcessId, Projection, Row, Source, Step, Thread,
    ThreadId, TraceError,
};
use reuselens::units::{Bytes, Distance, Granularity};
use reuselens::{AnalysisOptions, Error, analyze};

/// A trace made by hand: steps, and after each how many bytes were read.
#[derive(Clone)]
struct Made {
    steps: Vec<Made1>,
    at: usize,
    breaks: bool,
}

#[derive(Clone)]
enum Made1 {
    Rows(Block),
    Happened(Event),
}

impl Source for Made {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        let step = self.steps.get(self.at);
        self.at += 1;
        match step {
            Some(Made1::Rows(rows)) => {
                *block = rows.clone();
                Ok(Step::Block)
            }
            Some(Made1::Happened(event)) => Ok(Step::Event(event.clone())),
            None if self.breaks && self.at == self.steps.len() + 1 => {
                Err(TraceError::File(FileError::Corrupt {
                    path: "made".into(),
                    what: "it breaks off".into(),
                    position: "its end".into(),
                }))
            }
            None => Ok(Step::End),
        }
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        "made by hand".to_owned()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        // As in a file of chunks: several blocks become known at once.
        Some((self.at as u64 / 3 * 3, self.steps.len() as u64))
    }

    fn is_of_one_thread(&self) -> bool {
        false
    }

    fn memory(&self) -> Bytes {
        Bytes(0)
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}

    fn project(&mut self, _projection: Projection) -> bool {
        false
    }
}

fn row(kind: Kind, pc: u64, addr: u64) -> Row {
    let size = 8;
    Row {
        kind,
        size,
        pc,
        addr,
    }
}

/// Two threads, functions, a structure with elements that is named on the way, ranges, an end.
fn made(random: &mut Random) -> Made {
    let thread = |id| {
        Made1::Happened(Event::Thread(Thread {
            id: ThreadId(id),
            ..Thread::default()
        }))
    };
    let mut steps = vec![
        Made1::Happened(Event::Process(Process::default())),
        thread(0),
        thread(1),
    ];
    let number = 1 + random.below(30);
    for at in 0..number {
        let mut block = Block::new();
        block.thread = ThreadId(random.below(2) as u32);
        if at == number / 3 {
            block.push(row(Kind::Data, 0x5000, 0x5000));
            for operand in [256, 8, 1, u64::from(b'A')] {
                block.push_operand(operand);
            }
        }
        for _ in 0..random.below(60) {
            let pc = 0x400 + random.below(6) * 4;
            match random.below(12) {
                0 => {
                    block.push(row(Kind::Enter, pc, 0x9000));
                    block.push_operand(pc + 1);
                }
                1 => block.push(row(Kind::Exit, pc, 0x9000)),
                2 => {
                    block.push(row(Kind::RangeStore, pc, 0x5000 + random.below(300)));
                    block.push_operand(random.below(80));
                }
                3 | 4 => block.push(row(Kind::Store, pc, 0x5000 + 8 * random.below(40))),
                _ => block.push(row(Kind::Load, pc, 0x4000 + 8 * random.below(90))),
            }
        }
        steps.push(Made1::Rows(block));
    }
    let end = ProcessEnd::Exit(random.below(3) as i32);
    steps.push(Made1::Happened(Event::ProcessEnded(ProcessId(0), end)));
    Made {
        steps,
        at: 0,
        breaks: random.below(5) == 0,
    }
}

fn options() -> AnalysisOptions {
    AnalysisOptions {
        granularity: Granularity::new(8).ok(),
        elements: true,
        threads: NonZeroUsize::new(1),
        ..AnalysisOptions::default()
    }
}

fn whole(trace: &Made, options: &AnalysisOptions) -> Profile {
    analyze(
        &mut trace.clone(),
        vec!["made".into()],
        options,
        &mut |_| {},
    )
    .unwrap()
}

fn identity() -> TraceIdentity {
    TraceIdentity {
        bytes: 7,
        head: 1,
        tail: 2,
    }
}

fn part(trace: &Made, number: u32, of: u32) -> Part {
    let piece = Piece::new(number, of).unwrap();
    let (command, options) = (vec!["made".into()], options());
    let mut trace = trace.clone();
    analyze_shard(
        &mut trace,
        identity(),
        command,
        &options,
        piece,
        &mut |_| {},
    )
    .unwrap()
}

/// There and back through the form of a file.
fn stored(part: Part) -> Part {
    let bytes = part.to_bytes();
    let read = Part::from_bytes(&bytes).unwrap();
    assert!(read == part, "{}", part.name());
    assert!(read.to_bytes() == bytes, "{}", part.name());
    read
}

#[test]
fn any_pieces_merged_in_any_order_are_the_profile_of_the_whole() {
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let trace = made(&mut random);
        let expected = whole(&trace, &options());
        let of = [1, 2, 3, 7, 16][random.below(5) as usize];
        let mut parts: Vec<Part> = (1..=of)
            .map(|number| stored(part(&trace, number, of)))
            .collect();
        let accesses: u64 = parts.iter().map(Part::accesses).sum();
        assert_eq!(accesses, expected.histogram.accesses(), "seed {seed}");
        let at_once = finish(parts.iter().rev().cloned().collect()).unwrap();
        assert_eq!(at_once, expected, "seed {seed}, {of} pieces");
        while parts.len() > 1 {
            let at = random.below(parts.len() as u64 - 1) as usize;
            let (one, two) = (parts[at].clone(), parts.remove(at + 1));
            parts[at] = stored(if seed % 2 == 0 {
                merge(one, two).unwrap()
            } else {
                merge(two, one).unwrap()
            });
        }
        let merged = parts.remove(0).finish().unwrap();
        assert_eq!(merged, expected, "seed {seed}, {of} pieces");
        assert!(merged.to_bytes() == expected.to_bytes(), "seed {seed}");
    }
}

#[test]
fn merging_is_associative_to_the_byte() {
    for seed in 0..40 {
        let trace = made(&mut Random::new(seed));
        let parts: Vec<Part> = (1..=3).map(|number| part(&trace, number, 3)).collect();
        let [a, b, c] = [0, 1, 2].map(|at: usize| parts[at].clone());
        let left = merge(merge(a.clone(), b.clone()).unwrap(), c.clone()).unwrap();
        let right = merge(a, merge(b, c).unwrap()).unwrap();
        assert!(left.to_bytes() == right.to_bytes(), "seed {seed}");
    }
}

#[test]
fn what_does_not_fit_is_told() {
    let mut random = Random::new(3);
    let (trace, other) = (made(&mut random), made(&mut random));
    let [a, b, c] = [1, 2, 3].map(|number| part(&trace, number, 3));
    let refused = |one: &Part, other: &Part, hints: &[&str]| {
        for (one, other) in [(one, other), (other, one)] {
            let error = merge(one.clone(), other.clone()).unwrap_err().to_string();
            for hint in hints {
                assert!(error.contains(hint), "{hint}: {error}");
            }
        }
    };
    refused(&a, &c, &["missing: 2/3", "reuselens shard 2/3"]);
    refused(&a, &a, &["1/3", "name each piece once"]);
    refused(&part(&trace, 1, 2), &b, &["1/2", "2/3", "same options"]);
    refused(&a, &part(&other, 2, 3), &["do not fit", "1/3", "2/3"]);
    let with = |identity, options| {
        let piece = Piece::new(2, 3).unwrap();
        let mut trace = trace.clone();
        analyze_shard(&mut trace, identity, vec![], &options, piece, &mut |_| {}).unwrap()
    };
    let mut identity = identity();
    identity.tail = 9;
    refused(
        &a,
        &with(identity, options()),
        &["different traces", "00000009"],
    );
    let wide = AnalysisOptions {
        granularity: Granularity::new(64).ok(),
        ..options()
    };
    let wide = with(self::identity(), wide);
    refused(
        &a,
        &wide,
        &["--granularity 8 ", "--granularity 64 ", "1/3", "2/3"],
    );
    for (parts, missing) in [
        (vec![b.clone(), c.clone()], "1/3"),
        (vec![a.clone()], "2-3/3"),
        (vec![a.clone(), c], "2/3"),
    ] {
        let error = finish(parts).unwrap_err();
        assert!(matches!(&error, PartError::Missing { missing: found, .. } if found == missing));
    }
    assert!(matches!(finish(Vec::new()), Err(PartError::Nothing)));
    assert!(matches!(a.finish(), Err(PartError::Missing { .. })));
}

#[test]
fn a_piece_is_whole_or_an_error() {
    let trace = made(&mut Random::new(5));
    let piece = Piece::new(1, 1).unwrap();
    let shard = |options: AnalysisOptions| {
        let mut trace = trace.clone();
        analyze_shard(&mut trace, identity(), vec![], &options, piece, &mut |_| {})
    };
    let small = AnalysisOptions {
        memory_limit: Some(Bytes(1)),
        ..options()
    };
    // Memory is looked at now and then: a trace this short may be over before.
    if let Err(error) = shard(small) {
        assert!(
            matches!(error, Error::Part(PartError::OutOfMemory { .. })),
            "{error}"
        );
    }
    let other = AnalysisOptions {
        engine: "olken".to_owned(),
        ..options()
    };
    assert!(matches!(
        shard(other),
        Err(Error::Part(PartError::Engine { .. }))
    ));
}

#[test]
fn a_part_that_was_changed_is_never_taken_for_whole() {
    let trace = made(&mut Random::new(11));
    for number in [1, 2] {
        let bytes = part(&trace, number, 2).to_bytes();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x41;
            assert!(Part::from_bytes(&changed).is_err(), "byte {at}");
            assert!(Part::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        }
        let more = [&bytes[..], &[0]].concat();
        assert!(Part::from_bytes(&more).is_err());
    }
}

/// What no checksum keeps out: the inside changed, byte by byte. It is refused, or it is a part.
#[test]
fn a_forged_part_does_no_harm() {
    let trace = made(&mut Random::new(4));
    let parts: Vec<Part> = (1..=2).map(|number| part(&trace, number, 2)).collect();
    let (mut read, mut refused) = (0, 0);
    for forged in &parts {
        let body = zstd::decode_all(&forged.to_bytes()[32..]).unwrap();
        assert!(Part::from_body(&body).unwrap() == *forged);
        // Every third byte: all of them take minutes.
        for at in (0..body.len()).step_by(3) {
            for new in [0xff, body[at] ^ 1] {
                let mut body = body.clone();
                body[at] = new;
                let Ok(forged) = Part::from_body(&body) else {
                    refused += 1;
                    continue;
                };
                read += 1;
                for other in &parts {
                    if let Ok(merged) = merge(forged.clone(), other.clone()) {
                        let _ = merged.finish();
                    }
                }
            }
            assert!(Part::from_body(&body[..at]).is_err(), "cut at {at}");
        }
    }
    assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
}

#[test]
fn threads_do_not_show() {
    for seed in 0..40 {
        let trace = made(&mut Random::new(seed));
        let expected = whole(&trace, &options());
        for threads in [1, 2, 3, 7, 16] {
            for engine in ["auto", "counting"] {
                let options = AnalysisOptions {
                    threads: NonZeroUsize::new(threads),
                    engine: engine.to_owned(),
                    ..options()
                };
                assert_eq!(
                    whole(&trace, &options),
                    expected,
                    "seed {seed}, {engine} on {threads} threads"
                );
            }
        }
    }
}

#[test]
fn a_limit_on_memory_stops_at_the_same_access_on_any_threads() {
    let mut items = Uniform::new(1 << 20, 3);
    let mut steps = vec![Made1::Happened(Event::Process(Process::default()))];
    for _ in 0..200 {
        let mut block = Block::new();
        for _ in 0..4000 {
            let item = items.next_item() % (1 << 20);
            block.push(row(Kind::Load, 0x400, 8 * item));
        }
        steps.push(Made1::Rows(block));
    }
    let trace = Made {
        steps,
        at: 0,
        breaks: false,
    };
    let on = |engine: &str, threads| {
        let options = AnalysisOptions {
            threads: NonZeroUsize::new(threads),
            memory_limit: Some(Bytes(6 << 20)),
            engine: engine.to_owned(),
            ..options()
        };
        whole(&trace, &options)
    };
    let stopped = on("counting", 1);
    let accesses = stopped.histogram.accesses();
    assert!((1..800_000).contains(&accesses), "it stops: {accesses}");
    assert_eq!(stopped.warnings[0].code, "memory-limit");
    // With a sample, or it stops too.
    let short = on("auto", 1);
    assert!(!short.warnings.is_empty(), "the limit is met");
    for threads in [2, 3, 7] {
        assert_eq!(on("counting", threads), stopped, "{threads} threads");
        assert_eq!(on("auto", threads), short, "{threads} threads");
    }
}

/// What it holds when it stops is no more than it may: it stops before a table grows, not after.
#[test]
fn a_limit_on_memory_is_looked_at_before_a_table_grows() {
    let mut numbers = vec![0; 1 << 21];
    Uniform::new(1 << 50, 3).fill(&mut numbers);
    let mut steps = vec![Made1::Happened(Event::Process(Process::default()))];
    for numbers in numbers.chunks(4000) {
        let mut block = Block::new();
        for number in numbers {
            block.push(row(Kind::Load, 0x400, 8 * (number >> 4)));
        }
        steps.push(Made1::Rows(block));
    }
    let trace = Made {
        steps,
        at: 0,
        breaks: false,
    };
    for limit in [16, 24, 37].map(|mib| mib << 20) {
        let options = AnalysisOptions {
            threads: NonZeroUsize::new(1),
            memory_limit: Some(Bytes(limit)),
            engine: "counting".to_owned(),
            elements: false,
            contexts: false,
            totals_only: true,
            ..options()
        };
        let stopped = whole(&trace, &options);
        let accesses = stopped.histogram.accesses() as usize;
        assert!((400_000..numbers.len()).contains(&accesses), "{accesses}");
        let mut engine = CountingTree::new();
        let mut distances = vec![Distance::ZERO; 4000];
        for numbers in numbers[..accesses].chunks(4000) {
            let items: Vec<u64> = numbers.iter().map(|number| number >> 4).collect();
            engine.process(&items, &mut distances[..items.len()]);
        }
        assert!(engine.memory() <= Bytes(limit), "{}", engine.memory());
        assert!(engine.memory_ahead(1 << 17) > Bytes(limit / 2));
    }
}

fn stream(kind: u64, items: u64) -> Box<dyn Generator> {
    match kind {
        0 => Box::new(Uniform::new(items, 1)),
        1 => Box::new(Zipf::new(items as u32, 0.99, 1)),
        2 => Box::new(Loop::new(64, 8, items)),
        _ => Box::new(Jacobi::new(40)),
    }
}

#[test]
fn items_in_memory_have_one_histogram_on_any_threads() {
    for (kind, length) in (0..4).flat_map(|kind| [0, 1, 15, 1000, 90_001].map(|l| (kind, l))) {
        let mut items = vec![0; length];
        stream(kind, 5000).fill(&mut items);
        let mut distances = vec![Distance::ZERO; length];
        CountingTree::new().process(&items, &mut distances);
        let mut expected = ExactHistogram::new();
        expected.add_column(&distances);
        for threads in [1, 2, 3, 7, 16] {
            let found = histogram_parallel(&items, NonZeroUsize::new(threads).unwrap());
            assert_eq!(found, expected, "stream {kind} of {length} on {threads}");
        }
    }
}

/// Long enough that stretches are as long as an estimate says, and tables as large.
#[test]
fn long_traces_have_one_histogram_on_any_threads() {
    for (kind, items) in [
        (0, 150_000),
        (1, 300_000),
        (2, 90_000),
        (3, 0),
        (0, 1 << 50),
    ] {
        let mut trace = vec![0; (1 << 21) + 12_345];
        stream(kind, items).fill(&mut trace);
        let mut distances = vec![Distance::ZERO; trace.len()];
        CountingTree::new().process(&trace, &mut distances);
        let mut expected = ExactHistogram::new();
        expected.add_column(&distances);
        for threads in [1, 2] {
            let found = histogram_parallel(&trace, NonZeroUsize::new(threads).unwrap());
            assert!(found == expected, "stream {kind} on {threads}");
        }
    }
}

/// The same for more threads: of each the stretch is long enough for an estimate.
#[test]
fn many_long_stretches_have_the_histogram_of_one() {
    const LONG: usize = 5 * ((1 << 20) + 12_345);
    for (kind, items) in [(0, 150_000), (0, 1 << 50)] {
        let mut trace = vec![0; LONG];
        stream(kind, items).fill(&mut trace);
        let [one, five] = [1, 5].map(|threads| {
            let threads = NonZeroUsize::new(threads).unwrap();
            histogram_parallel(&trace, threads)
        });
        assert!(one == five, "stream {kind} of {items}");
    }
}
