//! A disk that is full, and a limit on the size of files: the reason is said, and what was written
//! stays readable.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Done, Place};

/// A small file system, taken away in the end.
struct Small(PathBuf);

impl Small {
    /// Mounts one of `size` at a folder; `None`, and why, if that is not allowed.
    fn mount(place: &Place, size: &str) -> Option<Small> {
        let at = place.path("small");
        std::fs::create_dir(&at).unwrap();
        let options = format!("size={size}");
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "none"])
            .arg(&at)
            .output();
        if done.is_ok_and(|done| done.status.success()) {
            return Some(Small(at));
        }
        reuselens_testing::skip("a file system cannot be mounted here");
        None
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// A program whose accesses do not compress.
const RANDOM: &str = r"
#include <stdint.h>
static volatile uint64_t cells[1 << 20];
int main(void) {
    uint64_t place = 1;
    for (int i = 0; i < 6000000; i++) {
        place = place * 6364136223846793005u + 1442695040888963407u;
        cells[place >> 44] = place;
    }
    return 0;
}
";

fn program() -> Place {
    let place = Place::new();
    place.write("random.c", RANDOM);
    place
        .run(&["cc", "-O1", "random.c", "-o", "random"])
        .succeeds();
    place
}

/// With a limit of so many blocks of 512 bytes on each file.
fn limited(place: &Place, blocks: u32, words: &str) -> Done {
    let line = format!("ulimit -S -f {blocks}; exec \"$0\" {words}");
    let mut command = Command::new("sh");
    command
        .args(["-c", &line, env!("CARGO_BIN_EXE_reuselens")])
        .current_dir(place.path("."));
    Done::of(&mut command)
}

fn readable(place: &Place, trace: &str) {
    let words = ["analyze", "-q", "-f", "-o", "a", trace, "--json", "a.json"];
    place.run(&words).ends_with(4);
    let json = place.json("a.json");
    assert_eq!(json.warnings(), ["truncated"]);
    assert!(json.number("accesses") > 10_000);
}

#[test]
fn a_recording_on_a_full_disk_stays_readable() {
    let place = program();
    let Some(_small) = Small::mount(&place, "10m") else {
        return;
    };
    let words = ["record", "-q", "-o", "small/run.rltrace", "--", "./random"];
    place.run(&words).fails(1).says(&[
        "cannot write",
        "small/run.rltrace",
        "No space left",
        "free some space",
        "reuselens analyze small/run.rltrace.partial",
    ]);
    assert!(!Path::new(&place.path("small/run.rltrace")).exists());
    readable(&place, "small/run.rltrace.partial");
}

#[test]
fn command_whose_file_is_full_waits_for_the_program_and_keeps_its_status() {
    let place = program();
    let short = "sh -c 'echo after; exit 7'";
    // It has its output and its status long after the limit is reached.
    let long = "sh -c './random; echo after; exit 7'";
    for (verb, program, options, code) in [
        ("profile", short, "--ignore-status", 1),
        ("profile", short, "", 7),
        ("record", short, "--ignore-status", 1),
        ("record", long, "", 7),
    ] {
        let words = format!("{verb} -q -f {options} -o run.rltrace -- {program}");
        let said = ["cannot write", "File too large", "sh exited with status 7"];
        let done = limited(&place, 64, &words).ends_with(code).says(&said);
        assert_eq!(done.out, "after\n", "{words}");
    }
    assert!(!place.path("run.rltrace").exists());
    assert!(place.path("run.rltrace.partial").exists());
}

#[test]
fn profiles_and_conversions_on_a_full_disk_leave_nothing() {
    let place = program();
    place
        .run(&["record", "-q", "-o", "run.rltrace", "--", "./random"])
        .succeeds();
    let Some(_small) = Small::mount(&place, "64k") else {
        return;
    };
    std::fs::write(place.path("small/filler"), vec![1; 60 << 10]).unwrap();
    let words = ["profile", "-o", "small/run", "--", "./random"];
    // The run may have taken long: what it gave is shown.
    place
        .run(&words)
        .ends_with(1)
        .says(&["cannot write", "small/run", "No space left"])
        .prints(&["first touches"]);
    let words = ["convert", "run.rltrace", "small/run.txt"];
    place
        .run(&words)
        .fails(1)
        .says(&["cannot write", "small/run.txt", "No space left"]);
    let left: Vec<_> = std::fs::read_dir(place.path("small")).unwrap().collect();
    assert_eq!(left.len(), 1, "the filler alone: {left:?}");
}

/// A file on a disk that is always full.
fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

#[test]
fn full_standard_output_is_named() {
    let place = Place::new();
    place.write("a.din", "0 1000\n1 1008\n0 1000\n");
    place.run(&["analyze", "-q", "a.din", "-o", "a"]).succeeds();
    for words in [
        "--help",
        "--version",
        "man",
        "completions bash",
        "formats",
        "engines",
        "info a.din",
        "report a.rlprof",
        "report a.rlprof --svg -",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        Done::of(place.command(&words).stdout(full()))
            .fails(1)
            .says(&["cannot write to standard output: No space left"]);
    }
    let words = ["convert", "a.din", "-", "--to", "text"];
    Done::of(place.command(&words).stdout(full()))
        .fails(1)
        .says(&["cannot write -: No space left"]);
}

#[test]
fn closed_standard_output_is_an_error_of_every_command_that_prints() {
    let place = Place::new();
    place.write("a.din", "0 1000\n1 1008\n0 1000\n");
    place.run(&["analyze", "-q", "a.din", "-o", "a"]).succeeds();
    let shell = |words: &str, output: &str| {
        let line = format!("exec \"$0\" {words} {output}");
        let mut command = Command::new("sh");
        command
            .args(["-c", &line, env!("CARGO_BIN_EXE_reuselens")])
            .current_dir(place.path("."));
        Done::of(&mut command)
    };
    for words in [
        "--help",
        "--version",
        "help convert",
        "man",
        "completions bash",
        "formats",
        "engines",
        "explain",
        "info a.din",
        "report a.rlprof",
        "report a.rlprof --json -",
        "diff a.rlprof a.rlprof",
        "analyze -f a.din -o b",
        "convert -f a.din b.txt",
        "shard 1/2 -f a.din -o b.rlpart",
        "profile -f -o b -- true",
        "record -f -o b.rltrace -- true",
    ] {
        let said = ["cannot write to standard output: it is closed"];
        shell(words, ">&-").ends_with(1).says(&said);
    }
    shell("--version", "> /dev/null").succeeds();
    // Rust's start leaves such a descriptor where the output was closed.
    shell("--version", "<> /dev/null >&0").succeeds();
    shell("convert a.din - --to text", ">&-")
        .fails(1)
        .says(&["cannot write -: it is closed"]);
    // Nothing is printed, so nothing is missing.
    shell("analyze -q -f a.din -o b", ">&-").succeeds();
    place.run_into_closed_pipe(&["--help"]).succeeds();
}

#[test]
fn message_that_cannot_be_written_does_not_change_the_exit_code() {
    let place = Place::new();
    // The last one is printed without its control character.
    for (word, code) in [("nothing", 1), ("--none", 2), ("--\u{1b}", 2)] {
        let mut command = place.command(&["info", word]);
        let status = command.stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{word:?}");
    }
}

#[test]
fn file_size_limit_is_reported_as_an_error() {
    let place = program();
    limited(&place, 20_480, "record -q -o run.rltrace -- ./random")
        .fails(1)
        .says(&["cannot write", "run.rltrace", "File too large"]);
    readable(&place, "run.rltrace.partial");
    std::fs::remove_file(place.path("run.rltrace.partial")).unwrap();
    limited(&place, 8, "profile -q -o run -- ./random")
        .fails(1)
        .says(&["cannot write", "File too large"]);
    place
        .run(&["record", "-q", "-o", "run.rltrace", "--", "./random"])
        .succeeds();
    limited(&place, 512, "convert run.rltrace run.txt")
        .fails(1)
        .says(&["cannot write", "run.txt", "File too large"]);
    let left = [
        "a.html",
        "a.json",
        "a.rlprof",
        "random",
        "random.c",
        "run.rltrace",
    ];
    assert_eq!(place.files(), left);
}
