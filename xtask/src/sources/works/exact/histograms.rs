//! Figure 5 and what the text draws from it: the histograms of all programs, and the sizes of a
//! cache that are worth having.

use super::percent;
use super::programs::{Distances, INPUTS, PROGRAMS, Run, TestedInput, TestedProgram};
use crate::sources::ComparedTable;
use crate::sources::comparison::{Axes, Compared, Curve, grouped};
use crate::sources::printed::{InTests, Making, Printed};
use crate::sources::workshop::Workshop;

/// The point from which on distances are long: 64 elements.
const LONG: usize = 7;
/// The least share of the long reuses that makes a point a concentrated one, in percent: the report
/// has 8 to 32 % at each of those of SP.
const CONCENTRATED: u64 = 8;

/// Figure 5, and the sizes of section 3.2.
pub const HISTOGRAMS: &[Printed] = &[
    Printed {
        id: "exact.figure5",
        heading: "Figure 5: Reuse distances",
        making: Making::Runs {
            how: "References by the distance in elements, at two inputs of each program; x is 0 for \
                  distance 0, and else 2^(x−1) to 2^x − 1. Long are distances of 64 elements and \
                  more, and the row counts as many of the highest points as the report does for the \
                  larger input (for Swim and Tomcatv, of which nothing is printed, three). Evadable \
                  are reuses whose distance grows with the input.",
            make: histograms,
            in_tests: InTests::SameRows,
        },
    },
    Printed {
        id: "exact.section3.2-sizes",
        heading: "Section 3.2: the most effective cache sizes",
        making: Making::Runs {
            how: "Sizes, in elements, of a fully associative LRU cache that hold a point of figure 5 \
                  with at least 8 % of the long reuses, at the larger input; in brackets that share, \
                  and what of the long reuses no size in the list holds.",
            make: sizes,
            in_tests: InTests::SameRows,
        },
    },
];

/// How many of the highest points of a program the report counts, and which share of the long
/// reuses they have, in percent.
fn printed_concentration(program: &TestedProgram) -> (usize, &'static str) {
    match program.name {
        "ADI" => (2, "95"),
        "FFT" => (3, "96"),
        "SP" => (4, "69"),
        "Sweep3D" => (3, "69"),
        _ => (3, ""),
    }
}

/// The histograms of both inputs.
fn both(workshop: &Workshop, program: &TestedProgram) -> anyhow::Result<[Distances; 2]> {
    let of = |input| {
        let profile = program.profile(workshop, Run::plain(input))?;
        Distances::read(workshop, &profile.path)
    };
    Ok([of(TestedInput::Smaller)?, of(TestedInput::Larger)?])
}

/// The points with long distances, those with most references first.
fn highest_long(distances: &Distances) -> Vec<usize> {
    let mut points: Vec<usize> = (LONG..distances.points.len()).collect();
    points.sort_by_key(|point| std::cmp::Reverse(distances.points[*point]));
    points
}

fn histograms(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(
        &["program", "input"],
        &[
            "at x = 2, % of reuses",
            "highest points of long distances",
            "their % of long reuses",
            "evadable, % of reuses",
        ],
    );
    table.axes = Axes {
        x: "x".to_owned(),
        y: "thousand references".to_owned(),
        ..Axes::default()
    };
    for program in &PROGRAMS {
        let evadable = super::reordered::evadable(
            workshop,
            [TestedInput::Smaller, TestedInput::Larger].map(|input| {
                let profile = program.profile(workshop, Run::plain(input));
                profile.map(|profile| profile.path)
            }),
        )?;
        for (input, distances) in INPUTS.into_iter().zip(both(workshop, program)?) {
            table.push(
                &[program.name, &program.shown(input)],
                concentration(program, input, &distances, &evadable),
            );
            table.curves.push(curve(program.name, input, &distances));
        }
    }
    table.note(
        "In print the last hill of ADI has 35 % of the references, at distances of 16K to 33K \
         elements (x = 15), and the fastest moving hill of FFT has 5 %. No other values are printed.",
    );
    table.note(
        "Swim, Tomcatv, SP and Sweep3D are programs of ours after the same methods \
         (programs/sources); table 2 has their references and elements beside those in print.",
    );
    Ok(table)
}

/// The values of a row of figure 5.
fn concentration(
    program: &TestedProgram,
    input: TestedInput,
    distances: &Distances,
    evadable: &str,
) -> Vec<Compared> {
    let (most, share) = printed_concentration(program);
    let of_larger = |text| match input {
        TestedInput::Smaller => "",
        TestedInput::Larger => text,
    };
    let mut points = highest_long(distances);
    points.truncate(most);
    points.sort_unstable();
    let long = distances.between(LONG..=usize::MAX);
    let held: u64 = points.iter().map(|point| distances.points[*point]).sum();
    let points: Vec<String> = points.iter().map(ToString::to_string).collect();
    let near_in_print = match program.name {
        "ADI" => of_larger("35"),
        _ => "",
    };
    let near = percent(distances.between(2..=2), distances.reuses());
    vec![
        Compared::both(near, near_in_print),
        Compared::ours(points.join(", ")),
        Compared::both(percent(held, long), of_larger(share)),
        Compared::ours(of_larger(evadable)),
    ]
}

/// A histogram as a line of a picture.
fn curve(program: &str, input: TestedInput, distances: &Distances) -> Curve {
    let points = distances.points.iter().enumerate();
    Curve {
        panel: program.to_owned(),
        name: match input {
            TestedInput::Smaller => "smaller input",
            TestedInput::Larger => "larger input",
        }
        .to_owned(),
        points: points
            .map(|(point, count)| (point as f64, *count as f64 / 1000.0))
            .collect(),
    }
}

fn sizes(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(
        &["program", "input"],
        &["sizes (% of long reuses)", "in no point of the list, %"],
    );
    for program in &PROGRAMS {
        let [_, distances] = both(workshop, program)?;
        let long = distances.between(LONG..=usize::MAX);
        let mut points = highest_long(&distances);
        points.retain(|point| distances.points[*point] * 100 >= CONCENTRATED * long.max(1));
        points.sort_unstable();
        let size = |point: &usize| {
            let share = 100.0 * distances.points[*point] as f64 / long.max(1) as f64;
            format!("{} ({share:.0})", grouped(1 << point))
        };
        let sizes: Vec<String> = points.iter().map(size).collect();
        let held: u64 = points.iter().map(|point| distances.points[*point]).sum();
        let (printed, rest) = match program.name {
            "ADI" => ("512 (20); 32,768 (74)", "6"),
            "SP" => ("four (8 to 32 each)", "31"),
            _ => ("", ""),
        };
        table.push(
            &[program.name, &program.shown(TestedInput::Larger)],
            vec![
                Compared::both(sizes.join("; "), printed),
                Compared::both(percent(long - held, long), rest),
            ],
        );
    }
    table.note(
        "A reuse is held by a cache of more elements than its distance, so the size for a point x is \
         2^x. Between two sizes of a list the miss ratio falls by no more than what is in no point.",
    );
    Ok(table)
}
