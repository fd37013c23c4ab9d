//! Compiles nothing, analyses nothing: counts what a program does, kind by kind. The yardstick for
//! the cost of capture alone.
//!
//! ```text
//! cargo run --release -p reuselens-capture --example count -- ./program args
//! cargo run --release -p reuselens-capture --example count -- --only ./program args     # no rows made of most notes
//! cargo run --release -p reuselens-capture --example count -- --cc cc -O2 a.c -o a
//! ```

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
    let only = arguments.first().is_some_and(|first| first == "--only");
    if only {
        arguments.remove(0);
    }
    let mut running = Running::start(&Launch {
        command: arguments,
        ..Launch::default()
    })
    .expect("the program starts");
    if only {
        running.count_only();
    }
    let mut block = Block::new();
    let mut kinds = [0_u64; 16];
    let mut blocks = 0_u64;
    loop {
        match running
            .next(&mut block)
            .expect("a live source cannot be corrupt")
        {
            Step::Block => {
                blocks += 1;
                add(block.kinds(), &mut kinds);
            }
            Step::Event(event) => eprintln!("{event:?}"),
            Step::End => break,
        }
    }
    for (count, more) in kinds.iter_mut().zip(running.counted()) {
        *count += more;
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
    eprintln!(
        "blocks {blocks}, ended {:?}, {}",
        running.ended(),
        running.describe()
    );
}

/// Adds up kinds, one at a time until all are found: most blocks hold few, and a quick pass for each takes less than one
/// that waits for its own counters.
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
