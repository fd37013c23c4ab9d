//! Names of files, programs, arguments, threads and data that hold what a terminal obeys: every
//! command shows them as escapes.

use crate::common::{Done, Place};

/// A name that clears the screen, in both forms of the sequence, and turns the direction of text.
const NAME: &str = "a\u{1b}[2J\u{9b}2J\u{202e}b";
const SHOWN: &str = "a\\u{1b}[2J\\u{9b}2J\\u{202e}b";

const PROGRAM: &str = r#"
#include <pthread.h>
#include <reuselens.h>
static double grid[4096];
int main(void) {
  pthread_setname_np(pthread_self(), "t\033[2J\302\2332J");
  RecordNamedData("g\033[2J\302\2332J", grid, sizeof grid, sizeof *grid);
  for (int turn = 0; turn < 8; turn++)
    for (int i = 0; i < 4096; i++) grid[i] += turn;
  return 0;
}
"#;

/// Nothing that a terminal obeys is in what was printed but line breaks.
#[track_caller]
fn is_safe(done: Done) -> Done {
    for text in [&done.out, &done.err] {
        let bad = text.chars().find(|letter| {
            (letter.is_control() && !matches!(letter, '\n' | '\r')) || *letter == '\u{202e}'
        });
        assert!(bad.is_none(), "{bad:?} in: {text:?}");
    }
    done
}

#[test]
fn names_cannot_send_escape_sequences_to_the_terminal() {
    let place = Place::new();
    let (source, program) = (format!("{NAME}.c"), format!("./{NAME}"));
    place.write(&source, PROGRAM);
    place
        .run(&[
            "cc",
            "-g",
            "-O1",
            "-D_GNU_SOURCE",
            "-pthread",
            &source,
            "-o",
            NAME,
        ])
        .succeeds();
    let run = |words: &[&str]| is_safe(place.run(words));
    run(&["profile", "-f", "--", &program, NAME]).succeeds();
    run(&["record", "-f", "--", &program, NAME]).succeeds();
    let (trace, profile) = (format!("{NAME}.rltrace"), format!("{NAME}.rlprof"));
    let out = run(&["info", &trace]).succeeds().out;
    assert!(out.contains(SHOWN) && out.contains("t\\u{1b}[2J"), "{out}");
    let by = ["--by", "line,object,thread,function,context,program"];
    let out = run(&[&["analyze", "-f", &trace][..], &by].concat())
        .succeeds()
        .out;
    assert!(out.contains(&format!("{SHOWN}.c:")), "{out}");
    assert!(out.contains("g\\u{1b}[2J"), "{out}");
    run(&["info", &profile]).succeeds();
    run(&["report", &profile, "--csv", "-", by[0], by[1]]).succeeds();
    run(&["report", &profile, "-f"]).succeeds();
    let json = run(&["report", &profile, "--json", "-", by[0], by[1]]).succeeds();
    json.prints(&["g\\u001b[2J\\u009b2J", "\\u202eb.c:"]);
    run(&["info", &trace, "--json", "-"]).succeeds();
    run(&["diff", &profile, &profile]).succeeds();
    run(&["diff", &profile, &profile, "--json", "-"]).succeeds();
    // A line of any machine fits in it.
    let rule = ["--fail-if", "misses@512 > 0"];
    run(&[&["check", &profile][..], &rule].concat()).fails(3);
    run(&[&["check", &profile, "--markdown", "-"][..], &rule].concat()).fails(3);
    run(&[&["check", &profile, "--json", "-"][..], &rule].concat()).fails(3);
    let part = format!("{NAME}.rlpart");
    run(&["shard", "1/1", &trace, "-o", &part]).succeeds();
    run(&["merge", &part, "-o", "merged"]).succeeds();
    run(&["convert", &trace, &format!("{NAME}.txt"), "--to", "text"]).succeeds();
}

#[test]
fn errors_show_names_as_escapes() {
    let place = Place::new();
    place.write(
        NAME,
        "no trace\u{1b}[2J of any kind, \u{9b}2J \u{0} at all\n",
    );
    for words in [
        &["analyze", "missing\u{1b}[2J"][..],
        &["analyze", NAME],
        &["analyze", "--format", "native", NAME],
        &["report", NAME],
        &["merge", NAME],
        &["check", NAME, "--fail-if", "misses@64 > 0"],
        &["profile", "--", "./missing\u{1b}[2J"],
        &["record", "--", NAME],
        &[
            "gpu",
            "run",
            NAME,
            "--entry",
            "f\u{1b}[2J",
            "--grid",
            "1",
            "--block",
            "1",
        ],
        &["gpu", "analyze", NAME],
        &["convert", NAME, "out\u{1b}[2J.u64"],
        &["report", "\u{1b}[2J", "--no-such\u{1b}[2J"],
        &["\u{1b}[2J"],
    ] {
        let done = is_safe(place.run(words));
        assert_ne!(done.code, 101, "{done:?}");
    }
}
