//! [`predict_profile`]: a profile of an input that has not been run, by growing the largest run.
//!
//! The objects of the runs are matched by kind, name and call path. How the size of each grew, and
//! its accesses, its first accesses and its distances, says how they go on. All else is as in the
//! largest run: which instructions and threads access an object, and how its accesses are
//! distributed over its chunks.

use std::collections::BTreeMap;

use reuselens_locality::{ExactHistogram, FineHistogram};
use reuselens_profile::{
    Cell, FileOffset, Frame, Lifetime, Object, ObjectKind, ObjectPart, Profile,
};
use reuselens_units::Distance;

use crate::estimate::{Estimate, Intervals, estimate, work};
use crate::object_growth::{GrownCounts, ObjectGrowth, ObjectRun, add_middles};
use crate::pieces::split;
use crate::prediction::{MOST_ITEMS, PredictOptions};
use crate::program::{ProgramError, same_program};
use crate::rounding::Rounding;
use crate::shape::Point;
use crate::size_scale::SizeScale;

/// A predicted profile, and how it came about.
#[derive(Clone, Debug)]
pub struct PredictedProfile {
    /// The profile. Its command, machine and tables are those of the largest run; contexts have no
    /// footprints and entries, and objects that cannot be predicted have size 0, which means
    /// unknown.
    pub profile: Profile,
    /// The data size that was asked for.
    pub size: f64,
    /// Whether sizes are as the caller gave them, and not in items.
    pub given: bool,
    /// Training runs by size: index as given, data size.
    pub training: Vec<(usize, f64)>,
    /// Accesses of the largest run.
    pub trained_accesses: u64,
    /// What intervals are.
    pub intervals: Intervals,
    /// By object of the profile, what is predicted of it. The chunks of an object share this.
    /// `None` if nothing is.
    pub estimates: Vec<Option<ObjectEstimate>>,
    /// Objects that the second largest run lacks, so that nothing is known of their growth; by
    /// falling accesses.
    pub unpredicted: Vec<UnpredictedObject>,
}

/// An object that cannot be predicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnpredictedObject {
    /// Its name.
    pub name: String,
    /// Its accesses in the largest run.
    pub accesses: u64,
}

/// The numbers of an object that are predicted with an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ObjectEstimate {
    /// Bytes, as in [`Object::bytes`].
    pub bytes: Estimate,
    /// Accesses.
    pub accesses: Estimate,
}

/// What makes an object of one run that of another. Symbols of one name are distinguished by their
/// places.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ObjectIdentity<'a> {
    kind: ObjectKind,
    name: &'a str,
    path: &'a [Frame],
    place: Option<&'a FileOffset>,
}

impl<'a> ObjectIdentity<'a> {
    fn of(object: &'a Object) -> Self {
        let is_static = object.kind == ObjectKind::Static;
        let place = object.origins.first().and_then(|origin| origin.first());
        ObjectIdentity {
            kind: object.kind,
            name: &object.name,
            path: &object.path,
            place: place.filter(|_| is_static),
        }
    }
}

/// The objects of a run. Chunks of one object are one.
type ObjectRuns<'a> = BTreeMap<ObjectIdentity<'a>, ObjectRun>;

fn object_runs(profile: &Profile) -> ObjectRuns<'_> {
    let mut runs = ObjectRuns::new();
    for object in &profile.objects {
        let run = runs.entry(ObjectIdentity::of(object)).or_default();
        run.bytes = run.bytes.saturating_add(object.bytes);
        run.blocks = run.blocks.max(object.blocks);
        // A block without chunks is all of its object, if that has one block.
        let longest = object.part.map_or(object.bytes, |part| part.longest);
        run.longest = run.longest.max(longest);
    }
    for cell in &profile.cells {
        let object = &profile.objects[cell.object as usize];
        if let Some(run) = runs.get_mut(&ObjectIdentity::of(object)) {
            run.add(&cell.histogram);
        }
    }
    runs
}

/// A run by the part of its size that grows.
struct SizedRun<'a> {
    grown: f64,
    objects: ObjectRuns<'a>,
}

/// Predicts the profile of a run of data size `size` from two or more runs.
///
/// An object can be predicted if the two largest runs have it: from all runs, from the largest on,
/// that have it. Cost: linear in the cells of all runs, and a thousand fits for each object.
///
/// # Errors
/// If the runs do not belong together, are of equal size, or have no reuses.
pub fn predict_profile(
    runs: &[&Profile],
    size: f64,
    options: &PredictOptions,
) -> Result<PredictedProfile, ProgramError> {
    same_program(runs, options.loose)?;
    let scale = SizeScale::new(runs, size, options)?;
    let (last, _) = scale.training[scale.training.len() - 1];
    let sized: Vec<SizedRun> = scale
        .training
        .iter()
        .map(|&(run, size)| SizedRun {
            grown: scale.grown(size),
            objects: object_runs(runs[run]),
        })
        .collect();
    let growth = growth(&sized, scale.grown(size), options);
    let grown = growth_of_rows(runs[last], &growth);
    let estimates = grown.iter().map(|growth| Some(growth.as_ref()?.estimate));
    let mut estimates: Vec<Option<ObjectEstimate>> = estimates.collect();
    let mut profile = grown_profile(runs[last], &grown);
    let added = split(&mut profile);
    estimates.extend(
        added
            .into_iter()
            .map(|row| estimates[row])
            .collect::<Vec<_>>(),
    );
    Ok(PredictedProfile {
        size,
        given: !options.sizes.is_empty(),
        trained_accesses: runs[last].histogram.accesses(),
        intervals: Intervals::of(scale.training.len()),
        training: scale.training,
        estimates,
        unpredicted: unpredicted(&growth),
        profile,
    })
}

/// The growth of each row of the profile's objects.
fn growth_of_rows<'a, 'b>(
    last: &'a Profile,
    growth: &'b GrowthOfObjects<'a>,
) -> Vec<Option<&'b ObjectGrowth>> {
    let of = |object| growth.get(&ObjectIdentity::of(object))?.1.as_ref();
    last.objects.iter().map(of).collect()
}

fn unpredicted(growth: &GrowthOfObjects<'_>) -> Vec<UnpredictedObject> {
    let failed = growth.iter().filter(|(_, (_, growth))| growth.is_none());
    let mut failed: Vec<UnpredictedObject> = failed
        .map(|(identity, (accesses, _))| UnpredictedObject {
            name: identity.name.to_owned(),
            accesses: *accesses,
        })
        .collect();
    failed.sort_by(|a, b| (b.accesses, &a.name).cmp(&(a.accesses, &b.name)));
    failed
}

/// By object of the largest run: its accesses there, and how it grows.
type GrowthOfObjects<'a> = BTreeMap<ObjectIdentity<'a>, (u64, Option<ObjectGrowth>)>;

fn growth<'a>(runs: &[SizedRun<'a>], size: f64, options: &PredictOptions) -> GrowthOfObjects<'a> {
    let Some(largest) = runs.last() else {
        return GrowthOfObjects::new();
    };
    let of = |(identity, last): (&ObjectIdentity<'a>, &ObjectRun)| {
        let with = runs.iter().rev();
        let with = with.map_while(|run| Some((run.grown, run.objects.get(identity)?)));
        let mut found: Vec<(f64, &ObjectRun)> = with.collect();
        found.reverse();
        let growth = (found.len() > 1).then(|| object_growth(&found, size, options));
        (identity.clone(), (last.accesses(), growth))
    };
    largest.objects.iter().map(of).collect()
}

/// How an object grows from the runs that have it, ascending, to `size`.
fn object_growth(found: &[(f64, &ObjectRun)], size: f64, options: &PredictOptions) -> ObjectGrowth {
    let points = |count: fn(&ObjectRun) -> u64| -> Vec<Point> {
        let runs = found.iter();
        runs.map(|(size, run)| (*size, count(run) as f64)).collect()
    };
    let grown = |count: fn(&ObjectRun) -> u64| estimate(&points(count), &options.shapes, size).1;
    let accesses = work(&points(ObjectRun::accesses), size);
    let predicted = ObjectEstimate {
        bytes: grown(|run| run.bytes),
        accesses,
    };
    let counts = GrownCounts {
        longest: grown(|run| run.longest).value,
        blocks: grown(|run| run.blocks).value,
        cold: grown(ObjectRun::cold).value.min(accesses.value),
    };
    ObjectGrowth::new(found, (size, &options.shapes), predicted, counts)
}

/// The largest run as it has grown.
fn grown_profile(last: &Profile, grown: &[Option<&ObjectGrowth>]) -> Profile {
    let mut profile = last.clone();
    let mut rounding = Rounding::default();
    let mut histogram = ExactHistogram::new();
    for cell in &mut profile.cells {
        if let Some(growth) = grown[cell.object as usize] {
            grow_cell(cell, growth, &mut rounding);
        }
        add_middles(&mut histogram, &cell.histogram);
    }
    profile.cells.retain(|cell| !cell.histogram.is_empty());
    let before = last.histogram.accesses().max(1) as f64;
    let longer = histogram.accesses() as f64 / before;
    let references = |count: u64| (count as f64 * longer).round() as u64;
    for (object, growth) in profile.objects.iter_mut().zip(grown) {
        grow_object(object, *growth);
        object.lifetime = object.lifetime.map(|lifetime| Lifetime {
            begin: references(lifetime.begin),
            end: references(lifetime.end),
        });
    }
    for context in &mut profile.contexts {
        (context.entries, context.footprint) = (None, None);
    }
    profile.references = references(last.references);
    profile.histogram = histogram;
    (profile.requested_bytes, profile.reuse_times, profile.paths) = (None, None, None);
    profile
}

fn grow_cell(cell: &mut Cell, growth: &ObjectGrowth, rounding: &mut Rounding) {
    let mut grown = FineHistogram::new();
    let cold = cell.histogram.cold() as f64 * growth.cold_times;
    grown.add(Distance::COLD, rounding.whole(cold));
    let (mut sum, mut max) = (0, 0);
    for (low, high, count) in cell.histogram.iter() {
        let count = count as f64 * growth.reuse_times;
        growth.distances((low, high), |distance, share| {
            let items = distance.round().clamp(0.0, MOST_ITEMS) as u64;
            let count = rounding.whole(count * share);
            if count > 0 {
                grown.add(Distance::new(items), count);
                sum += u128::from(items) * u128::from(count);
                max = items.max(max);
            }
        });
    }
    cell.histogram = grown;
    (cell.distance_sum, cell.distance_max) = (sum, max);
    (cell.invalidated, cell.forward) = (0, FineHistogram::new());
}

fn grow_object(object: &mut Object, growth: Option<&ObjectGrowth>) {
    object.elements.clear();
    let Some(growth) = growth else {
        // Its size is unknown.
        object.bytes = 0;
        return;
    };
    object.bytes = (object.bytes as f64 * growth.bytes_times).round() as u64;
    object.blocks = (object.blocks as f64 * growth.blocks_times).round() as u64;
    object.part = object
        .part
        .map(|part| grown_part(part, growth.longest_times));
    if let (Some(part), 0..=1) = (object.part, object.blocks) {
        object.bytes = part.end - part.start;
    }
}

/// The chunk at the same place of a longer block. Borders of chunks are those of pages.
fn grown_part(part: ObjectPart, times: f64) -> ObjectPart {
    const PAGE: u64 = 4096;
    let longest = (part.longest as f64 * times).round() as u64;
    let border = |offset: u64| match offset {
        end if end >= part.longest => longest,
        offset => {
            let pages = (offset as f64 * times / PAGE as f64).round() as u64;
            (pages * PAGE).min(longest)
        }
    };
    ObjectPart {
        start: border(part.start),
        end: border(part.end),
        chunk: border(part.chunk).max(1),
        longest,
    }
}
