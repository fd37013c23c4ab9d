//! What each analysis costs: nanoseconds of processor time per access on synthetic traces, beside
//! those of the exact engine that the distances come from.
//!
//! `cargo run --release -p reuselens-causes --example cost [-- ACCESSES [TRACE]]`: 50 million
//! accesses of each trace by default.

use std::hint::black_box;

use reuselens_causes::{CauseCell, CauseCounts, CauseOptions, CellPlace, MissColumns};
use reuselens_distance::{CountingTree, Engine};
use reuselens_profile::SetCache;
use reuselens_units::{Bytes, Distance};

/// Accesses of a piece.
const PIECE: u64 = 1 << 14;
/// Doubles of a row of the matrices.
const ROW: u64 = 1000;
/// Threads of the trace of several.
const THREADS: u64 = 4;

/// An access: the address of eight bytes, its cell, and whether it writes.
type Access = (u64, u32, bool);

/// A trace: its name, the access of a number, and of which thread it is.
struct Trace {
    name: &'static str,
    about: &'static str,
    access: fn(u64) -> Access,
    thread: fn(u64) -> u32,
}

/// What is `part`-th of `parts`, each of 256 MiB.
fn base(part: u64) -> u64 {
    part << 28
}

fn random(number: u64) -> u64 {
    let bits = (number ^ number >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb) >> 20
}

/// `a[i] = b[i] + c[i]` over 8 MiB each, again and again.
fn sweep(number: u64) -> Access {
    let (index, part) = (number / 3 % (1 << 20), number % 3);
    (base(part) + index * 8, part as u32, part == 2)
}

/// `c[i][j] += a[i][k] * b[k][j]`, by i, j and k.
fn matmul(number: u64) -> Access {
    let step = number / 2;
    let (k, j, i) = (step % ROW, step / ROW % ROW, step / ROW / ROW % ROW);
    match number % 2 {
        0 => (base(0) + (i * ROW + k) * 8, 0, false),
        _ => (base(1) + (k * ROW + j) * 8, 1, false),
    }
}

/// Anywhere in 128 MiB.
fn scattered(number: u64) -> Access {
    (
        random(number) % (1 << 24) * 8,
        (number % 4) as u32,
        number.is_multiple_of(4),
    )
}

/// A node of 64 bytes in 4 MiB: two fields of it, and often the same node.
fn nodes(number: u64) -> Access {
    let node = random(number / 16) % (1 << 16);
    (node * 64 + number % 2 * 16, (number % 2) as u32, false)
}

/// Data of each thread, a table that all read, and a line in which each has a counter.
fn parallel(number: u64) -> Access {
    let thread = u64::from(thread(number));
    let cell = (thread * 3) as u32;
    match number % 8 {
        0..5 => (
            base(thread) + number / 8 % (1 << 18) * 8,
            cell,
            number.is_multiple_of(2),
        ),
        5 | 6 => (base(9) + random(number) % (1 << 15) * 8, cell + 1, false),
        _ => (base(10) + thread * 8, cell + 2, true),
    }
}

fn thread(number: u64) -> u32 {
    (number / PIECE % THREADS) as u32
}

const TRACES: [Trace; 5] = [
    Trace {
        name: "sweep",
        about: "three arrays of 8 MiB, in step",
        access: sweep,
        thread: |_| 0,
    },
    Trace {
        name: "matmul",
        about: "rows of a, columns of b, of 8 MB each",
        access: matmul,
        thread: |_| 0,
    },
    Trace {
        name: "scattered",
        about: "anywhere in 128 MiB",
        access: scattered,
        thread: |_| 0,
    },
    Trace {
        name: "nodes",
        about: "16 accesses to one of 65,536 nodes",
        access: nodes,
        thread: |_| 0,
    },
    Trace {
        name: "parallel",
        about: "four threads with a shared table and a shared line of counters",
        access: parallel,
        thread,
    },
];

/// A machine of today.
fn machine() -> Vec<SetCache> {
    let cache = |name: &str, kib: u64, sets, ways| SetCache {
        name: name.to_owned(),
        size: Bytes(kib << 10),
        sets,
        ways,
        ..SetCache::default()
    };
    vec![
        cache("L1d", 48, 64, 12),
        cache("L2", 2048, 2048, 16),
        cache("L3", 36 << 10, 49152, 12),
    ]
}

/// The analyses to measure.
fn options() -> Vec<(&'static str, CauseOptions)> {
    let none = CauseOptions {
        cache: Bytes(1 << 20),
        ..CauseOptions::default()
    };
    let with = |change: fn(&mut CauseOptions)| {
        let mut options = none.clone();
        change(&mut options);
        options
    };
    vec![
        ("none", none.clone()),
        ("line use", with(|it| it.line_use = true)),
        ("sharing", with(|it| it.sharing = true)),
        ("phases", with(|it| it.phases = true)),
        ("sets", with(|it| it.set_caches = machine())),
        (
            "all",
            with(|it| {
                (it.line_use, it.sharing, it.phases) = (true, true, true);
                it.set_caches = machine();
            }),
        ),
    ]
}

/// What runs on a trace.
#[derive(Clone)]
enum Work {
    /// The trace is made.
    Nothing,
    /// The engine, too.
    Engine,
    /// And the analyses.
    Analyses(CauseOptions),
}

/// Nanoseconds that this thread has run.
fn processor_time() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let time = times.split_whitespace().next().map(str::parse);
    time.and_then(Result::ok)
        .expect("/proc has the times of threads")
}

/// Nanoseconds of processor time for each access, and the memory of the analyses.
fn measure(trace: &Trace, work: Work, accesses: u64) -> (f64, Bytes) {
    let start = processor_time();
    let options = match &work {
        Work::Analyses(options) => options.clone(),
        _ => CauseOptions::default(),
    };
    let mut counts = CauseCounts::new(options);
    counts.add_cells((0..16).map(|cell| CauseCell {
        site: cell,
        object: cell,
        element_bytes: 16,
        ..CauseCell::default()
    }));
    let mut engine = CountingTree::new();
    let mut distances = vec![Distance::COLD; PIECE as usize];
    let mut made = Vec::new();
    let mut columns = Columns::default();
    for begin in (0..accesses / PIECE).map(|piece| piece * PIECE) {
        made.clear();
        made.extend((begin..begin + PIECE).map(trace.access));
        columns.fill(&made);
        if !matches!(work, Work::Nothing) {
            engine.process(&columns.items, &mut distances);
        }
        if let Work::Analyses(_) = work {
            counts.process(&columns.piece((trace.thread)(begin), &distances));
        }
        black_box((&columns.items, &distances));
    }
    let memory = counts.memory();
    black_box(counts.finish(&[CellPlace::default(); 16]));
    ((processor_time() - start) / accesses as f64, memory)
}

/// The columns of a piece.
#[derive(Default)]
struct Columns {
    items: Vec<u64>,
    cells: Vec<u32>,
    bytes: Vec<u64>,
    stores: Vec<bool>,
    offsets: Vec<u32>,
}

impl Columns {
    fn fill(&mut self, accesses: &[Access]) {
        fn set<T>(column: &mut Vec<T>, accesses: &[Access], of: impl Fn(&Access) -> T) {
            column.clear();
            column.extend(accesses.iter().map(of));
        }
        set(&mut self.items, accesses, |it| it.0 / 64);
        set(&mut self.cells, accesses, |it| it.1);
        set(&mut self.bytes, accesses, |it| 0xff << (it.0 % 64));
        set(&mut self.stores, accesses, |it| it.2);
        set(&mut self.offsets, accesses, |it| it.0 as u32 % 16);
    }

    fn piece<'a>(&'a self, thread: u32, distances: &'a [Distance]) -> MissColumns<'a> {
        MissColumns {
            thread,
            items: &self.items,
            distances,
            cells: &self.cells,
            bytes: &self.bytes,
            stores: &self.stores,
            offsets: &self.offsets,
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let accesses = arguments.next().and_then(|text| text.parse().ok());
    let accesses = accesses.unwrap_or(50_000_000_u64);
    let only = arguments.next();
    let is_wanted = |trace: &&Trace| only.as_ref().is_none_or(|only| only == trace.name);
    for trace in TRACES.iter().filter(is_wanted) {
        println!("{}: {}", trace.name, trace.about);
        let (making, _) = measure(trace, Work::Nothing, accesses);
        let (engine, _) = measure(trace, Work::Engine, accesses);
        println!("  {:10} {:6.1} ns", "the engine", engine - making);
        for (name, options) in options() {
            let (time, memory) = measure(trace, Work::Analyses(options), accesses);
            println!("  {name:10} {:6.1} ns   {memory}", time - engine);
        }
    }
}
