//! What `reuselens nvcc` gives to clang: functions of mathematics, compared with the host's, and
//! constants and structures, compared with CUDA's own where they are installed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use reuselens_cuda::nvcc::{ClangTools, NvccCall, NvccStep, plan};
use reuselens_ptx::{Argument, Device, Ignore, Options, PtxModule};
use tempfile::TempDir;

use crate::common::{folder_of, nvcc};

/// Our headers, in a folder.
fn headers() -> TempDir {
    let folder = TempDir::new().unwrap();
    reuselens_ptx::plan::write_cuda_headers(folder.path()).unwrap();
    folder
}

/// Compiles a program of tests/math.cpp, and returns what it prints.
fn run(compiler: &str, headers: &Path) -> String {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("math");
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/math.cpp");
    let done = Command::new(compiler)
        .args(["-std=c++17", "-O2", "-mfma", "-ffp-contract=fast", "-I"])
        .args([headers, &source])
        .arg("-o")
        .args([&program, Path::new("-lstdc++"), Path::new("-lm")])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{errors}");
    let done = Command::new(&program).output().unwrap();
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[test]
fn functions_of_mathematics_are_within_their_stated_errors() {
    if !reuselens_testing::has("clang-19") {
        return;
    }
    let printed = run("clang-19", headers().path());
    let wrong: Vec<&str> = printed
        .lines()
        .filter(|line| line.contains("WRONG"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(printed.lines().count() >= 60, "{printed}");
}

/// Sources that have to compile by clang for both sides: all that they name is there.
#[test]
fn names_of_cuda_are_there_for_both_sides() {
    if !reuselens_testing::has("clang-19") {
        return;
    }
    let (headers, folder) = (headers(), TempDir::new().unwrap());
    let source = folder.path().join("names.cu");
    std::fs::write(&source, include_str!("names.cu")).unwrap();
    for (side, architecture) in [("device", 90), ("device", 70), ("host", 90)] {
        let done = Command::new("clang-19")
            .args(["-x", "cuda", "-nocudainc", "-nocudalib", "-S", "-Werror"])
            .arg("-Wno-unknown-cuda-version")
            .args([
                "-Xclang",
                reuselens_ptx::plan::SDK_VERSION,
                "-o",
                "/dev/null",
            ])
            .args(["-include", reuselens_ptx::plan::FORCED_HEADER, "-isystem"])
            .arg(headers.path())
            .arg(format!("--cuda-{side}-only"))
            .arg(format!("--cuda-gpu-arch=sm_{architecture}"))
            .args((side == "device").then_some("--cuda-feature=+ptx78"))
            .arg(&source)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{side} {architecture}: {errors}");
    }
}

/// The leader of the lanes that are there reserves room for all, as NVIDIA's samples do. For the
/// other lanes the argument of the shuffle is undefined.
const AGGREGATED: &str = r#"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int by_group(int *counter)
{
    cg::coalesced_group group = cg::coalesced_threads();
    int start;
    if (group.thread_rank() == 0)
        start = atomicAdd(counter, group.size());
    return group.shfl(start, 0) + group.thread_rank();
}
__device__ int by_mask(int *counter)
{
    unsigned active = __activemask();
    int leader = __ffs(active) - 1, lane = threadIdx.x % 32, start;
    if (lane == leader)
        start = atomicAdd(counter, __popc(active));
    return __shfl_sync(active, start, leader) + __popc(active & ((1u << lane) - 1));
}
extern "C" __global__ void filter(int *to, int *counters)
{
    if (threadIdx.x % 3 == 0)
        to[by_group(counters)] = threadIdx.x;
    if (threadIdx.x % 5 != 0)
        to[1024 + by_mask(counters + 1)] = threadIdx.x;
}
"#;

/// Compiles the device's side of a source by clang, as `reuselens nvcc` does.
fn device_side(source: &str) -> String {
    let (headers, folder) = (headers(), TempDir::new().unwrap());
    let (from, to) = (folder.path().join("k.cu"), folder.path().join("k.ptx"));
    std::fs::write(&from, source).unwrap();
    let line = format!(
        "-arch=sm_80 -ptx -std=c++17 {} -o {}",
        from.display(),
        to.display()
    );
    let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
    let tools = ClangTools {
        clang: "clang-19".into(),
        headers: headers.path().to_owned(),
        libraries: folder.path().to_owned(),
        temporary: folder.path().to_owned(),
        overlay: None,
    };
    for step in plan(&NvccCall::read(&words).unwrap(), &tools) {
        match step {
            NvccStep::Run(words) => {
                let done = Command::new(&words[0]).args(&words[1..]).output().unwrap();
                let errors = String::from_utf8_lossy(&done.stderr);
                assert!(done.status.success(), "{words:?}: {errors}");
            }
            NvccStep::JoinCopies(ir) => {
                let text = std::fs::read_to_string(&ir).unwrap();
                std::fs::write(&ir, reuselens_ptx::plan::copies_as_vectors(&text)).unwrap();
            }
            NvccStep::Bypass { .. } | NvccStep::Pack { .. } => {}
        }
    }
    std::fs::read_to_string(&to).unwrap()
}

/// Copies of aligned structures, of one vector and of two, between memories and within one.
const COPIES: &str = r#"
struct __align__(16) Four { float x, y, z, w; };
struct __align__(16) Wide { double a, b, c, d; };
__global__ void one(Four *to, const Four *from) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void two(Wide *to, const Wide *from) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void float_vectors(float4 *to, const float4 *from) { to[threadIdx.x] = from[threadIdx.x]; }
__global__ void through_shared(float4 *to, const float4 *from)
{
    __shared__ float4 room[64];
    room[threadIdx.x] = from[threadIdx.x];
    __syncthreads();
    to[threadIdx.x] = room[threadIdx.x ^ 1];
}
"#;

#[test]
fn clang_copies_aligned_structures_by_vectors() {
    if !reuselens_testing::has("clang-19") {
        return;
    }
    let ptx = device_side(COPIES);
    let kernels: Vec<&str> = ptx.split(".entry ").skip(1).collect();
    assert_eq!(kernels.len(), 4);
    for (kernel, [loads, stores]) in kernels.iter().zip([[1, 1], [2, 2], [1, 1], [2, 2]]) {
        let count = |begin: &str| {
            let words = kernel.split_whitespace();
            words
                .filter(|word| word.starts_with(begin))
                .collect::<Vec<_>>()
        };
        for (begins, expected) in [
            (["ld.global", "ld.shared"], loads),
            (["st.global", "st.shared"], stores),
        ] {
            let found: Vec<&str> = begins.iter().flat_map(|begin| count(begin)).collect();
            assert_eq!(found.len(), expected, "{kernel}");
            assert!(
                found.iter().all(|word| word.contains(".v4.u32")),
                "{found:?}"
            );
        }
    }
}

#[test]
fn clang_leaves_the_branch_before_a_shuffle_of_the_leaders_value() {
    if !reuselens_testing::has("clang-19") {
        return;
    }
    let mut device = Device::new();
    let module = PtxModule::parse(&device_side(AGGREGATED)).unwrap();
    let module = device.load(module).unwrap();
    let options = Options::default();
    let kernel = device.kernel(&module, "filter", &options).unwrap();
    let [to, counters] = [8192, 8].map(|bytes| {
        let address = device.allocate("buffer", bytes).unwrap();
        device.write(address, &vec![0; bytes as usize]).unwrap();
        address
    });
    let arguments = [to, counters].map(Argument::Pointer);
    let launch = kernel
        .launch([1, 1, 1], [256, 1, 1], 0, &arguments)
        .unwrap();
    device
        .launch(&kernel, &launch, &options, &mut Ignore)
        .unwrap();
    let words = |address, count| -> Vec<u32> {
        let bytes = device.read(address, 4 * count).unwrap();
        let word = |word: &[u8]| u32::from_le_bytes(word.try_into().unwrap());
        bytes.chunks(4).map(word).collect()
    };
    let expected = [
        (0..256)
            .filter(|thread| thread % 3 == 0)
            .collect::<Vec<u32>>(),
        (0..256).filter(|thread| thread % 5 != 0).collect(),
    ];
    assert_eq!(
        words(counters, 2),
        expected.each_ref().map(|list| list.len() as u32)
    );
    for (at, expected) in expected.iter().enumerate() {
        let mut found = words(to + 4096 * at as u64, expected.len() as u64);
        found.sort_unstable();
        assert_eq!(found, *expected);
    }
}

/// A program that prints the constants of our header, and the places of its structures' fields.
fn layout() -> String {
    let header = include_str!("../../ptx/include/cuda/driver_types.h");
    let constant = |line: &str| {
        let line = line.trim().trim_end_matches(',');
        let name = line.strip_prefix("#define ").unwrap_or(line);
        let end = name.find([' ', '(']).unwrap_or(name.len());
        let is_alone = name[end..].is_empty() || name[end..].starts_with(" = ");
        let is_constant = name.starts_with("cuda") && (is_alone || line.starts_with('#'));
        (is_constant && !name.ends_with([';', '{'])).then(|| name[..end].to_owned())
    };
    let names = header.lines().filter_map(constant);
    let values = names.map(|name| format!("printf(\"{name} %lld\\n\", (long long){name});\n"));
    let fields = [
        "cudaDeviceProp::totalGlobalMem",
        "cudaDeviceProp::maxGridSize",
        "cudaDeviceProp::multiProcessorCount",
        "cudaDeviceProp::surfaceAlignment",
        "cudaDeviceProp::l2CacheSize",
        "cudaDeviceProp::managedMemory",
        "cudaDeviceProp::sharedMemPerBlockOptin",
        "cudaDeviceProp::reservedSharedMemPerBlock",
        "cudaDeviceProp::hostNumaMultinodeIpcSupported",
        "cudaFuncAttributes::maxDynamicSharedSizeBytes",
        "cudaFuncAttributes::reserved",
        "cudaPointerAttributes::hostPointer",
        "cudaMemcpy3DParms::dstPtr",
        "cudaMemcpy3DParms::kind",
        "cudaLaunchConfig_t::numAttrs",
        "cudaLaunchAttribute::val",
        "cudaMemLocation::id",
        "cudaMemPoolProps::maxSize",
        "cudaMemPoolProps::reserved",
        "cudaMemAccessDesc::flags",
        "cudaAccessPolicyWindow::missProp",
    ];
    let places = fields.map(|field| {
        let (structure, name) = field.split_once("::").unwrap();
        format!(
            "printf(\"{field} %zu of %zu\\n\", offsetof({structure}, {name}), sizeof({structure}));\n"
        )
    });
    let prints: String = values.chain(places).collect();
    format!(
        "#include <cstddef>\n#include <cstdio>\n#include <cuda_runtime_api.h>\nint main() {{\n{prints}}}\n"
    )
}

#[test]
fn constants_and_structures_are_those_of_cuda_13() {
    let Some(nvcc) = nvcc() else { return };
    let theirs = folder_of(&nvcc).map(|bin| bin.join("../include"));
    let Some(theirs) = theirs.filter(|folder| folder.join("cuda_runtime_api.h").exists()) else {
        reuselens_testing::skip("no headers of CUDA beside its compiler");
        return;
    };
    let ours = headers();
    let program = layout();
    let [ours, theirs] = [ours.path(), &theirs].map(|include| {
        let folder = TempDir::new().unwrap();
        let (source, built) = (
            folder.path().join("layout.cpp"),
            folder.path().join("layout"),
        );
        std::fs::write(&source, &program).unwrap();
        let mut compile = Command::new("g++");
        compile
            .arg("-I")
            .args([include, &source])
            .arg("-o")
            .arg(&built);
        let done = compile.output().unwrap();
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{}: {errors}", include.display());
        let printed = Command::new(&built).output().unwrap().stdout;
        String::from_utf8(printed).unwrap()
    });
    assert!(ours.lines().count() > 200, "{ours}");
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
}
