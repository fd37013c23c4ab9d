//! `reuselens report`.

mod common;

use common::{DIMENSIONS, Done, Json, Place, is_offline_page};
use parquet::file::reader::{FileReader, SerializedFileReader};

/// A folder with `count.rlprof` and the JSON that was written with it.
fn profiled() -> (Place, Json) {
    let place = Place::new();
    place.build("count/count.c", &["-pthread"]);
    let by = DIMENSIONS.join(",");
    let (_, json) = place.profile(&["--by", &by], &["./count", "200", "20"]);
    (place, json)
}

#[test]
fn a_report_says_what_the_run_said() {
    let (place, json) = profiled();
    let by = DIMENSIONS.join(",");
    let done = place
        .run(&["report", "count.rlprof", "--json", "-", "--by", &by])
        .succeeds();
    assert_eq!(Json::parse(&done.out).0, json.0);
    let page = place.text("count.html");
    place
        .run(&["report", "count.rlprof", "--html", "again.html", "-q"])
        .succeeds();
    assert!(place.text("again.html") == page);
    let run = place
        .run(&["profile", "-f", "--", "./count", "200", "20"])
        .succeeds();
    let again = place.run(&["report", "count.rlprof"]).succeeds();
    let summary = again.out.rsplit_once("Next:").unwrap().0;
    assert!(run.out.contains(summary), "{}\n---\n{}", run.out, again.out);
}

#[test]
fn every_grouping_can_be_had_from_one_profile() {
    let (place, json) = profiled();
    for by in DIMENSIONS {
        let done = place
            .run(&["report", "count.rlprof", "--csv", "-", "--by", by])
            .succeeds();
        let mut lines = done.out.lines();
        assert!(
            lines
                .next()
                .unwrap()
                .starts_with("by,name,accesses,cold,mean,max")
        );
        assert_eq!(lines.clone().count(), json.groups(by).len(), "{by}");
        assert!(
            lines.all(|line| line.starts_with(&format!("{by},"))),
            "{}",
            done.out
        );
        let name = json.groups(by)[0].name.clone();
        place
            .run(&["report", "count.rlprof", "--by", by])
            .succeeds()
            .prints(&[&name]);
    }
}

#[test]
fn tables_have_a_row_per_group() {
    let (place, json) = profiled();
    let words = [
        "report",
        "count.rlprof",
        "--parquet",
        "groups.parquet",
        "--by",
        "line,object",
    ];
    place.run(&words).succeeds();
    let file = std::fs::File::open(place.path("groups.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let rows = json.groups("line").len() + json.groups("object").len();
    assert_eq!(reader.metadata().file_metadata().num_rows() as usize, rows);
    place
        .run(&words)
        .fails(1)
        .says(&["groups.parquet", "exists already"]);
}

#[test]
fn the_summary_is_printed_unless_something_else_is_asked_for() {
    let (place, _) = profiled();
    let summary = "accesses to";
    place
        .run(&["report", "count.rlprof"])
        .succeeds()
        .prints(&[summary, "Next: "]);
    let done = place
        .run(&["report", "count.rlprof", "--json", "x.json"])
        .succeeds();
    assert!(!done.out.contains(summary), "{}", done.out);
    let words = ["report", "count.rlprof", "--text", "--csv", "x.csv"];
    place.run(&words).succeeds().prints(&[summary]);
    let done = place
        .run(&["report", "count.rlprof", "--text", "--json", "-"])
        .succeeds();
    Json::parse(&done.out);
    assert_eq!(
        place.run(&["report", "count.rlprof", "-q"]).succeeds().out,
        ""
    );
}

#[test]
fn top_and_verbose_lengthen_the_tables() {
    let (place, _) = profiled();
    let lines = |options: &[&str]| {
        let words = [&["report", "count.rlprof", "--by", "instruction"], options].concat();
        place.run(&words).succeeds().out.lines().count()
    };
    assert!(lines(&["--top", "1"]) < lines(&["--top", "3"]));
    assert_eq!(lines(&["--top", "1", "-v"]), lines(&["--top", "2"]));
    assert_eq!(lines(&["--top", "1", "-vv"]), lines(&["--top", "4"]));
}

#[test]
fn caches_are_sizes_or_names() {
    let (place, _) = profiled();
    place
        .run(&["report", "count.rlprof", "--cache", "4K"])
        .succeeds()
        .prints(&["4 KiB"]);
    place
        .run(&["report", "count.rlprof", "--cache", "1.5MiB"])
        .ends_with(0);
    place
        .run(&["report", "count.rlprof", "--cache", "huge"])
        .fails(2)
        .says(&["48K", "2MiB"]);
}

#[test]
fn sources_go_into_the_page_only_when_asked_for() {
    let (place, _) = profiled();
    let line = "the compiler may\n * neither drop";
    assert!(
        std::fs::read_to_string(common::source("count/count.c"))
            .unwrap()
            .contains(line)
    );
    place
        .run(&["report", "count.rlprof", "--html", "without.html"])
        .succeeds();
    let file = common::source("count/count.c");
    let folder = file.trim_end_matches("/count.c");
    place
        .run(&[
            "report",
            "count.rlprof",
            "--html",
            "with.html",
            "--embed-source",
            "--source-folder",
            folder,
        ])
        .succeeds();
    let code = "uint32_t value = row[i]";
    assert!(!place.text("without.html").contains(code));
    // A profile may be from anybody and name any file, so one elsewhere is not taken unless its folder was named.
    place
        .run(&[
            "report",
            "count.rlprof",
            "--html",
            "other.html",
            "--embed-source",
        ])
        .succeeds()
        .says(&["left out of the page", "--source-folder"]);
    assert!(!place.text("other.html").contains(code));
    assert!(place.text("with.html").contains(code));
    is_offline_page(&place.read("with.html"));
}

#[test]
fn what_is_no_whole_profile_is_told() {
    let (place, _) = profiled();
    let whole = place.read("count.rlprof");
    place
        .run(&["report", "no.rlprof"])
        .fails(1)
        .says(&["cannot read no.rlprof", "reuselens profile"]);
    for length in [0, 1, 7, 8, 20, whole.len() / 2, whole.len() - 1] {
        place.write("cut.rlprof", &whole[..length]);
        place
            .run(&["report", "cut.rlprof"])
            .fails(1)
            .says(&["cut.rlprof"]);
    }
    for position in (0..whole.len()).step_by(whole.len() / 20) {
        let mut bytes = whole.clone();
        bytes[position] ^= 0x40;
        place.write("bad.rlprof", bytes);
        place
            .run(&["report", "bad.rlprof"])
            .fails(1)
            .says(&["bad.rlprof"]);
    }
    place.write("long.rlprof", [&whole[..], b"more"].concat());
    place.run(&["report", "long.rlprof"]).fails(1);
    place.write("trace.txt", "a b c");
    place
        .run(&["report", "trace.txt"])
        .fails(1)
        .says(&["not a reuselens profile", "reuselens analyze"]);
}

#[test]
fn a_reader_that_has_heard_enough_is_no_failure() {
    let (place, _) = profiled();
    for words in [
        &["report", "count.rlprof"][..],
        &["formats"],
        &["engines"],
        &["man"],
        &["--help"],
        &["completions", "bash"],
        &["report", "count.rlprof", "--csv", "-"],
    ] {
        let mut child = place
            .command(words)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let done = Done::from(child.wait_with_output().unwrap()).succeeds();
        assert_eq!(done.err, "", "{words:?}");
    }
}

#[test]
fn other_files_are_told_with_what_to_type() {
    let place = Place::new();
    place.build("count/count.c", &["-pthread"]);
    place
        .run(&["record", "-q", "--", "./count", "10", "3"])
        .succeeds();
    for what in ["one.rlprof", "two.rlprof"] {
        place
            .run(&["analyze", "-q", "count.rltrace", "-o", what])
            .succeeds();
    }
    let told: [(&[&str], i32, &str); 6] = [
        (
            &["report", "count.rltrace"],
            1,
            "`reuselens analyze count.rltrace`",
        ),
        (
            &["diff", "one.rlprof", "count.rltrace"],
            1,
            "`reuselens analyze count.rltrace`",
        ),
        (&["report", "./count"], 1, "`reuselens profile -- ./count`"),
        (&["analyze", "./count"], 1, "`reuselens profile -- ./count`"),
        (
            &["profile", "count.rltrace"],
            1,
            "reuselens analyze count.rltrace",
        ),
        (
            &["report", "one.rlprof", "two.rlprof"],
            2,
            "reuselens diff one.rlprof two.rlprof",
        ),
    ];
    // What stands behind the program's name is not ours.
    for verb in ["profile", "record"] {
        let words = [verb, "--", "./count", "10", "3", "--force"];
        place.run(&words[..5]);
        place.run(&words).fails(1).says(&["put it before"]);
    }
    place
        .run(&["./count"])
        .fails(2)
        .says(&["reuselens profile -- ./count"]);
    place
        .run(&["profile", "--thread", "1", "--", "./count"])
        .fails(2)
        .says(&["reuselens analyze NAME.rltrace"]);
    for (words, code, say) in told {
        place.run(words).ends_with(code).says(&[say]);
    }
}
