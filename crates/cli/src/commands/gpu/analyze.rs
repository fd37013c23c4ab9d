//! `reuselens gpu analyze`: shows the data reuse characteristic of a kernel.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use reuselens::units::{counted, grouped, grouped_wide};
use reuselens_document::{Section, Table, TableColumn};

use super::input::{Machine, Named, Output, SimtInput};
use super::passes::{Analysed, Wanted, analysed};
use super::pictures;
use super::typed::typed_as;
use crate::exit::Outcome;

/// How much data a kernel's threads reuse, at which distance in memory instructions
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A stream of warp instructions (`reuselens gpu run` writes one), or an Accel-Sim trace
    stream: PathBuf,

    /// Look at this block only
    #[arg(long, value_name = "N")]
    block: Option<u32>,

    #[command(flatten)]
    input: SimtInput,

    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    output: Output,
}

/// Streams that are listed; a page has more.
const LISTED: usize = 12;

impl Args {
    /// Analyses.
    pub fn run(self) -> Outcome {
        self.machine.warn();
        let wanted = Wanted {
            block: self.block,
            sharing: self.output.html.is_some(),
        };
        let mut found = analysed(&self.stream, &self.input, &self.machine, wanted)?;
        if let (Some(number), [(name, _)]) = (self.block, &mut found.named[..]) {
            *name = format!("block {number}");
        }
        if let Some(left_out) = self.input.left_out(found.is_last) {
            self.output.remark(&left_out);
        }
        for line in self.facts(&found) {
            self.output.say(&line)?;
        }
        let named = &found.named;
        self.output.say(&heads())?;
        for (name, one) in named.iter().take(LISTED) {
            self.output.say(&row(name, one))?;
        }
        if named.len() > LISTED {
            let more = named.len() - LISTED;
            self.output
                .say(&format!("… and {more} more (--csv FILE has all)"))?;
        }
        self.output.csv(&csv(named))?;
        self.output.html(|| self.page(&found))?;
        if self.output.html.is_none() {
            let map = typed_as("map", &["--granularity"]);
            self.output
                .say(&format!("\nNext: {map}, or again with --html FILE"))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn facts(&self, found: &Analysed) -> Vec<String> {
        let launch = &found.launch;
        let blocks = counted(launch.grid.count(), "block", "blocks");
        let mut facts = vec![
            format!(
                "{}: {} of {}, {} of {} {}",
                self.input.called(launch, found.is_last),
                match self.block {
                    Some(number) => format!("block {number} of {blocks}"),
                    None => blocks,
                },
                counted(launch.block.count(), "thread", "threads"),
                counted(found.touches, "touch", "touches"),
                grouped(found.items),
                self.input.items()
            ),
            self.scenario(),
        ];
        facts.extend(self.input.left_out(found.is_last));
        if let Some(transactions) = found.transactions {
            facts.push(format!(
                "{} transactions (sectors of 32 B) in {} requests of warps, {:.2} each",
                grouped(transactions.sectors),
                grouped(transactions.requests),
                transactions.average()
            ));
        }
        facts
    }

    fn scenario(&self) -> String {
        match self.block {
            Some(_) if self.machine.scenario().number() <= 4 => "One block by itself".to_owned(),
            _ => self.machine.line(),
        }
    }

    fn page(&self, found: &Analysed) -> String {
        let named = &found.named;
        let columns = TableColumn::all(&HEADS, &[0]);
        let rows = named.iter().map(|(name, one)| cells(name, one).to_vec());
        let characteristic = Section::new(
            "reuse",
            "Reuse",
            format!(
                "How much data is touched again, by how many memory instructions lie between. Both axes are \
                 logarithmic; distances without reuse have no point. Near is good: what is far is likely gone from a \
                 cache.{}{}",
                pictures::left_out(named),
                pictures::nothing(named.iter().all(|(_, one)| one.total() == 0))
            ),
        )
        .with_table(Table::new(columns, rows))
        .with_pictures(pictures::characteristics(named));
        let mut panels = Vec::new();
        if let Some(sharing) = &found.sharing {
            let title = format!("Warps of block {}", sharing.block);
            panels.push(pictures::sharing("Blocks", "blocks", &sharing.blocks));
            panels.push(pictures::sharing(&title, "warps", &sharing.warps));
        }
        let sharing = Section::new(
            "sharing",
            "Sharing",
            "How many items two blocks, or two warps of the block that accesses most, have in common. Strong \
                      squares off the diagonal are data that would be reused if the two ran together. Shades are logarithmic: \
                      a step darker is several times as much; the number beside each is the fewest items that have it.",
        )
        .with_pictures(panels);
        pictures::page(
            &self.input.called(&found.launch, found.is_last),
            &self.facts(found),
            &[characteristic, sharing],
        )
    }
}

const HEADS: [&str; 6] = [
    "stream",
    "instructions",
    "total degree",
    "peak at",
    "domain",
    "shape",
];

fn cells(name: &str, one: &reuselens_simt::Characteristic) -> [String; 6] {
    let peak = one.peak().map_or("-".to_owned(), |(at, degree)| {
        format!("{at} ({})", grouped(degree))
    });
    [
        name.to_owned(),
        grouped(one.instructions()),
        grouped_wide(one.total()),
        peak,
        one.domain().to_string(),
        format!("{} {}", one.shape().abbreviation(), one.shape()),
    ]
}

fn aligned(cells: &[String; 6]) -> String {
    let [name, instructions, total, peak, domain, shape] = cells;
    format!("{name:<24} {instructions:>14} {total:>20} {peak:>24} {domain:>8}  {shape}")
}

/// The head of a table of characteristics.
pub fn heads() -> String {
    aligned(&HEADS.map(str::to_owned))
}

/// A row of a table of characteristics.
pub fn row(name: &str, one: &reuselens_simt::Characteristic) -> String {
    aligned(&cells(name, one))
}

fn csv(named: &[Named]) -> String {
    let mut text = "stream,distance,degree\n".to_owned();
    for (name, one) in named {
        for (distance, degree) in one.entries() {
            let _ = writeln!(text, "\"{name}\",{distance},{degree}");
        }
    }
    text
}
