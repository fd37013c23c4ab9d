//! Programs that run and are profiled, and what is asked of their profiles.
#![allow(dead_code)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use reuselens::attribute::NamesMode;
use reuselens::capture::toolchain::{self, Language, RunTimeFiles};
use reuselens::capture::{Capture, Launch, Running};
use reuselens::profile::{Dimension, Object, Profile};
use reuselens::units::Granularity;
use reuselens::{AnalysisOptions, analyze};

/// A file of `tests/programs`.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name)
}

/// The line of a source file that has `mark` in it.
pub fn line(path: &Path, mark: &str) -> u64 {
    let text = std::fs::read_to_string(path).unwrap();
    let index = text.lines().position(|line| line.contains(mark)).unwrap();
    index as u64 + 1
}

/// Compiles sources as `reuselens cc`, `c++`, `fortran` do. Nothing may be warned of.
pub fn compile(language: Language, flags: &[&str], sources: &[PathBuf], program: &Path) {
    let mut arguments: Vec<OsString> = flags.iter().map(OsString::from).collect();
    arguments.extend(sources.iter().map(OsString::from));
    arguments.extend(["-o".into(), program.as_os_str().to_owned()]);
    let files = RunTimeFiles::install().unwrap();
    let mut command = toolchain::command(language, &arguments, &files).unwrap();
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && errors.is_empty(),
        "{command:?}: {errors}"
    );
}

/// What a program prints on its own; it must succeed.
pub fn alone(program: &Path) -> String {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{program:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Options with items of so many bytes.
pub fn items(bytes: u64, names: NamesMode) -> AnalysisOptions {
    let granularity = Some(Granularity::new(bytes).unwrap());
    AnalysisOptions {
        granularity,
        names,
        ..AnalysisOptions::default()
    }
}

/// Runs a program and analyses it, items being bytes and each instruction counting. `None` if it
/// has no run time in it.
pub fn profile(program: &Path) -> Option<Profile> {
    profile_with(program, &items(1, NamesMode::Instruction))
}

/// Runs a program and analyses it.
pub fn profile_with(program: &Path, options: &AnalysisOptions) -> Option<Profile> {
    let command = vec![program.as_os_str().to_owned()];
    let launch = Launch {
        command,
        capture: Capture::CompiledIn,
        ..Launch::default()
    };
    let mut running = Running::start(&launch).unwrap();
    let profile = analyze(&mut running, Vec::new(), options, &mut |_| {}).unwrap();
    running.saw_run_time().then_some(profile)
}

/// The object of this name.
pub fn object<'a>(profile: &'a Profile, name: &str) -> &'a Object {
    let names: Vec<_> = profile.objects.iter().map(|object| &object.name).collect();
    let mut found = profile.objects.iter().filter(|object| object.name == name);
    let object = found
        .next()
        .unwrap_or_else(|| panic!("no {name} in {names:?}"));
    assert!(found.next().is_none(), "{name} twice in {names:?}");
    object
}

/// Accesses per element of an object: index and accesses.
pub fn elements(profile: &Profile, name: &str) -> Vec<(u64, u64)> {
    let object = object(profile, name);
    // An access counts once for each item that it touches.
    let touches = (object.element_bytes / profile.granularity.bytes()).max(1);
    let count = |element: &reuselens::profile::Element| element.accesses / touches;
    object
        .elements
        .iter()
        .map(|element| (element.index, count(element)))
        .collect()
}

/// The item touches of a group; 0 if there is no such group.
pub fn touches(profile: &Profile, by: Dimension, name: &str) -> u64 {
    let groups = profile.groups(by);
    groups
        .iter()
        .filter(|group| group.name == name)
        .map(|group| group.accesses)
        .sum()
}

/// The codes of the warnings.
pub fn warnings(profile: &Profile) -> Vec<&str> {
    profile
        .warnings
        .iter()
        .map(|warning| warning.code.as_str())
        .collect()
}
