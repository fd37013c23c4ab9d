//! Small pictures of locality patterns side by side, as HTML: rows of bars over a common axis of
//! distances. Pages of profiles (by path) and of predictions use them.

use std::fmt::Write;

use reuselens_document::html::escape;
use reuselens_document::numbers::{count, ratio_percent};
use reuselens_locality::{Pattern, total};

/// Pictures at most.
pub(crate) const MOST: usize = 12;
/// Paths in a picture at most.
pub(crate) const PATHS: usize = 6;
/// Width of a picture, of the names at its left, and height of a row.
const WIDTH: f64 = 360.0;
const LEFT: f64 = 92.0;
const ROW: f64 = 20.0;

/// How all such pictures are read.
pub(crate) const EXPLAIN: &str = "Each bar is a locality pattern, from its lowest to its highest distance, with a dot at the mean; the \
higher the bar, the more of the reuses are in it. Flat bars with a ring are rare reuses, which are in no pattern. The upright lines are \
the caches of the machine: what is to the right of one misses there.";

const STYLE: &str = "<style>.multiples{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(320px,100%),1fr));gap:18px 22px}\
.multiples figure{margin:0;min-width:0}.multiples figcaption{font-size:13px;color:var(--ink);overflow-wrap:anywhere}\
.multiples figcaption span{color:var(--soft)}\
.multiples svg text{font:11px system-ui,sans-serif;fill:var(--soft)}.multiples .cool{fill:var(--hit);stroke:var(--hit)}\
.multiples .warm{fill:var(--miss);stroke:var(--miss)}.multiples .edge{stroke:var(--soft);stroke-opacity:.6;stroke-dasharray:2 2}\
.multiples .bar{fill-opacity:.45;stroke:none}.multiples .ring{fill:var(--card)}\
.multiples .seen{fill:none;stroke:var(--ink);stroke-width:1}</style>";

/// A pattern as it is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bar {
    pub(crate) pattern: Pattern,
    /// In the colour of misses: it misses, or will.
    pub(crate) warm: bool,
    /// With an arrow: it moves with the data.
    pub(crate) moves: bool,
    /// Too rare to be a pattern.
    pub(crate) rare: bool,
}

/// A row of a picture: its name, its patterns, and outlines of others to compare with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PatternRow {
    pub(crate) name: String,
    pub(crate) bars: Vec<Bar>,
    pub(crate) outlines: Vec<Pattern>,
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picture {
    pub(crate) name: String,
    /// A remark after the name; may be empty.
    pub(crate) note: String,
    pub(crate) rows: Vec<PatternRow>,
}

/// A cache, as a line in every picture: its short name and its items.
pub(crate) type Edge = (String, u64);

/// Appends the pictures in a grid; nothing if there are none.
pub(crate) fn write(out: &mut String, pictures: &[Picture], edges: &[Edge]) {
    if pictures.is_empty() {
        return;
    }
    let _ = write!(out, "{STYLE}<div class=\"multiples\">");
    for picture in pictures {
        draw(out, picture, edges);
    }
    out.push_str("</div>");
}

/// The place of a distance on a logarithmic axis that begins with 0.
fn place(items: f64, top: f64) -> f64 {
    LEFT + (items + 1.0).ln() / (top + 1.0).ln().max(1.0) * (WIDTH - LEFT - 12.0)
}

fn draw(out: &mut String, picture: &Picture, edges: &[Edge]) {
    let ends = picture.rows.iter().flat_map(|row| {
        let own = row.bars.iter().map(|bar| bar.pattern.max);
        own.chain(row.outlines.iter().map(|pattern| pattern.max))
    });
    let top = ends.chain(edges.first().map(|edge| edge.1)).max();
    let top = top.unwrap_or(1) as f64 * 1.2;
    let bottom = picture.rows.len() as f64 * ROW + 4.0;
    let note = match picture.note.as_str() {
        "" => String::new(),
        note => format!(" <span>{}</span>", escape(note)),
    };
    let _ = write!(
        out,
        "<figure><figcaption>{}{note}</figcaption><svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" width=\"100%\">",
        escape(&picture.name),
        bottom + 30.0
    );
    for (name, items) in edges.iter().filter(|edge| (edge.1 as f64) < top) {
        let x = place(*items as f64, top);
        let _ = write!(
            out,
            "<path class=\"edge\" d=\"M{x:.1} 0V{bottom:.0}\"/><text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
            bottom + 26.0,
            escape(name)
        );
    }
    ticks(out, top, bottom);
    for (at, row) in picture.rows.iter().enumerate() {
        bars(out, row, (at as f64 + 0.5) * ROW + 2.0, top);
    }
    out.push_str("</svg></figure>");
}

fn ticks(out: &mut String, top: f64, bottom: f64) {
    let step = if top > 1e5 { 100.0 } else { 10.0 };
    let mut value = 0.0;
    while value <= top {
        let x = place(value, top);
        let anchor = if x > WIDTH - 24.0 { "end" } else { "middle" };
        let x = if x > WIDTH - 24.0 { WIDTH } else { x };
        let label = match value as u64 {
            small @ 0..1_000 => small.to_string(),
            some @ 1_000..1_000_000 => format!("{} k", some / 1_000),
            many => format!("{} M", many / 1_000_000),
        };
        let _ = write!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{label}</text>",
            bottom + 13.0
        );
        value = if value == 0.0 { step } else { value * step };
    }
}

fn bars(out: &mut String, row: &PatternRow, y: f64, top: f64) {
    let _ = write!(
        out,
        "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        LEFT - 8.0,
        y + 4.0,
        escape(&row.name)
    );
    let counts = row.bars.iter().map(|bar| bar.pattern.accesses);
    let all = total(counts);
    // Rings are drawn over bars, or the few rare ones would be hidden.
    for rare in [false, true] {
        for one in row.bars.iter().filter(|one| one.rare == rare) {
            bar(out, one, all, y, top);
        }
    }
    for pattern in &row.outlines {
        let [from, to] = [pattern.min, pattern.max].map(|items| place(items as f64, top));
        let _ = write!(
            out,
            "<rect class=\"seen\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"1.5\"/>",
            from - 2.0,
            y - ROW / 2.0 + 1.0,
            to - from + 4.0,
            ROW - 2.0
        );
    }
}

/// One pattern of a row with `all` reuses, whose middle is at `y`.
fn bar(out: &mut String, bar: &Bar, all: u64, y: f64, top: f64) {
    let pattern = &bar.pattern;
    let [from, mean, to] =
        [pattern.min as f64, pattern.mean, pattern.max as f64].map(|items| place(items, top));
    let share = pattern.accesses as f64 / all.max(1) as f64;
    let height = if bar.rare {
        2.0
    } else {
        (share.sqrt() * (ROW - 6.0)).max(2.0)
    };
    let class = if bar.warm { "warm" } else { "cool" };
    let ring = if bar.rare { " ring" } else { "" };
    let _ = write!(
        out,
        "<rect class=\"bar {class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\" rx=\"1.5\">\
         <title>{} to {}, mean {:.0}, {} of the reuses{}{}</title></rect><circle class=\"{class}{ring}\" cx=\"{mean:.1}\" cy=\"{y:.1}\" r=\"2.2\"/>",
        from - 1.0,
        y - height / 2.0,
        to - from + 2.0,
        count(pattern.min),
        count(pattern.max),
        pattern.mean,
        ratio_percent(share),
        if bar.rare { "; rare" } else { "" },
        if bar.moves {
            "; moves with the data"
        } else {
            ""
        }
    );
    if bar.moves {
        let tip = (to + 7.0).min(WIDTH - 3.0);
        let _ = write!(
            out,
            "<path class=\"{class}\" d=\"M{:.1} {:.1}L{tip:.1} {y:.1}L{:.1} {:.1}Z\"/>",
            tip - 5.0,
            y - 3.5,
            tip - 5.0,
            y + 3.5
        );
    }
}
