//! HP-RDA: the figures of its evaluation.

use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::Context as _;
use serde_json::Value;

use crate::output_of;
use crate::sources::ComparedTable;
use crate::sources::comparison::{Axes, Compared, Curve};
use crate::sources::printed::{InTests, Making, Printed};
use crate::sources::workshop::Workshop;

/// Figures 1 to 17.
pub const HP_RDA: &[Printed] = &[
    Printed {
        id: "hp_rda.figures1-9",
        heading: "Figures 1 to 9: algorithms, data structures, examples and the distribution of work",
        making: Making::Not(
            "They are drawings and code; the examples of figures 3, 6 and 8 are tests of \
             `reuselens-baselines`.",
        ),
    },
    Printed {
        id: "hp_rda.figure10",
        heading: "Figure 10: Normalized speedup of HP-RDA over the sequential algorithm",
        making: Making::Runs {
            how: "`engines --bench` on recorded traces, in lines of 64 bytes: how many times as fast \
                  as Olken's tree, from items in memory to a histogram; one thread by processor time, \
                  two by the clock. *Exact* is `counting`, the engine that `auto` takes, on one \
                  thread. Printed are means, of a Tesla C2050 and of 4 cores.",
            make: speedups,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "hp_rda.figure11",
        heading: "Figure 11: Normalized speedup of evaluating the whole instrumented application with \
                  HP-RDA over using sequential algorithm",
        making: Making::Runs {
            how: "`profile --by program` with `--engine olken`, with `--engine hp-rda --threads 2` and \
                  with the default engine: time on the wall, the program's own run included. Printed \
                  are means, of a Tesla C2050 and of 4 cores.",
            make: whole_runs,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "hp_rda.figures12-13",
        heading: "Figures 12 and 13: Reuse distance histograms computed for 6 benchmarks in CFP2000 \
                  and CINT2000 by sequential algorithm and HP-RDA with and without the final \
                  adjustment step",
        making: Making::Runs {
            how: "`diff --error` of a profile by `hp-rda` against an exact one: the fraction of \
                  references up to each power of two, and by how much it is off at most.",
            make: histograms,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "hp_rda.figure14",
        heading: "Figure 14: Average error rates of HP-RDA with and without solution adjustment, \
                  comparing with sequential algorithm",
        making: Making::Runs {
            how: "`engines --bench` on the first references of each trace, chunks of 2048: the mean \
                  difference of a bin of the log2 histogram, in percent of the references. Printed \
                  are means over programs whose lengths are not given. There the adjustment makes errors \
                  smaller, here it makes them larger: see below.",
            make: errors,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "hp_rda.figure15",
        heading: "Figure 15: Performance breakdown of HP-RDA",
        making: Making::Runs {
            how: "The fastest run of figure 10 on one thread, by steps, in percent. The text names no \
                  shares; it has local analysis first for most programs.",
            make: breakdown,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "hp_rda.figure16",
        heading: "Figure 16: Accuracy varying with ST",
        making: Making::Runs {
            how: "`engines --bench --chunk` on the first 16 M references of all traces: the mean over \
                  them of the average error of a bin, in percent. The text has the result at 16384 very \
                  close to the sequential one. Why adjusted distances are further off: figure 14.",
            make: |workshop| sweep(workshop, true),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "hp_rda.figure17",
        heading: "Figure 17: Analysis time varying with ST",
        making: Making::Runs {
            how: "Runs as for figure 16: nanoseconds of processor time for a reference, one thread; and what \
                  the kernels of `hp-rda-gpu` do in the interpreter for a reference of a uniform \
                  stream: instructions of warps and sectors of 32 bytes of global memory.",
            make: |workshop| sweep(workshop, false),
            in_tests: InTests::LeftOut,
        },
    },
];

/// A program: its name, how it is compiled, and its arguments at the small and the full size.
struct Traced {
    name: &'static str,
    source: &'static str,
    compiler: &'static str,
    arguments: [&'static [&'static str]; 2],
}

const PROGRAMS: [Traced; 8] = [
    Traced {
        name: "swim",
        source: "sources/swim.f90",
        compiler: "gfortran",
        arguments: [&["32", "2"], &["256", "12"]],
    },
    Traced {
        name: "tomcatv",
        source: "sources/tomcatv.f90",
        compiler: "gfortran",
        arguments: [&["32", "2"], &["250", "8"]],
    },
    Traced {
        name: "sp",
        source: "sources/sp.f90",
        compiler: "gfortran",
        arguments: [&["8", "plain"], &["28", "plain"]],
    },
    Traced {
        name: "sweep3d",
        source: "sources/sweep3d.f90",
        compiler: "gfortran",
        arguments: [&["6", "2"], &["24", "6"]],
    },
    Traced {
        name: "matmul",
        source: "matmul/matmul.c",
        compiler: "gcc",
        arguments: [&["naive", "48"], &["naive", "320"]],
    },
    Traced {
        name: "stencil",
        source: "stencil/stencil.c",
        compiler: "gcc",
        arguments: [&["plain", "2000", "8"], &["plain", "200000", "64"]],
    },
    Traced {
        name: "list",
        source: "list/list.cc",
        compiler: "g++",
        arguments: [&["shuffled", "1000", "4"], &["shuffled", "100000", "200"]],
    },
    Traced {
        name: "hashjoin",
        source: "hashjoin/hashjoin.cc",
        compiler: "g++",
        arguments: [
            &["chained", "900", "4000"],
            &["chained", "900000", "4000000"],
        ],
    },
];

/// The chunks of figures 16 and 17.
const CHUNKS: [u32; 8] = [128, 256, 512, 1024, 2048, 4096, 8192, 16384];

impl Traced {
    /// The program and its arguments.
    fn command(&self, workshop: &Workshop) -> anyhow::Result<Vec<String>> {
        let path = workshop.scratch.join(self.name);
        if !path.exists() {
            let programs = workshop.root.join("programs");
            let mut compiler = Command::new(self.compiler);
            compiler.args(["-O2", "-g"]).arg(programs.join(self.source));
            if self.compiler == "gfortran" {
                // Statements that it marks are marked for nobody.
                compiler
                    .args(["-x", "c"])
                    .arg(programs.join("norecord/norecord.c"));
            }
            output_of(compiler.arg("-o").arg(&path).current_dir(&workshop.scratch))?;
        }
        let arguments = workshop.size.pick(self.arguments[0], self.arguments[1]);
        let words = arguments.iter().map(|word| (*word).to_owned());
        Ok([path.display().to_string()]
            .into_iter()
            .chain(words)
            .collect())
    }

    /// Its trace, which is recorded once.
    fn trace(&self, workshop: &Workshop) -> anyhow::Result<PathBuf> {
        let path = workshop.scratch.join(format!("{}.rltrace", self.name));
        if !path.exists() {
            let mut words = ["record", "-q", "-o"].map(str::to_owned).to_vec();
            words.extend([path.display().to_string(), "--".to_owned()]);
            words.extend(self.command(workshop)?);
            workshop.output(&workshop.reuselens()?, &words)?;
        }
        Ok(path)
    }
}

/// Measures engines on the traces of all programs: what `engines --bench` writes as JSON.
fn bench(workshop: &Workshop, options: &[&str]) -> anyhow::Result<Value> {
    let mut words: Vec<String> = [
        "engines", "--bench", "-q", "--json", "-", "--stream", "none",
    ]
    .map(str::to_owned)
    .to_vec();
    words.extend(options.iter().map(|word| (*word).to_owned()));
    for program in &PROGRAMS {
        words.extend([
            "--trace".to_owned(),
            program.trace(workshop)?.display().to_string(),
        ]);
    }
    let text = workshop.output(&workshop.reuselens()?, &words)?;
    Ok(serde_json::from_str(&text)?)
}

/// The programs of a measurement, each with the engine of this name.
fn of_engine<'a>(report: &'a Value, engine: &str) -> anyhow::Result<Vec<(&'a str, &'a Value)>> {
    let heats = report["streams"].as_array().context("no streams")?;
    heats
        .iter()
        .map(|heat| {
            let timings = heat["timings"].as_array().context("no timings")?;
            let mut timings = timings.iter();
            let found = timings.find(|timing| timing["name"] == engine);
            let found = found.with_context(|| format!("no engine {engine}"))?;
            Ok((heat["stream"].as_str().unwrap_or_default(), found))
        })
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// References of a trace that are measured at most.
fn references(workshop: &Workshop) -> &'static str {
    workshop.size.pick("1M", "64M")
}

fn speedups(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let options = ["--engine", "olken,counting,hp-rda", "--threads", "1,2"];
    let options = [
        &options[..],
        &["--repetitions", "1", "--references", references(workshop)],
    ];
    let report = bench(workshop, &options.concat())?;
    let engines = ["hp-rda", "hp-rda, 2 threads", "counting"];
    let mut table = ComparedTable::new(
        &["program"],
        &["HP-RDA, 1 thread", "HP-RDA, 2 threads", "exact, 1 thread"],
    );
    let mut columns = Vec::new();
    for engine in engines {
        let ratios = of_engine(&report, engine)?.into_iter();
        let ratio = |(name, timing): (&str, &Value)| {
            let ratio = timing["ratio_to_olken"].as_f64();
            Ok((name.to_owned(), ratio.context("no ratio to Olken's tree")?))
        };
        columns.push(ratios.map(ratio).collect::<anyhow::Result<Vec<_>>>()?);
    }
    for row in 0..columns[0].len() {
        let cells = columns
            .iter()
            .map(|column| Compared::ours(format!("{:.1}", column[row].1)));
        table.push(&[&columns[0][row].0], cells.collect());
    }
    let means: Vec<f64> = columns
        .iter()
        .map(|column| mean(&column.iter().map(|(_, ratio)| *ratio).collect::<Vec<_>>()))
        .collect();
    let cells = means.iter().zip(["", "3 (4 cores), 19.6 (GPU)", ""]);
    let cells = cells.map(|(ours, published)| Compared::both(format!("{ours:.1}"), published));
    table.push(&["mean"], cells.collect());
    table.note(
        "The printed sequential algorithm is that of Ding and Zhong; Olken's tree here is the \
         baseline of all our measurements.",
    );
    table.note("No GPU is measured here: `gpu-day` measures `hp-rda-gpu` where there is one.");
    Ok(table)
}

fn whole_runs(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(&["program"], &["HP-RDA, 2 threads", "exact"]);
    let tool = workshop.reuselens()?;
    let mut columns = [Vec::new(), Vec::new()];
    for program in &PROGRAMS {
        let command = program.command(workshop)?;
        let seconds = |options: &[&str]| -> anyhow::Result<f64> {
            let mut words: Vec<String> = ["profile", "-q", "-f", "-o", "whole", "--by", "program"]
                .iter()
                .chain(options)
                .map(|word| (*word).to_owned())
                .collect();
            words.push("--".to_owned());
            words.extend(command.iter().cloned());
            let start = Instant::now();
            workshop.output(&tool, &words)?;
            Ok(start.elapsed().as_secs_f64())
        };
        let olken = seconds(&["--engine", "olken"])?;
        let hp_rda = olken / seconds(&["--engine", "hp-rda", "--threads", "2"])?;
        let exact = olken / seconds(&[])?;
        columns[0].push(hp_rda);
        columns[1].push(exact);
        let cells = [hp_rda, exact].map(|ratio| Compared::ours(format!("{ratio:.1}")));
        table.push(&[program.name], cells.into());
    }
    let means = columns.map(|column| format!("{:.1}", mean(&column)));
    let published = ["1.85 (4 cores), 15.1 (GPU)", ""];
    let cells = means.into_iter().zip(published);
    let cells = cells.map(|(ours, published)| Compared::both(ours, published));
    table.push(&["mean"], cells.collect());
    Ok(table)
}

fn histograms(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let tool = workshop.reuselens()?;
    let mut table = ComparedTable::new(
        &["program"],
        &["largest difference, adjusted, %", "not adjusted, %"],
    );
    table.axes = Axes {
        x: "reuse distance, lines".to_owned(),
        y: "references up to it".to_owned(),
        log_x: true,
        log_y: false,
    };
    for program in &PROGRAMS {
        let trace = program.trace(workshop)?.display().to_string();
        let profile = |name: &str, options: &[&str]| {
            let words = ["analyze", &trace, "-q", "-f", "--by", "program", "-o", name];
            let words = [&words[..], &["--granularity", "64"], options].concat();
            workshop.output(&tool, &words)
        };
        profile("exact", &[])?;
        profile("adjusted", &["--engine", "hp-rda"])?;
        profile("merged", &["--engine", "hp-rda", "--disable-adjusting"])?;
        let mut largest = Vec::new();
        for (name, curve) in [("adjusted", "adjusted"), ("merged", "not adjusted")] {
            let other = format!("{name}.rlprof");
            let words = ["diff", "exact.rlprof", &other, "--error", "--json", "-"];
            let json: Value = serde_json::from_str(&workshop.output(&tool, &words)?)?;
            let bins = json["error"]["bins"].as_array().context("no bins")?;
            let (exact, ours) = (cumulative(bins, 2), cumulative(bins, 3));
            let off = exact.iter().zip(&ours).map(|(a, b)| (a.1 - b.1).abs());
            largest.push(100.0 * off.fold(0.0, f64::max));
            if name == "adjusted" {
                table
                    .curves
                    .push(curve_of(program.name, "sequential", exact));
            }
            table.curves.push(curve_of(program.name, curve, ours));
        }
        let cells = largest
            .iter()
            .map(|off| Compared::ours(format!("{off:.2}")));
        table.push(&[program.name], cells.collect());
    }
    table.note(
        "The six programs of each kind of SPEC CPU2000 may not be given out; ours are four programs \
         of the 2001 report and four of our own.",
    );
    Ok(table)
}

fn curve_of(panel: &str, name: &str, points: Vec<(f64, f64)>) -> Curve {
    Curve {
        panel: panel.to_owned(),
        name: name.to_owned(),
        points,
    }
}

/// The fraction of references up to the end of each bin, of the profile in this column.
fn cumulative(bins: &[Value], column: usize) -> Vec<(f64, f64)> {
    let mut sum = 0.0;
    let mut points = Vec::new();
    for bin in bins {
        // The last is of first references, which are at no distance.
        if let (Some(high), Some(share)) = (bin[1].as_f64(), bin[column].as_f64()) {
            sum += share;
            points.push((high + 1.0, sum));
        }
    }
    points
}

fn errors(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(
        &["program", "references"],
        &["adjusted, %", "not adjusted, %", "factor ef"],
    );
    for references in workshop
        .size
        .pick(&["10k", "1M"][..], &["1M", "4M", "16M", "64M"])
    {
        let options = ["--engine", "counting,hp-rda", "--repetitions", "1"];
        let report = bench(
            workshop,
            &[&options[..], &["--references", *references]].concat(),
        )?;
        let (mut adjusted, mut merged) = (Vec::new(), Vec::new());
        for (name, timing) in of_engine(&report, "hp-rda")? {
            let error = &timing["error"];
            let percent = |key: &str| error[key].as_f64().map(|error| 100.0 * error);
            let one = percent("average_bin").context("no error")?;
            let other = percent("average_bin_not_adjusted").context("no error")?;
            let factor = error["factor"].as_f64().context("no factor")?;
            adjusted.push(one);
            merged.push(other);
            let mut cells = [one, other]
                .map(|error| Compared::ours(format!("{error:.3}")))
                .to_vec();
            cells.push(Compared::ours(format!("{factor:.4}")));
            table.push(&[name, references], cells);
        }
        let cells = [(adjusted, "0.37"), (merged, "1.2")].map(|(errors, published)| {
            let published = if *references == "64M" { published } else { "" };
            Compared::both(format!("{:.3}", mean(&errors)), published)
        });
        let mut cells = cells.to_vec();
        cells.push(Compared::default());
        table.push(&["mean", references], cells);
    }
    table.note(
        "The factor is the number of items by the sum of the chunks' items (formula 3): the inverse \
         of the number of chunks that an item is in, over the whole trace. It falls with the length \
         of the trace, while a distance that is too long is so by the items that the chunks between \
         two references share. So formula 2 sends a distance just above M to a small part of it: \
         the longer a program sweeps over its data, the smaller, and the further off.",
    );
    Ok(table)
}

fn breakdown(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let options = ["--engine", "hp-rda", "--repetitions", "3", "--references"];
    let report = bench(workshop, &[&options[..], &[references(workshop)]].concat())?;
    let steps = [
        "preprocess",
        "local",
        "thread merge",
        "block merge",
        "adjust",
    ];
    let mut table = ComparedTable::new(&["program"], &steps.map(|step| step));
    for (name, timing) in of_engine(&report, "hp-rda")? {
        let found = timing["steps"].as_array().context("no steps")?;
        let seconds = |step: &str| {
            let found = found.iter().find(|one| one["step"] == step);
            found
                .and_then(|one| one["seconds"].as_f64())
                .with_context(|| format!("no {step}"))
        };
        let seconds = steps
            .iter()
            .map(|step| seconds(step))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let all: f64 = seconds.iter().sum();
        let cells = seconds
            .iter()
            .map(|one| Compared::ours(format!("{:.1}", 100.0 * one / all)));
        table.push(&[name], cells.collect());
    }
    table.note("The printed figure has no preprocessing, which is a part of local analysis there.");
    Ok(table)
}

/// Figure 16 or 17: a row for each size of a chunk.
fn sweep(workshop: &Workshop, is_accuracy: bool) -> anyhow::Result<ComparedTable> {
    let chunks = CHUNKS.map(|chunk| chunk.to_string());
    let chunks = chunks.join(",");
    let options = [
        "--engine",
        "counting,hp-rda",
        "--repetitions",
        "1",
        "--chunk",
        &chunks,
    ];
    let references = workshop.size.pick("1M", "16M");
    let report = bench(
        workshop,
        &[&options[..], &["--references", references]].concat(),
    )?;
    let quantities: &[&str] = if is_accuracy {
        &["adjusted, %", "not adjusted, %"]
    } else {
        &["ns per reference", "warp instructions", "sectors"]
    };
    let mut table = ComparedTable::new(&["ST"], quantities);
    for chunk in CHUNKS {
        let timings = of_engine(&report, &format!("hp-rda, chunks of {chunk}"))?;
        let column = |value: &dyn Fn(&Value) -> Option<f64>| -> anyhow::Result<f64> {
            let values = timings
                .iter()
                .map(|(_, timing)| value(timing).context("no value"));
            Ok(mean(&values.collect::<anyhow::Result<Vec<f64>>>()?))
        };
        let cells = if is_accuracy {
            let percent = |key: &str| column(&|timing| timing["error"][key].as_f64());
            let errors = [
                percent("average_bin")?,
                percent("average_bin_not_adjusted")?,
            ];
            errors
                .map(|error| Compared::ours(format!("{:.3}", 100.0 * error)))
                .to_vec()
        } else {
            let rate =
                column(&|timing| Some(1e3 / timing["mega_references_per_second"].as_f64()?))?;
            let mut cells = vec![Compared::ours(format!("{rate:.1}"))];
            cells.extend(
                device_work(workshop, chunk)?.map(|each| Compared::ours(format!("{each:.1}"))),
            );
            cells
        };
        table.push(&[&chunk.to_string()], cells);
    }
    Ok(table)
}

/// Instructions of warps and sectors of global memory for a reference, in the interpreter.
fn device_work(workshop: &Workshop, chunk: u32) -> anyhow::Result<[f64; 2]> {
    let example = workshop.example("reuselens-distance-gpu", "work")?;
    let references = workshop.size.pick("20000", "2097152");
    let text = workshop.output(&example, &[references, "65536", &chunk.to_string()])?;
    let line = text.lines().last().context("the example prints a line")?;
    let numbers: Vec<f64> = line
        .split(',')
        .filter_map(|word| word.parse().ok())
        .collect();
    numbers
        .try_into()
        .ok()
        .with_context(|| format!("two numbers, not {line}"))
}
