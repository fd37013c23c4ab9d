//! The definition of paths, from instructions: what trackers of blocks are held against.
#![allow(dead_code, reason = "each file of tests uses its own part of this")]

pub mod flow;
pub mod programs;

use std::collections::HashMap;

use flow::Flow;

/// Where an instruction leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leads {
    /// To the next instruction.
    On,
    /// To the next instruction or to this address.
    Branch(u64),
    /// To a fixed address.
    Jump(u64),
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

/// A loop that the thread is in.
#[derive(Clone, Copy, Debug)]
struct Loop {
    /// Its first instruction.
    header: u64,
    /// When that ran first, and the path to it.
    entered: usize,
    entry: Path,
    /// How often it ran, and when it did last.
    runs: usize,
    iteration: usize,
}

/// A call that the thread is in.
#[derive(Clone, Debug, Default)]
struct Call {
    /// Where it returns to.
    back: u64,
    /// The instruction that ran last in it.
    last: u64,
    /// The loops of that instruction.
    loops: Vec<Loop>,
    number: usize,
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

/// Follows a thread from instruction to instruction.
///
/// It keeps all that ran, finds the loops of the code that ran so far anew whenever there is a new
/// way, and computes where the thread is in them from all that ran in its call.
pub struct Reference {
    keep: usize,
    /// The path by the loops.
    exact: Path,
    /// That at the first instruction of the straight code that the thread is in.
    path: Path,
    last: Option<Instruction>,
    flow: Flow,
    calls: Vec<Call>,
    /// Calls that began, but for the first one.
    called: usize,
    /// The call in which an instruction ran last, when that was, and on which path.
    ran: HashMap<u64, (usize, usize, Path)>,
    /// The call in which a loop was left last, and the loop.
    left: HashMap<u64, (usize, Loop)>,
    /// Instructions that ran.
    time: usize,
}

impl Reference {
    pub fn new(keep: u32) -> Reference {
        Reference {
            keep: keep as usize,
            exact: Path::default(),
            path: Path::default(),
            last: None,
            flow: Flow::default(),
            calls: vec![Call::default()],
            called: 0,
            ran: HashMap::new(),
            left: HashMap::new(),
            time: 0,
        }
    }

    /// Whether each loop of what ran is entered at one place only. Only then are paths defined.
    pub fn is_reducible(&self) -> bool {
        self.flow.is_reducible()
    }

    /// The path to the next instruction.
    pub fn run(&mut self, next: Instruction) -> &Path {
        let address = next.address;
        self.time += 1;
        match self.last {
            None => self.flow.enter(address),
            Some(last) => {
                self.outcome(&last, address);
                match last.leads {
                    // Else what it calls is not seen.
                    Leads::Call if address != last.after => {
                        self.flow.enter(address);
                        self.called += 1;
                        self.calls.push(Call {
                            back: last.after,
                            number: self.called,
                            ..Call::default()
                        });
                    }
                    Leads::Return => self.returned(address),
                    _ => self.flow.lead(last.address, address),
                }
            }
        }
        self.settle(address);
        let exact = self.exact;
        let call = self.calls.last_mut().unwrap();
        call.last = address;
        self.ran.insert(address, (call.number, self.time, exact));
        if self.last.is_none_or(|last| last.leads != Leads::On) {
            self.path = exact;
        }
        self.last = Some(next);
        &self.path
    }

    fn outcome(&mut self, last: &Instruction, address: u64) {
        for path in [&mut self.exact, &mut self.path] {
            match last.leads {
                Leads::Branch(taken) => {
                    path.outcomes = path.outcomes << 1 | u32::from(taken == address);
                    path.trace.rotate_right(1);
                    path.trace[0] = mix(0, last.address);
                }
                Leads::On => {}
                _ => path.trace[0] = mix(mix(path.trace[0], last.address), address),
            }
        }
    }

    /// Leaves the calls that a return to an address leaves, with their loops.
    fn returned(&mut self, address: u64) {
        let at = self.calls.iter().rposition(|call| call.back == address);
        let Some(at) = at.filter(|at| *at > 0) else {
            return self.flow.enter(address);
        };
        let left = self.calls.split_off(at);
        if let Some(outermost) = left.iter().flat_map(|call| &call.loops).next() {
            self.exact = outermost.entry;
        }
        self.flow.lead(self.calls.last().unwrap().last, address);
    }

    /// The thread is in the loops of an instruction. Those that it was in and is not any more are
    /// squashed, and so are `keep` iterations of one that begins the next.
    fn settle(&mut self, address: u64) {
        let call = self.calls.last_mut().unwrap();
        let nest = self.flow.loops_of(address);
        let before = std::mem::take(&mut call.loops);
        let same = before.iter().zip(&nest);
        let same = same
            .take_while(|(one, header)| one.header == **header)
            .count();
        if let Some(outermost) = before.get(same) {
            self.exact = outermost.entry;
        }
        for left in &before[same..] {
            self.left.insert(left.header, (call.number, *left));
        }
        // When the present iteration of the loop around, or the call, began.
        let mut since = 0;
        for (at, &header) in nest.iter().enumerate() {
            let left = self.left.get(&header).copied();
            let left = left.filter(|(of, left)| *of == call.number && left.entered >= since);
            let mut one = match (before.get(at).filter(|_| at < same), left) {
                (Some(known), _) => *known,
                (None, Some((_, left))) => left,
                (None, None) => {
                    let ran = self.ran.get(&header).filter(|ran| ran.0 == call.number);
                    let ran = ran.filter(|ran| ran.1 >= since);
                    let (entered, entry) =
                        ran.map_or((self.time, self.exact), |(_, when, path)| (*when, *path));
                    Loop {
                        header,
                        entry,
                        entered,
                        // In its middle, it is in an iteration, though none is known to have begun.
                        runs: usize::from(header != address || ran.is_some()),
                        iteration: entered,
                    }
                }
            };
            if header == address {
                if one.runs > 0 && one.runs % self.keep == 0 {
                    self.exact = one.entry;
                }
                one.runs += 1;
                one.iteration = self.time;
            }
            since = one.iteration;
            call.loops.push(one);
        }
    }
}
