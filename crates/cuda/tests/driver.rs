//! Programs in C that use the driver's interface.
//!
//! Needs nvcc (`NVCC` says which) and a C compiler.

use std::process::Command;

use reuselens_cuda::{CudaUse, cuda_use};
use tempfile::TempDir;

use crate::common::{Ran, functions_named, nvcc, programs, run_program, succeeds};

/// Compiles a program in C of `programs/cuda/driver`.
fn build(nvcc: &str, folder: &TempDir, name: &str) {
    let path = |name: &str| folder.path().join(name);
    let (source, object) = (format!("{name}.c"), format!("{name}.o"));
    succeeds(
        Command::new(nvcc)
            .args(["-c", "-O2", "-Xcompiler", "-Wall,-Werror", "-o"])
            .args([path(&object), programs().join("driver").join(source)]),
    );
    // The driver's library is on no machine without a GPU: one with the names that the program
    // needs stands in when it is linked.
    std::fs::write(path("names.c"), functions_named(&path(&object), &["cu"])).unwrap();
    succeeds(
        Command::new("cc")
            .args(["-shared", "-Wl,-soname,libcuda.so.1", "-o"])
            .args([path("libcuda.so"), path("names.c")]),
    );
    succeeds(
        Command::new("cc")
            .arg("-o")
            .args([path(name), path(&object), path("libcuda.so")])
            .arg("-ldl"),
    );
}

#[test]
fn compilers_that_a_program_loads_give_ptx_for_machine_code() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    build(&nvcc, &folder, "compiled");
    succeeds(
        Command::new("cc")
            .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
            .arg(path("compilers.so"))
            .arg(programs().join("libraries/compilers.c")),
    );
    let compilers = path("compilers.so");
    let ran = run_program(&path("compiled"), &[compilers.to_str().unwrap()]);
    let (ended, refused, kernels) = (ran.ended, ran.refused, ran.kernels);
    assert!(ended.success(), "{ended} {refused:?}");
    assert!(refused.messages.is_empty(), "{refused:?}");
    assert_eq!((kernels.len(), kernels[0].launches), (1, 20));
}

#[test]
fn programs_of_the_driver_find_what_it_documents() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let source = programs().join("driver/driver.cu");
    succeeds(
        Command::new(&nvcc)
            .args(["-ptx", "-lineinfo", "-o"])
            .args([path("driver.ptx"), source]),
    );
    build(&nvcc, &folder, "driver");
    assert_eq!(cuda_use(&path("driver")), Some(CudaUse::Shared));
    let ptx = path("driver.ptx");
    let Ran {
        ended,
        refused,
        ledger,
        kernels,
    } = run_program(&path("driver"), &[ptx.to_str().unwrap()]);
    assert!(ended.success(), "{ended} {refused:?}");
    let launched: Vec<_> = kernels.iter().map(|it| (&*it.name, it.launches)).collect();
    assert_eq!(launched, [("both", 1), ("scale", 2)]);
    assert!(refused.missing.is_empty(), "{refused:?}");
    let machine_code = "machine code for sm_90 without PTX (a cubin)";
    let names_it = |message: &String| message.contains(machine_code);
    assert!(refused.messages.iter().any(names_it), "{refused:?}");
    // Each call that launches has its path.
    let paths: Vec<u32> = ledger.launches.iter().map(|sum| sum.call_path).collect();
    assert!(
        paths.len() == 3 && paths[1] != paths[2],
        "{:#?}",
        ledger.launches
    );
    assert!(
        paths
            .iter()
            .all(|path| !ledger.call_path(*path).frames.is_empty())
    );
}
