//! How the tiers of a placement file are made on this machine.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use reuselens_placement::{FileTier, PlacedKind, PlacementFile, TierKind};
use reuselens_units::Bytes;
use thiserror::Error;

const HUGE_PAGE: u64 = crate::layout::HUGE_PAGE as u64;
const SPAN: u64 = crate::layout::SPAN as u64;

/// How a tier is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Huge pages: those of the pool if it has enough for the tier, else transparent ones.
    Huge,
    /// Transparent huge pages, by `madvise(MADV_HUGEPAGE)`.
    Madvise,
    /// Huge pages of the system's pool, by `mmap(MAP_HUGETLB)`.
    Hugetlb,
    /// Pages of a memory node, by `mbind`.
    Node(u32),
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Huge => f.write_str("huge"),
            Way::Madvise => f.write_str("madvise"),
            Way::Hugetlb => f.write_str("hugetlb"),
            Way::Node(node) => write!(f, "node:{node}"),
        }
    }
}

impl FromStr for Way {
    type Err = WayError;

    fn from_str(text: &str) -> Result<Self, WayError> {
        match text {
            "huge" => Ok(Way::Huge),
            "madvise" => Ok(Way::Madvise),
            "hugetlb" => Ok(Way::Hugetlb),
            _ => {
                let node = text
                    .strip_prefix("node:")
                    .and_then(|node| node.parse().ok());
                node.map(Way::Node)
                    .ok_or_else(|| WayError::Unknown(text.to_owned()))
            }
        }
    }
}

/// The ways that the user asks for: one for all tiers, or by tier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ways(Vec<(Option<String>, Way)>);

impl Ways {
    /// Reads `WAY` and `TIER=WAY`.
    ///
    /// # Errors
    /// If a way is unknown.
    pub fn parse(texts: &[String]) -> Result<Ways, WayError> {
        let read = |text: &String| match text.rsplit_once('=') {
            Some((tier, way)) => Ok((Some(tier.to_owned()), way.parse()?)),
            None => Ok((None, text.parse()?)),
        };
        texts.iter().map(read).collect::<Result<_, _>>().map(Ways)
    }

    fn of(&self, tier: &str) -> Option<Way> {
        let named = |entry: &&(Option<String>, Way)| entry.0.as_deref() == Some(tier);
        let found = self.0.iter().find(named);
        let found = found.or_else(|| self.0.iter().find(|entry| entry.0.is_none()));
        found.map(|entry| entry.1)
    }
}

/// Why a tier cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WayError {
    /// There is no such way.
    #[error(
        "'{0}' is no way to make a tier; take huge, madvise, hugetlb or node:N, or TIER=WAY for one tier"
    )]
    Unknown(String),
    /// The placement file has a way that does not exist.
    #[error(
        "tier '{tier}' has as = '{way}', which is no way to make a tier; write huge, madvise, hugetlb or node:N"
    )]
    InFile {
        /// The tier.
        tier: String,
        /// What the file says.
        way: String,
    },
    /// There is no such tier.
    #[error("--as names the tier '{tier}', and the placement file has: {known}")]
    NoTier {
        /// The tier.
        tier: String,
        /// Those of the file.
        known: String,
    },
    /// The kind of a tier does not say where it is on this machine.
    #[error(
        "tier '{tier}' is {kind}, and nothing says where that is on this machine, which has the memory nodes {nodes}; add --as '{tier}=node:N', or take huge pages in its place: --as '{tier}=huge'"
    )]
    WhichNode {
        /// The tier.
        tier: String,
        /// Its kind.
        kind: &'static str,
        /// The nodes.
        nodes: String,
    },
    /// The machine lacks a node.
    #[error("tier '{tier}': this machine has no memory node {node}; it has {nodes}")]
    NoNode {
        /// The tier.
        tier: String,
        /// The node.
        node: u32,
        /// The nodes that there are.
        nodes: String,
    },
    /// The pool of huge pages is empty.
    #[error(
        "tier '{tier}': the system's pool has {free} free huge pages for it; fill the pool (as root: sysctl vm.nr_hugepages=N), or take --as madvise"
    )]
    NoPool {
        /// The tier.
        tier: String,
        /// Free pages.
        free: u64,
    },
    /// Transparent huge pages are off.
    #[error(
        "tier '{tier}': transparent huge pages are switched off (/sys/kernel/mm/transparent_hugepage/enabled); as root: echo madvise > that file, or take --as hugetlb"
    )]
    Off {
        /// The tier.
        tier: String,
    },
    /// A tier is smaller than one page.
    #[error(
        "tier '{tier}' has {capacity}, and a huge page has 2 MiB: none fits; plan for a larger tier (reuselens place --fast 2M or more), or put this one on a memory node (--as '{tier}=node:N')"
    )]
    TooSmall {
        /// The tier.
        tier: String,
        /// Its size.
        capacity: Bytes,
    },
    /// A tier is smaller than what blocks of the heap are taken from.
    #[error(
        "tier '{tier}' has {capacity}, and blocks of the heap take its memory in pieces of 64 KiB: none fits; plan for a larger tier (reuselens place --fast 64K or more)"
    )]
    TooSmallForBlocks {
        /// The tier.
        tier: String,
        /// Its size.
        capacity: Bytes,
    },
}

/// What the system says of its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct System {
    /// The memory nodes.
    pub nodes: Vec<u32>,
    /// Free huge pages of the pool.
    pub pool: u64,
    /// Whether there are transparent huge pages.
    pub has_transparent: bool,
}

impl System {
    /// Asks the system. What it does not say is taken as not there; there is a node 0 always.
    pub fn now() -> System {
        let read = |path: &str| std::fs::read_to_string(Path::new("/sys").join(path)).ok();
        let nodes = read("devices/system/node/has_memory");
        let nodes = nodes.map(|text| node_list(text.trim())).unwrap_or_default();
        let pool = read("kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
        let modes = read("kernel/mm/transparent_hugepage/enabled");
        System {
            nodes: if nodes.is_empty() { vec![0] } else { nodes },
            pool: pool.and_then(|text| text.trim().parse().ok()).unwrap_or(0),
            has_transparent: modes.is_some_and(|text| !text.contains("[never]")),
        }
    }

    fn nodes(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(u32::to_string).collect();
        nodes.join(", ")
    }
}

/// Reads `0-3,5`.
fn node_list(text: &str) -> Vec<u32> {
    let number = |text: &str| text.parse::<u32>().ok();
    let range = |part: &str| match part.split_once('-') {
        Some((low, high)) => Some(number(low)?..=number(high)?.min(1023)),
        None => Some(number(part)?..=number(part)?),
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// The way of each tier of a file: what the user asks for, else what the file says, else by kind.
/// [`Way::Huge`] is none of them: it is resolved.
pub(crate) fn resolve(
    file: &PlacementFile,
    asked: &Ways,
    system: &System,
) -> Result<Vec<Way>, WayError> {
    let names = || -> Vec<&str> { file.tiers.iter().map(|tier| &*tier.name).collect() };
    for tier in asked.0.iter().filter_map(|(tier, _)| tier.as_ref()) {
        if file.tier(tier).is_none() {
            return Err(WayError::NoTier {
                tier: tier.clone(),
                known: names().join(", "),
            });
        }
    }
    // What earlier tiers take from the pool is not there for later ones.
    let mut left = system.clone();
    let one = |tier: &FileTier| {
        let way = way(tier, asked, &left)?;
        if tier.capacity_bytes < SPAN && has_only_blocks(file, tier) {
            return Err(WayError::TooSmallForBlocks {
                tier: tier.name.clone(),
                capacity: Bytes(tier.capacity_bytes),
            });
        }
        if way == Way::Hugetlb {
            let pages = tier.capacity_bytes.div_ceil(HUGE_PAGE);
            left.pool = left.pool.saturating_sub(pages);
        }
        Ok(way)
    };
    file.tiers.iter().map(one).collect()
}

/// Whether whole blocks of the heap are all that the file puts into a tier.
fn has_only_blocks(file: &PlacementFile, tier: &FileTier) -> bool {
    let mut objects = file
        .objects
        .iter()
        .filter(|object| object.tier == tier.name);
    objects.all(|object| object.kind == PlacedKind::Heap && object.chunks.is_empty())
}

fn way(tier: &FileTier, asked: &Ways, system: &System) -> Result<Way, WayError> {
    let read = |text: &str| {
        text.parse().map_err(|_| WayError::InFile {
            tier: tier.name.clone(),
            way: text.to_owned(),
        })
    };
    let written = tier.way.as_deref().map(read).transpose()?;
    let name = || tier.name.clone();
    let way = match (asked.of(&tier.name).or(written), tier.kind) {
        (Some(way), _) => way,
        (None, TierKind::Dram) => Way::Huge,
        (None, kind) => {
            return Err(WayError::WhichNode {
                tier: name(),
                kind: kind.name(),
                nodes: system.nodes(),
            });
        }
    };
    if !matches!(way, Way::Node(_)) && tier.capacity_bytes < HUGE_PAGE {
        return Err(WayError::TooSmall {
            tier: name(),
            capacity: Bytes(tier.capacity_bytes),
        });
    }
    match way {
        Way::Node(node) if !system.nodes.contains(&node) => Err(WayError::NoNode {
            tier: name(),
            node,
            nodes: system.nodes(),
        }),
        Way::Huge if system.pool >= tier.capacity_bytes.div_ceil(HUGE_PAGE) => Ok(Way::Hugetlb),
        Way::Huge | Way::Madvise if !system.has_transparent => Err(WayError::Off { tier: name() }),
        Way::Huge => Ok(Way::Madvise),
        Way::Hugetlb if system.pool == 0 => Err(WayError::NoPool {
            tier: name(),
            free: system.pool,
        }),
        way => Ok(way),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(kind: &str, bytes: u64) -> PlacementFile {
        let tier = format!("[[tier]]\nname = \"t\"\nkind = \"{kind}\"\ncapacity_bytes = {bytes}\n");
        PlacementFile::from_toml(&format!("version = 1\n{tier}")).unwrap()
    }

    fn resolved(kind: &str, bytes: u64, asked: &[&str], system: &System) -> Result<Way, String> {
        let asked: Vec<String> = asked.iter().map(|text| (*text).to_owned()).collect();
        let ways = Ways::parse(&asked).map_err(|error| error.to_string())?;
        let all = resolve(&file(kind, bytes), &ways, system);
        all.map(|ways| ways[0]).map_err(|error| error.to_string())
    }

    #[test]
    fn ways_come_from_the_user_then_from_the_kind() {
        let system = System {
            nodes: vec![0, 2],
            pool: 2,
            has_transparent: true,
        };
        let huge = |bytes| resolved("DRAM", bytes, &[], &system);
        assert_eq!(huge(4 << 20), Ok(Way::Hugetlb));
        assert_eq!(huge(5 << 20), Ok(Way::Madvise));
        let asked = resolved("HBM", 1 << 16, &["huge", "t=node:2"], &system);
        assert_eq!(asked, Ok(Way::Node(2)));
    }

    #[test]
    fn what_the_machine_lacks_is_named() {
        let system = System {
            nodes: vec![0],
            pool: 0,
            has_transparent: false,
        };
        let cases: [(&str, u64, &[&str], &str); 8] = [
            ("HBM", 65535, &["node:0"], "pieces of 64 KiB"),
            ("HBM", 4 << 20, &[], "tier 't' is HBM, and nothing says"),
            ("HBM", 4 << 20, &["node:1"], "no memory node 1; it has 0"),
            ("DRAM", 4 << 20, &["hugetlb"], "0 free huge pages"),
            ("DRAM", 4 << 20, &[], "are switched off"),
            ("DRAM", 4 << 10, &[], "none fits"),
            (
                "DRAM",
                4 << 20,
                &["u=huge"],
                "the tier 'u', and the placement file has: t",
            ),
            ("DRAM", 4 << 20, &["fast"], "'fast' is no way"),
        ];
        for (kind, bytes, asked, expected) in cases {
            let error = resolved(kind, bytes, asked, &system).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn pages_of_the_pool_are_promised_once() {
        let tier = |name| {
            format!("[[tier]]\nname = \"{name}\"\nkind = \"DRAM\"\ncapacity_bytes = 4194304\n")
        };
        let text = format!("version = 1\n{}{}", tier("a"), tier("b"));
        let system = System {
            nodes: vec![0],
            pool: 3,
            has_transparent: true,
        };
        let resolved = |text: &str, ways: &Ways| {
            resolve(&PlacementFile::from_toml(text).unwrap(), ways, &system)
        };
        let ways = resolved(&text, &Ways::default());
        assert_eq!(ways, Ok(vec![Way::Hugetlb, Way::Madvise]));
        let error = resolved(&format!("{text}as = \"fast\"\n"), &Ways::default());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("tier 'b' has as = 'fast'"), "{error}");
    }

    #[test]
    fn lists_of_nodes_are_read() {
        assert_eq!(node_list("0-2,5"), [0, 1, 2, 5]);
        assert!(node_list("").is_empty());
    }
}
