//! Programs whose CUDA is in a library, and programs that a script or another program starts.
//!
//! Needs nvcc (`NVCC` says which) and a C compiler.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use reuselens_cuda::{CudaUse, command_use};
use tempfile::TempDir;

use crate::common::{Ran, nvcc, run_command, succeeds};

const LIBRARY: &str = r#"
__global__ void twice(int *p) { p[threadIdx.x] *= 2; }
extern "C" int run_twice(int *host)
{
    int *p;
    if (cudaMalloc(&p, 32 * sizeof *p))
        return 1;
    cudaMemcpy(p, host, 32 * sizeof *p, cudaMemcpyHostToDevice);
    twice<<<1, 32>>>(p);
    return cudaMemcpy(host, p, 32 * sizeof *p, cudaMemcpyDeviceToHost) || cudaFree(p);
}
"#;

const PROGRAM: &str = r"
int run_twice(int *);
int main(void)
{
    int all[32];
    for (int i = 0; i < 32; i++)
        all[i] = i;
    return run_twice(all) || all[31] != 62;
}
";

/// Builds the program with the library beside it.
fn build(nvcc: &str, folder: &Path, flags: &[&str]) {
    let path = |name: &str| folder.join(name);
    std::fs::write(path("twice.cu"), LIBRARY).unwrap();
    std::fs::write(path("main.c"), PROGRAM).unwrap();
    succeeds(
        Command::new(nvcc)
            .args(["-shared", "-Xcompiler", "-fPIC"])
            .args(flags)
            .arg("-o")
            .args([path("libtwice.so"), path("twice.cu")]),
    );
    succeeds(
        Command::new("cc")
            .args([
                "-Wl,-rpath,$ORIGIN,--unresolved-symbols=ignore-in-shared-libs",
                "-o",
            ])
            .args([path("main"), path("main.c"), path("libtwice.so")]),
    );
}

/// A command is taken for CUDA, and runs one kernel.
fn runs_one_kernel(command: &[OsString]) {
    let used = command_use(Path::new(&command[0]), &command[1..]);
    assert!(
        matches!(used, Some(CudaUse::Shared | CudaUse::Static)),
        "{command:?}: {used:?}"
    );
    let Ran {
        ended,
        refused,
        kernels,
        ..
    } = run_command(command);
    assert!(ended.success(), "{command:?}: {ended} {refused:?}");
    assert_eq!((kernels.len(), kernels[0].launches), (1, 1), "{command:?}");
}

#[test]
fn cuda_in_a_library_of_the_program_is_served() {
    let Some(nvcc) = nvcc() else { return };
    for flags in [&["-cudart", "static"], &["-cudart", "shared"]] {
        let folder = TempDir::new().unwrap();
        build(&nvcc, folder.path(), flags);
        runs_one_kernel(&[folder.path().join("main").into()]);
    }
}

#[test]
fn programs_that_scripts_and_other_programs_start_are_served() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    build(&nvcc, folder.path(), &[]);
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| OsString::from(name);
    let main = path("main");
    let main = main.to_str().unwrap();
    std::fs::write(
        path("go.sh"),
        "#!/bin/sh\ncd \"$(dirname \"$0\")\" && ./main\n",
    )
    .unwrap();
    std::fs::write(path("Makefile"), "run: main\n\t./main\n").unwrap();
    succeeds(Command::new("chmod").arg("+x").arg(path("go.sh")));
    runs_one_kernel(&[path("go.sh").into()]);
    let shell = || text("/bin/sh");
    runs_one_kernel(&[shell(), path("go.sh").into()]);
    runs_one_kernel(&[shell(), text("-c"), text(&format!("'{main}'; exit $?"))]);
    runs_one_kernel(&[text("/usr/bin/env"), text("A=b"), text(main)]);
    if Path::new("/usr/bin/make").exists() {
        let folder = folder.path().into();
        runs_one_kernel(&[text("/usr/bin/make"), text("-C"), folder, text("run")]);
    }
}
