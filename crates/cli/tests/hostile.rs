//! Programs that write over the memory they share with reuselens: it ends by itself, or when it is
//! asked to, with a report or an error in words. `programs/hostile/scribble` runs more of them, by
//! hand or at night.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use crate::common::{Place, source};

/// Far above what a run takes on a busy machine, in seconds: the program is asked to end then, and
/// reuselens killed if it has not ended after as long again.
const LIMIT: &str = "60";

/// Runs reuselens under that limit; how it ended, and what it said.
fn run(place: &Place, verb: &str, program: &str, seed: u32) -> (ExitStatus, String) {
    let words = ["-k", LIMIT, LIMIT, env!("CARGO_BIN_EXE_reuselens"), verb];
    let seed = seed.to_string();
    let rest = ["-f", "--ignore-status", "-o", "run", "--", program, &seed];
    let done = Command::new("timeout")
        .args(words)
        .args(rest)
        .current_dir(place.path("."))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = [done.stdout, done.stderr].concat();
    (done.status, String::from_utf8_lossy(&said).into_owned())
}

fn ends(seeds: impl Iterator<Item = u32>, program: &str, place: &Place) {
    let mut warned = 0;
    for seed in seeds {
        let verb = ["profile", "record"][seed as usize / 2 % 2];
        let (status, said) = run(place, verb, program, seed);
        let code = status.code();
        // `timeout` says 124 where its first signal was enough.
        let is_known = [0, 1, 4, 124].map(Some).contains(&code);
        let what = format!("{verb} {program} {seed}: {status}: {said}");
        assert!(status.signal().is_none() && is_known, "{what}");
        assert!(!said.contains("panicked"), "{what}");
        assert!(!said.contains("4294967295"), "{what}");
        warned += u32::from(said.contains("wrote over the memory"));
    }
    assert!(warned > 0, "no seed damages what is looked at");
}

#[test]
fn compiled_in_program_that_writes_over_the_segment_does_not_hang_reuselens() {
    let place = Place::new();
    place.build("hostile/scribble.c", &["-pthread", "-w"]);
    // Of these, 26 spun without end, and 34 and 146 overflowed.
    ends(
        [2, 6, 10, 26, 34, 70, 90, 146].into_iter(),
        "./scribble",
        &place,
    );
}

#[test]
fn rewritten_program_that_writes_over_the_segment_does_not_hang_reuselens() {
    let place = Place::new();
    let built = Command::new("gcc")
        .args(["-O1", "-w", "-pthread", "-o"])
        .arg(place.path("scribble"))
        .arg(source("hostile/scribble.c"))
        .status();
    assert!(built.unwrap().success());
    // Of these, 41 and 189 spun without end, and 13 and 105 overflowed.
    ends(
        [1, 5, 13, 41, 45, 81, 105, 189].into_iter(),
        "./scribble",
        &place,
    );
}
