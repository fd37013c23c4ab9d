//! CUB's radix sort, as nvcc compiles it from CUDA's own headers, sorts a million pairs.
//!
//! Needs nvcc 13.0 (`NVCC` says which); says so and proves nothing where there is none. The
//! launches are those that CUB makes for this many pairs on this architecture.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Run, noise};
use reuselens_ptx::{Argument, Options, Stats};

const BITS: u32 = 40;
/// Pairs that a block takes in a pass.
const TILE: usize = 384 * 10;
/// Bits of a pass.
const DIGIT: u32 = 8;

fn compiled() -> Option<String> {
    let nvcc = std::env::var("NVCC").unwrap_or_else(|_| "nvcc".to_owned());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/cub/sort.cu");
    let folder = tempfile::tempdir().unwrap();
    let ptx = folder.path().join("sort.ptx");
    let done = Command::new(&nvcc)
        .args(["-ptx", "-arch=sm_80", "-o"])
        .arg(&ptx)
        .arg(source)
        .status();
    if !done.is_ok_and(|status| status.success()) {
        reuselens_testing::skip(&format!("{nvcc} does not compile CUB"));
        return None;
    }
    Some(std::fs::read_to_string(ptx).unwrap())
}

struct Sort {
    run: Run,
    stats: Stats,
    time: Duration,
}

impl Sort {
    fn launch(&mut self, name: &str, grid: usize, block: u32, arguments: &[Argument]) {
        let begin = Instant::now();
        // The last parameter is an empty structure.
        let empty = [Argument::Bytes(vec![0])];
        let has_empty = self
            .run
            .kernel(name)
            .params()
            .last()
            .is_some_and(|param| param.size == 1);
        let arguments = [arguments, if has_empty { &empty[..] } else { &[] }].concat();
        self.run
            .launch(name, [grid as u32, 1, 1], [block, 1, 1], 0, &arguments);
        self.time += begin.elapsed();
        self.stats += self.run.stats;
    }
}

#[test]
fn a_million_pairs_are_sorted() {
    let Some(text) = compiled() else { return };
    let n = 1_000_000;
    let keys: Vec<u64> = noise(n, 1)
        .into_iter()
        .map(|bits| (bits & ((1 << BITS) - 1)) % 50_021 * 7919)
        .collect();
    let values: Vec<u32> = (0..n as u32).collect();
    let mut run = Run::new(&text, Options::default());
    let passes = BITS / DIGIT;
    let blocks = n.div_ceil(TILE);
    let (mut keys_in, mut values_in) = (run.put(&keys), run.put(&values));
    let (mut keys_out, mut values_out) = (run.put(&vec![0u64; n]), run.put(&vec![0u32; n]));
    let bins = run.put(&vec![0u64; 256 * passes as usize]);
    let mut sort = Sort {
        run,
        stats: Stats::default(),
        time: Duration::ZERO,
    };
    let int = |value: usize| Argument::Integer(value as i128);
    sort.launch(
        "HistogramKernel",
        8,
        128,
        &[
            bins.clone(),
            keys_in.clone(),
            int(n),
            int(0),
            int(BITS as usize),
        ],
    );
    sort.launch(
        "ExclusiveSumKernel",
        passes as usize,
        256,
        std::slice::from_ref(&bins),
    );
    for pass in 0..passes {
        let lookback = sort.run.put(&vec![0u32; 256 * blocks]);
        let counter = sort.run.put(&[0u32]);
        let Argument::Pointer(bins) = bins else {
            unreachable!()
        };
        let pass_bins = Argument::Pointer(bins + u64::from(pass) * 256 * 8);
        let arguments = [
            lookback,
            counter,
            Argument::Pointer(0),
            pass_bins,
            keys_out.clone(),
            keys_in.clone(),
            values_out.clone(),
            values_in.clone(),
            int(n),
            int((pass * DIGIT) as usize),
            int(DIGIT as usize),
        ];
        sort.launch("OnesweepKernel", blocks, 384, &arguments);
        std::mem::swap(&mut keys_in, &mut keys_out);
        std::mem::swap(&mut values_in, &mut values_out);
    }
    let mut order: Vec<u32> = values;
    order.sort_by_key(|&index| keys[index as usize]);
    assert_eq!(sort.run.get::<u32>(&values_in, n), order);
    let sorted: Vec<u64> = order.iter().map(|&index| keys[index as usize]).collect();
    assert_eq!(sort.run.get::<u64>(&keys_in, n), sorted);
    let rate = sort.stats.thread_instructions as f64 / sort.time.as_secs_f64() / 1e6;
    eprintln!(
        "{n} pairs: {} M thread instructions, {rate:.0} M/s",
        sort.stats.thread_instructions / 1_000_000
    );
}
