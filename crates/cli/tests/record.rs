//! `reuselens record`, and that a recorded run is analysed to what the run itself was.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{self, DIMENSIONS, Done, Place, counter, expected};

#[test]
fn analysis_of_a_recorded_run_equals_its_profile() {
    let place = counter();
    place.build("matmul/matmul.c", &[]);
    place.build("count/heap.c", &[]);
    let by = DIMENSIONS.join(",");
    for command in [
        &["./count", "300", "40"][..],
        &["./matmul", "tiled", "40"],
        &["./heap"],
    ] {
        let options = ["--by", &by, "--bins", "exact"];
        let (_, profiled) = place.profile(&options, command);
        let words = [&["record", "-f", "-o", "run.rltrace", "--"], command].concat();
        place.run(&words).succeeds().prints(&[
            "run.rltrace: ",
            " rows in ",
            "Next: reuselens analyze",
        ]);
        let words = [
            &["analyze", "-q", "-f", "--json", "run.json", "run.rltrace"],
            &options[..],
        ]
        .concat();
        place.run(&words).succeeds();
        assert_eq!(
            place.json("run.json").without_command(),
            profiled.without_command()
        );
    }
}

#[test]
fn threads_forks_and_crashes_are_recorded_completely() {
    let place = counter();
    place.build("count/forking.c", &[]);
    place.build("count/crash.c", &[]);
    for command in [
        &["./count", "100", "40", "5"][..],
        &["./forking"],
        &["./crash", "kill"],
    ] {
        let words = "record -q -f --ignore-status -o run.rltrace --";
        let words: Vec<&str> = words.split(' ').chain(command.iter().copied()).collect();
        let done = place.run(&words).succeeds();
        for kind in ["loads", "stores"] {
            let options = [
                "analyze",
                "-q",
                "-f",
                "run.rltrace",
                "--by",
                "object",
                "--kind",
                kind,
            ];
            place
                .run(&[&options[..], &["--json", "run.json"]].concat())
                .succeeds();
            for (object, count) in expected(&done.out, kind) {
                assert_eq!(
                    place.json("run.json").object(&object),
                    count,
                    "{kind}, {command:?}"
                );
            }
        }
    }
}

#[test]
fn one_trace_serves_every_granularity_and_filter() {
    let place = counter();
    place
        .run(&["record", "-q", "--", "./count", "200", "20"])
        .succeeds();
    for options in [
        &["--granularity", "8"][..],
        &["--granularity", "4K", "--kind", "stores"],
        &["--data", "static", "--engine", "olken"],
    ] {
        let (_, profiled) = place.profile(options, &["./count", "200", "20"]);
        let words = [
            &[
                "analyze",
                "-q",
                "-f",
                "count.rltrace",
                "--json",
                "count.json",
            ],
            options,
        ]
        .concat();
        place.run(&words).succeeds();
        assert_eq!(
            place.json("count.json").without_command(),
            profiled.without_command()
        );
    }
}

#[test]
fn program_that_fails_gives_its_status_unless_it_is_ignored() {
    let place = Place::new();
    place.build("count/crash.c", &[]);
    place.build("count/exit_middle.c", &[]);
    for (options, exit, abort) in [
        ("-q", 3, 134),
        ("--randomise", 3, 134),
        ("--ignore-status", 0, 0),
    ] {
        let words = ["record", "-f", options, "--", "./exit_middle"];
        let done = place.run(&words).ends_with(exit);
        let says_how = done.err.contains("exit_middle exited with status 3");
        assert_eq!(says_how, options != "-q", "{done:?}");
        place
            .run(&["record", "-f", options, "--", "./crash", "abort"])
            .ends_with(abort)
            .says(&["crash was ended by SIGABRT"]);
        // Both traces are complete.
        for trace in ["exit_middle.rltrace", "crash.rltrace"] {
            place.run(&["analyze", "-qf", trace]).succeeds();
        }
    }
    // The name that the default had when it was an option.
    place
        .run(&["record", "-qf", "--pass-status", "--", "./exit_middle"])
        .ends_with(3);
    let both = ["--pass-status", "--ignore-status"];
    let words = [&["record", "-qf"], &both[..], &["--", "./exit_middle"]].concat();
    place.run(&words).fails(2);
}

#[test]
fn a_trace_is_not_overwritten_without_force() {
    let place = counter();
    place.write("count.rltrace", "precious");
    let words = ["record", "-o", "count.rltrace", "--", "./count", "10", "10"];
    let done = place.run(&words).fails(1);
    done.clone()
        .says(&["count.rltrace", "exists already", "--force", "-o"]);
    assert!(
        !done.out.contains("expect"),
        "the program did not run: {}",
        done.out
    );
    assert_eq!(place.text("count.rltrace"), "precious");
    // Without a name of its own, the second trace gets a number.
    place
        .run(&["record", "-q", "--", "./count", "10", "10"])
        .succeeds();
    place.run(&["info", "count.2.rltrace"]).succeeds();
    assert_eq!(place.text("count.rltrace"), "precious");
    place
        .run(&["record", "-f", "--", "./count", "10", "10"])
        .succeeds();
    place.run(&["analyze", "-q", "count.rltrace"]).succeeds();
    let done = place
        .run(&["record", "-q", "-o", "other", "--", "./count", "10", "10"])
        .succeeds();
    assert!(
        done.out.lines().count() == 2 && done.err.is_empty(),
        "only the program's: {done:?}"
    );
    let expected = [
        "count",
        "count.2.rltrace",
        "count.html",
        "count.rlprof",
        "count.rltrace",
        "other",
    ];
    assert_eq!(place.files(), expected);
}

/// Starts recordings with these words of a program that waits for the end of its input, until each
/// has its partial file.
fn wait_for_input(place: &Place, words: &[&str], partial: &[&str]) -> Vec<Child> {
    let start = |_| {
        let mut command = place.command(&[words, &["--", "cat"]].concat());
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut children: Vec<Child> = partial.iter().map(start).collect();
    while !partial.iter().all(|name| place.path(name).exists()) {
        for child in &mut children {
            assert_eq!(child.try_wait().unwrap(), None, "a recording has ended");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    children
}

/// Ends their programs, and checks that all succeed.
fn end_inputs(children: Vec<Child>) {
    for mut child in children {
        drop(child.stdin.take());
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && said.is_empty(), "{said}");
    }
}

#[test]
fn recordings_at_once_get_a_number_each() {
    let place = Place::new();
    let partial = ["", ".2", ".3", ".4"].map(|number| format!("cat{number}.rltrace.partial"));
    let partial = partial.each_ref().map(String::as_str);
    end_inputs(wait_for_input(&place, &["record", "-q"], &partial));
    let names = ["cat.2", "cat.3", "cat.4", "cat"].map(|name| format!("{name}.rltrace"));
    assert_eq!(place.files(), names);
    for name in names {
        place
            .run(&["analyze", "-q", "-f", "-o", "a", &name])
            .succeeds();
    }
}

#[test]
fn recordings_at_once_into_one_file_leave_a_complete_one() {
    let place = Place::new();
    // What a recording that was killed has left is replaced.
    place.write("same.partial", "left");
    let partial = ["same.partial", "same.2.partial", "same.3.partial"];
    let words = ["record", "-q", "-f", "-o", "same"];
    end_inputs(wait_for_input(&place, &words, &partial));
    assert_eq!(place.files(), ["same"]);
    place.run(&["analyze", "-q", "-o", "a", "same"]).succeeds();
}

#[test]
fn name_of_a_running_recording_is_refused_before_the_program_runs() {
    let place = Place::new();
    let words = ["record", "-q", "-o", "same"];
    let running = wait_for_input(&place, &words, &["same.partial"]);
    let second = ["record", "-q", "-o", "same", "--", "touch", "it-ran"];
    place
        .run(&second)
        .fails(1)
        .says(&["cannot create same.partial", "exists already"]);
    end_inputs(running);
    assert_eq!(place.files(), ["same"]);
}

#[test]
fn trace_without_a_complete_chunk_says_that_nothing_was_recorded() {
    let place = Place::new();
    place
        .run(&["record", "-q", "-o", "t", "--", "true"])
        .succeeds();
    let bytes = place.read("t");
    for length in [1, 30, 150, 190] {
        place.write("t.partial", &bytes[..length]);
        let done = place
            .run(&["analyze", "--format", "native", "t.partial"])
            .fails(1);
        let said = ["nothing was recorded", "no complete chunk"];
        assert!(
            said.iter().any(|text| done.err.contains(text)),
            "{length}: {}",
            done.err
        );
    }
}

#[test]
fn failed_recording_leaves_no_files() {
    let place = Place::new();
    place
        .run(&["record", "--capture", "compiled-in", "--", "true"])
        .fails(1)
        .says(&["was not built with reuselens"]);
    place
        .run(&["record", "--", "./none"])
        .fails(1)
        .says(&["cannot run './none'"]);
    place
        .run(&["record", "-o", "no/such/place", "--", "true"])
        .fails(1)
        .says(&["cannot create no/such/place"]);
    place.run(&["record"]).fails(2).says(&["PROGRAM"]);
    assert!(place.files().is_empty(), "{:?}", place.files());
}

#[test]
fn a_full_disk_stops_with_a_reason() {
    let full = "/dev/full";
    if !std::path::Path::new(full).exists() {
        return reuselens_testing::skip(&format!("no {full}"));
    }
    let place = counter();
    let words = ["record", "-o", full, "--", "./count", "1000", "1000"];
    place.run(&words).fails(1).says(&[full, "No space left"]);
}

/// A program that goes on, hard to compress, until there is a file `stop` or half a minute is over.
const ENDLESS: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
static volatile uint64_t cells[1 << 16];
int main(void) {
    uint64_t place = 1;
    time_t begin = time(NULL);
    while (access("stop", F_OK) != 0 && time(NULL) - begin < 30)
        for (int i = 0; i < 100000; i++) {
            place = place * 6364136223846793005u + 1442695040888963407u;
            cells[place >> 48] = place;
        }
    return 0;
}
"#;

/// Records that program and waits until much of the trace is on the disk.
fn endless(place: &Place) -> Child {
    use std::os::unix::process::CommandExt;
    place.write("endless.c", ENDLESS);
    place
        .run(&["cc", "-O1", "endless.c", "-o", "endless"])
        .succeeds();
    let mut command = place.command(&["record", "-q", "-o", "run.rltrace", "--", "./endless"]);
    let child = command.process_group(0).spawn().unwrap();
    let begin = Instant::now();
    let size =
        || std::fs::metadata(place.path("run.rltrace.partial")).map_or(0, |about| about.len());
    while size() < 4 << 20 {
        assert!(
            begin.elapsed() < Duration::from_secs(25),
            "the trace does not grow"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn killed_recording_is_readable_up_to_the_kill() {
    let place = Place::new();
    let mut child = endless(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    place.write("stop", "");
    assert!(!place.path("run.rltrace").exists());
    let words = [
        "analyze",
        "run.rltrace.partial",
        "-o",
        "run",
        "--json",
        "run.json",
    ];
    place
        .run(&words)
        .ends_with(4)
        .prints(&["cut off", "everything before it was read"]);
    let json = place.json("run.json");
    assert_eq!(json.warnings(), ["truncated"]);
    assert!(
        json.number("accesses") > 100_000,
        "{}",
        json.number("accesses")
    );
}

#[test]
fn an_interrupt_ends_the_program_and_completes_the_trace() {
    // Ctrl-C goes to the whole group; a wish to end, as a rule, to us alone.
    for (signal, number, group) in [("-INT", 2, "-"), ("-TERM", 15, ""), ("-TERM", 15, "-")] {
        if common::is_ignored(number) {
            println!("SIG{} is ignored here, by the program too", &signal[1..]);
            continue;
        }
        let place = Place::new();
        let mut child = endless(&place);
        let whom = format!("{group}{}", child.id());
        let sent = Command::new("kill").args([signal, "--", &whom]).status();
        assert!(sent.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(128 + number));
        place
            .run(&["analyze", "-q", "run.rltrace", "--json", "run.json"])
            .succeeds();
        let json = place.json("run.json");
        assert_eq!(json.0["outcome"]["signal"], number);
        assert_eq!(json.warnings(), [""; 0]);
        assert!(!place.path("run.rltrace.partial").exists());
    }
}

/// A program may change the world: it is not started if its trace has no place.
#[test]
fn unwritable_trace_fails_before_the_program_runs() {
    let place = Place::new();
    let words = ["record", "-o", "nowhere/x", "--", "touch", "ran"];
    place
        .run(&words)
        .fails(1)
        .says(&["cannot create nowhere/x", "create its directory first"]);
    assert!(place.files().is_empty(), "{:?}", place.files());
}

#[test]
fn program_that_is_a_pipe_is_refused() {
    let place = Place::new();
    let mut mkfifo = std::process::Command::new("mkfifo");
    let made = mkfifo.args(["-m", "755"]).arg(place.path("pipe")).status();
    assert!(made.unwrap().success());
    let refused = place.run(&["record", "--", "./pipe"]).fails(1);
    refused.says(&["it is no regular file"]);
    let refused = place
        .run(&["record", "--function", "main", "--", "./pipe"])
        .fails(1);
    refused.says(&["it is no regular file"]);
}

#[test]
fn limit_on_address_space_is_named_when_rewriting_fails() {
    let place = Place::new();
    // Room for the shared memory, and none for rewritten code.
    let script = "ulimit -v 700000; exec \"$0\" record -o run -- true";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_reuselens")]);
    let done = common::Done::of(shell.current_dir(place.path("."))).fails(1);
    assert!(!done.err.contains("killed"), "{}", done.err);
    done.says(&["address space is limited to", "ulimit -v unlimited"]);
}

/// The system takes any bytes as a name, and the program's own is in what it says of a process.
#[test]
fn names_that_are_not_utf8_keep_their_bytes() {
    let name = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    let place = Place::new();
    let source = "static double table[1000];\nint main(void) {\n    for (int r = 0; r < 5; r++)\n        \
                  for (int i = 0; i < 1000; i++) table[i] += i;\n    return table[7] < 0;\n}\n";
    place.write("w.c", source);
    let mut gcc = Command::new("gcc");
    gcc.args(["-g", "-O1", "w.c", "-o", "plain"]);
    Done::of(gcc.current_dir(place.path(""))).succeeds();
    place
        .run(&["cc", "-g", "-O1", "w.c", "-o", "hooks"])
        .succeeds();
    let folder = place.path("").join(name(b"d\xe9r"));
    std::fs::create_dir(&folder).unwrap();
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    for built in ["plain", "hooks"] {
        let program = folder.join(name(b"pr\xf6g"));
        std::fs::copy(place.path(built), &program).unwrap();
        let options = [
            "profile", "-q", "-f", "--by", "object", "--json", "p.json", "--",
        ];
        let command = [words(&options), vec![program.clone().into()]].concat();
        place.run(&command).succeeds();
        let accesses = place.json("p.json").accesses("object", "table (w.c)");
        assert!((10_000..=10_001).contains(&accesses), "{built}: {accesses}");
        let command = [words(&["record", "-q", "-f", "--"]), vec![program.into()]].concat();
        place.run(&command).succeeds();
        let trace = name(b"pr\xf6g.rltrace");
        let held = place
            .run(&[OsString::from("info"), trace.clone()])
            .succeeds()
            .out;
        assert!(held.contains("exited with 0"), "{held}");
        assert!(!held.contains("cut-short"), "{held}");
        let options = ["analyze", "-q", "-f", "--by", "object", "--json", "a.json"];
        place
            .run(&[words(&options), vec![trace]].concat())
            .succeeds();
        let recorded = place.json("a.json").accesses("object", "table (w.c)");
        assert_eq!(recorded, accesses, "{built}");
    }
    let files = std::fs::read_dir(place.path("")).unwrap();
    let files: Vec<OsString> = files.map(|entry| entry.unwrap().file_name()).collect();
    for file in [&b"pr\xf6g.rlprof"[..], b"pr\xf6g.html", b"pr\xf6g.rltrace"] {
        assert!(files.contains(&name(file)), "{files:?}");
    }
    let replaced = "\u{fffd}".as_bytes();
    let has_lost = |file: &OsString| file.as_bytes().windows(3).any(|three| three == replaced);
    assert!(!files.iter().any(has_lost), "{files:?}");
}
