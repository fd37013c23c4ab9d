//! A program of CUDA 12, whose runtime has other structures and names than that of CUDA 13.

use std::process::Command;

use reuselens_cuda::{CudaUse, cuda_use};
use tempfile::TempDir;

use crate::common::{functions_named, launches_one_kernel, succeeds};

/// Compiles the program against a library of a name, whose functions are those that it uses.
fn build(folder: &TempDir, library: &str) {
    let path = |name: &str| folder.path().join(name);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cuda_12.c");
    succeeds(
        Command::new("cc")
            .args(["-c", "-Wall", "-Werror", "-o"])
            .arg(path("program.o"))
            .arg(source),
    );
    let functions = functions_named(&path("program.o"), &["cuda", "__cuda"]);
    std::fs::write(path("names.c"), functions).unwrap();
    std::fs::write(path("names.map"), format!("{library} {{ global: *; }};\n")).unwrap();
    succeeds(
        Command::new("cc")
            .args(["-shared", &format!("-Wl,-soname,{library}"), "-o"])
            .arg(path(library))
            .arg(path("names.c"))
            .arg(format!(
                "-Wl,--version-script={}",
                path("names.map").display()
            )),
    );
    succeeds(Command::new("cc").arg("-o").args([
        path("program"),
        path("program.o"),
        path(library),
    ]));
}

#[test]
fn structures_versions_and_names_of_cuda_12_are_served() {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("program");
    build(&folder, "libcudart.so.12");
    assert_eq!(cuda_use(&program), Some(CudaUse::Shared));
    launches_one_kernel(&program);
}

#[test]
fn structures_of_older_runtimes_are_refused() {
    let folder = TempDir::new().unwrap();
    build(&folder, "libcudart.so.11.0");
    let program = folder.path().join("program");
    assert_eq!(cuda_use(&program), Some(CudaUse::OtherVersion));
}
