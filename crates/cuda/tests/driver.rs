//! A program in C that uses the driver's interface.
//!
//! Needs nvcc (`NVCC` says which) and a C compiler.

use std::process::Command;

use reuselens_cuda::{CudaUse, cuda_use};
use tempfile::TempDir;

use crate::common::{Ran, functions_named, nvcc, programs, run_program, succeeds};

#[test]
fn programs_of_the_driver_find_what_it_documents() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let sources = programs().join("driver");
    succeeds(
        Command::new(&nvcc)
            .args(["-ptx", "-lineinfo", "-o"])
            .args([path("driver.ptx"), sources.join("driver.cu")]),
    );
    succeeds(
        Command::new(&nvcc)
            .args(["-c", "-O2", "-Xcompiler", "-Wall,-Werror", "-o"])
            .args([path("driver.o"), sources.join("driver.c")]),
    );
    // The driver's library is on no machine without a GPU: one with the names that the program
    // needs stands in when it is linked.
    std::fs::write(path("names.c"), functions_named(&path("driver.o"), &["cu"])).unwrap();
    succeeds(
        Command::new("cc")
            .args(["-shared", "-Wl,-soname,libcuda.so.1", "-o"])
            .args([path("libcuda.so"), path("names.c")]),
    );
    succeeds(
        Command::new("cc")
            .arg("-o")
            .args([path("driver"), path("driver.o"), path("libcuda.so")])
            .arg("-ldl"),
    );
    assert_eq!(cuda_use(&path("driver")), Some(CudaUse::Shared));
    let ptx = path("driver.ptx");
    let Ran {
        ended,
        refused,
        ledger,
        kernels,
    } = run_program(&path("driver"), &[ptx.to_str().unwrap()]);
    assert!(ended.success(), "{ended} {refused:?}");
    assert_eq!((kernels.len(), kernels[0].launches), (1, 2));
    assert!(refused.missing.is_empty(), "{refused:?}");
    // Two calls launch the kernel, and each has its path.
    let paths: Vec<u32> = ledger.launches.iter().map(|sum| sum.call_path).collect();
    assert!(
        paths.len() == 2 && paths[0] != paths[1],
        "{:#?}",
        ledger.launches
    );
    assert!(
        paths
            .iter()
            .all(|path| !ledger.call_path(*path).frames.is_empty())
    );
}
