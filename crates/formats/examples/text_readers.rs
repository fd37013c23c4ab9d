//! How fast traces in text, and raw items, are read from memory:
//!
//! ```text
//! cargo run --release -p reuselens-formats --example text_readers -- 8000000
//! ```
//!
//! One thread, one Markdown table; each number is the best of five runs, in processor time. Names
//! of formats after the number of records choose some of them.

use std::fmt::Write;
use std::time::{Duration, Instant};

use reuselens_io::Input;
use reuselens_trace::{Block, Kind, Source, Step};

const RUNS: usize = 5;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// A trace to read.
struct Trace {
    what: &'static str,
    format: &'static str,
    bytes: &'static [u8],
}

/// How a trace writes one of its records.
type Record = fn(&mut String, &mut Random) -> std::fmt::Result;

const TRACES: &[(&str, &str, &str, Record)] = &[
    (
        "numbers below 100,000, a line each",
        "text",
        "",
        |out, random| writeln!(out, "{}", random.next() % 100_000),
    ),
    (
        "numbers of 64 bits, a line each",
        "text",
        "",
        |out, random| writeln!(out, "{}", random.next()),
    ),
    (
        "hexadecimal numbers on one line",
        "text",
        "",
        |out, random| write!(out, "{:#x} ", random.next() >> 17),
    ),
    ("names", "text", "", |out, random| {
        writeln!(out, "block_{}", random.next() % 100_000)
    }),
    (
        "an instruction before each access",
        "lackey",
        "",
        |out, random| {
            let number = random.next();
            let (site, kind) = (
                0x40_0000 + number % 4096,
                if number % 3 == 0 { 'S' } else { 'L' },
            );
            let (address, size) = (
                0x1f_fe00_0000 + (number >> 40),
                [1, 4, 8, 16][number as usize >> 14 & 3],
            );
            write!(out, "I  {site:08x},3\n {kind} {address:08x},{size}\n")
        },
    ),
    ("reads, writes and fetches", "din", "", |out, random| {
        let number = random.next();
        writeln!(
            out,
            "{} {:x}",
            [0, 0, 1, 2][number as usize & 3],
            0x7fff_0000_u64 + (number >> 44)
        )
    }),
    (
        "five columns",
        "csv",
        "time,op,address,size,pc\n",
        |out, random| {
            let number = random.next();
            let (op, size) = (["R", "W"][number as usize & 1], 1 << (number >> 62));
            let (place, pc) = (
                0x7fff_0000_0000_u64 + (number >> 40),
                0x40_0000 + (number >> 30 & 0xfff),
            );
            writeln!(out, "{},{op},{place:#x},{size},{pc:#x}", number >> 44)
        },
    ),
    (
        "time, id, size",
        "csv",
        "time,obj_id,size\n",
        |out, random| {
            let number = random.next();
            writeln!(
                out,
                "{},{},{}",
                number >> 44,
                number % 1_000_000,
                number >> 50
            )
        },
    ),
    ("one volume", "msr", "", |out, random| {
        let number = random.next();
        let kind = ["Read", "Write"][number as usize & 1];
        let (time, place) = (
            128_166_372_003_061_629 + (number >> 40),
            (number >> 34) * 512,
        );
        writeln!(
            out,
            "{time},hm,1,{kind},{place},{},{}",
            4096 << (number & 3),
            number >> 50
        )
    }),
];

fn traces(records: u64) -> Vec<Trace> {
    let text = |&(what, format, header, record): &(&'static str, &'static str, &str, Record)| {
        let mut random = Random(88_172_645_463_325_252);
        let mut out = header.to_owned();
        for _ in 0..records {
            record(&mut out, &mut random).expect("memory takes all");
        }
        Trace {
            what,
            format,
            bytes: String::leak(out).as_bytes(),
        }
    };
    let mut random = Random(88_172_645_463_325_252);
    let items = (0..records).flat_map(|_| random.next().to_le_bytes());
    let raw = Trace {
        what: "raw items",
        format: "u64",
        bytes: Vec::leak(items.collect()),
    };
    std::iter::once(raw)
        .chain(TRACES.iter().map(text))
        .collect()
}

/// Processor time of this thread, so that others on the machine do not count; else the time of day.
fn now(start: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ran = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    ran.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

/// Reads to the end; returns the number of accesses and the time.
fn read(trace: &Trace) -> Result<(u64, Duration), Box<dyn std::error::Error>> {
    let origin = Instant::now();
    let start = now(origin);
    let mut source = reuselens_formats::read(Input::new(trace.bytes, "trace"), Some(trace.format))?;
    let (mut block, mut accesses) = (Block::new(), 0);
    loop {
        match source.next(&mut block)? {
            Step::Block => {
                let operands = block.kinds().iter().filter(|&&kind| kind == Kind::Operand);
                accesses += (block.len() - operands.count()) as u64;
            }
            Step::Event(_) => {}
            Step::End => return Ok((accesses, now(origin).saturating_sub(start))),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let records = words.next().map_or(Ok(8_000_000), |word| word.parse())?;
    let chosen: Vec<String> = words.collect();
    println!("| format | records | MB/s | M accesses/s |");
    println!("|---|---|--:|--:|");
    for trace in traces(records) {
        if !chosen.is_empty() && !chosen.iter().any(|name| name == trace.format) {
            continue;
        }
        let (mut accesses, mut best) = read(&trace)?;
        for _ in 1..RUNS {
            let (again, time) = read(&trace)?;
            (accesses, best) = (again, best.min(time));
        }
        let rate = |count: u64| count as f64 / best.as_secs_f64() / 1e6;
        println!(
            "| {} | {} | {:.0} | {:.0} |",
            trace.format,
            trace.what,
            rate(trace.bytes.len() as u64),
            rate(accesses)
        );
    }
    Ok(())
}
