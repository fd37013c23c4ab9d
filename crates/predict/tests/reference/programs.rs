//! Small programs of random control flow, and what they do when they run.

/// Numbers that follow from a seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % most
    }
}

/// What an instruction does, with the numbers of labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Accesses memory.
    Load,
    /// Goes to a label or on; taken or not, as `leaves` says, it ends loops and calls nothing.
    Branch {
        to: usize,
        leaves: bool,
    },
    Jump(usize),
    Switch(usize, usize),
    Call(usize),
    Return,
}

/// Outcomes at the beginning of a program, so that none from before it are in a path: twice what a
/// path holds.
pub const FIRST_OUTCOMES: usize = 64;
/// Calls that a thread is in at most.
const MOST_CALLS: usize = 10;
/// Functions of a part.
const FUNCTIONS: u64 = 3;

/// Several parts, each of functions that call each other and themselves, and a function that calls
/// the first one of each part several times.
pub struct Program {
    pub ops: Vec<Op>,
    /// Where each label is: the number of an instruction.
    pub labels: Vec<usize>,
    /// Labels of all functions, in the order of their code.
    pub functions: Vec<usize>,
    random: Random,
    /// Whether no two labels are at one place and each branch and label has a load after it, so
    /// that a compiler has nothing to make shorter. There are no switches then, because compilers
    /// translate them in various ways.
    plain: bool,
    /// Functions of the part that is being written.
    part: Vec<usize>,
}

impl Program {
    pub fn new(seed: u64, parts: usize, plain: bool) -> Program {
        let mut program = Program {
            ops: Vec::new(),
            labels: Vec::new(),
            functions: Vec::new(),
            random: Random(seed),
            plain,
            part: Vec::new(),
        };
        let main = program.label();
        let functions = |program: &mut Program| (0..FUNCTIONS).map(|_| program.label()).collect();
        let parts: Vec<Vec<usize>> = (0..parts).map(|_| functions(&mut program)).collect();
        program.functions = [main].into_iter().chain(parts.concat()).collect();
        program.place(main);
        for _ in 0..FIRST_OUTCOMES {
            let next = program.label();
            program.branch(next, false);
            program.place(next);
        }
        for part in &parts {
            let again = program.label();
            program.place(again);
            program.ops.push(Op::Call(part[0]));
            program.branch(again, false);
        }
        program.ops.push(Op::Return);
        for part in parts {
            program.part.clone_from(&part);
            for function in part {
                program.place(function);
                program.statements(if plain { 2 } else { 3 }, &mut Vec::new());
                program.ops.push(Op::Return);
            }
        }
        program
    }

    fn label(&mut self) -> usize {
        self.labels.push(usize::MAX);
        self.labels.len() - 1
    }

    fn place(&mut self, label: usize) {
        self.labels[label] = self.ops.len();
        self.ops.extend(self.plain.then_some(Op::Load));
    }

    fn branch(&mut self, to: usize, leaves: bool) {
        self.ops.push(Op::Branch { to, leaves });
        self.ops.extend(self.plain.then_some(Op::Load));
    }

    fn loads(&mut self) {
        let count = self.random.below(4);
        self.ops.extend((0..count).map(|_| Op::Load));
    }

    /// Some statements; `around` is where the loops around them begin again and end, the innermost
    /// last.
    fn statements(&mut self, depth: u32, around: &mut Vec<(usize, usize)>) {
        for _ in 0..1 + self.random.below(3) {
            self.loads();
            let which = match depth {
                0 => 8 + self.random.below(4),
                _ => self.random.below(12),
            };
            self.statement(which, depth.saturating_sub(1), around);
        }
        self.loads();
    }

    fn statement(&mut self, which: u64, depth: u32, around: &mut Vec<(usize, usize)>) {
        let (first, second) = (self.label(), self.label());
        match which {
            0 | 1 => {
                // if, else
                self.branch(first, true);
                self.statements(depth, around);
                self.ops.push(Op::Jump(second));
                self.place(first);
                self.statements(depth, around);
                self.place(second);
            }
            2..=6 => self.loop_of(which, depth, around),
            7 if !self.plain => {
                self.ops.push(Op::Switch(first, second));
                self.place(first);
                self.loads();
                self.place(second);
            }
            7 | 8 => {
                // A loop of one block.
                self.place(first);
                self.loads();
                self.branch(first, false);
            }
            9 => {
                let most = self.part.len() as u64;
                let function = self.random.below(most) as usize;
                self.branch(first, true);
                self.ops.push(Op::Call(self.part[function]));
                self.place(first);
            }
            10 => {
                // continue or break, of any loop
                let most = around.len() as u64;
                if most > 0 {
                    let (again_at, end) = around[self.random.below(most) as usize];
                    let again = self.random.below(2) > 0;
                    self.branch(if again { again_at } else { end }, !again);
                }
            }
            _ => {
                // An early return.
                self.branch(first, false);
                self.ops.push(Op::Return);
                self.place(first);
            }
        }
    }

    /// A loop of statements.
    fn loop_of(&mut self, which: u64, depth: u32, around: &mut Vec<(usize, usize)>) {
        let (first, again, end) = (self.label(), self.label(), self.label());
        let endless = which == 6;
        if which == 5 {
            // while, with the condition at the end
            self.ops.push(Op::Jump(again));
        }
        self.place(first);
        around.push((if endless { first } else { again }, end));
        self.statements(depth, around);
        if endless {
            // It is left from the middle.
            self.branch(end, true);
            self.statements(depth, around);
        }
        around.pop();
        self.place(again);
        self.loads();
        if endless {
            self.ops.push(Op::Jump(first));
        } else {
            self.branch(first, false);
        }
        self.place(end);
    }

    /// Runs it: the numbers of the instructions that ran, each of the parts for `steps` of them and
    /// what it takes to come to its end.
    pub fn run(&mut self, steps: usize) -> Vec<usize> {
        let (mut ran, mut calls, mut at, mut begun) = (Vec::new(), Vec::new(), 0, 0);
        loop {
            ran.push(at);
            let (outer, long) = (calls.is_empty(), ran.len() - begun > steps);
            at = match self.ops[at] {
                Op::Load => at + 1,
                Op::Branch { to, leaves } => {
                    let to = self.labels[to];
                    let passes_call = matches!(self.ops[to - 1], Op::Call(_));
                    let deep = passes_call && calls.len() >= MOST_CALLS;
                    let taken = if outer && to <= at {
                        !long
                    } else if deep || long && !outer {
                        leaves
                    } else {
                        self.random.below(5) < 3
                    };
                    if outer && !taken {
                        begun = ran.len();
                    }
                    if taken { to } else { at + 1 }
                }
                Op::Jump(label) => self.labels[label],
                Op::Switch(a, b) => self.labels[[a, b][self.random.below(2) as usize]],
                Op::Call(function) => {
                    calls.push(at + 1);
                    self.labels[function]
                }
                Op::Return => match calls.pop() {
                    Some(back) => back,
                    None => return ran,
                },
            };
        }
    }
}
