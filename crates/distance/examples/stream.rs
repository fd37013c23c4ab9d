//! Writes a stream of the yardstick as a trace of raw 64-bit items, to standard output:
//!
//! ```text
//! cargo run --release -p reuselens-distance --example stream -- zipf 128000000 > zipf.u64
//! ```
//!
//! The names are `zipf`, `uniform`, `loop` and `jacobi`. A reference takes 8 bytes.

use std::io::Write;

use reuselens_distance::generate::yardstick;

/// References that are made at once.
const PIECE: u64 = 1 << 16;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("the name of a stream is missing")?;
    let references: u64 = arguments.next().ok_or("a length is missing")?.parse()?;
    let mut stream = yardstick(&name).ok_or("there is no stream of this name")?;
    let mut output = std::io::stdout().lock();
    let mut left = references;
    while left > 0 {
        let mut items = vec![0; left.min(PIECE) as usize];
        stream.fill(&mut items);
        left -= items.len() as u64;
        let bytes: Vec<u8> = items.into_iter().flat_map(u64::to_le_bytes).collect();
        output.write_all(&bytes)?;
    }
    Ok(())
}
