//! [`Scene`]: a profile and the choices that all sections of its page share.

use std::collections::BTreeMap;

use reuselens_locality::{FineHistogram, Log2Histogram, MissRatioCurve};
use reuselens_profile::{CrossGroup, Grouping, Profile};
use reuselens_units::Granularity;

use super::HtmlOptions;
use super::plot::Axis;
use crate::caches::{self, Level};

/// A profile, and what the parts of its page show of it.
pub(crate) struct Scene<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) grouping: &'a Grouping<'a>,
    /// The accesses by line and object.
    pub(crate) cross: &'a [CrossGroup],
    pub(crate) sources: &'a BTreeMap<String, String>,
    pub(crate) levels: Vec<Level>,
    /// The cache that tables and colours start with.
    pub(crate) chosen: Level,
    pub(crate) reason: &'static str,
    pub(crate) axis: Axis,
    pub(crate) accesses: u64,
    /// The accesses that miss in a cache of any size.
    pub(crate) cold: u64,
    pub(crate) log2: Log2Histogram,
    pub(crate) fine: FineHistogram,
    curve: MissRatioCurve,
    /// Groups that a table has at most.
    pub(crate) top: usize,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(grouping: &'a Grouping<'a>, options: &'a HtmlOptions) -> Self {
        let profile = grouping.profile();
        let levels = caches::levels(profile);
        let chosen = caches::chosen(profile, options.cache);
        let mut fine = FineHistogram::new();
        fine.add_exact(&profile.histogram);
        Scene {
            profile,
            cross: grouping.lines_and_objects(),
            grouping,
            sources: &options.sources,
            reason: caches::reason(profile, options.cache, &chosen),
            axis: Axis::new(profile.histogram.max(), &levels, profile.granularity),
            levels,
            chosen,
            accesses: profile.histogram.accesses(),
            cold: profile.histogram.cold(),
            log2: profile.histogram.log2(),
            fine,
            curve: MissRatioCurve::new(&profile.histogram),
            top: options.top.max(1),
        }
    }

    /// Exact misses of all accesses in a cache of `items` items.
    pub(crate) fn misses(&self, items: u64) -> u64 {
        self.curve.misses(items)
    }

    /// The suffix of `first touch`, if invalidated accesses have no distance either.
    pub(crate) fn or_invalidated(&self) -> &'static str {
        match self.profile.invalidations() {
            Some(_) => " or invalidated",
            None => "",
        }
    }

    /// Whether an item is a piece of memory, and not only an id.
    pub(crate) fn in_bytes(&self) -> bool {
        self.profile.granularity != Granularity::BYTE
    }

    /// What an item is called: `64-byte lines`.
    pub(crate) fn items(&self) -> String {
        if self.profile.requested_bytes.is_some() {
            return "objects".to_owned();
        }
        crate::words::items(self.profile.granularity)
    }
}
