//! What `reuselens nvcc` gives to clang: functions of mathematics, compared with the host's, and
//! constants and structures, compared with CUDA's own where they are installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

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
