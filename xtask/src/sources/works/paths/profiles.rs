//! Profiles by path of three inputs of each program, with lines of 32 bytes as published.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

use crate::output_of;
use crate::sources::printed::Size;
use crate::sources::workshop::Workshop;

/// Programs that calculate in floating point.
const FLOATING: [&str; 7] = [
    "matmul-naive",
    "matmul-tiled",
    "stencil-plain",
    "adi",
    "fft",
    "spmv",
    "lu",
];
/// Programs that calculate in whole numbers.
const INTEGER: [&str; 6] = [
    "list-shuffled",
    "hashjoin-chained",
    "quicksort",
    "bzip2",
    "sort",
    "mawk",
];
/// Sizes of the matrices in tests.
const SMALL: [u32; 3] = [12, 20, 32];

/// Which of the two suites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintedSuite {
    /// Beside CFP2000.
    Floating,
    /// Beside CINT2000.
    Integer,
}

/// A program and its three inputs.
#[derive(Clone, Debug)]
pub struct Profiled {
    /// Its name.
    pub name: String,
    /// Its profiles: test, train and reference.
    pub profiles: [PathBuf; 3],
}

/// All profiles of a suite; they are made once for all items.
///
/// # Errors
/// If a program cannot be built or profiled.
pub fn profiles(workshop: &Workshop, suite: PrintedSuite) -> anyhow::Result<Vec<Profiled>> {
    let folder = workshop.scratch.join("paths");
    fs::create_dir_all(&folder)?;
    let names = match suite {
        PrintedSuite::Floating => &FLOATING[..],
        PrintedSuite::Integer => &INTEGER,
    };
    if workshop.size == Size::Small {
        return small(workshop, folder, suite);
    }
    let script = workshop.root.join("programs/predict/evaluate");
    let mut evaluate = Command::new(&script);
    evaluate
        .arg(&folder)
        .env("REUSELENS", workshop.reuselens()?);
    evaluate.env("PROFILES_ONLY", "1").env("LARGEST", "");
    evaluate.env("PROFILE_OPTIONS", "--granularity 32");
    output_of(evaluate.env("ONLY", names.join(" ")))?;
    let list = fs::read_to_string(script)?;
    let of = |name: &&str| {
        let line = list
            .lines()
            .find(|line| line.split('|').next() == Some(name));
        let words: Vec<&str> = line.unwrap_or_default().split('|').collect();
        let [_, test, train, reference, _, _] = words[..] else {
            anyhow::bail!("programs/predict/evaluate has no program {name}");
        };
        let path = |size: &str| folder.join(format!("{name}.{size}.rlprof"));
        Ok(Profiled {
            name: (*name).to_owned(),
            profiles: [test, train, reference].map(path),
        })
    };
    let all: Vec<Profiled> = names.iter().map(of).collect::<anyhow::Result<_>>()?;
    // A program that this machine lacks has no profiles.
    let is_there = |one: &Profiled| one.profiles.iter().all(|path| path.exists());
    Ok(all.into_iter().filter(is_there).collect())
}

/// One program for each suite, at sizes that take no time.
fn small(
    workshop: &Workshop,
    folder: PathBuf,
    suite: PrintedSuite,
) -> anyhow::Result<Vec<Profiled>> {
    let (name, variant) = match suite {
        PrintedSuite::Floating => ("matmul-naive", "naive"),
        PrintedSuite::Integer => ("matmul-tiled", "tiled"),
    };
    let program = folder.join("matmul");
    let source = workshop.root.join("programs/matmul/matmul.c");
    output_of(
        Command::new("gcc")
            .args(["-O2", "-g"])
            .arg(source)
            .arg("-o")
            .arg(&program),
    )?;
    let mut profiles = Vec::new();
    for size in SMALL {
        let profile = folder.join(format!("{name}.{size}.rlprof"));
        if !profile.exists() {
            let mut run = Command::new(workshop.reuselens()?);
            run.args(["profile", "-q", "-f", "--by", "path,line"]);
            run.args(["--granularity", "32", "-o"]);
            run.arg(profile.with_extension("")).arg("--").arg(&program);
            output_of(run.args([variant, &size.to_string()]))?;
        }
        profiles.push(profile);
    }
    let profiles = <[PathBuf; 3]>::try_from(profiles)
        .ok()
        .context("three sizes")?;
    Ok(vec![Profiled {
        name: name.to_owned(),
        profiles,
    }])
}

/// What a profile says of paths: for each length its numbers of instructions.
///
/// # Errors
/// If the profile cannot be read, or has no paths.
pub fn shares_of(workshop: &Workshop, profile: &Path) -> anyhow::Result<Vec<Value>> {
    let path = profile.display().to_string();
    let text = workshop.output(&workshop.reuselens()?, &["report", &path, "--json", "-"])?;
    let json: Value = serde_json::from_str(&text)?;
    let shares = json["paths"]["shares"].as_array().cloned();
    shares.with_context(|| format!("{path} has no paths"))
}
