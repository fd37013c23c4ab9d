//! [`gpu_diff`]: two runs of a GPU program compared, from their JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use reuselens_advice::SourcePlace;
use reuselens_document::numbers::{change, count, noun, or_dash, ratio_percent};
use reuselens_document::terminal::{Paint, TextStyle, heading, wrap};
use reuselens_document::{Table, TableColumn};

use super::RunOrigin;
use super::rows::short_place;
use super::stored::{StoredCache, StoredFinding, StoredGpuRun, StoredKernel, StoredLine};
use super::text::GpuTextOptions;

/// One run is of a program and the other of a stream, so they cannot be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "one run is of a program (profile), and the other of a stream (gpu report), which has no data \
     objects, branches and copies; make both in the same way"
)]
pub struct UnlikeOrigins;

impl StoredGpuRun {
    /// What makes this run and a later one different beside the program, as sentences.
    ///
    /// # Errors
    /// If they cannot be compared at all.
    pub fn unlike(&self, after: &StoredGpuRun) -> Result<Vec<String>, UnlikeOrigins> {
        let is_stream = |run: &StoredGpuRun| run.origin == RunOrigin::Stream.word();
        if is_stream(self) != is_stream(after) {
            return Err(UnlikeOrigins);
        }
        let mut unlike = Vec::new();
        let model = |run: &StoredGpuRun| {
            let name = run.model.as_ref().map(|model| model.name.clone());
            name.unwrap_or_else(|| "no model".to_owned())
        };
        let (first, second) = (model(self), model(after));
        if first != second {
            unlike.push(format!(
                "The caches are those of different GPUs ({first}, then {second}): hit rates are not \
                 comparable."
            ));
        }
        for (run, when) in [(self, "before"), (after, "after")] {
            if !run.faults.is_empty() {
                let kernels = noun(run.faults.len() as u64, "kernel was", "kernels were");
                unlike.push(format!(
                    "{kernels} stopped or refused in the run {when}: its sums are too small."
                ));
            }
            if run.unanalysed_launches > 0 {
                let launches = noun(run.unanalysed_launches, "launch was", "launches were");
                unlike.push(format!(
                    "{launches} left out in the run {when} (--kernel, --launches)."
                ));
            }
        }
        if self.command != after.command && !is_stream(self) {
            unlike.extend(other_arguments(&self.command, &after.command));
        }
        Ok(unlike)
    }
}

/// Two runs compared, as text for a terminal: kernels, source lines and objects by how much their
/// sectors changed, and the findings that are gone and new. Ends with a line break.
pub fn gpu_diff(before: &StoredGpuRun, after: &StoredGpuRun, options: &GpuTextOptions) -> String {
    let mut out = String::new();
    let (paint, width) = (Paint::new(options.color), options.width.max(60));
    let _ = writeln!(out, "before  {}", reuselens_units::shown(&before.command));
    let _ = writeln!(out, "after   {}", reuselens_units::shown(&after.command));
    for sentence in before.unlike(after).unwrap_or_default() {
        let _ = writeln!(
            out,
            "{}",
            paint.ink(TextStyle::Warn, &wrap(&sentence, width, 0))
        );
    }
    let mut section = |title: &str, heads: &[&str], cells: Vec<Vec<String>>| {
        if !cells.is_empty() {
            heading(&mut out, title, "", width, paint);
            Table::new(TableColumn::all(heads, &[0]), cells).write_text(&mut out, width, paint);
        }
    };
    section(
        "Kernels",
        &KERNEL_HEADS,
        kernels(before, after, options.top),
    );
    let (old, new) = line_sectors(before, after);
    section(
        "Source lines, sectors",
        &SECTOR_HEADS,
        changes(old, new, options.top),
    );
    let (old, new) = (object_sectors(before), object_sectors(after));
    section(
        "Data objects, sectors",
        &SECTOR_HEADS,
        changes(old, new, options.top),
    );
    for (title, changed) in findings(before, after) {
        heading(&mut out, title, "", width, paint);
        for finding in changed {
            let _ = writeln!(out, "  {}", wrap(&finding, width, 4));
        }
    }
    let note = "Objects and findings are compared by their names, lines by their order in each kernel; \
                where a kernel has more or fewer lines than before, by their numbers.";
    let _ = writeln!(
        out,
        "\n{}",
        paint.ink(TextStyle::Soft, &wrap(note, width, 0))
    );
    out
}

/// A sentence if two commands differ after the program's name.
fn other_arguments(before: &str, after: &str) -> Option<String> {
    let arguments = |command: &str| command.split_once(' ').map(|it| it.1.to_owned());
    (arguments(before) != arguments(after)).then(|| {
        "The programs had different arguments: changes may be those of the input.".to_owned()
    })
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
fn kernels(before: &StoredGpuRun, after: &StoredGpuRun, top: usize) -> Vec<Vec<String>> {
    let none = StoredKernel::default();
    let of = |run: &StoredGpuRun| -> BTreeMap<String, StoredKernel> {
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
                old.l1.and_then(StoredCache::hit_rate),
                new.l1.and_then(StoredCache::hit_rate),
            ),
            two_shares(old.divergence(), new.divergence()),
        ]
    });
    rows.collect()
}

fn two(before: u64, after: u64) -> String {
    if before == after {
        count(after)
    } else {
        format!("{} → {}", count(before), count(after))
    }
}

fn two_shares(before: Option<f64>, after: Option<f64>) -> String {
    let [before, after] = [before, after].map(|share| or_dash(share, ratio_percent));
    if before == after {
        after
    } else {
        format!("{before} → {after}")
    }
}

const SECTOR_HEADS: [&str; 4] = ["name", "before", "after", "change"];

/// Names with their sectors.
type Sectors = BTreeMap<String, u64>;

/// The lines of both runs, by equal names. A kernel that has as many lines in both has them in the
/// same order, whatever their numbers are: comments may have been added. Its lines have the names
/// of the second run.
fn line_sectors(before: &StoredGpuRun, after: &StoredGpuRun) -> (Sectors, Sectors) {
    let (old, new) = (lines_by_kernel(before), lines_by_kernel(after));
    let (mut first, mut second) = (Sectors::new(), Sectors::new());
    for (kernels, lines) in &old {
        let others = new
            .get(kernels)
            .filter(|others| others.len() == lines.len());
        for (at, (_, entry)) in lines.iter().enumerate() {
            let named = others.map_or(entry, |others| &others[at].1);
            *first.entry(line_name(named)).or_default() += entry.global.sectors;
        }
    }
    for (_, entry) in new.into_values().flatten() {
        *second.entry(line_name(entry)).or_default() += entry.global.sectors;
    }
    (first, second)
}

/// A line and its number.
type NumberedLine<'a> = (u64, &'a StoredLine);

/// The lines of a run by the kernels that execute them, in the order of their numbers.
fn lines_by_kernel(run: &StoredGpuRun) -> BTreeMap<&[String], Vec<NumberedLine<'_>>> {
    let mut lines: BTreeMap<&[String], Vec<NumberedLine>> = BTreeMap::new();
    for entry in &run.by_line {
        let number = SourcePlace::parse(&entry.line).map(|place| place.line);
        let kernel = lines.entry(&entry.kernels).or_default();
        kernel.push((number.unwrap_or(0), entry));
    }
    for lines in lines.values_mut() {
        lines.sort_by_key(|(number, _)| *number);
    }
    lines
}

/// A line without its folders, which differ between two versions of a program; what has no line by
/// its kernel.
fn line_name(entry: &StoredLine) -> String {
    match &entry.line[..] {
        "" => format!("(no line) in {}", entry.kernels.join(", ")),
        line => without_folders(line),
    }
}

/// A place without its folders, which differ between two versions of a program.
fn without_folders(place: &str) -> String {
    short_place(place).to_owned()
}

/// The objects of a run by their names, without the lines that allocate them.
fn object_sectors(run: &StoredGpuRun) -> Sectors {
    let mut sectors = Sectors::new();
    for entry in &run.by_object {
        let sum = entry.loads.sectors.saturating_add(entry.stores.sectors);
        let count = sectors.entry(without_line(&entry.name)).or_default();
        *count = count.saturating_add(sum);
    }
    sectors
}

/// `edges` of `edges (cudaMalloc, bfs.cu:73)`; the name itself if no variable is known.
fn without_line(name: &str) -> String {
    name.split(" (").next().unwrap_or(name).to_owned()
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

/// The findings that are gone, new, and of another amount, each with a heading; without those of
/// which there are none.
fn findings(before: &StoredGpuRun, after: &StoredGpuRun) -> Vec<(&'static str, Vec<String>)> {
    let (old, new) = (findings_by_key(before), findings_by_key(after));
    let only = |mine: &Findings, theirs: &Findings| -> Vec<String> {
        let only = mine.iter().filter(|(key, _)| !theirs.contains_key(*key));
        only.map(|(_, (finding, _))| finding_text(finding))
            .collect()
    };
    let changed = new.iter().filter_map(|(key, (finding, amount))| {
        let (_, was) = old.get(key)?;
        (was != amount).then(|| {
            let (text, unit) = (finding_text(finding), &finding.cost.unit);
            format!("{text}: {} → {} {unit}", count(*was), count(*amount))
        })
    });
    let mut parts = vec![
        ("Findings that are gone", only(&old, &new)),
        ("New findings", only(&new, &old)),
        ("Findings that changed", changed.collect()),
    ];
    parts.retain(|(_, findings)| !findings.is_empty());
    parts
}

/// By rule, kernel and object, or else line: a finding, and the sum of what they cost.
type Findings<'a> = BTreeMap<[String; 4], (&'a StoredFinding, u64)>;

fn findings_by_key(run: &StoredGpuRun) -> Findings<'_> {
    let mut findings = Findings::new();
    for finding in &run.findings {
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        let place = match (&finding.function, &finding.object) {
            (None, None) => text(&finding.source),
            _ => String::new(),
        };
        let object = without_line(&text(&finding.object));
        let key = [finding.rule.clone(), text(&finding.function), object, place];
        let (_, amount) = findings.entry(key).or_insert((finding, 0));
        *amount = amount.saturating_add(finding.cost.amount);
    }
    findings
}

fn finding_text(finding: &StoredFinding) -> String {
    let source = finding.source.as_deref().map(without_folders);
    let parts = [source, finding.function.clone(), finding.object.clone()];
    let words: Vec<String> = parts.into_iter().flatten().collect();
    format!("{}: {}", finding.title, words.join(", "))
}
