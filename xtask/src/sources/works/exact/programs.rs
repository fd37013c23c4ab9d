//! The six programs of table 1, compiled and profiled.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context as _;
use serde_json::Value;

use crate::sources::printed::Size;
use crate::sources::workshop::Workshop;

/// A program that the report tests, and what stands in for it.
#[derive(Debug)]
pub struct TestedProgram {
    /// Its name in the report.
    pub name: &'static str,
    /// The source, below `programs/`.
    pub source: &'static str,
    /// Whether it names its accesses itself. Of the others, all accesses to static data count.
    pub names_accesses: bool,
    /// The arguments for the two inputs of the report, as it writes them: sides of grids.
    pub sides: [&'static str; 2],
    /// The power of a side that is written.
    pub power: &'static str,
    /// The sides in tests.
    small_sides: [&'static str; 2],
}

/// The programs, in the order of table 1.
pub const PROGRAMS: [TestedProgram; 6] = [
    TestedProgram {
        name: "ADI",
        source: "adi/adi.f",
        names_accesses: true,
        sides: ["50", "100"],
        power: "²",
        small_sides: ["8", "16"],
    },
    TestedProgram {
        name: "FFT",
        source: "fft/fft.f",
        names_accesses: true,
        sides: ["64", "128"],
        power: "²",
        small_sides: ["8", "16"],
    },
    TestedProgram {
        name: "Swim",
        source: "sources/swim.f90",
        names_accesses: false,
        sides: ["256", "384"],
        power: "²",
        small_sides: ["12", "20"],
    },
    TestedProgram {
        name: "Tomcatv",
        source: "sources/tomcatv.f90",
        names_accesses: false,
        sides: ["150", "250"],
        power: "²",
        small_sides: ["12", "20"],
    },
    TestedProgram {
        name: "SP",
        source: "sources/sp.f90",
        names_accesses: false,
        sides: ["18", "28"],
        power: "³",
        small_sides: ["7", "9"],
    },
    TestedProgram {
        name: "Sweep3D",
        source: "sources/sweep3d.f90",
        names_accesses: false,
        sides: ["10", "20"],
        power: "³",
        small_sides: ["4", "6"],
    },
];

/// The program of this name.
///
/// # Panics
/// If there is none.
pub fn named(name: &str) -> &'static TestedProgram {
    let found = PROGRAMS.iter().find(|program| program.name == name);
    found.expect("a program of table 1")
}

/// The larger and the smaller input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestedInput {
    /// The first column of a program in table 2.
    Smaller,
    /// The second column.
    Larger,
}

/// Both inputs.
pub const INPUTS: [TestedInput; 2] = [TestedInput::Smaller, TestedInput::Larger];

impl TestedProgram {
    /// An input as the report writes it: `50²`.
    pub fn shown(&self, input: TestedInput) -> String {
        format!("{}{}", self.sides[input as usize], self.power)
    }

    /// An argument for a run that takes no time.
    pub fn short_run(&self) -> &'static str {
        self.small_sides[0]
    }

    fn arguments(&self, size: Size, input: TestedInput) -> &'static str {
        size.pick(self.small_sides, self.sides)[input as usize]
    }

    /// Where its files are: `folder/SP.28`, `folder/SP.28.fused`.
    fn stem(&self, workshop: &Workshop, run: Run) -> anyhow::Result<PathBuf> {
        let side = self.arguments(workshop.size, run.input);
        let variant = if run.is_fused { ".fused" } else { "" };
        Ok(folder(workshop)?.join(format!("{}.{side}{variant}", self.name)))
    }

    /// The command line of a run of the instrumented program, which is compiled if need be.
    fn command(&self, workshop: &Workshop, run: Run) -> anyhow::Result<Vec<String>> {
        let program = folder(workshop)?.join(self.name);
        if !is_newer(&program, &workshop.reuselens()?) {
            let source = workshop.root.join("programs").join(self.source);
            let flags: &[&str] = if self.names_accesses {
                &["--rl-names", "-std=legacy", "-O2"]
            } else {
                &["-O0", "-g"]
            };
            let files = [text(&source), "-o".to_owned(), text(&program)];
            let words = [["fortran"].as_slice(), flags].concat().into_iter();
            let words: Vec<String> = words.map(str::to_owned).chain(files).collect();
            workshop.output(&workshop.reuselens()?, &words)?;
        }
        let mut words = vec![text(&program)];
        words.push(self.arguments(workshop.size, run.input).to_owned());
        if run.is_fused {
            words.push("fused".to_owned());
        }
        Ok(words)
    }

    /// The profile of a run, and the seconds that it took to make, by the clock. It is made once.
    ///
    /// # Errors
    /// If the program cannot be compiled or profiled.
    pub fn profile(&self, workshop: &Workshop, run: Run) -> anyhow::Result<TimedProfile> {
        let stem = self.stem(workshop, run)?;
        let (path, time) = (with_ending(&stem, "rlprof"), with_ending(&stem, "seconds"));
        if !is_newer(&time, &workshop.reuselens()?) {
            // Fused loops are compared with statements in program order.
            let options: &[&str] = match (self.names_accesses, run.is_fused) {
                (true, _) => &["--names", "statement"],
                (false, false) => &["--data", "static"],
                (false, true) => &["--data", "static", "--names", "statement"],
            };
            let output = text(&stem);
            let words = ["profile", "-q", "-f", "--granularity", "8", "-o", &output];
            let words = words.iter().chain(options).chain(&["--"]).copied();
            let words = words.map(str::to_owned).chain(self.command(workshop, run)?);
            let words: Vec<String> = words.collect();
            let begun = Instant::now();
            workshop.output(&workshop.reuselens()?, &words)?;
            fs::write(&time, format!("{:.2}", begun.elapsed().as_secs_f64()))?;
            let _ = fs::remove_file(with_ending(&stem, "html"));
        }
        let seconds = fs::read_to_string(&time)?;
        Ok(TimedProfile { path, seconds })
    }

    /// The recorded trace of a run, which stays. It is made once.
    ///
    /// # Errors
    /// If the program cannot be compiled or recorded.
    pub fn trace(&self, workshop: &Workshop, input: TestedInput) -> anyhow::Result<PathBuf> {
        let run = Run::plain(input);
        let path = with_ending(&self.stem(workshop, run)?, "rltrace");
        if !is_newer(&path, &workshop.reuselens()?) {
            let data = if self.names_accesses { "all" } else { "static" };
            let trace = text(&path);
            let words = ["record", "-q", "-f", "--data", data, "-o", &trace, "--"];
            let words = words.into_iter().map(str::to_owned);
            let words: Vec<String> = words.chain(self.command(workshop, run)?).collect();
            workshop.output(&workshop.reuselens()?, &words)?;
        }
        Ok(path)
    }

    /// The profiles of a run's statements in program order and in that of reuse-driven execution.
    /// They are made once.
    ///
    /// # Errors
    /// If the program cannot be compiled, recorded or reordered.
    pub fn reordered(
        &self,
        workshop: &Workshop,
        input: TestedInput,
    ) -> anyhow::Result<[PathBuf; 2]> {
        let stem = self.stem(workshop, Run::plain(input))?;
        let paths = ["program.rlprof", "reordered.rlprof"].map(|end| with_ending(&stem, end));
        if !is_newer(&paths[1], &workshop.reuselens()?) {
            let trace = text(&self.trace(workshop, input)?);
            let words = ["reorder", "-q", "-f", &trace, "-o", &text(&stem)];
            workshop.output(&workshop.reuselens()?, &words)?;
        }
        Ok(paths)
    }

    /// The program without instrumentation, which is compiled if need be.
    ///
    /// # Errors
    /// If it cannot be compiled.
    pub fn uninstrumented(&self, workshop: &Workshop) -> anyhow::Result<PathBuf> {
        let folder = folder(workshop)?;
        let program = folder.join(format!("{}.plain", self.name));
        let source = workshop.root.join("programs").join(self.source);
        if !is_newer(&program, &source) {
            let calls = workshop.root.join("programs/norecord/norecord.c");
            let object = text(&folder.join("norecord.o"));
            let words = ["-O2", "-c", &text(&calls), "-o", &object];
            workshop.output(Path::new("gcc"), &words)?;
            let legacy: &[&str] = if self.names_accesses {
                &["-std=legacy"]
            } else {
                &[]
            };
            let files = [&text(&source), &object, "-o", &text(&program)].map(String::from);
            let words = [["-O0", "-g"].as_slice(), legacy].concat().into_iter();
            let words: Vec<String> = words.map(str::to_owned).chain(files).collect();
            workshop.output(Path::new("gfortran"), &words)?;
        }
        Ok(program)
    }
}

/// A run of a program.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Its input.
    pub input: TestedInput,
    /// Whether its loops are fused (SP alone).
    pub is_fused: bool,
}

impl Run {
    /// The program as it is.
    pub fn plain(input: TestedInput) -> Run {
        Run {
            input,
            is_fused: false,
        }
    }
}

/// A profile, and the seconds that making it took.
#[derive(Debug)]
pub struct TimedProfile {
    /// The profile.
    pub path: PathBuf,
    /// The seconds by the clock, with two decimals.
    pub seconds: String,
}

/// The folder of the files of this work.
///
/// # Errors
/// If it cannot be made.
pub fn folder(workshop: &Workshop) -> anyhow::Result<PathBuf> {
    let folder = workshop.scratch.join("exact");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A path as text.
pub fn text(path: &Path) -> String {
    path.display().to_string()
}

fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}.{ending}", stem.display()))
}

/// Whether a file was made after another, which it depends on.
fn is_newer(file: &Path, than: &Path) -> bool {
    let time = |path: &Path| path.metadata().and_then(|of| of.modified());
    matches!((time(file), time(than)), (Ok(made), Ok(than)) if made > than)
}

/// A profile as JSON, with groups by these dimensions.
///
/// # Errors
/// If it cannot be read.
pub fn json(workshop: &Workshop, profile: &Path, by: &str) -> anyhow::Result<Value> {
    let words = ["report", &text(profile), "--by", by, "--json", "-"];
    let printed = workshop.output(&workshop.reuselens()?, &words)?;
    Ok(serde_json::from_str(&printed)?)
}

/// A histogram of distances in elements, by the points of the report: 0 for distance 0, and x for
/// distances from 2^(x−1) to 2^x − 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Distances {
    /// References by point.
    pub points: Vec<u64>,
    /// First accesses: the elements.
    pub cold: u64,
}

impl Distances {
    /// Of a profile, or of a group of one, as JSON.
    ///
    /// # Errors
    /// If it has no histogram.
    pub fn of(json: &Value) -> anyhow::Result<Distances> {
        let histogram = &json["histogram"];
        let counts = histogram["counts"].as_array().context("no histogram")?;
        let mut distances = Distances {
            points: Vec::new(),
            cold: histogram["cold"].as_u64().context("no first accesses")?,
        };
        for bin in counts {
            let number = |at: usize| bin[at].as_u64().context("a bin has three numbers");
            let point = number(0)?.checked_ilog2().map_or(0, |power| power + 1) as usize;
            if distances.points.len() <= point {
                distances.points.resize(point + 1, 0);
            }
            distances.points[point] += number(2)?;
        }
        Ok(distances)
    }

    /// Of a profile.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read(workshop: &Workshop, profile: &Path) -> anyhow::Result<Distances> {
        Distances::of(&json(workshop, profile, "program")?)
    }

    /// All references.
    pub fn references(&self) -> u64 {
        self.cold + self.reuses()
    }

    /// References but for first ones.
    pub fn reuses(&self) -> u64 {
        self.points.iter().sum()
    }

    /// References at some points.
    pub fn between(&self, points: std::ops::RangeInclusive<usize>) -> u64 {
        let known = self.points.iter().enumerate();
        let inside = known.filter(|(point, _)| points.contains(point));
        inside.map(|(_, count)| count).sum()
    }

    /// Misses in a cache of 2^`power` elements: distances of that and more.
    pub fn misses(&self, power: usize) -> u64 {
        self.cold + self.between(power + 1..=usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn distances_are_counted_by_the_points_of_the_report() {
        let histogram =
            json!({ "counts": [[0, 0, 5], [1, 1, 7], [2, 3, 1], [8, 15, 4]], "cold": 3 });
        let distances = Distances::of(&json!({ "histogram": histogram })).unwrap();
        assert_eq!(distances.points, [5, 7, 1, 0, 4]);
        assert_eq!((distances.references(), distances.reuses()), (20, 17));
        // Eight elements hold distances below 8.
        assert_eq!(distances.misses(3), 4 + 3);
        assert_eq!(distances.misses(0), 7 + 1 + 4 + 3);
        assert_eq!(distances.between(1..=2), 8);
    }
}
