//! Compiles the two files that are put into measured programs, and compresses them, to be embedded
//! in this crate (`src/embedded.rs`): the run time, which `reuselens cc` adds to the programs that
//! it links, and the image of the rewriter, for all other programs.

use std::error::Error;
use std::fs::{read, write};
use std::path::PathBuf;

#[path = "../runtime/build_support.rs"]
mod build_support;
#[path = "../dbi/build_support.rs"]
mod dbi_support;

/// The level of zstd: higher ones save no hundredth of the size.
const LEVEL: i32 = 19;

fn main() -> Result<(), Box<dyn Error>> {
    let crates = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("..");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    // Fuzz targets measure no program, and these files take longer to compile than all of them.
    if std::env::var_os("CARGO_CFG_FUZZING").is_some() {
        write(out.join("reuselens.o.zst"), b"")?;
        write(out.join("dbi.so.zst"), b"")?;
        return Ok(());
    }
    build_support::compile(&crates, &out)?;
    dbi_support::compile(&crates, &out)?;
    for name in ["reuselens.o", "dbi.so"] {
        let packed = zstd::bulk::compress(&read(out.join(name))?, LEVEL)?;
        write(out.join(format!("{name}.zst")), packed)?;
    }
    Ok(())
}
