//! [`compare`]: several profiles as one HTML page.

mod changes;
mod findings;
mod pictures;
mod totals;

use std::fmt::Write;

use reuselens_document::html::{escape, inline, page, paragraphs};
use reuselens_document::numbers::count;
use reuselens_locality::FineHistogram;
use reuselens_profile::{CacheSize, DifferenceError, Dimension, LocalityChange, Profile};
use serde_json::{Value, json};

use super::plot::Axis;
use super::{data, headline, lessons};
use crate::caches::{self, Level};
use crate::{MAKER, words};

/// Changes of fewer misses than this share of those of the first profile are noise.
const NOISE: f64 = 0.01;

/// The number of colours and dashes; further profiles begin again.
const SERIES: usize = 6;

/// One of the profiles to compare.
#[derive(Clone, Copy, Debug)]
pub struct ProfileVariant<'a> {
    /// A short name, used in every table and key.
    pub name: &'a str,
    /// What it is, and what to see in it: paragraphs separated by empty lines, with `code`,
    /// **strong** and *emphasis*. May be empty.
    pub caption: &'a str,
    /// The profile.
    pub profile: &'a Profile,
}

/// The texts and choices of a page of several profiles.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// The heading.
    pub title: String,
    /// Paragraphs below the heading, in the markup of [`ProfileVariant::caption`].
    pub intro: String,
    /// Paragraphs at the end: what was learnt, what to type next.
    pub closing: String,
    /// The cache that tables count misses in; `None` = chosen as for the page of the first profile.
    pub cache: Option<CacheSize>,
    /// Dimensions to compare the groups of.
    pub by: Vec<Dimension>,
    /// Rows of each table of groups.
    pub top: usize,
}

impl Default for CompareOptions {
    fn default() -> Self {
        CompareOptions {
            title: "Comparison".to_owned(),
            intro: String::new(),
            closing: String::new(),
            cache: None,
            by: vec![Dimension::Line, Dimension::Object],
            top: 12,
        }
    }
}

/// Several profiles as one HTML file that works offline: their totals, their miss-ratio curves and
/// histograms over each other, what each gains and loses against the first, and the groups that
/// change. It explains how to read what it shows.
///
/// # Errors
/// If the profiles count items of different sizes.
pub fn compare(
    variants: &[ProfileVariant],
    options: &CompareOptions,
) -> Result<String, DifferenceError> {
    let mut out = String::with_capacity(128 << 10);
    page::head(&mut out, MAKER, &options.title);
    let Some(first) = variants.first() else {
        without_profiles(&mut out, options);
        return Ok(out);
    };
    let changes = variants[1..]
        .iter()
        .map(|other| LocalityChange::between(first.profile, other.profile))
        .collect::<Result<Vec<_>, _>>()?;
    let stage = ComparedProfiles::new(variants, first, options);
    let links = [
        ("totals", "Totals"),
        ("findings", "Findings"),
        ("sizes", "Sizes"),
        ("distances", "Distances"),
        ("changes", "Changes"),
        ("method", "Method"),
    ];
    let findings = stage.finding_changes();
    page::top(&mut out, MAKER, &links, |id| match id {
        "changes" => variants.len() > 1,
        "findings" => !findings.is_empty(),
        _ => true,
    });
    let _ = write!(
        out,
        "<h1 class=\"title\">{}</h1>\n<div class=\"intro\">{}</div>",
        escape(&options.title),
        paragraphs(&options.intro)
    );
    lessons::reuse_distance(&mut out);
    stage.totals(&mut out);
    stage.findings(&mut out, &findings, options.top);
    if stage.any() {
        stage.pictures(&mut out, &changes);
    }
    stage.cards(&mut out);
    if variants.len() > 1 {
        stage.changes(&mut out, options);
    }
    closing(&mut out, variants, options);
    super::page::end(&mut out, &stage.json());
    Ok(out)
}

/// The rest of a page that compares nothing.
fn without_profiles(out: &mut String, options: &CompareOptions) {
    page::top(out, MAKER, &[], |_| false);
    let _ = write!(
        out,
        "<h1 class=\"title\">{}</h1><p class=\"lead\">There is no profile to compare.</p>",
        escape(&options.title)
    );
    page::end(out, MAKER, "");
}

/// What the curves show, after what to compare.
const COMPARE_CURVES: &str = "Each curve falls off a cliff where the cache becomes large enough for something that the \
program goes over again and again. A change that moves a cliff to the left makes a smaller cache do. Curves may cross: a gain \
at one size can be a loss at another.";

/// Numbers of accesses that differ by more than this share are named beside curves of ratios.
const UNEQUAL: f64 = 0.01;

/// The profiles, and what their pictures share.
struct ComparedProfiles<'a> {
    variants: &'a [ProfileVariant<'a>],
    first: &'a ProfileVariant<'a>,
    levels: Vec<Level>,
    chosen: Level,
    axis: Axis,
    fine: Vec<FineHistogram>,
}

/// The class of the colour and the dashes of a profile.
fn series(index: usize) -> usize {
    index % SERIES
}

impl<'a> ComparedProfiles<'a> {
    fn new(
        variants: &'a [ProfileVariant<'a>],
        first: &'a ProfileVariant<'a>,
        options: &CompareOptions,
    ) -> Self {
        let reach = caches::reach(variants.iter().map(|variant| variant.profile));
        let levels = caches::levels_within(first.profile, reach);
        let max = variants
            .iter()
            .filter_map(|variant| variant.profile.histogram.max())
            .max();
        // Beyond that, a curve that was not measured would look flat.
        let max = max.map(|max| reach.map_or(max, |reach| max.min(reach)));
        let fine = variants
            .iter()
            .map(|variant| {
                let mut fine = FineHistogram::new();
                fine.add_exact(&variant.profile.histogram);
                fine
            })
            .collect();
        ComparedProfiles {
            variants,
            first,
            chosen: caches::chosen_within(first.profile, reach, options.cache),
            axis: Axis::new(max, &levels, first.profile.granularity),
            levels,
            fine,
        }
    }

    /// Whether any profile has accesses.
    fn any(&self) -> bool {
        self.fine.iter().any(|fine| !fine.is_empty())
    }

    /// What to read off the curves. They are ratios: only with as many accesses does the lower one
    /// stand for fewer misses.
    fn explain_curves(&self) -> String {
        let all = self
            .variants
            .iter()
            .map(|it| it.profile.histogram.accesses());
        let (least, most) = (all.clone().min().unwrap_or(0), all.max().unwrap_or(0));
        let compared = if (most - least) as f64 <= most as f64 * UNEQUAL {
            "As all have equally many accesses, to within 1 %, <b>the lower curve misses \
                     less</b> at that size."
                .to_owned()
        } else {
            format!(
                "The numbers of accesses differ, from {} to {}: <b>a lower curve need not miss \
                 less</b>. Compare the misses: those below the picture, and those that pointing at \
                 it shows.",
                count(least),
                count(most)
            )
        };
        format!(
            "Pick a cache size below and go up: each curve is the part of its own accesses that \
             miss at that size. {compared} {COMPARE_CURVES}"
        )
    }

    /// Appends the curves and the histograms, each over each other.
    fn pictures(&self, out: &mut String, changes: &[LocalityChange]) {
        page::card(
            out,
            "sizes",
            "Which cache sizes each one needs",
            &self.explain_curves(),
            |out| self.curves(out, changes),
        );
        page::card(
            out,
            "distances",
            "How far apart each one reuses its data",
            lessons::HISTOGRAM,
            |out| self.bars(out),
        );
    }

    fn size(&self, items: u64) -> String {
        caches::size(items, self.first.profile.granularity)
    }

    fn json(&self) -> String {
        let variants: Vec<Value> = self
            .variants
            .iter()
            .zip(&self.fine)
            .filter(|(_, fine)| !fine.is_empty())
            .map(|(variant, fine)| json!([variant.name, data::histogram(fine, None)]))
            .collect();
        json!({ "g": self.first.profile.granularity.bytes(), "axis": self.axis.json(), "compare": variants }).to_string()
    }
}

fn closing(out: &mut String, variants: &[ProfileVariant], options: &CompareOptions) {
    if !options.closing.is_empty() {
        let _ = write!(
            out,
            "<section id=\"next\">{}</section>",
            paragraphs(&options.closing)
        );
    }
    out.push_str("<section id=\"method\"><h2>How these numbers came about</h2>");
    for variant in variants {
        let profile = variant.profile;
        let _ = write!(
            out,
            "<h3>{}</h3><dl class=\"method\"><dt>Command</dt><dd><code>{}</code></dd><dt>Accesses seen</dt><dd>{}</dd>\
             <dt>Order of threads</dt><dd>{}</dd><dt>Method</dt><dd>{}; {}; {}</dd><dt>Machine</dt><dd>{}</dd></dl>",
            escape(variant.name),
            escape(&words::command(profile)),
            escape(words::or(&profile.method.source, "not stated")),
            escape(words::or(&profile.method.order, "not stated")),
            escape(&words::engine(&profile.method)),
            words::items(profile.granularity),
            escape(&words::filter(&profile.method)),
            escape(words::or(&profile.machine.processor, "not known")),
        );
        headline::warnings(out, &profile.warnings);
    }
    let _ = write!(
        out,
        "<p class=\"explain\">{}</p></section>",
        inline(
            "All misses that are not called *with its sets* are those of a fully associative LRU cache: one that may keep any data anywhere and throws out what was not \
         used for longest. Real caches sort data into sets, which an estimate counts that takes lines to fall on sets at \
         random; they also fetch ahead, and are shared with other programs."
        )
    );
}
