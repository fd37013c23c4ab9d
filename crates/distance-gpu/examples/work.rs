//! What the kernels of HP-RDA do for a reference, in the interpreter, for one size of chunks.
//!
//! ```text
//! cargo run --release -p reuselens-distance-gpu --example work -- REFERENCES ITEMS CHUNK
//! ```
//!
//! The stream is uniform over ITEMS. Prints one line: instructions of warps for a reference, a
//! comma, and sectors of 32 bytes of global memory.

use std::num::NonZeroUsize;

use reuselens_baselines::HpRdaSettings;
use reuselens_cuda::{Interpreter, KernelCounts};
use reuselens_distance::generate::{Generator, Uniform};
use reuselens_distance_gpu::HpRdaGpu;
use reuselens_ptx::Options;

/// Bytes of the device.
const MEMORY: u64 = 1 << 31;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |or: u64| arguments.next().map_or(Ok(or), |text| text.parse());
    let (references, distinct, chunk) = (number(1 << 20)?, number(1 << 16)?, number(2048)?);
    let mut items = vec![0; references as usize];
    Uniform::new(distinct, 1).fill(&mut items);
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let options = Options {
        threads,
        ..Options::default()
    };
    let device = Interpreter::new(MEMORY, options, KernelCounts::default());
    let settings = HpRdaSettings {
        chunk: chunk as usize,
        ..HpRdaSettings::default()
    };
    let mut rda = HpRdaGpu::new(device, settings)?;
    rda.feed(&items, &mut Vec::new());
    rda.analyse()?;
    let counts = rda.into_device().into_watch();
    let (mut instructions, mut sectors) = (0, 0);
    for kernel in counts.kernels() {
        instructions += kernel.stats.warp_instructions;
        sectors += kernel.memory.sectors;
    }
    let each = |number: u64| number as f64 / items.len() as f64;
    println!("{:.3},{:.3}", each(instructions), each(sectors));
    Ok(())
}
