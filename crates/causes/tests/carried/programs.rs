//! Random programs of nested loops, branches and calls.

use reuselens_control_flow::{BasicBlock, BlockEnd};

/// Numbers that follow from a seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// What a thread does. Blocks and accesses are what an analysis sees.
#[derive(Clone, Debug)]
pub enum Step {
    Block(BasicBlock),
    /// The cell is a number that other threads use too.
    Access {
        item: u64,
        cell: u32,
    },
    /// Calls the function that begins there.
    Call(u64),
    /// Enters the loop that begins there.
    Loop(u64),
    /// Another iteration of the innermost loop begins.
    Iterate,
    /// Leaves the innermost loop or call.
    Leave,
}

/// Bytes of a block.
pub const BYTES: u64 = 16;
/// Where the code of a program begins.
pub const FIRST: u64 = 0x1000;
/// Functions of a program; each calls later ones, and itself where no loop is.
const FUNCTIONS: usize = 4;
/// Where functions are called from.
const DRIVER: u64 = 0x100;
/// Items that the accesses of all threads share.
const ITEMS: u64 = 16;

/// A statement, with the addresses of its blocks.
enum Statement {
    Straight(u64),
    /// Condition, one side, the jump at its end, the other side.
    If(u64, Vec<Statement>, u64, Vec<Statement>, u64),
    /// A loop of one block.
    OneBlock(u64),
    /// Header, body, branch at the end.
    DoWhile(u64, Vec<Statement>, u64),
    /// Header with the condition, body, jump at the end.
    While(u64, Vec<Statement>, u64),
    /// Jump to the condition, first block, body, condition at the end, where the loop begins.
    For(u64, u64, Vec<Statement>, u64),
    /// Leaves the innermost loop.
    Break(u64),
    Call(u64, usize),
    /// A branch past a return, and the return, which is in no loop.
    Return(u64, u64),
}

/// A random program.
pub struct Program {
    functions: Vec<(u64, Vec<Statement>, u64)>,
    /// Blocks that end with a call.
    pub calls: Vec<u64>,
    /// The address after its code.
    pub end: u64,
}

/// Writes a program.
struct Writer<'a> {
    random: &'a mut Random,
    next: u64,
    function: usize,
    calls: Vec<u64>,
}

impl Writer<'_> {
    fn address(&mut self) -> u64 {
        self.next += BYTES;
        self.next - BYTES
    }

    fn statements(&mut self, depth: u32, loops: u32) -> Vec<Statement> {
        let count = 1 + self.random.below(3);
        (0..count).map(|_| self.statement(depth, loops)).collect()
    }

    fn statement(&mut self, depth: u32, loops: u32) -> Statement {
        let most = if depth == 0 { 5 } else { 11 };
        match self.random.below(most) {
            0 => Statement::Straight(self.address()),
            1 => Statement::OneBlock(self.address()),
            2 if loops > 0 => Statement::Break(self.address()),
            3 if self.random.below(4) == 0 => Statement::Return(self.address(), self.address()),
            2..=4 => {
                let last = FUNCTIONS - 1;
                let later = self.function + usize::from(loops > 0 || self.random.below(3) > 0);
                if later > last {
                    Statement::Straight(self.address())
                } else {
                    let more = self.random.below((last - later + 1) as u64) as usize;
                    // Itself, only as the choice above has it.
                    let more = if later == self.function { 0 } else { more };
                    let at = self.address();
                    self.calls.push(at);
                    Statement::Call(at, later + more)
                }
            }
            5 => {
                let condition = self.address();
                let one = self.statements(depth - 1, loops);
                let jump = self.address();
                let other = self.statements(depth - 1, loops);
                Statement::If(condition, one, jump, other, self.address())
            }
            6 | 7 => {
                let header = self.address();
                let body = self.statements(depth - 1, loops + 1);
                Statement::DoWhile(header, body, self.address())
            }
            8 => {
                let header = self.address();
                let body = self.statements(depth - 1, loops + 1);
                Statement::While(header, body, self.address())
            }
            _ => {
                let (jump, header) = (self.address(), self.address());
                let body = self.statements(depth - 1, loops + 1);
                Statement::For(jump, header, body, self.address())
            }
        }
    }
}

impl Program {
    pub fn new(random: &mut Random) -> Program {
        let mut writer = Writer {
            random,
            next: FIRST,
            function: 0,
            calls: Vec::new(),
        };
        let mut functions = Vec::new();
        for function in 0..FUNCTIONS {
            writer.function = function;
            let entry = writer.address();
            let body = writer.statements(3, 0);
            functions.push((entry, body, writer.address()));
        }
        Program {
            functions,
            calls: writer.calls,
            end: writer.next,
        }
    }

    /// What a thread does that runs the first function several times, in about this many blocks.
    /// What it does is a loop itself.
    pub fn run(&self, random: &mut Random, blocks: usize) -> Vec<Step> {
        let mut run = Run {
            program: self,
            random,
            steps: Vec::new(),
            most: blocks,
            blocks: 0,
            calls: 0,
        };
        while run.blocks < blocks {
            run.steps.push(Step::Iterate);
            run.call(DRIVER, 0);
            run.block(DRIVER + BYTES, BlockEnd::Falls, 0);
        }
        run.steps
    }
}

/// The beginning of what a thread does: a block, then the loop of its driver.
pub fn begin() -> Vec<Step> {
    let block = BasicBlock {
        start: DRIVER - BYTES,
        length: BYTES as u32,
        end: BlockEnd::Jump,
        ..BasicBlock::default()
    };
    let access = |item| Step::Access { item, cell: 0 };
    let accesses = (0..ITEMS).map(access);
    let steps = [Step::Block(block)].into_iter().chain(accesses);
    steps.chain([Step::Loop(DRIVER)]).collect()
}

/// How a statement ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Return,
}

/// A run of a program by one thread.
struct Run<'a> {
    program: &'a Program,
    random: &'a mut Random,
    steps: Vec<Step>,
    most: usize,
    blocks: usize,
    calls: usize,
}

impl Run<'_> {
    /// A block. Those that go on with the next one have no accesses, so that they can be parts of
    /// longer blocks; nor have returns, which are in no loop.
    fn block(&mut self, start: u64, end: BlockEnd, taken: u64) {
        self.blocks += 1;
        self.steps.push(Step::Block(BasicBlock {
            start,
            length: BYTES as u32,
            taken,
            end,
        }));
        if matches!(end, BlockEnd::Falls | BlockEnd::Return) {
            return;
        }
        for access in 0..self.random.below(4) {
            self.steps.push(Step::Access {
                item: self.random.below(ITEMS),
                cell: start as u32 + access as u32,
            });
        }
    }

    /// Whether a loop goes on: long runs come to their end.
    fn goes_on(&mut self) -> bool {
        self.blocks < self.most && self.random.below(4) > 0
    }

    fn call(&mut self, from: u64, function: usize) {
        let (entry, body, exit) = &self.program.functions[function];
        self.block(from, BlockEnd::Call, *entry);
        self.steps.push(Step::Call(*entry));
        self.calls += 1;
        self.block(*entry, BlockEnd::Falls, 0);
        if self.statements(body) != Flow::Return {
            self.block(*exit, BlockEnd::Return, 0);
        }
        self.calls -= 1;
        self.steps.push(Step::Leave);
    }

    fn statements(&mut self, statements: &[Statement]) -> Flow {
        for statement in statements {
            let flow = self.statement(statement);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    fn statement(&mut self, statement: &Statement) -> Flow {
        match statement {
            Statement::Straight(at) => self.block(*at, BlockEnd::Falls, 0),
            Statement::If(condition, one, jump, other, join) => {
                let taken = self.random.below(2) > 0;
                self.block(*condition, BlockEnd::Branch, jump + BYTES);
                let flow = self.statements(if taken { other } else { one });
                if flow != Flow::Next {
                    return flow;
                }
                if !taken {
                    self.block(*jump, BlockEnd::Jump, *join);
                }
                self.block(*join, BlockEnd::Falls, 0);
            }
            Statement::Break(at) => {
                let leaves = self.random.below(3) == 0;
                // Where it leads to is told by the block that comes next.
                self.block(*at, BlockEnd::Branch, u64::from(!leaves));
                if leaves {
                    return Flow::Break;
                }
            }
            Statement::Call(at, function) if self.calls < 8 => self.call(*at, *function),
            // It calls code that is not seen.
            Statement::Call(at, _) => self.block(*at, BlockEnd::Call, 0),
            Statement::Return(branch, at) => {
                let returns = self.random.below(3) == 0;
                self.block(*branch, BlockEnd::Branch, at + BYTES);
                if returns {
                    self.block(*at, BlockEnd::Return, 0);
                    return Flow::Return;
                }
            }
            _ => return self.a_loop(statement),
        }
        Flow::Next
    }

    /// Runs a loop, which an early return leaves too.
    fn a_loop(&mut self, statement: &Statement) -> Flow {
        let flow = match statement {
            Statement::OneBlock(at) => {
                self.steps.push(Step::Loop(*at));
                self.block(*at, BlockEnd::Branch, *at);
                while self.goes_on() {
                    self.steps.push(Step::Iterate);
                    self.block(*at, BlockEnd::Branch, *at);
                }
                Flow::Next
            }
            Statement::DoWhile(header, body, latch) => {
                self.steps.push(Step::Loop(*header));
                loop {
                    self.block(*header, BlockEnd::Falls, 0);
                    let flow = self.statements(body);
                    if flow != Flow::Next {
                        break flow;
                    }
                    self.block(*latch, BlockEnd::Branch, *header);
                    if !self.goes_on() {
                        break Flow::Next;
                    }
                    self.steps.push(Step::Iterate);
                }
            }
            Statement::While(header, body, latch) => {
                self.steps.push(Step::Loop(*header));
                loop {
                    self.block(*header, BlockEnd::Branch, latch + BYTES);
                    if !self.goes_on() {
                        break Flow::Next;
                    }
                    let flow = self.statements(body);
                    if flow != Flow::Next {
                        break flow;
                    }
                    self.block(*latch, BlockEnd::Jump, *header);
                    self.steps.push(Step::Iterate);
                }
            }
            Statement::For(jump, first, body, condition) => {
                self.block(*jump, BlockEnd::Jump, *condition);
                self.steps.push(Step::Loop(*condition));
                loop {
                    self.block(*condition, BlockEnd::Branch, *first);
                    if !self.goes_on() {
                        break Flow::Next;
                    }
                    self.block(*first, BlockEnd::Jump, 0);
                    let flow = self.statements(body);
                    if flow != Flow::Next {
                        break flow;
                    }
                    self.steps.push(Step::Iterate);
                }
            }
            _ => Flow::Next,
        };
        self.steps.push(Step::Leave);
        match flow {
            Flow::Return => Flow::Return,
            Flow::Next | Flow::Break => Flow::Next,
        }
    }
}
