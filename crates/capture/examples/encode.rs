//! How fast what is captured is encoded: a program runs, and what it does is written as a native trace into nowhere.
//!
//! ```text
//! cargo run --release -p reuselens-capture --example encode -- ./program args           # shapes and words, where there are such
//! cargo run --release -p reuselens-capture --example encode -- --rows ./program args    # rows, as any other source's
//! ```
//!
//! Printed: accesses, bytes for each, and how many a second the encoder takes while it is at work (checksums and packing
//! included, a disk not).

use std::ffi::OsString;
use std::io::{Result, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use reuselens_capture::{Delivered, Launch, Running};
use reuselens_trace::formats::native;
use reuselens_trace::{Block, ShapedBlock, Source, Step};

/// Takes all and keeps nothing.
struct Nowhere;

impl Write for Nowhere {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

fn main() {
    let mut command: Vec<OsString> = std::env::args_os().skip(1).collect();
    let rows_only = command.first().is_some_and(|first| first == "--rows");
    if rows_only {
        command.remove(0);
    }
    let launch = Launch {
        command,
        ..Launch::default()
    };
    let mut running = Running::start(&launch).expect("the program starts");
    let header = native::Header {
        has_addresses: true,
        description: String::new(),
    };
    let path = Path::new("nowhere");
    let mut writer = native::Writer::new(Nowhere, path, &header).expect("nowhere takes all");
    let (mut block, mut shaped) = (Block::new(), ShapedBlock::new());
    let mut of_shapes = 0;
    let (begun, mut at_work) = (Instant::now(), Duration::ZERO);
    loop {
        let delivered = if rows_only {
            running.next(&mut block).map(Delivered::Rows)
        } else {
            running.next_shaped(&mut block, &mut shaped)
        };
        let before = Instant::now();
        match delivered.expect("a live source cannot be corrupt") {
            Delivered::Shaped => {
                of_shapes += shaped.rows;
                writer.shaped(&shaped, running.shapes())
            }
            Delivered::Rows(Step::Block) => writer.block(&block),
            Delivered::Rows(Step::Event(event)) => writer.event(&event),
            Delivered::Rows(Step::End) => break,
        }
        .expect("nowhere takes all");
        at_work += before.elapsed();
    }
    let before = Instant::now();
    writer.flush().expect("nowhere takes all");
    at_work += before.elapsed();
    let accesses = writer.accesses();
    let bytes = writer.bytes_written() as f64 / accesses as f64;
    eprintln!(
        "{accesses} accesses, {} rows, {of_shapes} of them of shapes, {bytes:.4} bytes per access, encoder {:.0} M accesses/s \
         ({:.2} of {:.2} s)",
        writer.rows(),
        accesses as f64 / at_work.as_secs_f64() / 1e6,
        at_work.as_secs_f64(),
        begun.elapsed().as_secs_f64()
    );
}
