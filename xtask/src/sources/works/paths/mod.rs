//! The work on paths: what the outcomes of branches tell of reuse distances, and prediction along
//! paths. The programs are ours, since those of SPEC CPU2000 may not be given out.

mod predicted;
mod printed;
mod profiles;
mod shares;

pub use predicted::PREDICTED;
pub use shares::SHARES;

use crate::sources::ComparedTable;
use crate::sources::comparison::{Axes, Compared, Curve, ValueSide, number};

/// Why the rows of print and of ours are not of the same programs.
const OTHER_PROGRAMS: &str = "The programs of SPEC CPU2000 may not be given out, so the rows of \
    ours are other programs, compiled for x86-64 with gcc -O2 and not for Alpha; only the averages \
    can be compared.";

/// Rows of our programs, the average of both, and rows of the printed programs.
fn put_rows(
    table: &mut ComparedTable,
    ours: &[(String, Vec<Option<f64>>)],
    programs: &[&str],
    printed: &[Vec<&str>],
) {
    let cell = |value: &Option<f64>| value.map_or(String::new(), |value| format!("{value:.1}"));
    for (program, values) in ours {
        let values = values.iter().map(|value| Compared::ours(cell(value)));
        table.push(&[program], values.collect());
    }
    let columns = table.quantities.len();
    let mean = |column: usize| {
        let values: Vec<f64> = ours.iter().filter_map(|row| row.1[column]).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    for (program, values) in programs.iter().zip(printed) {
        let ours = |column| match *program {
            "average" => cell(&mean(column)),
            _ => String::new(),
        };
        let values = (0..columns).map(|column| Compared::both(ours(column), values[column]));
        table.push(&[program], values.collect());
    }
}

/// Printed rows as vectors.
fn rows_of<'a, const N: usize>(rows: &[[&'a str; N]]) -> Vec<Vec<&'a str>> {
    rows.iter().map(|row| row.to_vec()).collect()
}

/// The differences of the averages, in a sentence.
fn averages(table: &ComparedTable) -> String {
    let last = table.rows.iter().find(|row| row.keys[0] == "average");
    let pairs = last
        .iter()
        .flat_map(|row| row.values.iter().zip(&table.quantities));
    let parts: Vec<String> = pairs
        .filter_map(|(value, title)| {
            let (ours, printed) = (number(&value.ours)?, number(&value.published)?);
            Some(format!("{title} {:+.1}", ours - printed))
        })
        .collect();
    format!(
        "Averages, ours less printed, in points of percent: {}.",
        parts.join(", ")
    )
}

/// Draws the averages over the bits of a history: a panel for each run of columns.
fn draw_averages(table: &mut ComparedTable, panels: &[&str], bits: &[u32]) {
    table.axes = Axes {
        x: "bits of the history".to_owned(),
        y: "%".to_owned(),
        ..Axes::default()
    };
    let Some(row) = table.rows.iter().find(|row| row.keys[0] == "average") else {
        return;
    };
    for (panel, values) in panels.iter().zip(row.values.chunks(bits.len())) {
        for side in ValueSide::BOTH {
            let pairs = bits.iter().zip(values);
            let point = |(bits, value): (&u32, &Compared)| {
                Some((f64::from(*bits), number(value.of(side))?))
            };
            let points: Vec<(f64, f64)> = pairs.filter_map(point).collect();
            if !points.is_empty() {
                table.curves.push(Curve {
                    panel: (*panel).to_owned(),
                    name: side.name().to_owned(),
                    points,
                });
            }
        }
    }
}
