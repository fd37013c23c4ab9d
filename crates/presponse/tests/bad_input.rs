//! Bad input and full disks: what each command says, and what it leaves.

use std::fs::{File, OpenOptions};
use std::process::{Command, Output};

use serde_json::Value;

use crate::common::Place;

const GRAPH: &str = "10 20\n20 30\n30 40\n40 50\n30 50\n";

#[test]
fn bad_input_is_a_message_with_a_line_and_what_to_do() {
    let place = Place::new();
    place.write("graph", GRAPH);
    place.write("names", "anna ben\n");
    place.write("cut.graph", "3 2\n2\n");
    place.write("stream", "+ 1 2\n+ 1\n");
    place.write("untimed", "+ 1 2\n");
    place.write("empty", "");
    place.write("binary", "\u{7f}ELF\0\0 \n\0");
    for (line, code, wanted) in [
        (
            "run none --stream stream",
            1,
            "there is no such file; `presponse generate",
        ),
        ("run graph --stream none", 1, "there is no such file"),
        (
            "run graph --stream untimed -o none/page.html",
            1,
            "No such file or directory",
        ),
        (
            "run names --stream stream",
            1,
            "line 1: 'anna' is no id of a vertex",
        ),
        (
            "run cut.graph --stream stream",
            1,
            "line 2: the file ends after 1 of 3",
        ),
        (
            "run graph --stream stream",
            1,
            "the stream stream: line 2: '+ 1' has too few",
        ),
        (
            "run graph --stream untimed --every 5",
            2,
            "line 1 has no time",
        ),
        ("run empty --stream untimed", 1, "empty is empty"),
        (
            "run binary --stream stream",
            1,
            "the file is binary or UTF-16; graphs and streams are text",
        ),
        (
            "run graph --stream binary",
            1,
            "the stream binary: line 1: the file is binary",
        ),
        (
            "run graph --stream stream --batch -5",
            2,
            "invalid value '-5' for '--batch <N>'",
        ),
        (
            "generate delaunay --vertices -1",
            2,
            "invalid value '-1' for '--vertices <VERTICES>'",
        ),
        ("run - --stream -", 2, "cannot both be standard input"),
        (
            "run graph --stream untimed -o graph",
            1,
            "it is read or run here",
        ),
        ("run graph --stream untimed -f -o graph", 1, "would be lost"),
        (
            "run graph --stream untimed --format x",
            2,
            "formats are edges, ",
        ),
        ("run graph --stream untimed --batch 0", 2, "--batch"),
        ("generate delaunay --vertices 2", 2, "needs 3 vertices"),
        (
            "generate rmat --scale 31 --degree 64",
            2,
            "2^36 are the most",
        ),
        (
            "generate erdos-renyi --directed --vertices 4000000000 --edges 9000000000000000000",
            2,
            "2^36 are the most",
        ),
        (
            "generate barabasi-albert --vertices 4294967295 --each 2147483647",
            2,
            "at most 4294967294 vertices",
        ),
        ("serve --socket s --sync 5", 2, "--state"),
        ("serve --socket s --snapshot-every 5", 2, "--state"),
        ("serve --socket s --max-clients 0", 2, "--max-clients"),
        ("generate changes graph --deletions 2", 2, "from 0 to 1"),
        ("generate window untimed --length 5", 2, "line 1 has none"),
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let (found, error) = place.fail(&arguments);
        assert!(
            found == code && error.contains(wanted),
            "{line}: {found} {error}"
        );
        assert!(!error.contains("panicked"), "{error}");
        assert!(!error.contains("os error"), "{error}");
    }
}

/// A file on a disk that is always full.
fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

#[test]
fn an_error_that_cannot_be_written_is_still_an_error() {
    let place = Place::new();
    let mut command = crate::common::presponse(&["run", "nothing", "--stream", "nowhere"]);
    let status = command
        .current_dir(place.path(""))
        .stderr(full())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn usage_errors_show_control_characters_as_escapes() {
    let place = Place::new();
    let (code, error) = place.fail(&["run", "--\u{9b}x"]);
    assert_eq!(code, 2);
    assert!(error.contains(r"'--\u{9b}x'"), "{error}");
}

/// Standard error of a run that fails because its standard output is full.
fn fail_when_full(place: &Place, arguments: &[&str]) -> String {
    let mut command = crate::common::presponse(arguments);
    command.current_dir(place.path("")).stdout(full());
    let output = command.output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
    error
}

#[test]
fn full_standard_output_is_named() {
    let place = Place::new();
    place.write("graph", GRAPH);
    place.write("stream", "+ 1 2\n");
    place.succeed(&["generate", "delaunay", "--vertices", "2000", "-o", "large"]);
    let run = ["run", "graph", "--stream", "stream"];
    for arguments in [
        run.to_vec(),
        [&run[..], &["--json", "-"]].concat(),
        [&run[..], &["--answers", "-"]].concat(),
        vec!["compare", "graph", "--stream", "stream", "--no-peers"],
        vec!["generate", "delaunay", "--vertices", "50"],
        vec!["export", "graph", "--stream", "stream"],
        // These fail before the last bytes.
        vec!["generate", "delaunay", "--vertices", "2000"],
        vec!["export", "large", "--stream", "stream"],
    ] {
        let error = fail_when_full(&place, &arguments);
        assert!(
            error.contains("cannot write to standard output: No space left"),
            "{arguments:?}: {error}"
        );
    }
}

/// Runs the binary where no file may be longer than this many KiB, which stands for a full disk.
fn run_with_limit(place: &Place, kibibytes: u32, arguments: &str) -> Output {
    let binary = env!("CARGO_BIN_EXE_presponse");
    // The shell ignores the signal, so that writing fails.
    let script = format!("trap '' XFSZ; ulimit -f {kibibytes}; exec {binary} {arguments}");
    let mut command = Command::new("bash");
    command.args(["-c", &script]).current_dir(place.path(""));
    command.output().unwrap()
}

#[test]
fn full_disk_is_an_error_and_leaves_no_part_of_a_file() {
    let place = Place::new();
    for (vertices, file) in [("2000", "graph"), ("40000", "large")] {
        place.succeed(&["generate", "delaunay", "--vertices", vertices, "-o", file]);
    }
    place.succeed(&[
        "generate", "changes", "graph", "--count", "2000", "-o", "stream",
    ]);
    for (arguments, file) in [
        ("generate rmat --scale 10 -o new", "new"),
        ("generate changes graph --count 2000 -o new", "new"),
        ("export graph --stream stream -o new", "new"),
        // This one fails before the last bytes.
        ("export large --stream stream -o new", "new"),
        ("run graph --stream stream --answers new", "new"),
        ("run graph --stream stream -o page.html", "page.html"),
        (
            "run graph --stream stream --quiet --force --answers stream.old",
            "stream.old",
        ),
    ] {
        let old = place.write("stream.old", "kept");
        let output = run_with_limit(&place, 4, arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}: {error}");
        // The path of a file that is replaced is shown in full.
        let wanted = format!("{file}: File too large");
        assert!(
            error.contains("cannot write ") && error.contains(&wanted),
            "{error}"
        );
        assert!(error.contains("free some space"), "{error}");
        assert_eq!(std::fs::read_to_string(old).unwrap(), "kept");
        let mut files: Vec<_> = std::fs::read_dir(place.path("")).unwrap().collect();
        files.retain(|entry| {
            entry
                .as_ref()
                .is_ok_and(|entry| entry.file_name() != "stream.old")
        });
        assert_eq!(files.len(), 3, "{arguments}: {files:?}");
    }
}

#[test]
fn packed_files_that_are_cut_off_are_errors() {
    let place = Place::new();
    place.succeed(&["generate", "delaunay", "--vertices", "3000", "-o", "graph"]);
    place.succeed(&[
        "generate", "changes", "graph", "--count", "3000", "-o", "stream",
    ]);
    for name in ["graph", "stream"] {
        let packed = Command::new("gzip")
            .arg("-c")
            .arg(place.path(name))
            .output()
            .unwrap();
        let bytes = packed.stdout;
        std::fs::write(place.path(&format!("{name}.gz")), &bytes).unwrap();
        std::fs::write(
            place.path(&format!("{name}.cut.gz")),
            &bytes[..bytes.len() / 2],
        )
        .unwrap();
    }
    let all = place.succeed(&["run", "graph", "--stream", "stream", "--answers", "-"]);
    let packed = ["run", "graph.gz", "--stream", "stream.gz", "--answers", "-"];
    assert_eq!(place.succeed(&packed), all);
    for arguments in [
        ["run", "graph.cut.gz", "--stream", "stream"],
        ["run", "graph", "--stream", "stream.cut.gz"],
    ] {
        let (code, error) = place.fail(&arguments);
        assert!(
            code == 1 && error.contains("its gzip data is cut off"),
            "{error}"
        );
    }
}

#[test]
fn loops_repeats_and_absent_edges_change_nothing() {
    let place = Place::new();
    place.write("graph", "1 2\n2 1\n1 2\n3 3\n18446744073709551615 1\n");
    place.write(
        "stream",
        "- 5 6\n+ 1 2\n+ 4 4\n- 4 4\n- 1 2\n+ 2 1\n- 2 3\n",
    );
    let run = [
        "run", "graph", "--stream", "stream", "--batch", "7", "--verify",
    ];
    let text = place.succeed(&run);
    for wanted in [
        // The id of the loop, too, is a vertex.
        "4 vertices, 2 edges (undirected); 1 self loop left out; 2 repeats left out",
        "0 edges inserted, 0 deleted",
        "All answers equal recomputed ones",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let json = place.succeed(&[&run[..], &["--json", "-"]].concat());
    let json: Value = serde_json::from_str(&json).unwrap();
    // Vertices that are only named by a change exist from then on.
    assert_eq!((&json["vertices"], &json["edges"]), (&7.into(), &2.into()));
    // One by one, the edge goes and comes back.
    let single = [
        "run", "graph", "--stream", "stream", "--batch", "1", "--verify",
    ];
    assert!(
        place
            .succeed(&single)
            .contains("1 edge inserted, 1 deleted")
    );
}

#[test]
fn ids_beyond_64_bits_are_refused_with_their_line() {
    let place = Place::new();
    place.write("graph", "1 2\n");
    place.write("large", "1 2\n1 18446744073709551616\n");
    for arguments in [
        ["run", "large", "--stream", "graph"],
        ["run", "graph", "--stream", "large"],
    ] {
        let (code, error) = place.fail(&arguments);
        let wanted = "line 2: '18446744073709551616'";
        assert!(code == 1 && error.contains(wanted), "{error}");
        assert!(error.contains("below 2^64"), "{error}");
    }
}

#[test]
fn window_of_unsorted_times_is_warned_of() {
    let place = Place::new();
    // A window leaves out deletions, so their times do not matter.
    place.write("sorted", "1 2 5\n- 1 2 3\n2 3 10\n2 3 10\n");
    place.write("unsorted", "1 2 10\n2 3 5\n3 4 7\n");
    let window = |stream: &str| {
        let output = place.run(&["generate", "window", stream, "--length", "3"]);
        assert!(output.status.success());
        let [out, error] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        (out, error)
    };
    assert_eq!(window("sorted").1, "");
    let (out, error) = window("unsorted");
    let wanted = "2 records are earlier than one before, and got the latest time so far";
    assert!(error.contains(wanted), "{error}");
    assert_eq!(out, "+ 1 2 10\n+ 2 3 10\n+ 3 4 10\n");
}

/// A short file may announce billions of vertices.
#[test]
fn more_vertices_than_memory_are_refused() {
    let place = Place::new();
    let sizes = "200000000 200000000 1\n1 2\n";
    let head = "%%MatrixMarket matrix coordinate pattern general\n";
    place.write("large.mtx", &format!("{head}{sizes}"));
    place.write("stream", "+ 1 2\n");
    let mut shell = Command::new("sh");
    shell.args([
        "-c",
        "ulimit -v 4000000; \"$0\" run large.mtx --stream stream",
    ]);
    shell.arg(env!("CARGO_BIN_EXE_presponse"));
    let output = shell.current_dir(place.path("")).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("200,000,000 vertices need"), "{error}");
}

#[test]
fn closed_standard_output_is_an_error_of_every_command() {
    let place = Place::new();
    place.write("graph", GRAPH);
    place.write("stream", "+ 1 2\n- 10 20\n");
    for words in [
        "--help",
        "--version",
        "serve --help",
        "run graph --stream stream",
        "compare graph --stream stream",
        "speculate graph --stream stream",
        "generate delaunay --vertices 9",
        "export graph --stream stream",
        "serve graph --socket socket",
    ] {
        let line = format!("exec \"$0\" {words} >&-");
        let done = Command::new("sh")
            .args(["-c", &line, env!("CARGO_BIN_EXE_presponse")])
            .current_dir(place.path("."))
            .output()
            .unwrap();
        let error = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(1), "{words}: {error}");
        assert!(
            error.contains("cannot write to standard output: it is closed"),
            "{words}: {error}"
        );
    }
}
