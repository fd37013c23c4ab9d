//! Kernels that cannot run to their end: the program gets CUDA's error, and a message says why.
//!
//! Needs nvcc (`NVCC` says which).

use std::ffi::OsString;

use reuselens_ptx::Options;
use tempfile::TempDir;

use crate::common::{Ran, compile, nvcc, run_with};

/// A program that expects an error of its kernel's launch or of the next call that waits, and works
/// on if the launch was refused.
fn program(kernel: &str, error: &str) -> String {
    format!(
        "#include <cstdio>\n\
        __global__ void right(int *p) {{ *p = 5; }}\n\
        __global__ void bad(int *p) {{ {kernel} }}\n\
        int main() {{\n\
        int *p, host = 0;\n\
        cudaMalloc(&p, 64);\n\
        right<<<1, 1>>>(p);\n\
        cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost);\n\
        bad<<<1, 32>>>(p);\n\
        cudaError_t got = cudaGetLastError();\n\
        if (!got) got = cudaDeviceSynchronize();\n\
        printf(\"%s\\n\", cudaGetErrorName(got));\n\
        return got != {error} || host != 5;\n}}\n"
    )
}

/// Runs a program with a kernel that must end with an error; the messages. What ran before it
/// counts.
fn stopped(nvcc: &str, kernel: &str, error: &str, flags: &[&str], options: Options) -> String {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("bad.cu"), program(kernel, error)).unwrap();
    compile(nvcc, &path("bad.cu"), &path("bad"), flags);
    let Ran {
        ended,
        refused,
        kernels,
        ..
    } = run_with(&[OsString::from(path("bad"))], options);
    assert!(ended.success(), "{error}: {ended} {refused:#?}");
    assert!(
        kernels
            .iter()
            .any(|kernel| kernel.name.contains("right") && kernel.launches == 1)
    );
    refused.messages.join("\n")
}

#[test]
fn unknown_instructions_are_refused_at_the_launch_and_named() {
    let Some(nvcc) = nvcc() else { return };
    // PTX alone: no assembler looks at the instruction.
    let flags = ["-gencode", "arch=compute_80,code=compute_80"];
    let kernel = "asm volatile(\"tcgen05.frobnicate.b32 [%0];\" :: \"l\"(p));";
    let options = Options::default();
    let said = stopped(&nvcc, kernel, "cudaErrorInvalidPtx", &flags, options);
    assert!(said.contains("tcgen05.frobnicate.b32"), "{said}");
    assert!(said.contains("line "), "{said}");
}

#[test]
fn endless_kernels_end_at_the_limit_with_a_timeout() {
    let Some(nvcc) = nvcc() else { return };
    let options = Options {
        max_instructions: 200_000,
        ..Options::default()
    };
    let kernel = "while (*(volatile int *)p == 5) {}";
    let said = stopped(&nvcc, kernel, "cudaErrorLaunchTimeout", &[], options);
    assert!(said.contains("kernel bad"), "{said}");
    assert!(said.contains("--max-instructions"), "{said}");
    assert!(!said.contains("PTX line 0"), "{said}");
}

#[test]
fn misaligned_accesses_name_kernel_line_thread_and_block() {
    let Some(nvcc) = nvcc() else { return };
    let kernel = "if (threadIdx.x == 9) *(int *)((char *)p + 2) = 1;";
    let options = Options::default();
    let said = stopped(&nvcc, kernel, "cudaErrorMisalignedAddress", &[], options);
    for part in [
        "kernel bad",
        "bad.cu:3",
        "block (0, 0, 0)",
        "thread (9, 0, 0)",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn traps_are_an_error_of_the_program() {
    let Some(nvcc) = nvcc() else { return };
    let kernel = "if (threadIdx.x == 9) __trap();";
    let options = Options::default();
    let said = stopped(&nvcc, kernel, "cudaErrorIllegalInstruction", &[], options);
    assert!(said.contains("bad.cu:3"), "{said}");
}
