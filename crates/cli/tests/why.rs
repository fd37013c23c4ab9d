//! `--why` with samples, and of traces that do not have all that it asks for.

use crate::common::{Json, Place};
use reuselens_testing::traces::foreign::{self, PASS_LINES, PASSES, passes};

fn dinero() -> Vec<u8> {
    let row = |(address, stores)| format!("{} {address:x}\n", u8::from(stores));
    passes().map(row).collect::<String>().into_bytes()
}

/// ChampSim's: an instruction with the addresses that it writes and reads.
fn champsim() -> Vec<u8> {
    let record = |(address, stores)| {
        let mut bytes = 0x40_1000_u64.to_le_bytes().to_vec();
        bytes.extend_from_slice(&[0, 0, 6, 0, 5, 6, 0, 0]);
        let (written, read) = if stores { (address, 0) } else { (0, address) };
        for address in [written, 0, read, 0, 0, 0_u64] {
            bytes.extend_from_slice(&address.to_le_bytes());
        }
        bytes
    };
    passes().flat_map(record).collect()
}

const INSTRUCTIONS: &str = "which instructions miss";
const DATA: &str = "which data they miss, and which of its fields are used";
const THREADS: &str = "whether threads share lines";

/// What a trace of another tool does not have is said in the summary, on the page and in JSON, and
/// what it has is counted.
#[test]
fn foreign_traces_report_what_is_not_known() {
    let place = Place::new();
    for (name, trace, unknown, known) in [
        (
            "t.lackey",
            foreign::lackey(),
            &[DATA, THREADS][..],
            &[INSTRUCTIONS][..],
        ),
        ("t.din", dinero(), &[INSTRUCTIONS, DATA, THREADS], &[]),
        ("t.csv", foreign::pin(), &[DATA], &[INSTRUCTIONS, THREADS]),
        (
            "t.memtrace",
            foreign::drmemtrace(),
            &[DATA, THREADS],
            &[INSTRUCTIONS],
        ),
        ("t.champsim", champsim(), &[DATA, THREADS], &[INSTRUCTIONS]),
    ] {
        place.write(name, trace);
        let options = ["--granularity", "64", "-f", "-o", "out"];
        let words = [
            &["analyze", name, "--why=4K", "--json", "out.json"],
            &options[..],
        ]
        .concat();
        let done = place.run(&words).succeeds();
        let all = [&done.out, &done.err].map(String::as_str).concat();
        let words: Vec<&str> = all.split_whitespace().collect();
        let (text, page, json) = (
            words.join(" "),
            place.text("out.html"),
            place.json("out.json"),
        );
        let warnings = json.0["warnings"].to_string();
        for shown in [&text, &page, &warnings] {
            for part in unknown {
                assert!(shown.contains(part), "{name}: no '{part}' in {shown}");
            }
            for part in known {
                assert!(!shown.contains(part), "{name}: '{part}' in {shown}");
            }
            assert!(
                shown.contains("which loop or function carries a reuse"),
                "{name}: {shown}"
            );
        }
        assert_eq!(
            json.warnings(),
            ["causes-in-part", "no-basic-blocks"],
            "{name}"
        );
        // Each pass misses in 4 KiB, and uses 16 bytes of each line.
        let all = &json.0["line_use"];
        assert_eq!(all["misses"], PASSES * PASS_LINES, "{name}");
        // Two traces do not have the size of an access.
        let has_sizes = !["t.din", "t.champsim"].contains(&name);
        let used = PASSES * PASS_LINES * if has_sizes { 16 } else { 2 };
        assert_eq!(all["bytes_used"], used, "{name}: {all}");
        place
            .run(&["advise", "out.rlprof"])
            .succeeds()
            .prints(&["Not known"]);
    }
}

#[test]
fn traces_of_ids_are_refused_with_the_reason() {
    let place = Place::new();
    place.write("ids.txt", "1 2 3 1 2 3");
    place
        .run(&["analyze", "ids.txt", "--why"])
        .fails(2)
        .says(&["ids, which have no bytes and no lines"]);
}

/// A trace that is longer than what is counted exactly in any case. Each pass accesses one byte of
/// each line, and a second one of each third line.
fn long_trace(place: &Place) {
    let mut text = String::new();
    for _ in 0..10 {
        for line in 0..30_000 {
            let address = 0x1f00_0000 + 64 * line;
            text += &format!("0 {address:x}\n");
            if line % 3 == 0 {
                text += &format!("0 {:x}\n", address + 8);
            }
        }
    }
    place.write("long.din", text);
}

#[test]
fn a_sample_shows_the_bytes_used_with_their_bound() {
    let place = Place::new();
    long_trace(&place);
    let analyzed = |options: &[&str]| {
        let words = [
            "analyze",
            "long.din",
            "--granularity",
            "64",
            "--why=256K",
            "-f",
            "-o",
            "out",
        ];
        let words = [&words[..], &["--json", "out.json"], options].concat();
        (place.run(&words).succeeds(), place.json("out.json"))
    };
    let (_, exact) = analyzed(&[]);
    let all = |json: &Json| json.0["line_use"].clone();
    assert_eq!(all(&exact)["utilisation_bound"], 0.0);
    let truth = all(&exact)["utilisation"].as_f64().unwrap();
    assert!((truth - 4.0 / 3.0 / 64.0).abs() < 1e-9, "{truth}");
    let (done, sampled) = analyzed(&["--sample", "5%"]);
    let known = all(&sampled);
    let bound = known["utilisation_bound"].as_f64().unwrap();
    let share = known["utilisation"].as_f64().unwrap();
    assert!((share - truth).abs() <= bound, "{known}");
    // 1.96 · √(0.95 · 2/9 / 1,500) / 64: lines of two kinds are a third and two thirds.
    assert!((0.0002..0.0006).contains(&bound), "{known}");
    assert_eq!(sampled.0["line_use"]["sample_rate"], 0.05);
    assert!(sampled.warnings().contains(&"sampled-causes".to_owned()));
    let said = [done.out, done.err].concat();
    let words: Vec<&str> = said.split_whitespace().collect();
    // No line of a page breaks between a number and its unit.
    let page = place.text("out.html").replace('\u{a0}', " ");
    for shown in [words.join(" "), page] {
        for part in ["sample of 5.00 % of the lines", "not known are", "±"] {
            assert!(shown.contains(part), "no '{part}' in {shown}");
        }
    }
    // No rule is applied to a sample, and that is said.
    place
        .run(&["advise", "out.rlprof"])
        .succeeds()
        .prints(&["exact distances"]);
}
