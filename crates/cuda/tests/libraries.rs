//! Programs on libraries: on those that are all headers (Thrust, CUB, and cuRAND's functions for
//! kernels), and on one of machine code (cuRAND's functions for the host).
//!
//! Needs nvcc (`NVCC` says which), and the libraries where it finds them.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::common::{Ran, compile, folder_of, nvcc, programs, run_program, succeeds};

/// Compiles and runs a program of `programs/cuda/libraries`, if nvcc finds the header it needs.
fn runs(name: &str, header: &str) {
    runs_with(name, header, &[]);
}

/// The same, with options of nvcc.
fn runs_with(name: &str, header: &str, options: &[&str]) {
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
    compile(&nvcc, &source, &path(name), options);
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

/// With copies of a word by each thread (80) and bulk copies (90).
#[test]
fn barriers_in_shared_memory_order_warps_and_copies() {
    for architecture in ["-arch=compute_80", "-arch=compute_90"] {
        runs_with("barrier", "cuda/barrier", &[architecture, "-std=c++17"]);
    }
}

#[test]
fn random_numbers_of_kernels_are_those_of_curand() {
    runs("curand", "curand_kernel.h");
}

/// The folder and the file of cuRAND's library for the host beside an nvcc.
fn host_curand(nvcc: &str) -> Option<(PathBuf, PathBuf)> {
    let bin = folder_of(nvcc)?;
    let libraries = ["../lib", "../lib64", "../targets/x86_64-linux/lib"];
    let found = libraries.iter().find_map(|folder| {
        let folder = bin.join(folder).canonicalize().ok()?;
        let files = std::fs::read_dir(&folder).ok()?;
        let paths = files.filter_map(|file| Some(file.ok()?.path()));
        let mut libraries = paths.filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("libcurand.so."))
        });
        Some((folder.clone(), libraries.next()?))
    });
    if found.is_none() {
        reuselens_testing::skip(&format!("there is no libcurand.so beside {nvcc}"));
    }
    found
}

#[test]
fn library_of_machine_code_is_refused_with_its_name_and_function() {
    let Some(nvcc) = nvcc() else { return };
    let Some((libraries, library)) = host_curand(&nvcc) else {
        return;
    };
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("host_random");
    std::os::unix::fs::symlink(library, folder.path().join("libcurand.so")).unwrap();
    let flags = [
        format!("-L{}", folder.path().display()),
        "-lcurand".to_owned(),
        format!("-Xlinker=-rpath={}", libraries.display()),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let source = programs().join("libraries/host_random.cu");
    compile(&nvcc, &source, &program, &flags);
    let Ran {
        ended,
        refused,
        kernels,
        ..
    } = run_program(&program, &[]);
    assert!(!ended.success() && kernels.is_empty(), "{refused:#?}");
    let missing: Vec<&String> = refused.missing.keys().collect();
    let [function] = &missing[..] else {
        panic!("{refused:#?}");
    };
    let (_, caller) = function.split_once(", called by ").unwrap();
    assert!(
        caller.starts_with("curandCreateGenerator of libcurand.so."),
        "{function}"
    );
}

#[test]
fn runtime_in_a_library_that_is_loaded_later_is_served() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let source = |name: &str| programs().join("libraries").join(name);
    succeeds(
        Command::new("cc")
            .arg("-o")
            .args([path("loader"), source("loader.c")])
            .arg("-ldl"),
    );
    for runtime in ["static", "shared"] {
        // With the path of CUDA's own library in the file: that one is loaded, not ours.
        let lib = folder_of(&nvcc).unwrap().join("../lib");
        let rpath = format!("-Xlinker=-rpath={}", lib.display());
        let flags = ["-shared", "-Xcompiler", "-fPIC", "-cudart", runtime, &rpath];
        compile(&nvcc, &source("loaded.cu"), &path("loaded.so"), &flags);
        let ran = run_program(&path("loader"), &[path("loaded.so").to_str().unwrap()]);
        let Ran {
            ended,
            refused,
            kernels,
            ..
        } = ran;
        assert!(ended.success(), "{runtime}: {ended} {refused:#?}");
        assert!(refused.missing.is_empty(), "{runtime}: {refused:#?}");
        assert_eq!((kernels.len(), kernels[0].launches), (1, 2), "{runtime}");
    }
}
