//! Tests that a rewritten program finds about itself what it finds when it runs natively. The
//! program `mirror` prints all that it can find out, a line for each fact; [`DIFFERS`] lists the
//! facts that differ by design, with the reasons.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use reuselens_capture::Capture;
use reuselens_trace::{Event, Note, ProcessEnd};

use crate::common::programs::build;
use crate::common::{Told, watch};

/// Facts that may differ, by the start of their names, and why.
const DIFFERS: [(&[&str], &str); 5] = [
    (
        &[
            "status.Tgid",
            "status.Pid",
            "status.PPid",
            "status.NStgid",
            "status.NSpid",
            "status.NSpgid",
            "stat.4",
            "stat.5",
        ],
        "each run has process ids of its own",
    ),
    (
        &[
            "status.voluntary_ctxt_switches",
            "status.nonvoluntary_ctxt_switches",
            "status.SigQ",
            "stat.12",
            "stat.14",
            "stat.15",
            "stat.22",
            "stat.39",
            "stat.42",
        ],
        "times, processors, and what other processes do change from run to run",
    ),
    (
        &[
            "status.VmPeak",
            "status.VmSize",
            "status.VmHWM",
            "status.VmRSS",
            "status.RssAnon",
            "status.RssFile",
            "status.RssShmem",
            "status.VmData",
            "status.VmPTE",
            "stat.10",
            "stat.23",
            "stat.24",
        ],
        "the kernel counts the rewriter's memory, which is in the process",
    ),
    (
        &["status.SigCgt", "stat.34"],
        "the rewriter catches all signals; sigaction, which programs ask, answers for the program",
    ),
    (&["maps.ours"], "the rewriter's mappings are in the process"),
];

/// What a program prints, whose environment is empty, and how it ends.
fn run(program: &Path, rewritten: bool) -> String {
    let output = program.with_extension("output");
    let script = format!(
        "exec env -i timeout -s KILL 60 \"$0\" > {}",
        output.display()
    );
    let command: Vec<OsString> = vec!["sh".into(), "-c".into(), script.into(), program.into()];
    if rewritten {
        let mut rows = 0;
        let running = watch(command, Capture::Rewriting, |told| match told {
            Told::Rows(block) => rows += block.len(),
            // No loss, and most runs of several threads have it.
            Told::Event(Event::Note(note)) if note.code == Note::THREAD_ORDER => {}
            Told::Event(Event::Note(note)) => panic!("{note:?}"),
            Told::Event(_) => {}
        });
        assert!(rows > 10_000, "{rows}");
        assert_eq!(running.ended(), Some(ProcessEnd::Exit(0)));
    } else {
        let status = Command::new(&command[0]).args(&command[1..]).status();
        assert!(status.unwrap().success());
    }
    std::fs::read_to_string(output).unwrap()
}

/// The facts in what `mirror` has printed: names and values.
fn facts(text: &str) -> Vec<(&str, &str)> {
    text.lines()
        .map(|line| line.split_once(' ').unwrap_or((line, "")))
        .collect()
}

#[test]
fn rewritten_program_finds_itself_as_natively() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "mirror.c", &["-mno-red-zone"]);
    let texts = [false, true].map(|rewritten| run(&program, rewritten));
    let [native, rewritten] = texts.each_ref().map(|text| facts(text));
    let may_differ = |name: &str| DIFFERS.iter().any(|(names, _)| names.contains(&name));
    let strict = |facts: &[(&str, &str)]| -> Vec<String> {
        let kept = facts.iter().filter(|(name, _)| !may_differ(name));
        kept.map(|(name, value)| format!("{name} {value}"))
            .collect()
    };
    let (expected, found) = (strict(&native), strict(&rewritten));
    assert!(expected.len() > 5000, "{}", expected.len());
    let pairs = expected.iter().zip(&found);
    let different: Vec<_> = pairs.filter(|(one, other)| one != other).take(20).collect();
    assert!(different.is_empty(), "{different:#?}");
    assert_eq!(found.len(), expected.len());
    // A name in the list that nothing has is wrong there.
    for (names, reason) in DIFFERS {
        for name in names {
            let is_found = rewritten.iter().any(|fact| fact.0 == *name);
            assert!(
                is_found,
                "{name} is in the list ({reason}), but not printed"
            );
        }
    }
}

#[test]
fn code_that_changes_without_a_fault_is_translated_again() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path(), "doors.c", &[]);
    let native = run(&program, false);
    assert_eq!(run(&program, true), native);
    // The program itself has seen its new code.
    assert!(native.contains("area 0: 6, 1 then 0\n"), "{native}");
}
