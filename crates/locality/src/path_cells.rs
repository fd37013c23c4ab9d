//! [`PathCell`]: the distances of one instruction on one path; and [`PathShareCounter`], which
//! calculates from such cells the [`PathShares`] of each length of paths.

use crate::histogram::Histogram;
use crate::path::{Path, PathShares, Traces};
use crate::{Pattern, PatternBin, PatternBins, PatternRule, patterns};

/// The distances of one path to one instruction.
#[derive(Clone, Debug)]
pub struct PathCell {
    /// The instruction, as the caller numbers them.
    pub site: u32,
    /// The outcomes, newest in the lowest bit.
    pub outcomes: u32,
    /// How many outcomes those are: the length asked for, or fewer if this is the sum of all rarer
    /// paths that end in them.
    pub length: u32,
    /// The distances.
    pub bins: PatternBins,
    pub(crate) traces: Traces,
}

impl PathCell {
    /// Its instruction and its path.
    #[cfg(test)]
    pub(crate) fn key(&self) -> (u32, u32, u32) {
        (self.site, self.outcomes, self.length)
    }
}

/// Calculates the [`PathShares`] of several lengths of paths, from one instruction after the other.
///
/// Source: Fang et al. 2006, section 4.2.
pub struct PathShareCounter {
    /// By length, as asked for, ascending.
    shares: Vec<PathShares>,
    rule: PatternRule,
    long: u64,
    /// Neighbours among the sorted paths of an instruction, by the number of newest outcomes that
    /// they share.
    neighbours: [u64; Path::LONGEST as usize + 1],
    /// Accesses, by the number of outcomes of their path that are known.
    accesses: [u64; Path::LONGEST as usize + 1],
    /// The paths of the current instruction, in order: outcomes from the newest on, how many those
    /// are, and the index of the path's cell.
    order: Vec<(u32, u32, u32)>,
}

/// The outcomes of the paths that tell aliasing as published.
const PUBLISHED_LENGTH: u32 = 16;

/// What the paths to an instruction of several patterns show.
#[derive(Clone, Copy)]
enum Shown {
    /// Each path has at most one pattern.
    Differentiable,
    /// The paths with several patterns are rarer ones that were counted together: each may have but
    /// one.
    Unknown,
    /// A path has several patterns.
    Confused {
        /// Whether one of those stands for several traces of blocks.
        aliased: bool,
    },
}

impl Shown {
    /// By paths that were cut to a length.
    fn by(cuts: &[Cut], length: u32) -> Self {
        let confused = || cuts.iter().filter(|cut| cut.several == Some(true));
        if confused().next().is_none() {
            return Shown::Differentiable;
        }
        let mut known = confused().filter(|cut| cut.length == length).peekable();
        if known.peek().is_none() {
            return Shown::Unknown;
        }
        Shown::Confused {
            aliased: known.any(|cut| cut.traces.are_several(length)),
        }
    }
}

/// Some paths that are one when they are cut.
struct Cut {
    /// The outcomes, the newest in the highest bit. What a shorter path keeps comes first: cut to
    /// any length, paths that are sorted by this are sorted.
    reversed: u32,
    /// How many there are; all rarer paths that end in them if they are fewer than the length.
    length: u32,
    bins: PatternBins,
    traces: Traces,
    /// Whether the distances form several patterns; not known before it was looked at.
    several: Option<bool>,
}

impl PathShareCounter {
    /// For paths of these lengths, which ascend. From a mean of `long` items on, a pattern is long.
    pub fn new(lengths: &[u32], rule: PatternRule, long: u64) -> Self {
        let of = |length: &u32| PathShares {
            length: *length,
            ..PathShares::default()
        };
        PathShareCounter {
            shares: lengths.iter().map(of).collect(),
            rule,
            long,
            neighbours: [0; Path::LONGEST as usize + 1],
            accesses: [0; Path::LONGEST as usize + 1],
            order: Vec::new(),
        }
    }

    /// Adds an instruction: its paths, each once, and at least as long as the longest length.
    ///
    /// Cost: a sort of the paths; those of an instruction of several patterns are added up and
    /// looked at for each length.
    pub fn add(&mut self, cells: &[PathCell]) {
        self.order.clear();
        let keys = (0..).zip(cells);
        self.order.extend(keys.map(|(at, cell)| {
            (
                cell.outcomes.reverse_bits(),
                cell.length.min(Path::LONGEST),
                at,
            )
        }));
        self.order.sort_unstable();
        for pair in self.order.windows(2) {
            self.neighbours[first_difference(pair[0], pair[1]) as usize] += 1;
        }
        let mut all = PatternBins::new();
        for cell in cells {
            all.merge(&cell.bins);
            let accesses = &mut self.accesses[cell.length.min(Path::LONGEST) as usize];
            *accesses = accesses.saturating_add(cell.bins.accesses());
        }
        let found = patterns_of(&all, self.rule);
        let is_long = |pattern: &Pattern| pattern.mean >= self.long as f64;
        let both = found.iter().any(is_long) && !found.iter().all(is_long);
        for shares in &mut self.shares {
            shares.instructions += 1;
            shares.multiple += u64::from(found.len() > 1);
        }
        if found.len() > 1 {
            self.add_multiple(cells, both);
        }
    }

    /// Adds an instruction of several patterns, which may be both short and long.
    fn add_multiple(&mut self, cells: &[PathCell], both: bool) {
        let mut cuts: Vec<Cut> = Vec::with_capacity(cells.len());
        cuts.extend(self.order.iter().map(|(reversed, length, at)| {
            let cell = &cells[*at as usize];
            Cut {
                reversed: *reversed,
                length: *length,
                bins: cell.bins.clone(),
                traces: cell.traces,
                several: None,
            }
        }));
        // What paths of 16 outcomes show, or of the longest below that there are.
        let mut at_sixteen = None;
        // A path that is cut twice is cut to the shorter length.
        for shares in self.shares.iter_mut().rev() {
            let length = shares.length;
            cut(&mut cuts, length, self.rule);
            let shown = Shown::by(&cuts, length);
            match shown {
                Shown::Differentiable => shares.differentiable += 1,
                Shown::Unknown => shares.unknown += 1,
                Shown::Confused { aliased } => {
                    shares.aliased += u64::from(aliased);
                    shares.short_and_long += u64::from(both);
                    let published = match at_sixteen {
                        None => aliased,
                        Some(longer) => {
                            matches!(
                                longer,
                                Shown::Differentiable | Shown::Confused { aliased: true }
                            )
                        }
                    };
                    shares.aliased_published += u64::from(published);
                }
            }
            if length <= PUBLISHED_LENGTH {
                at_sixteen.get_or_insert(shown);
            }
        }
    }

    /// What was found, by length.
    pub fn finish(mut self) -> Vec<PathShares> {
        for shares in &mut self.shares {
            // Each but the first differs from the one before in an outcome that is kept.
            let differ = &self.neighbours[..shares.length.min(Path::LONGEST) as usize];
            shares.paths = shares.instructions + differ.iter().sum::<u64>();
            let apart = &self.accesses[shares.length.min(Path::LONGEST) as usize..];
            shares.accesses = apart.iter().fold(0, |a, b| a.saturating_add(*b));
        }
        self.shares
    }
}

/// The number of newest outcomes that two neighbours among sorted paths have in common: up to the
/// first outcome that differs, or the end of the shorter one.
fn first_difference(a: (u32, u32, u32), b: (u32, u32, u32)) -> u32 {
    let outcomes = (a.0 ^ b.0).leading_zeros();
    if a.1 == b.1 {
        outcomes
    } else {
        outcomes.min(a.1).min(b.1)
    }
}

/// Cuts sorted paths, adds up those that become one, and looks at those that are new.
fn cut(cuts: &mut Vec<Cut>, length: u32, rule: PatternRule) {
    for cut in &mut *cuts {
        cut.length = cut.length.min(length);
    }
    // Of paths that begin alike, those with fewer outcomes come first, so that cuts that become
    // equal are neighbours.
    let kept = |cut: &Cut| {
        (
            Path::newest(cut.reversed.reverse_bits(), length),
            cut.length,
        )
    };
    cuts.dedup_by(|next, last| {
        let same = kept(next) == kept(last);
        if same {
            last.bins.merge(&next.bins);
            last.traces.merge(&next.traces);
            last.several = None;
        }
        same
    });
    for cut in cuts {
        let look = || patterns_of(&cut.bins, rule).len() > 1;
        cut.several = Some(cut.several.unwrap_or_else(look));
    }
}

/// The patterns that distances form.
fn patterns_of(bins: &PatternBins, rule: PatternRule) -> Vec<Pattern> {
    patterns(&bins.iter().collect::<Vec<PatternBin>>(), rule)
}
