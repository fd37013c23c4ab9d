//! [`gpu_page`]: a run of a GPU program as an HTML page.

mod bars;
mod findings;
mod heat;
mod memory_chart;
mod source;
mod tables;

use std::collections::BTreeMap;
use std::fmt::Write;

use reuselens_document::html::{escape, page, with_code};
use reuselens_document::numbers::{count, noun, or_dash, percent, ratio_percent, significant};
use reuselens_document::{Table, TableColumn, TableRow};
use reuselens_gpu_advisor::{KernelReport, LaunchMetric};
use reuselens_locality::total;
use reuselens_units::Bytes;

use super::sums::{KernelSum, LineSum};
use super::{GpuRun, RunOrigin, STREAM_MIX, ShortNames, SummedRun, cache_sizes, rows};
use crate::MAKER;
use tables::{About, ROWS, section, section_as_it_is, section_if_any};

/// What a page of a run shows.
#[derive(Clone, Debug, Default)]
pub struct GpuPageOptions {
    /// Source texts by path, as debug information names the files; may be empty.
    pub sources: BTreeMap<String, String>,
}

/// Kernels that have pictures of their own.
const PICTURED: usize = 6;

const KERNELS: &str = "Launches of one kernel together, those with most instructions first. <b>lanes</b>: active of the \
32 of a warp, on average. <b>diverged</b>: executions of basic blocks in which not all threads of the warp took part. \
<b>sectors/req</b>: sectors of 32 bytes that one instruction of a warp accesses in global memory; 4 where 32 threads access \
neighbouring words of 4 bytes. <b>L1</b> and <b>L2</b>: share of the sectors of loads that a model of the caches has.";
const MIX: &str = "Instructions of threads by class, and operations on floats. <b>FLOP</b>: an addition, multiplication, \
division, root or the like is one, a fused multiplication and addition two; packed instructions have as many for each value, and \
a product of matrices 2·m·n·k. <b>FLOP/B</b>: those for each byte that the modelled L2 is asked for, and for each that it loads \
from the device's memory (what it writes back is not modelled). Divide a GPU's FLOP/s by its bytes/s: kernels below that number \
are limited by what they move, those above it by what they calculate.";
const CONFIGURATIONS: &str = "Launches by grid (blocks) and block (threads). <b>static</b> and <b>dynamic</b>: bytes of shared memory of \
a block that the kernel declares, and that the launch adds. <b>occupancy</b>: warps that a multiprocessor can hold at the same \
time, of the most it can. It is an upper bound, for the registers of a thread are not known from PTX. <b>limited by</b>: what \
keeps the multiprocessor from holding one more block. <b>waves</b>: how often the blocks fill all multiprocessors.";
const MEMORY: &str = "What moved between which memories. Requests are instructions of warps, counted exactly; what passes \
the caches is from a model.";
const DISTANCES: &str = "How many other lines of 128 bytes a block accesses between two uses of one, for loads; a store to \
a line ends its reuse. Loads of <i>new</i> lines cannot hit in the L1. Below: how many lines of 128 bytes one instruction of a \
warp accesses; 1 is best, and each further line is another trip.";
const OBJECTS: &str = "Data on the device, those of most sectors first, with the memory of the host that copies tie to them.";
const SHARED: &str = "Arrays in the shared memory of blocks, those of most wavefronts first. <b>wavefronts</b>: passes that \
requests need. <b>conflicts</b>: those that they would not need if the lanes used different banks. A request counts for the \
array that its first lane accesses.";
const COPIES: &str =
    "Copies by call path. <b>redundant</b>: bytes that the destination held already.";
const BRANCHES: &str = "Source lines whose branches split warps, or whose code warps execute with only a part of their threads. \
<b>guarded</b>: other instructions under a guard, which is what compilers make of a short <code>if</code>: warps stay \
together, and <b>lanes off</b> are those that do nothing.";
const STATISTICS: &str = "The launches of each kernel from each call path, those with most instructions first: the mean of \
each launch, the deviation, and the extremes.";
const BYPASS: &str = "How many warps of each block should use the L1, while the loads of the others go past it: by the formula \
with reuse distances per warp and per block, and the best by the model, with the traffic to the L2 above the best one.";

// The sections that not every run has.
const SHARED_SECTION: About<'_> = About {
    id: "shared",
    title: "Arrays in shared memory",
    explain: SHARED,
};
const BRANCHES_SECTION: About<'_> = About {
    id: "branches",
    title: "Branches",
    explain: BRANCHES,
};
const BYPASS_SECTION: About<'_> = About {
    id: "bypass",
    title: "Bypassing the L1",
    explain: BYPASS,
};

/// A run as one HTML file that works offline: what to change, the kernels, a chart of the memories,
/// reuse distances, the source with what each line fetches, objects with the parts that are
/// accessed, copies, branches, and statistics over launches. Below 2 MB for any number of launches,
/// if names are not thousands of letters long. Equal runs, equal bytes.
pub fn gpu_page(summed: &SummedRun<'_>, options: &GpuPageOptions) -> String {
    let (run, kernels, lines) = (summed.run, &summed.kernels, &summed.lines);
    let files = source::files(lines, &options.sources);
    let branching = branch_rows(lines);
    let bypass = bypass_rows(run);
    let heated = heat::objects(summed);
    let shared = rows::shared_arrays(kernels);
    let sizes = cache_sizes::rows(kernels);
    let mut out = String::with_capacity(128 << 10);
    page::head(&mut out, MAKER, &run.command);
    top(&mut out, |id| match id {
        "source" => !files.is_empty(),
        "heat" => !heated.is_empty(),
        "caches" => !sizes.is_empty(),
        "shared" => !shared.is_empty(),
        "copies" => !run.ledger.copies.is_empty(),
        "host" => run.host.is_some(),
        "branches" => !branching.is_empty(),
        "bypass" => !bypass.is_empty(),
        _ => true,
    });
    headline(&mut out, summed);
    findings::write(&mut out, run);
    kernel_table(&mut out, summed);
    mix(&mut out, summed);
    configurations(&mut out, kernels);
    pictures(&mut out, summed);
    caches(&mut out, sizes);
    source::write(&mut out, summed.sectors(), &files);
    objects(&mut out, summed);
    if !heated.is_empty() {
        heat::write(&mut out, run, &heated);
    }
    let shared = Table::new(rows::array_columns(), shared);
    section_if_any(&mut out, &SHARED_SECTION, shared);
    copies(&mut out, run);
    host(&mut out, run);
    let branching = Table::new(TableColumn::all(&BRANCH_HEADS, &[0, 1]), branching);
    section_if_any(&mut out, &BRANCHES_SECTION, branching);
    launches(&mut out, run);
    let bypass = Table::new(TableColumn::all(&BYPASS_HEADS, &[0]), bypass);
    section_if_any(&mut out, &BYPASS_SECTION, bypass);
    page::end(&mut out, MAKER, "");
    out
}

/// Appends the chart of memories, and the bars of each kernel.
fn pictures(out: &mut String, summed: &SummedRun<'_>) {
    page::card(out, "memory", "Where data moved", MEMORY, |out| {
        memory_chart::write(out, summed);
    });
    let kernels = &summed.kernels[..summed.kernels.len().min(PICTURED)];
    page::card(out, "reuse", "Reuse and divergence", DISTANCES, |out| {
        bars::write(out, summed.run, kernels);
    });
}

/// Appends the table of caches of any size, if it has rows.
fn caches(out: &mut String, rows: Vec<Vec<String>>) {
    let about = About {
        id: "caches",
        title: cache_sizes::TITLE,
        explain: cache_sizes::LEGEND,
    };
    let columns = TableColumn::all(&cache_sizes::heads(), &cache_sizes::WORDS);
    section_if_any(out, &about, Table::new(columns, rows));
}

/// Appends the bar at the top, with links to the sections that exist.
fn top(out: &mut String, is_there: impl Fn(&str) -> bool) {
    let links = [
        ("findings", "Findings"),
        ("kernels", "Kernels"),
        ("mix", "Instructions"),
        ("configurations", "Occupancy"),
        ("memory", "Memory"),
        ("reuse", "Reuse"),
        ("caches", "Caches"),
        ("source", "Source"),
        ("objects", "Objects"),
        ("heat", "Heat map"),
        ("shared", "Shared"),
        ("copies", "Copies"),
        ("host", "Host"),
        ("branches", "Branches"),
        ("launches", "Launches"),
        ("bypass", "Bypass"),
    ];
    page::top(out, MAKER, &links, is_there);
}

fn headline(out: &mut String, summed: &SummedRun<'_>) {
    let (run, all) = (summed.run, &summed.all);
    let _ = write!(out, "<h1>{}</h1><ul class=\"facts\">", escape(&run.command));
    let model = run.kernels.iter().find_map(|kernel| kernel.caches.as_ref());
    let mut facts = vec![
        noun(summed.kernels.len() as u64, "kernel", "kernels"),
        noun(all.launches, "launch", "launches"),
        "kernels ran on the interpreter: counts are exact, times are unknown".to_owned(),
    ];
    if let Some(caches) = model {
        facts.push(format!("caches modelled: {}", caches.model));
    }
    for fact in facts {
        let _ = write!(out, "<li>{}</li>", escape(&fact));
    }
    out.push_str("</ul>");
    faults(out, run);
    tiles(out, run, all);
}

/// What stopped kernels, and what was cut short.
fn faults(out: &mut String, run: &GpuRun) {
    let cuts = run.cuts();
    if run.ledger.faults.is_empty() && cuts.is_empty() {
        return;
    }
    out.push_str("<ul class=\"warnings\">");
    for cut in cuts {
        let _ = write!(out, "<li>{}</li>", with_code(&cut));
    }
    for fault in run.faults().into_iter().take(ROWS) {
        let _ = write!(out, "<li>{}", with_code(&fault.message));
        for fact in run.fault_facts(fault) {
            let _ = write!(out, " <span class=\"hint\">{}</span>", with_code(&fact));
        }
        out.push_str("</li>");
    }
    out.push_str("</ul>");
}

fn tiles(out: &mut String, run: &GpuRun, all: &KernelSum) {
    let copies = &run.ledger.copies;
    let copied = total(copies.iter().map(|it| it.bytes));
    let redundant = total(copies.iter().map(|it| it.redundant_bytes));
    let global = &all.global;
    let tiles = [
        (
            "thread instructions",
            count(all.instructions.threads),
            format!(
                "{} active lanes of 32",
                rows::mean(all.instructions.threads, all.instructions.warps)
            ),
        ),
        (
            "sectors of global memory",
            count(global.sectors),
            format!(
                "{} for each request",
                rows::mean(global.sectors, global.requests)
            ),
        ),
        (
            "excessive sectors",
            percent(global.excessive_sectors(), global.sectors),
            "fetched, but not asked for".to_owned(),
        ),
        (
            "L1 hit rate",
            or_dash(all.l1.as_ref(), rows::hit_rate),
            "by a model".to_owned(),
        ),
        (
            "bank conflicts",
            count(all.shared.conflicts()),
            format!("in {} requests", count(all.shared.requests)),
        ),
        (
            "copied",
            Bytes(copied).to_string(),
            format!("{} redundant", percent(redundant, copied)),
        ),
    ];
    out.push_str("<dl class=\"tiles\" style=\"margin-top:24px\">");
    for (name, value, more) in tiles {
        let _ = write!(
            out,
            "<div class=\"tile\"><dt>{name}</dt><dd>{}<small>{}</small></dd></div>",
            escape(&value),
            escape(&more)
        );
    }
    out.push_str("</dl>");
}

fn kernel_table(out: &mut String, summed: &SummedRun<'_>) {
    let total = summed.all.instructions.threads;
    let kernels = summed.kernels.iter();
    let cells: Vec<_> = kernels.map(|sum| rows::kernel(sum, total)).collect();
    let about = About {
        id: "kernels",
        title: "Kernels",
        explain: KERNELS,
    };
    section(out, &about, Table::new(rows::kernel_columns(), cells));
}

/// Appends what kernels execute.
fn mix(out: &mut String, summed: &SummedRun<'_>) {
    let rows = summed.kernels.iter().map(|sum| rows::mix(sum, usize::MAX));
    let explain = match summed.run.origin {
        RunOrigin::Program => MIX.to_owned(),
        RunOrigin::Stream => format!("{MIX} {STREAM_MIX}"),
    };
    let about = About {
        id: "mix",
        title: "Instruction mix",
        explain: explain.as_str(),
    };
    section(out, &about, Table::new(rows::mix_columns(), rows));
}

/// Appends how kernels were launched.
fn configurations(out: &mut String, kernels: &[KernelSum]) {
    let columns = rows::configuration_columns();
    let table = Table::new(columns, rows::configurations(kernels));
    let mut table = table.first(ROWS, |more| format!("{more} more are in the JSON."));
    if let Some(others) = rows::other_configurations(kernels) {
        if !table.left_out.is_empty() {
            table.left_out.push(' ');
        }
        table.left_out.push_str(&others);
    }
    let title = "Launch configurations and occupancy";
    let about = About {
        id: "configurations",
        title,
        explain: CONFIGURATIONS,
    };
    section_as_it_is(out, &about, &table);
}

fn objects(out: &mut String, summed: &SummedRun<'_>) {
    let (run, objects, total) = (summed.run, &summed.objects, summed.object_sectors());
    let short = ShortNames::of(run);
    let rows = objects.iter().map(|sum| {
        let cells = rows::object(run, &short, sum, total);
        let memory = sum
            .object
            .and_then(|it| run.ledger.objects.get(it as usize));
        let path = memory.map_or_else(String::new, |memory| run.path_text(memory.call_path));
        let below = if path.is_empty() {
            format!("accessed by {}", sum.kernels.join(", "))
        } else {
            format!(
                "accessed by {}; allocated by {path}",
                sum.kernels.join(", ")
            )
        };
        TableRow {
            cells,
            below,
            series: None,
        }
    });
    let about = About {
        id: "objects",
        title: "Data objects",
        explain: OBJECTS,
    };
    section(out, &about, Table::new(rows::object_columns(), rows));
}

fn copies(out: &mut String, run: &GpuRun) {
    let copies = &run.ledger.copies;
    if copies.is_empty() {
        return;
    }
    let rows = copies.iter().map(|sum| {
        let path = run.path_text(sum.call_path);
        TableRow {
            cells: rows::copy(run, sum),
            series: None,
            below: if path.is_empty() {
                path
            } else {
                format!("called by {path}")
            },
        }
    });
    let about = About {
        id: "copies",
        title: "Copies",
        explain: COPIES,
    };
    section(out, &about, Table::new(rows::copy_columns(), rows));
}

/// Appends what the host's code accesses, if that was analysed.
fn host(out: &mut String, run: &GpuRun) {
    let Some(host) = &run.host else { return };
    let short = ShortNames::of(run);
    let rows = host.objects.iter().map(|sum| host.object_row(sum, &short));
    let objects = Table::new(TableColumn::all(&host.object_heads(), &[0, 1]), rows);
    let explain = format!(
        "Accesses of the program's own code on the host, and their misses in {}. “On the device” is \
         the memory that copies tie the object to. {} The page of {} has all else.",
        host.cache,
        host.left_out_text(&host.objects_left_out),
        host.profile
    );
    let explain = escape(&explain);
    let about = About {
        id: "host",
        title: "Data objects of the host",
        explain: explain.as_str(),
    };
    section(out, &about, objects);
    let rows = host.lines.iter().map(|sum| host.line_row(sum));
    let lines = Table::new(TableColumn::all(&host.line_heads(), &[0]), rows);
    let explain = escape(&host.left_out_text(&host.lines_left_out));
    let about = About {
        id: "host-lines",
        title: "Source lines of the host",
        explain: explain.as_str(),
    };
    section(out, &about, lines);
}

const BRANCH_HEADS: [&str; 8] = [
    "line",
    "kernel",
    "branches",
    "splits",
    "blocks executed",
    "diverged",
    "guarded",
    "lanes off",
];

/// The lines where warps split, run with a part of their threads, or have lanes switched off; those
/// of most divergent executions first.
fn branch_rows(lines: &[LineSum]) -> Vec<Vec<String>> {
    let mut lines: Vec<&LineSum> = lines
        .iter()
        .filter(|sum| sum.splits + sum.divergent + sum.lanes_off > 0)
        .collect();
    lines.sort_by_key(|sum| std::cmp::Reverse((sum.divergent, sum.splits, sum.lanes_off)));
    let row = |sum: &&LineSum| {
        vec![
            rows::line_name(&sum.line),
            sum.paths.join(", "),
            count(sum.branches),
            percent(sum.splits, sum.branches),
            count(sum.executions),
            percent(sum.divergent, sum.executions),
            count(sum.guarded),
            percent(sum.lanes_off, sum.guarded_lanes),
        ]
    };
    lines.iter().map(row).collect()
}

const STATISTIC_HEADS: [&str; 8] = [
    "kernel",
    "launched by",
    "launches",
    "metric",
    "mean",
    "deviation",
    "least",
    "most",
];

/// The metrics whose statistics are shown.
const SHOWN: [LaunchMetric; 3] = [
    LaunchMetric::WarpInstructions,
    LaunchMetric::Sectors,
    LaunchMetric::L1HitRate,
];

/// Appends the statistics of the kernels and call paths with most instructions.
fn launches(out: &mut String, run: &GpuRun) {
    let mut reports: Vec<&KernelReport> = run.kernels.iter().collect();
    reports.sort_by_key(|report| std::cmp::Reverse(report.instructions.threads));
    let (shown, rest) = reports.split_at(reports.len().min(ROWS / SHOWN.len()));
    let about = About {
        id: "launches",
        title: "Launches",
        explain: STATISTICS,
    };
    let columns = TableColumn::all(&STATISTIC_HEADS, &[0, 1, 3]);
    let mut table = Table::new(columns, statistics(run, shown));
    if !rest.is_empty() {
        let number = rest.iter().map(|report| report.launches.launches).sum();
        let launches = noun(number, "more launch", "more launches");
        let paths = noun(rest.len() as u64, "call path", "call paths");
        table.left_out = format!("{launches} from {paths} are in the JSON only.");
    }
    section_as_it_is(out, &about, &table);
}

fn statistics(run: &GpuRun, reports: &[&KernelReport]) -> Vec<Vec<String>> {
    let row = |report: &KernelReport, metric: LaunchMetric| {
        let row = report.launches.of(metric);
        (row.count() > 0).then(|| {
            vec![
                report.kernel.clone(),
                run.path_text(report.call_path),
                count(report.launches.launches),
                metric.name().to_owned(),
                significant(row.mean()),
                significant(row.deviation()),
                significant(row.min()),
                significant(row.max()),
            ]
        })
    };
    reports
        .iter()
        .flat_map(|report| SHOWN.into_iter().filter_map(|metric| row(report, metric)))
        .collect()
}

const BYPASS_HEADS: [&str; 6] = [
    "kernel",
    "warps of a block",
    "per warp",
    "per block",
    "best",
    "above the best",
];

fn bypass_rows(run: &GpuRun) -> Vec<Vec<String>> {
    let rows = run.kernels.iter().filter_map(|report| {
        let bypass = report.bypass.as_ref()?;
        let (per_warp, per_cta) = (bypass.per_warp.advice(), bypass.per_cta.advice());
        let oracle = bypass.oracle.as_ref();
        Some(vec![
            report.kernel.clone(),
            bypass.per_warp.warps_per_block.to_string(),
            per_warp.to_string(),
            per_cta.to_string(),
            or_dash(oracle, |oracle| oracle.best().to_string()),
            or_dash(oracle, |oracle| ratio_percent(oracle.distance(per_warp))),
        ])
    });
    rows.collect()
}
