//! How fast kernels run with and without their analyses:
//! `cargo run --release -p reuselens-cuda --example analysed -- FILE.ptx [SIZE [WORD]]`.
//!
//! Takes a file with a kernel `gemm(ni, nj, nk, alpha, beta, a, b, c)`, such as
//! `kernels/ptx/nvcc/gemm.ptx`, and prints instructions of threads in a second of processor time,
//! for each choice of analyses and each number of threads: the median of several runs, in turns.
//! WORD takes only the choices whose names contain it.

use std::collections::BTreeMap;
use std::time::Instant;

use reuselens_cuda::{AdvisedKernels, KernelWatch};
use reuselens_gpu_advisor::{AdvisorOptions, LaunchContext};
use reuselens_ptx::{
    Argument, Device, Ignore, Kernel, LaunchConfig, LaunchSink, Options, PtxModule, Stats,
};
use reuselens_testing::processor_seconds;

/// Times that each measurement is taken.
const ROUNDS: usize = 5;

/// The kernel and its arguments.
struct Program {
    device: Device,
    /// Without counts of the control flow.
    plain: Kernel,
    /// With them.
    counted: Kernel,
    launch: LaunchConfig,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("which file?")?;
    let size: usize = words.next().map_or(Ok(256), |word| word.parse())?;
    let wanted = words.next().unwrap_or_default();
    let mut program = load(&path, size)?;
    let everything = AdvisorOptions::default();
    let reuse = AdvisorOptions {
        caches: false,
        bypass: false,
        ..everything
    };
    let counts = AdvisorOptions {
        reuse: false,
        ..reuse
    };
    let choices = [
        ("nothing", None),
        ("counts", Some(counts)),
        ("counts, reuse", Some(reuse)),
        ("counts, reuse, caches", Some(everything)),
    ];
    let mut rates: BTreeMap<(usize, &str, usize), Vec<Rate>> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for (number, (name, options)) in choices.into_iter().enumerate() {
            for threads in [1, 2] {
                if name.contains(&wanted) {
                    let rate = measure(&mut program, options, threads)?;
                    rates.entry((number, name, threads)).or_default().push(rate);
                }
            }
        }
    }
    println!("M thread instructions/s of processor time, and elapsed: median");
    for ((_, name, threads), rates) in rates {
        let processor = median(rates.iter().map(|rate| rate.processor).collect());
        let elapsed = median(rates.iter().map(|rate| rate.elapsed).collect());
        println!("{processor:8.1} {elapsed:8.1}  {threads} threads, {name}");
    }
    Ok(())
}

fn load(path: &str, size: usize) -> Result<Program, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(path)?;
    let mut device = Device::new();
    let module = device.load(PtxModule::parse(&text)?)?;
    let plain = device.kernel(&module, "gemm", &Options::default())?;
    let flow = Options {
        flow: true,
        ..Options::default()
    };
    let counted = device.kernel(&module, "gemm", &flow)?;
    let mut arguments = vec![Argument::Integer(size as i128); 3];
    arguments.extend([Argument::Float(2.0), Argument::Float(3.0)]);
    for name in ["a", "b", "c"] {
        let address = device.allocate(name, 4 * (size * size) as u64)?;
        arguments.push(Argument::Pointer(address));
    }
    let grid = [size as u32 / 32, size as u32 / 8, 1];
    let launch = plain.launch(grid, [32, 8, 1], 0, &arguments)?;
    Ok(Program {
        device,
        plain,
        counted,
        launch,
    })
}

/// Millions of instructions of threads in a second.
#[derive(Clone, Copy, Debug)]
struct Rate {
    /// Of processor time, of all threads together.
    processor: f64,
    elapsed: f64,
}

/// Runs the kernel; without options, nobody analyses it.
fn measure(
    program: &mut Program,
    options: Option<AdvisorOptions>,
    threads: usize,
) -> Result<Rate, Box<dyn std::error::Error>> {
    let Some(options) = options else {
        let kernel = program.plain.clone();
        return rate(|| run(program, &kernel, threads, &mut Ignore));
    };
    rate(|| {
        let kernel = program.counted.clone();
        let mut advised = AdvisedKernels::new(options);
        advised.begin(&kernel, &program.launch, &LaunchContext::default())?;
        let stats = run(program, &kernel, threads, &mut advised)?;
        advised.end(&kernel, &program.launch, stats, None);
        assert_eq!(advised.finish().len(), 1);
        Ok(stats)
    })
}

fn rate(
    work: impl FnOnce() -> Result<Stats, Box<dyn std::error::Error>>,
) -> Result<Rate, Box<dyn std::error::Error>> {
    let (begun, processor) = (Instant::now(), processor_seconds()?);
    let millions = work()?.thread_instructions as f64 / 1e6;
    Ok(Rate {
        processor: millions / (processor_seconds()? - processor),
        elapsed: millions / begun.elapsed().as_secs_f64(),
    })
}

fn run<S: LaunchSink + Send>(
    program: &mut Program,
    kernel: &Kernel,
    threads: usize,
    sink: &mut S,
) -> Result<Stats, Box<dyn std::error::Error>> {
    let options = Options {
        threads,
        ..Options::default()
    };
    Ok(program
        .device
        .launch(kernel, &program.launch, &options, sink)?)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
