//! NVIDIA's assembler takes the kept PTX of both compilers for all architectures since sm_75.

use std::io::Write as _;
use std::process::Command;

use reuselens_distance_gpu::KernelCode;

/// Architectures that some assembler of CUDA 12 or 13 knows, the oldest first.
const ARCHITECTURES: [&str; 8] = [
    "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", "sm_121",
];

/// The assembler that belongs to nvcc, or the one on the path.
fn ptxas() -> String {
    let nvcc = std::env::var("NVCC").unwrap_or_default();
    match nvcc.strip_suffix("nvcc") {
        Some(folder) => format!("{folder}ptxas"),
        None => "ptxas".to_owned(),
    }
}

/// What the assembler says, if it refuses.
fn assemble(ptxas: &str, ptx: &std::path::Path, architecture: &str) -> Result<(), String> {
    let output = Command::new(ptxas)
        .arg(format!("-arch={architecture}"))
        .args(["-o", "/dev/null"])
        .arg(ptx)
        .output()
        .unwrap();
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn kernels_assemble_for_all_architectures() {
    let ptxas = ptxas();
    if !reuselens_testing::has(&ptxas) {
        return;
    }
    let mut assembled = 0;
    for code in [KernelCode::CLANG, KernelCode::NVCC] {
        for ptx in code.all() {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(ptx.as_bytes()).unwrap();
            for architecture in ARCHITECTURES {
                match assemble(&ptxas, file.path(), architecture) {
                    Ok(()) => assembled += 1,
                    // Of an assembler that is older than the architecture.
                    Err(message) if message.contains("is not defined for option") => {}
                    Err(message) => panic!("{architecture}: {message}"),
                }
            }
        }
    }
    assert!(assembled >= 2 * 4 * 6, "{assembled}");
}
