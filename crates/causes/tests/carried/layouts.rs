//! Orders of a program's code in memory.

use std::collections::{HashMap, HashSet};

use reuselens_control_flow::{BasicBlock, BlockEnd};

use crate::programs::{BYTES, FIRST, Program, Random, Step};

/// How a program is laid out, and how its blocks are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In the order of the source.
    Source,
    /// In pieces of random length, in a random order.
    Random,
    /// As `Random`, where a block goes on to the next branch, past what begins inside it.
    Overlapping,
    /// As `Random`, and blocks have no lengths.
    NoLengths,
}

/// New addresses of blocks, by those in the order of the source.
pub struct Addresses {
    layout: Layout,
    moved: HashMap<u64, u64>,
}

impl Addresses {
    pub fn new(program: &Program, layout: Layout, random: &mut Random) -> Addresses {
        let calls: HashSet<u64> = program.calls.iter().copied().collect();
        let mut pieces: Vec<Vec<u64>> = vec![Vec::new()];
        for address in (FIRST..program.end).step_by(BYTES as usize) {
            // A call returns to what is after it.
            let may_end = !calls.contains(&address.wrapping_sub(BYTES));
            if layout != Layout::Source && may_end && random.below(3) == 0 {
                pieces.push(Vec::new());
            }
            pieces.last_mut().expect("there is a piece").push(address);
        }
        for last in (1..pieces.len()).rev() {
            pieces.swap(last, random.below(last as u64 + 1) as usize);
        }
        let new = (FIRST..).step_by(BYTES as usize);
        let moved = pieces.concat().into_iter().zip(new).collect();
        Addresses { layout, moved }
    }

    fn of(&self, address: u64) -> u64 {
        self.moved.get(&address).copied().unwrap_or(address)
    }

    /// The steps of a program with its code at these addresses.
    pub fn apply(&self, steps: &[Step]) -> Vec<Step> {
        let mut moved: Vec<Step> = steps.iter().map(|step| self.step(step)).collect();
        if self.layout == Layout::Overlapping {
            join(&mut moved);
        }
        moved
    }

    fn step(&self, step: &Step) -> Step {
        match *step {
            Step::Loop(start) => Step::Loop(self.of(start)),
            Step::Call(start) => Step::Call(self.of(start)),
            Step::Block(block) => {
                let start = self.of(block.start);
                let known = self.layout != Layout::NoLengths;
                Step::Block(BasicBlock {
                    start,
                    length: if known { block.length } else { 0 },
                    taken: match block.end {
                        BlockEnd::Call => start + BYTES,
                        _ => self.of(block.taken),
                    },
                    ..block
                })
            }
            _ => step.clone(),
        }
    }
}

/// Joins blocks that go on with the next one, where that is the one after it in memory. They have
/// no accesses, so everything before the next one is at the same time.
fn join(steps: &mut Vec<Step>) {
    let mut open: Option<usize> = None;
    let mut at = 0;
    while at < steps.len() {
        let Step::Block(block) = steps[at] else {
            at += 1;
            continue;
        };
        let before = open.and_then(|open| match &mut steps[open] {
            Step::Block(before) => Some(before),
            _ => None,
        });
        match before {
            Some(before) if before.after() == block.start => {
                before.length += block.length;
                (before.end, before.taken) = (block.end, block.taken);
                steps.remove(at);
            }
            _ => {
                open = Some(at);
                at += 1;
            }
        }
        if block.end != BlockEnd::Falls {
            open = None;
        }
    }
}
