//! How fast kernels run: `cargo run --release -p reuselens-ptx --example speed -- FILE.ptx [SIZE]`.
//!
//! Takes a file with a kernel `gemm(ni, nj, nk, alpha, beta, a, b, c)` and prints, for each way of
//! looking on and each number of threads, instructions of threads in a second.

use std::time::Instant;

use reuselens_ptx::{
    Argument, Count, Device, Ignore, Kernel, Launch, Module, Options, Sink, Stats,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("which file?")?;
    let size: usize = words.next().map_or(Ok(512), |word| word.parse())?;
    let text = std::fs::read_to_string(path)?;
    let mut device = Device::new();
    let module = device.load(Module::parse(&text)?)?;
    let kernel = device.kernel(&module, "gemm", &Options::default())?;
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
    for threads in [1, most] {
        measure(
            "no sink",
            &mut device,
            &kernel,
            &launch,
            threads,
            &mut Ignore,
        )?;
        let mut count = Count::default();
        measure(
            "counting",
            &mut device,
            &kernel,
            &launch,
            threads,
            &mut count,
        )?;
        println!("{count:?}");
    }
    Ok(())
}

fn measure<S: Sink + Send>(
    name: &str,
    device: &mut Device,
    kernel: &Kernel,
    launch: &Launch,
    threads: usize,
    sink: &mut S,
) -> Result<(), Box<dyn std::error::Error>> {
    let options = Options {
        threads,
        ..Options::default()
    };
    let begin = Instant::now();
    let Stats {
        thread_instructions,
        warp_instructions,
        ..
    } = device.launch(kernel, launch, &options, sink)?;
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{name:12} {threads} threads ({}): {:8.1} M thread instructions/s, {:7.1} M warp instructions/s, {seconds:.3} s",
        options.isa.name(),
        thread_instructions as f64 / seconds / 1e6,
        warp_instructions as f64 / seconds / 1e6,
    );
    Ok(())
}
