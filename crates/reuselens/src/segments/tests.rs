mod records;
mod scheduling;

use std::io::Cursor;
use std::num::NonZeroUsize;

use reuselens_distance::generate::Random;
use reuselens_io::Input;
use reuselens_profile::{Outcome, Profile};
use reuselens_rltrace::{Header, Reader, Writer};
use reuselens_trace::Block;
use reuselens_trace::{
    AnySegment, Event, Kind, Note, ProcessEnd, ProcessId, Row, Step, Stop, Stoppable, ThreadId,
};
use reuselens_units::Bytes;
use reuselens_units::Granularity;

use super::*;
use crate::this_machine;

fn writer() -> Writer<Vec<u8>> {
    let header = Header {
        has_addresses: true,
        description: "made".to_owned(),
    };
    Writer::new(Vec::new(), "t".as_ref(), &header).unwrap()
}

/// Blocks of two processes, two to a chunk, that touch few items and some new ones; a note in every
/// third.
fn trace(seed: u64) -> Vec<u8> {
    let mut writer = writer();
    let mut random = Random::new(seed);
    for number in 0..60 {
        let mut block = Block::new();
        block.process = ProcessId(number % 3 / 2);
        block.thread = ThreadId(u32::from(number % 3));
        for row in 0..400 + random.below(300) {
            let most = random.below(1 + u64::from(number) * 20);
            let place = random.below(1 + most);
            block.push(Row {
                kind: [Kind::Load, Kind::Store][random.below(2) as usize],
                size: 8,
                pc: row % 9,
                addr: 0x1000 + place * 24,
            });
            if row == 77 {
                // A range, with its operand.
                for (kind, addr) in [(Kind::RangeLoad, place * 64), (Kind::Operand, 500)] {
                    let (size, pc) = (0, 5);
                    block.push(Row {
                        kind,
                        size,
                        pc,
                        addr,
                    });
                }
            }
        }
        writer.block(&block).unwrap();
        if number % 6 == 1 {
            let code = format!("note-{number}");
            let (message, hint) = (String::new(), String::new());
            writer
                .event(&Event::Note(Note {
                    code,
                    message,
                    hint,
                }))
                .unwrap();
        }
        if number % 2 == 1 {
            writer.flush().unwrap();
        }
    }
    writer
        .event(&Event::ProcessEnded(ProcessId(0), ProcessEnd::Exit(3)))
        .unwrap();
    writer.finish().unwrap()
}

fn reader(bytes: &[u8]) -> Reader {
    let input = Input::seekable(Cursor::new(bytes.to_vec()), "t").unwrap();
    Reader::with_threads(input, 1).unwrap()
}

fn options(threads: usize) -> AnalysisOptions {
    AnalysisOptions {
        totals_only: true,
        threads: NonZeroUsize::new(threads),
        ..AnalysisOptions::default()
    }
}

/// The profile by segments, if it can be had so.
fn segments(source: &mut dyn Segmented, options: &AnalysisOptions) -> Option<Profile> {
    let machine = this_machine();
    let pass = count_long(source, &machine, options, Accesses(1), &mut |_| {}).unwrap();
    pass.map(|pass| crate::analysis::profile(pass, source, Vec::new(), machine, options))
}

/// Counts segments, each at least an access long, with so many threads.
fn scheduled<'a>(
    scheduler: &Scheduler<FileSegment<'a>>,
    sources: Vec<AnySegment>,
    (machine, options): (&'a Machine, &'a AnalysisOptions),
    threads: usize,
    progress: &mut dyn FnMut(u64),
) -> Option<Vec<CountedSegment<FileSegment<'a>>>> {
    let segment = |source| FileSegment::new(source, machine, options);
    let segments = sources.into_iter().map(segment).collect();
    let progress = &mut |accesses: Accesses, _| progress(accesses.get());
    scheduler.run(segments, threads, Expected::default(), progress)
}

/// The profile by one thread.
fn alone(source: &mut dyn Source) -> Profile {
    crate::analyze(source, Vec::new(), &options(1), &mut |_| {}).unwrap()
}

#[test]
fn any_number_of_threads_makes_the_same_profile() {
    for seed in 0..6 {
        let bytes = trace(seed);
        let expected = alone(&mut reader(&bytes));
        assert_eq!(expected.outcome, Outcome::Exit(3));
        assert_eq!(expected.warnings.len(), 10);
        for threads in [2, 3, 7, 16] {
            let profile = segments(&mut reader(&bytes), &options(threads)).unwrap();
            assert_eq!(profile, expected, "seed {seed}, {threads} threads");
        }
    }
}

/// Each segment is split again and again, for threads that never take a half.
#[test]
fn segments_that_are_split_come_to_the_same() {
    let bytes = trace(7);
    let expected = alone(&mut reader(&bytes));
    let (machine, options) = (this_machine(), options(2));
    for (segments, idle) in [(1, 1), (1, 5), (2, 3), (3, 40)] {
        let mut source = reader(&bytes);
        let projection = projection(&source, &machine, &options).unwrap();
        let segments = source.segments(projection, segments, Accesses(1)).unwrap();
        let scheduler = Scheduler::new(Accesses(1), Bytes(u64::MAX)).with_idle(idle);
        let (few, how) = (segments.len(), (&machine, &options));
        let counted = scheduled(&scheduler, segments, how, few, &mut |_| {}).unwrap();
        assert!(counted.len() > few, "{few}");
        let pass = join(counted, ENGINE).unwrap();
        let profile =
            crate::analysis::profile(pass, &source, Vec::new(), machine.clone(), &options);
        assert_eq!(profile, expected, "{few}");
    }
}

#[test]
fn a_trace_that_breaks_off_is_read_in_one_go() {
    let bytes = trace(9);
    let (mut random, mut broken) = (Random::new(1), 0);
    for _ in 0..40 {
        let mut bytes = bytes.clone();
        let length = bytes.len() as u64;
        bytes[200 + random.below(length - 2000) as usize] ^= 4;
        let mut source = reader(&bytes);
        assert_eq!(segments(&mut source, &options(3)), None);
        // The source is as it was.
        let profile = crate::analyze(&mut source, Vec::new(), &options(1), &mut |_| {});
        let expected = crate::analyze(&mut reader(&bytes), Vec::new(), &options(1), &mut |_| {});
        match (profile, expected) {
            (Ok(profile), Ok(expected)) => {
                assert_eq!(profile, expected);
                broken += u32::from(matches!(profile.outcome, Outcome::Incomplete(_)));
            }
            (profile, expected) => {
                assert_eq!(
                    profile.unwrap_err().to_string(),
                    expected.unwrap_err().to_string()
                );
            }
        }
    }
    assert!(broken > 20, "{broken}");
}

#[test]
fn what_needs_more_than_items_or_memory_is_left_to_others() {
    let bytes = trace(2);
    let plain = options(2);
    let others = [
        AnalysisOptions {
            totals_only: false,
            ..plain.clone()
        },
        AnalysisOptions {
            sample: Some(0.5),
            ..plain.clone()
        },
        AnalysisOptions {
            max_distance: Some(9),
            ..plain.clone()
        },
        AnalysisOptions {
            reuse_times: true,
            ..plain.clone()
        },
        AnalysisOptions {
            engine: "olken".to_owned(),
            ..plain.clone()
        },
        AnalysisOptions {
            sharing: Sharing::Private,
            ..plain.clone()
        },
        AnalysisOptions {
            granularity: Some(Granularity::BYTE),
            ..plain.clone()
        },
        AnalysisOptions {
            memory_limit: Some(Bytes(1000)),
            ..plain.clone()
        },
        options(1),
    ];
    for options in &others {
        assert_eq!(segments(&mut reader(&bytes), options), None, "{options:?}");
    }
    // The source is as it was.
    let mut source = reader(&bytes);
    assert_eq!(segments(&mut source, &others[7]), None);
    assert_eq!(alone(&mut source), alone(&mut reader(&bytes)));
    assert!(segments(&mut reader(&bytes), &plain).is_some());
}

/// The profile by a thread alone that is asked for an end when `now` says so, and that of the
/// whole.
fn stopped(now: impl Fn(u64) -> bool) -> (Profile, Profile) {
    let bytes = trace(4);
    let stop = Stop::default();
    let mut source = Stoppable::new(reader(&bytes), stop.clone());
    let (machine, options) = (this_machine(), options(2));
    let projection = projection(&source, &machine, &options).unwrap();
    let segments = source.segments(projection, 2, Accesses(1)).unwrap();
    let scheduler = Scheduler::new(Accesses(1), Bytes(u64::MAX));
    let mut progress = |accesses| {
        if now(accesses) {
            stop.ask(15);
        }
    };
    let how = (&machine, &options);
    let counted = scheduled(&scheduler, segments, how, 1, &mut progress).unwrap();
    let pass = join(counted, ENGINE).unwrap();
    let profile = crate::analysis::profile(pass, &source, Vec::new(), machine, &options);
    (profile, alone(&mut reader(&bytes)))
}

#[test]
fn who_asks_for_an_end_gets_the_beginning() {
    let (profile, whole) = stopped(|accesses| accesses > 2000);
    assert!(matches!(&profile.outcome, Outcome::Incomplete(why) if why.contains("SIGTERM")));
    let (some, all) = (profile.histogram.accesses(), whole.histogram.accesses());
    assert!(2000 < some && some < all / 2, "{some} of {all}");
    assert_eq!(some, profile.cells[0].histogram.accesses());
}

/// The events of a segment that was read are kept, even if the one after it was never begun.
#[test]
fn an_end_between_two_segments_loses_nothing_of_the_first() {
    let bytes = trace(4);
    let (machine, options) = (this_machine(), options(2));
    let projection = ItemProjection::new(Granularity::LINE_64, |_| true);
    let first = || {
        let segments = reader(&bytes).segments(projection, 2, Accesses(1));
        segments.unwrap().swap_remove(0)
    };
    let scheduler = Scheduler::new(Accesses(1), Bytes(u64::MAX));
    let how = (&machine, &options);
    let counted = scheduled(&scheduler, vec![first()], how, 1, &mut |_| {}).unwrap();
    let accesses = counted[0].accesses;
    let (mut segment, mut block, mut notes) = (first(), Block::new(), 0);
    loop {
        match segment.next(&mut block).unwrap() {
            Step::Block => {}
            Step::Event(_) => notes += 1,
            Step::End => break,
        }
    }
    // Some are counted only when all was read.
    let (profile, _) = stopped(|now| now == accesses);
    assert_eq!(profile.histogram.accesses(), accesses);
    assert!(notes > 1 && profile.warnings.len() == notes + 1, "{notes}");
}

#[test]
fn memory_is_looked_at_within_a_long_range() {
    let mut writer = writer();
    for kind in [Kind::Load, Kind::Store, Kind::RangeLoad] {
        let mut block = Block::new();
        for (kind, addr) in [(kind, 1 << 30), (Kind::Operand, 1 << 30)] {
            let (size, pc) = (8, 1);
            block.push(Row {
                kind,
                size,
                pc,
                addr,
            });
        }
        writer.block(&block).unwrap();
        writer.flush().unwrap();
    }
    let bytes = writer.finish().unwrap();
    let limit = Bytes(16 << 20);
    let (machine, options) = (this_machine(), options(2));
    let mut source = reader(&bytes);
    let projection = projection(&source, &machine, &options).unwrap();
    let segments = source.segments(projection, 3, Accesses(1)).unwrap();
    let scheduler = Scheduler::new(Accesses(1), limit);
    let (how, mut counted) = ((&machine, &options), 0);
    let mut progress = |accesses| counted = accesses;
    assert!(scheduled(&scheduler, segments, how, 1, &mut progress).is_none());
    // Some of the lines, not all sixteen million.
    assert!((100_000..8_000_000).contains(&counted), "{counted}");
}

#[test]
fn progress_goes_on_to_the_end() {
    let bytes = trace(5);
    let (machine, mut last) = (this_machine(), (0, 0));
    let mut tell = |progress: Progress| {
        let (read, all) = progress.source_bytes.unwrap();
        let now = (progress.accesses.get(), read);
        assert!(now.0 >= last.0 && now.1 >= last.1 && read <= all);
        last = now;
    };
    let pass = count_long(
        &mut reader(&bytes),
        &machine,
        &options(3),
        Accesses(1),
        &mut tell,
    );
    assert_eq!(pass.unwrap().unwrap().accesses, last.0);
    assert!(last.1 > bytes.len() as u64 / 2);
}

/// A program that names an array of elements of so many bytes, and its accesses to it.
fn named(element: u64) -> Vec<u8> {
    let mut writer = writer();
    let mut random = Random::new(element);
    for number in 0..20 {
        let mut block = Block::new();
        let mut push = |kind, addr, operands: &[u64]| {
            let row = |kind, addr| Row {
                kind,
                size: 0,
                pc: 3,
                addr,
            };
            block.push(row(kind, addr));
            for operand in operands {
                block.push(row(Kind::Operand, *operand));
            }
        };
        if number == 0 {
            let name = u64::from_le_bytes(*b"array\0\0\0");
            push(Kind::Data, 0x4000, &[element * 1000, element, 5, name]);
        }
        for _ in 0..500 {
            let place = random.below(1000) * element + random.below(element);
            push(Kind::Named, 0x4000 + place, &[0x4000]);
            push(Kind::Statement, 0, &[]);
        }
        writer.block(&block).unwrap();
        writer.flush().unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn names_are_no_hindrance_unless_elements_lie_in_several_items() {
    let even = named(8);
    let expected = alone(&mut reader(&even));
    assert_eq!(expected.histogram.accesses(), 10_000);
    for threads in [2, 5] {
        let profile = segments(&mut reader(&even), &options(threads));
        assert_eq!(profile, Some(expected.clone()));
    }
    let mut uneven = reader(&named(24));
    assert_eq!(segments(&mut uneven, &options(2)), None);
    let profile = crate::analyze(&mut uneven, Vec::new(), &options(2), &mut |_| {}).unwrap();
    assert_eq!(profile, alone(&mut reader(&named(24))));
    // An element at an item's end is two accesses to items.
    assert!(profile.histogram.accesses() > 10_000);
}
