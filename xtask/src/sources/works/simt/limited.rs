//! Figures 55 to 70: core clusters with few load/store units.

use super::KERNELS;
use super::characteristics::{axes, push, table};
use super::streams::{Characteristic, analyzed};
use crate::sources::ComparedTable;
use crate::sources::comparison::{Axes, Compared};
use crate::sources::printed::{InTests, Making, Printed};
use crate::sources::workshop::Workshop;

const UNITS: [&str; 3] = ["16", "32", "64"];
/// Core clusters, as published.
const CLUSTERS: &str = "16";

/// Figures 55 to 70.
pub const LIMITED: &[Printed] = &[
    Printed {
        id: "simt.figures55-61",
        heading: "Figures 55 to 61: Data reuse characteristic from the aggregate reference stream \
                  of all core clusters with 16, 32 and 64 load/store units per core cluster",
        making: Making::Runs {
            how: "`reuselens gpu analyze --scenario 6 --clusters 16 --units L`. moldyn, which has no \
                  figure, is shown too.",
            make: aggregate,
            in_tests: InTests::SameRows,
        },
    },
    Printed {
        id: "simt.figure62",
        heading: "Figure 62: Data reuse characteristic in reuse distance range RD = {0, 100} of the \
                  aggregate reference stream of all core clusters for sta",
        making: Making::Runs {
            how: "`reuselens gpu analyze --scenario 6 --clusters 16 --units L`; degrees of distances \
                  up to 100 added up, and as lines.",
            make: zoomed,
            in_tests: InTests::SameRows,
        },
    },
    Printed {
        id: "simt.figures63-70",
        heading: "Figures 63 to 70: Data reuse characteristic from the reference stream of the \
                  first and second core clusters with 16, 32 and 64 load/store units",
        making: Making::Runs {
            how: "`reuselens gpu analyze --scenario 5 --clusters 16 --units L`, the first two \
                  clusters.",
            make: by_cluster,
            in_tests: InTests::SameRows,
        },
    },
];

fn limited(
    workshop: &Workshop,
    kernel: &str,
    scenario: &str,
    units: &str,
) -> anyhow::Result<Vec<Characteristic>> {
    let words = [
        "--scenario",
        scenario,
        "--clusters",
        CLUSTERS,
        "--units",
        units,
    ];
    analyzed(workshop, kernel, &words)
}

fn aggregate(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = table(&["figure", "kernel", "units"]);
    for kernel in KERNELS {
        let figure = match kernel {
            "moldyn" => "none",
            "sta" => "55",
            "gsim" => "56",
            "bfs" => "57",
            "vectoradd" => "58",
            "nbf" => "59",
            "irreg" => "60",
            _ => "61",
        };
        for units in UNITS {
            let one = &limited(workshop, kernel, "6", units)?[0];
            let lines = (kernel, &*format!("{units} units"));
            push(&mut table, &[figure, kernel, units], lines, one, ("", ""));
        }
    }
    table.note(
        "As printed, peaks flatten: degrees of sta, gsim, bfs and vectoradd are high at short \
         distances and fall evenly.",
    );
    table.note(
        "The peaks of nbf, irreg and euler are printed as two orders of magnitude lower than with \
         all blocks at once; ours are lower by one order or less, since 16 clusters hold 16 blocks \
         of 256 threads at once.",
    );
    Ok(table)
}

fn zoomed(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(&["units"], &["degrees at distances up to 100", "domain"]);
    table.axes = Axes {
        log_x: false,
        log_y: false,
        ..axes()
    };
    for units in UNITS {
        let mut one = limited(workshop, "sta", "6", units)?.swap_remove(0);
        one.points.retain(|point| point.0 <= 100.0);
        let sum: f64 = one.points.iter().map(|point| point.1).sum();
        table.push(
            &[units],
            vec![Compared::ours(sum), Compared::ours(&one.domain)],
        );
        table
            .curves
            .push(one.curve(&format!("{units} units"), "ours"));
    }
    table.note(
        "As printed, the line is smoother than without limits, with steps at a few distances.",
    );
    Ok(table)
}

fn by_cluster(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = table(&["figure", "kernel", "units", "cluster"]);
    for (index, kernel) in KERNELS.iter().enumerate() {
        let figure = (63 + index).to_string();
        for units in UNITS {
            let found = limited(workshop, kernel, "5", units)?;
            for (cluster, one) in ["first", "second"].iter().zip(&found) {
                let lines = (*kernel, &*format!("{cluster}, {units} units"));
                push(
                    &mut table,
                    &[&figure, kernel, units, cluster],
                    lines,
                    one,
                    ("", ""),
                );
            }
        }
    }
    table.note(
        "As printed, a cluster's characteristic looks like the aggregate one (figures 55 to 61) with \
         smaller magnitudes. The text calls these figures scenario 6; by its definitions and the \
         captions they are scenario 5.",
    );
    Ok(table)
}
