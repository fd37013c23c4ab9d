//! [`PathProfile`]: what a profile stores of paths. It is made from a [`PathTable`] at the end of
//! an analysis.

use std::collections::BTreeMap;

use reuselens_locality::{
    FineHistogram, Path, PathShareCounter, PathShares, PathTable, PatternBins, PatternRule,
};
use reuselens_units::Distance;
use serde::{Deserialize, Serialize};

use crate::{Frame, Site};

/// Lengths of paths that are reported, where they are kept.
pub const PATH_LENGTHS: [u32; 7] = [0, 1, 2, 4, 8, 16, Path::LONGEST];

/// A pattern whose mean distance is this many items is long: 32 KiB in lines of 32 bytes, as
/// published.
pub const LONG: u64 = 1024;

/// The distances of one path to an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathDistances {
    /// Outcomes of conditional branches, 1 for taken, the newest in the lowest bit.
    pub outcomes: u32,
    /// How many outcomes those are. If they are fewer than the length asked for, this is the sum of
    /// all rarer paths that end in them.
    #[serde(default = "longest", skip_serializing_if = "is_longest")]
    pub length: u32,
    /// The distances.
    pub bins: PatternBins,
}

fn longest() -> u32 {
    Path::LONGEST
}

fn is_longest(length: &u32) -> bool {
    *length == Path::LONGEST
}

/// The paths to one instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathSite {
    /// File name of the module that it is in.
    pub module: String,
    /// Where in it.
    pub offset: u64,
    /// Where that is in the source, innermost.
    pub frame: Frame,
    /// The paths, ascending by outcomes, then by how many those are.
    pub paths: Vec<PathDistances>,
}

/// Distances by instruction and path, and how well paths of each length separate patterns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathProfile {
    /// Iterations of a loop whose outcomes were kept.
    pub keep: u32,
    /// Outcomes of the longest paths that are here.
    pub length: u32,
    /// Where patterns ended, for the shares.
    pub rule: PatternRule,
    /// The mean distance from which a pattern was long, for the shares.
    pub long: u64,
    /// Basic blocks that were seen; without any there were no paths to follow.
    pub blocks: u64,
    /// The shares, by length.
    pub shares: Vec<PathShares>,
    /// The instructions, by module and offset.
    pub sites: Vec<PathSite>,
}

impl PathProfile {
    /// From a table whose instructions are numbers of `sites`; other numbers are unknown
    /// instructions.
    pub fn new(table: &PathTable, sites: &[Site], keep: u32, blocks: u64) -> Self {
        let rule = PatternRule::default();
        let unknown = Site::default();
        let lengths = PATH_LENGTHS.into_iter();
        let lengths: Vec<u32> = lengths.filter(|length| *length <= table.length()).collect();
        let mut shares = PathShareCounter::new(&lengths, rule, LONG);
        let mut found: BTreeMap<(&str, u64), PathSite> = BTreeMap::new();
        table.for_each_site(table.length(), |cells| {
            shares.add(cells);
            let number = cells.first().map_or(0, |cell| cell.site);
            let site = sites.get(number as usize).unwrap_or(&unknown);
            let known = found.entry((&site.module, site.offset));
            let known = known.or_insert_with(|| PathSite {
                module: site.module.clone(),
                offset: site.offset,
                frame: site.frames.first().cloned().unwrap_or_default(),
                paths: Vec::new(),
            });
            known
                .paths
                .extend(cells.drain(..).map(|cell| PathDistances {
                    outcomes: cell.outcomes,
                    length: cell.length,
                    bins: cell.bins,
                }));
        });
        let sites = found.into_values().map(|mut site| {
            // Several sites may be the same place in the program.
            if !site.paths.is_sorted_by(|a, b| a.key() < b.key()) {
                site.paths = joined(&site.paths, Path::LONGEST);
            }
            site
        });
        PathProfile {
            keep,
            length: table.length(),
            rule,
            long: LONG,
            blocks,
            shares: shares.finish(),
            sites: sites.collect(),
        }
    }

    /// The paths of `length` outcomes to each instruction, and of fewer where rarer ones were
    /// counted together; none if no paths that long were kept.
    pub fn at(&self, length: u32) -> Option<Vec<(&PathSite, Vec<PathDistances>)>> {
        let shorter = |site: &'_ PathSite| joined(&site.paths, length);
        (length <= self.length).then(|| {
            self.sites
                .iter()
                .map(|site| (site, shorter(site)))
                .collect()
        })
    }
}

/// Paths cut to a length, those that become one added up, ascending.
fn joined(paths: &[PathDistances], length: u32) -> Vec<PathDistances> {
    let key = |path: &PathDistances| {
        let length = length.min(path.length);
        (Path::newest(path.outcomes, length), length)
    };
    let mut order: Vec<((u32, u32), &PathDistances)> =
        paths.iter().map(|path| (key(path), path)).collect();
    order.sort_by_key(|(key, _)| *key);
    let equal = order.chunk_by(|a, b| a.0 == b.0);
    let sum = |equal: &[((u32, u32), &PathDistances)]| {
        let mut bins = equal[0].1.bins.clone();
        for (_, path) in &equal[1..] {
            bins.merge(&path.bins);
        }
        let (outcomes, length) = equal[0].0;
        PathDistances {
            outcomes,
            length,
            bins,
        }
    };
    equal.map(sum).collect()
}

impl PathDistances {
    /// The distances in narrow bins: each bin's accesses at the mean of those that were seen in it.
    pub fn fine(&self) -> FineHistogram {
        let mut fine = FineHistogram::new();
        fine.add(Distance::COLD, self.bins.cold());
        for bin in self.bins.iter() {
            fine.add(Distance::new(bin.mean.round() as u64), bin.accesses);
        }
        fine
    }

    /// What distinguishes it from other paths of the instruction.
    fn key(&self) -> (u32, u32) {
        (self.outcomes, self.length)
    }

    /// The newest `length` outcomes as digits, the newest last. For rarer paths that were counted
    /// together, the outcomes that they share, and an ellipsis before them.
    pub fn digits(&self, length: u32) -> String {
        Path::ending(self.outcomes, self.length, length)
    }
}
