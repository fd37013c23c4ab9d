//! [`Causes`]: why accesses miss in one cache, beside how often they do.
//!
//! The counts of single cells are in [`CellCauses`], which every [`Cell`](crate::Cell) has, so that
//! they sum up by line, object and context as all counts do. What belongs to no single cell is in
//! the tables of [`Causes`]: the bytes of elements, pairs of accesses that share lines, reuses and
//! what carries them, caches with sets, and the run in intervals.
//!
//! Plain values: the crate `causes` makes them, and the crate `advisor` draws conclusions.

mod carried_reuse;
mod cell_causes;
mod element_types;
mod element_use;
mod field_use;
mod run_phases;
mod sampled_use;
mod set_cache;
mod shared_data;

pub use carried_reuse::{CarriedReuse, Carrier, CodeScope, MissScope, ScopeKind};
pub use cell_causes::CellCauses;
pub use element_types::{ElementTypes, TypeOrigin};
pub use element_use::{DataLayout, ElementUse, LayoutField, NO_OFFSET};
pub use field_use::FieldUse;
pub use run_phases::{ObjectMisses, RunInterval, RunPhase, RunPhases};
pub use sampled_use::SampledUse;
pub use set_cache::SetCache;
pub use shared_data::{SharedData, SharedEnd, UnlistedPairs};

use reuselens_units::Bytes;
use serde::{Deserialize, Serialize};

/// Why accesses miss in one cache. All counts are of the accesses that the profile counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Causes {
    /// The cache: fully associative, least recently used replacement, for all threads together. A
    /// miss in this value and in [`CellCauses`] is one in this cache, first touches included.
    pub cache: Bytes,
    /// What each object's accesses are to within an element, for objects with elements of a known
    /// size: by object.
    #[serde(default)]
    pub elements: Vec<ElementUse>,
    /// The share of the items that was counted, above 0 and up to 1, if the accesses to a sample of
    /// the items were. The counts of [`CellCauses`] and [`Self::elements`] are then scaled to all
    /// items, and the other tables are empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample_rate: Option<f64>,
    /// Of a sample, the utilisation of lines with its bound: first of all fills together, then by
    /// object.
    #[serde(default)]
    pub sampled_use: Vec<SampledUse>,
    /// Types of objects: [`ElementUse::layout`] is an index.
    #[serde(default)]
    pub layouts: Vec<DataLayout>,
    /// Pairs of accesses by different threads that invalidate each other's lines, the most
    /// invalidations first.
    #[serde(default)]
    pub shared: Vec<SharedData>,
    /// Invalidations that [`Self::shared`] has for no pair of their own, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlisted_pairs: Option<UnlistedPairs>,
    /// Reuses that miss, with what carries them, the most misses first. Empty where no scopes were
    /// recorded.
    #[serde(default)]
    pub carried: Vec<CarriedReuse>,
    /// Loops and functions that carry reuses: [`Carrier`] has indices.
    #[serde(default)]
    pub scopes: Vec<MissScope>,
    /// Whether loops are among the scopes: the capture had basic blocks.
    #[serde(default)]
    pub has_loops: bool,
    /// The machine's caches with their sets: [`CellCauses::set_misses`] has a count for each.
    #[serde(default)]
    pub set_caches: Vec<SetCache>,
    /// The run over time.
    #[serde(default)]
    pub phases: RunPhases,
}

impl Causes {
    /// Gives sites and objects other numbers, as their tables are sorted.
    pub(crate) fn renumber(&mut self, site: impl Fn(u32) -> u32, object: impl Fn(u32) -> u32) {
        for elements in &mut self.elements {
            elements.object = object(elements.object);
        }
        self.elements.sort_by_key(ElementUse::key);
        unite(&mut self.elements, ElementUse::key, ElementUse::merge);
        for sampled in &mut self.sampled_use {
            sampled.object = sampled.object.map(&object);
        }
        self.sampled_use.sort_by_key(|it| it.object);
        unite(&mut self.sampled_use, |it| it.object, SampledUse::merge);
        for pair in &mut self.shared {
            for end in [&mut pair.writer, &mut pair.victim] {
                (end.site, end.object) = (site(end.site), object(end.object));
            }
        }
        SharedData::unite(&mut self.shared);
        for reuse in &mut self.carried {
            (reuse.source, reuse.sink) = (site(reuse.source), site(reuse.sink));
            reuse.object = object(reuse.object);
        }
        self.carried.sort_by_key(CarriedReuse::key);
        unite(&mut self.carried, CarriedReuse::key, CarriedReuse::merge);
        self.carried.sort_by(CarriedReuse::order);
        self.phases.renumber(object);
    }
}

impl Causes {
    /// Checks that every index is in its table, of a profile with so many sites and objects, and
    /// that columns are equally long.
    ///
    /// # Errors
    /// What is wrong, as a clause.
    pub(crate) fn check(&self, sites: usize, objects: usize) -> Result<(), String> {
        let (scopes, layouts) = (self.scopes.len(), self.layouts.len());
        let phases = self.phases.phases.len();
        let of_elements = self.elements.iter().flat_map(|it| {
            let layout = it.layout.map(|layout| ("layout", layout, layouts));
            [("object", it.object, objects)].into_iter().chain(layout)
        });
        let sampled = self.sampled_use.iter();
        let of_pairs = self.shared.iter().flat_map(|pair| {
            [pair.writer, pair.victim]
                .into_iter()
                .flat_map(|end| [("site", end.site, sites), ("object", end.object, objects)])
        });
        let of_reuses = self.carried.iter().flat_map(|reuse| {
            let scope = match reuse.carrier {
                Carrier::Threads | Carrier::Others => None,
                Carrier::Scope(scope) | Carrier::Iteration(scope) => Some(scope),
            };
            let places = [
                ("site", reuse.source, sites),
                ("site", reuse.sink, sites),
                ("object", reuse.object, objects),
            ];
            places
                .into_iter()
                .chain(scope.map(|scope| ("scope", scope, scopes)))
        });
        let of_intervals = self
            .phases
            .intervals
            .iter()
            .map(|it| ("phase", it.phase, phases));
        let of_phases = self
            .phases
            .phases
            .iter()
            .flat_map(|phase| (phase.objects.iter()).map(|it| ("object", it.object, objects)));
        let mut all = (of_elements.chain(of_pairs).chain(of_reuses))
            .chain(of_intervals)
            .chain(of_phases)
            .chain(sampled.filter_map(|it| Some(("object", it.object?, objects))));
        if let Some((table, index, len)) = all.find(|(_, index, len)| *index as usize >= *len) {
            return Err(format!(
                "its causes name {table} {index}, and there are {len}"
            ));
        }
        self.check_values()
    }

    /// Checks that the columns of elements are equally long, and that shares are shares.
    fn check_values(&self) -> Result<(), String> {
        let uneven = |it: &&ElementUse| {
            let columns = [&it.misses, &it.brought, &it.used];
            columns
                .iter()
                .any(|column| column.len() != it.accesses.len())
        };
        if let Some(it) = self.elements.iter().find(uneven) {
            return Err(format!(
                "the bytes of object {} have columns of several lengths",
                it.object
            ));
        }
        let is_share = |rate: f64| rate > 0.0 && rate <= 1.0;
        let is_sound = self.sample_rate.is_none_or(is_share)
            && self.sampled_use.iter().all(SampledUse::is_sound);
        if is_sound {
            Ok(())
        } else {
            Err("its sample has shares below 0 or above 1".to_owned())
        }
    }
}

/// Merges neighbours with equal keys.
fn unite<T, K: PartialEq>(list: &mut Vec<T>, key: impl Fn(&T) -> K, merge: impl Fn(&mut T, &T)) {
    list.dedup_by(|next, kept| {
        let same = key(next) == key(kept);
        if same {
            merge(kept, next);
        }
        same
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(sink: u32, misses: u64) -> CarriedReuse {
        CarriedReuse {
            sink,
            object: 7,
            misses,
            distance_sum: misses,
            ..CarriedReuse::default()
        }
    }

    #[test]
    fn renumbering_unites_entries_that_become_equal() {
        let element = |object, accesses: &[u64]| ElementUse {
            object,
            accesses: accesses.to_vec(),
            ..ElementUse::default()
        };
        let phase = |objects: &[(u32, u64)]| RunPhase {
            objects: (objects.iter())
                .map(|&(object, misses)| ObjectMisses { object, misses })
                .collect(),
            ..RunPhase::default()
        };
        let sampled = |object, items| SampledUse {
            object,
            items,
            ..SampledUse::default()
        };
        let mut causes = Causes {
            carried: vec![carried(1, 5), carried(2, 4), carried(3, 2)],
            elements: vec![element(4, &[1, 2]), element(3, &[1, 1]), element(3, &[1])],
            phases: RunPhases {
                phases: vec![phase(&[(3, 5), (4, 2)])],
                ..RunPhases::default()
            },
            sampled_use: vec![sampled(None, 9), sampled(Some(3), 4), sampled(Some(4), 5)],
            ..Causes::default()
        };
        // Sites 2 and 3 are one, and so are the objects.
        causes.renumber(|site| site.min(2), |_| 7);
        assert_eq!(causes.carried, [carried(2, 6), carried(1, 5)]);
        assert_eq!(causes.elements, [element(7, &[1]), element(7, &[2, 3])]);
        assert_eq!(causes.phases.phases, [phase(&[(7, 7)])]);
        assert_eq!(causes.sampled_use, [sampled(None, 9), sampled(Some(7), 9)]);
    }

    #[test]
    fn an_index_that_is_in_no_table_is_found() {
        let good = Causes {
            carried: vec![CarriedReuse {
                carrier: Carrier::Iteration(0),
                ..carried(1, 5)
            }],
            scopes: vec![MissScope::default()],
            elements: vec![ElementUse::default()],
            ..Causes::default()
        };
        assert_eq!(good.check(2, 8), Ok(()));
        assert!(good.check(1, 8).unwrap_err().contains("site 1"));
        assert!(good.check(2, 7).unwrap_err().contains("object 7"));
        let wrong = |change: fn(&mut Causes)| {
            let mut causes = good.clone();
            change(&mut causes);
            causes.check(2, 8).unwrap_err()
        };
        assert!(wrong(|it| it.scopes.clear()).contains("scope 0"));
        assert!(wrong(|it| it.elements[0].layout = Some(3)).contains("layout 3"));
        assert!(wrong(|it| it.elements[0].used.push(1)).contains("several lengths"));
        assert!(
            wrong(|it| it.shared.push(SharedData {
                victim: SharedEnd {
                    object: 8,
                    ..SharedEnd::default()
                },
                ..SharedData::default()
            }))
            .contains("object 8")
        );
        assert!(wrong(|it| it.phases.intervals.push(RunInterval::default())).contains("phase 0"));
        let sampled = |object| SampledUse {
            object: Some(object),
            ..SampledUse::default()
        };
        let mut wrong_object = good.clone();
        wrong_object.sampled_use = vec![sampled(8)];
        assert!(wrong_object.check(2, 8).unwrap_err().contains("object 8"));
        wrong_object.sampled_use = vec![sampled(7)];
        assert_eq!(wrong_object.check(2, 8), Ok(()));
        assert!(wrong(|it| it.sample_rate = Some(0.0)).contains("shares below 0"));
        assert!(
            wrong(|it| it.sampled_use.push(SampledUse {
                half_width: 2.0,
                ..SampledUse::default()
            }))
            .contains("above 1")
        );
    }
}
