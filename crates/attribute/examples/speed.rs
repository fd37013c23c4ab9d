//! Nanoseconds per access of the attribution alone, on streams made by hand:
//! `cargo run --release -p reuselens-attribute --example speed`.

use std::time::Instant;

use reuselens_attribute::{
    Attributor, BlockTypes, Columns, FrameLayouts, NoSymbols, Options, StaticSymbol, SymbolSource,
    Variable, Warning,
};
use reuselens_trace::{Block, Event, Kind, Module, Row, Thread};

const CODE: u64 = 0x40_0000;
const STACK: (u64, u64) = (0x7fff_0000_0000, 0x7fff_0080_0000);
const HEAP: u64 = 0x60_0000_0000;
const ROWS: u64 = 1 << 15;
const BLOCKS: u64 = 1000;

/// Three arrays of 8 MiB.
struct Arrays;

impl SymbolSource for Arrays {
    fn statics(&mut self, _: &Module) -> Vec<StaticSymbol> {
        let array = |index: u64| StaticSymbol {
            low: 0x1000_0000 + (index << 23),
            high: 0x1000_0000 + ((index + 1) << 23),
            name: format!("array {index}"),
        };
        (0..3).map(array).collect()
    }

    fn frames(&mut self, module: &Module, address: u64) -> Vec<reuselens_profile::Frame> {
        NoSymbols.frames(module, address)
    }

    fn function(&mut self, module: &Module, address: u64) -> Option<reuselens_attribute::Function> {
        NoSymbols.function(module, address)
    }

    fn functions_without_lines(&mut self, _: &Module) -> Vec<(u64, u64)> {
        Vec::new()
    }

    fn variable(&mut self, module: &Module, address: u64) -> Variable {
        NoSymbols.variable(module, address)
    }

    fn frame_layouts(&mut self, _: &Module) -> Option<Box<dyn FrameLayouts>> {
        None
    }

    fn block_types(&mut self) -> Option<Box<dyn BlockTypes>> {
        None
    }

    fn allocated_names(
        &mut self,
        _: &Module,
        _: &reuselens_profile::Frame,
        _: usize,
    ) -> Vec<String> {
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

fn attributor() -> Attributor {
    let mut attributor = Attributor::new(Options::default());
    let module = Module {
        low: CODE,
        high: 0x1200_0000,
        path: "bench".into(),
        ..Module::default()
    };
    attributor.event(&Event::Module(module), &mut Arrays);
    let (stack_low, stack_high) = STACK;
    let thread = Thread {
        stack_low,
        stack_high,
        ..Thread::default()
    };
    attributor.event(&Event::Thread(thread), &mut Arrays);
    attributor
}

fn access(block: &mut Block, kind: Kind, site: u64, addr: u64) {
    block.push(Row {
        kind,
        size: 8,
        pc: CODE + 5 * site,
        addr,
    });
}

/// Inner loop of a matrix product: three arrays and a local variable.
fn matrix(block: &mut Block, number: u64) {
    for step in 0..ROWS / 4 {
        let at = 8 * ((number * ROWS + step) % (1 << 20));
        access(block, Kind::Load, 1, 0x1000_0000 + at);
        access(block, Kind::Load, 2, 0x1080_0000 + at * 513 % (1 << 23));
        access(block, Kind::Load, 3, 0x1100_0000 + at / 1024 * 8);
        access(block, Kind::Store, 4, STACK.1 - 0x100);
    }
}

/// A walk over a list of a million blocks of 32 bytes in scattered order.
fn list(block: &mut Block, number: u64) {
    for step in 0..ROWS / 2 {
        let node = (number * ROWS + step).wrapping_mul(0x9e37_79b9) % (1 << 20);
        access(block, Kind::Load, 11, HEAP + 32 * node);
        access(block, Kind::Load, 12, HEAP + 32 * node + 8);
    }
}

/// Calls of a small function, four accesses in each: its frame, its caller's, and a table.
fn calls(block: &mut Block, number: u64) {
    for step in 0..ROWS / 7 {
        let low = STACK.1 - 0x300;
        block.push(Row {
            kind: Kind::Enter,
            size: 0,
            pc: CODE + 0x900,
            addr: low,
        });
        block.push_operand(CODE + 0x100 + step % 2);
        access(block, Kind::Store, 21, low + 8);
        access(block, Kind::Load, 22, low + 0x110);
        access(
            block,
            Kind::Load,
            23,
            0x1000_0000 + 8 * (number * step % (1 << 20)),
        );
        access(block, Kind::Load, 24, low + 8);
        block.push(Row {
            kind: Kind::Exit,
            size: 0,
            pc: CODE + 0x990,
            addr: low,
        });
    }
}

fn measure(name: &str, fill: fn(&mut Block, u64)) {
    let mut attributor = attributor();
    let (mut block, mut columns) = (Block::new(), Columns::new());
    block.push(Row {
        kind: Kind::Enter,
        size: 0,
        pc: CODE + 0x800,
        addr: STACK.1 - 0x200,
    });
    block.push_operand(0);
    for node in 0..if name == "list" { 1 << 20 } else { 0 } {
        block.push(Row {
            kind: Kind::Alloc,
            size: 0,
            pc: CODE + 0x700,
            addr: HEAP + 32 * node,
        });
        block.push_operand(24);
    }
    attributor.block(&block, &mut columns);
    let (mut touches, mut nanoseconds, mut sum) = (0, 0, 0_u64);
    for number in 0..BLOCKS {
        block.clear();
        fill(&mut block, number);
        let start = Instant::now();
        attributor.block(&block, &mut columns);
        nanoseconds += start.elapsed().as_nanos();
        touches += columns.len();
        sum = sum.wrapping_add(columns.cells.iter().map(|cell| u64::from(*cell)).sum());
    }
    let each = nanoseconds as f64 / touches as f64;
    println!(
        "{name:8} {each:6.2} ns per access, {} held, check {sum}",
        attributor.memory()
    );
}

fn main() {
    measure("matrix", matrix);
    measure("list", list);
    measure("calls", calls);
}
