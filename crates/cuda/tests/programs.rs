//! Programs of nvcc run without a GPU: linked with the shared runtime and with the static one.
//!
//! Needs nvcc of CUDA 13 (`NVCC` says which), and for some that of CUDA 12 (`NVCC12`).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use reuselens_cuda::{CudaUse, Interpreter, KernelCounts, Refused, cuda_use, run};
use reuselens_ptx::{OnFault, Options};
use tempfile::TempDir;

use crate::common::{Ran, compile, nvcc, nvcc_12, programs, run_program, run_with};

const SAXPY: &str = r#"
#include <cstdio>
__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
int main(int argc, char **argv)
{
    const int n = 1000;
    float host[n], *x, *y;
    for (int i = 0; i < n; i++)
        host[i] = i;
    cudaMalloc(&x, sizeof host);
    cudaMalloc(&y, sizeof host);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(y, 0, sizeof host);
    saxpy<<<4, 256>>>(argc > 1 ? 1 << 20 : n, 2, x, y);
    if (cudaError_t error = cudaDeviceSynchronize())
        return printf("%s\n", cudaGetErrorString(error)), (int)error & 0xff;
    cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        if (host[i] != 2 * i)
            return 1;
    return 0;
}
"#;

fn saxpy(folder: &TempDir) -> PathBuf {
    let source = folder.path().join("saxpy.cu");
    std::fs::write(&source, SAXPY).unwrap();
    source
}

#[test]
fn both_runtimes_and_all_packings_give_right_results() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let source = saxpy(&folder);
    let program = folder.path().join("saxpy");
    let ways: [(&[&str], CudaUse); 4] = [
        (&["-cudart", "shared"], CudaUse::Shared),
        (&[], CudaUse::Static),
        (&["--compress-mode=speed"], CudaUse::Static),
        (&["--compress-mode=none"], CudaUse::Static),
    ];
    for (flags, expected) in ways {
        compile(&nvcc, &source, &program, flags);
        assert_eq!(cuda_use(&program), Some(expected), "{flags:?}");
        let Ran {
            ended,
            refused,
            kernels,
            ..
        } = run_program(&program, &[]);
        assert!(ended.success(), "{flags:?}: {ended} {refused:?}");
        let nothing = Refused {
            was_asked: true,
            ..Refused::default()
        };
        assert_eq!(refused, nothing, "{flags:?}");
        assert_eq!((kernels.len(), kernels[0].launches), (1, 1));
        // 1,000 threads load two words each and store one: 32 warps, the last with 8 lanes.
        let memory = kernels[0].memory;
        assert_eq!((memory.requests, memory.accesses), (3 * 32, 3 * 1000));
        assert_eq!(memory.sectors, 3 * 4000 / 32);
    }
}

#[test]
fn access_out_of_bounds_is_an_error_of_the_next_call_and_names_the_line() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("saxpy");
    compile(&nvcc, &saxpy(&folder), &program, &[]);
    let Ran { ended, refused, .. } = run_program(&program, &["far"]);
    assert_eq!(ended.code(), Some(700 & 0xff), "{refused:?}");
    let [message] = &refused.messages[..] else {
        panic!("{refused:?}");
    };
    for part in [
        "kernel saxpy",
        "block (3, 0, 0)",
        "thread (232, 0, 0)",
        "saxpy.cu:7",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn program_whose_kernel_goes_on_after_bad_accesses_ends_well() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("saxpy");
    compile(&nvcc, &saxpy(&folder), &program, &[]);
    let options = Options {
        on_fault: OnFault::Continue,
        ..Options::default()
    };
    let command = [program.into_os_string(), "far".into()];
    let Ran {
        ended,
        refused,
        kernels,
        ..
    } = run_with(&command, options);
    assert!(
        ended.success() && refused.messages.is_empty(),
        "{refused:?}"
    );
    // Two loads and a store of 1,000 of the 1,024 threads.
    assert_eq!((kernels[0].launches, kernels[0].memory.accesses), (1, 3000));
}

#[test]
fn stripped_programs_and_programs_without_cuda_are_recognised() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("saxpy");
    compile(&nvcc, &saxpy(&folder), &program, &["-Xlinker", "-s"]);
    assert_eq!(cuda_use(&program), Some(CudaUse::Stripped));
    assert_eq!(cuda_use(Path::new("/bin/true")), None);
    assert_eq!(cuda_use(&saxpy(&folder)), None);
}

#[test]
fn machine_code_alone_is_refused_with_the_flag_that_adds_ptx() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("saxpy");
    let flags = ["-gencode", "arch=compute_80,code=sm_80"];
    compile(&nvcc, &saxpy(&folder), &program, &flags);
    let Ran {
        ended,
        refused,
        kernels,
        ..
    } = run_program(&program, &[]);
    assert!(!ended.success() && kernels.is_empty());
    let text = refused.messages.join("\n");
    assert!(
        text.contains("-gencode arch=compute_80,code=compute_80"),
        "{text}"
    );
}

/// Two threads with buffers of their own that kernels share with the program.
const TWO_THREADS: &str = r#"
#include <cstdio>
#include <thread>
__global__ void add(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        data[i] += 1;
}
static int wrong;
static void work()
{
    const int n = 5000;
    int *data;
    if (cudaMallocManaged(&data, n * sizeof *data))
        wrong = 1;
    for (int i = 0; i < n; i++)
        data[i] = i;
    for (int round = 0; round < 20; round++) {
        add<<<(n + 255) / 256, 256>>>(data, n);
        cudaDeviceSynchronize();
        data[round] += 7;
    }
    for (int i = 0; i < n; i++)
        if (data[i] != i + 20 + (i < 20 ? 7 : 0))
            wrong = 1;
    cudaFree(data);
}
int main()
{
    std::thread one(work), two(work);
    one.join();
    two.join();
    return wrong;
}
"#;

#[test]
fn threads_keep_what_they_write_while_kernels_of_others_run() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let (source, program) = (folder.path().join("two.cu"), folder.path().join("two"));
    std::fs::write(&source, TWO_THREADS).unwrap();
    compile(&nvcc, &source, &program, &[]);
    let Ran {
        ended,
        refused,
        kernels,
        ..
    } = run_program(&program, &[]);
    assert!(ended.success(), "{ended} {refused:?}");
    assert_eq!(kernels[0].launches, 40);
}

/// A kernel that never ends, in a program that is killed.
#[test]
fn kernel_of_a_program_that_has_ended_is_stopped() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let (source, program) = (
        folder.path().join("endless.cu"),
        folder.path().join("endless"),
    );
    let text = "__global__ void spin(volatile int *p) { while (*p == 0) {} }\n\
        int main() { int *p; cudaMalloc(&p, 4); cudaMemset(p, 0, 4); spin<<<1, 32>>>(p); }\n";
    std::fs::write(&source, text).unwrap();
    compile(&nvcc, &source, &program, &[]);
    let device = Interpreter::new(1 << 20, Options::default(), KernelCounts::default());
    let mut running = run(&[OsString::from(&program)], device, true).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    while running.try_wait().unwrap().is_none() {
        running.signal(9);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let (refused, ..) = running.finish();
    assert_eq!(refused.missing.len(), 0, "{refused:?}");
}

/// The programs in `programs/cuda/api` check themselves, each a part of the interface.
#[test]
fn programs_for_each_part_of_the_interface_find_what_cuda_documents() {
    if let Some(nvcc) = nvcc() {
        interface_is_as_documented(&nvcc, &[], &PARTS);
    }
}

/// Parts that differ between CUDA 12 and 13.
#[test]
fn programs_of_the_shared_runtime_have_its_version() {
    if let Some(nvcc) = nvcc() {
        let parts = ["graph_nodes", "graphs", "properties"];
        interface_is_as_documented(&nvcc, &["-cudart", "shared"], &parts);
    }
}

#[test]
fn programs_of_cuda_12_find_what_it_documents() {
    let Some(nvcc) = nvcc_12() else { return };
    interface_is_as_documented(&nvcc, &["-cudart", "shared"], &PARTS);
    interface_is_as_documented(&nvcc, &[], &PARTS);
}

/// All of them.
const PARTS: [&str; 31] = [
    "assert",
    "async",
    "atomics",
    "cooperative",
    "copies",
    "cubemaps",
    "errors",
    "events",
    "extended",
    "fork",
    "graph_nodes",
    "graphs",
    "halves",
    "hostile",
    "illegal",
    "malloc",
    "managed",
    "memset",
    "occupancy",
    "pinned",
    "pools",
    "printf",
    "properties",
    "shared",
    "streams",
    "symbols",
    "templates",
    "textures",
    "threads",
    "traps",
    "warps",
];

fn interface_is_as_documented(nvcc: &str, flags: &[&str], names: &[&str]) {
    let folder = TempDir::new().unwrap();
    let root = programs().join("api");
    let mut wrong = Vec::new();
    for name in names {
        let program = folder.path().join(name);
        let source = root.join(format!("{name}.cu"));
        let flags = [flags, &["-I", root.to_str().unwrap()]].concat();
        compile(nvcc, &source, &program, &flags);
        let Ran { ended, refused, .. } = run_program(&program, &[]);
        if !ended.success() {
            wrong.push(format!("{name}: {ended} {refused:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A table of functions, objects with virtual functions that another kernel made, a pointer that
/// the program passes on, and a recursion for which the program asks for a larger stack.
const CALLS: &str = r#"
#include <cstdio>
typedef int (*Function)(int);
__device__ int add(int x) { return x + 1; }
__device__ int twice(int x) { return x * 2; }
__device__ Function table[2] = {add, twice};
__global__ void by_table(int *out) { out[threadIdx.x] = table[threadIdx.x & 1](threadIdx.x); }
__global__ void given(Function function, int *out) { out[threadIdx.x] = function(threadIdx.x); }
struct Op {
    int own;
    __device__ Op(int own) : own(own) {}
    __device__ virtual int apply(int x) const = 0;
    __device__ virtual ~Op() {}
};
struct Add : Op {
    __device__ Add(int own) : Op(own) {}
    __device__ int apply(int x) const override { return x + own; }
};
struct Scale : Op {
    __device__ Scale(int own) : Op(own) {}
    __device__ int apply(int x) const override { return x * own; }
};
__global__ void make(Op **ops)
{
    int i = threadIdx.x;
    if (i % 3)
        ops[i] = new Add(i);
    else
        ops[i] = new Scale(i);
}
__global__ void apply(Op **ops, int *out)
{
    out[threadIdx.x] = ops[threadIdx.x]->apply(7);
    delete ops[threadIdx.x];
}
// No compiler makes a loop of this.
__device__ int sum(const int *values, int n)
{
    return n == 0 ? 0 : (sum(values, n - 1) ^ values[n & 31]) + 1;
}
__global__ void recursion(const int *values, int *out, int n) { out[threadIdx.x] = sum(values, n); }
static int host[32], *out;
template <class Expected> static int wrong(Expected expected)
{
    if (cudaError_t error = cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost))
        return printf("%s\n", cudaGetErrorName(error));
    for (int i = 0; i < 32; i++)
        if (host[i] != expected(i))
            return printf("%d: %d\n", i, host[i]);
    return 0;
}
int main()
{
    int *values;
    Op **ops;
    cudaMalloc(&out, sizeof host);
    cudaMalloc(&ops, 32 * sizeof *ops);
    cudaMalloc(&values, sizeof host);
    by_table<<<1, 32>>>(out);
    if (wrong([](int i) { return i & 1 ? 2 * i : i + 1; }))
        return 1;
    Function function;
    cudaMemcpyFromSymbol(&function, table, sizeof function, sizeof function);
    given<<<1, 32>>>(function, out);
    if (wrong([](int i) { return 2 * i; }))
        return 2;
    make<<<1, 32>>>(ops);
    apply<<<1, 32>>>(ops, out);
    if (wrong([](int i) { return i % 3 ? 7 + i : 7 * i; }))
        return 3;
    for (int i = 0; i < 32; i++)
        host[i] = 1;
    cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice);
    cudaDeviceSetLimit(cudaLimitStackSize, 1 << 18);
    recursion<<<1, 32>>>(values, out, 3000);
    if (wrong([](int) { return 6000; }))
        return 4;
    recursion<<<1, 32>>>(values, out, 300000);
    return cudaDeviceSynchronize() == cudaErrorHardwareStackError ? 0 : 5;
}
"#;

#[test]
fn calls_through_pointers_and_recursion_run_and_a_full_stack_is_an_error() {
    let Some(nvcc) = nvcc() else { return };
    let folder = TempDir::new().unwrap();
    let (source, program) = (folder.path().join("calls.cu"), folder.path().join("calls"));
    std::fs::write(&source, CALLS).unwrap();
    compile(&nvcc, &source, &program, &[]);
    let Ran { ended, refused, .. } = run_program(&program, &[]);
    assert!(ended.success(), "{ended} {refused:?}");
    let [message] = &refused.messages[..] else {
        panic!("{refused:?}");
    };
    for part in [
        "the call of sum(int const*, int)",
        "262144 bytes of the thread's stack",
    ] {
        assert!(message.contains(part), "{message}");
    }
}
