//! `cargo xtask gpu-day`: everything that only a GPU can show. No part begins after eight minutes.
//!
//! A GPU is lent for minutes, on a machine that compiles nothing. So `--prepare` builds all that is
//! needed into one folder, on a machine with CUDA 13 (nvcc), clang-19 and strip; the rest runs from
//! that folder. What was found is a folder of `record/`: a table for each part, and a page with the
//! machine and what failed, which is written after each part. A part that fails ends alone.
//!
//! Without a GPU, `--small` under `reuselens profile --cuda` shows that all of it still runs: the
//! driver is the stand-in then.

mod bypass;
mod equality;
mod prepare;
mod programs;
mod times;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail, ensure};

use crate::csv::csv_line;
use crate::output_of;

const USAGE: &str = "\
usage: cargo xtask gpu-day --prepare       build all that the day needs into target/gpu-day
       target/gpu-day/xtask gpu-day OUT    run it there, and write tables and a page to the folder OUT
         --small     small sizes, to see that everything runs
         --part NAME only this part: equality, times, programs, bypass";

/// No part begins after this time; the one that runs then goes on to its end.
const BUDGET: Duration = Duration::from_secs(8 * 60);

/// A part: its name, what it is, and what measures it.
struct DayPart {
    name: &'static str,
    is: &'static str,
    run: fn(&Day) -> anyhow::Result<DayTable>,
}

/// All parts, the most important first.
const PARTS: [DayPart; 4] = [
    DayPart {
        name: "equality",
        is: "Engines and answers by kernels beside those of the processor; 1 if all numbers are equal.",
        run: equality::run,
    },
    DayPart {
        name: "times",
        is: "Engines on 64 Mi references of 32 and of 64 bits: seconds, and those of each step.",
        run: times::run,
    },
    DayPart {
        name: "programs",
        is: "The ten applications: seconds alone and instrumented, and whether what was counted is \
             what the interpreter counts.",
        run: programs::run,
    },
    DayPart {
        name: "bypass",
        is: "Seconds of the ten applications, in which the loads of all but the first N warps of each \
             block pass the L1 by.",
        run: bypass::run,
    },
];

/// What the parts share.
struct Day {
    /// The folder that `--prepare` filled.
    built: PathBuf,
    /// For what is written in between.
    scratch: PathBuf,
    is_small: bool,
    end: Instant,
}

/// A table of a part.
#[derive(Default)]
struct DayTable {
    head: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    /// What did not come out as it should, in a sentence each.
    faults: Vec<String>,
}

impl DayTable {
    fn new(head: &[&'static str]) -> DayTable {
        DayTable {
            head: head.to_vec(),
            ..DayTable::default()
        }
    }

    fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    fn csv(&self) -> String {
        let lines = self.rows.iter().map(|row| csv_line(row));
        csv_line(&self.head()) + &lines.collect::<String>()
    }

    fn head(&self) -> Vec<String> {
        self.head.iter().map(|cell| (*cell).to_owned()).collect()
    }
}

impl Day {
    /// One of the commands that were built.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.built.join(name));
        // What clang makes is linked to CUDA's runtime, which `--prepare` put there. What the
        // variable has already comes first: the driver may be there.
        let mut folders: Vec<PathBuf> = std::env::var_os("LD_LIBRARY_PATH")
            .map_or_else(Vec::new, |list| std::env::split_paths(&list).collect());
        folders.push(self.built.join("lib"));
        if let Ok(list) = std::env::join_paths(folders) {
            command.env("LD_LIBRARY_PATH", list);
        }
        command.current_dir(&self.scratch);
        command
    }

    /// Runs a command of these words to its end: what it printed, and how long it took.
    fn output(&self, name: &str, words: &[&str]) -> anyhow::Result<(String, Duration)> {
        let start = Instant::now();
        let text = output_of(self.command(name).args(words))?;
        Ok((text, start.elapsed()))
    }

    /// Whether there is time for one more run.
    fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    fn pick<T>(&self, small: T, full: T) -> T {
        if self.is_small { small } else { full }
    }
}

/// Runs the command with these words.
///
/// # Errors
/// If words are wrong, or a part found a difference or could not run: after all parts have.
pub fn run(words: &[&str]) -> anyhow::Result<()> {
    let (mut out, mut is_small, mut part) = (None, false, None);
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        match word {
            "--prepare" => return prepare::run(),
            "--small" => is_small = true,
            "--part" => part = Some(*words.next().context(USAGE)?),
            option if option.starts_with('-') => bail!("no option {option}\n{USAGE}"),
            folder => out = Some(std::path::absolute(folder)?),
        }
    }
    let out = out.context(USAGE)?;
    let parts: Vec<&DayPart> = PARTS
        .iter()
        .filter(|one| part.is_none_or(|part| one.name == part))
        .collect();
    ensure!(!parts.is_empty(), "no such part\n{USAGE}");
    let built = std::env::current_exe()?;
    let built = built.parent().context("a command is in a folder")?;
    ensure!(!out.exists(), "{} exists; name a new folder", out.display());
    let scratch = out.join("scratch");
    std::fs::create_dir_all(&scratch)?;
    let day = Day {
        built: built.to_owned(),
        scratch,
        is_small,
        end: Instant::now() + BUDGET,
    };
    let page = all_parts(&day, &parts, &out)?;
    std::fs::remove_dir_all(&day.scratch)?;
    println!("{}", out.join("README.md").display());
    ensure!(page.faults == 0, "{} faults, see the page", page.faults);
    Ok(())
}

/// The page of a day, and how many faults it names.
struct DayPage {
    text: String,
    faults: usize,
}

fn all_parts(day: &Day, parts: &[&DayPart], out: &Path) -> anyhow::Result<DayPage> {
    let mut page = DayPage {
        text: format!(
            "# A day with a GPU\n\n- Machine: {}.\n- Date: {}.\n",
            machine(),
            output_of(Command::new("date").arg("+%F"))?.trim()
        ),
        faults: 0,
    };
    for part in parts {
        let start = Instant::now();
        let _ = write!(page.text, "\n## {}\n\n{}\n", part.name, part.is);
        let table = if day.is_over() {
            Err(anyhow!("not run: the time was over"))
        } else {
            (part.run)(day)
        };
        let table = table.unwrap_or_else(|error| DayTable {
            faults: vec![format!("{error:#}")],
            ..DayTable::default()
        });
        if !table.rows.is_empty() {
            std::fs::write(out.join(format!("{}.csv", part.name)), table.csv())?;
            let _ = write!(page.text, "\n{}", markdown(&table));
        }
        for fault in &table.faults {
            let _ = writeln!(page.text, "\n**Fault:** {fault}");
        }
        page.faults += table.faults.len();
        let seconds = start.elapsed().as_secs();
        let _ = writeln!(page.text, "\nTook {seconds} s.");
        println!("{}: {} rows in {seconds} s", part.name, table.rows.len());
        std::fs::write(out.join("README.md"), &page.text)?;
    }
    Ok(page)
}

fn markdown(table: &DayTable) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&table.head()) + &line(&vec!["---".to_owned(); table.head.len()]);
    for row in &table.rows {
        text += &line(row);
    }
    text
}

/// The GPU and its driver, as the driver's own command has them.
fn machine() -> String {
    let mut smi = Command::new("nvidia-smi");
    smi.args([
        "--query-gpu=name,driver_version,memory.total",
        "--format=csv,noheader",
    ]);
    let none = "no nvidia-smi, so this is no GPU, or nothing says which";
    output_of(&mut smi).map_or_else(|_| none.to_owned(), |text| text.trim().to_owned())
}
