//! `--why` with samples, and of traces that do not have all that it asks for.

use crate::common::{Json, Place};

/// Passes over 40 KiB: each line is loaded, and a half of it stored to.
fn accesses() -> impl Iterator<Item = (u64, bool)> {
    let lines = (0..6).flat_map(|_| 0..640);
    lines.flat_map(|line| {
        let address = 0x1f00_0000 + 64 * line;
        [(address, false), (address + 8, true)]
    })
}

fn lackey() -> Vec<u8> {
    let row = |(address, stores)| match stores {
        false => format!("I  04001000,3\n L {address:08x},8\n"),
        true => format!(" S {address:08x},8\n"),
    };
    accesses().map(row).collect::<String>().into_bytes()
}

fn dinero() -> Vec<u8> {
    let row = |(address, stores)| format!("{} {address:x}\n", u8::from(stores));
    accesses().map(row).collect::<String>().into_bytes()
}

/// As tools for Pin write: program counter, kind, address, size, thread.
fn pin() -> Vec<u8> {
    let mut text = "pc,kind,address,size,thread\n".to_owned();
    for (at, (address, stores)) in accesses().enumerate() {
        let kind = if stores { "W" } else { "R" };
        let (pc, thread) = (0x40_1000 + 4 * u64::from(stores), at % 2);
        text += &format!("0x{pc:x},{kind},0x{address:x},8,{thread}\n");
    }
    text.into_bytes()
}

/// DynamoRIO's, of one thread. An entry is kind, size and address.
fn drmemtrace() -> Vec<u8> {
    let mut entries = vec![(25, 0, 5), (22, 4, 71), (24, 4, 70)];
    for (address, stores) in accesses() {
        let (kind, pc) = match stores {
            false => (0, 0x40_1000),
            true => (1, 0x40_1003),
        };
        entries.extend([(10_u16, 3_u16, pc), (kind, 8, address)]);
    }
    entries.extend([(23, 4, 71), (26, 0, 0)]);
    let bytes = |(kind, size, address): (u16, u16, u64)| {
        let head = [kind.to_le_bytes(), size.to_le_bytes()].concat();
        [head, address.to_le_bytes().to_vec()].concat()
    };
    entries.into_iter().flat_map(bytes).collect()
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
    accesses().flat_map(record).collect()
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
            lackey(),
            &[DATA, THREADS][..],
            &[INSTRUCTIONS][..],
        ),
        ("t.din", dinero(), &[INSTRUCTIONS, DATA, THREADS], &[]),
        ("t.csv", pin(), &[DATA], &[INSTRUCTIONS, THREADS]),
        (
            "t.memtrace",
            drmemtrace(),
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
        assert_eq!(all["misses"], 6 * 640, "{name}");
        // Two traces do not have the size of an access.
        let has_sizes = !["t.din", "t.champsim"].contains(&name);
        let used = 6 * 640 * if has_sizes { 16 } else { 2 };
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
    for shown in [words.join(" "), place.text("out.html")] {
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
