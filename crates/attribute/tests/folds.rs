//! Accesses of rows that come again without being there count for the same items, cells and elements, in the same order, as their rows do.

#[path = "common/traces.rs"]
mod traces;

use std::io::Cursor;

use reuselens_attribute::{
    Attributor, Columns, DataFilter, Function, Kinds, NoSymbols, Options, StaticSymbol,
    SymbolSource, Tables, Variable,
};
use reuselens_locality::Frame;
use reuselens_trace::formats::native::Reader;
use reuselens_trace::{Block, Event, Input, Kind, Module, Row, Source, Step, Thread, ThreadId};
use reuselens_units::Granularity;
use traces::{MIXES, Random, file, repeated};

/// Arrays among the addresses of the traces, with room between them.
struct Arrays;

impl SymbolSource for Arrays {
    fn statics(&mut self, _: &Module) -> Vec<StaticSymbol> {
        let array = |index: u64| StaticSymbol {
            low: 0x7300 + 0x900 * index,
            high: 0x7900 + 0x900 * index,
            name: format!("array {index}"),
        };
        (0..4).map(array).collect()
    }

    fn frames(&mut self, module: &Module, address: u64) -> Vec<Frame> {
        NoSymbols.frames(module, address)
    }

    fn function(&mut self, module: &Module, address: u64) -> Option<Function> {
        NoSymbols.function(module, address)
    }

    fn variable(&mut self, module: &Module, address: u64) -> Variable {
        NoSymbols.variable(module, address)
    }
}

/// Static arrays, a stack, and large blocks of the heap, where the traces access memory.
fn attributor(options: &Options) -> Attributor {
    let mut attributor = Attributor::new(options.clone());
    let module = Module {
        low: 0x1000,
        high: 0x9a00,
        path: "program".into(),
        ..Module::default()
    };
    attributor.event(&Event::Module(module), &mut Arrays);
    let thread = Thread {
        id: ThreadId(0),
        stack_low: 0xa000,
        stack_high: 0xc000,
        ..Thread::default()
    };
    attributor.event(&Event::Thread(thread), &mut Arrays);
    let mut block = Block::new();
    for number in 0..6_u64 {
        block.push(Row {
            kind: Kind::Alloc,
            size: 0,
            pc: 0x2000 + number % 3,
            addr: 0xc100 + 0x600 * number,
        });
        block.push_operand(0x500);
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

/// What a file touches, and how many of its rows were not there.
fn read(bytes: &[u8], threads: usize, options: &Options, folded: bool) -> (Found, u64) {
    let input = Input::new(Cursor::new(bytes.to_vec()), "t");
    let mut reader = Reader::with_threads(input, threads).unwrap();
    let mut attributor = attributor(options);
    assert!(!folded || reader.fold());
    let (mut block, mut columns) = (Block::new(), Columns::new());
    let (mut items, mut cells, mut elements) = (Vec::new(), Vec::new(), Vec::new());
    let (mut rows, mut error) = (0, None);
    let mut keep = |piece: &Columns| {
        items.extend(&piece.items);
        cells.extend(&piece.cells);
        // None at all stands for none of each.
        elements.extend(&piece.elements);
        elements.resize(items.len(), 0);
    };
    loop {
        match reader.next(&mut block) {
            Ok(Step::Block) => {
                rows += block.folds.rows;
                attributor.gather(&mut block, &mut columns, &mut keep);
                keep(&columns);
                columns.clear();
            }
            Ok(Step::Event(event)) => attributor.event(&event, &mut NoSymbols),
            Ok(Step::End) => break,
            Err(damage) => {
                error = Some(damage.to_string());
                break;
            }
        }
    }
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
fn same(bytes: &[u8], options: &Options, what: &str) -> u64 {
    let (rows, none) = read(bytes, 1, options, false);
    assert_eq!(none, 0);
    let mut folded = 0;
    for threads in [1, 3] {
        let (found, more) = read(bytes, threads, options, true);
        let wrong = |one: &Found| {
            let pairs = rows.items.iter().zip(&one.items);
            let cells = rows.cells.iter().zip(&one.cells);
            pairs
                .zip(cells)
                .position(|((a, b), (c, d))| a != b || c != d)
        };
        assert_eq!(wrong(&found), None, "{what}, the first that differs");
        assert!(rows == found, "{what}: {:?}, {:?}", rows.error, found.error);
        folded = more;
    }
    folded
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
        ..Options::default()
    }
}

#[test]
fn they_count_as_their_rows_do() {
    let mut folded = 0;
    for seed in 0..300 {
        let options = options(&mut Random(seed));
        let mix = MIXES[seed as usize % MIXES.len()];
        folded += same(&file(seed, mix), &options, &format!("seed {seed}"));
    }
    for seed in 2000..2060 {
        let options = options(&mut Random(seed));
        folded += same(&repeated(seed), &options, &format!("seed {seed}"));
    }
    assert!(folded > 1_000_000, "{folded} rows were not there");
}

#[test]
fn what_is_cut_off_or_damaged_counts_the_same_before() {
    for seed in 1000..1060 {
        let random = &mut Random(seed);
        let bytes = file(seed, MIXES[seed as usize % MIXES.len()]);
        let options = options(random);
        let cut = random.below(bytes.len()).max(60);
        same(&bytes[..cut], &options, &format!("seed {seed}, cut"));
        let mut damaged = bytes;
        let at = 60 + random.below(damaged.len() - 60);
        damaged[at] ^= 1;
        same(&damaged, &options, &format!("seed {seed}, damaged"));
    }
}
