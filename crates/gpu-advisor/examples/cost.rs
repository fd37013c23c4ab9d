//! What the analyses cost for each record, by the shape of the access and by what is switched on:
//! `cargo run --release -p reuselens-gpu-advisor --example cost`.
//!
//! A word as argument: only the shapes whose names contain it. Prints nanoseconds of processor time
//! for each record of a warp; less is better. The best of three runs counts.

use reuselens_gpu_advisor::{Advisor, AdvisorOptions, InstructionCounts, LaunchContext};
use reuselens_warp::{Extent, Launch, Space, WarpKind, WarpRow};

/// Blocks of a launch.
const BLOCKS: u32 = 600;
/// Blocks with addresses of their own: so few that the addresses stay in the processor's caches, as
/// those of a kernel that runs do.
const DISTINCT: u32 = 4;
/// Warps of a block.
const WARPS: u32 = 8;
/// Loops of a warp; a loop is two records.
const LOOPS: u64 = 64;

/// The address of a lane: block, warp, loop, lane.
type Address = fn(u64, u64, u64, u64) -> u64;

/// What each loop accesses: the two instructions of its body.
struct Shape {
    name: &'static str,
    space: Space,
    accesses: [Address; 2],
}

const SHAPES: [Shape; 5] = [
    Shape {
        name: "rows: a broadcast and a contiguous load (gemm)",
        space: Space::Global,
        accesses: [
            |block, warp, at, _| ((block / 8 * 8 + warp) * 1024 + at) * 4,
            |block, _, at, lane| (1 << 24) + (at * 1024 + block % 32 * 32 + lane) * 4,
        ],
    },
    Shape {
        name: "columns: each lane a line of its own (syrk)",
        space: Space::Global,
        accesses: [
            |block, warp, at, _| ((block / 8 * 8 + warp) * 1024 + at) * 4,
            |block, _, at, lane| (1 << 24) + ((block % 32 * 32 + lane) * 1024 + at) * 4,
        ],
    },
    Shape {
        name: "gather: random addresses of 1 MiB",
        space: Space::Global,
        accesses: [
            |block, warp, at, lane| (((block * 8 + warp) * 64 + at) * 32 + lane) * 4,
            |block, warp, at, lane| {
                let seed = ((block * 8 + warp) * 64 + at) * 32 + lane;
                seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44 << 2
            },
        ],
    },
    Shape {
        name: "shared memory, no conflicts",
        space: Space::Shared,
        accesses: [|_, _, at, _| at * 4, |_, _, at, lane| at * 128 + lane * 4],
    },
    Shape {
        name: "shared memory, columns",
        space: Space::Shared,
        accesses: [|_, _, at, _| at * 4, |_, _, at, lane| at * 4 + lane * 128],
    },
];

fn main() {
    let everything = AdvisorOptions::default();
    let without_bypass = AdvisorOptions {
        bypass: false,
        ..everything
    };
    let reuse = AdvisorOptions {
        caches: false,
        ..without_bypass
    };
    let counts = AdvisorOptions {
        reuse: false,
        ..reuse
    };
    println!("ns/record: counts, + reuse, + caches, + bypass");
    let wanted = std::env::args().nth(1).unwrap_or_default();
    for shape in SHAPES
        .into_iter()
        .filter(|shape| shape.name.contains(&wanted))
    {
        let times = [counts, reuse, without_bypass, everything].map(|options| {
            (0..3)
                .map(|_| cost(&shape, options))
                .fold(f64::MAX, f64::min)
        });
        let [counts, reuse, caches, bypass] = times;
        println!(
            "{counts:7.1} {reuse:7.1} {caches:7.1} {bypass:7.1}  {}",
            shape.name
        );
    }
}

/// Nanoseconds for each record.
fn cost(shape: &Shape, options: AdvisorOptions) -> f64 {
    let records = records(shape);
    let mut advisor = Advisor::new(options);
    let launch = Launch {
        kernel: "kernel".to_owned(),
        grid: Extent::line(BLOCKS),
        block: Extent::line(WARPS * 32),
        used: None,
        arrays: [].into(),
        sites: [].into(),
    };
    let begun = processor_time();
    advisor.begin(&launch, LaunchContext::default());
    for block in 0..BLOCKS {
        let records = &records[(block % DISTINCT) as usize];
        let mut open = advisor.open().expect("a launch has begun");
        for (at, addresses) in (0..).zip(records) {
            open.record(&WarpRow {
                site: at as u32 % 2,
                phase: 0,
                position: at % (2 * LOOPS) + 1,
                block,
                warp: (at / (2 * LOOPS)) as u32,
                mask: u32::MAX,
                space: shape.space,
                kind: WarpKind::Load,
                bytes: 4,
                addresses,
            });
        }
        advisor.close(open);
    }
    advisor.end(InstructionCounts::default());
    let reports = advisor.finish();
    let nanoseconds = processor_time() - begun;
    let requests: u64 = reports[0].mix.all().warps;
    nanoseconds / requests as f64
}

/// Nanoseconds that this thread has run, whatever else the machine does.
fn processor_time() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first.and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// The addresses of each record, warp after warp, of each block that differs.
fn records(shape: &Shape) -> Vec<Vec<[u64; 32]>> {
    let block = |block: u32| {
        let mut records = Vec::new();
        for warp in 0..WARPS.into() {
            for at in 0..LOOPS {
                for address in shape.accesses {
                    records.push(std::array::from_fn(|lane| {
                        address(block.into(), warp, at, lane as u64)
                    }));
                }
            }
        }
        records
    };
    (0..DISTINCT).map(block).collect()
}
