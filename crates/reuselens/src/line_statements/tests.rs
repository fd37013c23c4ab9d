//! Marks of source lines, against their definition.

use reuselens_attribute::{BlockTypes, FrameLayouts, Function, StaticSymbol, Variable, Warning};
use reuselens_distance::generate::Random;
use reuselens_profile::Frame;
use reuselens_trace::Projection;

use super::*;

/// Each 16 instructions are a line; the first have none.
struct Lines;

fn line(pc: u64) -> u32 {
    (pc as u32).saturating_sub(1) / 16
}

impl SymbolSource for Lines {
    fn statics(&mut self, _: &Module) -> Vec<StaticSymbol> {
        Vec::new()
    }

    fn frames(&mut self, _: &Module, address: u64) -> Vec<Frame> {
        vec![Frame {
            file: "a.c".into(),
            line: line(address + 1),
            ..Frame::default()
        }]
    }

    fn function(&mut self, _: &Module, _: u64) -> Option<Function> {
        None
    }

    fn functions_without_lines(&mut self, _: &Module) -> Vec<(u64, u64)> {
        Vec::new()
    }

    fn variable(&mut self, _: &Module, _: u64) -> Variable {
        Variable::default()
    }

    fn frame_layouts(&mut self, _: &Module) -> Option<Box<dyn FrameLayouts>> {
        None
    }

    fn block_types(&mut self) -> Option<Box<dyn BlockTypes>> {
        None
    }

    fn allocated_names(&mut self, _: &Module, _: &Frame, _: usize) -> Vec<String> {
        Vec::new()
    }

    fn is_wait(&mut self, _: &Module, _: u64, _: reuselens_trace::Kind) -> bool {
        false
    }

    fn is_rust(&mut self, _: &Module) -> bool {
        false
    }

    fn warnings(&mut self) -> Vec<Warning> {
        Vec::new()
    }
}

/// A module, then blocks of rows.
struct Made(std::vec::IntoIter<(u32, Vec<Row>)>, bool);

impl Source for Made {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        if !std::mem::replace(&mut self.1, true) {
            return Ok(Step::Event(Event::Module(Module {
                high: 1 << 20,
                ..Module::default()
            })));
        }
        let Some((thread, rows)) = self.0.next() else {
            return Ok(Step::End);
        };
        block.clear();
        block.thread = ThreadId(thread);
        rows.into_iter().for_each(|row| block.push(row));
        Ok(Step::Block)
    }

    fn has_addresses(&self) -> bool {
        true
    }

    fn describe(&self) -> String {
        String::new()
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

fn row(kind: Kind, pc: u64) -> Row {
    let (size, addr) = (0, 0);
    Row {
        kind,
        size,
        pc,
        addr,
    }
}

/// The rows of each thread as they come out, and the codes of notes.
fn run(blocks: Vec<(u32, Vec<Row>)>) -> (BTreeMap<u32, Vec<Row>>, Vec<String>) {
    let mut made = Made(blocks.into_iter(), false);
    let mut source = LineStatements::new(&mut made, Box::new(Lines));
    let (mut rows, mut notes) = (BTreeMap::new(), Vec::new());
    let mut block = Block::new();
    loop {
        match source.next(&mut block).unwrap() {
            Step::Block => {
                let thread: &mut Vec<Row> = rows.entry(block.thread.0).or_default();
                thread.extend(block.rows());
            }
            Step::Event(Event::Note(note)) => notes.push(note.code),
            Step::Event(_) => {}
            Step::End => return (rows, notes),
        }
    }
}

/// Where statements end by the definition: those are the longest runs of accesses to which all
/// of it applies.
fn statements(accesses: &[Row]) -> Vec<&[Row]> {
    let order = |row: &Row| (row.pc, row.kind == Kind::Store);
    let is_one = |run: &[Row]| {
        let same = run.iter().all(|row| line(row.pc) == line(run[0].pc));
        run.len() == 1
            || same && line(run[0].pc) > 0 && run.is_sorted_by(|a, b| order(a) < order(b))
    };
    let (mut found, mut rest) = (Vec::new(), accesses);
    while !rest.is_empty() {
        let longest = (1..=rest.len()).rev().find(|end| is_one(&rest[..*end]));
        let (run, others) = rest.split_at(longest.unwrap());
        found.push(run);
        rest = others;
    }
    found
}

/// Blocks of two threads.
fn random_blocks(seed: u64) -> Vec<(u32, Vec<Row>)> {
    let mut random = Random::new(seed);
    let blocks = random.below(12);
    let block = |_| {
        let (thread, rows) = (random.below(2) as u32, random.below(12));
        let access = |_| {
            let kind = [Kind::Load, Kind::Store][random.below(2) as usize];
            row(kind, 1 + random.below(60))
        };
        (thread, (0..rows).map(access).collect())
    };
    (0..blocks).map(block).collect()
}

#[test]
fn marks_are_where_lines_begin_or_run_again() {
    for seed in 0..300 {
        let blocks = random_blocks(seed);
        let (found, notes) = run(blocks.clone());
        let mut lines = false;
        for (thread, found) in found {
            let mine = blocks.iter().filter(|block| block.0 == thread);
            let accesses: Vec<Row> = mine.flat_map(|block| block.1.clone()).collect();
            let (mut expected, mut begun) = (Vec::new(), false);
            for statement in statements(&accesses) {
                begun |= line(statement[0].pc) > 0;
                expected.extend(begun.then_some((Kind::Statement, statement[0].pc)));
                expected.extend(statement.iter().map(|row| (row.kind, row.pc)));
            }
            let found: Vec<(Kind, u64)> = found.iter().map(|row| (row.kind, row.pc)).collect();
            assert_eq!(found, expected, "seed {seed}");
            lines |= begun;
        }
        assert_eq!(notes, vec!["statements-from-lines"; usize::from(lines)]);
    }
}

#[test]
fn marks_of_the_program_take_the_place_of_lines() {
    let marked = [Kind::Load, Kind::Statement, Kind::Load, Kind::Load];
    let rows = marked.map(|kind| row(kind, 40)).to_vec();
    let (found, notes) = run(vec![(0, rows), (1, vec![row(Kind::Load, 40)])]);
    let kinds = |thread: u32| {
        found[&thread]
            .iter()
            .map(|row| row.kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(0), [&[Kind::Statement], &marked[..]].concat());
    assert_eq!(kinds(1), [Kind::Load]);
    assert!(notes.is_empty());
}
