//! An analysis of twice as much takes about twice the instructions. `programs/nightly/doubling` has
//! more cases, and larger ones.

use std::fmt::Write;
use std::process::{Command, Stdio};

use crate::common::{Place, has};

/// Twice as much takes at most this many times the instructions. Less would be too strict: tables
/// double at one of the two sizes.
const MOST: f64 = 2.5;

/// The instructions of an analysis, counted by valgrind.
fn instructions(place: &Place, words: &[&str]) -> f64 {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=cachegrind", "--cache-sim=no"])
        .arg("--cachegrind-out-file=/dev/null")
        .args([env!("CARGO_BIN_EXE_reuselens"), "analyze", "-q", "-f"])
        .args(words)
        .current_dir(place.path(""))
        .stdin(Stdio::null());
    let done = valgrind.output().unwrap();
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{words:?}: {text}");
    let line = text.lines().find(|line| line.contains("refs:")).unwrap();
    let number = line.split(':').nth(1).unwrap().trim().replace(',', "");
    number.parse().unwrap()
}

/// Three accesses of each thread, in turns, to lines of its own.
fn threads(place: &Place, count: u64) -> String {
    let mut table = String::from("addr,op,tid,pc\n");
    for row in 0..3 * count {
        let (line, kind) = (
            row * 2_654_435_761 % (1 << 30),
            ["R", "W"][row as usize % 2],
        );
        writeln!(table, "{:#x},{kind},{},0x400000", line * 64, row % count).unwrap();
    }
    let name = format!("threads-{count}.csv");
    place.write(&name, table);
    name
}

#[test]
fn time_is_linear_in_the_threads_of_a_trace() {
    if !has("valgrind") {
        return;
    }
    let place = Place::new();
    let traces = [8, 1000, 2000].map(|count| threads(&place, count));
    for option in [&["--why"][..], &["--by", "path"]] {
        let counted = traces.each_ref().map(|trace| {
            let words = [&[trace, "--threads", "2"], option].concat();
            instructions(&place, &words)
        });
        let ratio = (counted[2] - counted[0]) / (counted[1] - counted[0]);
        assert!(ratio < MOST, "{option:?}: {ratio:.2} times, {counted:?}");
    }
}
