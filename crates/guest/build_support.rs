//! Compiles this crate, and `wire`, with plain `rustc` for code that runs inside programs: build
//! scripts include this file by its path.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles both into `out`. Returns the options by which `rustc` compiles what uses them. `crates`
/// is the folder with `wire` and `guest` in it. Prints for cargo which files they depend on.
pub fn compile(crates: &Path, out: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut options = vec![
        // What is compiled is the same wherever the folder is.
        format!("--remap-path-prefix={}=crates", crates.display()),
        format!("-Ldependency={}", out.display()),
    ];
    for folder in ["wire", "guest"] {
        let name = format!("reuselens_{folder}");
        let library = out.join(format!("lib{name}.rlib"));
        let source = crates.join(folder).join("src");
        println!("cargo::rerun-if-changed={}", source.display());
        rustc(&source.join("lib.rs"), &name, "rlib", &library, &options)?;
        options.push("--extern".to_owned());
        options.push(format!("{name}={}", library.display()));
    }
    let this = crates.join("guest/build_support.rs");
    println!("cargo::rerun-if-changed={}", this.display());
    Ok(options)
}

/// Compiles the crate `name`, whose root is `source`, to `output`, as fast code that does not
/// unwind and may be anywhere in memory. `kind` is rustc's word for what is made.
pub fn rustc(
    source: &Path,
    name: &str,
    kind: &str,
    output: &Path,
    options: &[String],
) -> Result<(), Box<dyn Error>> {
    let rustc = std::env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from);
    let status = Command::new(rustc)
        .args(["--edition", "2024", "--crate-name", name])
        .args(["--crate-type", kind])
        .args(["-Copt-level=3", "-Cpanic=abort", "-Ccodegen-units=1"])
        .args(["-Crelocation-model=pic"])
        .args(["--target", &std::env::var("TARGET")?])
        .args(options)
        .arg("-o")
        .arg(output)
        .arg(source)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("cannot compile {name}: {status}").into())
    }
}
