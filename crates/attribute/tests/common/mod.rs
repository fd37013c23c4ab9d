//! A small program made by hand: its symbols, its events, and blocks of rows to write by name.
#![allow(dead_code, reason = "each test file uses a part of it")]

pub mod traces;

use std::collections::BTreeMap;
use std::sync::Arc;

use reuselens_attribute::{
    AccessedType, Attributor, BlockTypes, Columns, FrameLayout, FrameLayouts, Function,
    LocalVariable, Options, StaticSymbol, SymbolSource, Tables, Variable, Warning,
};
use reuselens_profile::{DataLayout, Frame, Object};
use reuselens_trace::{
    Block, Event, Kind, Module, ModuleId, Process, ProcessId, Row, Thread, ThreadId,
};

/// Where the program's code begins in memory; its file begins at 0.
pub const BIAS: u64 = 0x5555_0000_0000;
/// The main thread's stack.
pub const STACK: (u64, u64) = (0x7fff_0000_0000, 0x7fff_0080_0000);

/// Symbols listed by hand: functions of 256 bytes each, statics, and their files.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// First address → name.
    pub functions: BTreeMap<u64, &'static str>,
    /// Low, high, name.
    pub statics: Vec<(u64, u64, &'static str)>,
    /// Bytes of an element of each static.
    pub element_bytes: u64,
    /// By instruction, the functions that are inlined there, innermost first.
    pub inlined: BTreeMap<u64, Vec<&'static str>>,
    /// By function: below the canonical frame address, bytes, and name of its variables.
    pub locals: BTreeMap<u64, Vec<(u64, u64, &'static str)>>,
    /// Whether no instruction has a line.
    pub without_lines: bool,
    /// By instruction, what it accesses.
    pub accessed: BTreeMap<u64, AccessedType>,
    /// The type that all calls allocate.
    pub allocated: Option<Arc<DataLayout>>,
    /// The variables that statements allocate.
    pub names: Vec<String>,
}

/// The types of a [`Listed`].
#[derive(Debug)]
struct Types {
    accessed: BTreeMap<u64, AccessedType>,
    allocated: Option<Arc<DataLayout>>,
}

impl BlockTypes for Types {
    fn of_block(&mut self, _: &[(&Module, u64)]) -> Option<Arc<DataLayout>> {
        self.allocated.clone()
    }

    fn of_access(&mut self, _: &Module, address: u64, _: bool) -> Option<AccessedType> {
        self.accessed.get(&address).cloned()
    }
}

/// The variables of a [`Listed`].
#[derive(Debug)]
struct Frames(BTreeMap<u64, Vec<(u64, u64, &'static str)>>);

impl FrameLayouts for Frames {
    fn at(&mut self, address: u64) -> Option<FrameLayout> {
        let low = address & !0xff;
        let local = |&(below, bytes, name): &(u64, u64, &str)| LocalVariable {
            below,
            bytes,
            name: name.into(),
            file: "prog.c".into(),
            element_bytes: 8,
            layout: None,
        };
        let locals = self.0.get(&low)?.iter().map(local).collect();
        let code = vec![(low, low + 0x100)];
        Some(FrameLayout { code, locals })
    }
}

impl SymbolSource for Listed {
    fn statics(&mut self, _: &Module) -> Vec<StaticSymbol> {
        let symbol = |&(low, high, name): &(u64, u64, &str)| StaticSymbol {
            low,
            high,
            name: name.into(),
        };
        self.statics.iter().map(symbol).collect()
    }

    fn frames(&mut self, module: &Module, address: u64) -> Vec<Frame> {
        let function = self.function(module, address);
        let frame = |function: Function| {
            if self.without_lines {
                Frame {
                    function: format!("{}+{:#x}", function.name, address & 0xff),
                    ..Frame::default()
                }
            } else {
                Frame {
                    function: function.name,
                    file: function.file,
                    line: (address & 0xff) as u32,
                }
            }
        };
        let inlined = self.inlined.get(&address).into_iter().flatten();
        let inlined = inlined.map(|name| Frame {
            function: (*name).into(),
            file: "prog.h".into(),
            line: 7,
        });
        inlined.chain(function.map(frame)).collect()
    }

    fn function(&mut self, _: &Module, address: u64) -> Option<Function> {
        let name = *self.functions.get(&(address & !0xff))?;
        Some(Function {
            name: name.into(),
            file: "prog.c".into(),
            symbol: name.into(),
        })
    }

    fn frame_layouts(&mut self, _: &Module) -> Option<Box<dyn FrameLayouts>> {
        Some(Box::new(Frames(self.locals.clone())))
    }

    fn block_types(&mut self) -> Option<Box<dyn BlockTypes>> {
        Some(Box::new(Types {
            accessed: self.accessed.clone(),
            allocated: self.allocated.clone(),
        }))
    }

    fn allocated_names(&mut self, _: &Module, _: &Frame, calls: usize) -> Vec<String> {
        let names = Some(self.names.clone());
        names
            .filter(|names| names.len() == calls)
            .unwrap_or_default()
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

    fn functions_without_lines(&mut self, _: &Module) -> Vec<(u64, u64)> {
        let range = |(low, _): (&u64, _)| (*low, low + 0x100);
        if self.without_lines {
            self.functions.iter().map(range).collect()
        } else {
            Vec::new()
        }
    }

    fn variable(&mut self, _: &Module, _: u64) -> Variable {
        Variable {
            file: "src/prog.c".into(),
            element_bytes: self.element_bytes,
            layout: None,
        }
    }
}

/// `main` at 0x100, `f` at 0x200, `g` at 0x300, `make` at 0x400, and a table and some small
/// statics.
pub fn program() -> Listed {
    Listed {
        functions: [(0x100, "main"), (0x200, "f"), (0x300, "g"), (0x400, "make")].into(),
        statics: vec![
            (0x1_0000, 0x1_4000, "table"),
            (0x1_4004, 0x1_4008, "count"),
            (0x1_4008, 0x1_400a, "flag"),
            (0x1_400c, 0x1_4014, "total"),
        ],
        element_bytes: 8,
        inlined: BTreeMap::new(),
        locals: BTreeMap::new(),
        without_lines: false,
        accessed: BTreeMap::new(),
        allocated: None,
        names: Vec::new(),
    }
}

/// A row's program counter: the return address whose instruction has this line of the function.
pub fn at(function: u64, line: u64) -> u64 {
    BIAS + function + line + 1
}

/// An attributor under test, with its program.
pub struct Run {
    pub attributor: Attributor,
    pub symbols: Listed,
    pub columns: Columns,
    pub block: Block,
    all: Columns,
}

impl Run {
    /// Process 0 with its module and main thread.
    pub fn new(options: Options) -> Run {
        let mut run = Run::bare(options);
        run.event(Event::Process(Process::default()));
        run.map_module(0);
        run.thread(0, 0, STACK);
        run
    }

    /// No process yet.
    pub fn bare(options: Options) -> Run {
        Run {
            attributor: Attributor::new(options),
            symbols: program(),
            columns: Columns::new(),
            block: Block::new(),
            all: Columns::new(),
        }
    }

    pub fn event(&mut self, event: Event) {
        self.flush();
        self.attributor.event(&event, &mut self.symbols);
    }

    pub fn map_module(&mut self, process: u16) {
        self.event(Event::Module(Module {
            process: ProcessId(process),
            id: ModuleId(0),
            path: "/home/me/prog".into(),
            bias: BIAS,
            low: BIAS,
            high: BIAS + 0x2_0000,
            build_id: vec![1],
        }));
    }

    pub fn thread(&mut self, process: u16, thread: u32, (stack_low, stack_high): (u64, u64)) {
        let (id, process) = (ThreadId(thread), ProcessId(process));
        let name = String::new();
        self.event(Event::Thread(Thread {
            id,
            process,
            tid: 1,
            stack_low,
            stack_high,
            name,
        }));
    }

    /// What follows is from this thread.
    pub fn on(&mut self, process: u16, thread: u32) {
        self.flush();
        (self.block.process, self.block.thread) = (ProcessId(process), ThreadId(thread));
    }

    pub fn row(&mut self, kind: Kind, size: u8, pc: u64, addr: u64, operands: &[u64]) {
        self.block.push(Row {
            kind,
            size,
            pc,
            addr,
        });
        operands
            .iter()
            .for_each(|operand| self.block.push_operand(*operand));
    }

    pub fn load(&mut self, pc: u64, addr: u64) {
        self.row(Kind::Load, 8, pc, addr, &[]);
    }

    pub fn store(&mut self, pc: u64, addr: u64) {
        self.row(Kind::Store, 8, pc, addr, &[]);
    }

    pub fn enter(&mut self, function: u64, stack_pointer: u64, call: u64) {
        self.row(Kind::Enter, 0, at(function, 1), stack_pointer, &[call]);
    }

    /// As [`Self::enter`], with the stack pointer of the moment of the call.
    pub fn call(&mut self, function: u64, stack_pointer: u64, call: u64) {
        self.row(Kind::Enter, 1, at(function, 1), stack_pointer, &[call]);
    }

    pub fn exit(&mut self, stack_pointer: u64) {
        self.row(Kind::Exit, 0, at(0x100, 9), stack_pointer, &[]);
    }

    pub fn alloc(&mut self, pc: u64, addr: u64, bytes: u64) {
        self.row(Kind::Alloc, 0, pc, addr, &[bytes]);
    }

    pub fn free(&mut self, addr: u64, bytes: u64) {
        self.row(Kind::Free, 0, 0, addr, &[bytes]);
    }

    pub fn data(&mut self, base: u64, total: u64, element: u64, name: &str) {
        let mut operands = vec![total, element, name.len() as u64];
        for piece in name.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            operands.push(u64::from_le_bytes(word));
        }
        self.row(Kind::Data, 0, 0, base, &operands);
    }

    pub fn named(&mut self, base: u64, element: u64) {
        self.row(Kind::Named, 0, at(0x100, 5), element, &[base]);
    }

    pub fn statement(&mut self) {
        self.row(Kind::Statement, 0, 0, 0, &[]);
    }

    /// Sends the block off.
    pub fn flush(&mut self) {
        if !self.block.is_empty() {
            self.attributor.block(&self.block, &mut self.columns);
            assert_eq!(self.columns.items.len(), self.columns.cells.len());
            self.merge();
            self.all.items.extend(&self.columns.items);
            self.all.cells.extend(&self.columns.cells);
            self.all.stores.extend(&self.columns.stores);
            self.all.bytes.extend(&self.columns.bytes);
            self.all.offsets.extend(&self.columns.offsets);
            if !self.columns.elements.is_empty() {
                assert_eq!(self.columns.items.len(), self.columns.elements.len());
            }
            let earlier = self.all.items.len() - self.columns.items.len();
            self.all.elements.resize(earlier, 0);
            self.all.elements.extend(&self.columns.elements);
            self.all.elements.resize(self.all.items.len(), 0);
            self.block.clear();
        }
    }

    /// Lets earlier accesses count for the cells that theirs were merged into.
    fn merge(&mut self) {
        let mut last = BTreeMap::new();
        for (from, to) in self.columns.merged.iter().rev() {
            last.insert(*from, *last.get(to).unwrap_or(to));
        }
        for cell in &mut self.all.cells {
            *cell = *last.get(cell).unwrap_or(cell);
        }
    }

    pub fn finish(mut self) -> Finished {
        self.flush();
        let references = self.attributor.references();
        let tables = self.attributor.finish(&mut self.symbols);
        Finished {
            columns: self.all,
            tables,
            references,
        }
    }
}

/// The accesses per element of an object.
pub fn counts(object: &Object) -> Vec<(u64, u64)> {
    let elements = object.elements.iter();
    elements
        .map(|element| (element.index, element.accesses))
        .collect()
}

/// What came out.
pub struct Finished {
    pub columns: Columns,
    pub tables: Tables,
    pub references: u64,
}

impl Finished {
    /// The object's name of each touch.
    pub fn objects(&self) -> Vec<&str> {
        let cells = self
            .columns
            .cells
            .iter()
            .map(|cell| &self.tables.cells[*cell as usize]);
        cells
            .map(|cell| self.tables.objects[cell.object as usize].name.as_str())
            .collect()
    }

    /// The element of each touch, as `A[2]`; empty for none.
    pub fn elements(&self) -> Vec<String> {
        let elements = self.columns.elements.iter().map(|element| {
            let key = self.tables.elements[*element as usize];
            let name = &self.tables.objects[key.object as usize].name;
            (*element != 0).then(|| format!("{name}[{}]", key.index))
        });
        elements.map(Option::unwrap_or_default).collect()
    }

    /// The functions of each touch's context, outermost first, joined by `>`.
    pub fn contexts(&self) -> Vec<String> {
        let cells = self
            .columns
            .cells
            .iter()
            .map(|cell| self.tables.cells[*cell as usize].context);
        cells.map(|context| self.path(context)).collect()
    }

    fn path(&self, context: u32) -> String {
        let node = &self.tables.contexts[context as usize];
        match context {
            0 => String::new(),
            _ => format!("{}>{}", self.path(node.parent), node.function),
        }
    }

    /// The codes of the warnings.
    pub fn warnings(&self) -> Vec<&str> {
        self.tables
            .warnings
            .iter()
            .map(|warning| warning.code.as_str())
            .collect()
    }

    /// The object of this name.
    pub fn object(&self, name: &str) -> &reuselens_profile::Object {
        let found = self
            .tables
            .objects
            .iter()
            .find(|object| object.name == name);
        found.unwrap_or_else(|| panic!("no {name} in {:#?}", self.tables.objects))
    }
}
