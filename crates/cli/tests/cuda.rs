//! `profile` and `record` of programs that use CUDA.
//!
//! Needs nvcc (`NVCC` says which).

use std::process::Command;

use crate::common::{Done, Place, has};

const PROGRAM: &str = r#"
#include <cstdio>
__global__ void scale(float *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] *= 3;
}
int main(int argc, char **)
{
    const int n = 1 << 12;
    float host[n], *data;
    for (int i = 0; i < n; i++)
        host[i] = i;
    cudaMalloc(&data, sizeof host);
    cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice);
    // With an argument, too many threads.
    scale<<<argc * n / 256, 256>>>(data, argc * n);
    cudaError_t error = cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
    printf("%s, %g\n", cudaGetErrorString(error), host[n - 1]);
    return error != cudaSuccess;
}
"#;

/// A folder with the program, or `None` after saying that there is no compiler.
fn compiled(flags: &[&str]) -> Option<Place> {
    let nvcc = std::env::var("NVCC").unwrap_or_else(|_| "nvcc".to_owned());
    if !has(&nvcc) {
        return None;
    }
    let place = Place::new();
    place.write("scale.cu", PROGRAM);
    let mut compile = Command::new(nvcc);
    compile
        .args(["-lineinfo", "-o"])
        .args([place.path("scale"), place.path("scale.cu")])
        .args(flags);
    Done::of(&mut compile).succeeds();
    Some(place)
}

#[test]
fn kernels_are_shown_and_their_accesses_kept_and_analysed() {
    let Some(place) = compiled(&[]) else { return };
    let profiled = place.run(&["profile", "--", "./scale"]).succeeds();
    profiled.prints(&[
        "no error, 12285",
        "scale(float*, int)",
        "Next: reuselens record -- ./scale",
    ]);
    // A load and a store of 128 warps, each of 128 bytes.
    let recorded = place.run(&["record", "--", "./scale"]).succeeds();
    recorded.prints(&["scale.rlwarp: 512 memory instructions of warps", "4.0"]);
    place.run(&["record", "-q", "--", "./scale"]).succeeds();
    assert!(place.files().contains(&"scale.2.rlwarp".to_owned()));
    let analysed = place.run(&["gpu", "analyze", "scale.rlwarp"]).succeeds();
    analysed.prints(&["16 blocks of 256 threads", "4,096 elements"]);
}

#[test]
fn error_of_a_kernel_reaches_the_program_and_a_warning_names_the_line() {
    let Some(place) = compiled(&["-cudart", "shared"]) else {
        return;
    };
    let arguments = ["profile", "-q", "--pass-status", "--", "./scale", "far"];
    let done = place.run(&arguments).ends_with(1);
    let done = done.prints(&["an illegal memory access was encountered"]);
    done.says(&["block (16, 0, 0)", "scale.cu:7", "out of bounds"]);
}

#[test]
fn what_cannot_be_done_is_refused() {
    let Some(place) = compiled(&["-Xlinker", "-s"]) else {
        return;
    };
    let done = place.run(&["profile", "--", "./scale"]).fails(1);
    done.says(&["its symbols stripped", "nvcc -cudart shared"]);
    let Some(place) = compiled(&[]) else { return };
    let done = place
        .run(&["profile", "--json", "-", "--", "./scale"])
        .fails(2);
    done.says(&["reuselens record"]);
}
