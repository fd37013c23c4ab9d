//! Programs on libraries that are all headers: Thrust and CUB, and cuRAND's functions for kernels.
//!
//! Needs nvcc (`NVCC` says which), and the libraries where it finds them.

use std::process::Command;

use tempfile::TempDir;

mod common;

use common::{Ran, compile, nvcc, programs, run_program};

/// Compiles and runs a program of `programs/cuda/libraries`, if nvcc finds the header it needs.
fn runs(name: &str, header: &str) {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("header.cu"), format!("#include <{header}>\n")).unwrap();
    let mut found = Command::new(&nvcc);
    found.args(["-E", "-o", "/dev/null"]).arg(path("header.cu"));
    if !found.output().unwrap().status.success() {
        reuselens_testing::skip(&format!("nvcc finds no {header}"));
        return;
    }
    let source = programs().join(format!("libraries/{name}.cu"));
    compile(&nvcc, &source, &path(name), &[]);
    let Ran {
        ended,
        refused,
        kernels,
        ..
    } = run_program(&path(name), &[]);
    assert!(ended.success(), "{name}: {ended} {refused:#?}");
    assert!(refused.missing.is_empty(), "{name}: {refused:#?}");
    assert!(!kernels.is_empty(), "{name}");
}

#[test]
fn algorithms_of_thrust_give_the_results_of_the_host() {
    runs("thrust", "thrust/version.h");
}

#[test]
fn algorithms_of_cub_give_the_results_of_the_host() {
    runs("cub", "cub/version.cuh");
}

#[test]
fn random_numbers_of_kernels_are_those_of_curand() {
    runs("curand", "curand_kernel.h");
}
