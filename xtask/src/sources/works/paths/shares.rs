//! Figures 3 to 5 and tables 1 to 3: how many instructions have several patterns, and what paths
//! tell of them. In percent of instructions, each counted once, as published.

use serde_json::Value;

use super::printed::{FLOATING, INTEGER, TABLE_1, TABLE_2, TABLE_3_FLOATING, TABLE_3_INTEGER};
use super::profiles::{PrintedSuite, profiles, shares_of};
use super::{OTHER_PROGRAMS, averages, draw_averages, put_rows, rows_of};
use crate::sources::ComparedTable;
use crate::sources::comparison::Compared;
use crate::sources::printed::{InTests, Making, Printed};
use crate::sources::workshop::Workshop;

/// Rows in tests: one program of ours, and the printed ones with their average.
const FLOATING_ROWS: InTests = InTests::Rows(1 + FLOATING.len());

/// Figures 3 to 5 and tables 1 to 3.
pub const SHARES: &[Printed] = &[
    Printed {
        id: "paths.figure3",
        heading: "Fig. 3. % instructions having multiple reuse patterns",
        making: Making::Runs {
            how: "The largest of three inputs, lines of 32 bytes (`profile --by path --granularity \
                  32`); static instructions, as in print.",
            make: several,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "paths.figure4",
        heading: "Fig. 4. % multiple patterns differentiable by paths for CFP2000",
        making: Making::Runs {
            how: "Of the instructions with several patterns, those in which every path has at most \
                  one; loops are squashed after 4 iterations, as in print.",
            make: |workshop| differentiable(workshop, PrintedSuite::Floating),
            in_tests: InTests::Rows(2),
        },
    },
    Printed {
        id: "paths.figure5",
        heading: "Fig. 5. % multiple patterns differentiable by paths for CINT2000",
        making: Making::Runs {
            how: "As figure 4.",
            make: |workshop| differentiable(workshop, PrintedSuite::Integer),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "paths.table1",
        heading: "Table 1. % multiple patterns that are non-differentiable because of history \
                  aliasing for CFP2000",
        making: Making::Runs {
            how: "By the definition in print: with 16 bits, those not differentiable in which a \
                  history stands for several traces of blocks; with fewer bits, these and all that \
                  16 bits differentiate and fewer do not.",
            make: |workshop| aliased(workshop, PrintedSuite::Floating),
            in_tests: FLOATING_ROWS,
        },
    },
    Printed {
        id: "paths.table2",
        heading: "Table 2. % multiple patterns that are non-differentiable because of history \
                  aliasing for CINT2000",
        making: Making::Runs {
            how: "As table 1.",
            make: |workshop| aliased(workshop, PrintedSuite::Integer),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "paths.table3-floating",
        heading: "Table 3. % multiple patterns that cannot be differentiated and have both short \
                  and long distances: CFP2000",
        making: Making::Runs {
            how: "Long is a mean distance of 1024 lines of 32 bytes or more, as in print.",
            make: |workshop| short_and_long(workshop, PrintedSuite::Floating),
            in_tests: FLOATING_ROWS,
        },
    },
    Printed {
        id: "paths.table3-integer",
        heading: "Table 3. % multiple patterns that cannot be differentiated and have both short \
                  and long distances: CINT2000",
        making: Making::Runs {
            how: "As for CFP2000.",
            make: |workshop| short_and_long(workshop, PrintedSuite::Integer),
            in_tests: InTests::LeftOut,
        },
    },
];

/// What a profile says of paths of one length, in percent of instructions with several patterns.
fn percent(shares: &[Value], bits: u64, what: &str) -> Option<f64> {
    let of = shares.iter().find(|one| one["length"] == bits)?;
    let (part, all) = (of[what].as_f64()?, of["multiple"].as_f64()?);
    (all > 0.0).then(|| 100.0 * part / all)
}

/// A row for each program of a suite.
fn rows(
    workshop: &Workshop,
    suite: PrintedSuite,
    row: impl Fn(&[Value]) -> Vec<Option<f64>>,
) -> anyhow::Result<Vec<(String, Vec<Option<f64>>)>> {
    let of = |one: super::profiles::Profiled| {
        let shares = shares_of(workshop, &one.profiles[2])?;
        Ok((one.name, row(&shares)))
    };
    profiles(workshop, suite)?.into_iter().map(of).collect()
}

fn several(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(&["program"], &["% of instructions"]);
    let share = |shares: &[Value]| {
        let all = shares.iter().find(|one| one["length"] == 0);
        let part = all
            .and_then(|of| Some(100.0 * of["multiple"].as_f64()? / of["instructions"].as_f64()?));
        vec![part]
    };
    let mut means = Vec::new();
    for (suite, title, printed) in [
        (PrintedSuite::Floating, "FP AVG", "39.1"),
        (PrintedSuite::Integer, "INT AVG", "30.2"),
    ] {
        let rows = rows(workshop, suite, share)?;
        let values: Vec<f64> = rows.iter().filter_map(|row| row.1[0]).collect();
        for (program, values) in &rows {
            let value = values[0].map_or(String::new(), |value| format!("{value:.1}"));
            table.push(&[program], vec![Compared::ours(value)]);
        }
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        table.push(
            &[title],
            vec![Compared::both(format!("{mean:.1}"), printed)],
        );
        means.push(mean);
    }
    table.note(OTHER_PROGRAMS);
    table.note(
        "Ours are fewer: most instructions of a small program are of the C library and the loader, \
         which run once and reuse at one distance; SPEC's programs are linked statically and are \
         large beside their libraries.",
    );
    Ok(table)
}

fn differentiable(workshop: &Workshop, suite: PrintedSuite) -> anyhow::Result<ComparedTable> {
    let bits = [1, 2, 4, 8, 16, 32];
    let titles = bits.map(|bits| format!("path{bits} %"));
    let mut table = ComparedTable::new(&["program"], &titles.each_ref().map(String::as_str));
    let ours = rows(workshop, suite, |shares| {
        bits.map(|bits| percent(shares, bits.into(), "differentiable"))
            .to_vec()
    })?;
    let average = vec![vec!["", "", "", "> 50", "", "> 70"]];
    put_rows(&mut table, &ours, &["average"], &average);
    draw_averages(&mut table, &["average"], &bits);
    table.note(OTHER_PROGRAMS);
    table.note("The bars of programs are printed without numbers; the text has the averages.");
    table.note(
        "Ours differ little between programs: most of their instructions with several patterns are \
         of the C library and the loader, which all have in common.",
    );
    Ok(table)
}

fn aliased(workshop: &Workshop, suite: PrintedSuite) -> anyhow::Result<ComparedTable> {
    let bits = [1, 2, 4, 8, 16];
    let titles = bits.map(|bits| format!("path{bits} %"));
    let mut table = ComparedTable::new(&["program"], &titles.each_ref().map(String::as_str));
    let ours = rows(workshop, suite, |shares| {
        let longest = percent(shares, 16, "differentiable");
        let at_longest = percent(shares, 16, "aliased");
        let of = |bits: u32| {
            let gained = longest? - percent(shares, bits.into(), "differentiable")?;
            Some(at_longest? + gained)
        };
        bits.map(of).to_vec()
    })?;
    match suite {
        PrintedSuite::Floating => put_rows(&mut table, &ours, &FLOATING, &rows_of(&TABLE_1)),
        PrintedSuite::Integer => put_rows(&mut table, &ours, &INTEGER, &rows_of(&TABLE_2)),
    }
    draw_averages(&mut table, &["average"], &bits);
    table.note(averages(&table));
    table.note(OTHER_PROGRAMS);
    Ok(table)
}

const TABLE_3_NOTES: [&str; 2] = [
    "Ours are three to four times the printed ones: the programs are in C++ or come with the system, \
     and the loader and libraries, whose tables are used at once and again much later, have most of \
     their instructions.",
    "253.perlbmk rises from 0.0 to 0.8 with more bits in print, which looks like a slip.",
];

fn short_and_long(workshop: &Workshop, suite: PrintedSuite) -> anyhow::Result<ComparedTable> {
    let bits = [4, 8, 16];
    let titles = bits.map(|bits| format!("path{bits} %"));
    let mut table = ComparedTable::new(&["program"], &titles.each_ref().map(String::as_str));
    let ours = rows(workshop, suite, |shares| {
        bits.map(|bits| percent(shares, bits.into(), "short_and_long"))
            .to_vec()
    })?;
    match suite {
        PrintedSuite::Floating => {
            put_rows(&mut table, &ours, &FLOATING, &rows_of(&TABLE_3_FLOATING))
        }
        PrintedSuite::Integer => put_rows(&mut table, &ours, &INTEGER, &rows_of(&TABLE_3_INTEGER)),
    }
    draw_averages(&mut table, &["average"], &bits);
    table.note(averages(&table));
    table.note(OTHER_PROGRAMS);
    if suite == PrintedSuite::Integer {
        for note in TABLE_3_NOTES {
            table.note(note);
        }
    }
    Ok(table)
}
