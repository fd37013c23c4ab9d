//! The page that compares several profiles.

use std::fmt::Write;

use reuselens_locality::{
    DifferenceError, Dimension, FineHistogram, GroupChange, GroupChanges, LocalityChange, Profile,
    SizeRange,
};
use reuselens_units::Bytes;
use serde_json::{Value, json};

use super::escape::{change, escape, inline, paragraphs, percent};
use super::plot::{self, Axis, Plot};
use super::{curve, data, headline, histogram, lessons, page};
use crate::caches::{self, Level};
use crate::numbers::{count, grouped};
use crate::words;

/// Changes of fewer misses than this share of those of the first profile are noise.
const NOISE: f64 = 0.01;

/// Colours and dashes that there are; further profiles begin again.
const SERIES: usize = 6;

/// One of the profiles to compare.
#[derive(Clone, Copy, Debug)]
pub struct Variant<'a> {
    /// A short name, used in every table and key.
    pub name: &'a str,
    /// What it is, and what to see in it: paragraphs separated by empty lines, with `code`, **strong**
    /// and *emphasis*. May be empty.
    pub caption: &'a str,
    /// The profile.
    pub profile: &'a Profile,
}

/// What a page of several profiles says and shows.
#[derive(Clone, Debug)]
pub struct CompareOptions {
    /// The heading.
    pub title: String,
    /// Paragraphs below the heading, in the markup of [`Variant::caption`].
    pub intro: String,
    /// Paragraphs at the end: what was learnt, what to type next.
    pub closing: String,
    /// The cache that tables count misses in; `None` = chosen as for the page of the first profile.
    pub cache: Option<Bytes>,
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
/// histograms over each other, what each gains and loses against the first, and the groups that change.
/// It explains how to read what it shows.
///
/// # Errors
/// If the profiles count items of different sizes.
pub fn compare(variants: &[Variant], options: &CompareOptions) -> Result<String, DifferenceError> {
    let mut out = String::with_capacity(128 << 10);
    page::head(&mut out, &options.title);
    let Some(first) = variants.first() else {
        page::top(&mut out, &[], |_| false);
        let _ = write!(
            out,
            "<h1 class=\"title\">{}</h1><p class=\"lead\">There is no profile to compare.</p>",
            escape(&options.title)
        );
        page::end(&mut out, "{}");
        return Ok(out);
    };
    let changes = variants[1..]
        .iter()
        .map(|other| LocalityChange::between(first.profile, other.profile))
        .collect::<Result<Vec<_>, _>>()?;
    let stage = Stage::new(variants, first, options);
    let links = [
        ("totals", "Totals"),
        ("sizes", "Sizes"),
        ("distances", "Distances"),
        ("changes", "Changes"),
        ("method", "Method"),
    ];
    page::top(&mut out, &links, |id| id != "changes" || variants.len() > 1);
    let _ = write!(
        out,
        "<h1 class=\"title\">{}</h1>\n<div class=\"intro\">{}</div>",
        escape(&options.title),
        paragraphs(&options.intro)
    );
    lessons::reuse_distance(&mut out);
    stage.totals(&mut out);
    if stage.any() {
        page::picture(
            &mut out,
            "sizes",
            "Which cache sizes each one needs",
            COMPARE_CURVES,
            |out| stage.curves(out, &changes),
        );
        page::picture(
            &mut out,
            "distances",
            "How far apart each one reuses its data",
            lessons::HISTOGRAM,
            |out| stage.bars(out),
        );
    }
    stage.cards(&mut out);
    if variants.len() > 1 {
        stage.changes(&mut out, options);
    }
    closing(&mut out, variants, options);
    page::end(&mut out, &stage.json());
    Ok(out)
}

const COMPARE_CURVES: &str = "Pick a cache size below and go up: <b>the lower curve misses less</b> at that size. Each curve falls \
off a cliff where the cache becomes large enough for something that the program goes over again and again. A change that moves \
a cliff to the left makes a smaller cache do. Curves may cross: a gain at one size can be a loss at another.";

/// The profiles, and what their pictures share.
struct Stage<'a> {
    variants: &'a [Variant<'a>],
    first: &'a Variant<'a>,
    levels: Vec<Level>,
    chosen: Level,
    axis: Axis,
    fine: Vec<FineHistogram>,
}

/// The class of the colour and the dashes of a profile.
fn series(index: usize) -> usize {
    index % SERIES
}

impl<'a> Stage<'a> {
    fn new(variants: &'a [Variant<'a>], first: &'a Variant<'a>, options: &CompareOptions) -> Self {
        let levels = caches::levels(first.profile);
        let max = variants
            .iter()
            .filter_map(|variant| variant.profile.histogram.max())
            .max();
        let fine = variants
            .iter()
            .map(|variant| {
                let mut fine = FineHistogram::new();
                fine.add_exact(&variant.profile.histogram);
                fine
            })
            .collect();
        Stage {
            variants,
            first,
            chosen: caches::chosen(first.profile, options.cache),
            axis: Axis::new(max, &levels, first.profile.granularity),
            levels,
            fine,
        }
    }

    /// Whether any profile has accesses.
    fn any(&self) -> bool {
        self.fine.iter().any(|fine| !fine.is_empty())
    }

    fn size(&self, items: u64) -> String {
        caches::size(items, self.first.profile.granularity)
    }

    fn totals(&self, out: &mut String) {
        out.push_str(
            "<section id=\"totals\"><h2>Totals</h2><div class=\"scroll\"><table class=\"variants-table\"><thead><tr>\
             <th scope=\"col\">Variant</th><th scope=\"col\">Accesses</th><th scope=\"col\">Distinct data</th>",
        );
        let mut levels = self.levels.clone();
        if self.chosen.name.is_none() {
            levels.push(self.chosen.clone());
        }
        for level in &levels {
            let _ = write!(out, "<th scope=\"col\">Misses in {}</th>", level.label());
        }
        out.push_str("</tr></thead><tbody>");
        let base = &self.first.profile.histogram;
        for (index, variant) in self.variants.iter().enumerate() {
            let histogram = &variant.profile.histogram;
            let _ = write!(
                out,
                "<tr><th scope=\"row\"><span class=\"v{} swatch\"></span>{}</th><td title=\"{}\">{}</td><td>{}</td>",
                series(index),
                escape(variant.name),
                grouped(histogram.accesses()),
                count(histogram.accesses()),
                self.size(histogram.cold()),
            );
            for level in &levels {
                let misses = histogram.misses(level.items);
                let versus = if index == 0 {
                    String::new()
                } else {
                    verdict(base.misses(level.items), misses)
                };
                let _ = write!(
                    out,
                    "<td title=\"{}\">{} <span class=\"of\">{}</span>{versus}</td>",
                    grouped(misses),
                    count(misses),
                    percent(misses, histogram.accesses())
                );
            }
            out.push_str("</tr>");
        }
        out.push_str("</tbody></table></div>");
        if self.variants.len() > 1 {
            let _ = write!(
                out,
                "<p class=\"more\">Changes are against {}.</p>",
                escape(self.first.name)
            );
        }
        out.push_str("</section>");
    }

    fn key(&self, out: &mut String, shape: impl Fn(usize) -> String) {
        out.push_str("<ul class=\"legend\">");
        for (index, variant) in self.variants.iter().enumerate() {
            let _ = write!(
                out,
                "<li class=\"v{}\"><svg viewBox=\"0 0 30 10\" aria-hidden=\"true\">{}</svg>{}</li>",
                series(index),
                shape(index),
                escape(variant.name)
            );
        }
        out.push_str("</ul>");
    }

    fn curves(&self, out: &mut String, changes: &[LocalityChange]) {
        let points: Vec<_> = self
            .fine
            .iter()
            .map(|fine| curve::points(fine, &self.axis))
            .collect();
        let ratio =
            |fine: &FineHistogram, misses: u64| misses as f64 / fine.accesses().max(1) as f64;
        let highest = points
            .iter()
            .zip(&self.fine)
            .filter_map(|(points, fine)| points.first().map(|(_, misses)| ratio(fine, *misses)))
            .fold(0.0, f64::max);
        let top = plot::share_top(highest);
        let mut shapes = String::new();
        for (index, (points, fine)) in points.iter().zip(&self.fine).enumerate() {
            let line = curve::path(points, fine.accesses(), &self.axis, top);
            let _ = write!(
                shapes,
                "<g class=\"v{0}\"><path class=\"series dash{0}\" d=\"{line}\"/></g>",
                series(index)
            );
        }
        Plot {
            id: "curves",
            label: self.describe(),
            height: 320,
            axis: &self.axis,
            top,
            shapes,
            words: plot::marks(&self.axis, &self.levels, &self.chosen, |_| None),
            cold: false,
            axis_name: "size of a fully associative LRU cache (log scale)",
        }
        .write(out);
        self.key(out, |index| {
            format!(
                "<path class=\"series dash{}\" d=\"M0 5H30\"/>",
                series(index)
            )
        });
        out.push_str(
            "<div class=\"readout needs-js\" id=\"readout\" aria-live=\"polite\"><span class=\"soft\">Point at the curves, touch \
             them, or focus them and press ← →.</span></div>",
        );
        for (change, variant) in changes.iter().zip(&self.variants[1..]) {
            self.ranges(out, change, variant);
        }
    }

    fn describe(&self) -> String {
        let mut text = "Miss-ratio curves of several runs.".to_owned();
        for variant in self.variants {
            let histogram = &variant.profile.histogram;
            let ratio =
                crate::numbers::percent(histogram.misses(self.chosen.items), histogram.accesses());
            let _ = write!(
                text,
                " {}: {ratio} miss in {}.",
                variant.name,
                self.chosen.label()
            );
        }
        text
    }

    /// The cache sizes at which a profile gains and loses against the first.
    fn ranges(&self, out: &mut String, change: &LocalityChange, variant: &Variant) {
        let _ = write!(
            out,
            "<h3>{} against {}</h3><ul class=\"ranges\">",
            escape(variant.name),
            escape(self.first.name)
        );
        let (wins, losses) = (change.wins(NOISE), change.losses(NOISE));
        if wins.is_empty() && losses.is_empty() {
            out.push_str("<li>No cache size gains or loses more than 1 % of its misses.</li>");
        }
        for (class, words, ranges) in [
            ("better", "Fewer misses", wins),
            ("worse", "More misses", losses),
        ] {
            for range in ranges {
                let _ = write!(
                    out,
                    "<li><span class=\"{class}\">{words}</span> {}</li>",
                    self.range(&range)
                );
            }
        }
        out.push_str("</ul>");
    }

    fn range(&self, range: &SizeRange) -> String {
        let most = format!(
            "{} at {}",
            change(range.most.before, range.most.after),
            self.size(range.most.items)
        );
        if range.from == range.to {
            return format!("in caches of {}: {most}", self.size(range.from));
        }
        format!(
            "in caches from {} to {}; most, {most}",
            self.size(range.from),
            self.size(range.to)
        )
    }

    /// All histograms in one picture: a bin is shared by their bars.
    fn bars(&self, out: &mut String) {
        let top = plot::share_top(self.highest() * 1.06);
        let mut shapes = String::new();
        let part = 0.9 / self.variants.len() as f64;
        for (index, fine) in self.fine.iter().enumerate() {
            let left = 0.05 + part * index as f64;
            let inset = (left, 1.0 - left - part * 0.94);
            let mut path = histogram::bars(&fine.log2(), fine.accesses(), &self.axis, top, inset);
            let (start, end) = plot::cold_bar();
            let width = end - start;
            let share = fine.cold() as f64 / fine.accesses().max(1) as f64;
            histogram::bar(
                &mut path,
                start + width * inset.0,
                end - width * inset.1,
                share / top,
            );
            let _ = write!(
                shapes,
                "<path class=\"v{} sbar\" d=\"{path}\"/>",
                series(index)
            );
        }
        Plot {
            id: "histograms",
            label: "The histograms of the reuse distances of several runs, bin by bin.".to_owned(),
            height: 280,
            axis: &self.axis,
            top,
            shapes,
            words: plot::marks(&self.axis, &self.levels, &self.chosen, |_| None),
            cold: true,
            axis_name: "how much other data is touched before the reuse (log scale) → the cache it takes to hit",
        }
        .write(out);
        self.key(out, |_| {
            "<path class=\"sbar\" d=\"M0 0H30V10H0Z\"/>".to_owned()
        });
        self.numbers(out);
    }

    fn highest(&self) -> f64 {
        self.fine
            .iter()
            .map(|fine| histogram::highest(&fine.log2()))
            .fold(0.0, f64::max)
    }

    /// The numbers behind both pictures.
    fn numbers(&self, out: &mut String) {
        out.push_str(
            "<details><summary>The numbers</summary><div class=\"scroll\"><table class=\"plain\"><thead><tr><th scope=\"col\">Fits \
             in</th>",
        );
        for variant in self.variants {
            let _ = write!(
                out,
                "<th scope=\"col\">{}</th><th scope=\"col\">misses below</th>",
                escape(variant.name)
            );
        }
        out.push_str("</tr></thead><tbody>");
        let log2: Vec<_> = self.fine.iter().map(FineHistogram::log2).collect();
        let last = log2.iter().filter_map(|log2| log2.top()).max().unwrap_or(0);
        for bin in 0..=last {
            let size = 1_u64.checked_shl(bin as u32).unwrap_or(u64::MAX);
            let _ = write!(out, "<tr><td>{}</td>", self.size(size));
            for (log2, fine) in log2.iter().zip(&self.fine) {
                let all = fine.accesses();
                let _ = write!(
                    out,
                    "<td>{}</td><td>{}</td>",
                    percent(log2.count(bin), all),
                    percent(fine.misses(size), all)
                );
            }
            out.push_str("</tr>");
        }
        out.push_str(
            "</tbody></table></div><p class=\"soft\">The first number of a variant is the part of its accesses that need a cache of \
             just this size to hit; the second is the part that miss in it.</p></details>",
        );
    }

    /// A card for each profile, with its caption and its histogram.
    fn cards(&self, out: &mut String) {
        out.push_str("<section id=\"variants\"><h2>One by one</h2><div class=\"variants\">");
        let top = plot::share_top(self.highest() * 1.06);
        for (index, (variant, fine)) in self.variants.iter().zip(&self.fine).enumerate() {
            let _ = write!(
                out,
                "<div class=\"card variant v{}\"><h3>{}</h3>{}",
                series(index),
                escape(variant.name),
                paragraphs(variant.caption)
            );
            if fine.is_empty() {
                let _ = write!(out, "<p>{}</p></div>", words::NOTHING);
                continue;
            }
            self.card_plot(out, index, fine, top);
            let misses = variant.profile.histogram.misses(self.chosen.items);
            let _ = write!(
                out,
                "<p class=\"soft\">{} of {} accesses miss in {}: {}.</p></div>",
                count(misses),
                count(fine.accesses()),
                self.chosen.label(),
                percent(misses, fine.accesses())
            );
        }
        out.push_str("</div></section>");
    }

    fn card_plot(&self, out: &mut String, index: usize, fine: &FineHistogram, top: f64) {
        let log2 = fine.log2();
        let mut path = histogram::bars(&log2, fine.accesses(), &self.axis, top, (0.05, 0.05));
        let (left, right) = plot::cold_bar();
        histogram::bar(
            &mut path,
            left,
            right,
            fine.cold() as f64 / fine.accesses().max(1) as f64 / top,
        );
        Plot {
            id: &format!("histogram-{index}"),
            label: format!(
                "Histogram of the reuse distances of {}.",
                self.variants[index].name
            ),
            height: 170,
            axis: &self.axis,
            top,
            shapes: format!("<path class=\"sbar\" d=\"{path}\"/>"),
            words: plot::marks(&self.axis, &self.levels, &self.chosen, |_| None),
            cold: true,
            axis_name: "other data before the reuse",
        }
        .write(out);
    }

    /// The groups that change, each profile against the first.
    fn changes(&self, out: &mut String, options: &CompareOptions) {
        let mut tables = String::new();
        for (index, variant) in self.variants.iter().enumerate().skip(1) {
            for by in &options.by {
                let changes = GroupChanges::between(
                    self.first.profile,
                    variant.profile,
                    *by,
                    self.chosen.items,
                );
                let mut all: Vec<&GroupChange> = changes
                    .both
                    .iter()
                    .chain(&changes.only_before)
                    .chain(&changes.only_after)
                    .collect();
                all.retain(|group| group.change() != 0);
                all.sort_by_key(|group| std::cmp::Reverse(group.change().unsigned_abs()));
                if !all.is_empty() {
                    self.change_table(&mut tables, index, *by, &all, options.top);
                }
            }
        }
        if tables.is_empty() {
            return;
        }
        let _ = write!(
            out,
            "<section id=\"changes\"><h2>What changed where</h2><p class=\"explain\">Misses in {}, group by group, the largest \
             changes first. A line that moved to another number counts as one that is gone and one that is new.</p>\n{tables}\
             </section>",
            self.chosen.label()
        );
    }

    fn change_table(
        &self,
        out: &mut String,
        index: usize,
        by: Dimension,
        all: &[&GroupChange],
        top: usize,
    ) {
        let name = self.variants[index].name;
        let _ = write!(
            out,
            "<h3>By {by}: {0} against {1}</h3><div class=\"scroll\"><table><thead><tr><th scope=\"col\">{by}</th>\
             <th scope=\"col\">{1}</th><th scope=\"col\">{0}</th><th scope=\"col\">Change</th></tr></thead><tbody>",
            escape(name),
            escape(self.first.name)
        );
        for group in all.iter().take(top) {
            let known = |there: bool, misses: u64| {
                if there {
                    count(misses)
                } else {
                    "—".to_owned()
                }
            };
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(&group.name),
                known(group.before.is_some(), group.before_misses),
                known(group.after.is_some(), group.after_misses),
                verdict(group.before_misses, group.after_misses)
            );
        }
        out.push_str("</tbody></table></div>");
        if all.len() > top {
            let _ = write!(
                out,
                "<p class=\"more\">{} more change less.</p>",
                grouped((all.len() - top) as u64)
            );
        }
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

/// A change in misses, as better or worse.
fn verdict(before: u64, after: u64) -> String {
    let class = match after.cmp(&before) {
        std::cmp::Ordering::Less => "better",
        std::cmp::Ordering::Equal => "of",
        std::cmp::Ordering::Greater => "worse",
    };
    format!(" <span class=\"{class}\">{}</span>", change(before, after))
}

fn closing(out: &mut String, variants: &[Variant], options: &CompareOptions) {
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
            "All misses are those of a fully associative LRU cache: one that may keep any data anywhere and throws out what was not \
         used for longest. Real caches sort data into sets, fetch ahead, and are shared with other programs."
        )
    );
}
