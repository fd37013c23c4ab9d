//! Device code in several files, which calls functions and uses variables of other files.
//!
//! Needs nvcc (`NVCC` says which).

use std::process::Command;

use tempfile::TempDir;

mod common;

use common::{Ran, nvcc, run_program, succeeds};

const USER: &str = r"
extern __device__ int counter;
extern __constant__ int factors[4];
__device__ int helper(int x);
static __device__ int own = 100;
__global__ void k(int *p)
{
    p[threadIdx.x] = helper((int)threadIdx.x) + factors[1] + own;
    atomicAdd(&counter, 1);
}
int count();
int main()
{
    int *p, host[32];
    cudaMalloc(&p, sizeof host);
    k<<<1, 32>>>(p);
    cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 32; i++)
        if (host[i] != 3 * i + 5 + 20 + 100)
            return 1;
    return count() != 32;
}
";

const OTHER: &str = r"
__device__ int counter;
__constant__ int factors[4] = {10, 20, 30, 40};
static __device__ int own = 5;
__device__ int helper(int x) { return 3 * x + own; }
int count()
{
    int c, five = 0;
    if (cudaMemcpyFromSymbol(&c, counter, sizeof c) || cudaMemcpyFromSymbol(&five, own, sizeof five))
        return -1;
    return five == 5 ? c : -2;
}
";

#[test]
fn relocatable_device_code_is_linked() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("user.cu"), USER).unwrap();
    std::fs::write(path("other.cu"), OTHER).unwrap();
    succeeds(
        Command::new(nvcc)
            .args(["-rdc=true", "-lineinfo", "-o"])
            .args([path("program"), path("user.cu"), path("other.cu")]),
    );
    let Ran {
        ended,
        refused,
        kernels,
        ..
    } = run_program(&path("program"), &[]);
    assert!(ended.success(), "{ended} {refused:?}");
    assert_eq!((kernels.len(), kernels[0].launches), (1, 1));
}
