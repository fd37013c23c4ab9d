//! `cargo xtask same BEFORE AFTER`: what two builds of the command write, compared byte for byte.
//!
//! A change that is not meant to change behaviour is held to it: both builds run the steps of
//! `xtask/same.toml`, one after the other in a folder of the same path, and every file that they
//! leave, everything that they print and every exit status must be equal. The programs that are
//! profiled are compiled once, for both.
//!
//! `cargo xtask same BUILD BUILD` compares a build with itself: a step whose output is not
//! deterministic shows there.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// The steps, as `same.toml` has them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Steps {
    /// Shell commands that compile what is profiled, in the folder `programs` beside the folder
    /// that the steps run in.
    prepare: Vec<String>,
    step: Vec<Step>,
}

/// A command, whose output is compared.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    name: String,
    /// A shell command. `reuselens` is the build; `$ROOT` is the checkout.
    run: String,
    /// The exit status that the step must end with. A step that fails for want of a file would
    /// be equal in both builds.
    #[serde(default)]
    status: i32,
}

/// All that a build writes: the bytes of each file by its path in the folder. What a step prints is
/// in the files `STEP.stdout` and `STEP.stderr`.
type Outputs = BTreeMap<PathBuf, Vec<u8>>;

/// An output that the builds do not have alike.
#[derive(Debug, PartialEq, Eq)]
struct Difference {
    output: PathBuf,
    what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.output.display(), self.what)
    }
}

/// The folder of what is not the same even with one build: compiled programs and native traces.
const NOT_COMPARED: &str = "built";

/// Where both builds run.
struct Workplace<'a> {
    root: &'a Path,
    folder: PathBuf,
}

impl Workplace<'_> {
    /// Makes `reuselens` of the shell commands this build.
    fn choose(&self, build: &Path) -> Result<()> {
        let bin = self.folder.join("bin");
        if bin.exists() {
            fs::remove_dir_all(&bin)?;
        }
        fs::create_dir_all(&bin)?;
        symlink(build, bin.join("reuselens"))?;
        Ok(())
    }

    /// A shell command, to be run in a folder of the workplace.
    fn shell(&self, command: &str, folder: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{path}", self.folder.join("bin").display());
        let mut shell = Command::new("sh");
        shell.args(["-ec", command]);
        shell.current_dir(self.folder.join(folder));
        shell.env("ROOT", self.root).env("PATH", path);
        shell.env("LC_ALL", "C");
        shell
    }

    /// Compiles the programs that are profiled, and records traces of them.
    fn prepare(&self, commands: &[String]) -> Result<()> {
        fs::create_dir_all(self.folder.join("programs"))?;
        for command in commands {
            let status = self.shell(command, "programs").status();
            let status = status.with_context(|| command.clone())?;
            ensure!(status.success(), "`{command}` ended with {status}");
        }
        Ok(())
    }

    /// Runs all steps, and moves what they leave to the folder `name`.
    fn outputs(&self, steps: &[Step], name: &str) -> Result<Outputs> {
        let run = self.folder.join("run");
        fs::create_dir_all(run.join(NOT_COMPARED))?;
        for step in steps {
            eprintln!("{name}: {}", step.name);
            let output = self.shell(&step.run, "run").output();
            let output = output.with_context(|| step.name.clone())?;
            ensure!(
                output.status.code() == Some(step.status),
                "step {} of {name} ended with {}, not with {}:\n{}",
                step.name,
                output.status,
                step.status,
                String::from_utf8_lossy(&output.stderr)
            );
            fs::write(run.join(format!("{}.stdout", step.name)), output.stdout)?;
            fs::write(run.join(format!("{}.stderr", step.name)), output.stderr)?;
        }
        let kept = self.folder.join(name);
        fs::rename(&run, &kept)?;
        let mut outputs = Outputs::new();
        read(&kept, Path::new(""), &mut outputs)?;
        Ok(outputs)
    }
}

/// Runs the steps with both builds.
///
/// # Errors
/// A step that does not end as it should, or outputs that differ: their list is printed.
pub fn run(root: &Path, before: &Path, after: &Path) -> Result<()> {
    let list = root.join("xtask/same.toml");
    let text = fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    let steps: Steps = toml::from_str(&text).with_context(|| list.display().to_string())?;
    let folder = root.join("target/same");
    let [before, after] = [found(before, &folder)?, found(after, &folder)?];
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let place = Workplace { root, folder };
    place.choose(&before)?;
    place.prepare(&steps.prepare)?;
    let old = place.outputs(&steps.step, "before")?;
    place.choose(&after)?;
    let new = place.outputs(&steps.step, "after")?;
    let differences = compare(&old, &new);
    for difference in &differences {
        println!("{difference}");
    }
    let (outputs, steps) = (old.len(), steps.step.len());
    if !differences.is_empty() {
        let folder = place.folder.display();
        let different = differences.len();
        bail!("{different} of {outputs} outputs differ; both sets are in {folder}");
    }
    println!("the same: {outputs} outputs of {steps} steps");
    Ok(())
}

/// The full path of a build, which must not be in the folder that is made anew.
fn found(build: &Path, folder: &Path) -> Result<PathBuf> {
    let path = build.canonicalize();
    let path = path.with_context(|| build.display().to_string())?;
    ensure!(
        !path.starts_with(folder),
        "{} is in the folder that is made anew: copy it elsewhere",
        path.display()
    );
    Ok(path)
}

/// Reads all files below a folder.
fn read(top: &Path, folder: &Path, outputs: &mut Outputs) -> Result<()> {
    for entry in fs::read_dir(top.join(folder))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if path == Path::new(NOT_COMPARED) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            read(top, &path, outputs)?;
        } else {
            outputs.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(())
}

/// What is not equal, by path.
fn compare(before: &Outputs, after: &Outputs) -> Vec<Difference> {
    let mut paths: Vec<&PathBuf> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let different = |path: &PathBuf| {
        let what = match (before.get(path), after.get(path)) {
            (Some(old), Some(new)) if old == new => return None,
            (Some(old), Some(new)) => first_difference(old, new),
            (Some(_), None) => "only before".to_owned(),
            _ => "only after".to_owned(),
        };
        Some(Difference {
            output: path.clone(),
            what,
        })
    };
    paths.into_iter().filter_map(different).collect()
}

/// The first line of two texts that differs, or the first byte of other files.
fn first_difference(before: &[u8], after: &[u8]) -> String {
    if let (Ok(old), Ok(new)) = (std::str::from_utf8(before), std::str::from_utf8(after)) {
        let (mut old, mut new) = (old.lines(), new.lines());
        let mut line = 0;
        loop {
            line += 1;
            match (old.next(), new.next()) {
                (Some(a), Some(b)) if a == b => {}
                (None, None) => return "only the ends of lines differ".to_owned(),
                (a, b) => {
                    let shown = |text: Option<&str>| match text {
                        Some(text) => format!("`{}`", text.chars().take(200).collect::<String>()),
                        None => "the end".to_owned(),
                    };
                    return format!("line {line}: {} became {}", shown(a), shown(b));
                }
            }
        }
    }
    let at = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    format!(
        "byte {at} differs ({} bytes before, {} after)",
        before.len(),
        after.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats of traces that the steps can make, each by a part of its step.
    const FORMATS: [&str; 10] = [
        ".rltrace",
        "items.txt",
        "lackey",
        "din",
        "csv:",
        "u64",
        "u32",
        "champsim",
        "vscsi",
        ".zip",
    ];

    fn outputs(files: &[(&str, &str)]) -> Outputs {
        let file = |(path, text): &(&str, &str)| (PathBuf::from(path), text.as_bytes().to_vec());
        files.iter().map(file).collect()
    }

    #[test]
    fn differences_are_named_by_file_and_line() {
        let before = outputs(&[("a", "1\n2\n3\n"), ("b", "x"), ("c", "old"), ("d", "\n")]);
        let after = outputs(&[("a", "1\ntwo\n3\n"), ("b", "x"), ("d", ""), ("e", "new")]);
        let found: Vec<String> = compare(&before, &after)
            .iter()
            .map(Difference::to_string)
            .collect();
        assert_eq!(
            found,
            [
                "a: line 2: `2` became `two`",
                "c: only before",
                "d: line 1: `` became the end",
                "e: only after"
            ]
        );
    }

    #[test]
    fn the_list_of_steps_is_valid() {
        let steps: Steps = toml::from_str(include_str!("../same.toml")).unwrap();
        let mut names: Vec<&str> = steps.step.iter().map(|step| &*step.name).collect();
        for format in FORMATS {
            assert!(
                steps.step.iter().any(|step| step.run.contains(format)),
                "no step reads {format}"
            );
        }
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "two steps share a name");
    }

    #[test]
    fn binary_files_differ_at_a_byte() {
        assert_eq!(
            first_difference(&[0xff, 1, 2], &[0xff, 1, 3, 4]),
            "byte 2 differs (3 bytes before, 4 after)"
        );
    }
}
