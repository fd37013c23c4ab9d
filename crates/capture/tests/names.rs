//! Tests that a program's own annotation calls (`RecordData` and the like) arrive as rows.

use std::path::{Path, PathBuf};
use std::process::Command;

use reuselens_capture::Capture;
use reuselens_capture::toolchain::{self, Language, RunTimeFiles};
use reuselens_trace::{Event, Kind, Source};

use crate::common::{Told, watch};

/// Makes each call, by all its forms.
const PROGRAM: &str = r#"
#include <stdio.h>
#include "reuselens.h"
static int a[10];
int main(void) {
    printf("names\n");
    RecordData(a, sizeof a, sizeof a[0]);
    RecordArray(a);
    RecordNamedData("a name of which only the first sixty-four letters are ever to be seen by anybody",
                    a, 8, 4);
    RecordPartialData(a, &a[4]);
    RecordStatement();
    RecordAccess(a, &a[7]);
    return 0;
}
"#;

/// What a run of a program brought.
#[derive(Default)]
struct Seen {
    /// Kind and number of each row of the calls, with their operands.
    rows: Vec<(Kind, u64)>,
    /// Whether the process said that it has hooks; `None` if no process showed itself.
    instrumented: Option<bool>,
    description: String,
}

fn run(program: &Path) -> Seen {
    let mut seen = Seen::default();
    let running = watch(
        vec![program.into()],
        Capture::CompiledIn,
        |told| match told {
            Told::Rows(block) => {
                let mut ours = false;
                for row in block.rows() {
                    ours = is_call(row.kind) || (ours && row.kind == Kind::Operand);
                    if ours {
                        seen.rows.push((row.kind, row.addr));
                    }
                }
            }
            Told::Event(Event::Process(process)) => seen.instrumented = Some(process.instrumented),
            Told::Event(_) => {}
        },
    );
    seen.description = running.describe();
    seen
}

fn is_call(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Data | Kind::PartialData | Kind::Named | Kind::Statement
    )
}

/// The rows that `PROGRAM` means, for an array at `a`.
fn expected(a: u64) -> Vec<(Kind, u64)> {
    let long = "a name of which only the first sixty-four letters are ever to be";
    let mut rows = Vec::new();
    for (name, bytes) in [("", 40), ("a", 40), (long, 8)] {
        let head = [(Kind::Data, a), (Kind::Operand, bytes), (Kind::Operand, 4)];
        rows.extend(head);
        rows.push((Kind::Operand, name.len() as u64));
        rows.extend(name.as_bytes().chunks(8).map(|piece| {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            (Kind::Operand, u64::from_le_bytes(word))
        }));
    }
    rows.extend([
        (Kind::PartialData, a + 16),
        (Kind::Operand, a),
        (Kind::Statement, 0),
    ]);
    rows.extend([(Kind::Named, a + 28), (Kind::Operand, a)]);
    rows
}

fn write_program(folder: &Path) -> PathBuf {
    let source = folder.join("names.c");
    std::fs::write(&source, PROGRAM).unwrap();
    source
}

/// Compiles `PROGRAM` as `reuselens cc` does.
fn compile(folder: &Path, flags: &[&str]) -> PathBuf {
    let (source, program) = (write_program(folder), folder.join("names"));
    let mut arguments: Vec<_> = flags.iter().map(Into::into).collect();
    arguments.extend([
        source.into_os_string(),
        "-o".into(),
        program.clone().into_os_string(),
    ]);
    assert!(
        toolchain::compile(Language::C, &arguments)
            .unwrap()
            .success()
    );
    program
}

/// Compiles `PROGRAM` with the system's compiler alone.
fn compile_plainly(folder: &Path, flags: &[&str], object: Option<PathBuf>) -> PathBuf {
    let (source, program) = (write_program(folder), folder.join("names"));
    let include = RunTimeFiles::install().unwrap().include();
    let mut command = Command::new("gcc");
    command
        .args(flags)
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(include)
        .arg(source)
        .args(object);
    assert!(command.arg("-o").arg(&program).status().unwrap().success());
    program
}

/// The rows say where the array is by themselves; check the rest of them.
fn check_rows(seen: &Seen) {
    let a = seen.rows.first().expect("rows").1;
    assert_eq!(seen.rows, expected(a));
}

#[test]
fn annotation_calls_arrive_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for flags in [
        &["--rl-names", "-O2"][..],
        &["--rl-names", "-O0", "-no-pie"],
    ] {
        let seen = run(&compile(folder.path(), flags));
        check_rows(&seen);
        assert_eq!(seen.instrumented, Some(false));
        assert_eq!(
            seen.description,
            "the program's own RecordData and RecordAccess calls"
        );
    }
}

#[test]
fn run_time_object_links_with_a_plain_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let object = RunTimeFiles::install().unwrap().object();
    let seen = run(&compile_plainly(folder.path(), &["-O1"], Some(object)));
    check_rows(&seen);
    assert_eq!(seen.instrumented, Some(false));
}

#[test]
fn annotation_calls_arrive_beside_hooks() {
    let folder = tempfile::tempdir().unwrap();
    let seen = run(&compile(folder.path(), &["-O2"]));
    check_rows(&seen);
    assert_eq!(seen.instrumented, Some(true));
    assert!(seen.description.starts_with("compiled-in hooks"));
}

#[test]
fn disabled_annotations_need_no_object_and_give_no_warnings() {
    let folder = tempfile::tempdir().unwrap();
    for flag in ["-O0", "-O2"] {
        let seen = run(&compile_plainly(
            folder.path(),
            &[flag, "-DREUSELENS_OFF"],
            None,
        ));
        assert!(seen.rows.is_empty());
        assert_eq!(seen.instrumented, None);
    }
}
