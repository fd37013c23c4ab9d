//! The dissertation's chapter on placement: DataPlacer and HMBench.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

use crate::csv::csv_records;
use crate::output_of;
use crate::sources::ComparedTable;
use crate::sources::comparison::{Compared, grouped, number};
use crate::sources::printed::{InTests, Making, Printed};
use crate::sources::workshop::Workshop;

/// Tables 2.1 to 2.4 and figures 2.1 to 2.6.
pub const PLACEMENT: &[Printed] = &[
    Printed {
        id: "dissertation.figures2.1-2.3",
        heading: "Figures 2.1 to 2.3: architecture of the KeyStone II, functionality of \
                  DataPlacer, a calling context tree",
        making: Making::Not("They are drawings and no results."),
    },
    Printed {
        id: "dissertation.table2.1",
        heading: "Table 2.1: Bandwidth comparison of MSMC and DDR with a single thread",
        making: Making::Not(
            "It needs a KeyStone II board; the machine file `keystone2` of `reuselens place` has the \
             printed bandwidths.",
        ),
    },
    Printed {
        id: "dissertation.table2.2",
        heading: "Table 2.2: Benchmark descriptions",
        making: Making::Runs {
            how: "What `programs/hmbench/README.md` says of each program, beside the printed \
                  description.",
            make: descriptions,
            in_tests: InTests::SameRows,
        },
    },
    Printed {
        id: "dissertation.table2.3",
        heading: "Table 2.3: DataPlacer's optimization decisions based on two metrics",
        making: Making::Runs {
            how: "What `reuselens place` says of calling contexts of HMBench (srad, lavaMD and cfd), \
                  by their accesses (acc) and footprint (fp), and how many contexts it says that of.",
            make: decisions,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure2.4",
        heading: "Figure 2.4: An output example of DataPlacer when monitoring srad",
        making: Making::Runs {
            how: "`reuselens profile --placement` and `place --objective f` of HMBench's srad with \
                  four threads: the first of its images by F.",
            make: output_of_srad,
            in_tests: InTests::SameRows,
        },
    },
    Printed {
        id: "dissertation.table2.4",
        heading: "Table 2.4: The analysis and optimization guidance provided by DataPlacer",
        making: Making::Runs {
            how: "`programs/hmbench/run table`: two threads, a fast memory of half the footprint. \
                  Speed-ups are **modelled**: the time that a program waits for memory with all data \
                  in the slow tier (B1), or first come first served (B2), over that of the plan.",
            make: gains,
            in_tests: InTests::Rows(2),
        },
    },
    Printed {
        id: "dissertation.figures2.5-2.6",
        heading: "Figures 2.5 and 2.6: Comparison of whole-system and of dynamic energy consumption",
        making: Making::Not(
            "Energy is not measured by this project: it needs a board with a multimeter at its power \
             supply.",
        ),
    },
];

/// A program, its printed name and its description.
const PROGRAMS: [(&str, &str, &str); 13] = [
    ("mtrans", "mtrans", "Matrix Transposition"),
    ("mmulti", "mmulti", "Matrix Multiplication"),
    ("bfs", "bfs", "Breadth-First Search on a graph"),
    (
        "cfd",
        "cfd",
        "3-D Euler equations for compression fluid flow",
    ),
    (
        "hotspot",
        "hotspot",
        "thermal simulation of processor temperatures",
    ),
    (
        "kmeans",
        "kmeans",
        "K-means clusters points into categories",
    ),
    (
        "lavaMD",
        "lavaMD",
        "particle potentials and relocation forces",
    ),
    ("lud", "lud", "matrix LU decomposition"),
    ("nn", "nn", "the first k nearest neighbors"),
    ("nw", "nw", "DNA sequence alignment optimization"),
    (
        "particlefilter",
        "particlefltr",
        "location of a target object",
    ),
    (
        "pathfinder",
        "pathfinder",
        "a path with the lowest aggregate weights in a 2-D grid",
    ),
    ("srad", "srad", "removes speckles from an image"),
];

/// Table 2.4 in the order of [`PROGRAMS`], and the geometric means.
const PRINTED_GAINS: [[&str; 5]; 14] = [
    ["2.9E6", "1.3E7", "1", "11.51", "2.09"],
    ["3.7E8", "6.4E8", "1", "2.18", "1.85"],
    ["2.0E6", "1.4E8", "6", "1.31", "1.18"],
    ["6.0E5", "1.2E7", "2", "1.05", "1.03"],
    ["1.3E7", "3.7E8", "2", "1.17", "1.10"],
    ["6.7E7", "1.4E10", "1", "1.01", "1.01"],
    ["3.3E6", "3.7E6", "3", "1.01", "1.01"],
    ["2.1E6", "3.1E8", "1", "3.95", "1.00"],
    ["2.1E6", "2.8E9", "1", "1.10", "1.00"],
    ["4.7E6", "8.8E7", "2", "1.51", "1.30"],
    ["7.4E6", "8.0E8", "10", "1.02", "1.00"],
    ["4.0E6", "4.0E8", "1", "1.01", "1.06"],
    ["1.0E7", "1.2E9", "5", "1.15", "1.02"],
    ["", "", "", "1.56", "1.17"],
];

fn descriptions(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let path = workshop.root.join("programs/hmbench/README.md");
    let text = fs::read_to_string(path)?;
    let mut table = ComparedTable::new(&["application"], &["description"]);
    for (name, _, printed) in PROGRAMS {
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")));
        let cells = line.and_then(|line| line.split('|').nth(2));
        let ours = cells.with_context(|| format!("{name} is not described"))?;
        table.push(&[name], vec![Compared::both(ours.trim(), printed)]);
    }
    table.note("The printed descriptions are shortened here; the algorithms are the same.");
    Ok(table)
}

/// A program of HMBench, built, profiled with placement data and planned for half its footprint.
fn plan(workshop: &Workshop, name: &str, threads: &str, objective: &str) -> anyhow::Result<Value> {
    let folder = workshop.scratch.join("hmbench");
    fs::create_dir_all(&folder)?;
    build(workshop, &folder, name)?;
    let size = workshop.size.pick("small", "medium");
    let said = in_folder(
        workshop,
        &folder,
        &format!(
            "profile -q -f --placement --by thread,object,line -o {name}.{threads} -- ./{name} \
             --size {size} --threads {threads} --no-check"
        ),
    )?;
    let mut words = said.split_whitespace();
    let footprint = words.find(|word| *word == "footprint").and(words.next());
    let footprint: u64 = footprint.context("no footprint")?.parse()?;
    let (fast, cache) = (footprint / 2, (footprint / 16).max(4096));
    let json = in_folder(
        workshop,
        &folder,
        &format!(
            "place {name}.{threads}.rlprof --fast {fast} --cache {cache} --objective {objective} \
             -q -f --json -"
        ),
    )?;
    Ok(serde_json::from_str(&json)?)
}

/// Builds a program of HMBench for a profile.
fn build(workshop: &Workshop, folder: &Path, name: &str) -> anyhow::Result<()> {
    let sources = workshop.root.join("programs/hmbench");
    let c = sources.join(format!("{name}.c"));
    let (verb, standard, source) = if c.exists() {
        ("cc", "-std=c11", c)
    } else {
        ("c++", "-std=c++17", sources.join(format!("{name}.cc")))
    };
    let mut build = Command::new(workshop.reuselens()?);
    build
        .args([verb, standard, "-O2", "-g", "-fopenmp"])
        .arg(source);
    build.args(["-o", name, "-lm"]).current_dir(folder);
    output_of(&mut build).map(drop)
}

/// Runs `reuselens` with these words in a folder, and gives what it printed.
fn in_folder(workshop: &Workshop, folder: &Path, words: &str) -> anyhow::Result<String> {
    let mut run = Command::new(workshop.reuselens()?);
    run.args(words.split_whitespace()).current_dir(folder);
    output_of(run.env("OMP_WAIT_POLICY", "passive"))
}

fn decisions(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut verdicts: Vec<String> = Vec::new();
    for name in ["srad", "lavaMD", "cfd"] {
        let plan = plan(workshop, name, "2", "misses")?;
        let contexts = plan["contexts"].as_array().context("a plan has contexts")?;
        let verdict = |context: &Value| context["advice"].as_str().map(str::to_owned);
        verdicts.extend(contexts.iter().filter_map(verdict));
    }
    let mut table = ComparedTable::new(&["acc", "fp"], &["decision", "contexts"]);
    for (acc, fp, ours, printed) in [
        (
            "high",
            "high",
            "optimise first",
            "optimization with high priority",
        ),
        (
            "low",
            "high",
            "little reuse",
            "little performance gains (low data reuse)",
        ),
        (
            "low/high",
            "low",
            "fits the cache",
            "little performance gains (dataset fit in hardware cache)",
        ),
    ] {
        let word = ours.replace("the ", "").replace(' ', "_");
        let count = verdicts.iter().filter(|verdict| **verdict == word).count();
        table.push(
            &[acc, fp],
            vec![Compared::both(ours, printed), Compared::ours(count)],
        );
    }
    table.note(
        "What is high and low is not printed; here fp is low if the cache holds it, and acc is low \
         if a byte has fewer than half as many accesses as a byte of the program.",
    );
    Ok(table)
}

const SRAD_NOTES: [&str; 2] = [
    "Our srad is written anew, and its image has another size; F = accesses / bytes, and the \
     contribution is the object's share of all accesses, as in print.",
    "The printed accesses by thread are 12445583, 6927600, 6867360 and 6867360.",
];

fn output_of_srad(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let plan = plan(workshop, "srad", "4", "f")?;
    let objects = plan["objects"].as_array().context("a plan has objects")?;
    let site_of = |object: &Value| object["path"][0].as_str().map(str::to_owned);
    let is_of_srad = |site: &String| site.contains("srad.c");
    let first = objects.iter().filter_map(site_of).find(is_of_srad);
    let first = first.context("srad has no array")?;
    // A large object is ranked in chunks; all of the first one's object are added up.
    let chunks = || {
        objects
            .iter()
            .filter(|object| site_of(object).as_ref() == Some(&first))
    };
    let sum = |field: &str| {
        chunks()
            .filter_map(|chunk| chunk[field].as_u64())
            .sum::<u64>()
    };
    let total = plan["accesses"].as_u64().unwrap_or_default();
    let (accesses, bytes) = (sum("accesses"), sum("bytes"));
    let threads = chunks()
        .filter_map(|chunk| chunk["by_thread"].as_array())
        .flatten();
    let threads: BTreeSet<u64> = threads.filter_map(|one| one["thread"].as_u64()).collect();
    let site = first
        .rsplit(['/', '('])
        .next()
        .unwrap_or(&first)
        .trim_end_matches(')');
    let mut table = ComparedTable::new(&["line of the output"], &["value"]);
    let rows = [
        ("memory accesses", grouped(total), "184,016,202"),
        ("accesses of the object", grouped(accesses), "33,107,904"),
        (
            "size, KB (of 1024 bytes)",
            format!("{:.3}", bytes as f64 / 1024.0),
            "898.109",
        ),
        (
            "contribution, %",
            format!("{:.4}", 100.0 * accesses as f64 / total as f64),
            "17.9918",
        ),
        (
            "F",
            format!("{:.2}", accesses as f64 / bytes as f64),
            "36.00",
        ),
        ("threads that access it", threads.len().to_string(), "4"),
        ("allocation", site.to_owned(), "main.c:157"),
    ];
    for (line, ours, printed) in rows {
        table.push(&[line], vec![Compared::both(ours, printed)]);
    }
    for note in SRAD_NOTES {
        table.note(note);
    }
    Ok(table)
}

fn gains(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let csv = workshop.scratch.join("hmbench.csv");
    if !csv.exists() {
        let mut run = Command::new(workshop.root.join("programs/hmbench/run"));
        run.arg("table").arg(workshop.reuselens()?);
        run.arg("--csv").arg(&csv);
        run.args(["--size", workshop.size.pick("small", "medium")]);
        let names: &[&str] = workshop.size.pick(&["mtrans"], &[]);
        output_of(run.args(names))?;
    }
    let records = csv_records(&fs::read_to_string(&csv)?);
    let titles = [
        "footprint, bytes",
        "accesses",
        "arrays in HM",
        "speedup over B1, ×",
        "speedup over B2, ×",
    ];
    let mut table = ComparedTable::new(&["benchmark"], &titles);
    let mut gains: Vec<[f64; 2]> = Vec::new();
    for ((name, title, _), printed) in PROGRAMS.iter().zip(PRINTED_GAINS) {
        let Some(record) = records.iter().find(|record| record[0] == *name) else {
            continue;
        };
        let cell = |title: &str| {
            let at = records[0].iter().position(|name| name == title);
            at.map_or("", |at| record[at].as_str())
        };
        let over = ["all_slow", "first_come"].map(|over| format!("modelled_gain_over_{over}"));
        let over = over.map(|title| number(cell(&title)).unwrap_or(f64::NAN));
        let arrays = cell("arrays_placed")
            .split(", ")
            .filter(|name| !name.is_empty());
        let counts = [
            cell("footprint_bytes").to_owned(),
            cell("accesses").to_owned(),
            arrays.count().to_string(),
        ];
        push_gains(&mut table, title, counts, over, printed);
        gains.push(over);
    }
    let mean = |at: usize| {
        let logs = gains.iter().map(|gain| gain[at].ln()).sum::<f64>();
        (logs / gains.len() as f64).exp()
    };
    push_gains(
        &mut table,
        "Geo.mean",
        Default::default(),
        [0, 1].map(mean),
        PRINTED_GAINS[13],
    );
    for note in GAIN_NOTES {
        table.note(note);
    }
    Ok(table)
}

const GAIN_NOTES: [&str; 4] = [
    "Printed speed-ups are times of whole programs on a KeyStone II, with eight threads; ours are \
     ratios of the time that a model waits for memory (DRAM beside CXL memory of 2.5 times its \
     latency, which is assumed), and nothing else of a program counts.",
    "mtrans gains 11.51 times in print, since its columns overflow a cache of 256 KB in front of \
     DDR; the model's slow tier is 2.5 times as slow as its fast one, which bounds every gain.",
    "mtrans, kmeans, nw, pathfinder and srad gain nothing over B2 here: first come first served \
     places arrays that are worth as much, since our programs allocate these first.",
    "Our inputs are `--size medium`; of the printed ones only the footprints are known.",
];

fn push_gains(
    table: &mut ComparedTable,
    title: &str,
    counts: [String; 3],
    gains: [f64; 2],
    printed: [&str; 5],
) {
    let gains = gains.map(|gain| format!("{gain:.2}"));
    let ours = counts.into_iter().chain(gains);
    let both = |(ours, printed): (String, &str)| Compared::both(ours, printed);
    table.push(&[title], ours.zip(printed).map(both).collect());
}
