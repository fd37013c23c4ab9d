//! The memory: two tiers, and the time that a placement takes on it.

use crate::Group;
use crate::traffic::{Interval, LINE, Lines, Traffic};

/// Of the accesses that wait for memory, how many do so at the same time: the line fill buffers of
/// a core, assumed.
const PARALLELISM: f64 = 10.0;
/// What an access takes that caches serve, in ns: a cycle at about 3 GHz, assumed.
const HIT: f64 = 0.3;

/// A tier as simulated.
pub struct Tier {
    /// ns.
    pub latency: f64,
    /// Bytes per ns.
    pub bandwidth: f64,
}

/// Two tiers; the slow one holds all that is not placed.
pub struct Memory {
    pub fast: Tier,
    pub slow: Tier,
    /// Bytes that the fast one holds.
    pub capacity: u64,
}

impl Memory {
    /// DRAM beside CXL memory of 2.5 times the latency, within the 2 to 5 times of the three cards
    /// of arXiv 2405.14209, and a fifth of the bandwidth. Assumed, as in `programs/hmbench/run`.
    pub fn of_dram_and_cxl(capacity: u64) -> Memory {
        Memory {
            fast: Tier {
                latency: 100.0,
                bandwidth: 100.0,
            },
            slow: Tier {
                latency: 250.0,
                bandwidth: 20.0,
            },
            capacity,
        }
    }

    /// The same for the rules, as a machine file.
    pub fn as_machine_file(&self, cache: u64) -> String {
        let tier = |name, kind, tier: &Tier| {
            let (latency, bandwidth) = (tier.latency, tier.bandwidth * 1000.0);
            format!(
                "[[tier]]\nname = \"{name}\"\nkind = \"{kind}\"\nlatency = {latency}\n\
                 bandwidth = {bandwidth}\n"
            )
        };
        format!(
            "name = \"simulated\"\ncache = \"{cache}\"\nparallelism = {PARALLELISM}\n\
             {}capacity = \"{}\"\n{}",
            tier("dram", "DRAM", &self.fast),
            self.capacity,
            tier("cxl", "CXL-DRAM", &self.slow),
        )
    }
}

/// An interval as the clock needs it: by group, then all other memory.
struct Part {
    /// What the accesses take if caches serve all, in ns.
    hits: f64,
    /// Fetched lines that are waited for.
    waited: Vec<f64>,
    /// Bytes moved.
    moved: Vec<f64>,
}

/// Tells how long a placement takes.
pub struct Clock<'a> {
    memory: &'a Memory,
    parts: Vec<Part>,
}

impl<'a> Clock<'a> {
    /// With a prefetcher, no access waits for lines that it foresees; they are moved all the same.
    pub fn new(
        traffic: &Traffic,
        groups: &[Group],
        memory: &'a Memory,
        has_prefetcher: bool,
    ) -> Clock<'a> {
        let part = |interval: &Interval| {
            let mut part = Part {
                hits: HIT * interval.accesses as f64,
                waited: vec![0.0; groups.len() + 1],
                moved: vec![0.0; groups.len() + 1],
            };
            for (object, lines) in &interval.lines {
                let found = groups
                    .iter()
                    .position(|group| Some(group.object) == *object);
                let group = found.unwrap_or(groups.len());
                let Lines {
                    demanded,
                    foreseen,
                    written,
                } = lines;
                let waited = demanded + if has_prefetcher { 0 } else { *foreseen };
                part.waited[group] += waited as f64;
                part.moved[group] += (LINE * (demanded + foreseen + written)) as f64;
            }
            part
        };
        Clock {
            memory,
            parts: traffic.intervals.iter().map(part).collect(),
        }
    }

    /// The ns of the program with group g in the fast tier where bit g of `placement` is set. In
    /// each interval, the tier that is the bottleneck decides, or the waiting.
    pub fn time(&self, placement: usize) -> f64 {
        let Memory { fast, slow, .. } = self.memory;
        let mut time = 0.0;
        for part in &self.parts {
            let (mut wait, mut moved) = (0.0, [0.0; 2]);
            for (group, (&waited, bytes)) in part.waited.iter().zip(&part.moved).enumerate() {
                let is_fast = group + 1 < part.waited.len() && placement >> group & 1 == 1;
                wait += waited * if is_fast { fast.latency } else { slow.latency };
                moved[usize::from(is_fast)] += bytes;
            }
            let computing = part.hits + wait / PARALLELISM;
            let moving = (moved[1] / fast.bandwidth).max(moved[0] / slow.bandwidth);
            time += f64::max(computing, moving);
        }
        time
    }
}
