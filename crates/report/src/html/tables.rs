//! The section of a page with the tables of groups.

use std::fmt::Write;

use reuselens_document::html::{escape, percent};
use reuselens_document::numbers::{count, grouped};
use reuselens_profile::Dimension;

use super::data::{GroupRow, GroupTable};
use super::elements;
use super::scene::Scene;
use crate::caches;

/// Rows that a table always shows.
const FEWEST: usize = 10;
/// Rows that a table shows without JavaScript, at most.
const STATIC: usize = 40;

/// The rows that a table shows at first, of rows in the order of their misses: those with a percent
/// of all misses, and [`FEWEST`] in any case. The script shows the others on request, and decides
/// by the same rule when the cache changes.
fn shown(rows: &[(u64, &GroupRow)], all: u64) -> usize {
    let large = rows
        .iter()
        .filter(|(misses, _)| misses.saturating_mul(100) >= all.max(1));
    large.count().clamp(FEWEST, STATIC)
}

/// Appends the tabs, the filter and the tables.
pub(crate) fn write(out: &mut String, scene: &Scene, tables: &[GroupTable]) {
    let _ = write!(
        out,
        "<section id=\"where\"><h2>Where the misses come from</h2><p class=\"explain\">Misses in a cache of \
         <b data-cache>{}</b>. <i>Share</i> is the part of all misses that a row causes; <i>miss ratio</i> is the part \
         of its own accesses that miss. A row with many misses and a high ratio is the place to start.\
         <span class=\"needs-js\"> Choose a row to draw its own distances into the pictures above.</span></p>",
        scene.chosen.label()
    );
    tabs(out, tables);
    for (index, table) in tables.iter().enumerate() {
        let hidden = if index == 0 { "" } else { " data-later" };
        let _ = write!(
            out,
            "<div class=\"panel\" role=\"tabpanel\" id=\"panel-{0}\" aria-labelledby=\"tab-{0}\" data-by=\"{0}\"{hidden}>\
             <p class=\"soft\">{1}</p><div class=\"scroll\">",
            table.by, table.note
        );
        if table.by == Dimension::Element.name() {
            elements::strips(out, scene);
        }
        write_table(out, scene, table);
        out.push_str("</div><p class=\"more needs-js\"></p></div>");
    }
    out.push_str("</section>");
}

fn tabs(out: &mut String, tables: &[GroupTable]) {
    out.push_str("<div class=\"tools needs-js\"><div class=\"tabs\" role=\"tablist\" aria-label=\"Group by\">");
    for (index, table) in tables.iter().enumerate() {
        let _ = write!(
            out,
            "<button role=\"tab\" id=\"tab-{0}\" aria-controls=\"panel-{0}\" aria-selected=\"{1}\"{3}>{2}</button>",
            table.by,
            index == 0,
            table.title,
            if index == 0 { "" } else { " tabindex=\"-1\"" }
        );
    }
    out.push_str(
        "</div><input type=\"search\" id=\"filter\" placeholder=\"Filter by name\" aria-label=\"Filter by name\"></div>",
    );
}

const HEADS: [(&str, &str); 6] = [
    ("misses", "Misses"),
    ("share", "Share"),
    ("ratio", "Miss ratio"),
    ("accesses", "Accesses"),
    ("cold", "First touches"),
    ("mean", "Mean distance"),
];

fn write_table(out: &mut String, scene: &Scene, table: &GroupTable) {
    let _ = write!(
        out,
        "<table class=\"groups\"><thead><tr><th scope=\"col\" data-key=\"name\">{}</th>",
        table.head
    );
    for (key, head) in HEADS {
        let head = match key {
            "cold" => format!("{head}{}", scene.or_invalidated()),
            _ => head.to_owned(),
        };
        let sort = if key == "misses" {
            " aria-sort=\"descending\""
        } else {
            ""
        };
        let _ = write!(
            out,
            "<th scope=\"col\" data-key=\"{key}\"{sort}>{head}</th>"
        );
    }
    out.push_str("</tr></thead><tbody>");
    let mut rows: Vec<(u64, &GroupRow)> = table
        .rows
        .iter()
        .map(|row| (row.histogram.misses(scene.chosen.items), row))
        .collect();
    rows.sort_by_key(|(misses, _)| std::cmp::Reverse(*misses));
    let all = scene.misses(scene.chosen.items);
    let shown = shown(&rows, all);
    for (misses, row) in rows.iter().take(shown) {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(&row.name));
        cells(out, scene, &row.histogram, *misses, all);
        let mean = row.mean.map_or("—".to_owned(), |mean| {
            caches::size(mean.round() as u64, scene.profile.granularity)
        });
        let _ = write!(out, "<td>{mean}</td></tr>");
    }
    out.push_str("</tbody>");
    if let Some((groups, rest)) = &table.left_out {
        let name = reuselens_document::numbers::noun(*groups as u64, "more group", "more groups");
        let _ = write!(out, "<tfoot><tr><th scope=\"row\">{name}, together</th>");
        cells(out, scene, rest, rest.misses(scene.chosen.items), all);
        out.push_str("<td></td></tr></tfoot>");
    }
    out.push_str("</table>");
    if rows.len() > shown {
        let _ = write!(
            out,
            "<noscript><p class=\"more\">The first {shown} of {}; JavaScript shows all.</p></noscript>",
            rows.len()
        );
    }
}

fn cells(
    out: &mut String,
    scene: &Scene,
    histogram: &reuselens_locality::FineHistogram,
    misses: u64,
    all: u64,
) {
    let accesses = histogram.accesses();
    let width = misses as f64 / all.max(1) as f64 * 100.0;
    let _ = write!(
        out,
        "<td title=\"{}\">{}</td><td class=\"share\">{}<i style=\"width:{:.1}%\"></i></td><td>{}</td>\
         <td title=\"{}\">{}</td><td>{}</td>",
        grouped(misses),
        count(misses),
        percent(misses.min(all), all),
        width.min(100.0),
        percent(misses, accesses),
        grouped(accesses),
        count(accesses),
        count(histogram.cold()),
    );
    let _ = scene;
}
