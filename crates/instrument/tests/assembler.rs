//! NVIDIA's assembler takes the kept PTX of both compilers with hooks.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use reuselens_instrument::{BypassWarps, InstrumentOptions, bypass, instrument};

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

/// How many of the files of a compiler are taken for these architectures after `rewrite`; only
/// those that `has` names.
fn assemble_all(
    architectures: &[&str],
    rewrite: impl Fn(&str) -> String,
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
        let rewritten = rewrite(&text);
        for architecture in architectures {
            let results = [text.as_str(), &rewritten].map(|it| assemble(&ptxas, it, architecture));
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

/// Puts hooks into a file.
fn hooks(options: InstrumentOptions) -> impl Fn(&str) -> String {
    move |text| instrument(text, &options).unwrap().text
}

/// Lets the loads of all warps but the first three pass the L1 by.
fn bypassed(text: &str) -> String {
    bypass(text, &BypassWarps::All(3)).unwrap().text
}

#[test]
fn kernels_of_nvcc_assemble_with_hooks() {
    let options = InstrumentOptions::default();
    assert!(assemble_all(&["sm_80"], hooks(options), "nvcc", |_| true) >= 25);
}

#[test]
fn kernels_of_clang_assemble_with_hooks() {
    let branches = InstrumentOptions {
        blocks: true,
        branches: true,
        ..InstrumentOptions::default()
    };
    let flow = InstrumentOptions {
        flow: true,
        ..InstrumentOptions::default()
    };
    for options in [branches, flow] {
        assert!(assemble_all(&["sm_80"], hooks(options), "clang", |_| true) >= 24);
    }
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
            branches: seed % 2 == 0,
            counts: seed % 3 == 0,
            flow: seed % 5 == 0,
        };
        let found = instrument(&text, &options).unwrap();
        for text in [&text, &found.text, &bypassed(&text)] {
            assemble(&ptxas, text, "sm_80").unwrap_or_else(|error| panic!("{seed}: {error}"));
        }
    }
}

#[test]
fn kernels_assemble_with_hooks_for_all_architectures() {
    let options = InstrumentOptions::default();
    let few = |name: &str| ["atomics", "calls", "spaces", "scan"].contains(&name);
    // The assembler may be older than the last ones, and kernels are for sm_75 or sm_80 on.
    assert!(assemble_all(&ARCHITECTURES, hooks(options), "nvcc", few) >= 16);
}

#[test]
fn kernels_assemble_with_loads_that_go_by_warps_for_all_architectures() {
    let few = |name: &str| ["calls", "spaces", "scan", "bfs"].contains(&name);
    let architectures = ["sm_75", "sm_90", "sm_120"];
    assert!(assemble_all(&architectures, bypassed, "nvcc", few) >= 6);
    assert!(assemble_all(&["sm_80"], bypassed, "clang", few) >= 4);
}
