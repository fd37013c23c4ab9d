//! [`json`]: a profile as JSON, schema `reuselens/1`.

mod compact;

use std::collections::HashMap;

use reuselens_locality::{
    BoundedCurve, CurvePoint, ExactHistogram, FineHistogram, Histogram, Log2Histogram,
    MissRatioCurve, PathShares,
};
use reuselens_profile::{
    CacheSize, ContextVisits, Dimension, Element, EngineStep, Group, Machine, Outcome, PathProfile,
    Profile, Sharing, Warning,
};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use crate::advice::{AdviceJson, AdviceReport};
use crate::causes::{self, CausesJson, FieldsJson, LinesJson};
use crate::{ShownProfile, caches, times};
use compact::Compact;

/// The name and version of the schema. Fields may be added to it; none is renamed.
pub const SCHEMA: &str = "reuselens/1";

/// How wide the bins of exported histograms are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bins {
    /// The field's: 0, 1, 2–3, 4–7, …
    #[default]
    Log2,
    /// One for each distance that occurs. Groups have fine bins of at most 1/16 of an octave, which
    /// are all that a profile keeps of them.
    Exact,
}

/// What the JSON contains.
#[derive(Clone, Debug)]
pub struct JsonOptions {
    /// How wide the bins are.
    pub bins: Bins,
    /// The dimensions to group by, in this order.
    pub by: Vec<Dimension>,
    /// A cache size to add to those of the machine.
    pub cache: Option<CacheSize>,
}

impl Default for JsonOptions {
    fn default() -> Self {
        JsonOptions {
            bins: Bins::Log2,
            by: vec![Dimension::Line, Dimension::Object],
            cache: None,
        }
    }
}

#[derive(Serialize)]
struct ProfileDocument<'a> {
    schema: &'static str,
    version: &'a str,
    command: &'a [String],
    /// Only where the trace was cut off or damaged, and then `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_complete: Option<bool>,
    engine: &'a str,
    exact: bool,
    error_bound: Option<f64>,
    /// Only where times were asked for.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    engine_steps: &'a [EngineStep],
    granularity_bytes: u64,
    accesses: u64,
    /// Null where distances beyond a limit count as cold.
    distinct: Option<u64>,
    /// Without those that were invalidated.
    cold: u64,
    histogram: Counts,
    miss_ratio_curve: Vec<Point>,
    groups: Vec<GroupJson>,
    warnings: &'a [Warning],
    references: u64,
    mean: f64,
    max: u64,
    caches: Vec<CacheJson>,
    machine: &'a Machine,
    source: &'a str,
    order: &'a str,
    /// In items; only where the order between threads is partly a guess.
    #[serde(skip_serializing_if = "Option::is_none")]
    order_guessed_below: Option<u64>,
    kinds: &'a str,
    data: &'a str,
    outcome: &'a Outcome,
    /// Only where each thread has a cache of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    sharing: Option<Sharing>,
    /// Only of coherent caches, here and below.
    #[serde(skip_serializing_if = "Option::is_none")]
    invalidated: Option<u64>,
    /// Accesses of loops that wait for other threads, which no other number has; only where there
    /// are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<u64>,
    /// Bytes requested by distance, only where objects were weighed by their sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested_bytes: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_bounds: Option<BoundsJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_distance: Option<u64>,
    /// In accesses, not items.
    #[serde(skip_serializing_if = "Option::is_none")]
    reuse_times: Option<Counts>,
    /// `[accesses in a row, mean distinct items]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    footprint: Option<Vec<(u64, f64)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths: Option<PathsJson<'a>>,
    /// What to change; only where causes were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<AdviceJson>,
    /// Bytes used of the lines that misses bring in; only where causes were recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    line_use: Option<LinesJson>,
    /// Accesses, misses and used bytes by field of objects; only where causes were recorded.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<FieldsJson<'a>>,
    /// Why accesses miss; only where that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    causes: Option<CausesJson>,
}

/// How well paths separate patterns, if they were followed: shares of instructions by length of
/// path.
#[derive(Serialize)]
struct PathsJson<'a> {
    keep: u32,
    length: u32,
    rule: String,
    long: u64,
    shares: &'a [PathShares],
}

impl<'a> From<&'a PathProfile> for PathsJson<'a> {
    fn from(paths: &'a PathProfile) -> Self {
        PathsJson {
            keep: paths.keep,
            length: paths.length,
            rule: paths.rule.to_string(),
            long: paths.long,
            shares: &paths.shares,
        }
    }
}

/// How far the miss ratios may be off: `[items, half-width]` for each size.
#[derive(Serialize)]
struct BoundsJson {
    confidence: f64,
    rate: f64,
    points: Vec<(u64, f64)>,
}

impl From<&BoundedCurve> for BoundsJson {
    fn from(curve: &BoundedCurve) -> Self {
        let points = curve.points.iter();
        BoundsJson {
            confidence: curve.confidence,
            rate: curve.rate,
            points: points
                .map(|point| (point.items, point.half_width))
                .collect(),
        }
    }
}

/// A histogram: its bins as `[low, high, count]`.
#[derive(Serialize)]
struct Counts {
    bins: &'static str,
    counts: Vec<(u64, u64, u64)>,
    cold: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    invalidated: Option<u64>,
}

impl Counts {
    /// The counts, with how many of the cold accesses were invalidated.
    fn with_invalidated(mut self, invalidated: Option<u64>) -> Self {
        self.invalidated = invalidated;
        self.cold = self.cold.saturating_sub(invalidated.unwrap_or(0));
        self
    }
}

/// `[items, bytes, miss ratio]`.
struct Point {
    items: u64,
    bytes: u64,
    ratio: f64,
}

impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut point = serializer.serialize_seq(Some(3))?;
        point.serialize_element(&self.items)?;
        point.serialize_element(&self.bytes)?;
        point.serialize_element(&self.ratio)?;
        point.end()
    }
}

#[derive(Serialize)]
struct GroupJson {
    by: Dimension,
    name: String,
    accesses: u64,
    cold: u64,
    histogram: Counts,
    mean: f64,
    max: u64,
    /// Misses in each of `caches`, in their order.
    misses: Vec<u64>,
    /// Distances to the next accesses to the same items.
    #[serde(skip_serializing_if = "Option::is_none")]
    forward: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    invalidated: Option<u64>,
    /// Of an object whose accesses are broken down by element.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    elements: Vec<ElementJson>,
    /// Of an object with chunks, those that were accessed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chunks: Vec<ChunkJson>,
    /// Of a calling context whose name no other has: how often it was entered, and the distinct
    /// items accessed in it and below it, and in itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    footprint: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exclusive_footprint: Option<u64>,
}

/// `[first byte, first byte after, accesses, bytes, first reference, last reference]`.
#[derive(Serialize)]
struct ChunkJson(u64, u64, u64, u64, u64, u64);

/// `[index, accesses, cold, mean]`; the last two are null where only accesses were counted, the
/// mean also where all are cold.
#[derive(Serialize)]
struct ElementJson(u64, u64, Option<u64>, Option<f64>);

impl From<&Element> for ElementJson {
    fn from(element: &Element) -> Self {
        let known = !element.histogram.is_empty();
        let cold = known.then(|| element.histogram.cold());
        ElementJson(element.index, element.accesses, cold, element.mean())
    }
}

/// A cache, and what misses in it.
#[derive(Serialize)]
struct CacheJson {
    /// Of a cache that was asked for with its ways.
    #[serde(skip_serializing_if = "Option::is_none")]
    ways: Option<u64>,
    name: String,
    bytes: u64,
    items: u64,
    misses: u64,
    miss_ratio: f64,
    set_associative_miss_ratio: Option<f64>,
    /// How far the miss ratio may be off, of an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    half_width: Option<f64>,
}

/// The profile as JSON: the fields of the schema in its order, then what was added to it. Ends with
/// a line break.
///
/// All miss ratios are those of fully associative LRU caches unless they are called otherwise, and
/// exact if `exact` is. `distinct` is the number of cold accesses. The miss-ratio curve has eight
/// points to an octave up to where it is flat. No number is ever NaN. Cost: linear in the profile.
pub fn json(profile: &Profile, options: &JsonOptions) -> String {
    json_of(&ShownProfile::new(profile), options)
}

/// As [`json`], of a profile that is shown in other ways too.
pub fn json_of(shown: &ShownProfile<'_>, options: &JsonOptions) -> String {
    to_text(&document(shown, options))
}

/// A document as JSON, one line for each field and group. Ends with a line break.
pub(crate) fn to_text(document: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let formatter = Compact::default();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // Writing into memory cannot fail, and all keys are strings.
    if document.serialize(&mut serializer).is_err() {
        bytes.clear();
    }
    bytes.push(b'\n');
    String::from_utf8(bytes).unwrap_or_default()
}

/// The machine's caches, and the one that was asked for.
fn levels(profile: &Profile, asked: Option<CacheSize>) -> Vec<caches::Level> {
    let mut levels = caches::levels(profile);
    if asked.is_some() {
        let asked = caches::chosen(profile, asked);
        if !levels.contains(&asked) {
            levels.push(asked);
        }
    }
    levels
}

fn document<'a>(shown: &ShownProfile<'a>, options: &JsonOptions) -> ProfileDocument<'a> {
    let profile = shown.profile();
    let histogram = &profile.histogram;
    let method = &profile.method;
    let levels = levels(profile, options.cache);
    let curve = MissRatioCurve::new(histogram);
    let groups = options.by.iter().flat_map(|by| profile.groups(*by));
    let mut groups: Vec<GroupJson> = groups
        .map(|group| group_json(profile, group, options.bins, &levels))
        .collect();
    add_elements(profile, &mut groups);
    add_placement(profile, &mut groups);
    ProfileDocument {
        schema: SCHEMA,
        version: &profile.version,
        command: &profile.command,
        input_complete: profile.is_truncated().then_some(false),
        engine: &method.engine,
        exact: method.exact,
        error_bound: method.error_bound.filter(|bound| bound.is_finite()),
        engine_steps: &method.engine_steps,
        granularity_bytes: profile.granularity.bytes(),
        accesses: histogram.accesses(),
        distinct: (method.max_distance.is_none()).then(|| profile.first_touches()),
        cold: profile.first_touches(),
        histogram: exact(histogram, options.bins).with_invalidated(profile.invalidations()),
        miss_ratio_curve: points(profile, &curve),
        groups,
        warnings: &profile.warnings,
        references: profile.references,
        mean: histogram.mean().unwrap_or(0.0),
        max: histogram.max().unwrap_or(0),
        caches: levels
            .iter()
            .map(|level| cache_json(profile, level, &curve))
            .collect(),
        machine: &profile.machine,
        source: &method.source,
        order: &method.order,
        order_guessed_below: method.order_guessed_below,
        kinds: &method.kinds,
        data: &method.data,
        outcome: &profile.outcome,
        invalidated: profile.invalidations(),
        waiting: Some(profile.waiting).filter(|waiting| *waiting > 0),
        requested_bytes: requested_bytes(profile, options.bins),
        sharing: Some(method.sharing).filter(|sharing| *sharing != Sharing::Shared),
        max_distance: method.max_distance,
        reuse_times: reuse_times(profile, options.bins),
        footprint: times::footprint(profile),
        paths: profile.paths.as_ref().map(PathsJson::from),
        advice: (profile.causes.as_ref()).map(|_| AdviceJson::from(&AdviceReport::of(shown))),
        line_use: causes::lines_json(profile),
        fields: causes::fields_json(profile),
        causes: causes::causes_json(profile),
        error_bounds: method.error_bounds.as_ref().map(BoundsJson::from),
    }
}

fn reuse_times(profile: &Profile, bins: Bins) -> Option<Counts> {
    let times = profile.reuse_times.as_ref();
    times.map(|times| fine(&times.histogram(), bins))
}

fn requested_bytes(profile: &Profile, bins: Bins) -> Option<Counts> {
    let bytes = profile.requested_bytes.as_ref();
    bytes.map(|bytes| exact(bytes, bins))
}

fn points(profile: &Profile, curve: &MissRatioCurve) -> Vec<Point> {
    let point = |point: &CurvePoint| Point {
        items: point.items,
        bytes: reuselens_units::Items(point.items)
            .bytes(profile.granularity)
            .get(),
        ratio: point.miss_ratio,
    };
    let reach = profile.method.max_distance.unwrap_or(u64::MAX);
    let points = curve.default_points();
    let measured = points.iter().filter(|point| point.items <= reach);
    measured.map(point).collect()
}

fn exact(histogram: &ExactHistogram, bins: Bins) -> Counts {
    match bins {
        Bins::Log2 => log2(&histogram.log2()),
        Bins::Exact => Counts {
            bins: "exact",
            counts: Histogram::bins(histogram).collect(),
            cold: histogram.cold(),
            invalidated: None,
        },
    }
}

fn log2(histogram: &Log2Histogram) -> Counts {
    Counts {
        bins: "log2",
        counts: histogram.iter().collect(),
        cold: histogram.cold(),
        invalidated: None,
    }
}

fn fine(histogram: &FineHistogram, bins: Bins) -> Counts {
    match bins {
        Bins::Log2 => log2(&histogram.log2()),
        Bins::Exact => Counts {
            bins: "fine",
            counts: histogram.iter().collect(),
            cold: histogram.cold(),
            invalidated: None,
        },
    }
}

fn group_json(profile: &Profile, group: Group, bins: Bins, levels: &[caches::Level]) -> GroupJson {
    let histogram = match group.by {
        Dimension::Program => exact(&profile.histogram, bins),
        _ => fine(&group.histogram, bins),
    };
    // Of elements it is not known which cold accesses were invalidated.
    let known = group.by != Dimension::Element;
    let invalidated = (profile.invalidations().filter(|_| known)).map(|_| group.invalidated);
    GroupJson {
        by: group.by,
        accesses: group.accesses,
        cold: group.cold,
        histogram: histogram.with_invalidated(invalidated),
        invalidated,
        mean: if group.mean.is_finite() {
            group.mean
        } else {
            0.0
        },
        max: group.max,
        misses: levels
            .iter()
            .map(|level| group.misses(level.items))
            .collect(),
        forward: group.forward.map(|forward| fine(&forward, bins)),
        name: group.name,
        elements: Vec::new(),
        chunks: Vec::new(),
        entries: None,
        footprint: None,
        exclusive_footprint: None,
    }
}

/// Gives the objects their chunks, and the contexts their visits, if the profile has them.
fn add_placement(profile: &Profile, groups: &mut [GroupJson]) {
    if profile.method.placement.is_none() {
        return;
    }
    let mut chunks: HashMap<&str, Vec<ChunkJson>> = HashMap::new();
    for chunk in profile.chunks() {
        let object = chunk.object;
        let (part, life) = (
            object.part.unwrap_or_default(),
            object.lifetime.unwrap_or_default(),
        );
        chunks.entry(&object.name).or_default().push(ChunkJson(
            part.start,
            part.end,
            chunk.accesses,
            object.bytes,
            life.begin,
            life.end,
        ));
    }
    let mut visits: HashMap<String, Option<ContextVisits>> = HashMap::new();
    for visit in profile.context_visits() {
        let name = visit.name.clone();
        // The footprints of contexts of one name do not add up.
        let first = |known: &mut Option<ContextVisits>| *known = None;
        visits.entry(name).and_modify(first).or_insert(Some(visit));
    }
    for group in groups {
        match group.by {
            Dimension::Object => {
                group.chunks = chunks.remove(&*group.name).unwrap_or_default();
            }
            Dimension::Context => {
                let Some(visit) = visits.remove(&group.name).flatten() else {
                    continue;
                };
                group.entries = visit.entries;
                group.footprint = Some(visit.footprint.inclusive);
                group.exclusive_footprint = Some(visit.footprint.exclusive);
            }
            _ => {}
        }
    }
}

/// Gives the objects their elements.
fn add_elements(profile: &Profile, groups: &mut [GroupJson]) {
    let elements = profile.elements();
    for group in groups
        .iter_mut()
        .filter(|group| group.by == Dimension::Object)
    {
        let of_group = elements.get(&group.name).into_iter().flatten();
        group.elements = of_group.map(ElementJson::from).collect();
    }
}

fn cache_json(profile: &Profile, level: &caches::Level, curve: &MissRatioCurve) -> CacheJson {
    let bounds = profile.method.error_bounds.as_ref();
    let accesses = curve.accesses().max(1) as f64;
    CacheJson {
        ways: level.asked_ways(),
        name: level.short().to_owned(),
        bytes: level.bytes.get(),
        items: level.items,
        misses: curve.misses(level.items),
        miss_ratio: curve.at(level.items),
        set_associative_miss_ratio: level
            .set_associative(&profile.histogram)
            .map(|misses| misses as f64 / accesses),
        half_width: bounds.map(|curve| curve.half_width(level.items)),
    }
}
