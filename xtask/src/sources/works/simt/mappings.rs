//! Figures 71 to 84: what thread mapping changes.

use super::streams::stream;
use crate::sources::ComparedTable;
use crate::sources::comparison::Compared;
use crate::sources::printed::{InTests, Making, Printed};
use crate::sources::workshop::Workshop;

const BLOCK_0: &str = "`reuselens gpu map --common data --upto STAGE`, block 0 before and after \
    (`--scenario 2 --block 0`). After the mapping, block 0 is the block in its place.";
const ALL_BLOCKS: &str = "`reuselens gpu map --common data --upto STAGE --scenario 3`.";

/// Figures 71 to 84, kernels over a netlist and over a mesh apart: those over a mesh take long.
pub const MAPPINGS: &[Printed] = &[
    Printed {
        id: "simt.figures71-73",
        heading: "Figures 71 to 73: Data reuse characteristic for block 0 of sta, gsim and bfs after \
                  coding optimizations; difference in the reuse degree",
        making: Making::Runs {
            how: BLOCK_0,
            make: |workshop| block_0(workshop, 71, &PRINTED[..3]),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "simt.figures74-77",
        heading: "Figures 74 to 77: Data reuse characteristic for block 0 of nbf, moldyn, irreg and \
                  euler after coding optimizations; difference in the reuse degree",
        making: Making::Runs {
            how: BLOCK_0,
            make: |workshop| block_0(workshop, 74, &PRINTED[3..]),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "simt.figures78-80",
        heading: "Figures 78 to 80: Data reuse characteristic for all blocks running in parallel of \
                  sta, gsim and bfs after coding optimizations; difference in the reuse degree",
        making: Making::Runs {
            how: ALL_BLOCKS,
            make: |workshop| all_blocks(workshop, 78, &PRINTED[..3]),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "simt.figures81-84",
        heading: "Figures 81 to 84: Data reuse characteristic for all blocks running in parallel of \
                  nbf, moldyn, irreg and euler after coding optimizations; difference in the reuse \
                  degree",
        making: Making::Runs {
            how: ALL_BLOCKS,
            make: |workshop| all_blocks(workshop, 81, &PRINTED[3..]),
            in_tests: InTests::LeftOut,
        },
    },
];

const STAGES: [(&str, &str); 3] = [
    ("threads", "thread clustering"),
    ("warps", "thread and warp clustering"),
    ("blocks", "and block scheduling"),
];

/// A kernel, and the printed differences after each stage: of block 0, and of all blocks.
type PrintedChanges = (&'static str, [i64; 3], [i64; 3]);
const PRINTED: [PrintedChanges; 7] = [
    ("sta", [17, 802, 802], [-10_216, 14_229, 11_940]),
    ("gsim", [400, 795, 794], [8236, 21_363, 17_129]),
    ("bfs", [17, 802, 802], [-10_812, 13_361, 11_324]),
    ("nbf", [44_458, 60_346, 60_576], [6053, 7400, 9138]),
    (
        "moldyn",
        [352_556, 446_146, 447_102],
        [-3_373_236, -5_170_268, -5_791_542],
    ),
    ("irreg", [47_309, 53_448, 43_212], [-4445, -4402, -4647]),
    ("euler", [59_694, 81_755, 82_204], [8904, 7834, 9172]),
];

/// The two lines of a comparison before and after.
struct Change {
    /// `+17`, `−3`, or `unchanged`.
    degree: String,
    /// `17 → 13`.
    domain: String,
}

fn change(
    workshop: &Workshop,
    kernel: &str,
    stage: &str,
    words: &[&str],
) -> anyhow::Result<Change> {
    let stream = stream(workshop, kernel)?.display().to_string();
    let path = workshop.scratch.join(format!("{kernel}.{stage}.u32"));
    let mapping = path.display().to_string();
    let mut all = vec!["gpu", "map", &stream];
    if path.exists() {
        all.extend(["--mapping", &mapping]);
    } else {
        all.extend(["--common", "data", "--upto", stage, "-o", &mapping]);
    }
    all.extend(words);
    let text = workshop.output(&workshop.reuselens()?, &all)?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Total reuse degree: "));
    let parts = line.and_then(|line| line.split_once("; domain: "));
    let Some((degree, domain)) = parts else {
        anyhow::bail!("no difference of {kernel}:\n{text}");
    };
    let degree = if degree == "unchanged" { "0" } else { degree };
    Ok(Change {
        degree: degree.to_owned(),
        domain: domain.to_owned(),
    })
}

fn changes(
    workshop: &Workshop,
    first_figure: usize,
    kernels: &[PrintedChanges],
    words: &[&str],
    printed: fn(&PrintedChanges) -> [i64; 3],
) -> anyhow::Result<ComparedTable> {
    let quantities = ["change of the total degree", "domain"];
    let mut table = ComparedTable::new(&["figure", "kernel", "after"], &quantities);
    for (index, of) in kernels.iter().enumerate() {
        let figure = (first_figure + index).to_string();
        for ((stage, after), degree) in STAGES.iter().zip(printed(of)) {
            let ours = change(workshop, of.0, stage, words)?;
            let is_told = (of.0, *stage, first_figure) == ("sta", "warps", 71);
            let domain = if is_told { "17 → 13" } else { "" };
            let values = vec![
                Compared::both(ours.degree, format!("{degree:+}")),
                Compared::both(ours.domain, domain),
            ];
            table.push(&[&figure, of.0, after], values);
        }
    }
    Ok(table)
}

fn block_0(
    workshop: &Workshop,
    first_figure: usize,
    kernels: &[PrintedChanges],
) -> anyhow::Result<ComparedTable> {
    let words = ["--scenario", "2", "--block", "0"];
    let mut table = changes(workshop, first_figure, kernels, &words, |of| of.1)?;
    if first_figure == 71 {
        table.note(
            "Block 0 of our sta, gsim and bfs is made of inputs and flip-flops, which have one input \
             each and share nothing before, so that hardly anything can be gained there.",
        );
    }
    table.note(
        "How the published partitioner orders warps and blocks is not printed, so other threads come \
         into block 0 here.",
    );
    Ok(table)
}

fn all_blocks(
    workshop: &Workshop,
    first_figure: usize,
    kernels: &[PrintedChanges],
) -> anyhow::Result<ComparedTable> {
    let words = ["--scenario", "3"];
    let mut table = changes(workshop, first_figure, kernels, &words, |of| of.2)?;
    table.note(
        "With all blocks at once, all threads issue their n-th instruction together, so in our \
         kernels it makes no difference who is in which block. That there is one in print means that \
         the published streams are aligned in another way, which is not described.",
    );
    Ok(table)
}
