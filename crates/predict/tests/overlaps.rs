//! Blocks that overlap, as a rewriter makes them, against the definition of paths by instructions.

mod reference;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use proptest::prelude::*;
use reference::{Instruction, Leads, Path, Reference};
use reuselens_locality::BlockTrace;
use reuselens_predict::{BasicBlock, BlockEnd, PathTracker};

/// Bytes of an instruction.
const BYTES: u64 = 4;

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % most
    }
}

/// What an instruction does, with the numbers of labels.
#[derive(Clone, Copy, Debug)]
enum Op {
    Plain,
    Branch(usize),
    Jump(usize),
    Switch(usize, usize),
    Call(usize),
    Return,
}

/// Writes programs.
struct Writer {
    random: Random,
    ops: Vec<Op>,
    /// Where each label is: the number of an instruction.
    labels: Vec<usize>,
    functions: Vec<usize>,
}

impl Writer {
    fn label(&mut self) -> usize {
        self.labels.push(usize::MAX);
        self.labels.len() - 1
    }

    fn place(&mut self, label: usize) {
        self.labels[label] = self.ops.len();
    }

    fn plain(&mut self) {
        let count = self.random.below(4);
        self.ops.extend((0..count).map(|_| Op::Plain));
    }

    /// Some statements; `around` is where the loops around them begin again and end, the innermost
    /// last.
    fn statements(&mut self, depth: u32, around: &mut Vec<(usize, usize)>) {
        for _ in 0..1 + self.random.below(3) {
            self.plain();
            let which = match depth {
                0 => 8 + self.random.below(4),
                _ => self.random.below(12),
            };
            self.statement(which, depth.saturating_sub(1), around);
        }
        self.plain();
    }

    fn statement(&mut self, which: u64, depth: u32, around: &mut Vec<(usize, usize)>) {
        let (first, second, third) = (self.label(), self.label(), self.label());
        match which {
            0 | 1 => {
                // if, else
                self.ops.push(Op::Branch(first));
                self.statements(depth, around);
                self.ops.push(Op::Jump(second));
                self.place(first);
                self.statements(depth, around);
                self.place(second);
            }
            2..=4 => {
                // do, while
                self.place(first);
                around.push((second, third));
                self.statements(depth, around);
                around.pop();
                self.place(second);
                self.plain();
                self.ops.push(Op::Branch(first));
                self.place(third);
            }
            5 => {
                // while, with the condition at the end
                self.ops.push(Op::Jump(second));
                self.place(first);
                around.push((second, third));
                self.statements(depth, around);
                around.pop();
                self.place(second);
                self.plain();
                self.ops.push(Op::Branch(first));
                self.place(third);
            }
            6 => {
                // An endless loop that is left from the middle.
                self.place(first);
                around.push((first, third));
                self.statements(depth, around);
                self.ops.push(Op::Branch(third));
                self.statements(depth, around);
                around.pop();
                self.ops.push(Op::Jump(first));
                self.place(third);
            }
            7 => {
                self.ops.push(Op::Switch(first, second));
                self.place(first);
                self.plain();
                self.place(second);
            }
            8 => {
                // A loop of one block.
                self.place(first);
                self.plain();
                self.ops.push(Op::Branch(first));
            }
            9 => {
                let most = self.functions.len() as u64;
                let function = self.random.below(most) as usize;
                let function = self.functions[function];
                self.ops.push(Op::Call(function));
            }
            10 => {
                // continue or break, of any loop
                let most = around.len() as u64;
                if most > 0 {
                    let (again_at, end) = around[self.random.below(most) as usize];
                    let again = self.random.below(2) > 0;
                    self.ops
                        .push(Op::Branch(if again { again_at } else { end }));
                }
            }
            _ => {
                // An early return.
                self.ops.push(Op::Branch(first));
                self.ops.push(Op::Return);
                self.place(first);
            }
        }
    }

    /// A program of several functions, which call each other and themselves.
    fn program(seed: u64) -> Vec<Instruction> {
        let mut writer = Writer {
            random: Random(seed),
            ops: Vec::new(),
            labels: Vec::new(),
            functions: Vec::new(),
        };
        writer.functions = (0..3).map(|_| writer.label()).collect();
        for function in writer.functions.clone() {
            writer.place(function);
            writer.statements(3, &mut Vec::new());
            writer.ops.push(Op::Return);
        }
        let address = |label: usize| BYTES * (1 + writer.labels[label] as u64);
        let instructions = (1..).zip(&writer.ops);
        let instructions = instructions.map(|(number, op)| Instruction {
            address: BYTES * number,
            after: BYTES * (number + 1),
            leads: match *op {
                Op::Plain => Leads::On,
                Op::Branch(label) => Leads::Branch(address(label)),
                Op::Jump(label) => Leads::Jump(address(label)),
                Op::Switch(..) => Leads::Indirect,
                Op::Call(_) => Leads::Call,
                Op::Return => Leads::Return,
            },
        });
        let instructions: Vec<Instruction> = instructions.collect();
        writer.run(&instructions)
    }

    /// What runs, from the first function on.
    fn run(&mut self, instructions: &[Instruction]) -> Vec<Instruction> {
        let (mut ran, mut calls, mut at) = (Vec::new(), Vec::new(), 0);
        while ran.len() < 1500 {
            let instruction = instructions[at];
            ran.push(instruction);
            at = match self.ops[at] {
                Op::Plain => at + 1,
                Op::Branch(label) if self.random.below(5) < 3 => self.labels[label],
                Op::Branch(_) => at + 1,
                Op::Jump(label) => self.labels[label],
                Op::Switch(a, b) => self.labels[[a, b][self.random.below(2) as usize]],
                Op::Call(function) if calls.len() < 12 => {
                    calls.push(at + 1);
                    self.labels[function]
                }
                Op::Call(_) => return ran,
                Op::Return => calls.pop().unwrap_or(0),
            };
        }
        ran
    }
}

/// The blocks of what ran, each with the numbers of its instructions there. A block ends with an
/// instruction that leads elsewhere, after `most` instructions, or before an address of `cuts`.
fn blocks(
    ran: &[Instruction],
    most: usize,
    cuts: &BTreeSet<u64>,
) -> Vec<(Range<usize>, BasicBlock)> {
    let mut blocks = Vec::new();
    let mut first = 0;
    for (at, instruction) in ran.iter().enumerate() {
        let on = instruction.leads == Leads::On;
        if on && at + 1 - first < most && !cuts.contains(&instruction.after) {
            continue;
        }
        let (end, taken) = match instruction.leads {
            Leads::On => (BlockEnd::Falls, 0),
            Leads::Branch(taken) => (BlockEnd::Branch, taken),
            Leads::Jump(target) => (BlockEnd::Jump, target),
            Leads::Indirect => (BlockEnd::Indirect, 0),
            Leads::Call => (BlockEnd::Call, 0),
            Leads::Return => (BlockEnd::Return, 0),
        };
        let start = ran[first].address;
        let block = BasicBlock {
            start,
            length: (instruction.after - start) as u32,
            taken,
            end,
            ..BasicBlock::default()
        };
        blocks.push((first..at + 1, block));
        first = at + 1;
    }
    blocks
}

/// Holds the paths of blocks against those of their instructions, and their traces: paths that are
/// the same by the definition have the same.
fn check(ran: &[Instruction], keep: u32, most: usize, cuts: &BTreeSet<u64>) {
    let mut reference = Reference::new(keep);
    let expected: Vec<Path> = ran.iter().map(|one| *reference.run(*one)).collect();
    let mut tracker = PathTracker::new(keep);
    let mut traces: HashMap<(u64, &Path), BlockTrace> = HashMap::new();
    for (instructions, block) in blocks(ran, most, cuts) {
        tracker.enter(&block);
        let path = tracker.path();
        for at in instructions {
            let expected = &expected[at];
            assert_eq!(
                format!("{:b}", path.outcomes),
                format!("{:b}", expected.outcomes),
                "at {:x} in {block:x?}, instruction {at}",
                ran[at].address
            );
            // The branch that ends a block is in the trace from the block's begin on, so an
            // instruction is to be in blocks that end alike.
            if most == usize::MAX {
                let key = (ran[at].address, expected);
                let known = *traces.entry(key).or_insert(path.trace);
                assert_eq!(known, path.trace, "at {:x}", ran[at].address);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn blocks_that_overlap_have_the_paths_of_their_instructions(
        seed in any::<u64>(),
        keep in prop_oneof![Just(1_u32), Just(2), Just(8)],
    ) {
        let ran = Writer::program(seed);
        check(&ran, keep, usize::MAX, &BTreeSet::new());
        check(&ran, keep, 5, &BTreeSet::new());
        // As a compiler knows them: no two overlap.
        let targets = ran.windows(2).filter(|pair| pair[0].after != pair[1].address);
        let mut targets: BTreeSet<u64> = targets.map(|pair| pair[1].address).collect();
        check(&ran, keep, usize::MAX, &targets);
        // As a rewriter that knows some of them.
        targets.retain(|target| target % 3 == 0);
        check(&ran, keep, usize::MAX, &targets);
    }
}

#[test]
fn a_loop_that_begins_inside_a_longer_block_leaves_nothing_behind() {
    // 1: if, else; 10, 20 and 30: loops of one block, entered by falling through from the block
    // before.
    let branch = |start: u64, end: u64, taken: u64| BasicBlock {
        start,
        length: (end - start) as u32,
        taken,
        end: BlockEnd::Branch,
        ..BasicBlock::default()
    };
    let mut tracker = PathTracker::new(8);
    for outcome in [1, 0, 1, 1, 0] {
        tracker.enter(&branch(1, 4, 6));
        tracker.enter(&branch(if outcome == 1 { 6 } else { 4 }, 15, 10));
        for (low, next) in [(10, 20), (20, 30), (30, 40)] {
            for _ in 0..3 {
                tracker.enter(&branch(low, low + 5, low));
            }
            let end = if next < 40 { next + 5 } else { 45 };
            let end = BasicBlock {
                end: if next < 40 {
                    BlockEnd::Branch
                } else {
                    BlockEnd::Falls
                },
                ..branch(low + 5, end, next)
            };
            tracker.enter(&end);
        }
        assert_eq!(tracker.path().outcomes & 1, outcome);
        tracker.enter(&BasicBlock {
            end: BlockEnd::Jump,
            ..branch(60, 65, 0)
        });
    }
}
