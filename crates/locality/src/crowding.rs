//! Which lines of a program crowd their data into few sets of a cache.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use reuselens_units::Distance;

use crate::grouping::Names;
use crate::{Cache, Cell, Dimension, FineHistogram, Machine, Profile, SetAssociative, SetUse};

/// A line is not crowded unless its misses are, at a time, in no more than this share of the sets: lines that fall on 64 sets
/// at random use 41 of them in 64 misses.
const MOST_SETS: f64 = 0.5;
/// Nor unless it misses this many times as often as the model says.
const MORE_MISSES: f64 = 1.25;
/// Nor unless these misses are one in so many of its accesses, …
const OF_ITS_ACCESSES: u64 = 50;
/// … and of all accesses.
const OF_ALL_ACCESSES: u64 = 1000;
/// Nor unless so many stretches of misses were seen.
const STRETCHES: u64 = 4;
/// A second cache is spoken of if the stride leads to no more than this share of its sets.
const MOST_OUTER_SETS: u64 = 4;

/// How the accesses of a line to an object use the sets of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Crowding {
    /// The line.
    pub line: String,
    /// The object.
    pub object: String,
    /// The cache, `L1d`.
    pub cache: String,
    /// Whether the sets follow from the lower bits of addresses, which virtual and physical ones have in common. If not, this is what
    /// virtual addresses say.
    pub sure: bool,
    /// The sets that there are.
    pub sets: u64,
    /// Lines of a set.
    pub ways: u64,
    /// The sets that are in use at a time, at most.
    pub used: u64,
    /// Its accesses.
    pub accesses: u64,
    /// Its misses with the real sets: estimated from those that were simulated.
    pub misses: u64,
    /// Its misses if lines fell on sets at random.
    pub at_random: u64,
    /// The middle of the numbers of other lines between two uses of a line, of those uses that a full set of the first
    /// cache can part.
    pub between: u64,
    /// Bytes from the data of a miss to those of the next, if most misses have them in common.
    pub stride: Option<u64>,
    /// Whether that costs misses worth speaking of.
    pub is_crowded: bool,
}

impl Crowding {
    /// The lines for which there is room in the sets that are used.
    pub fn room(&self) -> u64 {
        self.used * self.ways
    }

    /// The misses that the crowding costs.
    pub fn excess(&self) -> u64 {
        self.misses.saturating_sub(self.at_random)
    }
}

impl Machine {
    /// The first cache, if its sets follow from the bits of an address that lie within a page, so that virtual
    /// addresses say what falls where; and if its line has `line` bytes.
    pub fn cache_of_known_sets(&self, line: u64) -> Option<&Cache> {
        let cache = *self.data_caches().first()?;
        let model = cache.model()?;
        let fits = model.sets().is_power_of_two()
            && model.sets() * line <= PAGE
            && (2..=MOST_WAYS).contains(&model.ways());
        (fits && model.sets() > 1 && cache.line.get() == line).then_some(cache)
    }
}

/// Bytes of the smallest page.
const PAGE: u64 = 4096;
/// Ways of a cache that is simulated, at most.
pub const MOST_WAYS: u64 = 16;

/// What is known of a line and an object.
#[derive(Default)]
struct Sum {
    histogram: FineHistogram,
    seen: SetUse,
    misses: f64,
    /// The instructions that were seen to miss.
    sites: BTreeSet<u32>,
}

impl Sum {
    fn add(&mut self, cell: &Cell, model: &SetAssociative) {
        let seen = &cell.set_use;
        self.histogram.merge(&cell.histogram);
        self.misses += match seen.accesses {
            0 => model.misses(&cell.histogram),
            known => seen.misses as f64 * (cell.histogram.accesses() as f64 / known as f64),
        };
        if seen.stretches > 0 {
            self.sites.insert(cell.site);
        }
        self.seen.merge(seen);
    }
}

/// The caches that are asked about, and what is asked.
struct Question<'a> {
    first: (&'a Cache, SetAssociative),
    second: Option<(&'a Cache, SetAssociative)>,
    line: u64,
    /// All accesses.
    accesses: u64,
}

impl Profile {
    /// How lines use the sets of the caches, each with the objects that it misses on: those of which enough misses were
    /// simulated, crowded ones first, and of them those that cost the most. The first cache is always there, the second
    /// only where it is crowded. Empty where no sets were simulated: in profiles of older versions, of pieces, of a
    /// program as a whole, and of items that are no lines of the first cache.
    ///
    /// Cost: linear in the cells, and the questions to a model for those of each line that was seen to miss.
    pub fn crowding(&self) -> Vec<Crowding> {
        let is_seen = |cell: &&Cell| cell.set_use.stretches > 0;
        if !self.cells.iter().any(|cell| is_seen(&cell)) {
            return Vec::new();
        }
        let Some(question) = Question::of(self) else {
            return Vec::new();
        };
        let names = |by| Names::new(self, by);
        let (lines, objects) = (names(Dimension::Line), names(Dimension::Object));
        let key = |cell: &Cell| (lines.of(cell), objects.of(cell));
        let seen = self.cells.iter().filter(is_seen);
        let mut sums: BTreeMap<_, Sum> = seen.map(|cell| (key(cell), Sum::default())).collect();
        for cell in &self.cells {
            if let Some(sum) = sums.get_mut(&key(cell)) {
                sum.add(cell, &question.first.1);
            }
        }
        let mut found = Vec::new();
        for ((line, object), sum) in &sums {
            let named = |one: Crowding| Crowding {
                line: lines.name(*line).to_owned(),
                object: objects.name(*object).to_owned(),
                ..one
            };
            found.push(named(question.inner(sum)));
            found.extend(question.outer(sum).map(named));
        }
        // Stable, and they were in the order of their names.
        found.sort_by_key(|one| std::cmp::Reverse((one.is_crowded, one.excess())));
        found
    }
}

impl<'a> Question<'a> {
    fn of(profile: &'a Profile) -> Option<Self> {
        let line = profile.granularity.bytes();
        let first = profile.machine.cache_of_known_sets(line)?;
        let mut caches = profile.machine.data_caches().into_iter();
        let second = caches.find(|cache| cache.level > first.level && cache.line == first.line);
        let second = second.and_then(|cache| Some((cache, cache.model()?)));
        Some(Question {
            first: (first, first.model()?),
            second: second.filter(|(_, model)| model.sets().is_power_of_two()),
            line,
            accesses: profile.histogram.accesses(),
        })
    }

    /// The first cache, as it was simulated.
    fn inner(&self, sum: &Sum) -> Crowding {
        let (cache, model) = &self.first;
        let sets = model.sets();
        let mean = sum.seen.sets_at_a_time().unwrap_or(sets as f64);
        // Each instruction of a line that was unrolled has sets of its own.
        let used = (mean * sum.sites.len() as f64).round() as u64;
        let inner = Crowding {
            misses: (sum.misses.round() as u64).min(sum.histogram.accesses()),
            sure: true,
            ..self.answer(sum, cache, model, used.clamp(1, sets))
        };
        let is_crowded = sum.seen.stretches >= STRETCHES
            && mean <= sets as f64 * MOST_SETS
            && self.costs(&inner);
        Crowding {
            is_crowded,
            ..inner
        }
    }

    /// What a line's stride says of the second cache, if that is worth speaking of: that it walks over more lines than the sets that
    /// it leads to have room for, and comes back.
    fn outer(&self, sum: &Sum) -> Option<Crowding> {
        let (cache, model) = self.second.as_ref()?;
        let stride = sum.seen.stride().filter(|lines| *lines > 0)?;
        let one = model.sets() >> stride.trailing_zeros().min(model.sets().trailing_zeros());
        let used = one * sum.sites.len() as u64;
        let outer = self.answer(sum, cache, model, used);
        // By a quarter more: other data are between them too, and in other sets.
        let walk = outer.room() / 4 * 5..=2 * middle(&sum.histogram, self.first.1.ways());
        let outer = Crowding {
            misses: parted(&sum.histogram, model, walk),
            is_crowded: true,
            ..outer
        };
        let few = used <= model.sets() / MOST_OUTER_SETS;
        (few && sum.seen.stretches >= STRETCHES && self.costs(&outer)).then_some(outer)
    }

    /// What is the same for each cache.
    fn answer(&self, sum: &Sum, cache: &Cache, model: &SetAssociative, used: u64) -> Crowding {
        Crowding {
            line: String::new(),
            object: String::new(),
            cache: cache.name(),
            sure: false,
            sets: model.sets(),
            ways: model.ways(),
            used,
            accesses: sum.histogram.accesses(),
            misses: 0,
            at_random: model.misses(&sum.histogram).round() as u64,
            between: middle(&sum.histogram, self.first.1.ways()),
            stride: sum.seen.stride().map(|lines| lines * self.line),
            is_crowded: false,
        }
    }

    /// Whether the misses that the sets cost are worth speaking of.
    fn costs(&self, one: &Crowding) -> bool {
        one.misses as f64 >= one.at_random as f64 * MORE_MISSES
            && one.excess() > one.accesses / OF_ITS_ACCESSES
            && one.excess() > self.accesses / OF_ALL_ACCESSES
    }
}

/// The misses to expect if all of these distances miss, and the others as the model says.
fn parted(histogram: &FineHistogram, model: &SetAssociative, miss: RangeInclusive<u64>) -> u64 {
    let mut others = FineHistogram::new();
    others.add(Distance::COLD, histogram.cold());
    let mut parted = 0;
    for (low, _, count) in histogram.iter() {
        match miss.contains(&low) {
            true => parted += count,
            false => others.add(Distance::new(low), count),
        }
    }
    parted + model.misses(&others).round() as u64
}

/// The middle of the distances from `least` on, at the lower end of its bin; 0 if there are none.
fn middle(histogram: &FineHistogram, least: u64) -> u64 {
    let far = || histogram.iter().filter(|(low, ..)| *low >= least);
    let all: u64 = far().map(|(.., count)| count).sum();
    let mut before = 0;
    let middle = far().find(|(.., count)| {
        before += count;
        before * 2 >= all
    });
    middle.map_or(0, |(low, ..)| low)
}
