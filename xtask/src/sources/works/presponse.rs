//! The dissertation's chapter on evolving graphs: Presponse.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;

use crate::sources::ComparedTable;
use crate::sources::comparison::{Axes, Compared, Curve, grouped, number};
use crate::sources::printed::{InTests, Making, Printed, Size};
use crate::sources::workshop::Workshop;

/// Tables 4.1 and 4.2 and figures 4.1 to 4.11.
pub const PRESPONSE: &[Printed] = &[
    Printed {
        id: "dissertation.figures4.1-4.3",
        heading: "Figures 4.1 to 4.3: three approaches to evolving graphs, workflow of Presponse, \
                  training a classifier",
        making: Making::Not("They are drawings and no results."),
    },
    Printed {
        id: "dissertation.table4.1",
        heading: "Table 4.1: Graph Datasets for Algorithm Evaluations",
        making: Making::Runs {
            how: "Graphs that the example `speedup` of `reuselens-incremental` runs on: files of `--data`.",
            make: graphs,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure4.4",
        heading: "Figure 4.4: Speedup of incremental BFS",
        making: Making::Runs {
            how: "The example `speedup`, depths: processor time of one thread of a CPU; half of the \
                  changes are deletions. *Published rule* is the printed algorithm, corrected, against \
                  the printed static one; *ours* is ours against our static one.",
            make: |workshop| speedups(workshop, "depths"),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure4.5",
        heading: "Figure 4.5: Relation between speedup and fraction of impacted vertices",
        making: Making::Runs {
            how: "The rows of figure 4.4, by the share of vertices that a batch does not affect.",
            make: |workshop| relation(workshop, "depths"),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure4.6",
        heading: "Figure 4.6: Speedup of incremental CC",
        making: Making::Runs {
            how: "As figure 4.4, components.",
            make: |workshop| speedups(workshop, "components"),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure4.7",
        heading: "Figure 4.7: Speedup of incremental TC",
        making: Making::Runs {
            how: "As figure 4.4, triangles.",
            make: |workshop| speedups(workshop, "triangles"),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure4.8",
        heading: "Figure 4.8: Relation between speedup and fraction of impacted vertices (TC)",
        making: Making::Runs {
            how: "The rows of figure 4.7, by the share of vertices that a batch does not affect.",
            make: |workshop| relation(workshop, "triangles"),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.table4.2",
        heading: "Table 4.2: Description of Real-world Datasets",
        making: Making::Runs {
            how: "The graph of questions and answers that stands in for the printed ones: lines and \
                  vertices of `sx-mathoverflow-a2q.txt` (SNAP).",
            make: communities,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure4.9",
        heading: "Figure 4.9: Prediction accuracy",
        making: Making::Runs {
            how: "The example `temporal` on the graph of table 4.2: node2vec and a linear SVM, \
                  batches of 90 days after 60 % of the edges. Accuracy on new pairs and as many random \
                  ones, as in print; and on as many pairs of vertices that are known, which is harder.",
            make: |workshop| accuracy(workshop, false),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure4.10",
        heading: "Figure 4.10: Prediction accuracy when re-training enabled",
        making: Making::Runs {
            how: "As figure 4.9, trained anew after each batch with an accuracy below 70 %.",
            make: |workshop| accuracy(workshop, true),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure4.11",
        heading: "Figure 4.11: Normalized execution time of Presponse (BFS, CC, TC)",
        making: Making::Not(
            "Its times are of GPUs, and its predictions do not pay on the graphs that we have: \
             `presponse speculate` shows that work ahead by prediction costs more than it saves there \
             (`docs/design/graphs.md`).",
        ),
    },
];

/// A printed graph: name, vertices, edges, and where ours is from.
const GRAPHS: [(&str, &str, &str, &str); 6] = [
    ("delaunay_n15 (n15)", "32,769", "196,548", "n15"),
    ("delaunay_n18 (n18)", "262,145", "1,572,792", ""),
    ("delaunay_n20 (n20)", "1,048,577", "6,291,372", ""),
    ("ca-HepPh (hep)", "12,008", "237,010", "ca-HepPh"),
    ("af_shell19 (shell)", "504,856", "17,084,020", ""),
    ("thermal12 (thermal)", "1,227,088", "7,352,268", ""),
];
const COMMUNITIES: [(&str, &str, &str); 5] = [
    ("android", "36,418", "51,441"),
    ("apple", "64,613", "117,730"),
    ("gaming", "52,170", "112,829"),
    ("tex", "47,992", "149,103"),
    ("unix", "69,143", "171,146"),
];
const MATHOVERFLOW: &str = "sx-mathoverflow-a2q.txt";
/// Days in a batch of its edges: few enough batches that training anew takes minutes.
const DAYS: &str = "90";

/// Rows of the example `speedup`: its cells without the first and last line.
fn rows(workshop: &Workshop) -> anyhow::Result<Vec<Vec<String>>> {
    let kept = workshop.scratch.join("speedup.txt");
    if !kept.exists() {
        // A folder with the printed graphs alone; the example measures all that it finds.
        let folder = workshop.scratch.join("graphs");
        fs::create_dir_all(&folder)?;
        for file in ["delaunay_n15.graph", "ca-HepPh.txt"] {
            let from = workshop.input(file, "a graph in the format of METIS or SNAP")?;
            fs::copy(from, folder.join(file))?;
        }
        let example = workshop.example("reuselens-incremental", "speedup")?;
        fs::write(&kept, workshop.output(&example, &[folder])?)?;
    }
    let text = fs::read_to_string(kept)?;
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| answer");
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    Ok(text.lines().filter(is_row).map(cells).collect())
}

fn graphs(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(&["dataset"], &["vertices", "edges"]);
    for (name, vertices, edges, ours) in GRAPHS {
        let counted = match ours {
            "n15" => counts(workshop, "delaunay_n15.graph", false)?,
            "ca-HepPh" => counts(workshop, "ca-HepPh.txt", false)?,
            _ => Default::default(),
        };
        let [own_vertices, own_edges] = counted;
        let values = [
            Compared::both(own_vertices, vertices),
            Compared::both(own_edges, edges),
        ];
        table.push(&[name], values.into());
    }
    table.note("Printed edges are counted in both directions, and printed vertices from 0 to the largest number, of which some have no edge; ours are undirected edges.");
    table.note(
        "The others are not among our inputs: the example runs on n15 and hep, the two that are small \
         enough to measure every batch several times in minutes.",
    );
    Ok(table)
}

/// Vertices and edges of a file: of its head, or counted.
fn counts(workshop: &Workshop, file: &str, is_counted: bool) -> anyhow::Result<[String; 2]> {
    let text = fs::read_to_string(workshop.input(file, "a graph")?)?;
    let lines = text.lines().filter(|line| !line.starts_with(['#', '%']));
    if !is_counted {
        let head = lines.clone().next().unwrap_or_default();
        let numbers: Vec<u64> = head
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let [vertices, edges, ..] = numbers[..] else {
            anyhow::bail!("{file} has no head");
        };
        return Ok([vertices, edges].map(grouped));
    }
    let ends = lines
        .clone()
        .flat_map(|line| line.split_whitespace().take(2));
    let vertices = ends.collect::<std::collections::HashSet<_>>().len();
    Ok([grouped(vertices as u64), grouped(lines.count() as u64)])
}

fn communities(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(&["dataset"], &["vertices", "edges"]);
    let [vertices, edges] = counts(workshop, MATHOVERFLOW, true)?;
    table.push(
        &["mathoverflow (ours)"],
        vec![Compared::ours(vertices), Compared::ours(edges)],
    );
    for (name, vertices, edges) in COMMUNITIES {
        table.push(
            &[name],
            vec![Compared::published(vertices), Compared::published(edges)],
        );
    }
    table.note("The printed graphs were made of a dump of stackexchange.com that is not kept anywhere with its day; mathoverflow is of the same kind, from SNAP.");
    Ok(table)
}

fn speedups(workshop: &Workshop, answer: &str) -> anyhow::Result<ComparedTable> {
    let titles = ["published rule, ×", "ours, ×", "affected vertices, %"];
    let mut table = ComparedTable::new(&["graph", "changes in a batch"], &titles);
    table.axes = Axes {
        x: "changes in a batch".to_owned(),
        y: "speedup".to_owned(),
        log_x: true,
        log_y: true,
    };
    for row in rows(workshop)?.iter().filter(|row| row[0] == answer) {
        let cell = |at: usize| row[at].trim_end_matches(" %").to_owned();
        let printed = match (answer, &*row[2]) {
            ("depths", "1" | "100") => "1 to 1.4",
            ("depths", _) => "about 1",
            ("triangles", "1" | "100") => "> 1",
            _ => "",
        };
        let values = vec![
            Compared::both(cell(5), printed),
            Compared::ours(cell(7)),
            Compared::ours(cell(8)),
        ];
        table.push(&[&row[1], &row[2]], values);
        for (name, at) in [("published rule", 5), ("ours", 7)] {
            let point = (
                number(&row[2]).unwrap_or(1.0),
                number(&row[at]).unwrap_or(1.0),
            );
            let old = table
                .curves
                .iter_mut()
                .find(|curve| curve.panel == row[1] && curve.name == name);
            match old {
                Some(curve) => curve.points.push(point),
                None => table.curves.push(Curve {
                    panel: row[1].clone(),
                    name: name.to_owned(),
                    points: vec![point],
                }),
            }
        }
    }
    table.note(
        "Printed times are of GPUs (K40c and GTX 1080) and shown without numbers; here one thread of \
         a CPU, whose recomputation is slower, so repairs gain more. A GPU's are measured by hand \
         (`presponse run --device cuda`).",
    );
    table.note(what_is_printed(answer));
    Ok(table)
}

/// What the text says of a figure of speedups, and why ours differs.
fn what_is_printed(answer: &str) -> &'static str {
    match answer {
        "depths" => {
            "As printed, the speedup of the published rule starts near 1.4 and falls to 1: it resets \
             every vertex that is deeper than the nearest change. Ours repairs only what loses its \
             parent."
        }
        "components" => {
            "Printed is a gain for small batches of insertions, and 1 for deletions. Half of our \
             changes are deletions, and nearly every batch cuts into the largest component, which \
             the published rule searches again. Ours keeps a spanning forest."
        }
        _ => {
            "As printed, the speedup is far above 1 for small batches, and falls below 1 for the \
             largest."
        }
    }
}

fn relation(workshop: &Workshop, answer: &str) -> anyhow::Result<ComparedTable> {
    // Work on triangles counts a vertex once for each change that affects it.
    let (share, whole) = match answer {
        "triangles" => ("vertices affected, %, again by each change", 0.0),
        _ => ("vertices not affected, %", 100.0),
    };
    let titles = ["published rule, ×", "ours, ×"];
    let mut table = ComparedTable::new(&[share, "graph", "changes in a batch"], &titles);
    let of = |row: &Vec<String>| (number(&row[8]).unwrap_or(0.0) - whole).abs();
    let mut rows: Vec<Vec<String>> = rows(workshop)?;
    rows.retain(|row| row[0] == answer);
    rows.sort_by(|a, b| of(a).total_cmp(&of(b)));
    for row in &rows {
        let values = vec![Compared::ours(&row[5]), Compared::ours(&row[7])];
        table.push(&[&format!("{:.1}", of(row)), &row[1], &row[2]], values);
    }
    table.axes = Axes {
        x: share.to_owned(),
        y: "speedup".to_owned(),
        log_x: false,
        log_y: true,
    };
    let graphs: BTreeSet<&String> = rows.iter().map(|row| &row[1]).collect();
    for graph in graphs {
        let mine = rows.iter().filter(|row| row[1] == *graph);
        for (name, at) in [("published rule", 5), ("ours", 7)] {
            let point = |row: &Vec<String>| (of(row), number(&row[at]).unwrap_or(1.0));
            table.curves.push(Curve {
                panel: graph.clone(),
                name: name.to_owned(),
                points: mine.clone().map(point).collect(),
            });
        }
    }
    table.note(
        "As printed, the fewer vertices a batch affects, the more is gained; the printed figure is of \
         one graph (n20 for depths, shell for triangles), ours of two.",
    );
    Ok(table)
}

/// What the example `temporal` prints.
fn predictions(workshop: &Workshop) -> anyhow::Result<String> {
    // Two figures are made of one run, which takes most of an hour.
    let kept: PathBuf = workshop.scratch.join(format!("temporal.{DAYS}.txt"));
    if !kept.exists() {
        let file = workshop.input(MATHOVERFLOW, "a temporal graph")?;
        let example = workshop.example("reuselens-link-prediction", "temporal")?;
        let words = ["--only-by-time", "--days", DAYS].map(OsStr::new);
        let words = [&words[..], &[file.as_os_str()]].concat();
        fs::write(&kept, workshop.output(&example, &words)?)?;
    }
    Ok(fs::read_to_string(kept)?)
}

/// The lines of its batches: day, and accuracies in percent.
fn batches(text: &str) -> Vec<Vec<String>> {
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("day "))
        .skip(1);
    let lines = lines.take_while(|line| !line.trim().is_empty());
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .filter(|word| word != "new")
            .collect()
    };
    lines.map(words).collect()
}

/// What is known of the difference from print: how new the pairs are, and what the simplest
/// predictor reaches on them. `None` if the example has not printed that.
fn difference(text: &str) -> Option<String> {
    let between = |line: &str, from: &str, to: &str| -> Option<String> {
        let (_, rest) = line.split_once(from)?;
        Some(rest.split_once(to)?.0.to_owned())
    };
    let totals = text
        .lines()
        .find(|line| line.contains("never seen before:"))?;
    let unseen = between(totals, "never seen before: ", " %")?;
    let new = between(totals, "with a new vertex: ", " %")?;
    let line = text.lines().find(|line| line.starts_with("popularity "))?;
    // Precision and recall of all pairs and of unseen ones, then the accuracies.
    let words: Vec<&str> = line.split_whitespace().collect();
    let [random, known] = [words.get(5)?, words.get(6)?];
    Some(format!(
        "Of the pairs in these batches {unseen} % were never seen before, and {new} % have a vertex that \
         was never seen, of which walks say nothing. On the same pairs, how many neighbours the ends \
         have (popularity) reaches {random} % of random pairs and {known} % of pairs of known vertices."
    ))
}

fn accuracy(workshop: &Workshop, is_retrained: bool) -> anyhow::Result<ComparedTable> {
    anyhow::ensure!(workshop.size == Size::Full, "training takes minutes");
    let titles = ["random pairs, %", "pairs of known vertices, %"];
    let mut table = ComparedTable::new(&["day"], &titles);
    table.axes = Axes {
        x: "day".to_owned(),
        y: "accuracy, %".to_owned(),
        ..Axes::default()
    };
    // Cells: day, edges, pairs, unseen, new vertex, random once and anew, known once and anew, ...
    let (random, known) = if is_retrained { (6, 8) } else { (5, 7) };
    let text = predictions(workshop)?;
    let rows = batches(&text);
    for row in &rows {
        table.push(
            &[&row[0]],
            vec![Compared::ours(&row[random]), Compared::ours(&row[known])],
        );
    }
    for (name, at) in [("random pairs", random), ("pairs of known vertices", known)] {
        let point = |row: &Vec<String>| Some((number(&row[0])?, number(&row[at])?));
        table.curves.push(Curve {
            panel: "mathoverflow".to_owned(),
            name: name.to_owned(),
            points: rows.iter().filter_map(point).collect(),
        });
    }
    if is_retrained {
        table.note("Printed is that training anew lifts apple and android above 70 % in the batches after; no numbers are printed.");
    } else {
        table.note(
            "Printed is about 90 % for tex and gaming, and below 80 % for unix, apple and android.",
        );
    }
    if let Some(note) = difference(&text) {
        table.note(note);
    }
    table.note("Accuracy says little of how many edges of a batch are predicted; `presponse speculate --predict` shows precision and recall.");
    Ok(table)
}
