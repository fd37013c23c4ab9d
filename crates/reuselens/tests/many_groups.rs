//! A program with more groups of accesses than a profile keeps: what is kept, and that sums are
//! exact.

use std::num::NonZeroUsize;

use reuselens::locality::{ExactHistogram, FineHistogram};
use reuselens::profile::Profile;
use reuselens::shard::{Part, Piece, TraceIdentity, analyze_shard, finish};
use reuselens::trace::{
    Block, Event, Kind, Process, Projection, Row, Source, Step, Thread, TraceError,
};
use reuselens::units::Bytes;
use reuselens::{AnalysisOptions, analyze};

/// Places that call a function, and its instructions: more groups than are kept.
const COLD: u64 = 420;
/// Blocks of the hot part, which come last.
const HOT_BLOCKS: u64 = 4500;
/// Places that call the hot function, and its instructions.
const CALLS: u64 = 10;
const HOT: u64 = 100;
/// Accesses of an instruction in a block.
const TIMES: u64 = 4;

/// `COLD` calls of a function of `COLD` instructions, from as many places; then calls of another
/// function, from a few places in turn, while the first one is called now and then.
#[derive(Clone, Default)]
struct Interpreter {
    at: u64,
}

impl Interpreter {
    const BLOCKS: u64 = COLD + HOT_BLOCKS;

    /// A call of a function from a place, with loads by `instructions` of its instructions.
    fn call(block: &mut Block, (function, place): (u64, u64), instructions: u64, times: u64) {
        let row = |kind, pc, addr| Row {
            kind,
            size: 8,
            pc,
            addr,
        };
        block.push(row(Kind::Enter, function + 1, 0x7fff_0000));
        block.push_operand(0x10_0000 + place);
        for time in 0..times {
            for instruction in 0..instructions {
                let address = 0x900_0000 + 64 * ((instruction * 7 + place + time) % 97);
                block.push(row(Kind::Load, function + 2 + instruction, address));
            }
        }
        block.push(row(Kind::Exit, function + 1, 0x7fff_0000));
    }
}

impl Source for Interpreter {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        self.at += 1;
        let number = match self.at {
            1 => return Ok(Step::Event(Event::Process(Process::default()))),
            2 => return Ok(Step::Event(Event::Thread(Thread::default()))),
            at => at - 3,
        };
        block.clear();
        if number >= Self::BLOCKS {
            return Ok(Step::End);
        }
        if number < COLD {
            Self::call(block, (0x20_0000, number), COLD, 1);
        } else {
            let hot = number - COLD;
            Self::call(block, (0x30_0000, 0x8000 + hot % CALLS), HOT, TIMES);
            Self::call(block, (0x20_0000, 0x1_0000 + hot), 2, 1);
        }
        Ok(Step::Block)
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        "made by hand".to_owned()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        Some((self.at, Self::BLOCKS + 3))
    }

    fn is_of_one_thread(&self) -> bool {
        true
    }

    fn memory(&self) -> Bytes {
        Bytes(0)
    }

    fn read_ahead_within(&mut self, _most: Bytes) {}

    fn project(&mut self, _projection: Projection) -> bool {
        false
    }
}

fn options(threads: usize) -> AnalysisOptions {
    AnalysisOptions {
        threads: NonZeroUsize::new(threads),
        ..AnalysisOptions::default()
    }
}

fn profile(threads: usize) -> Profile {
    let mut source = Interpreter::default();
    analyze(&mut source, vec![], &options(threads), &mut |_| {}).unwrap()
}

/// The accesses of all cells together.
fn sum(profile: &Profile) -> FineHistogram {
    let mut sum = FineHistogram::new();
    for cell in &profile.cells {
        sum.merge(&cell.histogram);
    }
    sum
}

fn fine(histogram: &ExactHistogram) -> FineHistogram {
    let mut fine = FineHistogram::new();
    fine.add_exact(histogram);
    fine
}

#[test]
fn hot_groups_keep_their_names_and_every_access_counts_once() {
    let profile = profile(1);
    let all = COLD * COLD + HOT_BLOCKS * (HOT * TIMES + 2);
    assert_eq!(profile.histogram.accesses(), all);
    assert_eq!(sum(&profile), fine(&profile.histogram));
    let name = |context: u32| &*profile.contexts[context as usize].function;
    let (others, named): (Vec<_>, Vec<_>) = profile
        .cells
        .iter()
        .partition(|cell| name(cell.context) == "(other contexts)");
    let others: u64 = others.iter().map(|cell| cell.histogram.accesses()).sum();
    assert!(others > 0 && others < all / 10, "{others} of {all}");
    // Functions and calls have no names here, so an instruction's cells are one at the end.
    let hot = HOT_BLOCKS * TIMES;
    let whole = |accesses: u64| (hot * 99 / 100..=hot).contains(&accesses);
    let kept = named.iter().filter(|cell| whole(cell.histogram.accesses()));
    assert_eq!(kept.count() as u64, HOT);
    let codes: Vec<_> = profile
        .warnings
        .iter()
        .map(|warning| &*warning.code)
        .collect();
    assert!(codes.contains(&"contexts-folded"), "{codes:?}");
    assert!(profile.histogram.cold() > 0);
}

#[test]
fn the_profile_is_the_same_on_threads_and_in_pieces() {
    let whole = profile(1);
    assert!(profile(2) == whole);
    let of = 3;
    let part = |number| -> Part {
        let identity = TraceIdentity {
            bytes: 1,
            head: 2,
            tail: 3,
        };
        let piece = Piece::new(number, of).unwrap();
        let mut source = Interpreter::default();
        let options = options(1);
        analyze_shard(&mut source, identity, vec![], &options, piece, &mut |_| {}).unwrap()
    };
    let parts = (1..=of).map(|number| Part::from_bytes(&part(number).to_bytes()).unwrap());
    assert!(finish(parts.collect()).unwrap() == whole);
}
