//! Tests of programs that give up something that capture relies on (their first thread, their root
//! folder, descriptors, system calls, memory): they end and print as without capture, in both ways
//! of capture.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use reuselens_capture::Capture;
use reuselens_capture::toolchain::{self, Language};
use reuselens_trace::{Event, Note, ProcessEnd};

use crate::common::{Told, watch};

/// A program of `programs/rewrite`, by the system's compiler and by ours.
struct Program {
    folder: tempfile::TempDir,
    name: &'static str,
}

/// What was seen of a run.
struct Seen {
    remarks: Vec<String>,
    /// Loads and stores.
    accesses: u64,
}

impl Program {
    fn build(name: &'static str) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/rewrite");
        let source = programs.join(name).with_extension("c");
        let program = Program { folder, name };
        let arguments = |output: PathBuf| -> Vec<OsString> {
            let flags = ["-O1", "-w", "-pthread", "-o"].map(OsString::from);
            flags
                .into_iter()
                .chain([output.into(), source.clone().into()])
                .collect()
        };
        let plain = Command::new("gcc")
            .args(arguments(program.path("plain")))
            .status()
            .unwrap();
        let ours = toolchain::compile(Language::C, &arguments(program.path("ours"))).unwrap();
        assert!(plain.success() && ours.success());
        program
    }

    fn path(&self, of: &str) -> PathBuf {
        self.folder.path().join(format!("{}-{of}", self.name))
    }

    /// The command that runs one of the two programs, its output going to a file.
    fn command(&self, which: &str, arguments: &[&str], output: &Path) -> Vec<OsString> {
        let script = format!("exec \"$0\" \"$@\" > {}", output.display());
        let mut command: Vec<OsString> = vec!["sh".into(), "-c".into(), script.into()];
        command.push(self.path(which).into());
        command.extend(arguments.iter().map(OsString::from));
        command
    }

    /// Runs the program by itself, and in one of the two ways of capture: both must end and print
    /// the same.
    fn same(&self, capture: Capture, arguments: &[&str]) -> Seen {
        let (alone, captured) = (self.path("alone"), self.path("captured"));
        let native = self.command("plain", arguments, &alone);
        let status = Command::new(&native[0]).args(&native[1..]).status();
        let which = match capture {
            Capture::CompiledIn => "ours",
            _ => "plain",
        };
        let mut seen = Seen {
            remarks: Vec::new(),
            accesses: 0,
        };
        let command = self.command(which, arguments, &captured);
        let running = watch(command, capture, |told| match told {
            Told::Rows(block) => seen.accesses += block.len() as u64,
            // No loss, and most runs of several threads have it.
            Told::Event(Event::Note(note)) if note.code == Note::THREAD_ORDER => {}
            Told::Event(Event::Note(note)) => seen.remarks.push(note.code),
            Told::Event(_) => {}
        });
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!(running.ended(), Some(end(status.unwrap())), "{capture:?}");
        assert_eq!(read(&captured), read(&alone), "{capture:?}");
        assert!(!read(&alone).is_empty());
        seen
    }

    fn same_both_ways(&self, arguments: &[&str]) -> [Seen; 2] {
        [Capture::Rewriting, Capture::CompiledIn].map(|capture| self.same(capture, arguments))
    }
}

fn end(status: std::process::ExitStatus) -> ProcessEnd {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => ProcessEnd::Exit(code),
        (None, signal) => ProcessEnd::Signal(signal.unwrap()),
    }
}

#[test]
fn process_whose_first_thread_has_ended_is_recorded() {
    for seen in Program::build("leaderless").same_both_ways(&[]) {
        assert!(seen.remarks.is_empty(), "{:?}", seen.remarks);
    }
}

#[test]
fn program_with_an_empty_root_folder_runs() {
    let program = Program::build("rooted");
    let folder = tempfile::tempdir().unwrap();
    if std::fs::metadata("/proc/self").unwrap().uid() != 0 {
        return reuselens_testing::skip("only root may change its root");
    }
    for seen in program.same_both_ways(&["root", folder.path().to_str().unwrap()]) {
        assert!(seen.remarks.is_empty(), "{:?}", seen.remarks);
    }
}

#[test]
fn program_without_free_descriptors_runs() {
    for seen in Program::build("rooted").same_both_ways(&["descriptors"]) {
        assert!(seen.remarks.is_empty(), "{:?}", seen.remarks);
    }
}

/// Accesses of the work that a program of `sandbox.c` does once.
const WORK: u64 = 2 * 4 * (1 << 16);

/// Runs a part of `sandbox.c`, which works once before it restricts itself, and once after that.
/// Rewriting ends with the restriction, and that is reported; what is compiled in goes on.
fn restricts_itself(part: &str) {
    let [rewritten, compiled_in] = Program::build("sandbox").same_both_ways(&[part]);
    assert_eq!(rewritten.remarks, ["left-for-filter"], "{part}");
    assert!(rewritten.accesses >= WORK, "{part}: {}", rewritten.accesses);
    assert!(
        compiled_in.remarks.is_empty(),
        "{part}: {:?}",
        compiled_in.remarks
    );
    assert!(
        compiled_in.accesses >= 2 * WORK,
        "{part}: {}",
        compiled_in.accesses
    );
}

#[test]
fn program_in_strict_mode_runs() {
    restricts_itself("strict");
}

#[test]
fn program_under_a_filter_of_three_calls_runs() {
    restricts_itself("filtered");
}

#[test]
fn threads_under_a_filter_installed_by_another_run() {
    restricts_itself("threads");
}

#[test]
fn thread_without_the_time_stamp_counter_runs() {
    restricts_itself("timeless");
}

#[test]
fn parent_of_a_filtered_child_is_recorded() {
    let [rewritten, compiled_in] = Program::build("sandbox").same_both_ways(&["child"]);
    assert_eq!(rewritten.remarks, ["left-for-filter"]);
    assert!(rewritten.accesses >= 2 * WORK, "{}", rewritten.accesses);
    assert!(compiled_in.remarks.is_empty(), "{:?}", compiled_in.remarks);
    assert!(compiled_in.accesses >= 3 * WORK, "{}", compiled_in.accesses);
}

#[test]
fn parent_of_a_filtered_vfork_child_is_recorded() {
    let rewritten = Program::build("sandbox").same(Capture::Rewriting, &["borrowed"]);
    assert_eq!(rewritten.remarks, ["left-for-filter"]);
    assert!(rewritten.accesses >= 2 * WORK, "{}", rewritten.accesses);
}

#[test]
fn program_that_inherits_a_filter_runs() {
    for seen in Program::build("sandbox").same_both_ways(&["becomes"]) {
        assert_eq!(seen.remarks, ["left-for-filter"]);
        assert!(seen.accesses >= WORK, "{}", seen.accesses);
    }
}

#[test]
fn queries_for_filters_do_not_end_the_recording() {
    for seen in Program::build("sandbox").same_both_ways(&["asks"]) {
        assert!(seen.remarks.is_empty(), "{:?}", seen.remarks);
        assert!(seen.accesses >= 2 * WORK, "{}", seen.accesses);
    }
}

#[test]
fn address_space_limit_excludes_memory_of_capture() {
    for seen in Program::build("space").same_both_ways(&["limit"]) {
        assert!(seen.remarks.is_empty(), "{:?}", seen.remarks);
    }
}

#[test]
fn limit_of_data_excludes_memory_of_capture() {
    for seen in Program::build("space").same_both_ways(&["data"]) {
        assert!(seen.remarks.is_empty(), "{:?}", seen.remarks);
    }
}

#[test]
fn programs_without_writable_code_go_on_unrecorded_with_a_remark() {
    let program = Program::build("space");
    let [rewritten, compiled_in] = program.same_both_ways(&["deny"]);
    let printed = std::fs::read_to_string(program.path("alone")).unwrap();
    if printed.starts_with("-1") {
        return reuselens_testing::skip("the kernel has no PR_SET_MDWE");
    }
    assert_eq!(rewritten.remarks, ["not-rewritten"; 2]);
    assert_eq!(compiled_in.remarks, [] as [&str; 0]);
}

#[test]
fn program_without_mappings_left_goes_on() {
    let [rewritten, compiled_in] = Program::build("exhausts").same_both_ways(&[]);
    assert!(rewritten.remarks.is_empty(), "{:?}", rewritten.remarks);
    assert!(compiled_in.remarks.is_empty(), "{:?}", compiled_in.remarks);
    assert!(rewritten.accesses > 10_000, "{}", rewritten.accesses);
}

#[test]
fn mlockall_excludes_memory_of_capture() {
    for seen in Program::build("space").same_both_ways(&["lock"]) {
        assert!(seen.remarks.is_empty(), "{:?}", seen.remarks);
    }
}

#[test]
fn inherited_address_space_limit_is_reported() {
    let program = Program::build("space");
    let mut command: Vec<OsString> = Vec::from(["sh", "-c"].map(OsString::from));
    // Room for what is ours, and no way to raise it.
    command.push("ulimit -v 8000000; exec \"$0\" \"$@\"".into());
    command.push(std::env::current_exe().unwrap().into());
    command.extend(["--exact", "--ignored", "runs_under_a_limit"].map(OsString::from));
    let status = Command::new(&command[0])
        .args(&command[1..])
        .env("PROGRAM", program.path("plain"))
        .status();
    assert!(status.unwrap().success());
}

#[test]
#[ignore = "is run by another test, under a limit"]
fn runs_under_a_limit() {
    let Some(program) = std::env::var_os("PROGRAM") else {
        return;
    };
    let mut remarks = Vec::new();
    watch(
        vec![program, "nothing".into()],
        Capture::Rewriting,
        |told| {
            if let Told::Event(Event::Note(note)) = told {
                remarks.push(note.code);
            }
        },
    );
    assert_eq!(remarks, ["short-of-space"]);
}
