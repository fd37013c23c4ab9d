//! [`metrics`]: what is known of a kernel, under the names of Nsight Compute.

use reuselens_warp::Space;

use crate::{BankCounts, GlobalCounts, KernelReport, ratio};

/// A metric of Nsight Compute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelMetric {
    /// Nsight Compute's name.
    pub name: &'static str,
    /// Its name in reports.
    pub title: &'static str,
    /// Unit: `requests`, `sectors`, `%`, …
    pub unit: &'static str,
    /// Over all launches.
    pub value: f64,
    /// Whether the value is from a model; else it is counted exactly.
    pub is_modelled: bool,
}

/// The metrics of a kernel that are known, in the order of Nsight Compute's sections. Metrics of
/// loads and stores are left out where there are none.
pub fn metrics(report: &KernelReport) -> Vec<KernelMetric> {
    let mut all = Vec::new();
    instructions(report, &mut all);
    global(report, &mut all);
    caches(report, &mut all);
    shared(report, &mut all);
    branches(report, &mut all);
    all
}

fn counted(
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    value: f64,
) -> KernelMetric {
    KernelMetric {
        name,
        title,
        unit,
        value,
        is_modelled: false,
    }
}

fn modelled(name: &'static str, title: &'static str, share: f64) -> KernelMetric {
    KernelMetric {
        name,
        title,
        unit: "%",
        value: 100.0 * share,
        is_modelled: true,
    }
}

fn instructions(report: &KernelReport, all: &mut Vec<KernelMetric>) {
    let (warps, threads) = (report.instructions.warps, report.instructions.threads);
    if warps > 0 {
        all.extend([
            counted(
                "smsp__inst_executed.sum",
                "Instructions",
                "instructions",
                warps as f64,
            ),
            counted(
                "smsp__thread_inst_executed_pred_on.sum",
                "Thread instructions",
                "instructions",
                threads as f64,
            ),
            counted(
                "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
                "Active lanes",
                "lanes",
                ratio(threads, warps),
            ),
        ]);
    }
}

/// The names of the metrics of global loads, stores or atomic operations.
struct GlobalNames {
    requests: &'static str,
    sectors: &'static str,
    per_request: &'static str,
    titles: [&'static str; 3],
}

const GLOBAL_LOADS: GlobalNames = GlobalNames {
    requests: "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    sectors: "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    per_request: "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
    titles: ["Load requests", "Load sectors", "Load sectors/req"],
};
const GLOBAL_STORES: GlobalNames = GlobalNames {
    requests: "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    sectors: "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    per_request: "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio",
    titles: ["Store requests", "Store sectors", "Store sectors/req"],
};
const GLOBAL_ATOMICS: GlobalNames = GlobalNames {
    requests: "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    sectors: "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    per_request: "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_atom.ratio",
    titles: ["Atomic requests", "Atomic sectors", "Atomic sectors/req"],
};

fn global(report: &KernelReport, all: &mut Vec<KernelMetric>) {
    let divergence = &report.divergence;
    for (names, degrees) in [
        (GLOBAL_LOADS, &divergence.loads),
        (GLOBAL_STORES, &divergence.stores),
        (GLOBAL_ATOMICS, &divergence.atomics),
    ] {
        let requests = degrees.requests();
        if requests == 0 {
            continue;
        }
        let [title, sectors, per_request] = names.titles;
        let sum = degrees.sector_sum as f64;
        all.extend([
            counted(names.requests, title, "requests", requests as f64),
            counted(names.sectors, sectors, "sectors", sum),
            counted(
                names.per_request,
                per_request,
                "sectors/request",
                degrees.sector_degree(),
            ),
        ]);
    }
    let counts: &GlobalCounts = &report.global;
    if counts.requests > 0 {
        all.extend([
            counted(
                "memory_l2_theoretical_sectors_global",
                "Sectors",
                "sectors",
                counts.sectors as f64,
            ),
            counted(
                "memory_l2_theoretical_sectors_global_ideal",
                "Ideal sectors",
                "sectors",
                counts.ideal_sectors as f64,
            ),
        ]);
    }
}

fn caches(report: &KernelReport, all: &mut Vec<KernelMetric>) {
    let Some(caches) = &report.caches else {
        return;
    };
    if caches.l1.loads > 0 {
        all.push(modelled(
            "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct",
            "L1 load hit rate",
            caches.l1.load_hit_rate(),
        ));
    }
    if caches.l1.loads + caches.l1.stores > 0 {
        all.push(modelled(
            "l1tex__t_sector_hit_rate.pct",
            "L1 hit rate",
            caches.l1.hit_rate(),
        ));
    }
    if caches.l2.loads + caches.l2.stores > 0 {
        all.push(modelled(
            "lts__t_sector_hit_rate.pct",
            "L2 hit rate",
            caches.l2.hit_rate(),
        ));
    }
}

/// The names of the metrics of shared loads or stores: wavefronts and conflicts.
const SHARED_LOADS: [[&str; 2]; 2] = [
    [
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
        "Shared load wavefronts",
    ],
    [
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
        "Shared load bank conflicts",
    ],
];
const SHARED_STORES: [[&str; 2]; 2] = [
    [
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        "Shared store wavefronts",
    ],
    [
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
        "Shared store bank conflicts",
    ],
];

fn shared(report: &KernelReport, all: &mut Vec<KernelMetric>) {
    if report.spaces.of(Space::Shared) > 0 {
        all.push(counted(
            "smsp__inst_executed_op_shared.sum",
            "Shared requests",
            "requests",
            report.spaces.of(Space::Shared) as f64,
        ));
    }
    let rows: [([[&'static str; 2]; 2], &BankCounts); 2] = [
        (SHARED_LOADS, &report.banks.loads),
        (SHARED_STORES, &report.banks.stores),
    ];
    for ([[wavefronts, title], [conflicts, conflict_title]], counts) in rows {
        if counts.requests > 0 {
            all.extend([
                counted(wavefronts, title, "wavefronts", counts.wavefronts as f64),
                counted(
                    conflicts,
                    conflict_title,
                    "wavefronts",
                    counts.conflicts() as f64,
                ),
            ]);
        }
    }
}

fn branches(report: &KernelReport, all: &mut Vec<KernelMetric>) {
    if !report.branches.branches.is_empty() {
        all.push(counted(
            "smsp__sass_average_branch_targets_threads_uniform.pct",
            "Branch efficiency",
            "%",
            100.0 * report.branches.efficiency(),
        ));
    }
}
