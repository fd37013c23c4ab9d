//! How fast kernels run: `cargo run --release -p reuselens-ptx --example speed -- FILE.ptx [SIZE]`.
//!
//! Takes a file with a kernel `gemm(ni, nj, nk, alpha, beta, a, b, c)` and prints, for each way of
//! looking on and each number of threads, instructions of threads in a second: the best of several
//! runs, in turns. `flow` counts basic blocks and branches.
//!
//! Beside it, those in a second of processor time, of all threads together: what each core does
//! where other programs leave the threads only a part of it.

use std::time::Instant;

use reuselens_io::AtomicFile;
use reuselens_ptx::{
    Argument, CollectorSink, Count, Device, Ignore, Kernel, LaunchConfig, LaunchSink, Options,
    PtxModule,
};
use reuselens_testing::processor_seconds;
use reuselens_warp::file::WarpWriter;

/// Times that each measurement is taken.
const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("which file?")?;
    let size: usize = words.next().map_or(Ok(512), |word| word.parse())?;
    let text = std::fs::read_to_string(path)?;
    let mut device = Device::new();
    let module = device.load(PtxModule::parse(&text)?)?;
    let kernel = device.kernel(&module, "gemm", &Options::default())?;
    let flow = Options {
        flow: true,
        ..Options::default()
    };
    let counted = device.kernel(&module, "gemm", &flow)?;
    let bytes = 4 * (size * size) as u64;
    let mut arguments = vec![Argument::Integer(size as i128); 3];
    arguments.extend([Argument::Float(2.0), Argument::Float(3.0)]);
    for name in ["a", "b", "c"] {
        let address = device.allocate(name, bytes)?;
        let values = (0..size * size).map(|index| (index * 7 % 13) as f32 * 0.25);
        device.write(
            address,
            &values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>(),
        )?;
        arguments.push(Argument::Pointer(address));
    }
    let grid = [size as u32 / 32, size as u32 / 8, 1];
    let launch = kernel.launch(grid, [32, 8, 1], 0, &arguments)?;
    let most = std::thread::available_parallelism()?.get();
    let folder = tempfile::tempdir()?;
    let mut best = std::collections::BTreeMap::new();
    for round in 0..ROUNDS {
        for threads in [1, most] {
            let mut note = |name: &'static str, rate: Rate| {
                let best: &mut Rate = best.entry((name, threads)).or_default();
                *best = best.max(rate);
            };
            note(
                "no sink",
                measure(&mut device, &kernel, &launch, threads, &mut Ignore)?,
            );
            let mut count = Count::default();
            note(
                "counting",
                measure(&mut device, &kernel, &launch, threads, &mut count)?,
            );
            note(
                "flow",
                measure(&mut device, &counted, &launch, threads, &mut Ignore)?,
            );
            let path = folder.path().join(format!("{round}-{threads}.rlwarp"));
            let file = AtomicFile::create(&path, true)?;
            let mut stream = CollectorSink::new(WarpWriter::new(file, &path, "speed")?);
            stream.launch(&kernel, &launch)?;
            note(
                "written",
                measure(&mut device, &kernel, &launch, threads, &mut stream)?,
            );
            stream.finish()?.finish()?.commit()?;
            if round == 0 {
                let bytes = std::fs::metadata(&path)?.len();
                println!("{threads} threads: {count:?}, a file of {bytes} bytes");
            }
            std::fs::remove_file(&path)?;
        }
        let rate = best.entry(("apart", most)).or_default();
        *rate = rate.max(apart(&device, &kernel, &launch, most)?);
    }
    let stats = device.launch(&kernel, &launch, &Options::default(), &mut Ignore)?;
    println!(
        "{:.3} M thread instructions in a launch",
        stats.thread_instructions as f64 / 1e6
    );
    for ((name, threads), rate) in &best {
        let one = if *name == "apart" { "no sink" } else { name };
        let alone = best.get(&(one, 1)).copied().unwrap_or_default();
        println!(
            "{name:10} {threads} threads: {:8.1} M thread instructions/s, {:.2} x; {:8.1} M in a \
             second of processor time",
            rate.elapsed,
            rate.elapsed / alone.elapsed,
            rate.processor
        );
    }
    Ok(())
}

/// Millions of instructions of threads in a second.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    elapsed: f64,
    /// In a second of processor time of all threads.
    processor: f64,
}

impl Rate {
    fn max(self, other: Rate) -> Rate {
        Rate {
            elapsed: self.elapsed.max(other.elapsed),
            processor: self.processor.max(other.processor),
        }
    }
}

/// What the machine gives: the same launch on as many devices at once, each with one thread,
/// without a sink.
fn apart(
    device: &Device,
    kernel: &Kernel,
    launch: &LaunchConfig,
    count: usize,
) -> Result<Rate, Box<dyn std::error::Error>> {
    let devices: Vec<Device> = vec![device.clone(); count];
    let rates = std::thread::scope(|scope| {
        let run = |mut device: Device| {
            let rate = measure(&mut device, kernel, launch, 1, &mut Ignore);
            rate.map_err(|error| error.to_string())
        };
        let started: Vec<_> = devices
            .into_iter()
            .map(|device| scope.spawn(move || run(device)))
            .collect();
        let rates = started.into_iter().map(|thread| thread.join());
        rates.collect::<Result<Vec<_>, _>>()
    });
    let rates = rates.map_err(|_| "a thread panicked")?;
    let rates = rates.into_iter().collect::<Result<Vec<Rate>, String>>()?;
    // The processor time that each saw is that of all.
    Ok(Rate {
        elapsed: rates.iter().map(|rate| rate.elapsed).sum(),
        processor: rates.iter().map(|rate| rate.processor).sum(),
    })
}

/// Runs a launch.
fn measure<S: LaunchSink + Send>(
    device: &mut Device,
    kernel: &Kernel,
    launch: &LaunchConfig,
    threads: usize,
    sink: &mut S,
) -> Result<Rate, Box<dyn std::error::Error>> {
    let options = Options {
        threads,
        ..Options::default()
    };
    let (begin, processor) = (Instant::now(), processor_seconds()?);
    let stats = device.launch(kernel, launch, &options, sink)?;
    let millions = stats.thread_instructions as f64 / 1e6;
    Ok(Rate {
        elapsed: millions / begin.elapsed().as_secs_f64(),
        processor: millions / (processor_seconds()? - processor),
    })
}
