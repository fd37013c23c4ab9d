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
    let code = tempfile::NamedTempFile::new().unwrap();
    let output = Command::new(ptxas)
        .arg(format!("-arch={architecture}"))
        .arg("-o")
        .arg(code.path())
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
    // nvcc 13.0 writes PTX that assemblers of CUDA 12 do not know.
    let too_new = "Unsupported .version";
    let mut assembled = 0;
    for (code, is_of_nvcc) in [(KernelCode::CLANG, false), (KernelCode::NVCC, true)] {
        for ptx in code.all() {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(ptx.as_bytes()).unwrap();
            for architecture in ARCHITECTURES {
                match assemble(&ptxas, file.path(), architecture) {
                    Ok(()) => assembled += 1,
                    // Of an assembler that is older than the architecture.
                    Err(message) if message.contains("is not defined for option") => {}
                    Err(message) if is_of_nvcc && message.contains(too_new) => {}
                    Err(message) => panic!("{architecture}: {message}"),
                }
            }
        }
    }
    // Four files of clang's for the architectures that any assembler of CUDA 12 knows.
    assert!(assembled >= 4 * 5, "{assembled}");
}
