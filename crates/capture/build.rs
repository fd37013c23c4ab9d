//! Compiles the run time for measured programs, to be embedded in this crate: `reuselens cc` adds it
//! to the programs that it links.

use std::error::Error;
use std::path::PathBuf;

#[path = "../runtime/build_support.rs"]
mod build_support;

fn main() -> Result<(), Box<dyn Error>> {
    let crates = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("..");
    build_support::compile(&crates, &PathBuf::from(std::env::var("OUT_DIR")?))?;
    Ok(())
}
