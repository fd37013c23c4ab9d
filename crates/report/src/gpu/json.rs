//! [`gpu_json`]: a run of a GPU program as JSON, schema `reuselens-gpu/1`.

use reuselens_gpu_advisor::{
    BankCounts, BranchReport, BypassReport, CacheCounts, ClassCounts, ConfiguredLaunches,
    DegreeHistograms, GlobalCounts, HeatMap, InstructionMix, KernelReport, LaunchMetric,
    LocalCounts, MappingReport, ObjectReport, OrderCounts, ReuseCounts, ReuseReport, ReuseSums,
    SharedArrayReport, SiteReport, metrics,
};
use reuselens_locality::Log2Histogram;
use reuselens_warp::{DeviceCall, Extent, InstructionClass};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::sums::{Intensity, KernelSum, LineSum, ObjectSum};
use super::{GpuRun, HostCall, SummedRun};
use crate::advice::finding_json;

/// The name and version of the schema. Fields may be added to it; none is renamed.
pub const GPU_SCHEMA: &str = "reuselens-gpu/1";

/// A run as JSON. Counts are exact; `l1`, `l2`, `bypass` and the metrics of hit rates are those of
/// the model. Equal runs, equal bytes.
pub fn gpu_json(summed: &SummedRun<'_>) -> String {
    let run = summed.run;
    crate::json::to_text(&GpuDocument {
        schema: GPU_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        command: &run.command,
        origin: run.origin.word(),
        model: model(run),
        by_kernel: summed.kernels.iter().map(kernel_sum).collect(),
        by_line: summed.lines.iter().map(line_sum).collect(),
        by_object: summed
            .objects
            .iter()
            .map(|sum| object_sum(run, sum))
            .collect(),
        findings: run.findings.iter().map(finding_json).collect(),
        kernels: run.kernels.iter().map(kernel).collect(),
        call_paths: run.call_paths.iter().map(|path| calls(path)).collect(),
        objects: objects(run),
        copies: copies(run),
        fills: fills(run),
        faults: faults(run),
        unanalysed_launches: run.unanalysed_launches,
        unseen: unseen(run),
        unrecorded: unrecorded(run),
        host: run.host.as_ref().map(|host| host.json(run)),
        is_cut: run.ledger.is_cut,
    })
}

/// The document. Its first field is the schema, by which such files are known.
#[derive(Serialize)]
struct GpuDocument<'a> {
    schema: &'static str,
    version: &'static str,
    command: &'a str,
    /// What was read: a `program` while it ran, or a `stream` of memory instructions.
    origin: &'static str,
    model: Value,
    /// Launches of one kernel together.
    by_kernel: Vec<Value>,
    by_line: Vec<Value>,
    by_object: Vec<Value>,
    findings: Vec<Value>,
    /// Launches of one kernel from one call path, with all that is known of them.
    kernels: Vec<Value>,
    /// By number; number 0 is the unknown one.
    call_paths: Vec<Value>,
    /// By number; number 0 is all memory that is not known.
    objects: Value,
    copies: Value,
    fills: Value,
    faults: Value,
    /// Launches that were left out by `--kernel` and `--launches`.
    unanalysed_launches: u64,
    /// Launches on a GPU that nothing is known of.
    unseen: Value,
    /// Accesses on a GPU that are not recorded.
    unrecorded: Value,
    /// What the host's code accesses, if that was analysed.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<Value>,
    /// Whether there were more call paths, objects or sums than are kept.
    is_cut: bool,
}

fn unseen(run: &GpuRun) -> Value {
    let unseen = run.unseen.iter();
    let rows =
        unseen.map(|it| json!({ "kernel": it.kernel, "launches": it.launches, "why": it.why }));
    rows.collect()
}

fn unrecorded(run: &GpuRun) -> Value {
    let unrecorded = run.unrecorded.iter();
    let rows = unrecorded.map(|it| json!({ "kernel": it.kernel, "instructions": it.instructions }));
    rows.collect()
}

/// The GPU whose caches were modelled; null if none were.
fn model(run: &GpuRun) -> Value {
    let caches = run.kernels.iter().find_map(|kernel| kernel.caches.as_ref());
    let Some(caches) = caches else {
        return Value::Null;
    };
    let model = &caches.model;
    json!({
        "name": model.to_string(),
        "sms": model.sms,
        "l1_bytes": model.l1.bytes,
        "l2_bytes": model.l2.bytes,
    })
}

fn kernel_sum(sum: &KernelSum) -> Value {
    json!({
        "kernel": sum.name,
        "launches": sum.launches,
        "configurations": configurations(&sum.configurations),
        "other_configurations": sum.other_configurations,
        "warp_instructions": sum.instructions.warps,
        "thread_instructions": sum.instructions.threads,
        "instruction_mix": instruction_mix(&sum.mix),
        "float_operations": float_operations(&sum.mix),
        "intensity": intensity(&sum.intensity()),
        "global": global(&sum.global),
        "shared": banks(&sum.shared),
        "shared_arrays": shared_arrays(&sum.shared_arrays),
        "l1": sum.l1.as_ref().map(cache),
        "l2": sum.l2.as_ref().map(cache),
        "block_executions": sum.branches.executions(),
        "divergent_block_executions": sum.branches.divergent(),
        "instructions": instructions(&sum.branches),
    })
}

fn line_sum(sum: &LineSum) -> Value {
    json!({
        "line": sum.line,
        "kernels": sum.kernels,
        "paths": sum.paths,
        "global": global(&sum.counts.global),
        "shared": banks(&sum.counts.shared),
        "local": local(&sum.counts.local),
        "l1": cache(&sum.counts.l1),
        "l2": cache(&sum.counts.l2),
        "reuse": reuse_sums(&sum.counts.reuse),
        "block_executions": sum.executions,
        "divergent_block_executions": sum.divergent,
        "branches": sum.branches,
        "splits": sum.splits,
        "guarded": sum.guarded,
        "guarded_lanes": sum.guarded_lanes,
        "lanes_off": sum.lanes_off,
        "warp_instructions": sum.instructions.warps,
        "thread_instructions": sum.instructions.threads,
        "float_operations": sum.instructions.float_operations,
    })
}

fn object_sum(run: &GpuRun, sum: &ObjectSum) -> Value {
    json!({
        "object": sum.object,
        "name": run.object_name(sum.object),
        "kernels": sum.kernels,
        "loads": global(&sum.counts.global.loads),
        "stores": global(&sum.counts.global.writes()),
        "l1": cache(&sum.counts.l1),
        "l2": cache(&sum.counts.l2),
        "reuse": reuse_sums(&sum.counts.reuse),
        "heat": heat(sum.object, &sum.heat),
    })
}

fn kernel(report: &KernelReport) -> Value {
    let metrics: Map<String, Value> = metrics(report)
        .into_iter()
        .map(|metric| (metric.name.to_owned(), json!(metric.value)))
        .collect();
    json!({
        "kernel": report.kernel,
        "call_path": report.call_path,
        "launches": report.launches.launches,
        "configurations": configurations(&report.configurations),
        "other_configurations": report.other_configurations,
        "instruction_mix": instruction_mix(&report.mix),
        "float_operations": float_operations(&report.mix),
        "metrics": metrics,
        "statistics": statistics(report),
        "divergence": {
            "loads": degrees(&report.divergence.loads),
            "stores": degrees(&report.divergence.stores),
            "atomics": degrees(&report.divergence.atomics),
        },
        "reuse": report.reuse.as_ref().map(reuse),
        "waves": report.caches.as_ref().map(|caches| json!({
            "count": caches.waves,
            "cut": caches.cut_waves,
            "cut_blocks": caches.cut_blocks,
            "resident_blocks": caches.resident_blocks,
        })),
        "cache_distances": report.cache_distances.as_ref().map(|it| json!({
            "private": histogram(&it.private),
            "coherent": histogram(&it.coherent),
            "invalidated": it.invalidated,
            "shared": histogram(&it.shared),
        })),
        "bypass": report.bypass.as_ref().map(bypass),
        "mapping": report.mapping.as_ref().map(mapping),
        "blocks": basic_blocks(&report.branches),
        "branches": branches(&report.branches),
        "guarded": guarded(&report.branches),
        "shared_arrays": shared_arrays(&report.shared_arrays),
        "sites": report.by_site.iter().map(site).collect::<Vec<_>>(),
        "objects": report.by_object.iter().map(kernel_object).collect::<Vec<_>>(),
    })
}

/// Executions of basic blocks.
fn basic_blocks(report: &BranchReport) -> Vec<Value> {
    report
        .basic_blocks
        .iter()
        .map(|block| {
            json!({
                "block": block.block,
                "place": &*block.place,
                "calls": device_calls(&block.calls),
                "executions": block.executions,
                "divergent": block.divergent,
            })
        })
        .collect()
}

/// Executions of branches.
fn branches(report: &BranchReport) -> Vec<Value> {
    report
        .branches
        .iter()
        .map(|branch| {
            json!({
                "branch": branch.branch,
                "place": &*branch.place,
                "calls": device_calls(&branch.calls),
                "executions": branch.executions,
                "splits": branch.splits,
                "lanes": branch.lanes,
            })
        })
        .collect()
}

/// Executions of instructions under a guard.
fn guarded(report: &BranchReport) -> Vec<Value> {
    report
        .guarded
        .iter()
        .map(|it| {
            json!({
                "instruction": it.instruction,
                "place": &*it.place,
                "calls": device_calls(&it.calls),
                "executions": it.executions,
                "lanes": it.lanes,
                "lanes_off": it.lanes_off,
            })
        })
        .collect()
}

/// Executions of all instructions.
fn instructions(report: &BranchReport) -> Vec<Value> {
    report
        .instructions
        .iter()
        .map(|it| {
            json!({
                "instruction": it.instruction,
                "place": &*it.place,
                "column": it.column,
                "calls": device_calls(&it.calls),
                "ptx_line": it.ptx_line,
                "text": &*it.text,
                "class": it.class.name(),
                "warps": it.counts.warps,
                "threads": it.counts.threads,
            })
        })
        .collect()
}

/// Executions by class, of those that were executed.
fn instruction_mix(mix: &InstructionMix) -> Value {
    let row = |(class, counts): (InstructionClass, &ClassCounts)| {
        let counts = json!({ "warps": counts.warps, "threads": counts.threads });
        (class.name().to_owned(), counts)
    };
    Value::Object(mix.executed().map(row).collect())
}

/// Operations on floats, by size, and those of products of matrices; null where only instructions
/// that access memory are known.
fn float_operations(mix: &InstructionMix) -> Value {
    if !mix.is_complete() {
        return Value::Null;
    }
    let of = |class| mix.of(class).float_operations;
    json!({
        "f16": of(InstructionClass::Float16),
        "f32": of(InstructionClass::Float32),
        "f64": of(InstructionClass::Float64),
        "tensor": of(InstructionClass::Tensor),
    })
}

/// Operations on floats for each byte that moves, and the bytes; null where that is not known.
fn intensity(intensity: &Intensity) -> Value {
    json!({
        "l2_bytes": intensity.l2_bytes,
        "memory_bytes": intensity.memory_bytes,
        "per_l2_byte": intensity.per_l2_byte(),
        "per_memory_byte": intensity.per_memory_byte(),
    })
}

/// Launches by grid, block and shared memory, with the most warps that an SM can hold of them.
fn configurations(launches: &[ConfiguredLaunches]) -> Value {
    let extent = |Extent { x, y, z }: Extent| [x, y, z];
    let one = |launches: &ConfiguredLaunches| {
        let (configuration, occupancy) = (&launches.configuration, &launches.occupancy);
        let used = configuration.used;
        let limits = occupancy.limits().map(|limit| limit.name());
        json!({
            "launches": launches.launches,
            "grid": extent(configuration.grid),
            "block": extent(configuration.block),
            "static_shared_bytes": used.map(|used| used.static_shared),
            "dynamic_shared_bytes": used.map(|used| used.dynamic_shared),
            "occupancy": {
                "share": occupancy.share(),
                "blocks": occupancy.blocks,
                "warps": occupancy.warps,
                "most_warps": occupancy.most_warps,
                "limits": limits.collect::<Vec<_>>(),
                "waves": occupancy.waves,
            },
        })
    };
    launches.iter().map(one).collect()
}

/// Reuse distances in blocks and warps.
fn reuse(reuse: &ReuseReport) -> Value {
    json!({
        "element_bytes": reuse.element_bytes,
        "line_bytes": reuse.line_bytes,
        "cta_elements": reuse_counts(&reuse.cta_elements),
        "cta_lines": reuse_counts(&reuse.cta_lines),
        "warp_elements": reuse_counts(&reuse.warp_elements),
        "warp_lines": reuse_counts(&reuse.warp_lines),
        "cut_blocks": reuse.cut_blocks,
    })
}

/// Count, mean, extremes and deviation over the launches of each metric that has values.
fn statistics(report: &KernelReport) -> Value {
    let mut rows = Map::new();
    for metric in LaunchMetric::ALL {
        let row = report.launches.of(metric);
        if row.count() > 0 {
            let row = json!({
                "count": row.count(),
                "mean": row.mean(),
                "min": row.min(),
                "max": row.max(),
                "deviation": row.deviation(),
            });
            rows.insert(metric.name().to_owned(), row);
        }
    }
    Value::Object(rows)
}

fn site(site: &SiteReport) -> Value {
    json!({
        "site": site.site,
        "place": site.code.place,
        "instruction": site.code.text,
        "calls": device_calls(&site.code.calls),
        "space": site.space.name(),
        "global": global(&site.counts.global),
        "array": site.array,
        "shared": banks(&site.counts.shared),
        "local": local(&site.counts.local),
        "l1": cache(&site.counts.l1),
        "l2": cache(&site.counts.l2),
        "reuse": reuse_sums(&site.counts.reuse),
    })
}

fn kernel_object(object: &ObjectReport) -> Value {
    json!({
        "object": object.object,
        "loads": global(&object.counts.global.loads),
        "stores": global(&object.counts.global.stores),
        "atomics": global(&object.counts.global.atomics),
        "l1": cache(&object.counts.l1),
        "l2": cache(&object.counts.l2),
        "reuse": reuse_sums(&object.counts.reuse),
        "heat": heat(object.object, &object.heat),
    })
}

/// Sectors by part of an object, in the order of addresses; null where the object is not known.
fn heat(object: Option<u32>, map: &HeatMap) -> Value {
    match object {
        None => Value::Null,
        Some(_) => json!({
            "part_bytes": map.part_bytes(),
            "sectors": map.sectors(),
        }),
    }
}

fn global(counts: &GlobalCounts) -> Value {
    json!({
        "requests": counts.requests,
        "lanes": counts.lanes,
        "bytes": counts.bytes,
        "lines": counts.lines,
        "sectors": counts.sectors,
        "ideal_sectors": counts.ideal_sectors,
    })
}

fn banks(counts: &BankCounts) -> Value {
    json!({
        "requests": counts.requests,
        "wavefronts": counts.wavefronts,
        "ideal_wavefronts": counts.ideal_wavefronts,
    })
}

fn local(counts: &LocalCounts) -> Value {
    json!({
        "requests": counts.requests,
        "lanes": counts.lanes,
        "bytes": counts.bytes,
    })
}

/// Arrays in shared memory; the name is null for what belongs to no known one, and the bytes where
/// the launch decides them.
fn shared_arrays(arrays: &[SharedArrayReport]) -> Value {
    let one = |report: &SharedArrayReport| {
        let array = report.array.as_ref();
        json!({
            "name": array.map(|array| &array.name),
            "start": array.map(|array| array.start),
            "bytes": array.and_then(|array| array.bytes),
            "shared": banks(&report.counts),
        })
    };
    arrays.iter().map(one).collect()
}

fn cache(counts: &CacheCounts) -> Value {
    json!({
        "loads": counts.loads,
        "load_hits": counts.load_hits,
        "stores": counts.stores,
        "store_hits": counts.store_hits,
    })
}

fn reuse_sums(sums: &ReuseSums) -> Value {
    json!({
        "loads": sums.loads,
        "reuses": sums.reuses,
        "mean_distance": sums.mean_distance(),
    })
}

/// Requests by lines and sectors: index *n* is the number of requests with *n*.
fn degrees(histograms: &DegreeHistograms) -> Value {
    json!({
        "lines": &histograms.lines[..],
        "sectors": &histograms.sectors[..],
    })
}

fn reuse_counts(counts: &ReuseCounts) -> Value {
    json!({
        "loads": histogram(&counts.loads),
        "stores": histogram(&counts.stores),
        "mean_distance": counts.mean_distance(),
        "streaming": counts.streaming,
        "items": counts.items,
    })
}

/// Bins as `[least distance, greatest distance, accesses]`; cold accesses are not among them.
fn histogram(histogram: &Log2Histogram) -> Value {
    let bins: Vec<[u64; 3]> = histogram
        .iter()
        .map(|(low, high, accesses)| [low, high, accesses])
        .collect();
    json!({ "bins": bins, "cold": histogram.cold() })
}

fn bypass(report: &BypassReport) -> Value {
    json!({
        "warps_per_block": report.per_warp.warps_per_block,
        "advice_per_warp": report.per_warp.advice(),
        "advice_per_cta": report.per_cta.advice(),
        "oracle": report.oracle.as_ref().map(|oracle| json!({
            "best": oracle.best(),
            "traffic": oracle.traffic,
            "distance_per_warp": oracle.distance(report.per_warp.advice()),
            "distance_per_cta": oracle.distance(report.per_cta.advice()),
        })),
    })
}

/// Another order of threads, and what it would gain.
fn mapping(report: &MappingReport) -> Value {
    let counts = |counts: &OrderCounts| json!({ "sectors": counts.sectors, "block_sectors": counts.block_sectors });
    json!({
        "launch": report.launch,
        "blocks": report.blocks,
        "threads": report.threads,
        "moved": report.moved,
        "before": counts(&report.before),
        "after": counts(&report.after),
    })
}

fn calls(path: &[HostCall]) -> Value {
    path.iter()
        .map(|call| json!({ "function": call.function, "place": call.place }))
        .collect()
}

/// The calls of device functions that lead from the kernel to a place.
fn device_calls(calls: &[DeviceCall]) -> Value {
    let one = |call: &DeviceCall| {
        json!({
            "function": call.function,
            "place": call.place,
            "is_inlined": call.is_inlined,
        })
    };
    calls.iter().map(one).collect()
}

fn objects(run: &GpuRun) -> Value {
    let numbered = run.ledger.objects.iter().enumerate();
    numbered
        .map(|(number, object)| {
            json!({
                "object": number,
                "name": run.object_name(Some(number as u32)),
                "origin": object.origin.word(),
                "call_path": object.call_path,
                "instances": object.instances,
                "bytes": object.bytes,
                "peak_bytes": object.peak_bytes,
                "unfreed": object.unfreed(),
            })
        })
        .collect()
}

fn copies(run: &GpuRun) -> Value {
    let copies = run.ledger.copies.iter();
    copies
        .map(|copy| {
            json!({
                "from": copy.from,
                "to": copy.to,
                "direction": copy.direction.name(),
                "call_path": copy.call_path,
                "count": copy.count,
                "bytes": copy.bytes,
                "redundant": copy.redundant,
                "redundant_bytes": copy.redundant_bytes,
            })
        })
        .collect()
}

fn fills(run: &GpuRun) -> Value {
    let fills = run.ledger.fills.iter();
    fills
        .map(|fill| {
            json!({
                "object": fill.object,
                "call_path": fill.call_path,
                "count": fill.count,
                "bytes": fill.bytes,
            })
        })
        .collect()
}

fn faults(run: &GpuRun) -> Value {
    let faults = run.faults().into_iter();
    faults
        .map(|fault| {
            json!({
                "kernel": fault.kernel,
                "call_path": fault.call_path,
                "message": fault.message,
                "object": fault.object,
                "refused": fault.is_refused,
                "count": fault.count,
                "facts": run.fault_facts(fault),
            })
        })
        .collect()
}
