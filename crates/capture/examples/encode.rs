//! Measures how fast captured accesses are encoded: runs a program and encodes it as a native
//! trace, without writing a file.
//!
//! ```text
//! # Templates and operands, where there are any:
//! cargo run --release -p reuselens-capture --example encode -- ./program args
//! # Rows:
//! cargo run --release -p reuselens-capture --example encode -- --rows ./program args
//! # A file, as `reuselens record` writes it:
//! cargo run --release -p reuselens-capture --example encode -- --to FILE ./program args
//! ```
//!
//! With `--to` nothing is measured: the whole command's time by the clock is what counts. Otherwise
//! the first 40 M rows are kept in memory and encoded a few times (checksums and packing included,
//! a disk not). The best is printed on the standard error, by processor time, less that of bringing
//! blocks to a near cache, where they are when they have just been captured. What capture delivers
//! in the same time is what `count` shows.

use std::ffi::OsString;
use std::io::{Result, Write};
use std::path::Path;

use reuselens_capture::{Delivered, Launch, Running};
use reuselens_io::AtomicFile;
use reuselens_rltrace as native;
use reuselens_trace::{Block, Source, Step, TemplateBlock, Templates, TraceError};

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

/// Runs of each measurement.
const RUNS: usize = 5;
/// Rows that are kept to be encoded.
const KEPT: usize = 40 << 20;

/// What was captured.
enum Piece {
    Rows(Block),
    Templates(TemplateBlock),
}

fn main() {
    let mut command: Vec<OsString> = std::env::args_os().skip(1).collect();
    let rows_only = command.first().is_some_and(|first| first == "--rows");
    if rows_only {
        command.remove(0);
    }
    let file = command.first().is_some_and(|first| first == "--to");
    let file: Vec<OsString> = command.drain(..2 * usize::from(file)).collect();
    let launch = Launch {
        command,
        ..Launch::default()
    };
    let mut running = Running::start(&launch).expect("the program starts");
    if let Some(file) = file.get(1) {
        return record(running, Path::new(file)).expect("the file can be written");
    }
    let (mut pieces, mut kept) = (Vec::new(), 0);
    let (mut executions, mut operands) = (0, 0);
    while kept < KEPT {
        let (mut block, mut executed) = (Block::new(), TemplateBlock::new());
        let delivered = if rows_only {
            running.next(&mut block).map(Delivered::Rows)
        } else {
            running.next_templates(&mut block, &mut executed)
        };
        match delivered.expect("a live source cannot be corrupt") {
            Delivered::Templates => {
                kept += executed.rows();
                executions += executed.templates().len();
                operands += executed.operands().len();
                pieces.push(Piece::Templates(executed));
            }
            Delivered::Rows(Step::Block) => {
                kept += block.len();
                pieces.push(Piece::Rows(block));
            }
            Delivered::Rows(Step::Event(_)) => {}
            Delivered::Rows(Step::End) => break,
        }
    }
    let templates = running.templates().clone();
    running.wait();
    let (mut fastest, mut reading, mut counts) = (f64::INFINITY, f64::INFINITY, (0, 0));
    for _ in 0..RUNS {
        let begun = processor_time();
        counts = encode(&pieces, &templates);
        fastest = fastest.min(processor_time() - begun);
        let begun = processor_time();
        pieces.iter().for_each(bring_near);
        reading = reading.min(processor_time() - begun);
    }
    let seconds = fastest - reading;
    let (accesses, bytes) = counts;
    let speed = |count: u64| count as f64 / seconds / 1e6;
    eprintln!(
        "{kept} rows ({executions} templates with {operands} operands), {accesses} accesses: {:.0} M rows/s, {:.0} M accesses/s, {:.4} bytes \
         per access",
        speed(kept as u64),
        speed(accesses),
        bytes as f64 / accesses as f64
    );
}

/// Writes what a program does into a file.
fn record(mut running: Running, path: &Path) -> std::result::Result<(), TraceError> {
    let (mut block, mut executed) = (Block::new(), TemplateBlock::new());
    let header = native::Header {
        has_addresses: true,
        description: running.describe(),
    };
    let mut file = AtomicFile::create(path, true)?;
    file.keep_partial()?;
    file.sync_ahead()?;
    let mut writer = native::Writer::new(file, path, &header)?;
    writer.compress_in_background()?;
    loop {
        match running.next_templates(&mut block, &mut executed)? {
            Delivered::Templates => writer.template_block(&executed, running.templates())?,
            Delivered::Rows(Step::Block) => writer.block(&block)?,
            Delivered::Rows(Step::Event(event)) => writer.event(&event)?,
            Delivered::Rows(Step::End) => break,
        }
    }
    writer.finish()?.commit()?;
    Ok(())
}

/// Reads all of a piece, so that it is where it is when it has just been captured: in a near cache.
fn bring_near(piece: &Piece) {
    let sum = |numbers: &[u64]| numbers.iter().fold(0, |sum: u64, &number| sum ^ number);
    std::hint::black_box(match piece {
        Piece::Rows(block) => sum(block.pcs()) ^ sum(block.addrs()),
        Piece::Templates(block) => {
            let templates = block
                .templates()
                .iter()
                .fold(0, |sum, &template| sum ^ template);
            sum(block.operands()) ^ u64::from(templates)
        }
    });
}

/// Seconds that this thread has had a processor: what a machine that does other things as well
/// leaves as it is.
fn processor_time() -> f64 {
    let status = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let nanoseconds = status.split(' ').next().expect("a number");
    nanoseconds.parse::<f64>().expect("a number") / 1e9
}

/// Encodes what was captured; accesses and bytes.
fn encode(pieces: &[Piece], templates: &Templates) -> (u64, u64) {
    let header = native::Header {
        has_addresses: true,
        description: String::new(),
    };
    let path = Path::new("nowhere");
    let mut writer = native::Writer::new(Nowhere, path, &header).expect("nowhere takes all");
    for piece in pieces {
        bring_near(piece);
        match piece {
            Piece::Rows(block) => writer.block(block),
            Piece::Templates(block) => writer.template_block(block, templates),
        }
        .expect("nowhere takes all");
    }
    writer.flush().expect("nowhere takes all");
    (writer.accesses(), writer.bytes_written())
}
