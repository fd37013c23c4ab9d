//! Profiles by path of three inputs of each program, with lines of 32 bytes as published.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use crate::sources::printed::Size;
use crate::sources::workshop::{Workshop, printed};

/// The list of programs, and what builds them and makes their inputs.
const SCRIPT: &str = "programs/sources/paths";
/// The status with which that ends if a program is not on this machine.
const NOT_HERE: i32 = 3;
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

/// All profiles of a suite; they are made once for all items. Programs that this machine lacks are
/// left out, with a message.
///
/// # Errors
/// If a program cannot be built or profiled.
pub fn profiles(workshop: &Workshop, suite: PrintedSuite) -> anyhow::Result<Vec<Profiled>> {
    let folder = workshop.scratch.join("paths");
    fs::create_dir_all(&folder)?;
    if workshop.size == Size::Small {
        return small(workshop, folder, suite);
    }
    let mut all = Vec::new();
    let list = printed(Command::new(workshop.root.join(SCRIPT)).arg("list"))?;
    for line in list.lines() {
        let words: Vec<&str> = line.splitn(7, '|').collect();
        let [name, class, like, sizes @ .., command] = &words[..] else {
            anyhow::bail!("{SCRIPT} lists `{line}`");
        };
        let wanted = match suite {
            PrintedSuite::Floating => "FP",
            PrintedSuite::Integer => "INT",
        };
        if *class != wanted || !is_here(workshop, &folder, name, sizes)? {
            continue;
        }
        let profiles = sizes
            .iter()
            .map(|size| profile(workshop, &folder, (name, size), command))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let beside = if like.is_empty() { "" } else { " like " };
        all.push(Profiled {
            name: format!("{name}{beside}{like}"),
            profiles: profiles.try_into().ok().context("three sizes")?,
        });
    }
    Ok(all)
}

/// Builds a program and makes its inputs; whether this machine has it.
fn is_here(workshop: &Workshop, folder: &Path, name: &str, sizes: &[&str]) -> anyhow::Result<bool> {
    let mut make = Command::new(workshop.root.join(SCRIPT));
    let made = make
        .args(["make", name])
        .args(sizes)
        .current_dir(folder)
        .status()?;
    if made.code() == Some(NOT_HERE) {
        eprintln!("{name} is left out");
        return Ok(false);
    }
    anyhow::ensure!(made.success(), "{SCRIPT} make {name} failed");
    Ok(true)
}

/// A profile of a program and a size, which is made if there is none.
fn profile(
    workshop: &Workshop,
    folder: &Path,
    (name, size): (&str, &str),
    command: &str,
) -> anyhow::Result<PathBuf> {
    let path = folder.join(format!("{name}.{size}.rlprof"));
    if path.exists() {
        return Ok(path);
    }
    let options = "profile -q -f --by path,line --granularity 32 --most-paths 8M -o";
    let mut profile = Command::new(workshop.reuselens()?);
    // Variables of the environment lie on the stack, which the start of a program goes over.
    profile.env_clear();
    let kept = ["PATH", "HOME"].map(|name| (name, std::env::var_os(name).unwrap_or_default()));
    profile
        .envs(kept)
        .current_dir(folder)
        .args(options.split(' '))
        .arg(format!("{name}.{size}"))
        .arg("--")
        .args(command.split(' ').map(|word| word.replace('N', size)))
        .stdin(Stdio::null());
    printed(&mut profile)?;
    let _ = fs::remove_file(folder.join(format!("{name}.{size}.html")));
    Ok(path)
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
    printed(
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
            printed(run.args([variant, &size.to_string()]))?;
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
