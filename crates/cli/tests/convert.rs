//! `reuselens convert`.

use std::fs::File;

use crate::common::{self, Json, LONG_RUN, Place, recorded};
use parquet::file::reader::{FileReader, SerializedFileReader};

fn analyzed(place: &Place, trace: &str, options: &[&str]) -> Json {
    let words = [
        &[
            "analyze", "-q", "-f", "--bins", "exact", "--json", "-", trace,
        ],
        options,
    ]
    .concat();
    Json::parse(&place.run(&words).succeeds().out)
}

#[test]
fn convert_takes_the_format_from_the_output_name() {
    let place = recorded();
    for output in ["copy.rltrace", "rows.parquet"] {
        place
            .run(&["convert", "count.rltrace", output])
            .succeeds()
            .prints(&["Next: "]);
        let bytes = std::fs::read(place.path(output)).unwrap();
        let head = std::fs::read(place.path("count.rltrace")).unwrap();
        match output {
            "copy.rltrace" => assert_eq!(bytes[..8], head[..8]),
            _ => assert!(bytes.starts_with(b"PAR1")),
        }
    }
    place
        .run(&["convert", "count.rltrace", "t.parquet", "--to", "text"])
        .succeeds();
    assert!(!place.text("t.parquet").is_empty());
}

#[test]
fn part_keeps_allocations_and_calls_from_before_it() {
    let place = Place::new();
    place.build("count/handed.c", &["-pthread"]);
    place.run(&["record", "-q", "--", "./handed"]).succeeds();
    let by = ["--by", "object,context,line"];
    let from_block = |found: &Json| -> u64 {
        let objects = found.groups("object").into_iter();
        let of_make = objects.filter(|group| group.name.starts_with("heap from make"));
        of_make.map(|group| group.accesses).sum()
    };
    for part in [&["--thread", "1"][..], &["--from", "60%", "--until", "90%"]] {
        let found = analyzed(&place, "handed.rltrace", &[part, &by].concat());
        let (here, all) = (from_block(&found), found.number("accesses"));
        assert!(here > all * 9 / 10, "{part:?}: {here} of {all}");
        assert_eq!(found.warnings(), ["part"]);
        let mut contexts = found.groups("context").into_iter();
        let begun = contexts.any(|group| group.accesses > all / 2 && group.name.contains("sum"));
        assert!(begun, "{part:?}: calls that were begun before are known");
        let words = [&["convert", "-f", "handed.rltrace", "p.rltrace"], part].concat();
        place.run(&words).succeeds();
        let copy = analyzed(&place, "p.rltrace", &by);
        // They say it in other words.
        let counts = |of: &Json| {
            let mut counts = of.without_command();
            counts["warnings"].take();
            counts
        };
        assert!(counts(&copy) == counts(&found), "{part:?}");
        assert_eq!(copy.warnings(), ["part"]);
    }
    place
        .run(&["convert", "handed.rltrace", "none.rltrace", "--thread", "7"])
        .fails(2)
        .says(&["nothing that counts", "reuselens info handed.rltrace"]);
    assert!(!place.path("none.rltrace").exists());
    place
        .run(&["info", "handed.rltrace", "--thread", "7"])
        .fails(2)
        .says(&["nothing that counts", "reuselens info handed.rltrace"]);
    let words = ["--thread", "1", "--data", "heap"];
    let heap = analyzed(&place, "handed.rltrace", &words);
    assert!(from_block(&heap) > 0);
    let whole = ["--thread", "1", "--data", "heap", "--by", "program"];
    assert_eq!(
        analyzed(&place, "handed.rltrace", &whole).number("accesses"),
        heap.number("accesses")
    );
}

/// An access that the program names is to all of its element, which was declared before.
#[test]
fn named_accesses_of_a_part_are_to_whole_elements() {
    let place = Place::new();
    place.write(
        "wide.c",
        "#include <reuselens.h>\nstatic char cells[256][512];\nint main(void) {\n    RecordData(cells, sizeof cells, 512);\n    \
         for (int round = 0; round < 40; round++)\n        for (int cell = 0; cell < 256; cell++)\n            \
         RecordAccess(cells, cells[cell]);\n    return 0;\n}\n",
    );
    place
        .run(&["cc", "--rl-names", "-O1", "wide.c", "-o", "wide"])
        .succeeds();
    place.run(&["record", "-q", "--", "./wide"]).succeeds();
    for part in [
        &["--from", "50%"][..],
        &["--from", "50%", "--names", "statement"],
    ] {
        let by = |by| {
            let words = [part, &["--by", by]].concat();
            analyzed(&place, "wide.rltrace", &words).counts()
        };
        assert_eq!(by("program"), by("line"), "{part:?}");
        assert!(by("program").iter().any(|bin| bin[0] > 1000), "{part:?}");
    }
}

#[test]
fn text_of_items_has_the_same_distances() {
    let place = recorded();
    for granularity in ["8", "64", "4096"] {
        let words = [
            "convert",
            "count.rltrace",
            "items.txt",
            "-f",
            "--granularity",
            granularity,
        ];
        place
            .run(&words)
            .succeeds()
            .prints(&["items.txt: ", "Next: reuselens analyze items.txt"]);
        let items = analyzed(&place, "items.txt", &[]);
        let trace = analyzed(&place, "count.rltrace", &["--granularity", granularity]);
        assert_eq!(items.counts(), trace.counts(), "{granularity}");
        assert_eq!(items.number("distinct"), trace.number("distinct"));
        assert_eq!(
            place.text("items.txt").lines().count() as u64,
            trace.number("accesses")
        );
        assert_eq!(items.number("granularity_bytes"), 1, "ids are the items");
    }
    place
        .run(&["convert", "count.rltrace", "addresses.txt"])
        .succeeds()
        .prints(&[
            "Next: reuselens analyze addresses.txt",
            "each address is an item",
            "--granularity 64",
        ]);
}

#[test]
fn text_of_addresses_is_hexadecimal_and_goes_to_standard_output() {
    let place = recorded();
    let done = place.run(&["convert", "count.rltrace", "-"]).succeeds();
    assert!(
        done.out.lines().all(|line| line.starts_with("0x")),
        "{}",
        &done.out[..200]
    );
    let through_pipe = place
        .run_on(&done.out, &["analyze", "-", "-q", "--json", "-"])
        .succeeds();
    let json = Json::parse(&through_pipe.out);
    assert_eq!(json.number("accesses"), done.out.lines().count() as u64);
    let read = place
        .run_on(place.read("count.rltrace"), &["convert", "-", "-"])
        .succeeds();
    assert!(read.out == done.out, "from standard input too");
}

#[test]
fn native_copy_has_the_profile_of_the_original() {
    let place = recorded();
    place
        .run(&["convert", "count.rltrace", "copy.rltrace", "--to", "native"])
        .succeeds();
    let by = ["--by", "line,object,context,thread"];
    let (copy, trace) = (
        analyzed(&place, "copy.rltrace", &by),
        analyzed(&place, "count.rltrace", &by),
    );
    assert_eq!(copy.without_command(), trace.without_command());
    // Text becomes native too.
    place.write("abc.txt", "a b c a");
    place
        .run(&["convert", "abc.txt", "abc.rltrace", "--to", "native"])
        .succeeds();
    assert_eq!(analyzed(&place, "abc.rltrace", &[]).counts(), [[2, 2, 1]]);
}

#[test]
fn parquet_table_has_one_row_per_access() {
    let place = recorded();
    let words = [
        "convert",
        "count.rltrace",
        "rows.parquet",
        "--to",
        "parquet",
    ];
    let done = place.run(&words).succeeds();
    let told = done.out.split_whitespace().nth(1).unwrap();
    assert!(
        done.out.contains(&format!("{told} rows in ")),
        "{}",
        done.out
    );
    assert!(told.contains(','), "in groups of three: {told}");
    let rows: i64 = told.replace(',', "").parse().unwrap();
    let reader =
        SerializedFileReader::new(File::open(place.path("rows.parquet")).unwrap()).unwrap();
    let about = reader.metadata().file_metadata();
    assert_eq!(about.num_rows(), rows);
    let columns = about.schema_descr();
    let names: Vec<&str> = columns
        .columns()
        .iter()
        .map(|column| column.name())
        .collect();
    assert_eq!(
        names,
        ["process", "thread", "kind", "size", "pc", "address"]
    );
    assert!(
        !done.out.contains("reuselens analyze"),
        "what cannot be read back: {}",
        done.out
    );
    let done = place.run(&["analyze", "rows.parquet"]).fails(1);
    done.says(&["Parquet", "written but not read"]);
}

#[test]
fn nothing_is_overwritten_without_force() {
    let place = recorded();
    place.write("out.txt", "precious");
    let done = place.run(&["convert", "count.rltrace", "out.txt"]).fails(1);
    done.says(&["out.txt", "exists already", "--force"]);
    assert_eq!(place.text("out.txt"), "precious");
    let done = place
        .run(&["convert", "count.rltrace", "out.txt", "-f", "-q"])
        .succeeds();
    assert_eq!(done.out, "");
    assert!(place.text("out.txt").starts_with("0x"));
}

#[test]
fn convert_rejects_wrong_usage() {
    let place = recorded();
    let trace = "count.rltrace";
    for (words, hint) in [
        (
            &[trace, "-", "--to", "native"][..],
            "only text goes to standard output",
        ),
        (
            &[trace, "x", "--to", "parquet", "--granularity", "8"],
            "goes with --to text only",
        ),
        (&[trace, "x", "--granularity", "48"], "--granularity 64"),
        (&[trace, "x", "--to", "lackey"], "native"),
        (&[trace], "OUTPUT"),
    ] {
        place
            .run(&[&["convert"], words].concat())
            .fails(2)
            .says(&[hint]);
    }
    place
        .run(&["convert", "none", "x"])
        .fails(1)
        .says(&["cannot open none"]);
    place.run(&["convert", "count.html", "x"]).fails(1);
    assert_eq!(place.files(), ["count", "count.rltrace"]);
}

#[test]
fn truncated_trace_is_copied_up_to_the_cut() {
    let place = Place::new();
    place.record_count("count.rltrace", LONG_RUN);
    let whole = place.read("count.rltrace");
    place.write("cut.rltrace", &whole[..whole.len() - 40]);
    let done = place
        .run(&["convert", "cut.rltrace", "cut.txt", "--granularity", "64"])
        .ends_with(4);
    done.says(&["warning", "cut.rltrace", "cut off", "everything before"]);
    let done = place
        .run(&["convert", "cut.rltrace", "copy.rltrace", "--to", "native"])
        .ends_with(4);
    done.says(&["warning"]);
    let words = ["analyze", "-q", "copy.rltrace", "--json", "copy.json"];
    place.run(&words).ends_with(4);
    let copy = place.json("copy.json");
    assert_eq!(
        copy.number("accesses"),
        place.text("cut.txt").lines().count() as u64
    );
    assert!(
        copy.warnings().contains(&"truncated".to_owned()),
        "{:?}",
        copy.warnings()
    );
}

#[test]
fn convert_writes_no_file_if_no_row_can_be_read() {
    let place = Place::new();
    place.write("t.csv", "address,kind\n0x10,fetched\n0x20,R\n");
    let done = place.run(&["convert", "t.csv", "t.txt"]).fails(1);
    done.says(&["fetched", "line 2"]);
    place.run(&["convert", "t.csv", "-"]).fails(1);
    assert_eq!(place.files(), ["t.csv"]);
    place.write("t.csv", "address,kind\n0x10,R\n0x20,fetched\n");
    let done = place.run(&["convert", "t.csv", "t.txt"]).ends_with(4);
    done.says(&["everything before that"]);
}

#[test]
fn convert_warns_of_two_processes_in_one_text() {
    let place = Place::new();
    place.build("count/forking.c", &[]);
    place.run(&["record", "-q", "--", "./forking"]).succeeds();
    let done = place
        .run(&["convert", "forking.rltrace", "forking.txt"])
        .succeeds();
    done.says(&["warning", "2 processes"]);
    place
        .run(&["convert", "forking.rltrace", "copy", "--to", "native"])
        .succeeds();
    let (copy, trace) = (
        analyzed(&place, "copy", &[]),
        analyzed(&place, "forking.rltrace", &[]),
    );
    assert_eq!(copy.without_command(), trace.without_command());
}

#[test]
fn convert_succeeds_when_its_reader_closes_the_pipe() {
    let place = recorded();
    let mut command = place.command(&["convert", "count.rltrace", "-"]);
    let pipe = std::process::Stdio::piped;
    let mut child = command.stdout(pipe()).stderr(pipe()).spawn().unwrap();
    drop(child.stdout.take());
    let done = common::Done::from(child.wait_with_output().unwrap()).succeeds();
    assert_eq!(done.err, "");
}

#[test]
fn convert_rejects_text_under_the_name_of_another_format() {
    let place = Place::new();
    place.write("loop.txt", "1\n2\n1\n");
    let binary = ["copy.u64", "copy.BIN", "copy.oracleGeneral"];
    let others = ["copy.txt.gz", "copy.csv", "copy.din", "copy.tsv"];
    for name in binary.into_iter().chain(others) {
        let refused = place.run(&["convert", "loop.txt", name]).fails(2);
        refused.says(&[name, "cannot be written", "--to text"]);
        place
            .run(&["convert", "loop.txt", name, "--to", "text"])
            .succeeds();
        assert_eq!(place.text(name), "1\n2\n1\n");
    }
}

#[test]
fn signal_ends_a_command_with_a_message_and_without_a_file() {
    use std::os::unix::process::ExitStatusExt;
    let place = Place::new();
    // It listens to SIGHUP last.
    const LAST: i32 = 1;
    for (signal, name) in [(2, "SIGINT"), (15, "SIGTERM")] {
        if common::is_ignored(signal) || common::is_ignored(LAST) {
            println!("{name} or SIGHUP is ignored here, and stays so");
            continue;
        }
        let mut command = place.command(&["convert", "-", "a.txt"]);
        command
            .stdin(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let id = child.id().to_string();
        // Open until the command has ended: at the end of its input it ends by itself.
        let input = child.stdin.take();
        while !listens(&id, LAST) {
            std::thread::yield_now();
        }
        let number = format!("-{signal}");
        let sent = std::process::Command::new("kill")
            .args([&number, &id])
            .status();
        assert!(sent.unwrap().success());
        let done = child.wait_with_output().unwrap();
        drop(input);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.signal(), Some(signal), "{said}");
        assert_eq!(said, format!("reuselens: ended by {name}\n"));
        assert!(place.files().is_empty());
    }
}

/// Whether a process has a handler for a signal.
fn listens(id: &str, signal: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = u64::from_str_radix(mask.unwrap().trim(), 16).unwrap();
    mask >> (signal - 1) & 1 == 1
}

/// A pipe has no name of its own: `/dev/stdout` leads to it all the same.
#[test]
fn a_copy_goes_through_a_pipe_that_is_standard_output() {
    let place = Place::new();
    place.write("t.txt", "1\n2\n1\n7\n");
    let copy = place.run(&["convert", "t.txt", "-"]).succeeds();
    for output in ["/dev/stdout", "/proc/self/fd/1"] {
        let words = ["convert", "t.txt", output, "--to", "text"];
        let done = place.run(&words).succeeds();
        assert_eq!(done.out, copy.out, "{output}");
    }
    assert!(copy.out.contains('7'));
    let native = ["convert", "t.txt", "/dev/stdout", "--to", "native", "-q"];
    let done = place.command(&native).output().unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    place.write("t.rltrace", &done.stdout);
    place.run(&["info", "t.rltrace"]).succeeds().prints(&[
        "native trace",
        "complete",
        "4 accesses",
    ]);
}
