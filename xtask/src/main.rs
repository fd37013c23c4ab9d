//! `cargo xtask CHORE`: what a maintainer does by hand elsewhere.

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy    check that the project keeps to its own rules";

fn main() -> anyhow::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        _ => {
            eprintln!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    }
}

fn tidy() -> anyhow::Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workspace = xtask::Workspace::read(&root.canonicalize()?)?;
    let findings = xtask::tidy(&workspace);
    for finding in &findings {
        println!("{finding}");
    }
    let (checks, files) = (xtask::CHECKS.len(), workspace.files().count());
    println!(
        "{} findings from {checks} checks of {files} files",
        findings.len()
    );
    Ok(if findings.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
