//! The pictures of the `gpu` commands' pages: characteristics and sharing.

use reuselens_document::{ChartAxis, ChartLine, Panel, Section, Unit, sheet};
use reuselens_simt::sharing::SharingMatrix;
use reuselens_simt::{Characteristic, Difference};

use super::input::Named;

/// Sections as a page.
pub fn page(title: &str, facts: &[String], sections: &[Section]) -> String {
    sheet("reuselens", title, facts, sections)
}

/// The ranges that the literature shows: all, and two that are near.
const RANGES: [u64; 3] = [u64::MAX, 400, 100];
/// A picture has at most this many points: the largest in each of as many pieces of the axis.
const POINTS: usize = 1500;
/// Curves of one picture.
const CURVES: usize = 3;

/// Reuse degree over distance, all of it and zoomed in.
pub fn characteristics(named: &[Named]) -> Vec<Panel> {
    let shown = &named[..named.len().min(CURVES)];
    let domain = shown.iter().map(|(_, one)| one.domain()).max().unwrap_or(0);
    let ranges = RANGES
        .iter()
        .filter(|&&range| range == u64::MAX || range < domain);
    ranges
        .map(|&range| Panel::Lines {
            title: title("Data reuse characteristic", range),
            x: ChartAxis::logarithmic("reuse distance (memory instructions)", Unit::Things),
            y: ChartAxis::logarithmic("reuse degree", Unit::Things),
            lines: shown
                .iter()
                .map(|(name, one)| curve(name, one, range))
                .collect(),
            marks: Vec::new(),
        })
        .collect()
}

/// A remark about which curves are not drawn.
pub fn left_out(named: &[Named]) -> String {
    match named.len().saturating_sub(CURVES) {
        0 => String::new(),
        more => format!(" The first {CURVES} streams are drawn; {more} more are in the table."),
    }
}

/// A remark about why there is no curve.
pub fn nothing(is_so: bool) -> &'static str {
    if is_so {
        " Nothing is reused here, so there is nothing to draw."
    } else {
        ""
    }
}

fn title(what: &str, range: u64) -> String {
    match range {
        u64::MAX => what.to_owned(),
        range => format!("{what}, distances 1 to {range}"),
    }
}

fn curve(name: &str, characteristic: &Characteristic, range: u64) -> ChartLine {
    let entries = characteristic
        .entries()
        .take_while(|entry| entry.0 <= range);
    ChartLine {
        name: name.to_owned(),
        points: thinned(
            entries
                .map(|(at, degree)| (at as f64, degree as f64))
                .collect(),
        ),
        ..ChartLine::default()
    }
}

/// Where more is reused after than before, and where less.
pub fn difference(difference: &Difference) -> Vec<Panel> {
    let part = |name: &str, sign: f64, range: u64| {
        let changes = difference
            .changes
            .iter()
            .take_while(|change| change.0 <= range);
        let points = changes
            .map(|(at, change)| (*at as f64, *change as f64 * sign))
            .filter(|point| point.1 > 0.0);
        ChartLine {
            name: name.to_owned(),
            points: thinned(points.collect()),
            ..ChartLine::default()
        }
    };
    let domain = difference.domain.0.max(difference.domain.1);
    let ranges = RANGES
        .iter()
        .filter(|&&range| range == u64::MAX || range < domain);
    ranges
        .map(|&range| Panel::Lines {
            title: title("Change of the reuse degree", range),
            x: ChartAxis::logarithmic("reuse distance (memory instructions)", Unit::Things),
            y: ChartAxis::logarithmic("by how much", Unit::Things),
            lines: vec![
                part("less reuse", -1.0, range),
                part("more reuse", 1.0, range),
            ],
            marks: Vec::new(),
        })
        .collect()
}

/// Who shares with whom.
pub fn sharing(title: &str, row: &str, sharing: &SharingMatrix) -> Panel {
    let axis = match sharing.per_row {
        1 => row.to_owned(),
        some => format!("{row}, {some} to a row"),
    };
    Panel::Heat {
        title: title.to_owned(),
        axis,
        rows: sharing.rows,
        values: sharing.common.iter().map(|&common| common as f64).collect(),
    }
}

fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let Some(last) = points.last().filter(|_| points.len() > POINTS) else {
        return points;
    };
    let scale = POINTS as f64 / last.0.ln();
    let stretch = |point: &(f64, f64)| (point.0.ln() * scale) as u64;
    let highest = |some: &[(f64, f64)]| some.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    points
        .chunk_by(|a, b| stretch(a) == stretch(b))
        .filter_map(highest)
        .collect()
}
