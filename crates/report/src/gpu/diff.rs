//! [`gpu_diff`]: two runs of a GPU program compared, from their JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;

use super::json::GPU_SCHEMA;
use super::text::{GpuTextOptions, columns};
use crate::numbers::{change, count, ratio_percent};
use crate::text::{Paint, TextStyle, heading, rows, wrap};

/// Why a file is not a run of a GPU program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuDiffError {
    /// It is not JSON, or not with these fields.
    #[error("it is no run of a GPU program: {0}")]
    NotARun(String),
    /// It has another schema.
    #[error("its schema is {0:?}; this version reads {GPU_SCHEMA:?}")]
    Schema(String),
}

/// What two runs are compared by, read from the JSON of a run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct GpuRunSummary {
    schema: String,
    command: String,
    by_kernel: Vec<KernelEntry>,
    by_line: Vec<LineEntry>,
    by_object: Vec<ObjectEntry>,
    findings: Vec<FindingEntry>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct KernelEntry {
    kernel: String,
    launches: u64,
    thread_instructions: u64,
    global: GlobalEntry,
    shared: BankEntry,
    l1: Option<CacheEntry>,
    block_executions: u64,
    divergent_block_executions: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct LineEntry {
    line: String,
    global: GlobalEntry,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct ObjectEntry {
    name: String,
    loads: GlobalEntry,
    stores: GlobalEntry,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
struct GlobalEntry {
    requests: u64,
    sectors: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
struct BankEntry {
    wavefronts: u64,
    ideal_wavefronts: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
struct CacheEntry {
    loads: u64,
    load_hits: u64,
    stores: u64,
    store_hits: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
struct FindingEntry {
    rule: String,
    title: String,
    source: Option<String>,
    function: Option<String>,
    object: Option<String>,
}

impl GpuRunSummary {
    /// Reads the JSON of [`gpu_json`](super::gpu_json).
    ///
    /// # Errors
    /// If it is none, or of another schema.
    pub fn parse(text: &str) -> Result<GpuRunSummary, GpuDiffError> {
        let run: GpuRunSummary =
            serde_json::from_str(text).map_err(|error| GpuDiffError::NotARun(error.to_string()))?;
        match run.schema == GPU_SCHEMA {
            true => Ok(run),
            false => Err(GpuDiffError::Schema(run.schema)),
        }
    }
}

/// Two runs compared, as text for a terminal: kernels, source lines and objects by how much their
/// sectors changed, and the findings that are gone and new. Ends with a line break.
pub fn gpu_diff(before: &GpuRunSummary, after: &GpuRunSummary, options: &GpuTextOptions) -> String {
    let mut out = String::new();
    let (paint, width) = (Paint::new(options.color), options.width.max(60));
    let _ = writeln!(out, "before  {}", reuselens_units::shown(&before.command));
    let _ = writeln!(out, "after   {}", reuselens_units::shown(&after.command));
    let mut section = |title: &str, heads: &[&str], cells: Vec<Vec<String>>| {
        if !cells.is_empty() {
            heading(&mut out, title, "", width, paint);
            rows(&mut out, &columns(heads, &[0]), &cells, width, paint);
        }
    };
    section(
        "Kernels",
        &KERNEL_HEADS,
        kernels(before, after, options.top),
    );
    let lines = |run: &GpuRunSummary| run.by_line.iter().map(line_sectors).collect();
    section(
        "Source lines, sectors",
        &SECTOR_HEADS,
        changes(lines(before), lines(after), options.top),
    );
    let objects = |run: &GpuRunSummary| run.by_object.iter().map(object_sectors).collect();
    section(
        "Data objects, sectors",
        &SECTOR_HEADS,
        changes(objects(before), objects(after), options.top),
    );
    for (title, mine, theirs) in [
        ("Findings that are gone", before, after),
        ("New findings", after, before),
    ] {
        let only = findings_without(mine, theirs);
        if !only.is_empty() {
            heading(&mut out, title, "", width, paint);
            for finding in only {
                let _ = writeln!(out, "  {}", wrap(&finding, width, 4));
            }
        }
    }
    let note = "Lines and objects go by their names: a line that moved is gone in one run, and new in \
                the other.";
    let _ = writeln!(
        out,
        "\n{}",
        paint.ink(TextStyle::Soft, &wrap(note, width, 0))
    );
    out
}

const KERNEL_HEADS: [&str; 7] = [
    "kernel",
    "launches",
    "instructions",
    "sectors",
    "bank conflicts",
    "L1",
    "diverged",
];

/// The kernels of either run, those whose sectors changed most first.
fn kernels(before: &GpuRunSummary, after: &GpuRunSummary, top: usize) -> Vec<Vec<String>> {
    let none = KernelEntry::default();
    let of = |run: &GpuRunSummary| -> BTreeMap<String, KernelEntry> {
        let kernels = run.by_kernel.iter();
        kernels.map(|it| (it.kernel.clone(), it.clone())).collect()
    };
    let (old, new) = (of(before), of(after));
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let pair = |name: &String| {
        (
            old.get(name).unwrap_or(&none),
            new.get(name).unwrap_or(&none),
        )
    };
    names.sort_by_key(|name| {
        let (old, new) = pair(name);
        std::cmp::Reverse(old.global.sectors.abs_diff(new.global.sectors))
    });
    let rows = names.into_iter().take(top).map(|name| {
        let (old, new) = pair(name);
        vec![
            name.clone(),
            two(old.launches, new.launches),
            change(old.thread_instructions, new.thread_instructions),
            change(old.global.sectors, new.global.sectors),
            change(old.shared.conflicts(), new.shared.conflicts()),
            two_shares(
                old.l1.and_then(CacheEntry::hit_rate),
                new.l1.and_then(CacheEntry::hit_rate),
            ),
            two_shares(old.divergence(), new.divergence()),
        ]
    });
    rows.collect()
}

impl BankEntry {
    fn conflicts(self) -> u64 {
        self.wavefronts.saturating_sub(self.ideal_wavefronts)
    }
}

impl CacheEntry {
    fn hit_rate(self) -> Option<f64> {
        let all = self.loads.saturating_add(self.stores);
        let hits = self.load_hits.saturating_add(self.store_hits);
        (all > 0).then(|| hits as f64 / all as f64)
    }
}

impl KernelEntry {
    fn divergence(&self) -> Option<f64> {
        let all = self.block_executions;
        (all > 0).then(|| self.divergent_block_executions as f64 / all as f64)
    }
}

fn two(before: u64, after: u64) -> String {
    match before == after {
        true => count(after),
        false => format!("{} → {}", count(before), count(after)),
    }
}

fn two_shares(before: Option<f64>, after: Option<f64>) -> String {
    let text = |share: Option<f64>| share.map_or_else(|| "—".to_owned(), ratio_percent);
    let (before, after) = (text(before), text(after));
    match before == after {
        true => after,
        false => format!("{before} → {after}"),
    }
}

const SECTOR_HEADS: [&str; 4] = ["name", "before", "after", "change"];

/// Names with their sectors.
type Sectors = BTreeMap<String, u64>;

fn line_sectors(entry: &LineEntry) -> (String, u64) {
    (entry.line.clone(), entry.global.sectors)
}

fn object_sectors(entry: &ObjectEntry) -> (String, u64) {
    let sectors = entry.loads.sectors.saturating_add(entry.stores.sectors);
    (entry.name.clone(), sectors)
}

/// Rows of what changed most; what did not change is left out.
fn changes(before: Sectors, after: Sectors, top: usize) -> Vec<Vec<String>> {
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let pair = |name: &String| {
        let of = |sectors: &Sectors| sectors.get(name).copied().unwrap_or(0);
        (of(&before), of(&after))
    };
    names.retain(|name| pair(name).0 != pair(name).1 && !name.is_empty());
    names.sort_by_key(|name| {
        let (old, new) = pair(name);
        std::cmp::Reverse(old.abs_diff(new))
    });
    let rows = names.into_iter().take(top).map(|name| {
        let (old, new) = pair(name);
        vec![name.clone(), count(old), count(new), change(old, new)]
    });
    rows.collect()
}

/// The findings of one run that another does not have: by rule, kernel and object, or else line.
fn findings_without(run: &GpuRunSummary, other: &GpuRunSummary) -> Vec<String> {
    let key = |finding: &FindingEntry| {
        let place = match (&finding.function, &finding.object) {
            (None, None) => finding.source.clone(),
            _ => None,
        };
        (
            finding.rule.clone(),
            finding.function.clone(),
            finding.object.clone(),
            place,
        )
    };
    let others: Vec<_> = other.findings.iter().map(key).collect();
    let only = run
        .findings
        .iter()
        .filter(|finding| !others.contains(&key(finding)));
    let text = |finding: &FindingEntry| {
        let parts = [&finding.source, &finding.function, &finding.object];
        let words: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        format!("{}: {}", finding.title, words.join(", "))
    };
    only.map(text).collect()
}
