//! `reuselens info`, and the options that choose a part of a trace.

use crate::common::{Json, Place, recorded};

fn info(place: &Place, words: &[&str]) -> Json {
    let words = [&["info", "--json", "-"], words].concat();
    Json::parse(&place.run(&words).succeeds().out)
}

fn accesses(place: &Place, words: &[&str]) -> u64 {
    let words = [
        &[
            "analyze",
            "-q",
            "-f",
            "--json",
            "-",
            "--granularity",
            "1",
            "count.rltrace",
        ],
        words,
    ]
    .concat();
    Json::parse(&place.run(&words).succeeds().out).number("accesses")
}

#[test]
fn info_lists_the_contents_of_a_recorded_trace() {
    let place = recorded();
    place.run(&["info", "count.rltrace"]).succeeds().prints(&[
        "native trace, version 5",
        "; complete",
        "accesses in",
        "bytes stored per access",
        "Processes\n",
        "exited with 0",
        "Threads\n",
        "Modules\n",
        "Next: reuselens analyze count.rltrace",
    ]);
    let found = info(&place, &["count.rltrace"]);
    assert_eq!(found.0["schema"], "reuselens-info/1");
    assert_eq!(found.0["format"], "native");
    assert_eq!(found.0["indexed"], true);
    assert!(found.number("accesses") > 0);
    assert!(found.number("rows") >= found.number("accesses"));
    // Reading all of it says the same as the index.
    place.run(&["convert", "count.rltrace", "c.txt"]).succeeds();
    let lines = place.text("c.txt").lines().count() as u64;
    assert_eq!(lines, found.number("accesses"));
}

#[test]
fn parts_add_up_to_the_complete_trace() {
    let place = recorded();
    let all = info(&place, &["count.rltrace"]).number("accesses");
    let part =
        |words: &[&str]| info(&place, &[&["count.rltrace"], words].concat()).number("accesses");
    assert_eq!(part(&["--until", "40%"]) + part(&["--from", "40%"]), all);
    assert_eq!(part(&["--until", "700"]) + part(&["--from", "700"]), all);
    assert_eq!(part(&["--thread", "0"]), all, "it has one thread");
    assert_eq!(part(&["--from", "@0%", "--until", "@100%"]), all);
    // What is analysed is what is counted.
    let whole = accesses(&place, &[]);
    let halves = accesses(&place, &["--until", "50%"]) + accesses(&place, &["--from", "50%"]);
    assert_eq!(halves, whole);
}

#[test]
fn report_of_a_part_is_marked_as_one() {
    let place = recorded();
    place
        .run(&["analyze", "count.rltrace", "--from", "10", "--until", "500"])
        .succeeds()
        .prints(&["only a part of the trace", "rows 10 to 500"]);
    let before = place.read("count.rlprof");
    for nowhere in [["--thread", "99"], ["--from", "99G"]] {
        place
            .run(&[&["analyze", "-f", "count.rltrace"][..], &nowhere].concat())
            .fails(2)
            .says(&["that was chosen", "reuselens info"]);
    }
    // What there was is not replaced by nothing.
    assert_eq!(place.read("count.rlprof"), before);
    let part = ["--from", "10", "--until", "500"];
    let words = [
        &["convert", "count.rltrace", "p.rltrace", "--to", "native"][..],
        &part,
    ]
    .concat();
    place.run(&words).succeeds();
    let copied = info(&place, &["p.rltrace"]).number("accesses");
    assert_eq!(
        copied,
        info(&place, &[&["count.rltrace"][..], &part].concat()).number("accesses")
    );
}

#[test]
fn truncated_trace_is_read_and_reported_incomplete() {
    let place = recorded();
    let whole = place.read("count.rltrace");
    place.write("cut.rltrace", &whole[..whole.len() - 30]);
    place.run(&["info", "cut.rltrace"]).ends_with(4).prints(&[
        "NOT COMPLETE",
        "missing: ",
        "cut off",
        "as it has no index",
    ]);
    let words = ["info", "cut.rltrace", "--json", "-"];
    let cut = Json::parse(&place.run(&words).ends_with(4).out);
    let all = info(&place, &["count.rltrace"]);
    assert_eq!(cut.number("rows"), all.number("rows"));
}

#[test]
fn info_reads_other_formats_profiles_and_standard_input() {
    let place = recorded();
    place.write("t.txt", "a b c a\nb c");
    place.run(&["info", "t.txt"]).succeeds().prints(&[
        "text trace",
        "6 accesses",
        "Next: reuselens analyze t.txt, or",
    ]);
    place.write("t.csv", "here;there\n1;2\n");
    let format = "csv:id=1,delimiter=;";
    place
        .run(&["info", "t.csv", "--format", format])
        .succeeds()
        .prints(&["Next: reuselens analyze --format 'csv:id=1,delimiter=;' t.csv, or a part"]);
    place
        .run_on("1 2 3", &["info", "-", "--format", "text"])
        .succeeds()
        .prints(&[
            "3 accesses",
            "save the trace to a file, then reuselens analyze --format text FILE",
        ]);
    place.run(&["analyze", "-q", "t.txt"]).succeeds();
    place.run(&["info", "t.rlprof"]).succeeds().prints(&[
        "a profile of",
        "6 accesses to 3 distinct",
        "Next: reuselens report t.rlprof",
    ]);
}

#[test]
fn invalid_positions_are_wrong_usage() {
    let place = Place::new();
    place.write("t.txt", "a b c a");
    for (words, says) in [
        (&["--from", "x"][..], "is no place"),
        (&["--from", "120%"], "is no share"),
        (&["--from", "3", "--until", "3"], "nothing lies between"),
        (&["--from", "@50%"], "has no times"),
    ] {
        let done = place.run(&[&["info", "t.txt"], words].concat());
        done.fails(2).says(&[says]);
    }
    let done = place.run_on("1 2 3", &["info", "-", "--from", "50%"]);
    done.fails(2).says(&["read only once"]);
}

#[test]
fn json_goes_to_a_file_that_is_not_overwritten() {
    let place = Place::new();
    place.write("t.txt", "a b c a");
    place
        .run(&["info", "t.txt", "--json", "i.json"])
        .succeeds()
        .prints(&["4 accesses"]);
    assert_eq!(place.json("i.json").number("rows"), 4);
    place
        .run(&["info", "t.txt", "--json", "i.json"])
        .fails(1)
        .says(&["--force"]);
    place
        .run(&["info", "t.txt", "--json", "i.json", "-f"])
        .succeeds();
}
