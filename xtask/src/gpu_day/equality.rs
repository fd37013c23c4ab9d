//! Engines and answers by kernels, beside those of the processor.

use std::collections::HashSet;
use std::fs;

use super::{Day, DayTable};

/// Streams: references, and distinct items at most.
const STREAMS: [(u32, u64); 6] = [
    (1, 1),
    (5_000, 3),
    (100_000, 100_000),
    (1_000_000, 20_000),
    (3_000_000, 1 << 40),
    (8_000_000, 2_000_000),
];
/// The same at the small size.
const SMALL_STREAMS: [(u32, u64); 2] = [(1, 1), (4_000, 300)];

/// Engines by kernels, and those of the processor that they must equal.
const ENGINES: [(&str, &str); 2] = [("gpu", "counting"), ("hp-rda-gpu", "hp-rda")];

pub(super) fn run(day: &Day) -> anyhow::Result<DayTable> {
    let mut table = DayTable::new(&["what", "of", "references", "items at most", "equal"]);
    for (references, items) in day.pick(&SMALL_STREAMS[..], &STREAMS[..]) {
        let path = day.scratch.join("stream.u64");
        fs::write(&path, random_items(*references, *items))?;
        for (engine, processor) in ENGINES {
            let ours = histogram(day, engine, &["--device", "cuda"])?;
            // The name of the engine is in the document, and in its warnings.
            let ours = ours.replace(&format!("\"{engine}\""), &format!("\"{processor}\""));
            let ours = ours.replace(&format!("{engine} is"), &format!("{processor} is"));
            let is_equal = ours == histogram(day, processor, &[])?;
            if !is_equal {
                let stream = format!("{references} references to {items} items");
                table
                    .faults
                    .push(format!("{engine} differs from {processor} on {stream}"));
            }
            let cells = [engine, processor].map(str::to_owned);
            let numbers = [references.to_string(), items.to_string()];
            table.push(
                cells
                    .into_iter()
                    .chain(numbers)
                    .chain([is_equal_cell(is_equal)]),
            );
        }
    }
    answers(day, &mut table)?;
    Ok(table)
}

fn is_equal_cell(is_equal: bool) -> String {
    u8::from(is_equal).to_string()
}

fn histogram(day: &Day, engine: &str, more: &[&str]) -> anyhow::Result<String> {
    let words = [
        "analyze",
        "stream.u64",
        "-q",
        "-f",
        "--json",
        "-",
        "--bins",
        "exact",
    ];
    let words = [&words[..], &["--engine", engine], more].concat();
    Ok(day.output("reuselens", &words)?.0)
}

/// The answers of `presponse` after a stream of changes.
fn answers(day: &Day, table: &mut DayTable) -> anyhow::Result<()> {
    let (vertices, changes) = day.pick((40, 200), (20_000, 200_000));
    fs::write(
        day.scratch.join("changes.txt"),
        random_changes(vertices, changes),
    )?;
    let batch = (changes / 20).to_string();
    let find = |name: &str, more: &[&str]| -> anyhow::Result<String> {
        let words = [
            "run",
            "--stream",
            "changes.txt",
            "--batch",
            &batch,
            "-q",
            "--force",
        ];
        let words = [&words[..], &["--answers", name], more].concat();
        day.output("presponse", &words)?;
        Ok(fs::read_to_string(day.scratch.join(name))?)
    };
    let is_equal = find("kernels.txt", &["--device", "cuda"])? == find("rules.txt", &[])?;
    if !is_equal {
        table
            .faults
            .push("the answers of presponse by kernels differ from those by rules".to_owned());
    }
    let numbers = [changes.to_string(), vertices.to_string()];
    let cells = ["presponse", "rules"].map(str::to_owned);
    table.push(
        cells
            .into_iter()
            .chain(numbers)
            .chain([is_equal_cell(is_equal)]),
    );
    Ok(())
}

/// The same numbers each time (Steele, Lea & Flood 2014).
struct Numbers(u64);

impl Iterator for Numbers {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(mixed ^ (mixed >> 31))
    }
}

/// A trace of items of 64 bits, as `--format` has it from the name of the file.
pub(super) fn random_items(references: u32, items: u64) -> Vec<u8> {
    let numbers = Numbers(items).take(references as usize);
    numbers
        .flat_map(|number| (number % items).to_le_bytes())
        .collect()
}

/// A stream of edges, one in four of which is deleted again.
fn random_changes(vertices: u64, changes: u64) -> String {
    let mut numbers = Numbers(vertices);
    let (mut edges, mut present) = (Vec::new(), HashSet::new());
    let mut text = String::new();
    for _ in 0..changes {
        let mut next = || numbers.next().unwrap_or_default();
        let (kind, from, to) = (next() % 4, next() % vertices, next() % vertices);
        if kind == 0 && !edges.is_empty() {
            let (from, to) = edges.swap_remove(from as usize % edges.len());
            present.remove(&(from, to));
            text += &format!("- {from} {to}\n");
        } else if from != to && present.insert((from, to)) {
            edges.push((from, to));
            text += &format!("+ {from} {to}\n");
        }
    }
    text
}
