//! Blocks that overlap, as a rewriter makes them, against the definition of paths by instructions.

mod reference;

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use proptest::prelude::*;
use reference::programs::{Op, Program};
use reference::{Instruction, Leads, Path, Reference};
use reuselens_locality::BlockTrace;
use reuselens_predict::{BasicBlock, BlockEnd, PathTracker};

/// Bytes of an instruction.
const BYTES: u64 = 4;

/// What runs of a program, instruction by instruction.
fn instructions(program: &mut Program) -> Vec<Instruction> {
    let ran = program.run(700);
    let address = |label: usize| BYTES * (1 + program.labels[label] as u64);
    let instruction = |at: usize| Instruction {
        address: BYTES * (1 + at as u64),
        after: BYTES * (2 + at as u64),
        leads: match program.ops[at] {
            Op::Load => Leads::On,
            Op::Branch { to, .. } => Leads::Branch(address(to)),
            Op::Jump(label) => Leads::Jump(address(label)),
            Op::Switch(..) => Leads::Indirect,
            Op::Call(_) => Leads::Call,
            Op::Return => Leads::Return,
        },
    };
    ran.into_iter().map(instruction).collect()
}

/// Whether the lengths of blocks are known; those of a compiler are not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    Known,
    Unknown,
}

/// The blocks of what ran, each with the numbers of its instructions there. A block ends with an
/// instruction that leads elsewhere, after `most` instructions, or before an address of `cuts`.
fn blocks(
    ran: &[Instruction],
    most: usize,
    cuts: &BTreeSet<u64>,
    lengths: Lengths,
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
        };
        let block = match (lengths, end) {
            (Lengths::Known, _) => block,
            (Lengths::Unknown, BlockEnd::Call) => BasicBlock {
                taken: instruction.after,
                length: 0,
                ..block
            },
            (Lengths::Unknown, _) => BasicBlock { length: 0, ..block },
        };
        blocks.push((first..at + 1, block));
        first = at + 1;
    }
    blocks
}

/// Holds the paths of blocks against those of their instructions, and their traces: paths that are
/// the same by the definition have the same.
fn check(ran: &[Instruction], keep: u32, most: usize, cuts: &BTreeSet<u64>, lengths: Lengths) {
    let mut reference = Reference::new(keep);
    let expected: Vec<Path> = ran.iter().map(|one| *reference.run(*one)).collect();
    let mut tracker = PathTracker::new(keep);
    let mut traces: HashMap<(u64, &Path), BlockTrace> = HashMap::new();
    for (instructions, block) in blocks(ran, most, cuts, lengths) {
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
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn blocks_that_overlap_have_the_paths_of_their_instructions(
        seed in any::<u64>(),
        keep in prop_oneof![Just(1_u32), Just(2), Just(8)],
    ) {
        let ran = instructions(&mut Program::new(seed, 2, false));
        check(&ran, keep, usize::MAX, &BTreeSet::new(), Lengths::Known);
        check(&ran, keep, 5, &BTreeSet::new(), Lengths::Known);
        // As a compiler knows them: no two overlap.
        let targets = ran.windows(2).filter(|pair| pair[0].after != pair[1].address);
        let mut targets: BTreeSet<u64> = targets.map(|pair| pair[1].address).collect();
        check(&ran, keep, usize::MAX, &targets, Lengths::Known);
        check(&ran, keep, usize::MAX, &targets, Lengths::Unknown);
        // As a rewriter that knows some of them.
        targets.retain(|target| target % 3 == 0);
        check(&ran, keep, usize::MAX, &targets, Lengths::Known);
    }
}

#[test]
fn loop_inside_a_longer_block_leaves_no_outcomes() {
    // 1: if, else; 10, 20 and 30: loops of one block, entered by falling through from the block
    // before.
    let branch = |start: u64, end: u64, taken: u64| BasicBlock {
        start,
        length: (end - start) as u32,
        taken,
        end: BlockEnd::Branch,
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
