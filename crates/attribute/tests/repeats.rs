//! Accesses of compressed rows count for the same items, cells and elements, in the same order, as
//! the decompressed rows do.

use std::io::Cursor;

use reuselens_attribute::{
    Attributor, BlockTypes, Columns, DataFilter, FrameLayout, FrameLayouts, Function, Kinds,
    LocalVariable, NoSymbols, Options, PlacementOptions, StaticSymbol, SymbolSource, Tables,
    Variable, Warning,
};
use reuselens_io::Input;
use reuselens_profile::Frame;
use reuselens_rltrace::Reader;
use reuselens_trace::{Block, Event, Kind, Module, Projection, Row, Source, Thread, ThreadId};
use reuselens_units::Granularity;

use crate::common::traces::{MIXES, Random, file, repeated, take_all};

/// What lies where the traces access memory: low ends, and bytes.
struct Layout {
    arrays: &'static [(u64, u64)],
    heap: &'static [(u64, u64)],
    /// Stacks of thread after thread; 0, 0 is unknown.
    stacks: &'static [(u64, u64)],
}

const LAYOUTS: [Layout; 4] = [
    // Many objects, most smaller than a page, with room between them.
    Layout {
        arrays: &[
            (0x7300, 0x600),
            (0x7c00, 0x600),
            (0x8500, 0x600),
            (0x8e00, 0x600),
        ],
        heap: &[
            (0xc100, 0x500),
            (0xc700, 0x500),
            (0xcd00, 0x500),
            (0xd300, 0x500),
        ],
        stacks: &[(0xa000, 0x2000)],
    },
    // Objects of several pages.
    Layout {
        arrays: &[(0x1000, 0x7800), (0x8800, 0x1200)],
        heap: &[(0xb000, 0x5000), (0x10000, 0x8000)],
        stacks: &[(0xa000, 0x1000), (0x40000, 0x1000)],
    },
    // Stacks in memory that is the program's own.
    Layout {
        arrays: &[(0x4000, 0x5000)],
        heap: &[(0x9000, 0x9000)],
        stacks: &[(0xa000, 0x1000), (0x8800, 0x1000)],
    },
    // Stacks of unknown bounds.
    Layout {
        arrays: &[(0x4000, 0x4000)],
        heap: &[(0xc000, 0x6000)],
        stacks: &[(0, 0), (0, 0)],
    },
];

impl SymbolSource for &Layout {
    fn statics(&mut self, _: &Module) -> Vec<StaticSymbol> {
        let array = |&(low, bytes): &(u64, u64)| StaticSymbol {
            low,
            high: low + bytes,
            name: format!("array at {low:#x}"),
        };
        self.arrays.iter().map(array).collect()
    }

    fn frames(&mut self, module: &Module, address: u64) -> Vec<Frame> {
        NoSymbols.frames(module, address)
    }

    fn function(&mut self, module: &Module, address: u64) -> Option<Function> {
        NoSymbols.function(module, address)
    }

    fn frame_layouts(&mut self, _: &Module) -> Option<Box<dyn FrameLayouts>> {
        Some(Box::new(Variables))
    }

    fn functions_without_lines(&mut self, _: &Module) -> Vec<(u64, u64)> {
        Vec::new()
    }

    fn variable(&mut self, module: &Module, address: u64) -> Variable {
        NoSymbols.variable(module, address)
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

/// Functions of 16 bytes each, every second with two variables.
#[derive(Debug)]
struct Variables;

impl FrameLayouts for Variables {
    fn at(&mut self, address: u64) -> Option<FrameLayout> {
        let low = address & !0xf;
        let local = |(below, bytes, name): (u64, u64, &str)| LocalVariable {
            below,
            bytes,
            name: format!("{name} in {low}"),
            file: String::new(),
            element_bytes: 8,
            layout: None,
        };
        let locals = [(0x300, 0x200, "a"), (0x80, 0x60, "b")].map(local);
        (low & 0x10 == 0).then(|| FrameLayout {
            code: vec![(low, low + 0x10)],
            locals: locals.into(),
        })
    }
}

/// One that knows what lies where.
fn attributor(options: &Options, mut layout: &Layout) -> Attributor {
    let mut attributor = Attributor::new(options.clone());
    let module = Module {
        low: 0,
        high: 0x9a00,
        path: "program".into(),
        ..Module::default()
    };
    attributor.event(&Event::Module(module), &mut layout);
    for (id, (low, bytes)) in (0..).zip(layout.stacks) {
        let thread = Thread {
            id: ThreadId(id),
            stack_low: *low,
            stack_high: low + bytes,
            ..Thread::default()
        };
        attributor.event(&Event::Thread(thread), &mut layout);
    }
    let mut block = Block::new();
    for (pc, (low, bytes)) in (0x2000..).zip(layout.heap) {
        block.push(Row {
            kind: Kind::Alloc,
            size: 0,
            pc,
            addr: *low,
        });
        block.push_operand(*bytes);
    }
    attributor.block(&block, &mut Columns::new());
    attributor
}

#[derive(Debug, PartialEq)]
struct Found {
    items: Vec<u64>,
    cells: Vec<u32>,
    elements: Vec<u32>,
    references: u64,
    tables: Tables,
    error: Option<String>,
}

/// What a file accesses, and how many of its rows were repeats.
fn read(
    bytes: &[u8],
    threads: usize,
    (options, layout): (&Options, &Layout),
    with_repeats: bool,
) -> (Found, u64) {
    let input = Input::new(Cursor::new(bytes.to_vec()), "t");
    let mut reader = Reader::with_threads(input, threads).unwrap();
    let mut attributor = attributor(options, layout);
    assert!(!with_repeats || reader.project(Projection::Repeats));
    let (mut columns, mut rows) = (Columns::new(), 0);
    let (mut items, mut cells, mut elements) = (Vec::new(), Vec::new(), Vec::new());
    let mut keep = |piece: &Columns| {
        items.extend(&piece.items);
        cells.extend(&piece.cells);
        // None at all stands for none of each.
        elements.extend(&piece.elements);
        elements.resize(items.len(), 0);
    };
    let error = take_all(reader, &mut attributor, |attributor, block| {
        rows += block.repeats.rows;
        attributor.gather(block, &mut columns, &mut keep);
        keep(&columns);
        columns.clear();
    });
    let found = Found {
        items,
        cells,
        elements,
        references: attributor.references(),
        tables: attributor.finish(&mut NoSymbols),
        error,
    };
    (found, rows)
}

/// As a comparison of all, with less to read where it fails.
fn same(bytes: &[u8], seed: u64, what: &str) -> u64 {
    let layout = &LAYOUTS[seed as usize / MIXES.len() % LAYOUTS.len()];
    let with = (&options(&mut Random(seed)), layout);
    let what = format!("{what} {seed}");
    let (rows, none) = read(bytes, 1, with, false);
    assert_eq!(none, 0);
    let mut repeated_rows = 0;
    for threads in [1, 3] {
        let (found, more) = read(bytes, threads, with, true);
        let wrong = |one: &Found| {
            let pairs = rows.items.iter().zip(&one.items);
            let cells = rows.cells.iter().zip(&one.cells);
            pairs
                .zip(cells)
                .position(|((a, b), (c, d))| a != b || c != d)
        };
        assert_eq!(wrong(&found), None, "{what}, the first that differs");
        assert!(rows == found, "{what}: {:?}, {:?}", rows.error, found.error);
        repeated_rows = more;
    }
    repeated_rows
}

fn options(random: &mut Random) -> Options {
    let plain = random.below(4) > 0;
    Options {
        granularity: Granularity::new(random.one(&[64, 64, 64, 1, 16, 4096])).unwrap(),
        kinds: if plain { Kinds::All } else { Kinds::Loads },
        data: random.one(&[DataFilter::All, DataFilter::All, DataFilter::Heap]),
        contexts: random.below(2) == 0,
        max_cells: random.one(&[1 << 18, 1 << 18, 40]),
        elements: random.below(2) == 0,
        placement: (random.below(2) == 0).then(|| PlacementOptions {
            chunk_bytes: random.one(&[None, Some(0x100), Some(0x1000)]),
            max_footprint_entries: random.one(&[1 << 20, 1 << 20, 30]),
        }),
        ..Options::default()
    }
}

#[test]
fn repeats_count_as_their_rows() {
    let mut repeated_rows = 0;
    for seed in 0..400 {
        let mix = MIXES[seed as usize % MIXES.len()];
        repeated_rows += same(&file(seed, mix), seed, "file");
    }
    for seed in 2000..2060 {
        repeated_rows += same(&repeated(seed), seed, "repeated");
    }
    assert!(
        repeated_rows > 1_000_000,
        "{repeated_rows} rows were repeats"
    );
}

#[test]
fn damaged_repeats_count_as_rows_up_to_the_damage() {
    for seed in 1000..1060 {
        let random = &mut Random(seed);
        let bytes = file(seed, MIXES[seed as usize % MIXES.len()]);
        let cut = random.below(bytes.len()).max(60);
        same(&bytes[..cut], seed, "cut");
        let mut damaged = bytes;
        let at = 60 + random.below(damaged.len() - 60);
        damaged[at] ^= 1;
        same(&damaged, seed, "damaged");
    }
}
