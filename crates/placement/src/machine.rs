//! The memory of a machine: its tiers, from a TOML file with hwloc's words.

use std::collections::BTreeSet;

use reuselens_units::Bytes;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A sort of memory; hwloc's subtypes of NUMA nodes, and its scratchpads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TierKind {
    /// High-bandwidth memory.
    #[serde(rename = "HBM")]
    Hbm,
    /// Ordinary memory.
    #[serde(rename = "DRAM")]
    Dram,
    /// Memory that is connected by a CXL link.
    #[serde(rename = "CXL-DRAM")]
    CxlDram,
    /// Memory that is not volatile.
    #[serde(rename = "NVM")]
    Nvm,
    /// A scratchpad: fast memory that only software fills.
    #[serde(rename = "SPM")]
    Spm,
}

impl TierKind {
    /// Its name in machine files.
    pub fn name(self) -> &'static str {
        match self {
            TierKind::Hbm => "HBM",
            TierKind::Dram => "DRAM",
            TierKind::CxlDram => "CXL-DRAM",
            TierKind::Nvm => "NVM",
            TierKind::Spm => "SPM",
        }
    }
}

/// Who can access a tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TierScope {
    /// All cores; there is one such memory.
    #[default]
    Machine,
    /// One core each; every core has such a memory of its own.
    Core,
}

/// A tier of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryTier {
    /// Its name in reports.
    pub name: String,
    /// What sort of memory it is.
    pub kind: TierKind,
    /// How much it holds, of each core if it is a core's; `None` for the last tier if it holds all.
    pub capacity: Option<Bytes>,
    /// The time of an access, in ns or in any other unit that all tiers share.
    pub latency: f64,
    /// MB/s.
    pub bandwidth: f64,
    /// Who can access it.
    pub scope: TierScope,
    /// How `run` makes it, in the words of `run --as` (`node:1`); chosen by kind if `None`.
    pub way: Option<String>,
}

/// The memory of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryMachine {
    /// Its name in reports.
    pub name: String,
    /// Where its numbers come from.
    pub source: String,
    /// The tiers, fastest first. Data that no rule places is in the last.
    pub tiers: Vec<MemoryTier>,
    /// The hardware cache in front of the tiers, if the file names one.
    pub cache: Option<Bytes>,
    /// Accesses of all threads that wait for memory at the same time, at least 1; `None` takes
    /// [`LINE_FILL_BUFFERS`] for each thread of the program, and 1 if the values are for pages: the
    /// latencies of walks through page tables are of one after another.
    pub parallelism: Option<f64>,
    /// The bytes of an item that the values are for, if they are for pages and not for lines: a
    /// miss is then one of the TLB, and moves no data.
    pub granularity: Option<Bytes>,
}

/// Misses of one core that wait for memory at the same time: the line-fill buffers of a first-level
/// data cache. Intel's cores have 10 from Nehalem to Skylake (Intel 64 and IA-32 Architectures
/// Optimization Reference Manual, table of Skylake's caches), later ones 12 to 16.
pub const LINE_FILL_BUFFERS: usize = 10;

/// Latencies that a tier can have, up to a second: sums of all accesses of a run stay finite.
const LATENCIES: std::ops::RangeInclusive<f64> = 1e-3..=1e9;
/// Misses that can wait at the same time.
pub const PARALLELISM: std::ops::Range<f64> = 1.0..1e6;
/// Bandwidths that a tier can have.
const BANDWIDTHS: std::ops::RangeInclusive<f64> = 1e-3..=1e12;

/// Machines that come with reuselens: name, and the file.
pub const SHIPPED: &[(&str, &str)] = &[
    ("keystone2", include_str!("machines/keystone2.toml")),
    ("knl7210", include_str!("machines/knl7210.toml")),
    ("xeonmax9480", include_str!("machines/xeonmax9480.toml")),
    ("cxl", include_str!("machines/cxl.toml")),
    ("hugepages", include_str!("machines/hugepages.toml")),
];

/// Why a machine file cannot be used. All messages name what to change.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MachineFileError {
    /// The text is not TOML, or has a field that is not known.
    #[error("the machine file cannot be read: {0}")]
    Syntax(String),
    /// A machine needs at least a fast and a slow memory.
    #[error("the machine has {0} tier; a placement needs at least two, fastest first")]
    OneTier(usize),
    /// A value of a tier cannot be.
    #[error("{of}{field} is {value}; it must be {wanted}")]
    Value {
        /// `tier 'NAME': `, or nothing for a field of the machine.
        of: String,
        /// The field.
        field: &'static str,
        /// What it is.
        value: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// Tiers come in the wrong order.
    #[error(
        "tier '{slower}' comes before '{faster}', which has a lower latency and no less bandwidth; write the fastest tier first"
    )]
    Order {
        /// The one written first.
        slower: String,
        /// The one written after it.
        faster: String,
    },
    /// The last tier has a capacity.
    #[error(
        "tier '{0}': capacity is given, but the last tier holds all that is not placed; leave it out"
    )]
    LastCapacity(String),
    /// Two tiers have one name.
    #[error("two tiers are called '{0}'; give each a name of its own")]
    Twins(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MachineFile {
    name: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    cache: Option<String>,
    #[serde(default)]
    parallelism: Option<f64>,
    #[serde(default)]
    granularity: Option<String>,
    #[serde(default)]
    tier: Vec<TierEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TierEntry {
    name: String,
    kind: TierKind,
    #[serde(default)]
    capacity: Option<String>,
    latency: f64,
    bandwidth: f64,
    #[serde(default)]
    scope: TierScope,
    #[serde(default, rename = "as")]
    way: Option<String>,
}

impl MemoryMachine {
    /// A machine from the text of its file.
    ///
    /// # Errors
    /// If the text is no such file, or if a value in it cannot be.
    pub fn from_toml(text: &str) -> Result<MemoryMachine, MachineFileError> {
        let file: MachineFile =
            toml::from_str(text).map_err(|error| MachineFileError::Syntax(error.to_string()))?;
        let count = file.tier.len();
        let tiers = file.tier.into_iter().enumerate();
        let tiers: Vec<MemoryTier> = tiers
            .map(|(index, entry)| entry.tier(index + 1 == count))
            .collect::<Result<_, _>>()?;
        let size = |field, text: Option<String>| {
            let text = text.as_deref();
            text.map(|size| size_of("", field, size)).transpose()
        };
        let machine = MemoryMachine {
            cache: size("cache", file.cache)?,
            granularity: size("granularity", file.granularity)?,
            name: file.name,
            source: file.source,
            tiers,
            parallelism: file.parallelism,
        };
        machine.check()?;
        Ok(machine)
    }

    /// Two tiers of which only the capacity of the fast one is known. Its gain is given as 1, so
    /// that benefits count accesses; times mean nothing on it.
    pub fn of_fast_memory(capacity: Bytes) -> MemoryMachine {
        let tier = |name: &str, capacity, latency| MemoryTier {
            name: name.to_owned(),
            kind: TierKind::Dram,
            capacity,
            latency,
            bandwidth: 1.0,
            scope: TierScope::Machine,
            way: None,
        };
        MemoryMachine {
            name: format!("{capacity} of fast memory"),
            source: String::new(),
            tiers: vec![tier("fast", Some(capacity), 0.0), tier("slow", None, 1.0)],
            cache: None,
            parallelism: Some(1.0),
            granularity: None,
        }
    }

    /// The machine with another capacity of its fastest tier.
    pub fn with_fast(mut self, capacity: Bytes) -> MemoryMachine {
        self.tiers[0].capacity = Some(capacity);
        self
    }

    /// The machine with this many times the capacity of each tier, and of the cache in front.
    pub fn scaled(&self, times: f64) -> MemoryMachine {
        let scaled = |bytes: Bytes| Bytes((bytes.get() as f64 * times).round() as u64);
        let mut machine = self.clone();
        for tier in &mut machine.tiers {
            tier.capacity = tier.capacity.map(scaled);
        }
        machine.cache = machine.cache.map(scaled);
        machine
    }

    /// The nanoseconds that it takes to move `bytes` between two tiers: the latency of the slower
    /// one, and as long as the smaller bandwidth needs. `None` if the machine's speeds are not
    /// known ([`Self::of_fast_memory`]).
    pub fn moving(&self, from: usize, to: usize, bytes: u64) -> Option<f64> {
        let (from, to) = (&self.tiers[from], &self.tiers[to]);
        let is_known = self.tiers.iter().all(|tier| tier.latency > 0.0);
        let bandwidth = from.bandwidth.min(to.bandwidth);
        // MB/s are bytes per µs.
        is_known.then(|| from.latency.max(to.latency) + bytes as f64 / bandwidth * 1000.0)
    }

    /// The accesses that wait for memory at the same time, by a program of this many threads.
    pub fn parallelism_of(&self, threads: usize) -> f64 {
        let buffers = threads.max(1).saturating_mul(LINE_FILL_BUFFERS) as f64;
        let assumed = match self.granularity {
            Some(_) => 1.0,
            None => buffers.min(PARALLELISM.end - 1.0),
        };
        self.parallelism.unwrap_or(assumed)
    }

    /// Whether nothing states the parallelism, so that it is taken from the program's threads.
    pub fn takes_threads(&self) -> bool {
        self.parallelism.is_none() && self.granularity.is_none()
    }

    /// The machine with the parallelism of a program of this many threads.
    pub fn for_threads(&self, threads: usize) -> MemoryMachine {
        MemoryMachine {
            parallelism: Some(self.parallelism_of(threads)),
            ..self.clone()
        }
    }

    /// Whether the system places data in it, page by page; software fills scratchpads byte by byte.
    pub fn is_paged(&self) -> bool {
        self.tiers.iter().all(|tier| tier.kind != TierKind::Spm)
    }

    /// The tier of all data that no rule places.
    pub fn slowest(&self) -> &MemoryTier {
        &self.tiers[self.tiers.len() - 1]
    }

    pub(crate) fn check(&self) -> Result<(), MachineFileError> {
        if self.tiers.len() < 2 {
            return Err(MachineFileError::OneTier(self.tiers.len()));
        }
        if let Some(parallelism) = self.parallelism
            && !PARALLELISM.contains(&parallelism)
        {
            return Err(MachineFileError::Value {
                of: String::new(),
                field: "parallelism",
                value: parallelism.to_string(),
                wanted: "from 1 to 1,000,000 accesses",
            });
        }
        let mut names = BTreeSet::new();
        for (index, tier) in self.tiers.iter().enumerate() {
            tier.check_speeds()?;
            // More bandwidth at a higher latency may be faster, as HBM is.
            if let Some(before) = self.tiers[..index].last()
                && before.latency > tier.latency
                && before.bandwidth <= tier.bandwidth
            {
                return Err(MachineFileError::Order {
                    slower: before.name.clone(),
                    faster: tier.name.clone(),
                });
            }
            if !names.insert(&tier.name) {
                return Err(MachineFileError::Twins(tier.name.clone()));
            }
        }
        Ok(())
    }
}

impl MemoryTier {
    fn check_speeds(&self) -> Result<(), MachineFileError> {
        let bad = |field, value: f64, wanted| MachineFileError::Value {
            of: format!("tier '{}': ", self.name),
            field,
            value: value.to_string(),
            wanted,
        };
        if !LATENCIES.contains(&self.latency) {
            let wanted = "from 0.001 to 1,000,000,000 (ns)";
            return Err(bad("latency", self.latency, wanted));
        }
        if !BANDWIDTHS.contains(&self.bandwidth) {
            let wanted = "from 0.001 to 1,000,000,000,000 (MB/s)";
            return Err(bad("bandwidth", self.bandwidth, wanted));
        }
        Ok(())
    }
}

impl TierEntry {
    fn tier(self, is_last: bool) -> Result<MemoryTier, MachineFileError> {
        let of = format!("tier '{}': ", self.name);
        let bad = |field, value: String, wanted| MachineFileError::Value {
            of: of.clone(),
            field,
            value,
            wanted,
        };
        let capacity = match &self.capacity {
            Some(_) if is_last => return Err(MachineFileError::LastCapacity(self.name)),
            Some(size) => Some(size_of(&of, "capacity", size)?),
            None if is_last => None,
            None => {
                return Err(bad(
                    "capacity",
                    "missing".to_owned(),
                    "given, as in \"16 GiB\"",
                ));
            }
        };
        if is_last && self.scope == TierScope::Core {
            let wanted = "\"machine\" for the last tier, where all other data is";
            return Err(bad("scope", "\"core\"".to_owned(), wanted));
        }
        Ok(MemoryTier {
            name: self.name,
            kind: self.kind,
            capacity,
            latency: self.latency,
            bandwidth: self.bandwidth,
            scope: self.scope,
            way: self.way,
        })
    }
}

/// A size above 0.
fn size_of(of: &str, field: &'static str, text: &str) -> Result<Bytes, MachineFileError> {
    let size: Option<Bytes> = text.parse().ok();
    size.filter(|size| size.get() > 0)
        .ok_or_else(|| MachineFileError::Value {
            of: of.to_owned(),
            field,
            value: format!("\"{text}\""),
            wanted: "a size above 0, as in \"16 GiB\"",
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"
name = "two"
cache = "1 MiB"

[[tier]]
name = "hbm"
kind = "HBM"
capacity = "16 GiB"
latency = 50
bandwidth = 400000

[[tier]]
name = "ddr"
kind = "DRAM"
latency = 100
bandwidth = 90000
"#;

    #[test]
    fn tier_of_more_bandwidth_and_higher_latency_may_come_first() {
        let text = TWO.replace("latency = 50", "latency = 150");
        assert_eq!(
            MemoryMachine::from_toml(&text).unwrap().tiers[0].name,
            "hbm"
        );
    }

    #[test]
    fn a_machine_file_is_read() {
        let machine = MemoryMachine::from_toml(TWO).unwrap();
        assert_eq!(machine.tiers[0].capacity, Some(Bytes(16 << 30)));
        assert_eq!(machine.slowest().name, "ddr");
        assert_eq!(machine.cache, Some(Bytes(1 << 20)));
    }

    #[test]
    fn shipped_machines_are_valid_and_say_where_their_numbers_come_from() {
        for (name, text) in SHIPPED {
            let machine = MemoryMachine::from_toml(text).unwrap();
            assert!(!machine.source.is_empty(), "{name}");
        }
    }

    #[test]
    fn impossible_values_are_named() {
        let cases = [
            (
                "bandwidth = 90000",
                "bandwidth = 90000\ncapacity = \"1 TiB\"",
                "tier 'ddr': capacity is given, but",
            ),
            (
                "capacity = \"16 GiB\"",
                "capacity = \"0\"",
                "tier 'hbm': capacity is \"0\"",
            ),
            (
                "capacity = \"16 GiB\"",
                "capacity = \"much\"",
                "capacity is \"much\"",
            ),
            (
                "capacity = \"16 GiB\"",
                "",
                "tier 'hbm': capacity is missing",
            ),
            ("latency = 50", "latency = -1", "tier 'hbm': latency is -1"),
            (
                "latency = 50",
                "latency = nan",
                "tier 'hbm': latency is NaN",
            ),
            (
                "bandwidth = 90000",
                "bandwidth = 0",
                "tier 'ddr': bandwidth is 0",
            ),
            (
                "latency = 100",
                "latency = 1e300",
                "it must be from 0.001 to 1,000,000,000 (ns)",
            ),
            (
                "bandwidth = 90000",
                "bandwidth = inf",
                "tier 'ddr': bandwidth is inf",
            ),
            (
                "bandwidth = 400000",
                "bandwidth = 1e13",
                "tier 'hbm': bandwidth is 10000000000000",
            ),
            (
                "latency = 50\nbandwidth = 400000",
                "latency = 150\nbandwidth = 90000",
                "write the fastest tier first",
            ),
            ("\"ddr\"", "\"hbm\"", "two tiers are called 'hbm'"),
            ("cache = \"1 MiB\"", "cache = \"-1\"", "cache is \"-1\""),
            (
                "cache = \"1 MiB\"",
                "parallelism = 0.5",
                "parallelism is 0.5",
            ),
            (
                "kind = \"HBM\"",
                "kind = \"SRAM\"",
                "unknown variant `SRAM`",
            ),
            (
                "name = \"two\"",
                "name = \"two\"\nspeed = 3",
                "unknown field `speed`",
            ),
            (
                "bandwidth = 90000",
                "bandwidth = 90000\nscope = \"core\"",
                "scope is \"core\"",
            ),
        ];
        for (from, to, expected) in cases {
            let text = TWO.replacen(from, to, 1);
            let error = MemoryMachine::from_toml(&text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let one = TWO[..TWO.rfind("[[tier]]").unwrap()].replace("capacity = \"16 GiB\"\n", "");
        let error = MemoryMachine::from_toml(&one).unwrap_err();
        assert_eq!(error, MachineFileError::OneTier(1));
    }
}
