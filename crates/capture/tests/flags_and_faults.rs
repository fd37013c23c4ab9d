//! Tests of rewritten programs with special flags, signals of faults, and a fault in the rewriter
//! itself, which ends the program with a message.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use reuselens_capture::Capture;
use reuselens_trace::{Event, ProcessEnd};

use crate::common::programs::build;
use crate::common::{Told, watch};

/// What a program prints on its standard output and standard error, and how it ends.
#[derive(Debug, PartialEq)]
struct Done {
    output: String,
    error: String,
    end: Option<ProcessEnd>,
}

/// Runs a command of the shell as it is or rewritten; its output goes to files. Killed after two
/// minutes: a program that hangs is to fail, and not to hang the test.
fn run(folder: &Path, command: &str, rewritten: bool) -> Done {
    let script = format!("exec timeout -s KILL 120 {command} >output 2>error");
    let words: Vec<OsString> = ["sh".into(), "-c".into(), script.into()].into();
    let mut shell: Vec<OsString> = vec!["env".into(), "-C".into(), folder.into()];
    shell.extend(words);
    let end = if rewritten {
        let mut rows = 0;
        let running = watch(shell, Capture::Rewriting, |told| match told {
            Told::Rows(block) => rows += block.len(),
            Told::Event(Event::Note(note)) => assert_ne!(note.code, "left-unseen"),
            Told::Event(_) => {}
        });
        assert!(rows > 100_000, "{rows}");
        running.ended()
    } else {
        let status = Command::new(&shell[0]).args(&shell[1..]).status().unwrap();
        let exit = status.code().map(ProcessEnd::Exit);
        exit.or(status.signal().map(ProcessEnd::Signal))
    };
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    Done {
        output: text("output"),
        error: text("error"),
        end,
    }
}

/// Builds a program, which succeeds natively, and expects the same of it when it is rewritten.
fn succeeds_as_natively(program: &str) {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), &format!("{program}.c"), &[]);
    let command = format!("./{program}");
    let native = run(folder.path(), &command, false);
    assert_eq!(native.end, Some(ProcessEnd::Exit(0)));
    assert_eq!(run(folder.path(), &command, true), native);
}

#[test]
fn rewritten_program_keeps_its_flags() {
    succeeds_as_natively("flags");
}

#[test]
fn sent_signal_of_a_fault_is_no_fault() {
    succeeds_as_natively("storm");
}

#[test]
fn blocked_sent_signal_of_a_fault_waits() {
    succeeds_as_natively("sent");
}

#[test]
fn stack_grows_for_a_signal_frame() {
    succeeds_as_natively("deep");
}

#[test]
fn signal_mask_changes_hold_while_signals_arrive() {
    succeeds_as_natively("masks");
}

#[test]
fn fault_in_the_rewriter_is_reported_and_ends_the_program() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), "beyond.c", &[]);
    // `timeout` ends as the program did.
    let native = run(folder.path(), "./beyond", false);
    let rewritten = run(folder.path(), "./beyond", true);
    assert_eq!(rewritten.output, native.output);
    assert_eq!(rewritten.end, native.end);
    assert_eq!(native.error, "");
    let said = &rewritten.error;
    assert!(
        said.starts_with("reuselens: the rewriter failed (signal 7 at 0x"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn java_starts_when_rewritten() {
    if Command::new("java").arg("-version").output().is_err() {
        return reuselens_testing::skip("no java here");
    }
    let folder = tempfile::tempdir().unwrap();
    let native = run(folder.path(), "java -version", false);
    assert_eq!(run(folder.path(), "java -version", true), native);
}
