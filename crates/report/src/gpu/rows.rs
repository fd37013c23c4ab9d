//! Rows of the tables of a run, which text and page have in common: cells as text.

use reuselens_gpu_advisor::{CacheCounts, CopySum, MemoryObject};
use reuselens_units::Bytes;

use super::sums::{KernelSum, LineSum, ObjectSum};
use super::{GpuRun, ShortNames};
pub(super) use crate::advice::short_place;
use crate::numbers::{DASH, count, or_dash, percent, ratio_percent};

/// Heads of [`kernel`].
pub(super) const KERNEL_HEADS: [&str; 10] = [
    "kernel",
    "launches",
    "instructions",
    "share",
    "lanes",
    "diverged",
    "requests",
    "sectors/req",
    "L1",
    "L2",
];

/// A kernel; `total` is the number of instructions of threads of all kernels.
pub(super) fn kernel(sum: &KernelSum, total: u64) -> Vec<String> {
    vec![
        sum.name.clone(),
        count(sum.launches),
        match sum.instructions.threads {
            0 => DASH.to_owned(),
            threads => count(threads),
        },
        percent(sum.instructions.threads, total),
        mean(sum.instructions.threads, sum.instructions.warps),
        percent(sum.branches.divergent(), sum.branches.executions()),
        count(sum.global.requests),
        mean(sum.global.sectors, sum.global.requests),
        or_dash(sum.l1.as_ref(), hit_rate),
        or_dash(sum.l2.as_ref(), hit_rate),
    ]
}

/// Heads of [`line`].
pub(super) const LINE_HEADS: [&str; 9] = [
    "line",
    "function",
    "requests",
    "sectors",
    "share",
    "sectors/req",
    "excessive",
    "L1",
    "splits",
];

/// A source line; `total` is the number of sectors of all.
pub(super) fn line(sum: &LineSum, total: u64) -> Vec<String> {
    let global = &sum.counts.global;
    vec![
        line_name(&sum.line),
        sum.function(),
        count(global.requests),
        count(global.sectors),
        percent(global.sectors, total),
        mean(global.sectors, global.requests),
        percent(global.excessive_sectors(), global.sectors),
        hit_rate(&sum.counts.l1),
        percent(sum.splits, sum.branches),
    ]
}

/// A line of source without its folders, also one that is not known.
pub(super) fn line_name(line: &str) -> String {
    match line {
        "" => "(no line)".to_owned(),
        line => short_place(line).to_owned(),
    }
}

/// Heads of [`object`].
pub(super) const OBJECT_HEADS: [&str; 8] = [
    "object",
    "with",
    "size",
    "sectors",
    "share",
    "sectors/req",
    "L1",
    "reused",
];

/// An object; `total` is the number of sectors of all.
pub(super) fn object(
    run: &GpuRun,
    short: &ShortNames<'_>,
    sum: &ObjectSum,
    total: u64,
) -> Vec<String> {
    let all = sum.counts.global.all();
    let memory = sum.object.and_then(|object| memory(run, object));
    let tied = sum.object.map_or_else(String::new, |object| {
        let names = run.ledger.tied_to(object);
        let names = names.iter().filter(|&&tied| is_host(run, tied));
        let names: Vec<&str> = names.map(|&tied| short.name(Some(tied))).collect();
        names.join(", ")
    });
    vec![
        short.name(sum.object).to_owned(),
        tied,
        or_dash(memory, |memory| Bytes(memory.peak_bytes).to_string()),
        count(all.sectors),
        percent(all.sectors, total),
        mean(all.sectors, all.requests),
        hit_rate(&sum.counts.l1),
        percent(sum.counts.reuse.reuses, sum.counts.reuse.loads),
    ]
}

/// Heads of [`copy`].
pub(super) const COPY_HEADS: [&str; 6] =
    ["from", "to", "direction", "copies", "bytes", "redundant"];

/// The copies of one call path.
pub(super) fn copy(run: &GpuRun, sum: &CopySum) -> Vec<String> {
    vec![
        run.object_name(Some(sum.from)).to_owned(),
        run.object_name(Some(sum.to)).to_owned(),
        sum.direction.name().to_owned(),
        count(sum.count),
        Bytes(sum.bytes).to_string(),
        percent(sum.redundant_bytes, sum.bytes),
    ]
}

fn memory(run: &GpuRun, object: u32) -> Option<&MemoryObject> {
    run.ledger.objects.get(object as usize)
}

fn is_host(run: &GpuRun, object: u32) -> bool {
    memory(run, object).is_some_and(|memory| memory.origin.is_host_only())
}

/// The share of the loads' sectors that a cache had; a dash if nothing was loaded.
pub(super) fn hit_rate(counts: &CacheCounts) -> String {
    match counts.loads {
        0 => DASH.to_owned(),
        _ => ratio_percent(counts.load_hit_rate()),
    }
}

/// A mean; a dash if there is nothing to take it of.
pub(super) fn mean(sum: u64, number: u64) -> String {
    match number {
        0 => DASH.to_owned(),
        number => format!("{:.1}", sum as f64 / number as f64),
    }
}
