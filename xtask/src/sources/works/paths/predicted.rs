//! Tables 4 and 5: prediction along paths, from two inputs for a third.

use std::path::Path;

use super::printed::{
    FLOATING, INTEGER, TABLE_4_ACCURACY, TABLE_4_COVERAGE, TABLE_5_ACCURACY, TABLE_5_COVERAGE,
};
use super::profiles::{PrintedSuite, profiles};
use super::{OTHER_PROGRAMS, averages, draw_averages, put_rows};
use crate::sources::ComparedTable;
use crate::sources::printed::{InTests, Making, Printed};
use crate::sources::workshop::Workshop;

/// Lengths of histories; without any, by instruction.
const BITS: [u32; 7] = [0, 1, 2, 4, 8, 16, 32];

/// Tables 4 and 5.
pub const PREDICTED: &[Printed] = &[
    Printed {
        id: "paths.table4",
        heading: "Table 4. CFP2000 path-based reuse-distance prediction: coverage (%) and accuracy \
                  (%)",
        making: Making::Runs {
            how: "`predict --by path --history N --rare 0 --models published` from the two smaller \
                  inputs for the largest; in percent of accesses, each on its dynamic path, and of \
                  those covered. A pattern is right if it has the same bins, or overlaps by nine \
                  tenths.",
            make: |workshop| predicted(workshop, PrintedSuite::Floating),
            in_tests: InTests::Rows(1 + FLOATING.len()),
        },
    },
    Printed {
        id: "paths.table5",
        heading: "Table 5. CINT2000 path-based reuse-distance prediction: coverage (%) and accuracy \
                  (%)",
        making: Making::Runs {
            how: "As table 4. For 32 bits nothing is printed.",
            make: |workshop| predicted(workshop, PrintedSuite::Integer),
            in_tests: InTests::LeftOut,
        },
    },
];

const FLOATING_NOTES: [&str; 2] = [
    "Coverage is as printed up to 8 bits, and falls with 16 and 32: paths through the loops of our \
     programs are new with each size of the input, or have other patterns, as those of 173.applu, \
     197.parser and 254.gap in print.",
    "Accuracy is lower: in a small program most accesses are of a few paths, so that one pattern \
     whose bound is a bin away costs a third of a program.",
];
const INTEGER_NOTES: [&str; 2] = [
    "Coverage is lower at all lengths, by instruction too: as published, a pattern of a single access \
     counts, so a loop whose rare patterns differ in number between the two training inputs is not \
     covered with all its accesses. `predict` leaves rare patterns out by default.",
    "Accuracy is lower for the same reason, and as most accesses of a small program are of a few \
     paths.",
];

fn predicted(workshop: &Workshop, suite: PrintedSuite) -> anyhow::Result<ComparedTable> {
    let title = |what: &str, bits: u32| match bits {
        0 => format!("{what} inst"),
        bits => format!("{what} {bits}"),
    };
    let titles: Vec<String> = ["coverage", "accuracy"]
        .iter()
        .flat_map(|what| BITS.map(|bits| title(what, bits)))
        .collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = ComparedTable::new(&["program"], &titles);
    let mut ours = Vec::new();
    for program in profiles(workshop, suite)? {
        let [test, train, reference] = &program.profiles;
        let mut all = Vec::new();
        for bits in BITS {
            all.push(covered(workshop, [test, train, reference], bits)?);
        }
        let (coverage, accuracy): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        ours.push((program.name, [coverage, accuracy].concat()));
    }
    let join = |coverage: &[[&'static str; 7]], accuracy: &[[&'static str; 7]]| {
        let pairs = coverage.iter().zip(accuracy);
        pairs
            .map(|(coverage, accuracy)| [*coverage, *accuracy].concat())
            .collect::<Vec<_>>()
    };
    match suite {
        PrintedSuite::Floating => put_rows(
            &mut table,
            &ours,
            &FLOATING,
            &join(&TABLE_4_COVERAGE, &TABLE_4_ACCURACY),
        ),
        PrintedSuite::Integer => put_rows(
            &mut table,
            &ours,
            &INTEGER,
            &join(&TABLE_5_COVERAGE, &TABLE_5_ACCURACY),
        ),
    }
    draw_averages(&mut table, &["coverage", "accuracy"], &BITS);
    table.note(averages(&table));
    table.note(OTHER_PROGRAMS);
    let notes = match suite {
        PrintedSuite::Floating => FLOATING_NOTES,
        PrintedSuite::Integer => INTEGER_NOTES,
    };
    for note in notes {
        table.note(note);
    }
    Ok(table)
}

/// Coverage and accuracy of a prediction, in percent.
fn covered(
    workshop: &Workshop,
    profiles: [&Path; 3],
    bits: u32,
) -> anyhow::Result<(Option<f64>, Option<f64>)> {
    let [test, train, reference] = profiles.map(|path| path.display().to_string());
    let bits = bits.to_string();
    let words = [
        "predict",
        "--train",
        &test,
        &train,
        "--check",
        &reference,
        "--by",
        "path",
        "--history",
        &bits,
        "--rare",
        "0",
        "--models",
        "published",
    ];
    let text = workshop.output(&workshop.reuselens()?, &words)?;
    let line = text
        .lines()
        .find(|line| line.contains("% of accesses covered"));
    let line = line.unwrap_or_default();
    let before = |mark: &str| {
        let text = line.split_once(mark)?.0;
        let word = text.split([' ', ',', ':']).next_back()?;
        word.trim_start_matches(['<', '>']).parse().ok()
    };
    Ok((
        before(" % of accesses covered"),
        before(" % of those correct"),
    ))
}
