//! What measuring costs: each program natively, captured by a consumer that only counts, and captured
//! and analysed exactly. Processor time of all processes together, as a ratio to the native run of the
//! same round.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

/// Rounds; the median is reported.
const ROUNDS: usize = 3;

/// A program, built natively and with the hooks.
struct Subject {
    name: &'static str,
    verb: &'static str,
    native: &'static str,
    source: &'static str,
    flags: &'static [&'static str],
    arguments: &'static [&'static str],
}

const SUBJECTS: [Subject; 5] = [
    Subject {
        name: "matmul (C)",
        verb: "cc",
        native: "gcc",
        source: "matmul/matmul.c",
        flags: &["-O2"],
        arguments: &["naive", "512"],
    },
    Subject {
        name: "linked list, shuffled (C++)",
        verb: "c++",
        native: "g++",
        source: "list/list.cc",
        flags: &["-O2"],
        arguments: &["shuffled", "50000", "300"],
    },
    Subject {
        name: "4 pthreads (C)",
        verb: "cc",
        native: "gcc",
        source: "count/count.c",
        flags: &["-O2", "-pthread"],
        arguments: &["50000", "500", "4"],
    },
    Subject {
        name: "stencil (C, OpenMP)",
        verb: "cc",
        native: "gcc",
        source: "stencil/stencil.c",
        flags: &["-O2", "-fopenmp"],
        arguments: &["plain", "200000", "400"],
    },
    Subject {
        name: "hash join (C++)",
        verb: "c++",
        native: "g++",
        source: "hashjoin/hashjoin.cc",
        flags: &["-O2"],
        arguments: &["chained", "200000", "4000000"],
    },
];

/// Builds everything and prints the table.
///
/// # Errors
/// If something cannot be built or run.
pub fn run(root: &Path) -> anyhow::Result<()> {
    build(root)?;
    let release = root.join("target/release");
    let (reuselens, count) = (release.join("reuselens"), release.join("examples/count"));
    let folder = root.join("target/slowdown");
    fs::create_dir_all(&folder)?;
    println!(
        "| program | native, s | run alone | captured, counted | captured, analysed exactly |"
    );
    println!("|---|---|---|---|---|");
    for subject in &SUBJECTS {
        let program = folder.join("measured");
        let native = folder.join("native");
        compile(
            subject,
            root,
            Command::new(&reuselens).arg(subject.verb),
            &program,
        )?;
        compile(subject, root, &mut Command::new(subject.native), &native)?;
        let mut figures: [Vec<f64>; 4] = Default::default();
        for _ in 0..ROUNDS {
            let base = time(Command::new(&native).args(subject.arguments))?;
            let alone = time(Command::new(&program).args(subject.arguments))?;
            let counted = time(Command::new(&count).arg(&program).args(subject.arguments))?;
            let analysed = time(
                Command::new(&reuselens)
                    .args(["profile", "-q", "-f", "-o"])
                    .arg(folder.join("out"))
                    .arg("--")
                    .arg(&program)
                    .args(subject.arguments),
            )?;
            for (list, figure) in figures.iter_mut().zip([base, alone, counted, analysed]) {
                list.push(figure);
            }
        }
        let [base, alone, counted, analysed] = figures.map(median);
        println!(
            "| {} | {base:.2} | {:.1} | {:.1} | {:.1} |",
            subject.name,
            alone / base,
            counted / base,
            analysed / base
        );
    }
    Ok(())
}

fn build(root: &Path) -> anyhow::Result<()> {
    let cargo = |arguments: &[&str]| -> anyhow::Result<()> {
        let status = Command::new("cargo")
            .args(arguments)
            .current_dir(root)
            .status()?;
        if status.success() {
            Ok(())
        } else {
            bail!("cargo {} failed", arguments.join(" "))
        }
    };
    cargo(&["build", "--release"])?;
    cargo(&[
        "build",
        "--release",
        "-p",
        "reuselens-capture",
        "--example",
        "count",
    ])
}

fn compile(
    subject: &Subject,
    root: &Path,
    compiler: &mut Command,
    program: &PathBuf,
) -> anyhow::Result<()> {
    let source = root.join("programs").join(subject.source);
    let status = compiler
        .args(subject.flags)
        .arg(source)
        .arg("-o")
        .arg(program)
        .status()?;
    if status.success() {
        Ok(())
    } else {
        bail!("cannot compile {}", subject.source)
    }
}

/// Processor seconds, user and system, of a command and all that it started and waited for.
fn time(command: &mut Command) -> anyhow::Result<f64> {
    let before = children_seconds()?;
    let status = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        bail!("{:?} failed: {status}", command.get_program());
    }
    Ok(children_seconds()? - before)
}

/// Processor time of all children that were waited for: fields 16 and 17 of `/proc/self/stat`, in
/// hundredths of a second.
fn children_seconds() -> anyhow::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let (_, rest) = stat
        .rsplit_once(')')
        .context("no name in /proc/self/stat")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |index: usize| -> anyhow::Result<f64> {
        Ok(fields
            .get(index)
            .context("a short /proc/self/stat")?
            .parse()?)
    };
    Ok((ticks(13)? + ticks(14)?) / 100.0)
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
