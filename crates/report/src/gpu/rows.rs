//! Rows of the tables of a run, which text and page have in common: cells as text.

use reuselens_document::TableColumn;
use reuselens_document::numbers::{
    DASH, count, noun, or_dash, percent, ratio_percent, significant,
};
use reuselens_gpu_advisor::{
    CacheCounts, ConfiguredLaunches, CopySum, GpuModel, InstructionMix, LaunchConfiguration,
    MemoryObject, Occupancy, SharedArrayReport,
};
use reuselens_units::Bytes;
use reuselens_warp::Extent;

use super::sums::{KernelSum, LineSum, ObjectSum};
use super::{GpuRun, ShortNames};
pub(super) use crate::advice::short_place;

/// The columns of [`kernel`].
pub(super) fn kernel_columns() -> Vec<TableColumn> {
    let heads = [
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
    TableColumn::all(&heads, &[0])
}

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

/// The columns of [`configuration`].
pub(super) fn configuration_columns() -> Vec<TableColumn> {
    let heads = [
        "kernel",
        "launches",
        "grid",
        "block",
        "static",
        "dynamic",
        "occupancy",
        "limited by",
        "waves",
    ];
    TableColumn::all(&heads, &[0, 7])
}

/// Launches of a kernel with one configuration.
pub(super) fn configuration(kernel: &str, launches: &ConfiguredLaunches) -> Vec<String> {
    let (configuration, occupancy) = (&launches.configuration, &launches.occupancy);
    let used = configuration.used.as_ref();
    vec![
        kernel.to_owned(),
        count(launches.launches),
        extent(configuration.grid),
        extent(configuration.block),
        or_dash(used, |used| Bytes(used.static_shared).to_string()),
        or_dash(used, |used| Bytes(used.dynamic_shared).to_string()),
        match occupancy.blocks {
            0 => "does not fit".to_owned(),
            _ => format!("≤ {}", ratio_percent(occupancy.share())),
        },
        limits(occupancy),
        significant(occupancy.waves),
    ]
}

/// What limits an occupancy.
fn limits(occupancy: &Occupancy) -> String {
    let limits: Vec<&str> = occupancy.limits().map(|limit| limit.name()).collect();
    limits.join(", ")
}

/// How a kernel was launched, as a sentence, with the most warps of it that a multiprocessor of a
/// GPU can hold.
pub fn configuration_text(configuration: &LaunchConfiguration, model: &GpuModel) -> String {
    let occupancy = configuration.occupancy(model);
    let used = configuration.used.map_or_else(String::new, |used| {
        let [known, added] = [used.static_shared, used.dynamic_shared].map(Bytes);
        format!(", {known} of static and {added} of dynamic shared memory")
    });
    let fits = match occupancy.blocks {
        0 => "a block does not fit".to_owned(),
        _ => format!("occupancy at most {}", ratio_percent(occupancy.share())),
    };
    format!(
        "grid {}, block {}{used}; {fits} (limited by {}; {}; registers are not known from PTX)",
        extent(configuration.grid),
        extent(configuration.block),
        limits(&occupancy),
        model,
    )
}

/// The configurations of kernels, those of most launches of each first.
pub(super) fn configurations(kernels: &[KernelSum]) -> Vec<Vec<String>> {
    let of_kernel = |kernel: &KernelSum| {
        let mut launches = kernel.configurations.clone();
        launches.sort_by_key(|it| std::cmp::Reverse(it.launches));
        let rows = launches.iter().map(|it| configuration(&kernel.name, it));
        rows.collect::<Vec<_>>()
    };
    kernels.iter().flat_map(of_kernel).collect()
}

/// Sizes without the directions at the end that are 1.
fn extent(Extent { x, y, z }: Extent) -> String {
    match (y, z) {
        (1, 1) => x.to_string(),
        (y, 1) => format!("{x} × {y}"),
        (y, z) => format!("{x} × {y} × {z}"),
    }
}

/// What reports say of launches that the tables of configurations leave out; `None` if there are
/// none.
pub(super) fn other_configurations(kernels: &[KernelSum]) -> Option<String> {
    let others: u64 = kernels.iter().map(|it| it.other_configurations).sum();
    let others = (others > 0).then(|| noun(others, "launch", "launches"));
    others.map(|others| format!("{others} with other configurations are not listed."))
}

/// The columns of [`mix`].
pub(super) fn mix_columns() -> Vec<TableColumn> {
    let heads = ["kernel", "FLOP", "FLOP/B L2", "FLOP/B memory"];
    let mut columns = TableColumn::all(&heads, &[0]);
    columns.push(TableColumn::mixed("instructions of threads"));
    columns
}

/// What a kernel calculates, for how many bytes, and its instructions by class in about `width`
/// characters.
pub(super) fn mix(sum: &KernelSum, width: usize) -> Vec<String> {
    let intensity = sum.intensity();
    let number = |value: Option<f64>| or_dash(value.as_ref(), |value| significant(*value));
    vec![
        sum.name.clone(),
        or_dash(intensity.float_operations.as_ref(), |&operations| {
            count(operations)
        }),
        number(intensity.per_l2_byte()),
        number(intensity.per_memory_byte()),
        class_shares(&sum.mix, width),
    ]
}

/// The classes of instructions with their shares of all of threads, the most frequent first: as
/// many as about `width` characters take, one at least.
fn class_shares(mix: &InstructionMix, width: usize) -> String {
    let total = mix.all().threads;
    let mut classes: Vec<_> = mix.executed().collect();
    classes.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.threads));
    let mut shares = String::new();
    for (class, counts) in classes {
        let share = format!("{} {}", class.name(), percent(counts.threads, total));
        if !shares.is_empty() && shares.len() + share.len() > width {
            shares.push_str(", …");
            break;
        }
        shares.push_str(if shares.is_empty() { "" } else { ", " });
        shares.push_str(&share);
    }
    shares
}

/// What a kernel executes, as a sentence: operations on floats, and all classes of instructions.
pub fn mix_text(mix: &InstructionMix) -> String {
    format!(
        "{} FLOP; instructions of threads: {}",
        count(mix.all().float_operations),
        class_shares(mix, usize::MAX)
    )
}

/// The columns of [`shared_arrays`].
pub(super) fn array_columns() -> Vec<TableColumn> {
    let heads = [
        "array",
        "kernel",
        "size",
        "requests",
        "wavefronts",
        "wavefronts/req",
        "conflicts",
    ];
    TableColumn::all(&heads, &[0, 1])
}

/// The arrays in shared memory, those of most wavefronts first.
pub(super) fn shared_arrays(kernels: &[KernelSum]) -> Vec<Vec<String>> {
    let of_kernel = |kernel: &'_ KernelSum| {
        let arrays = kernel.shared_arrays.iter();
        let name = kernel.name.clone();
        arrays
            .map(move |it| (name.clone(), it.clone()))
            .collect::<Vec<_>>()
    };
    let mut arrays: Vec<_> = kernels.iter().flat_map(of_kernel).collect();
    arrays.sort_by_key(|(_, it)| std::cmp::Reverse(it.counts.wavefronts));
    let row = |(kernel, report): (String, SharedArrayReport)| {
        let (array, counts) = (report.array.as_ref(), &report.counts);
        let bytes = array.and_then(|array| array.bytes);
        vec![
            array.map_or_else(|| "(unknown array)".to_owned(), |array| array.name.clone()),
            kernel,
            match (array, bytes) {
                (Some(_), None) => "dynamic".to_owned(),
                (_, bytes) => or_dash(bytes.as_ref(), |&bytes| Bytes(bytes).to_string()),
            },
            count(counts.requests),
            count(counts.wavefronts),
            mean(counts.wavefronts, counts.requests),
            count(counts.conflicts()),
        ]
    };
    arrays.into_iter().map(row).collect()
}

/// The columns of [`line`].
pub(super) fn line_columns() -> Vec<TableColumn> {
    let heads = [
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
    TableColumn::all(&heads, &[0, 1])
}

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

/// The columns of [`object`].
pub(super) fn object_columns() -> Vec<TableColumn> {
    let heads = [
        "object",
        "with",
        "size",
        "sectors",
        "share",
        "sectors/req",
        "L1",
        "reused",
    ];
    TableColumn::all(&heads, &[0, 1])
}

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

/// The columns of [`copy`].
pub(super) fn copy_columns() -> Vec<TableColumn> {
    let heads = ["from", "to", "direction", "copies", "bytes", "redundant"];
    TableColumn::all(&heads, &[0, 1, 2])
}

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
