//! `cargo xtask CHORE`: what a maintainer does by hand elsewhere.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask test [--on MACHINE] [--as-nobody] [OPTION...]
                               run all tests, and list those that were skipped; options of cargo test.
                               On a described machine of xtask/machines.toml; as a user without a home
       cargo xtask tidy        check that the project keeps to its own rules
       cargo xtask slowdown TABLE [TURNS]
                               measure what measuring costs, as ratios to native runs; tables: count, exact,
                               alone, valgrind, lackey (see programs/slowdown/measure)
       cargo xtask promises [PART...]
                               measure what the engines and readers promise, on this machine (see
                               programs/engines/measure)
       cargo xtask sources [OPTION...] [ID...]
                               make the tables and figures of the works that the project implements, ours
                               beside what is printed, and docs/sources.md (--list shows ids)
       cargo xtask gpu-day --prepare
                               build what measures a GPU into target/gpu-day; target/gpu-day/xtask gpu-day
                               OUT runs it there
       cargo xtask same BEFORE AFTER
                               compare all that two builds of the command write, byte for byte (see
                               xtask/same.toml)
       cargo xtask kernels     compile the kernels of kernels/ to PTX, with clang-19 and nvcc
       cargo xtask third-party write docs/third-party.md: packages of others and their licences
       cargo xtask miri        run the tests of unsafe code under Miri, if there is a nightly with it";

fn main() -> anyhow::Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        ["test", ref arguments @ ..] => xtask::test_suite::run(&root()?, arguments),
        ["kernels"] => {
            xtask::kernels::run(&root()?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["miri"] => {
            xtask::miri::run(&root()?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["third-party"] => {
            xtask::third_party::run(&root()?)?;
            Ok(ExitCode::SUCCESS)
        }
        ["same", before, after] => {
            xtask::same::run(&root()?, Path::new(before), Path::new(after))?;
            Ok(ExitCode::SUCCESS)
        }
        ["promises", ref parts @ ..] => {
            xtask::promises::run(&root()?, parts)?;
            Ok(ExitCode::SUCCESS)
        }
        ["sources", ref words @ ..] => {
            xtask::sources::run(&root()?, words)?;
            Ok(ExitCode::SUCCESS)
        }
        ["gpu-day", ref words @ ..] => {
            xtask::gpu_day::run(words)?;
            Ok(ExitCode::SUCCESS)
        }
        ["slowdown", what] => {
            xtask::slowdown::run(&root()?, what, None)?;
            Ok(ExitCode::SUCCESS)
        }
        ["slowdown", what, turns] => {
            xtask::slowdown::run(&root()?, what, Some(turns))?;
            Ok(ExitCode::SUCCESS)
        }
        _ => {
            eprintln!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    }
}

fn root() -> anyhow::Result<PathBuf> {
    Ok(Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()?)
}

fn tidy() -> anyhow::Result<ExitCode> {
    let workspace = xtask::Workspace::read(&root()?)?;
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
