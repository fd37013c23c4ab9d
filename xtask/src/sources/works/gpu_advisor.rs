//! The dissertation's chapter on GPU kernels: CUDAAdvisor.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use serde_json::Value;

use crate::output_of;
use crate::sources::ComparedTable;
use crate::sources::comparison::{Compared, grouped};
use crate::sources::printed::{InTests, Making, Printed};
use crate::sources::workshop::Workshop;

/// Tables 3.1 to 3.3 and figures 3.1 to 3.10.
pub const GPU_ADVISOR: &[Printed] = &[
    Printed {
        id: "dissertation.figures3.1-3.3",
        heading: "Figures 3.1 to 3.3: workflow of CUDAAdvisor, the engine inserting \
                  instrumentation, data-centric profiling",
        making: Making::Not("They are drawings and no results."),
    },
    Printed {
        id: "dissertation.table3.1",
        heading: "Table 3.1: GPU architectures for evaluation",
        making: Making::Not(
            "It is a list of machines; here, kernels run in an interpreter of PTX, and `--gpu-model \
             kepler` and `pascal` have the caches of these GPUs.",
        ),
    },
    Printed {
        id: "dissertation.table3.2",
        heading: "Table 3.2: Benchmarks for showcasing CUDAAdvisor",
        making: Making::Runs {
            how: "`reuselens profile` of the programs in `programs/cuda`: warps of a block of the \
                  kernel with most launches; the arguments and their defaults, which are taken.",
            make: benchmarks,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure3.4",
        heading: "Figure 3.4: Reuse distance analysis through CUDAAdvisor",
        making: Making::Runs {
            how: "Loads of elements in blocks, in percent; a write ends an element's reuse. ∞ is what \
                  was not loaded before, or was written since.",
            make: reuse_distances,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure3.5",
        heading: "Figure 3.5: Profiled memory divergence distribution of unique touched cache lines \
                  by instructions",
        making: Making::Runs {
            how: "Requests of warps by the number of lines of 128 bytes (Kepler) or 32 bytes (Pascal) \
                  that they access: under `1 %` is the percentage of those that access one line.",
            make: lines_touched,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.table3.3",
        heading: "Table 3.3: Results of Branch Divergence on Pascal",
        making: Making::Runs {
            how: "Executions of basic blocks by warps, and those with fewer threads than the warp has.",
            make: divergence,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure3.6",
        heading: "Figure 3.6: Normalized execution time of different applications on NVIDIA Kepler \
                  architecture when using the predicted optimal number of warps per CTA for bypassing",
        making: Making::Runs {
            how: "No times: sectors that the L1 lets through, by the model of caches, ÷ those with the \
                  best number of warps (the oracle). Predictions are by the printed formula, with \
                  reuse distances per warp and per block.",
            make: |workshop| {
                bypassing(
                    workshop,
                    &[
                        ("16 KB", "kepler", "1.067"),
                        ("48 KB", "kepler,l1=48K", "1.043"),
                    ],
                )
            },
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure3.7",
        heading: "Figure 3.7: Normalized execution time of different applications on NVIDIA Pascal \
                  architecture when using the predicted optimal number of warps per CTA for bypassing",
        making: Making::Runs {
            how: "As figure 3.6.",
            make: |workshop| bypassing(workshop, &[("24 KB", "pascal", "1.050")]),
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure3.8",
        heading: "Figure 3.8: Code-centric view shows concatenated calling context from both host \
                  and device",
        making: Making::Runs {
            how: "Of bfs, the line whose requests access most sectors beyond what they need, and the \
                  call path from `main` to it.",
            make: code_centric,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure3.9",
        heading: "Figure 3.9: Data-centric view shows the interesting data objects, where it is \
                  allocated on host and device and where it is transferred",
        making: Making::Runs {
            how: "Of bfs, the object of the line of figure 3.8.",
            make: data_centric,
            in_tests: InTests::LeftOut,
        },
    },
    Printed {
        id: "dissertation.figure3.10",
        heading: "Figure 3.10: Overhead of memory and control flow instrumentation, on Kepler and \
                  Pascal Architectures",
        making: Making::Not(
            "It needs a GPU: what the hooks of `gpu instrument` cost there is measured by hand, and an \
             interpreter's time compares with nothing that is printed (10 to 120 times).",
        ),
    },
];

/// A program: warps of a block and input as printed; divergent blocks, all blocks, and percent.
type PrintedProgram = (&'static str, &'static str, &'static str, [&'static str; 3]);
const PROGRAMS: [PrintedProgram; 10] = [
    ("backprop", "8", "65536", ["26257", "95011", "27.64"]),
    (
        "bfs",
        "16",
        "graph1MW_6.txt",
        ["408420", "1292788", "31.59"],
    ),
    (
        "hotspot",
        "8",
        "temp_512 power_512",
        ["1372", "4197", "32.69"],
    ),
    ("lavaMD", "4", "-boxes1d 10", ["103", "744", "13.84"]),
    (
        "nn",
        "8",
        "filelist_4 -r 5 -lat 30 -lng 90",
        ["81", "2001", "4.05"],
    ),
    ("nw", "1", "2048-10", ["147875", "212992", "69.43"]),
    (
        "srad_v2",
        "8",
        "2048-2048-0-127-0-127-0.5-2",
        ["92643", "270128", "34.30"],
    ),
    ("bicg", "8", "1024*1024", ["0", "1256", "0.00"]),
    ("syrk", "8", "default", ["0", "817", "0.00"]),
    ("syr2k", "8", "default", ["15", "393", "3.82"]),
];

/// The run of a program as JSON, by a model of caches; made once for all items.
fn run(workshop: &Workshop, name: &str, model: &str) -> anyhow::Result<Value> {
    let folder = workshop.scratch.join("cuda");
    fs::create_dir_all(&folder)?;
    let output = folder.join(format!("{name}-{model}"));
    let file = folder.join(format!("{name}-{model}.rlgpu"));
    if !file.exists() {
        let binary = build(workshop, &folder, name)?;
        let mut profile = Command::new(workshop.reuselens()?);
        profile
            .args(["profile", "-q", "-f", "--gpu-model", model, "-o"])
            .arg(&output);
        output_of(profile.arg("--").arg(binary).current_dir(&folder))?;
    }
    Ok(serde_json::from_str(&fs::read_to_string(file)?)?)
}

fn build(workshop: &Workshop, folder: &Path, name: &str) -> anyhow::Result<std::path::PathBuf> {
    let binary = folder.join(name);
    if !binary.exists() {
        let nvcc = std::env::var("NVCC").unwrap_or_else(|_| "nvcc".to_owned());
        let source = workshop
            .root
            .join("programs/cuda")
            .join(format!("{name}.cu"));
        let mut compile = Command::new(nvcc);
        compile
            .args(["-lineinfo", "-g", "-o"])
            .arg(&binary)
            .arg(source);
        output_of(&mut compile).context("programs for CUDA need nvcc (its path, or NVCC)")?;
    }
    Ok(binary)
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

fn sum(values: &[Value], field: &str) -> u64 {
    values
        .iter()
        .filter_map(|value| value[field].as_u64())
        .sum()
}

fn percent(part: u64, all: u64) -> String {
    format!("{:.2}", 100.0 * part as f64 / all.max(1) as f64)
}

fn benchmarks(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let mut table = ComparedTable::new(&["application"], &["warps/CTA", "input"]);
    for (name, warps, input, _) in PROGRAMS {
        let run = run(workshop, name, "kepler")?;
        let kernels = list(&run, "by_kernel");
        let most = kernels
            .iter()
            .max_by_key(|kernel| kernel["launches"].as_u64());
        let block = most.and_then(|kernel| kernel["configurations"][0]["block"].as_array());
        let threads: u64 = block
            .context("a launch has a block")?
            .iter()
            .filter_map(Value::as_u64)
            .product();
        let path = workshop
            .root
            .join("programs/cuda")
            .join(format!("{name}.cu"));
        let text = fs::read_to_string(path)?.replace("\n * ", " ");
        let arguments = text.split_once("Arguments: ").map_or("", |(_, rest)| rest);
        let arguments = arguments
            .split_once(". ")
            .map_or(arguments, |(first, _)| first);
        let values = vec![
            Compared::both(threads.div_ceil(32), warps),
            Compared::both(arguments, input),
        ];
        table.push(&[name], values);
    }
    table.note(
        "Our programs are written anew with the algorithms of Rodinia and PolyBench, and their default \
         inputs are smaller than the printed ones, as an interpreter runs them.",
    );
    Ok(table)
}

/// Ranges of distances: title, least, and beyond the greatest.
const RANGES: [(&str, u64, u64); 6] = [
    ("0", 0, 1),
    ("1 to 7", 1, 8),
    ("8 to 31", 8, 32),
    ("32 to 127", 32, 128),
    ("128 to 511", 128, 512),
    ("512 and more", 512, u64::MAX),
];

fn reuse_distances(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let titles: Vec<String> = RANGES
        .iter()
        .map(|range| format!("{} %", range.0))
        .collect();
    let mut titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    titles.push("∞ %");
    let mut table = ComparedTable::new(&["application"], &titles);
    for (name, ..) in PROGRAMS {
        let run = run(workshop, name, "kepler")?;
        let (mut counts, mut cold) = ([0; RANGES.len()], 0);
        for kernel in list(&run, "kernels") {
            let loads = &kernel["reuse"]["cta_elements"]["loads"];
            cold += loads["cold"].as_u64().unwrap_or(0);
            for bin in list(loads, "bins") {
                let low = bin[0].as_u64().unwrap_or(0);
                let at = RANGES
                    .iter()
                    .position(|range| (range.1..range.2).contains(&low));
                counts[at.unwrap_or(RANGES.len() - 1)] += bin[2].as_u64().unwrap_or(0);
            }
        }
        let all = counts.iter().sum::<u64>() + cold;
        let printed = |range: usize| match (name, range) {
            ("syrk", 0) => "about 40",
            ("syrk", 5) => "about 25",
            ("bfs" | "nn", 6) => "> 99",
            _ => "",
        };
        let all_counts = counts.into_iter().chain([cold]);
        let values = all_counts
            .enumerate()
            .map(|(range, count)| Compared::both(percent(count, all), printed(range)));
        table.push(&[name], values.collect());
    }
    table.note(
        "Printed are bars without numbers; the text has those of syrk, and says that bfs and nn \
         hardly reuse.",
    );
    table.note(
        "Half of the loads of bfs reuse here: its loop reads the end of a node's edges again for each \
         edge. Why the published one reuses nothing is not said.",
    );
    table.note(
        "syrk has no far reuse here: its threads advance in lockstep and its matrices have 192 rows, \
         so a block comes back to an element soon.",
    );
    Ok(table)
}

const GROUPS: [(&str, usize, usize); 7] = [
    ("1", 1, 1),
    ("2", 2, 2),
    ("3 to 4", 3, 4),
    ("5 to 8", 5, 8),
    ("9 to 16", 9, 16),
    ("17 to 31", 17, 31),
    ("32", 32, 32),
];

fn lines_touched(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let titles: Vec<String> = GROUPS
        .iter()
        .map(|group| format!("{} %", group.0))
        .collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = ComparedTable::new(&["application", "lines"], &titles);
    for (name, ..) in PROGRAMS {
        let run = run(workshop, name, "kepler")?;
        for (title, unit) in [("Kepler, 128 B", "lines"), ("Pascal, 32 B", "sectors")] {
            let mut counts = [0u64; GROUPS.len()];
            for kernel in list(&run, "kernels") {
                for side in ["loads", "stores"] {
                    for (number, requests) in
                        list(&kernel["divergence"][side], unit).iter().enumerate()
                    {
                        let at = GROUPS
                            .iter()
                            .position(|group| (group.1..=group.2).contains(&number));
                        // More than 32 are wide accesses of each lane.
                        let at = at.or((number > 32).then_some(GROUPS.len() - 1));
                        if let Some(at) = at {
                            counts[at] += requests.as_u64().unwrap_or(0);
                        }
                    }
                }
            }
            let printed = |group: usize| match (name, unit, group) {
                ("bicg", "lines", 0) => "75",
                ("bicg", "lines", 6) | ("bicg", "sectors", 2 | 6) => "25",
                ("bicg", "sectors", 0) => "50",
                ("syrk", "lines", 0) => "50.02",
                ("syrk", "lines", 6) | ("syrk", "sectors", 0 | 6) => "49.98",
                ("syr2k", "lines", 0 | 6) => "50",
                ("syr2k", "sectors", 0 | 6) => "49.99",
                _ => "",
            };
            let all = counts.iter().sum();
            let values = counts
                .iter()
                .enumerate()
                .map(|(at, count)| Compared::both(percent(*count, all), printed(at)));
            table.push(&[name, title], values.collect());
        }
    }
    table.note("Printed are bars without numbers but for bicg, syrk and syr2k, of which the text has them.");
    table.note("The published pass instruments LLVM's bitcode before it is optimised, so sums that stay in registers here are loads and stores there, of one line each.");
    Ok(table)
}

fn divergence(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let titles = ["divergent blocks", "total blocks", "divergence, %"];
    let mut table = ComparedTable::new(&["application"], &titles);
    for (name, _, _, printed) in PROGRAMS {
        let run = run(workshop, name, "pascal")?;
        let kernels = list(&run, "by_kernel");
        let diverged = sum(kernels, "divergent_block_executions");
        let all = sum(kernels, "block_executions");
        let ours = [grouped(diverged), grouped(all), percent(diverged, all)];
        let values = ours
            .into_iter()
            .zip(printed)
            .map(|(ours, printed)| Compared::both(ours, printed));
        table.push(&[name], values.collect());
    }
    table.note(
        "Printed totals are far below the executions by warps that such inputs take (hotspot has \
         4197), so they count something else, which is not said; the shares are what compares.",
    );
    table.note(
        "What is printed are blocks of LLVM's bitcode, and ours those of PTX, where short branches \
         have become predicates and selects: these do not diverge any more (nn, syr2k).",
    );
    table.note(
        "bfs diverges more here: its graph is random and has a sixteenth of the nodes, so that few \
         threads of a warp are in the frontier.",
    );
    Ok(table)
}

fn bypassing(workshop: &Workshop, models: &[(&str, &str, &str)]) -> anyhow::Result<ComparedTable> {
    let titles = [
        "no bypassing",
        "prediction, per warp",
        "prediction, per CTA",
    ];
    let mut table = ComparedTable::new(&["L1", "application"], &titles);
    for (cache, model, printed) in models {
        let (mut logs, mut rows) = ([0.0; 3], 0);
        for (name, ..) in PROGRAMS {
            let run = run(workshop, name, model)?;
            let Some(ratios) = over_the_best(&run) else {
                continue;
            };
            for (log, ratio) in logs.iter_mut().zip(ratios) {
                *log += f64::ln(ratio);
            }
            rows += 1;
            let values = ratios.map(|ratio| Compared::ours(format!("{ratio:.3}")));
            table.push(&[cache, name], values.into());
        }
        let means = logs.map(|log| format!("{:.3}", f64::exp(log / f64::from(rows.max(1)))));
        let printed = ["".to_owned(), String::new(), (*printed).to_owned()];
        let values = means
            .into_iter()
            .zip(printed)
            .map(|(ours, printed)| Compared::both(ours, printed));
        table.push(&[cache, "geometric mean"], values.collect());
    }
    table.note(
        "Printed are times of five applications that gain by bypassing, without numbers, and how \
         much slower the prediction is than the oracle in the mean. Ours is traffic of all ten, \
         which counts no stalls.",
    );
    table.note(
        "The means are far off because of syrk, syr2k and bicg: the L1 holds what all their warps \
         reuse, so that bypassing can only lose; the lines of diverged loads are in the reuse \
         distance already, so that the formula counts them twice and leaves the L1 to one warp or \
         few. The printed applications were chosen as ones that bypassing helps.",
    );
    table.note(
        "The printed formula has a unit only with reuse distances per warp; the text reports them \
         per CTA.",
    );
    Ok(table)
}

/// Traffic without bypassing and with both predictions, each over that of the best number of warps.
fn over_the_best(run: &Value) -> Option<[f64; 3]> {
    let (mut best, mut others) = (0.0, [0.0; 3]);
    for kernel in list(run, "kernels") {
        let oracle = &kernel["bypass"]["oracle"];
        let traffic: Vec<f64> = list(oracle, "traffic")
            .iter()
            .filter_map(Value::as_f64)
            .collect();
        let least = traffic.iter().copied().fold(f64::INFINITY, f64::min);
        let (Some(all), true) = (traffic.last(), least.is_finite()) else {
            continue;
        };
        best += least;
        others[0] += all;
        for (other, field) in others[1..]
            .iter_mut()
            .zip(["distance_per_warp", "distance_per_cta"])
        {
            *other += least * (1.0 + oracle[field].as_f64().unwrap_or(0.0));
        }
    }
    (best > 0.0).then(|| others.map(|other| other / best))
}

/// Sectors beyond those that the lanes' bytes need.
fn excess(counts: &Value) -> u64 {
    let of = |field: &str| counts[field].as_u64().unwrap_or(0);
    of("sectors").saturating_sub(of("ideal_sectors"))
}

/// A text without the folders of a file in it.
fn short(value: &Value) -> String {
    let text = value.as_str().unwrap_or("unknown");
    text.rsplit('/').next().unwrap_or(text).to_owned()
}

/// The frames of a call path from `main` on: functions and places.
fn frames(run: &Value, call_path: &Value) -> Vec<[String; 2]> {
    let path = call_path.as_u64().map_or(&[][..], |number| {
        run["call_paths"][number as usize]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
    });
    let frame = |frame: &Value| ["function", "place"].map(|field| short(&frame[field]));
    let mut frames: Vec<[String; 2]> = path.iter().map(frame).collect();
    if frames.last().is_some_and(|frame| frame[0] == "main") {
        frames.reverse();
    }
    frames
}

fn code_centric(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let run = run(workshop, "bfs", "kepler")?;
    let sites = list(&run, "kernels").iter().flat_map(|kernel| {
        let sites = list(kernel, "sites").iter();
        sites.map(move |site| (kernel, site))
    });
    let worst = sites.max_by_key(|(_, site)| excess(&site["global"]));
    let (kernel, site) = worst.context("bfs accesses memory")?;
    let mut path = frames(&run, &kernel["call_path"]);
    path.push([short(&kernel["kernel"]), short(&site["place"])]);
    let printed = [
        ["main", "bfs.cu:63"],
        ["BFSGraph", "bfs.cu:217"],
        ["Kernel", "Kernel.cu:33"],
    ];
    let mut table = ComparedTable::new(&["frame"], &["function", "line"]);
    for at in 0..path.len().max(printed.len()) {
        let [function, line] = path.get(at).cloned().unwrap_or_default();
        let [printed_function, printed_line] = printed.get(at).copied().unwrap_or_default();
        let values = vec![
            Compared::both(function, printed_function),
            Compared::both(line, printed_line),
        ];
        table.push(&[&at.to_string()], values);
    }
    table.note("Both are the load of the mark of a neighbour, `visited[edges[…]]`, or the stores below it; our bfs is written anew, so names and lines are others. The printed lines are those of listing 3.6.");
    Ok(table)
}

fn data_centric(workshop: &Workshop) -> anyhow::Result<ComparedTable> {
    let run = run(workshop, "bfs", "kepler")?;
    let bytes = |object: &Value| excess(&object["loads"]) + excess(&object["stores"]);
    let worst = list(&run, "by_object")
        .iter()
        .max_by_key(|object| bytes(object));
    let number = worst.context("bfs has objects")?["object"].clone();
    let objects = list(&run, "objects");
    let of = |number: &Value| number.as_u64().and_then(|at| objects.get(at as usize));
    let name = |object: Option<&Value>| {
        let name = object.and_then(|object| object["name"].as_str());
        name.unwrap_or("unknown").to_owned()
    };
    let at = |path: Option<&Value>| {
        let frames = path.map(|path| frames(&run, path)).unwrap_or_default();
        // Frames of the C++ library say nothing of the program.
        let own = frames
            .iter()
            .rev()
            .filter(|frame| frame[1].contains(".cu:"));
        let innermost_first = own.map(|[function, place]| format!("{function} {place}"));
        innermost_first.collect::<Vec<_>>().join(" ← ")
    };
    let copy = list(&run, "copies")
        .iter()
        .find(|copy| copy["to"] == number);
    let host = copy.and_then(|copy| of(&copy["from"]));
    let rows = [
        ("object on the device", name(of(&number)), "d_graph_visited"),
        (
            "allocated there",
            at(of(&number).map(|object| &object["call_path"])),
            "BFSGraph bfs.cu:172",
        ),
        ("object on the host", name(host), "h_graph_visited"),
        (
            "allocated there (host)",
            at(host.map(|object| &object["call_path"])),
            "bfs.cu:113",
        ),
        (
            "copied",
            at(copy.map(|copy| &copy["call_path"])),
            "BFSGraph bfs.cu:173",
        ),
    ];
    let mut table = ComparedTable::new(&["view"], &["shown"]);
    for (view, ours, printed) in rows {
        table.push(&[view], vec![Compared::both(ours, printed)]);
    }
    table.note("Our bfs has other names, and allocates device memory in a function `upload` for all arrays.");
    Ok(table)
}
