//! Sums over the reports of a run: by kernel, by source line, and by object.

use std::collections::BTreeMap;

use super::GpuRun;
use super::instructions::PtxSums;
use reuselens_advice::SourcePlace;
use reuselens_gpu_advisor::{
    BankCounts, BranchReport, CacheCounts, CacheDistances, ClassCounts, ConfiguredLaunches,
    GlobalCounts, HeatMap, InstructionCounts, InstructionMix, KernelReport, ObjectCounts,
    RequestSums, ReuseReport, SECTOR_BYTES, SharedArrayReport, SiteCounts, source_line,
};
use reuselens_warp::DeviceCall;

/// A run with the sums that its tables show, which are made once for text, page, JSON and CSV.
///
/// Cost: linear in the sites, objects and branches of the run's kernels.
#[derive(Clone, Debug)]
pub struct SummedRun<'a> {
    pub(super) run: &'a GpuRun,
    /// Those with most instructions of threads first.
    pub(super) kernels: Vec<KernelSum>,
    /// All kernels together, without their control flow and reuse distances.
    pub(super) all: KernelSum,
    /// Those of most sectors first.
    pub(super) lines: Vec<LineSum>,
    /// Those of most sectors first.
    pub(super) objects: Vec<ObjectSum>,
}

impl<'a> SummedRun<'a> {
    /// Sums the reports of a run by kernel, source line and object.
    pub fn of(run: &'a GpuRun) -> SummedRun<'a> {
        let kernels = by_kernel(&run.kernels);
        let mut all = KernelSum::default();
        for kernel in &kernels {
            all.add_kernel(kernel);
        }
        SummedRun {
            run,
            kernels,
            all,
            lines: by_line(&run.kernels),
            objects: by_object(&run.kernels),
        }
    }

    /// Sectors of global memory of all lines, unknown ones included.
    pub(super) fn sectors(&self) -> u64 {
        let lines = self.lines.iter();
        lines.map(|sum| sum.counts.global.sectors).sum()
    }

    /// Sectors of global memory of all objects, unknown ones included.
    pub(super) fn object_sectors(&self) -> u64 {
        let objects = self.objects.iter();
        objects.map(|sum| sum.counts.global.all().sectors).sum()
    }
}

/// All launches of one kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelSum {
    /// Its name in the source.
    pub name: String,
    /// Launches that ended well.
    pub launches: u64,
    /// How they were launched, in the order of the first launches.
    pub configurations: Vec<ConfiguredLaunches>,
    /// Launches with a configuration that is not among those.
    pub other_configurations: u64,
    /// Instructions.
    pub instructions: InstructionCounts,
    /// Instructions by class.
    pub mix: InstructionMix,
    /// Requests of global memory.
    pub global: GlobalCounts,
    /// Requests of shared memory.
    pub shared: BankCounts,
    /// The modelled L1; none if it was not modelled.
    pub l1: Option<CacheCounts>,
    /// The modelled L2; none if it was not modelled.
    pub l2: Option<CacheCounts>,
    /// Reuse distances in caches of multiprocessors; none if they were not measured.
    pub cache_distances: Option<CacheDistances>,
    /// Arrays in shared memory, by name.
    pub shared_arrays: Vec<SharedArrayReport>,
    /// Control flow.
    pub branches: BranchReport,
    /// Reuse distances; none if they were not measured.
    pub reuse: Option<ReuseReport>,
}

impl KernelSum {
    /// Adds the launches of a report.
    fn add(&mut self, report: &KernelReport) {
        self.launches += report.launches.launches;
        for more in &report.configurations {
            let known = self.configurations.iter_mut();
            match known
                .into_iter()
                .find(|it| it.configuration == more.configuration)
            {
                Some(known) => known.launches += more.launches,
                None => self.configurations.push(*more),
            }
        }
        self.other_configurations += report.other_configurations;
        for more in &report.shared_arrays {
            let mut known = self.shared_arrays.iter_mut();
            match known.find(|it| it.array == more.array) {
                Some(known) => known.counts.merge(&more.counts),
                None => self.shared_arrays.push(more.clone()),
            }
        }
        self.instructions.warps += report.instructions.warps;
        self.instructions.threads += report.instructions.threads;
        self.mix.merge(&report.mix);
        self.global.merge(&report.global);
        self.shared.merge(&report.banks.all());
        if let Some(caches) = &report.caches {
            self.l1.get_or_insert_default().merge(&caches.l1);
            self.l2.get_or_insert_default().merge(&caches.l2);
        }
        if let Some(distances) = &report.cache_distances {
            let sum = self.cache_distances.get_or_insert_default();
            sum.merge(distances);
        }
        self.branches.merge(&report.branches);
        if let Some(reuse) = &report.reuse {
            match &mut self.reuse {
                Some(sum) => sum.merge(reuse),
                None => self.reuse = Some(reuse.clone()),
            }
        }
    }

    /// Operations on floats and the bytes that they are for.
    pub fn intensity(&self) -> Intensity {
        let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
        Intensity {
            float_operations: (self.mix.is_complete()).then(|| self.mix.all().float_operations),
            l2_bytes: self.l2.map(|l2| bytes(l2.loads + l2.stores)),
            memory_bytes: self.l2.map(|l2| bytes(l2.load_misses())),
        }
    }

    /// Adds the launches of another kernel, for a row of several kernels.
    pub fn add_kernel(&mut self, other: &KernelSum) {
        self.launches += other.launches;
        self.instructions.warps += other.instructions.warps;
        self.instructions.threads += other.instructions.threads;
        self.mix.merge(&other.mix);
        self.global.merge(&other.global);
        self.shared.merge(&other.shared);
        for (sum, more) in [(&mut self.l1, other.l1), (&mut self.l2, other.l2)] {
            if let Some(more) = more {
                sum.get_or_insert_default().merge(&more);
            }
        }
    }
}

/// How much a kernel calculates for what it moves: *arithmetic intensity*.
#[derive(Clone, Copy, Debug)]
pub(super) struct Intensity {
    /// Operations on floats, of products of matrices too. None where they are not known.
    pub float_operations: Option<u64>,
    /// Bytes of the sectors that the modelled L2 is asked for: loads that miss in the L1, all
    /// stores and atomic operations. None if caches were not modelled.
    pub l2_bytes: Option<u64>,
    /// Bytes of the sectors that the modelled L2 loads from the device's memory. Those that it
    /// writes back are not modelled.
    pub memory_bytes: Option<u64>,
}

impl Intensity {
    /// Operations for each byte that the L2 is asked for; none without bytes, or without
    /// operations.
    pub fn per_l2_byte(&self) -> Option<f64> {
        self.per(self.l2_bytes)
    }

    /// Operations for each byte that is loaded from the device's memory; none as above.
    pub fn per_memory_byte(&self) -> Option<f64> {
        self.per(self.memory_bytes)
    }

    fn per(&self, bytes: Option<u64>) -> Option<f64> {
        let bytes = bytes.filter(|&bytes| bytes > 0)?;
        let operations = self.float_operations.filter(|&operations| operations > 0)?;
        Some(operations as f64 / bytes as f64)
    }
}

/// The kernels of a run, those with most instructions of threads first; equal ones in the order of
/// their first launches.
fn by_kernel(reports: &[KernelReport]) -> Vec<KernelSum> {
    let mut sums: Vec<KernelSum> = Vec::new();
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for report in reports {
        let number = *numbers.entry(&report.kernel).or_insert(sums.len());
        if number == sums.len() {
            sums.push(KernelSum {
                name: report.kernel.clone(),
                ..KernelSum::default()
            });
        }
        sums[number].add(report);
    }
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.instructions.threads));
    sums
}

/// What a source line of kernels does.
#[derive(Clone, Debug, Default)]
pub(super) struct LineSum {
    /// `file:line`; empty if it is not known.
    pub line: String,
    /// The kernels that execute it, by name.
    pub kernels: Vec<String>,
    /// The ways from a kernel to it, as `kernel › function`; [`MOST_PATHS`] at most.
    pub paths: Vec<String>,
    /// What its memory instructions do.
    pub counts: SiteCounts,
    /// Executions of basic blocks that begin there, by warps.
    pub executions: u64,
    /// Divergent ones of these.
    pub divergent: u64,
    /// Executions of branches there, by warps.
    pub branches: u64,
    /// Those of these that split the warp.
    pub splits: u64,
    /// Executions of other instructions under a guard there, by warps.
    pub guarded: u64,
    /// Active lanes of those.
    pub guarded_lanes: u64,
    /// Of those lanes, the ones that the guard switched off.
    pub lanes_off: u64,
    /// All instructions there.
    pub instructions: ClassCounts,
    /// Each of them.
    pub ptx: PtxSums,
}

/// Ways to a line that are kept.
const MOST_PATHS: usize = 8;

impl LineSum {
    /// The function that the line is in: the kernels, or `helper in expand` for a device function.
    pub fn function(&self) -> String {
        let kernels = self.kernels.join(", ");
        let mut functions: Vec<&str> = Vec::new();
        for path in &self.paths {
            match path.rsplit_once(" › ") {
                Some((_, function)) if !functions.contains(&function) => functions.push(function),
                Some(_) => {}
                // The kernel itself, if not another place of the same line.
                None => return kernels,
            }
        }
        format!("{} in {kernels}", functions.join(", "))
    }

    /// Adds a way from a kernel to the line.
    fn add_path(&mut self, kernel: &str, calls: &[DeviceCall]) {
        let functions = calls.iter().map(|call| call.function.as_str());
        let path: Vec<&str> = [kernel].into_iter().chain(functions).collect();
        let path = path.join(" › ");
        if self.paths.len() < MOST_PATHS && !self.paths.contains(&path) {
            self.paths.push(path);
        }
    }

    /// File and line number; none if they are not known.
    pub fn file_and_line(&self) -> Option<(&str, usize)> {
        let place = SourcePlace::parse(&self.line)?;
        Some((place.file, usize::try_from(place.line).ok()?))
    }
}

/// The source lines of kernels that access memory or branch, those of most sectors of global memory
/// first, then those of most wavefronts and branches. What has no line is together by kernel.
fn by_line(reports: &[KernelReport]) -> Vec<LineSum> {
    let mut lines: BTreeMap<(String, &str), LineSum> = BTreeMap::new();
    for report in reports {
        let mut sum_of = |line: String, calls: &[DeviceCall], add: &dyn Fn(&mut LineSum)| {
            let kernel = if line.is_empty() { &report.kernel } else { "" };
            let sum = lines.entry((line.clone(), kernel)).or_default();
            sum.line = line;
            if !sum.kernels.contains(&report.kernel) {
                sum.kernels.push(report.kernel.clone());
            }
            sum.add_path(&report.kernel, calls);
            add(sum);
        };
        for site in &report.by_site {
            sum_of(source_line(&site.code.place), &site.code.calls, &|sum| {
                sum.counts.merge(&site.counts);
                sum.ptx.add_site(&report.kernel, site);
            });
        }
        for line in report.branches.by_call() {
            sum_of(line.line.clone(), &line.calls, &|sum| {
                sum.executions += line.executions;
                sum.divergent += line.divergent;
                sum.branches += line.branches;
                sum.splits += line.splits;
                sum.guarded += line.guarded;
                sum.guarded_lanes += line.guarded_lanes;
                sum.lanes_off += line.lanes_off;
                sum.instructions.merge(&line.instructions);
            });
        }
    }
    for report in reports {
        // They are shown below a line's text.
        let rows = report.branches.instructions.iter();
        for row in rows.filter(|row| !row.place.is_empty()) {
            if let Some(sum) = lines.get_mut(&(source_line(&row.place), "")) {
                sum.ptx.add_executed(&report.kernel, row);
            }
        }
    }
    let mut lines: Vec<LineSum> = lines.into_values().collect();
    lines.sort_by_key(|sum| {
        let (global, shared) = (&sum.counts.global, &sum.counts.shared);
        std::cmp::Reverse((global.sectors, shared.wavefronts, sum.branches))
    });
    lines
}

/// What kernels do with an object.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectSum {
    /// Its number; none: addresses of no known object.
    pub object: Option<u32>,
    /// The kernels that access it, by name.
    pub kernels: Vec<String>,
    /// What requests do with it.
    pub counts: ObjectCounts,
    /// How often its parts are accessed.
    pub heat: HeatMap,
}

/// The objects that kernels access, those of most sectors first.
fn by_object(reports: &[KernelReport]) -> Vec<ObjectSum> {
    let mut objects: BTreeMap<Option<u32>, ObjectSum> = BTreeMap::new();
    for report in reports {
        for object in &report.by_object {
            let sum = objects.entry(object.object).or_default();
            sum.object = object.object;
            if !sum.kernels.contains(&report.kernel) {
                sum.kernels.push(report.kernel.clone());
            }
            sum.counts.merge(&object.counts);
            sum.heat.merge(&object.heat);
        }
    }
    let mut objects: Vec<ObjectSum> = objects.into_values().collect();
    objects.sort_by_key(|sum| std::cmp::Reverse(sum.counts.global.all().sectors));
    objects
}
