//! Compiles nothing, analyses nothing: counts what a program does, kind by kind. The yardstick for
//! the cost of capture alone.
//!
//! ```text
//! cargo run --release -p reuselens-capture --example count -- ./program args
//! cargo run --release -p reuselens-capture --example count -- --cc cc -O2 a.c -o a
//! ```

use std::ffi::OsString;

use reuselens_capture::{Launch, Running, toolchain};
use reuselens_trace::{Block, Source, Step};

fn main() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "--cc") {
        let language = match arguments[1].to_str() {
            Some("c++") => toolchain::Language::Cxx,
            Some("fortran") => toolchain::Language::Fortran,
            _ => toolchain::Language::C,
        };
        let status = toolchain::compile(language, &arguments[2..]).expect("the compiler runs");
        std::process::exit(status.code().unwrap_or(1));
    }
    let mut running = Running::start(&Launch {
        command: arguments,
        ..Launch::default()
    })
    .expect("the program starts");
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
                for &kind in block.kinds() {
                    kinds[kind as usize] += 1;
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
    eprintln!(
        "blocks {blocks}, ended {:?}, {}",
        running.ended(),
        running.describe()
    );
}
