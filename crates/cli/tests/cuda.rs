//! `profile` and `record` of programs that use CUDA.
//!
//! Needs nvcc (`NVCC` says which).

use std::process::Command;

use crate::common::{Done, Place, has, is_offline_page};

/// Multiplies 4,096 numbers by 3; with an argument, more than there are.
pub const PROGRAM: &str = r#"
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
        .args(["-g", "-lineinfo", "-o"])
        .args([place.path("scale"), place.path("scale.cu")])
        .args(flags);
    Done::of(&mut compile).succeeds();
    Some(place)
}

#[test]
fn profile_writes_run_and_page_and_compares_runs() {
    let Some(place) = compiled(&[]) else { return };
    let profile = |more: &[&str]| {
        let arguments: Vec<&str> = ["profile"].iter().chain(more).copied().collect();
        place.run(&[&arguments[..], &["--", "./scale"]].concat())
    };
    let done = profile(&["--csv", "scale.csv"]).succeeds();
    done.prints(&[
        "no error, 12285",
        "scale.cu:7",
        "Page:    scale.html",
        "Next:    change something, profile again with -o after, then: reuselens gpu diff scale.rlgpu",
    ]);
    // A load and a store of 128 warps, each of four sectors.
    let run = place.json("scale.rlgpu").0;
    let kernel = &run["by_kernel"][0];
    assert_eq!(
        (&kernel["kernel"], &kernel["launches"]),
        (&"scale".into(), &1.into())
    );
    let global = &kernel["global"];
    assert_eq!(
        (&global["requests"], &global["sectors"]),
        (&256.into(), &1024.into())
    );
    assert_eq!(run["by_line"][0]["global"]["sectors"], 1024);
    // Each of 4,096 threads multiplies once. 16 KiB are loaded, and as many stored.
    let operations = serde_json::json!({ "f16": 0, "f32": 4096, "f64": 0, "tensor": 0 });
    assert_eq!(kernel["float_operations"], operations);
    let intensity = serde_json::json!({
        "l2_bytes": 32 << 10,
        "memory_bytes": 16 << 10,
        "per_l2_byte": 0.125,
        "per_memory_byte": 0.25,
    });
    assert_eq!(kernel["intensity"], intensity);
    let loads = &kernel["instruction_mix"]["global load"];
    assert_eq!(*loads, serde_json::json!({ "warps": 128, "threads": 4096 }));
    let launched = &kernel["configurations"][0];
    assert_eq!(
        (&launched["grid"][0], &launched["block"][0]),
        (&16.into(), &256.into())
    );
    // Where the kernel was launched, and its data allocated and copied.
    let kernel = &run["kernels"][0];
    let path = run["call_paths"][kernel["call_path"].as_u64().unwrap() as usize].clone();
    assert_eq!(path[0]["function"], "main");
    assert!(path[0]["place"].as_str().unwrap().ends_with("scale.cu:18"));
    let object = &run["by_object"][0];
    assert_eq!(object["name"], "data (cudaMalloc, scale.cu:15)");
    let copies = run["copies"].as_array().unwrap();
    let directions: Vec<_> = copies.iter().map(|copy| &copy["direction"]).collect();
    assert_eq!(directions, ["host to device", "device to host"]);
    assert_eq!(
        (&copies[0]["to"], &copies[0]["bytes"]),
        (&object["object"], &16384.into())
    );
    assert!(place.text("scale.csv").contains("\r\nkernel,scale,1,"));
    is_offline_page(&place.read("scale.html"));
    profile(&["-q"]).succeeds();
    assert_eq!(place.read("scale.rlgpu"), place.read("scale.2.rlgpu"));
    let same = place
        .run(&["gpu", "diff", "scale.rlgpu", "scale.2.rlgpu"])
        .succeeds();
    assert!(same.prints(&["scale"]).out.contains("±0 %"));
}

/// Kernels of one, two, … blocks.
const LAUNCHES: &str = r#"
template <typename T> __global__ void fill(T *data) { data[blockIdx.x * 32 + threadIdx.x] = 1; }
__global__ void other(int *data) { data[blockIdx.x * 32 + threadIdx.x] += 1; }
int main()
{
    int *data;
    cudaMalloc(&data, 4096);
    for (int i = 1; i <= 4; i++)
        fill<int><<<i, 32>>>(data);
    fill<short><<<5, 32>>>((short *)data);
    other<<<6, 32>>>(data);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"#;

#[test]
fn only_chosen_launches_are_analysed() {
    let nvcc = std::env::var("NVCC").unwrap_or_else(|_| "nvcc".to_owned());
    if !has(&nvcc) {
        return;
    }
    let place = Place::new();
    place.write("launches.cu", LAUNCHES);
    let mut compile = Command::new(nvcc);
    compile.arg("-o");
    compile.args([place.path("launches"), place.path("launches.cu")]);
    Done::of(&mut compile).succeeds();
    // Kernels with the grids of their launches that were analysed, and how many were not.
    let analysed = |run: &str| {
        let run = place.json(run).0;
        let kernels = run["by_kernel"].as_array().unwrap().iter();
        let rows = kernels.flat_map(|kernel| {
            let launches = kernel["configurations"].as_array().unwrap().iter();
            launches.map(|it| format!("{} {}", kernel["kernel"].as_str().unwrap(), it["grid"][0]))
        });
        let mut rows: Vec<String> = rows.collect();
        rows.sort();
        (rows, run["unanalysed_launches"].as_u64().unwrap())
    };
    let cases: [(&[&str], &[&str], u64); 3] = [
        (
            &["--kernel", "fill<int>", "--launches", "2,4-9"],
            &["fill<int> 2", "fill<int> 4"],
            4,
        ),
        (
            &["--launches", "1"],
            &["fill<int> 1", "fill<short> 5", "other 6"],
            3,
        ),
        (
            &["--kernel", "short", "--kernel", "other"],
            &["fill<short> 5", "other 6"],
            4,
        ),
    ];
    for (options, rows, left_out) in cases {
        let arguments = [&["profile", "-q", "-f"], options, &["--", "./launches"]].concat();
        place.run(&arguments).succeeds();
        let expected: Vec<String> = rows.iter().map(|&row| row.to_owned()).collect();
        assert_eq!(
            analysed("launches.rlgpu"),
            (expected.clone(), left_out),
            "{options:?}"
        );
        let all = ["record", "-q", "-f", "--", "./launches"];
        place.run(&all).succeeds();
        let report = [
            "gpu",
            "report",
            "-q",
            "-f",
            "-o",
            "stream",
            "launches.rlwarp",
        ];
        place.run(&[&report, options].concat()).succeeds();
        assert_eq!(
            analysed("stream.rlgpu"),
            (expected, left_out),
            "{options:?}"
        );
    }
    let arguments = ["profile", "--kernel", "no", "-f", "--", "./launches"];
    let none = place.run(&arguments).succeeds();
    none.prints(&["no launch was analysed"]).says(&[
        "no kernel with 'no' in its name was launched; there were ",
        "fill<int> (4 launches)",
    ]);
    let record = ["record", "-f", "--kernel", "other", "--", "./launches"];
    let recorded = place.run(&record).succeeds();
    recorded.prints(&["18 memory instructions of warps"]);
    let wrong = ["profile", "--launches", "0", "--", "./launches"];
    place
        .run(&wrong)
        .fails(2)
        .says(&["'0' is no number of a launch"]);
}

#[test]
fn exports_and_files_of_other_profiles_are_refused() {
    let Some(place) = compiled(&[]) else { return };
    let png = place
        .run(&["profile", "--png", "a.png", "--", "./scale"])
        .fails(2);
    png.says(&[
        "--png exports a profile",
        "reuselens report scale.host.rlprof --png FILE",
    ]);
    place
        .run(&["profile", "-q", "-o", "run", "--", "./scale"])
        .succeeds();
    let report = place.run(&["report", "run.rlgpu"]).fails(1);
    report.says(&["is a run of a CUDA program", "reuselens gpu diff run.rlgpu"]);
    place.write("other", "text");
    let diff = place.run(&["gpu", "diff", "run.rlgpu", "other"]).fails(1);
    diff.says(&["other is no run of a CUDA program"]);
    let cut = &place.text("run.rlgpu")[..2000];
    place.write("cut.rlgpu", cut);
    let diff = place
        .run(&["gpu", "diff", "run.rlgpu", "cut.rlgpu"])
        .fails(1);
    diff.says(&["cut.rlgpu", "no run of a GPU program"]);
}

#[test]
fn accesses_of_kernels_are_kept_and_analysed() {
    let Some(place) = compiled(&[]) else { return };
    // A load and a store of 128 warps, each of 128 bytes.
    let recorded = place.run(&["record", "--", "./scale"]).succeeds();
    recorded.prints(&[
        "scale.rlwarp: 512 memory instructions of warps",
        "scale  ",
        "4.0",
        "Next: reuselens gpu report scale.rlwarp",
    ]);
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
    let arguments = ["profile", "--", "./scale", "far"];
    let done = place.run(&arguments).ends_with(1);
    // The object is the one that the access missed, with the line that allocates it.
    let done = done.prints(&[
        "an illegal memory access was encountered",
        "Stopped and refused kernels",
        "called by main (",
        "scale.cu:18)",
        "nearest object: data (cudaMalloc, scale.cu:15)",
    ]);
    assert!(place.text("scale.html").contains("nearest object: data"));
    done.says(&["block (16, 0, 0)", "scale.cu:7", "out of bounds"]);
}

/// A kernel that cannot run here, and launches that do not fit.
const REFUSED: &str = r#"
#include <cstdio>
__global__ void strange(int *out) {
    asm volatile("frob.s32 0;");
    out[0] = 1;
}
__global__ void plain(int *out) { out[threadIdx.x] = 2; }
int main() {
    int *out;
    cudaMalloc(&out, 4096);
    for (int i = 0; i < 2; i++)
        strange<<<1, 1>>>(out);
    for (int i = 0; i < 3; i++)
        plain<<<1, 2000>>>(out);
    plain<<<1, 32, 1 << 17>>>(out);
    plain<<<1, 32>>>(out);
    cudaDeviceSynchronize();
}
"#;

#[test]
fn launches_that_were_refused_are_in_the_report() {
    let nvcc = std::env::var("NVCC").unwrap_or_else(|_| "nvcc".to_owned());
    if !has(&nvcc) {
        return;
    }
    let place = Place::new();
    place.write("refused.cu", REFUSED);
    // PTX alone: what is strange in it is not looked at.
    let mut compile = Command::new(nvcc);
    compile
        .args([
            "-g",
            "-lineinfo",
            "-gencode",
            "arch=compute_80,code=compute_80",
            "-o",
        ])
        .args([place.path("refused"), place.path("refused.cu")]);
    Done::of(&mut compile).succeeds();
    let done = place.run(&["profile", "--", "./refused"]).succeeds();
    done.prints(&["Stopped and refused kernels", "refused.cu:4", "3 times"]);
    let run = place.json("refused.rlgpu").0;
    let faults = run["faults"].as_array().unwrap();
    let found = |part: &str, kernel: &str, count: u64, line: &str| {
        let has = |fault: &&serde_json::Value| fault["message"].as_str().unwrap().contains(part);
        let fault = faults.iter().find(has);
        let fault = fault.unwrap_or_else(|| panic!("{part}: {faults:#?}"));
        assert!(
            fault["kernel"].as_str().unwrap().contains(kernel),
            "{fault}"
        );
        assert_eq!(
            (&fault["refused"], &fault["count"]),
            (&true.into(), &count.into())
        );
        assert!(fault["facts"].to_string().contains(line), "{fault}");
    };
    found(
        "kernel strange(int*) is refused: ",
        "strange",
        2,
        "refused.cu:12",
    );
    found(
        "a block of 2000 x 1 x 1 threads",
        "plain",
        3,
        "refused.cu:14",
    );
    found(
        "adds 131072 bytes of shared memory",
        "plain",
        1,
        "refused.cu:15",
    );
    assert_eq!(faults.len(), 3, "{faults:#?}");
    let page = place.text("refused.html");
    assert!(page.contains("refused.cu:4 (PTX line") && page.contains("2000 x 1 x 1"));
}

#[test]
fn kernel_that_goes_on_after_bad_accesses_has_a_finding_for_each_line() {
    let Some(place) = compiled(&[]) else { return };
    let bad = ["--on-fault", "continue", "--", "./scale", "more"];
    let done = place.run(&[&["profile"][..], &bad].concat()).succeeds();
    // The load and the store of 4,096 lanes are in one line.
    done.prints(&[
        "no error, 12285",
        "1. Out-of-bounds or misaligned access: ",
        "accesses of lanes left out",
        "scale.cu:7 in scale",
        "0 bytes behind the end of",
    ]);
    let run = place.json("scale.rlgpu").0;
    let findings = run["findings"].as_array().unwrap();
    let bad_findings = findings
        .iter()
        .filter(|it| it["rule"] == "out-of-bounds-access");
    let lanes: Vec<u64> = bad_findings
        .map(|it| it["cost"]["amount"].as_u64().unwrap())
        .collect();
    assert_eq!(lanes, [2 * 4096]);
    // Only what is there is counted: a load and a store of 128 warps.
    assert_eq!(run["by_kernel"][0]["global"]["requests"], 256);
    let page = String::from_utf8(place.read("scale.html")).unwrap();
    assert!(
        page.contains("Out-of-bounds or misaligned access")
            && page.contains("0 bytes behind the end of")
    );
    let recorded = place.run(&[&["record"][..], &bad].concat()).succeeds();
    recorded.says(&[
        "scale.cu:7",
        "is out of bounds",
        "the first of 4096 that were left out",
    ]);
    // In a launch that is not analysed too.
    let unseen = [&["profile", "-f", "--launches", "2"][..], &bad].concat();
    place.run(&unseen).succeeds().says(&[
        "8,192 accesses of lanes were left out",
        "in launches that were not analysed",
    ]);
    let stops = place.run(&[
        "profile",
        "-f",
        "--on-fault",
        "stop",
        "--",
        "./scale",
        "more",
    ]);
    stops
        .ends_with(1)
        .prints(&["an illegal memory access was encountered"]);
}

#[test]
fn what_cannot_be_done_is_refused() {
    let Some(place) = compiled(&["-Xlinker", "-s"]) else {
        return;
    };
    let done = place.run(&["profile", "--", "./scale"]).fails(1);
    done.says(&["its symbols stripped", "nvcc -cudart shared"]);
}

#[test]
fn options_without_effect_are_refused() {
    let Some(place) = compiled(&[]) else { return };
    let kernels = place.run(&["profile", "--kind", "loads", "--", "./scale"]);
    kernels
        .fails(2)
        .says(&["--kind is about accesses of the host's code", "add --host"]);
    let host = place.run(&["profile", "--gpu-model", "kepler", "--", "true"]);
    host.fails(2)
        .says(&["--gpu-model is for programs that use CUDA, and true is not known to"]);
}

/// Asks for the driver by its name, as packages do, and launches a kernel. The import tells that it
/// is for CUDA; the package itself may be missing.
const PYTHON: &str = r#"
try: import cupy
except ImportError: pass
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
def check(result):
    assert result == 0, result
ptx = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry store(.param .u64 p) {
.reg .b64 %d<2>; ld.param.u64 %d1, [p]; st.u32 [%d1], 7; ret; }"""
context, module, kernel = (ctypes.c_void_p() for _ in range(3))
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), ptx))
check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, b"store"))
def room():
    place = ctypes.c_uint64()
    check(cuda.cuMemAlloc_v2(ctypes.byref(place), 4))
    return place
values = room()
arguments = (ctypes.c_void_p * 1)(ctypes.addressof(values))
check(cuda.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments, None))
value = ctypes.c_int()
check(cuda.cuMemcpyDtoH_v2(ctypes.byref(value), values, 4))
print("stored", value.value)
"#;

#[test]
fn python_that_imports_cuda_runs_and_is_reported_by_its_own_lines() {
    if !has("python3") {
        return;
    }
    let place = Place::new();
    place.write("x.py", PYTHON);
    let done = place.run(&["profile", "-o", "x", "--", "python3", "x.py"]);
    let done = done.succeeds().prints(&["stored 7"]);
    done.says(&["x.py:2 imports cupy: kernels run without a GPU"]);
    let run = place.json("x.rlgpu").0;
    let object = &run["objects"][1]["name"];
    assert!(object.as_str().unwrap().contains("x.py:2"), "{object}");
    let calls: Vec<&str> = run["call_paths"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|path| path.as_array()?.last()?["function"].as_str())
        .collect();
    assert_eq!(calls, ["room", "<module>", "<module>"], "{run:#?}");
    // What the import says can be overruled, in both directions.
    place.write("y.py", PYTHON.replace("import cupy", "import cupi"));
    let forced = place.run(&["profile", "-f", "-q", "--cuda", "--", "python3", "y.py"]);
    forced.succeeds().prints(&["stored 7"]);
    assert!(
        place.files().contains(&"y.html".to_owned()),
        "{:?}",
        place.files()
    );
    let host = [
        "profile",
        "--cuda=never",
        "--",
        "sh",
        "-c",
        "true python3 x.py",
    ];
    place
        .run(&host)
        .succeeds()
        .prints(&["code rewritten while it ran"]);
}

/// A block of the heap that is filled in one line and copied to the device.
const HOST_PROGRAM: &str = r#"
#include <cstdio>
#include <cstdlib>
__global__ void scale(float *data)
{
    data[blockIdx.x * blockDim.x + threadIdx.x] *= 3;
}
static float bias[4096];
int main()
{
    const int n = 1 << 16;
    float *weights = (float *)malloc(n * sizeof *weights), *d_weights, *d_bias;
    for (int i = 0; i < n; i++)
        weights[i] = i;
    for (int i = 0; i < 4096; i++)
        bias[i] = i;
    cudaMalloc(&d_weights, n * sizeof *weights);
    cudaMalloc(&d_bias, sizeof bias);
    cudaMemcpy(d_weights, weights, n * sizeof *weights, cudaMemcpyHostToDevice);
    cudaMemcpy(d_bias, bias, sizeof bias, cudaMemcpyHostToDevice);
    scale<<<n / 256, 256>>>(d_weights);
    cudaMemcpy(weights, d_weights, n * sizeof *weights, cudaMemcpyDeviceToHost);
    printf("%g\n", weights[n - 1]);
    free(weights);
}
"#;

#[test]
fn accesses_of_the_host_are_in_the_same_report() {
    let Some(place) = compiled(&[]) else { return };
    place.write("host.cu", HOST_PROGRAM);
    let nvcc = std::env::var("NVCC").unwrap_or_else(|_| "nvcc".to_owned());
    let mut compile = Command::new(nvcc);
    compile
        .args(["-g", "-lineinfo", "-o"])
        .args([place.path("host"), place.path("host.cu")]);
    Done::of(&mut compile).succeeds();
    let done = place.run(&["profile", "--host", "--cache", "100K", "--", "./host"]);
    done.succeeds().prints(&[
        "196605",
        "Data objects of the host by misses",
        "Source lines of the host by misses",
        "Host:    host.host.rlprof",
    ]);
    let run = place.json("host.rlgpu").0;
    let host = &run["host"];
    assert_eq!(host["cache"], "100 KiB");
    let object = |name: &str, device: &str| {
        let objects = host["by_object"].as_array().unwrap();
        let is_it = |it: &&serde_json::Value| it["object"].as_str().unwrap().starts_with(name);
        let object = objects
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("no {name}"));
        assert!(
            object["name"].as_str().unwrap().starts_with(&device[2..]),
            "{object}"
        );
        let on_device = object["device"][0]["name"].as_str().unwrap_or_default();
        assert!(on_device.starts_with(device), "{object}");
        object["misses"].as_u64().unwrap()
    };
    // Neither the stand-in for CUDA's library nor the loader is in the tables.
    let sum = |by: &str, of: &str| -> u64 {
        let rows = host[by].as_array().unwrap().iter();
        rows.map(|row| row[of].as_u64().unwrap()).sum()
    };
    for by in ["by_line", "by_object"] {
        let names = host[by].as_array().unwrap().iter();
        let mut names = names.map(|row| row.get("line").unwrap_or(&row["object"]).to_string());
        let own = |name: String| name.contains("reuselens-cuda") || name.contains("ld-linux");
        assert!(!names.any(own), "{}", host[by]);
    }
    let left_out = host["lines_left_out"]["accesses"].as_u64().unwrap();
    assert!(left_out > 0);
    assert!(sum("by_line", "accesses") + left_out <= host["accesses"].as_u64().unwrap());
    // 256 KiB are filled line by line, and do not fit the cache; 16 KiB are filled.
    assert!(object("heap from main (host.cu:12)", "d_weights") >= 4096);
    assert!(object("bias", "d_bias") >= 256);
    is_offline_page(place.text("host.html").as_bytes());
    is_offline_page(place.text("host.host.html").as_bytes());
    place
        .run(&["report", "host.host.rlprof", "--by", "line", "--top", "30"])
        .succeeds()
        .prints(&["host.cu:14"]);
}

/// `inner` is in `helper`, and `helper` in the kernel, by the compiler.
const INLINED: &str = r#"
__device__ inline float inner(const float *a, int i)
{
    return a[i * 33 % 4096];
}
__device__ float helper(const float *a, int i)
{
    return inner(a, i) + 1;
}
__global__ void expand(const float *a, float *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = helper(a, i);
}
int main()
{
    float *a, *b;
    cudaMalloc(&a, 4096 * 4);
    cudaMalloc(&b, 4096 * 4);
    expand<<<16, 256>>>(a, b);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"#;

#[test]
fn inlined_device_functions_are_in_call_paths_and_streams_give_the_same_report() {
    let nvcc = std::env::var("NVCC").unwrap_or_else(|_| "nvcc".to_owned());
    if !has(&nvcc) {
        return;
    }
    let place = Place::new();
    place.write("deep.cu", INLINED);
    let mut compile = Command::new(nvcc);
    compile.args(["-g", "-lineinfo", "-o"]);
    compile.args([place.path("deep"), place.path("deep.cu")]);
    Done::of(&mut compile).succeeds();
    let profiled = place.run(&["profile", "--", "./deep"]).succeeds();
    let path =
        "expand<<<>>> (deep.cu:13) › helper (deep.cu:8, inlined) › inner (deep.cu:4, inlined)";
    let words = profiled
        .out
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        words.contains(&format!("main (deep.cu:20) › {path}")),
        "{words}"
    );
    let run = place.json("deep.rlgpu").0;
    let lines = run["by_line"].clone();
    assert_eq!(lines[0]["paths"][0], "expand › helper › inner");
    // The same lines from the records alone; branches are not in them.
    place.run(&["record", "-q", "--", "./deep"]).succeeds();
    let report = place.run(&["gpu", "report", "-o", "stream", "deep.rlwarp"]);
    report.succeeds().prints(&[
        "deep.cu:4",
        "inner in expand",
        "Uncoalesced access",
        "stream.html",
    ]);
    let stream = place.json("stream.rlgpu").0;
    for key in ["line", "paths", "global", "l1", "l2", "reuse"] {
        assert_eq!(stream["by_line"][0][key], lines[0][key], "{key}");
    }
    is_offline_page(&place.read("stream.html"));
}
