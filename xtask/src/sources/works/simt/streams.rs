//! Streams of memory instructions of the thesis's kernels, and what `reuselens gpu` says of them.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;

use crate::csv::csv_records;
use crate::sources::comparison::Curve;
use crate::sources::printed::Size;
use crate::sources::workshop::Workshop;

/// Nodes and threads of a block in tests.
const SMALL_NODES: u32 = 1024;
/// Nodes of b17, and of a mesh of the published size.
const NETLIST_NODES: u32 = 32_229;
const MESH: (u32, u32) = (144_649, 1_074_393);
/// Elements of the vectors.
const VECTOR: u32 = 50_000;
/// Points of a line of a picture; of more distances, the largest degree of each group is drawn.
const POINTS: usize = 120;

/// A characteristic in numbers.
#[derive(Clone, Debug)]
pub struct Characteristic {
    /// Memory instructions of the stream.
    pub instructions: String,
    /// All degrees added up.
    pub total: String,
    /// The distance with the largest degree, and that degree.
    pub peak: String,
    /// The largest distance with a degree.
    pub domain: String,
    /// MB, AMB with the place of the peak, or NMB.
    pub class: String,
    /// Distances and degrees.
    pub points: Vec<(f64, f64)>,
}

impl Characteristic {
    /// A line of a picture.
    pub fn curve(&self, panel: &str, name: &str) -> Curve {
        Curve {
            panel: panel.to_owned(),
            name: name.to_owned(),
            points: thinned(&self.points),
        }
    }
}

/// The largest degree of each of [`POINTS`] groups of distances, which are equally wide on a
/// logarithmic axis.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= POINTS {
        return points.to_vec();
    }
    let last = points.last().map_or(1.0, |point| point.0).ln().max(1e-9);
    let group = |x: f64| (x.ln() / last * (POINTS - 1) as f64) as usize;
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for &(x, y) in points {
        match kept.last_mut() {
            Some(before) if group(before.0) == group(x) => {
                if y > before.1 {
                    *before = (x, y);
                }
            }
            _ => kept.push((x, y)),
        }
    }
    kept
}

/// The stream of a kernel, made by running it; once for all items.
///
/// # Errors
/// If the netlist is missing, or the kernel cannot be run.
pub fn stream(workshop: &Workshop, kernel: &str) -> anyhow::Result<PathBuf> {
    let path = workshop.scratch.join(format!("{kernel}.rlwarp"));
    if path.exists() {
        return Ok(path);
    }
    inputs(workshop, kernel)?;
    let description = workshop.scratch.join(format!("{kernel}.toml"));
    fs::write(&description, described(workshop, kernel)?)?;
    let scratch = workshop.scratch.display().to_string();
    let part = workshop.scratch.join(format!("{kernel}.new.rlwarp"));
    let words = [
        &description.display().to_string(),
        "--data",
        &scratch,
        "-o",
        &part.display().to_string(),
        "--force",
        "--quiet",
    ];
    let mut all = vec!["gpu", "run"];
    all.extend(words);
    workshop.output(&workshop.reuselens()?, &all)?;
    fs::rename(part, &path)?;
    Ok(path)
}

/// What `reuselens gpu analyze` says of a kernel in a scenario: a characteristic for each stream.
///
/// # Errors
/// If the stream cannot be made or analysed.
pub fn analyzed(
    workshop: &Workshop,
    kernel: &str,
    words: &[&str],
) -> anyhow::Result<Vec<Characteristic>> {
    let stream = stream(workshop, kernel)?.display().to_string();
    let csv = workshop.scratch.join("characteristic.csv");
    let path = csv.display().to_string();
    let mut all = vec!["gpu", "analyze", &stream, "--csv", &path, "--force"];
    all.extend(words);
    if kernel == "vectoradd" {
        // The published trace has the loads of parameters, which are in one line.
        all.extend(["--space", "all", "--granularity", "32"]);
    }
    let text = workshop.output(&workshop.reuselens()?, &all)?;
    let records = csv_records(&fs::read_to_string(&csv)?);
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("stream "))
        .skip(1)
        .take_while(|line| !line.is_empty() && !line.starts_with('…'));
    let found = rows.map(|row| {
        let cells: Vec<&str> = row
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect();
        let [name, instructions, total, peak, domain, class] = cells[..] else {
            anyhow::bail!("not a row of characteristics: {row}");
        };
        let points = records.iter().filter(|record| record[0] == name);
        let point = |record: &Vec<String>| Ok((record[1].parse()?, record[2].parse()?));
        Ok(Characteristic {
            instructions: instructions.to_owned(),
            total: total.to_owned(),
            peak: peak.to_owned(),
            domain: domain.to_owned(),
            class: class_of(class),
            points: points.map(point).collect::<anyhow::Result<_>>()?,
        })
    });
    let found: Vec<Characteristic> = found.collect::<anyhow::Result<_>>()?;
    anyhow::ensure!(!found.is_empty(), "no characteristic of {kernel}:\n{text}");
    Ok(found)
}

/// `AMB nearly decreasing, peak at 2` as `AMB, peak at 2`.
fn class_of(printed: &str) -> String {
    let abbreviation = printed.split(' ').next().unwrap_or_default();
    let peak = printed
        .split_once("peak at ")
        .map(|(_, at)| format!("{abbreviation}, peak at {at}"));
    peak.unwrap_or_else(|| abbreviation.to_owned())
}

/// The description of a kernel's launch, for the inputs of this size.
fn described(workshop: &Workshop, kernel: &str) -> anyhow::Result<String> {
    let folder = workshop.root.join("kernels");
    let path = folder.join("thesis").join(format!("{kernel}.toml"));
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let text = text.replace("\"../ptx", &format!("\"{}/ptx", folder.display()));
    if workshop.size == Size::Full {
        return Ok(text);
    }
    let (nodes, width) = match kernel {
        "vectoradd" => (VECTOR, 128),
        "sta" | "gsim" | "bfs" => (NETLIST_NODES, 256),
        _ => (MESH.0, 256),
    };
    // Arrays have up to four elements a node.
    let text = (1..=4).rev().fold(text, |text, times| {
        let (from, to) = (nodes * times, SMALL_NODES * times);
        let replaced = text.replace(&format!(":{from}"), &format!(":{to}"));
        replaced.replace(&format!(" {from}]"), &format!(" {to}]"))
    });
    let grid = nodes.div_ceil(width);
    Ok(text.replace(&format!("[{grid}]"), &format!("[{}]", SMALL_NODES / width)))
}

/// Makes the arrays of the graph that a kernel reads, if they are not there.
fn inputs(workshop: &Workshop, kernel: &str) -> anyhow::Result<()> {
    let name = match kernel {
        "vectoradd" => return Ok(()),
        "sta" | "gsim" | "bfs" => "netlist",
        _ => "mesh",
    };
    let folder = workshop.scratch.join(name);
    if folder.join("targets.npy").exists() {
        return Ok(());
    }
    if workshop.size == Size::Small {
        return small_graph(&folder);
    }
    let to = folder.display().to_string();
    let words = if name == "netlist" {
        let what = "the netlist b17 of the ITC'99 benchmarks, in .bench format";
        vec![to, workshop.input("b17.bench", what)?.display().to_string()]
    } else {
        vec![to, MESH.0.to_string(), MESH.1.to_string()]
    };
    workshop.output(&workshop.example("reuselens-simt", "inputs")?, &words)?;
    Ok(())
}

/// A graph of [`SMALL_NODES`] nodes with up to four earlier nodes each, most of them near.
fn small_graph(folder: &std::path::Path) -> anyhow::Result<()> {
    let (mut begins, mut ends, mut targets) = (Vec::new(), Vec::new(), Vec::new());
    let mut random = 1u64;
    for node in 0..SMALL_NODES {
        begins.push(targets.len() as u32);
        for _ in 0..node % 5 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let back = 1 + (random >> 33) as u32 % if random >> 63 == 0 { 8 } else { node };
            targets.push(node.saturating_sub(back));
        }
        ends.push(targets.len() as u32);
    }
    let kinds = (0..SMALL_NODES).map(|node| node % 8).collect();
    fs::create_dir_all(folder)?;
    for (name, values) in [
        ("begins", begins),
        ("ends", ends),
        ("targets", targets),
        ("kinds", kinds),
    ] {
        fs::write(folder.join(format!("{name}.npy")), npy(&values))?;
    }
    Ok(())
}

/// A vector in the format of NumPy, version 1.0.
fn npy(values: &[u32]) -> Vec<u8> {
    let shape = format!("'shape': ({},), }}", values.len());
    let text = format!("{{'descr': '<u4', 'fortran_order': False, {shape}");
    // The head is as long as it says, in whole lines of 64 bytes.
    let width = (10 + text.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((width as u16).to_le_bytes());
    bytes.extend(format!("{text:<0$}\n", width - 1).bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}
