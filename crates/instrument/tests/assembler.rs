//! NVIDIA's assembler takes the kept PTX of both compilers with hooks.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use reuselens_instrument::{InstrumentOptions, instrument};

/// Architectures that some assembler of CUDA 12 or 13 knows, the oldest first.
const ARCHITECTURES: [&str; 7] = [
    "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120",
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
fn assemble(ptxas: &str, text: &str, architecture: &str) -> Result<(), String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let code = tempfile::NamedTempFile::new().unwrap();
    // Functions without a body are linked later.
    let output = Command::new(ptxas)
        .arg(format!("-arch={architecture}"))
        .args(["-c", "-O1", "-o"])
        .args([code.path(), file.path()])
        .output()
        .unwrap();
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// How many of the files of a compiler are taken for these architectures with hooks; only those
/// that `has` names.
fn assemble_all(
    architectures: &[&str],
    options: &InstrumentOptions,
    compiler: &str,
    has: impl Fn(&str) -> bool,
) -> usize {
    let ptxas = ptxas();
    if !reuselens_testing::has(&ptxas) {
        return usize::MAX;
    }
    let mut assembled = 0;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/ptx");
    for entry in std::fs::read_dir(folder.join(compiler)).unwrap() {
        let path = entry.unwrap().path();
        if !has(&path.file_stem().unwrap().to_string_lossy()) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let found = instrument(&text, options).unwrap();
        for architecture in architectures {
            let results = [text.as_str(), &found.text].map(|it| assemble(&ptxas, it, architecture));
            match results {
                [Ok(()), Ok(())] => assembled += 1,
                // The kernel is for a later architecture, or the assembler too old.
                [Err(_), _] => {}
                [Ok(()), Err(error)] => panic!("{}, {architecture}: {error}", path.display()),
            }
        }
    }
    assembled
}

#[test]
fn kernels_of_nvcc_assemble_with_hooks() {
    let options = InstrumentOptions::default();
    assert!(assemble_all(&["sm_80"], &options, "nvcc", |_| true) >= 25);
}

#[test]
fn kernels_of_clang_assemble_with_hooks() {
    let options = InstrumentOptions { blocks: true };
    assert!(assemble_all(&["sm_80"], &options, "clang", |_| true) >= 24);
}

#[test]
fn generated_kernels_assemble_with_hooks() {
    let ptxas = ptxas();
    if !reuselens_testing::has(&ptxas) {
        return;
    }
    for seed in 0..6 {
        let text = crate::generated::kernel(seed);
        let options = InstrumentOptions {
            blocks: seed % 2 == 0,
        };
        let found = instrument(&text, &options).unwrap();
        for text in [&text, &found.text] {
            assemble(&ptxas, text, "sm_80").unwrap_or_else(|error| panic!("{seed}: {error}"));
        }
    }
}

#[test]
fn kernels_assemble_with_hooks_for_all_architectures() {
    let options = InstrumentOptions::default();
    let few = |name: &str| ["atomics", "calls", "spaces", "scan"].contains(&name);
    // The assembler may be older than the last ones, and kernels are for sm_75 or sm_80 on.
    assert!(assemble_all(&ARCHITECTURES, &options, "nvcc", few) >= 16);
}
