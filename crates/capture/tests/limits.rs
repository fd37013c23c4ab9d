//! Tests that a rewritten program that is recorded in part is recorded as if the rest had been cut
//! out of a recording of the whole: each way to leave accesses out, on programs of several shapes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use reuselens_capture::{Capture, ControlOptions, Launch, Regions, Running, Span};
use reuselens_trace::{Block, Event, Kind, Row, Source, Step};

use crate::common::programs::build;

const SHAPES: [&str; 5] = ["loops", "calls", "heap", "strings", "jumps"];

/// An access: its row, its operand or 0, and code of its function; 0 where functions were left by
/// `longjmp`, of which the reader cannot always know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    row: (Kind, u8, u64, u64),
    operand: u64,
    function: u64,
}

/// What was recorded of a run.
#[derive(Default)]
struct Recorded {
    accesses: Vec<Access>,
    /// Allocations and frees.
    blocks: Vec<(Kind, u64, u64)>,
    /// After how many accesses the function `work` was entered and left, first and last.
    calls_of_work: Vec<(usize, usize)>,
    /// From the note about what was left out: all accesses of the run.
    whole: Option<usize>,
    /// Stack pointers and code of the functions that have not returned.
    stack: Vec<(u64, u64)>,
    /// Whether functions are left by `longjmp`.
    jumps: bool,
}

impl Recorded {
    fn add(&mut self, row: Row, operand: u64, work: &std::ops::Range<u64>) {
        match row.kind {
            Kind::Enter => {
                self.leave(row.addr);
                if work.contains(&row.pc) {
                    self.calls_of_work.push((self.accesses.len(), usize::MAX));
                }
                self.stack.push((row.addr, row.pc));
            }
            Kind::Exit => self.leave(row.addr),
            Kind::Alloc | Kind::Free => self.blocks.push((row.kind, row.addr, operand)),
            kind if kind.is_access() => self.accesses.push(Access {
                row: (row.kind, row.size, row.pc, row.addr),
                operand,
                function: match self.stack.last() {
                    Some((_, pc)) if !self.jumps => *pc,
                    _ => 0,
                },
            }),
            _ => {}
        }
        // Its counter is that after the return.
        if row.kind == Kind::Exit && work.contains(&(row.pc - 1)) {
            self.calls_of_work.last_mut().unwrap().1 = self.accesses.len();
        }
    }

    /// All functions up to this stack pointer are left.
    fn leave(&mut self, pointer: u64) {
        while self.stack.last().is_some_and(|(at, _)| *at <= pointer) {
            self.stack.pop();
        }
    }

    fn has(&self, at: usize, address: u64) -> bool {
        self.accesses[at].row.3 == address
    }
}

/// The program `shapes`, and the addresses of its symbols, each with that of its end.
struct Shapes {
    program: PathBuf,
    symbols: HashMap<String, (u64, u64)>,
}

impl Shapes {
    fn new(folder: &Path) -> Shapes {
        let headers = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/include");
        // Its code and its data do not move, whatever the options do.
        let program = build(folder, "shapes.c", &["-no-pie", headers]);
        let listed = Command::new("nm").arg("-S").arg(&program).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let symbol = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [at, bytes, _, name] = words[..] else {
                return None;
            };
            let number = |word| u64::from_str_radix(word, 16).unwrap();
            Some((name.to_owned(), (number(at), number(at) + number(bytes))))
        };
        let symbols = listed.lines().filter_map(symbol).collect();
        Shapes { program, symbols }
    }

    fn run(&self, shape: &str, control: ControlOptions) -> Recorded {
        let launch = Launch {
            command: vec![self.program.clone().into(), shape.into()],
            capture: Capture::Rewriting,
            // The same environment in each run, so that the stack is the same.
            output_to_error: true,
            control,
            ..Launch::default()
        };
        let (low, high) = self.symbols["work"];
        let mut running = Running::start(&launch).unwrap();
        let mut recorded = Recorded {
            jumps: shape == "jumps",
            ..Recorded::default()
        };
        let mut block = Block::new();
        loop {
            match running.next(&mut block).unwrap() {
                Step::Block => {
                    let mut rows = block.rows().peekable();
                    while let Some(row) = rows.next() {
                        let operand = rows.next_if(|row| row.kind == Kind::Operand);
                        let operand = operand.map_or(0, |row| row.addr);
                        recorded.add(row, operand, &(low..high));
                    }
                }
                Step::Event(Event::Note(note)) if note.code == "left-out" => {
                    let words = note.message.replace(',', "");
                    let numbers = words.split_whitespace();
                    recorded.whole = numbers.filter_map(|word| word.parse().ok()).nth(1);
                }
                Step::Event(_) => {}
                Step::End => return recorded,
            }
        }
    }
}

/// The numbers of the accesses that a schedule records.
fn scheduled(options: &ControlOptions) -> impl Fn(usize) -> bool + use<> {
    let after = match options.after {
        Some(Span::Accesses(count)) => count as usize,
        _ => 0,
    };
    let (on, off) = options.burst.unwrap_or((1, 0));
    move |number| {
        let within = number.checked_sub(after);
        within.is_some_and(|number| number as u64 % (on + off) < on)
    }
}

/// The accesses of `all` with these numbers, of which the first `most` are recorded.
fn cut(all: &[Access], options: &ControlOptions) -> Vec<Access> {
    let is_recorded = scheduled(options);
    let numbered = all.iter().enumerate();
    let kept = numbered.filter_map(|(at, access)| is_recorded(at).then_some(*access));
    let most = match (options.span, options.max_accesses) {
        (Some(Span::Accesses(count)), _) | (None, Some(count)) => count as usize,
        _ => usize::MAX,
    };
    kept.take(most).collect()
}

/// The schedules and limits of accesses for a run of `count` accesses.
fn schedules(count: usize) -> Vec<ControlOptions> {
    let count = count as u64;
    let none = ControlOptions::default;
    let after = |count| Some(Span::Accesses(count));
    vec![
        ControlOptions {
            after: after(count * 2 / 3),
            ..none()
        },
        ControlOptions {
            after: after(count * 1000),
            ..none()
        },
        ControlOptions {
            burst: Some((100, 900)),
            ..none()
        },
        ControlOptions {
            burst: Some((5000, 3)),
            ..none()
        },
        ControlOptions {
            after: after(count / 2),
            burst: Some((7, 5001)),
            ..none()
        },
        ControlOptions {
            after: after(count / 3),
            span: after(count / 5),
            ..none()
        },
        ControlOptions {
            max_accesses: Some(count / 4),
            ..none()
        },
    ]
}

/// Asserts that what was recorded is what is expected, and that all was counted.
fn check(recorded: &Recorded, expected: &[Access], whole: usize, what: &str) {
    let both = recorded.accesses.iter().zip(expected);
    let same = both.take_while(|(one, other)| one == other).count();
    let (found, right) = (&recorded.accesses, expected);
    assert!(
        found == right,
        "{what}: of {} and {} accesses the first {same} are the same; then {:?} for {:?}",
        found.len(),
        right.len(),
        found.get(same),
        right.get(same)
    );
    if let Some(counted) = recorded.whole {
        assert_eq!(counted, whole, "{what}: all accesses");
    }
}

#[test]
fn schedules_cut_accesses_out_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = Shapes::new(folder.path());
    for shape in SHAPES {
        let whole = shapes.run(shape, ControlOptions::default());
        let count = whole.accesses.len();
        assert!(count > 10_000, "{shape}: {count}");
        for options in schedules(count) {
            let what = format!("{shape}, {options:?}");
            let is_limited = options.span.is_some() || options.max_accesses.is_some();
            let mut recorded = shapes.run(shape, options.clone());
            if is_limited {
                // What comes after the limit is not counted.
                recorded.whole = None;
            } else {
                assert_eq!(recorded.blocks, whole.blocks, "{what}");
                assert!(recorded.whole.is_some(), "{what}");
            }
            check(&recorded, &cut(&whole.accesses, &options), count, &what);
        }
    }
}

#[test]
fn regions_and_functions_cut_accesses_out_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = Shapes::new(folder.path());
    for shape in SHAPES {
        let whole = shapes.run(shape, ControlOptions::default());
        let count = whole.accesses.len();
        let [begun, ended] = ["begun", "ended"].map(|name| shapes.symbols[name].0);
        let wanted = ControlOptions {
            regions: Regions::Named("wanted".to_owned()),
            ..ControlOptions::default()
        };
        let mut is_within = false;
        let mut within = Vec::new();
        for at in 0..count {
            is_within |= whole.has(at, begun);
            if is_within {
                within.push(whole.accesses[at]);
            }
            let was_load = whole.accesses[at].row.0 == Kind::Load;
            is_within &= !whole.has(at, ended) || was_load;
        }
        let none = ControlOptions {
            regions: Regions::Named("none".to_owned()),
            ..ControlOptions::default()
        };
        let recorded = shapes.run(shape, none);
        check(&recorded, &[], count, shape);
        assert_eq!(recorded.blocks, whole.blocks, "{shape}");
        let recorded = shapes.run(shape, wanted.clone());
        check(&recorded, &within, count, shape);
        let function = ControlOptions {
            function: Some("work".to_owned()),
            ..ControlOptions::default()
        };
        let calls = whole.calls_of_work.iter();
        let called: Vec<Access> = calls
            .flat_map(|(first, last)| &whole.accesses[*first..*last])
            .copied()
            .collect();
        let recorded = shapes.run(shape, function.clone());
        check(&recorded, &called, count, shape);
        // A schedule counts what is within.
        for (part, options) in [(&within, wanted), (&called, function)] {
            for schedule in schedules(part.len()).into_iter().take(5) {
                let options = ControlOptions {
                    after: schedule.after,
                    burst: schedule.burst,
                    ..options.clone()
                };
                let what = format!("{shape}, {options:?}");
                let recorded = shapes.run(shape, options.clone());
                check(&recorded, &cut(part, &options), count, &what);
            }
        }
    }
}

#[test]
fn times_cut_off_the_begin_and_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = Shapes::new(folder.path());
    for shape in SHAPES {
        let whole = shapes.run(shape, ControlOptions::default());
        let count = whole.accesses.len();
        for milliseconds in [1, 20, 1_000_000] {
            let time = Duration::from_millis(milliseconds);
            let after = ControlOptions {
                after: Some(Span::Time(time)),
                ..ControlOptions::default()
            };
            let recorded = shapes.run(shape, after);
            assert_eq!(recorded.blocks, whole.blocks, "{shape}");
            let first = count - recorded.accesses.len().min(count);
            let what = format!("{shape} after {time:?}");
            check(&recorded, &whole.accesses[first..], count, &what);
            assert!(recorded.whole.is_some(), "{what}");
            let until = ControlOptions {
                max_time: Some(time),
                ..ControlOptions::default()
            };
            let recorded = shapes.run(shape, until);
            let last = recorded.accesses.len().min(count);
            let what = format!("{shape} up to {time:?}");
            check(&recorded, &whole.accesses[..last], count, &what);
        }
    }
}
