//! What a profile records for placing data: the same bytes for any number of threads and any
//! blocks, and nothing where it is not asked for.

use std::num::NonZeroUsize;

use reuselens::profile::{ContextFootprint, Dimension, PlacementData, Profile};
use reuselens::trace::{
    Block, Event, Kind, Process, Projection, Row, Source, Step, Thread, TraceError,
};
use reuselens::units::{Bytes, Granularity};
use reuselens::{AnalysisOptions, Error, analyze};

const PAGES: u64 = 512;
const LOW: u64 = 0x10_0000_0000;

/// Two functions of one caller: `fill` accesses all of a block of 2 MiB, `use` its first quarter,
/// twice.
#[derive(Clone)]
struct Program {
    rows: Vec<Row>,
    at: usize,
    begun: u32,
    /// Rows of a block.
    length: usize,
}

impl Program {
    fn new(length: usize) -> Program {
        let mut rows = Vec::new();
        let mut row = |kind, pc, addr| {
            rows.push(Row {
                kind,
                size: 8,
                pc,
                addr,
            });
        };
        let mut call = |function: u64, pages: u64| {
            row(Kind::Enter, function, 0x7fff_0000);
            row(Kind::Operand, 0, 0x2000 + function);
            if pages == PAGES {
                row(Kind::Alloc, function + 1, LOW);
                row(Kind::Operand, 0, PAGES * 4096);
            }
            for item in 0..pages * 64 {
                row(Kind::Store, function + 2 + item % 2, LOW + item * 64);
            }
            row(Kind::Exit, function, 0x7fff_0000);
        };
        call(0x1000, PAGES);
        call(0x1100, PAGES / 4);
        call(0x1100, PAGES / 4);
        row(Kind::Free, 0, LOW);
        row(Kind::Operand, 0, 0);
        Program {
            rows,
            at: 0,
            begun: 0,
            length,
        }
    }
}

impl Source for Program {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        self.begun += 1;
        match self.begun {
            1 => return Ok(Step::Event(Event::Process(Process::default()))),
            2 => return Ok(Step::Event(Event::Thread(Thread::default()))),
            _ => block.clear(),
        }
        // An operand is in the block of its row.
        while let Some(row) = self.rows.get(self.at)
            && (block.len() < self.length || row.kind == Kind::Operand)
        {
            block.push(*row);
            self.at += 1;
        }
        if block.is_empty() {
            Ok(Step::End)
        } else {
            Ok(Step::Block)
        }
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        "made by hand".to_owned()
    }

    fn is_of_one_thread(&self) -> bool {
        true
    }

    fn progress(&self) -> Option<(u64, u64)> {
        None
    }

    fn memory(&self) -> Bytes {
        Bytes(0)
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}

    fn project(&mut self, _: Projection) -> bool {
        false
    }
}

fn options(threads: usize) -> AnalysisOptions {
    AnalysisOptions {
        placement: Some(PlacementData::default()),
        threads: NonZeroUsize::new(threads),
        memory_limit: Some(Bytes(1 << 30)),
        // The programs' steps are of this size, whatever this machine's lines are.
        granularity: Some(Granularity::LINE_64),
        ..AnalysisOptions::default()
    }
}

fn profile(length: usize, options: &AnalysisOptions) -> Profile {
    analyze(&mut Program::new(length), vec![], options, &mut |_| {}).unwrap()
}

#[test]
fn chunks_lifetimes_and_footprints_are_in_the_profile() {
    let profile = profile(4000, &options(1));
    assert_eq!(profile.method.placement, Some(PlacementData::default()));
    let chunks: Vec<_> = profile
        .objects
        .iter()
        .filter(|it| it.part.is_some())
        .collect();
    assert_eq!(chunks.len(), 32);
    let mut next = 0;
    for chunk in &chunks {
        let part = chunk.part.unwrap();
        assert_eq!(
            (part.start, part.end, part.chunk),
            (next, next + 65536, 65536)
        );
        assert_eq!(
            (chunk.bytes, chunk.blocks, &chunk.name),
            (65536, 1, &chunks[0].name)
        );
        let lifetime = chunk.lifetime.unwrap();
        assert_eq!((lifetime.begin, lifetime.end), (0, profile.references));
        next = part.end;
    }
    // Reports show them as one.
    let groups = profile.groups(Dimension::Object);
    let whole = groups
        .iter()
        .find(|group| group.name == chunks[0].name)
        .unwrap();
    assert_eq!(whole.accesses, 64 * (PAGES + PAGES / 2));
    let contexts: Vec<_> = profile
        .contexts
        .iter()
        .map(|it| (it.entries, it.footprint))
        .collect();
    let visited = |entries, exclusive, inclusive| {
        let footprint = ContextFootprint {
            exclusive,
            inclusive,
        };
        (Some(entries), Some(footprint))
    };
    // Nothing is known of the functions, so they are one context: each item counts once in it.
    let all = 64 * PAGES;
    let expected = [visited(1, 0, all), visited(3, all, all)];
    assert_eq!(contexts, expected);
    assert_eq!(Profile::from_bytes(&profile.to_bytes()).unwrap(), profile);
}

#[test]
fn threads_and_blocks_do_not_show() {
    let expected = profile(4000, &options(1)).to_bytes();
    for (length, threads) in [(4000, 2), (1, 2), (7, 1), (100_000_000, 3)] {
        let bytes = profile(length, &options(threads)).to_bytes();
        assert!(bytes == expected, "{length} {threads}");
    }
}

#[test]
fn ordinary_profiles_have_no_placement_data() {
    let options = AnalysisOptions {
        placement: None,
        ..options(1)
    };
    let profile = profile(4000, &options);
    let text = serde_json::to_string(&profile).unwrap();
    for field in ["placement", "part", "lifetime", "entries", "footprint"] {
        assert!(!text.contains(&format!("\"{field}\"")), "{field}");
    }
    assert_eq!(profile.objects.len(), 2);
}

#[test]
fn footprints_end_at_an_eighth_of_the_memory() {
    let options = AnalysisOptions {
        // Eight entries of a hundred bytes each.
        memory_limit: Some(Bytes(8 * 800)),
        engine: "auto".to_owned(),
        ..options(1)
    };
    let profile = profile(4000, &options);
    let warnings: Vec<&str> = profile.warnings.iter().map(|it| it.code.as_str()).collect();
    assert!(warnings.contains(&"footprints-left-out"), "{warnings:?}");
    assert!(profile.contexts.iter().all(|it| it.footprint.is_none()));
}

#[test]
fn placement_data_and_elements_do_not_go_together() {
    let options = AnalysisOptions {
        elements: true,
        ..options(1)
    };
    let refused = reuselens::check(&options).unwrap_err();
    assert!(matches!(
        &refused,
        Error::Together {
            one: "--placement",
            ..
        }
    ));
    assert!(refused.is_usage());
}
