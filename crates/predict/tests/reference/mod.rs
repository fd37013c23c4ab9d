//! The definition of paths, from instructions: what trackers of blocks are held against.
#![allow(dead_code, reason = "each file of tests uses its own part of this")]

pub mod programs;

use std::collections::HashMap;

/// Where an instruction leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To the next instruction.
    On,
    /// To the next instruction or to this address.
    Branch(u64),
    /// To a fixed address.
    Jump(u64),
    /// To a fixed address, and that is known to close a loop.
    Loop(u64),
    /// To a computed address.
    Indirect,
    /// Into a function.
    Call,
    /// Out of a function.
    Return,
}

/// An instruction of a program.
#[derive(Clone, Copy, Debug)]
pub struct Instruction {
    pub address: u64,
    /// Address of the next one.
    pub after: u64,
    pub leads: Leads,
}

#[derive(Clone, Debug)]
struct Loop {
    /// Its first instruction.
    header: u64,
    /// Address after the last edge that closed it, when that was looked at last.
    high: u64,
    iterations: u32,
    /// The path to it.
    entry: Path,
}

#[derive(Clone, Debug)]
struct Call {
    back: u64,
    number: u64,
    loops: Vec<Loop>,
}

/// The path to an instruction: outcomes, and for each of the last 32 branches, the newest first, a
/// sum of where it is and of all jumps, calls and returns until the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path {
    pub outcomes: u32,
    pub trace: [u64; 32],
}

/// A sum of one more address. Addresses near each other differ in their low bits only, so each is
/// mixed before the next one is added: else a branch and a call after it give the same sum as
/// another branch and its call.
fn mix(sum: u64, address: u64) -> u64 {
    let mixed = (sum ^ address).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed ^ mixed >> 32
}

/// Follows a thread from instruction to instruction, with maps and lists.
pub struct Reference {
    keep: u32,
    path: Path,
    last: Option<Instruction>,
    /// Loops by their first instruction, with the address after the last edge that closed each.
    known: HashMap<u64, u64>,
    /// The call in which an instruction ran last, and on which path.
    ran: HashMap<u64, (u64, Path)>,
    calls: Vec<Call>,
    number: u64,
}

impl Reference {
    pub fn new(keep: u32) -> Reference {
        let mut reference = Reference {
            keep,
            path: Path::default(),
            last: None,
            known: HashMap::new(),
            ran: HashMap::new(),
            calls: Vec::new(),
            number: 0,
        };
        reference.call(0);
        reference
    }

    /// The path to the next instruction.
    pub fn run(&mut self, next: Instruction) -> &Path {
        let address = next.address;
        if let Some(last) = self.last {
            let before = self.path;
            self.outcome(&last, address);
            match last.leads {
                // Else what it calls is not seen.
                Leads::Call if address != last.after => {
                    self.call(last.after);
                    self.begin(address);
                }
                Leads::Return if self.returned(address) => self.begin(address),
                _ if self.closes(&last, address) => self.close(&last, address, before),
                _ => {
                    self.leave_others(address);
                    self.begin(address);
                }
            }
        } else {
            self.begin(address);
        }
        let number = self.calls.last().unwrap().number;
        self.ran.insert(address, (number, self.path));
        self.last = Some(next);
        &self.path
    }

    fn outcome(&mut self, last: &Instruction, address: u64) {
        match last.leads {
            Leads::Branch(taken) => {
                self.path.outcomes = self.path.outcomes << 1 | u32::from(taken == address);
                self.path.trace.rotate_right(1);
                self.path.trace[0] = mix(0, last.address);
            }
            Leads::On => {}
            _ => {
                let newest = &mut self.path.trace[0];
                *newest = mix(mix(*newest, last.address), address);
            }
        }
    }

    fn loops(&mut self) -> &mut Vec<Loop> {
        &mut self.calls.last_mut().unwrap().loops
    }

    fn call(&mut self, back: u64) {
        self.number += 1;
        self.calls.push(Call {
            back,
            number: self.number,
            loops: Vec::new(),
        });
    }

    fn returned(&mut self, address: u64) -> bool {
        let at = self.calls.iter().rposition(|call| call.back == address);
        let Some(at) = at.filter(|at| *at > 0) else {
            return false;
        };
        let mut left = self
            .calls
            .split_off(at)
            .into_iter()
            .flat_map(|call| call.loops);
        if let Some(outermost) = left.next() {
            self.path = outermost.entry;
        }
        true
    }

    fn closes(&mut self, last: &Instruction, address: u64) -> bool {
        let number = self.calls.last().unwrap().number;
        let ran = self.ran.get(&address).is_some_and(|ran| ran.0 == number);
        let innermost = self.loops().last().is_some_and(|l| l.header == address);
        address <= last.address
            && match last.leads {
                Leads::Branch(taken) => taken == address,
                Leads::Loop(_) => true,
                Leads::Jump(_) | Leads::Indirect => ran || innermost,
                _ => false,
            }
    }

    fn close(&mut self, last: &Instruction, address: u64, before: Path) {
        let new = !self.known.contains_key(&address);
        let high = self.known.entry(address).or_default();
        *high = (*high).max(last.after);
        let high = *high;
        match self.loops().iter().rposition(|l| l.header == address) {
            Some(at) => self.leave(at + 1),
            None => {
                let left = self.leave_others(address);
                let mut entry = if left { self.path } else { before };
                let number = self.calls.last().unwrap().number;
                if new && let Some((_, path)) = self.ran.get(&address).filter(|ran| ran.0 == number)
                {
                    entry = *path;
                }
                self.loops().push(Loop {
                    header: address,
                    high,
                    iterations: 0,
                    entry,
                });
            }
        }
        let keep = self.keep;
        let innermost = self.loops().last_mut().unwrap();
        innermost.high = high;
        innermost.iterations += 1;
        if innermost.iterations == keep {
            innermost.iterations = 0;
            self.path = innermost.entry;
        }
    }

    fn begin(&mut self, address: u64) {
        let Some(high) = self.known.get(&address).copied() else {
            return;
        };
        if self.loops().last().is_none_or(|l| l.header != address) {
            let entry = self.path;
            self.loops().push(Loop {
                header: address,
                high,
                iterations: 0,
                entry,
            });
        }
    }

    /// Leaves the loops that an address is outside of, and those inside them; whether there are
    /// any.
    fn leave_others(&mut self, address: u64) -> bool {
        let outside = |l: &Loop| address < l.header || address >= l.high;
        let left = self.loops().iter().position(outside);
        if let Some(at) = left {
            self.leave(at);
        }
        left.is_some()
    }

    /// Leaves all loops of this call but the outer `stay`.
    fn leave(&mut self, stay: usize) {
        let loops = self.loops();
        let left = loops.drain(stay.min(loops.len())..).next();
        if let Some(outermost) = left {
            self.path = outermost.entry;
        }
    }
}
