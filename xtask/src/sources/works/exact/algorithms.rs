//! Figures 1 to 4: the definition and the algorithms, run on examples.

use std::fs;
use std::time::Instant;

use anyhow::Context as _;
use serde_json::Value;

use super::programs::{TestedInput, folder, named, text};
use crate::sources::ComparedTable;
use crate::sources::comparison::{Compared, grouped};
use crate::sources::printed::{InTests, Making, Printed};
use crate::sources::workshop::Workshop;

/// Figures 1 to 4.
pub const ALGORITHMS: &[Printed] = &[
    Printed {
        id: "exact.figure1",
        heading: "Figure 1: Reuse Distance",
        making: Making::Runs {
            how: "The example is lost in the text of the report, which says that the distance of `b` \
                  is two, with `a` and `c` in between. Each access of `b a c a c b` is what its \
                  prefix has more than the one before (`analyze`).",
            make: example,
            in_tests: InTests::SameRows,
        },
    },
    Printed {
        id: "exact.figure2",
        heading: "Figure 2: Algorithm for measuring reuse distance",
        making: Making::Runs {
            how: "A listing. The engine `counting` (`crates/distance`) does the same; here it and \
                  the other exact engines analyse the recorded trace of ADI, and `brute` is the \
                  straightforward count.",
            make: engines,
            in_tests: InTests::SameRows,
        },
    },
    Printed {
        id: "exact.figure3",
        heading: "Figure 3: Algorithm for counting distinct elements",
        making: Making::Runs {
            how: "A listing, whose levels are mixed up in print; the printed bound is O(B log N) for \
                  an access. Seconds for a million accesses to elements by chance, by the number of \
                  elements.",
            make: counting,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "exact.figure4",
        heading: "Figure 4: Algorithm for runtime calls",
        making: Making::Runs {
            how: "A listing. The calls that ADI makes while it runs on the larger input (`info`), \
                  and the structures that its accesses were attributed to.",
            make: calls,
            in_tests: InTests::SameRows,
        },
    },
];

/// The sequence whose middle the report describes.
const SEQUENCE: [&str; 6] = ["b", "a", "c", "a", "c", "b"];

fn example(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(&["access", "element"], &["distance"]);
    let mut before: Vec<(u64, u64)> = Vec::new();
    for (index, element) in SEQUENCE.iter().enumerate() {
        let path = folder(workshop)?.join("sequence.txt");
        fs::write(&path, SEQUENCE[..=index].join(" "))?;
        let words = ["analyze", "-q", "-f", &text(&path), "--json", "-", "--bins"];
        let words = [&words[..], &["exact"]].concat();
        let printed = workshop.output(&workshop.reuselens()?, &words)?;
        let json: Value = serde_json::from_str(&printed)?;
        let bins = json["histogram"]["counts"]
            .as_array()
            .context("no histogram")?;
        let number = |bin: &Value, at: usize| bin[at].as_u64().unwrap_or_default();
        let counts: Vec<(u64, u64)> = bins
            .iter()
            .map(|bin| (number(bin, 0), number(bin, 2)))
            .collect();
        let new = counts.iter().find(|bin| !before.contains(bin));
        let distance = new.map_or("∞".to_owned(), |bin| bin.0.to_string());
        let printed = if index + 1 == SEQUENCE.len() { "2" } else { "" };
        let access = (index + 1).to_string();
        table.push(&[&access, element], vec![Compared::both(distance, printed)]);
        before = counts;
    }
    Ok(table)
}

fn engines(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(
        &["engine"],
        &["accesses", "elements", "histogram equal to that of brute"],
    );
    let adi = named("ADI");
    let trace = adi.trace(workshop, TestedInput::Smaller)?;
    let histogram = |engine: &str| {
        let words = ["analyze", "-q", "-f", &text(&trace), "--engine", engine];
        let options = "--granularity 8 --names statement --by program --bins exact --json -";
        let words = words.into_iter().chain(options.split(' '));
        let words: Vec<&str> = words.collect();
        let printed = workshop.output(&workshop.reuselens()?, &words)?;
        let json: Value = serde_json::from_str(&printed)?;
        let number = |name: &str| json[name].as_u64().unwrap_or_default();
        anyhow::Ok((
            json["histogram"].clone(),
            number("accesses"),
            number("cold"),
        ))
    };
    let (reference, _, _) = histogram("brute")?;
    for engine in ["brute", "counting", "fenwick", "olken"] {
        let (found, accesses, cold) = histogram(engine)?;
        let equal = if found == reference { "yes" } else { "no" };
        let counts = [accesses, cold].map(grouped);
        let values = counts.iter().map(String::as_str).chain([equal]);
        table.push(&[engine], values.map(Compared::ours).collect());
    }
    table.note(
        "The report's simulator had blocks of 200 and no tree yet; ours has a bit per step of time \
         and counts of bits in two levels, and renumbers time when it runs out.",
    );
    Ok(table)
}

/// Accesses by chance to this many elements.
const ELEMENTS: [u64; 4] = [1 << 10, 1 << 13, 1 << 16, 1 << 19];
const SMALL_ELEMENTS: [u64; 2] = [1 << 6, 1 << 10];

fn counting(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let engines = ["counting", "fenwick", "olken"];
    let titles = engines.map(|engine| format!("{engine}, s"));
    let mut table = ComparedTable::new(&["elements"], &titles.each_ref().map(String::as_str));
    let all = workshop.size.pick(&SMALL_ELEMENTS[..], &ELEMENTS);
    for &elements in all {
        let path = folder(workshop)?.join("chance.u64");
        fs::write(
            &path,
            by_chance(elements, workshop.size.pick(10_000, 1_000_000)),
        )?;
        let seconds = |engine: &str| {
            let words = ["analyze", "-q", "-f", &text(&path), "--format", "u64"];
            let options = ["--engine", engine, "--threads", "1", "--by", "program"];
            let output = [&options[..], &["--json", "-"]].concat();
            let begun = Instant::now();
            workshop.output(&workshop.reuselens()?, &[&words[..], &output].concat())?;
            anyhow::Ok(begun.elapsed().as_secs_f64())
        };
        let millions = workshop.size.pick(0.01, 1.0);
        let mut values = Vec::new();
        for engine in engines {
            let of_a_million = seconds(engine)? / millions;
            values.push(Compared::ours(format!("{of_a_million:.3}")));
        }
        table.push(&[&grouped(elements)], values);
        fs::remove_file(path)?;
    }
    table.note(
        "Times are of the command from its start to its end, by the clock of a machine that others \
         used too.",
    );
    Ok(table)
}

/// Numbers below `elements`, as bytes of a trace: those of a generator that is always the same.
fn by_chance(elements: u64, accesses: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % elements
    };
    (0..accesses).flat_map(|_| next().to_le_bytes()).collect()
}

fn calls(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(&["call or structure"], &["number", "elements"]);
    let adi = named("ADI");
    let trace = adi.trace(workshop, TestedInput::Larger)?;
    let words = ["info", &text(&trace), "--json", "-"];
    let printed = workshop.output(&workshop.reuselens()?, &words)?;
    let json: Value = serde_json::from_str(&printed)?;
    for (call, kind) in [
        ("RecordData", "data"),
        ("RecordPartialData", "partial data"),
        ("RecordAccess", "named"),
        ("RecordStatement", "statement"),
    ] {
        let count = json["kinds"][kind].as_u64();
        let count = count.with_context(|| format!("no rows of {kind}: {}", json["kinds"]))?;
        table.push(
            &[call],
            vec![Compared::ours(grouped(count)), Compared::default()],
        );
    }
    let profile = adi.profile(workshop, super::programs::Run::plain(TestedInput::Larger))?;
    let json = super::programs::json(workshop, &profile.path, "object")?;
    let mut groups: Vec<&Value> = json["groups"].as_array().into_iter().flatten().collect();
    groups.sort_by_key(|group| group["name"].to_string());
    for group in groups {
        let name = group["name"].as_str().unwrap_or_default();
        let numbers = [&group["accesses"], &group["cold"]];
        let numbers = numbers.map(|number| grouped(number.as_u64().unwrap_or_default()));
        table.push(
            &[&format!("accesses to {name}")],
            numbers.map(Compared::ours).to_vec(),
        );
    }
    table.note(
        "Accesses to structures are those of statement mode: an element that a statement names \
         twice counts once, where RecordAccess is called twice.",
    );
    Ok(table)
}
