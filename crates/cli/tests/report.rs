//! `reuselens report`.

use std::process::Command;

use crate::common::{self, DIMENSIONS, Done, Json, Place, counter, has, is_offline_page};
use parquet::file::reader::{FileReader, SerializedFileReader};

/// A folder with `count.rlprof` and the JSON that was written with it.
fn profiled() -> (Place, Json) {
    let place = counter();
    let by = DIMENSIONS.join(",");
    let (_, json) = place.profile(&["--by", &by], &["./count", "200", "20"]);
    (place, json)
}

#[test]
fn report_repeats_the_warnings_of_the_run() {
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
fn one_profile_gives_every_grouping() {
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
    for (cache, say) in [("48K:7", "ways"), ("48K:0", "48K:12"), ("48K:x", "48K:12")] {
        place
            .run(&["report", "count.rlprof", "--cache", cache])
            .fails(2)
            .says(&[say]);
    }
}

#[test]
fn output_format_follows_the_ending() {
    let place = Place::new();
    place.write("t.txt", "a b c ".repeat(3));
    place.run(&["analyze", "-q", "t.txt"]).succeeds();
    for name in ["x.html", "x.json", "x.csv", "x.parquet", "x.svg", "x.png"] {
        place.run(&["report", "t.rlprof", "-o", name]).succeeds();
        let option = format!("--{}", name.rsplit_once('.').unwrap().1);
        let words = ["report", "t.rlprof", &option, "same"];
        place.run(&[&words[..], &["-f"]].concat()).succeeds();
        assert!(place.read(name) == place.read("same"), "{name}");
    }
    let fails = |more: &[&str], code: i32, say: &str| {
        place
            .run(&[&["report", "t.rlprof"], more].concat())
            .fails(code)
            .says(&[say]);
    };
    fails(&["-o", "x.json"], 1, "exists already");
    fails(&["-o", "x.doc"], 2, ".parquet, .svg, .png");
    fails(&["-o", "y.json", "--json", "-"], 2, "-o and --json");
}

/// Of `a b c a b c a b c`: 3 first accesses, and 6 at distance 2.
#[test]
fn curve_and_histogram_are_exported_as_csv_and_svg() {
    let place = Place::new();
    place.write("t.txt", "a b c ".repeat(3));
    place.run(&["analyze", "-q", "t.txt"]).succeeds();
    let export = |option: &str| {
        place
            .run(&["report", "t.rlprof", option, "-"])
            .succeeds()
            .out
    };
    assert_eq!(
        export("--csv-curve"),
        "items,bytes,misses,miss_ratio\r\n1,1,9,1\r\n2,2,9,1\r\n3,3,3,0.3333333333333333\r\n"
    );
    let histogram = "low,high,low_bytes,high_bytes,accesses\r\n2,3,2,3,6\r\n,,,,3\r\n";
    assert_eq!(export("--csv-histogram"), histogram);
    let picture = export("--svg");
    assert!(picture.starts_with("<svg xmlns=") && picture.contains("items in the cache"));
    assert!(picture.ends_with("</svg>\n") && !picture.contains("<script"));
    place
        .run(&["report", "t.rlprof", "--png", "curve.png"])
        .succeeds();
    let pixels = place.read("curve.png");
    assert!(pixels.starts_with(b"\x89PNG\r\n\x1a\n") && pixels.ends_with(b"IEND\xaeB`\x82"));
    place
        .run(&["report", "t.rlprof", "--svg", "-", "--csv-curve", "-"])
        .fails(2)
        .says(&["only one export"]);
}

/// The viewer that comes with valgrind reads the file, and finds the accesses of the profile in it.
#[test]
fn exports_for_viewers_are_read_by_them() {
    if !common::has("gcc") || !common::has("valgrind") {
        return;
    }
    let place = Place::new();
    let source = "int a[4096]; static int sum(void) { int s = 0; for (int i = 0; i < 4096; i++) s += a[i]; return s; }\n\
                  int main(void) { return sum() & 1; }\n";
    place.write("sum.c", source);
    place
        .run(&["cc", "-g", "-O1", "-fno-inline", "sum.c", "-o", "sum"])
        .succeeds();
    let exports = ["--export", "sum.folded", "--export", "callgrind.out.sum"];
    let profile = ["profile", "-q", "--ignore-status"];
    place
        .run(&[&profile[..], &exports, &["--", "./sum"]].concat())
        .succeeds();
    let folded = String::from_utf8(place.read("sum.folded")).unwrap();
    assert!(folded.contains("main;sum;sum.c:1;a (sum.c) "), "{folded}");
    let annotate = Command::new("callgrind_annotate")
        .args(["callgrind.out.sum", "--threshold=100"])
        .current_dir(place.path("."))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&annotate.stdout);
    let line = text.lines().find(|line| line.contains("sum.c:sum"));
    assert!(
        line.is_some_and(|line| line.trim().starts_with("4,096")),
        "{text}"
    );
    place
        .run(&["report", "sum.rlprof", "-o", "sum.speedscope.json"])
        .succeeds();
    let file = String::from_utf8(place.read("sum.speedscope.json")).unwrap();
    assert!(
        file.contains("speedscope.app/file-format-schema.json"),
        "{file}"
    );
    place
        .run(&["report", "sum.rlprof", "--export", "sum.flame"])
        .fails(2)
        .says(&["sum.flame", ".folded", ".callgrind", ".speedscope.json"]);
}

/// The tables are as wide as the terminal, which `script` makes.
#[test]
fn summary_is_as_wide_as_the_terminal() {
    if !common::has("script") || !common::has("stty") {
        return;
    }
    let place = Place::new();
    place.write("t.txt", "a b c ".repeat(3));
    place.run(&["analyze", "-q", "t.txt"]).succeeds();
    let widest = |columns: u32| {
        let program = env!("CARGO_BIN_EXE_reuselens");
        let typed = format!("stty cols {columns} rows 40; NO_COLOR=1 '{program}' report t.rlprof");
        let mut command = std::process::Command::new("script");
        command
            .args(["-qec", &typed, "typescript"])
            .env_remove("COLUMNS");
        command.current_dir(place.path(""));
        command.stdin(std::process::Stdio::null());
        let out = Done::of(&mut command).succeeds().out;
        let lines = out.lines().filter(|line| !line.starts_with("Next:"));
        lines
            .map(|line| line.trim_end().chars().count())
            .max()
            .unwrap()
    };
    let (narrow, wide) = (widest(64), widest(140));
    assert!(narrow <= 64 && wide > 100 && wide <= 140, "{narrow} {wide}");
}

/// A cache with sets stands beside those of the machine, with what the model says of it, worked out
/// here by hand.
#[test]
fn a_cache_with_ways_is_reported_with_its_sets() {
    let place = Place::new();
    // 100 accesses at distance 4 after 5 first ones.
    place.write("t.txt", "a b c d e ".repeat(21));
    place.run(&["analyze", "-q", "t.txt"]).succeeds();
    let words = ["report", "t.rlprof", "--cache", "8:2"];
    let done = place.run(&words).succeeds();
    done.prints(&[
        "What misses in the cache asked for",
        "8 items 2-way",
        "with its sets, about",
    ]);
    let json = place
        .run(&[&words[..], &["--json", "-"]].concat())
        .succeeds();
    let json = Json::parse(&json.out).0;
    let cache = json["caches"].as_array().unwrap().last().unwrap();
    // It has 4 sets of 2 lines: a hit has 0 or 1 of the 4 others in its set, (3/4)^4 + 4 (1/4)
    // (3/4)^3.
    let hit = 0.75_f64.powi(4) + 0.75_f64.powi(3);
    let misses = (5.0 + 100.0 * (1.0 - hit)).round();
    assert_eq!((&cache["ways"], &cache["misses"]), (&2.into(), &5.into()));
    let ratio = cache["set_associative_miss_ratio"].as_f64().unwrap();
    assert!((ratio - misses / 105.0).abs() < 1e-9, "{ratio} {misses}");
    let plain = place
        .run(&["report", "t.rlprof", "--cache", "8", "--json", "-"])
        .succeeds();
    // Of the cache asked for; this machine's own caches may have any number of ways.
    let cache = Json::parse(&plain.out).0["caches"].take();
    let cache = cache.as_array().unwrap().last().unwrap();
    assert_eq!((&cache["items"], cache.get("ways")), (&8.into(), None));
}

/// What the pages of `count` hold of its source.
const SOURCE_LINE: &str = "uint32_t value = row[i]";

#[test]
fn page_holds_source_files_of_the_project_only() {
    let (place, _) = profiled();
    let file = common::source("count/count.c");
    assert!(
        std::fs::read_to_string(&file)
            .unwrap()
            .contains(SOURCE_LINE)
    );
    let folder = file.trim_end_matches("/count.c");
    let page = |name: &str, options: &[&str]| {
        let command = ["report", "count.rlprof", "--html", name];
        let done = place.run(&[&command, options].concat()).succeeds();
        is_offline_page(&place.read(name));
        (done, place.text(name).contains(SOURCE_LINE))
    };
    // A profile may be from anybody and name any file, so one elsewhere is not taken unless its
    // folder was named.
    assert!(!page("without.html", &[]).1);
    assert!(page("named.html", &["--source-folder", folder]).1);
    let (done, has_source) = page("other.html", &["--embed-source"]);
    done.says(&["left out of the page", "--source-folder"]);
    assert!(!has_source);
}

#[test]
fn page_of_a_program_holds_its_source_unless_refused() {
    let place = Place::new();
    if !has("gcc") {
        return;
    }
    for folder in ["project/.git", "project/build", "other"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    std::fs::copy(
        common::source("count/count.c"),
        place.path("project/count.c"),
    )
    .unwrap();
    let compiled = Command::new("gcc")
        .args(["-g", "-pthread", "../count.c", "-o", "../count"])
        .current_dir(place.path("project/build"))
        .status();
    assert!(compiled.unwrap().success());
    for (folder, options, has_source) in [
        ("project/build", &[][..], true),
        ("project", &["--no-embed-source"], false),
        ("other", &[], false),
        ("other", &["--embed-source"], true),
    ] {
        let program = place.path("project/count").display().to_string();
        let begin = ["profile", "-f", "-o", "p"];
        let command = [&begin, options, &["--", &program, "20", "2"]].concat();
        Done::of(place.command(&command).current_dir(place.path(folder))).succeeds();
        let page = place.text(&format!("{folder}/p.html"));
        assert_eq!(
            page.contains(SOURCE_LINE),
            has_source,
            "{options:?} in {folder}"
        );
    }
}

#[test]
fn report_rejects_damaged_profiles() {
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
fn commands_succeed_when_their_reader_closes_the_pipe() {
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
        let done = place.run_into_closed_pipe(words).succeeds();
        assert_eq!(done.err, "", "{words:?}");
    }
}

#[test]
fn report_names_the_command_for_other_files() {
    let place = Place::new();
    place.record_count("count.rltrace", ["10", "3"]);
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
    for (verb, output) in [("profile", "count.rlprof"), ("record", "count.rltrace")] {
        let words = [verb, "-o", output, "--", "./count", "10", "3", "--force"];
        place.run(&words[..7]);
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

#[test]
fn sources_that_changed_after_the_profile_are_named() {
    let place = Place::new();
    let program = "int table[99];\nint main(void) {\n  for (int i = 0; i < 99; i++) table[i] = i;\n  return 0;\n}\n";
    place.write("own.c", program);
    place.run(&["cc", "-g", "own.c", "-o", "own"]).succeeds();
    place.run(&["profile", "-q", "--", "./own"]).succeeds();
    let page = ["report", "own.rlprof", "--html", "page.html", "-f"];
    let done = place.run(&page).succeeds();
    assert!(!done.err.contains("changed after"), "{}", done.err);
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    let file = std::fs::File::options()
        .write(true)
        .open(place.path("own.c"));
    file.unwrap().set_modified(later).unwrap();
    let done = place.run(&page).succeeds();
    assert!(
        done.err
            .contains("own.c changed after the profile was made"),
        "{}",
        done.err
    );
}
