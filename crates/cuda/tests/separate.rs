//! Device code in several files, which calls functions and uses variables of other files.
//!
//! Needs nvcc (`NVCC` says which).

use std::process::Command;

use tempfile::TempDir;

use crate::common::{Ran, nvcc, run_program, succeeds};

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

/// Compiles two files apart, links and runs them.
fn linked_run(nvcc: &str, [user, other]: [&str; 2], flags: &[&str]) -> Ran {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("user.cu"), user).unwrap();
    std::fs::write(path("other.cu"), other).unwrap();
    succeeds(
        Command::new(nvcc)
            .args(["-rdc=true", "-o"])
            .args([path("program"), path("user.cu"), path("other.cu")])
            .args(flags),
    );
    run_program(&path("program"), &[])
}

#[test]
fn relocatable_device_code_is_linked() {
    let Some(nvcc) = nvcc() else { return };
    let Ran {
        ended,
        refused,
        kernels,
        ..
    } = linked_run(&nvcc, [USER, OTHER], &["-lineinfo"]);
    assert!(ended.success(), "{ended} {refused:?}");
    assert_eq!((kernels.len(), kernels[0].launches), (1, 1));
}

/// Calls a function of another file that reads far out of bounds.
const FAR_USER: &str = r"
extern __device__ int far(int *p);
__global__ void k(int *p) { *p = far(p); }
int main()
{
    int *p;
    cudaMalloc(&p, 4);
    k<<<1, 1>>>(p);
    return cudaDeviceSynchronize() == cudaErrorIllegalAddress ? 0 : 1;
}
";
const FAR_OTHER: &str = "__device__ int far(int *p)\n{\n    return p[100000000];\n}\n";

#[test]
fn errors_in_linked_files_name_the_line_and_the_file() {
    let Some(nvcc) = nvcc() else { return };
    for (flags, begin, end) in [
        (
            &["-lineinfo"][..],
            "other.cu:3 (PTX line ",
            " of linked file 2 (other.cu)): ",
        ),
        (&[][..], ": PTX line ", " of linked file 2: "),
    ] {
        let Ran { ended, refused, .. } = linked_run(&nvcc, [FAR_USER, FAR_OTHER], flags);
        assert!(ended.success(), "{ended} {refused:?}");
        let text = refused.messages.join("\n");
        let line = text
            .split_once(begin)
            .and_then(|(_, rest)| rest.split_once(end));
        let line = line.unwrap_or_else(|| panic!("{text}")).0;
        assert!(line.parse::<u32>().unwrap() < 1000, "{text}");
    }
}
