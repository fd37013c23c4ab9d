//! Counts the rows of a program by kind, without any analysis: measures the cost of capture alone.
//!
//! ```text
//! cargo run --release -p reuselens-capture --example count -- ./program args
//! # Loads and stores of each instruction:
//! cargo run --release -p reuselens-capture --example count -- --sites ./program args
//! cargo run --release -p reuselens-capture --example count -- --cc cc -O2 a.c -o a
//! ```

use std::collections::BTreeMap;
use std::ffi::OsString;

use reuselens_capture::{Launch, Running, toolchain};
use reuselens_trace::{Block, Kind, Source, Step};

fn main() {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--cc") {
        let language = match arguments[1].to_str() {
            Some("c++") => toolchain::Language::Cxx,
            Some("fortran") => toolchain::Language::Fortran,
            _ => toolchain::Language::C,
        };
        let status = toolchain::compile(language, &arguments[2..]).expect("the compiler runs");
        std::process::exit(status.code().unwrap_or(1));
    }
    let by_site = arguments.first().is_some_and(|first| first == "--sites");
    if by_site {
        arguments.remove(0);
    }
    let mut running = Running::start(&Launch {
        command: arguments,
        ..Launch::default()
    })
    .expect("the program starts");
    let mut block = Block::new();
    let mut kinds = [0_u64; 16];
    let mut blocks = 0_u64;
    let mut sites = BTreeMap::new();
    loop {
        match running
            .next(&mut block)
            .expect("a live source cannot be corrupt")
        {
            Step::Block => {
                blocks += 1;
                add(block.kinds(), &mut kinds);
                if by_site {
                    add_sites(&block, &mut sites);
                }
            }
            Step::Event(event) => eprintln!("{event:?}"),
            Step::End => break,
        }
    }
    let names = [
        "",
        "load",
        "store",
        "atomic",
        "range-load",
        "range-store",
        "enter",
        "exit",
        "alloc",
        "free",
        "named",
        "statement",
        "data",
        "partial",
        "operand",
        "",
    ];
    for (name, count) in names.iter().zip(kinds).filter(|(_, count)| *count > 0) {
        eprintln!("{name} {count}");
    }
    for (pc, [loads, stores, loaded, stored]) in sites {
        eprintln!("site {pc:x} {loads} {stores} {loaded} {stored}");
    }
    eprintln!(
        "blocks {blocks}, ended {:?}, {}",
        running.ended(),
        running.describe()
    );
}

/// Adds up by the address behind their instruction: loads, stores, and bytes that are loaded and
/// stored as ranges.
fn add_sites(block: &Block, sites: &mut BTreeMap<u64, [u64; 4]>) {
    let mut range = None;
    for row in block.rows() {
        let (loads, stores) = match row.kind {
            Kind::Load => (1, 0),
            Kind::Store => (0, 1),
            Kind::Atomic => (1, 1),
            Kind::RangeLoad | Kind::RangeStore => {
                let stored = row.kind == Kind::RangeStore;
                range = Some((row.pc, 2 + usize::from(stored)));
                (u64::from(!stored), u64::from(stored))
            }
            Kind::Operand => {
                if let Some((pc, which)) = range.take() {
                    sites.entry(pc).or_default()[which] += row.addr;
                }
                continue;
            }
            _ => continue,
        };
        let counts = sites.entry(row.pc).or_default();
        counts[0] += loads;
        counts[1] += stores;
    }
}

/// Adds up kinds, one at a time until all are found: most blocks hold few, and a quick pass for
/// each takes less than one that waits for its own counters.
fn add(column: &[Kind], kinds: &mut [u64; 16]) {
    let mut left = column.len() as u64;
    for (number, count) in kinds.iter_mut().enumerate() {
        if left == 0 {
            return;
        }
        let in_piece = |piece: &[Kind]| {
            let same = piece
                .iter()
                .map(|kind| u8::from(*kind as u8 == number as u8));
            u64::from(same.sum::<u8>())
        };
        let found: u64 = column.chunks(128).map(in_piece).sum();
        *count += found;
        left -= found;
    }
}
