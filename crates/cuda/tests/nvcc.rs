//! What `reuselens nvcc` gives to clang: functions of mathematics, compared with the host's, and
//! constants and structures, compared with CUDA's own where they are installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

mod common;

use common::{folder_of, nvcc};

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
