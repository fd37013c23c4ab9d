//! The explaining sections of a page: what a reuse distance is, how to read the pictures, how the
//! numbers were measured.

use std::fmt::Write;

use reuselens_advice::capitalised;
use reuselens_document::html::{escape, percent, with_code};
use reuselens_document::numbers::grouped;

use super::scene::Scene;
use crate::{caches, conflicts, words};

/// What a reuse distance is, with an example.
pub(crate) const REUSE_DISTANCE: &str = "<div class=\"lesson\"><div>\
<p>A <b>reuse distance</b> answers: since this piece of data was last used, how much <i>other</i> data was used? \
Take four accesses, to <code>a</code>, <code>b</code>, <code>c</code>, and <code>a</code> again:</p>\
<ol class=\"beads\"><li class=\"c\"><b>a</b>first</li><li class=\"c\"><b>b</b>first</li><li class=\"c\"><b>c</b>first</li>\
<li class=\"f\"><b>a</b>distance 2</li></ol>\
<p>Between its two uses of <code>a</code> the program used two other items, <code>b</code> and <code>c</code>: the distance is 2. \
Using <code>b</code> five times in between would not change that; only <i>different</i> data count.</p></div><div>\
<p>Why it matters: a cache keeps what was used last. One with room for three items still holds <code>a</code>; one with \
room for two has thrown it out to make room for <code>b</code> and <code>c</code>. So:</p>\
<p><b>An access hits in every cache larger than its distance, and misses in every cache that is not.</b></p>\
<p>The distance belongs to the program and its data, not to the machine. Measured once, it tells what caches of all sizes \
would do. The first use of an item has no distance: it misses in every cache, however large.</p></div></div>";

/// How to read the histogram.
pub(crate) const HISTOGRAM: &str = "Each bar is the part of the accesses whose data was last used <i>that much other data</i> \
ago. A vertical line stands at the size of each cache: <b>bars to its left hit, bars to its right miss</b>. Bars far right are the \
ones to move, by using data again sooner: smaller blocks, another order of loops, fused passes.";

/// How to read the curve.
pub(crate) const CURVE: &str = "Pick a cache size below; the curve says what part of the accesses miss in it. \
<b>A cliff</b> is a working set: just left of it the cache is a little too small for something that the program goes over \
again and again. <b>A plateau</b> says that a larger cache would not help, until the next cliff.";

/// Appends the section that explains the words.
pub(crate) fn reuse_distance(out: &mut String) {
    let _ = write!(
        out,
        "<section id=\"lesson\"><details class=\"card\"><summary><b>New to this? What a reuse distance is, in one minute</b>\
         </summary>{REUSE_DISTANCE}</details></section>"
    );
}

/// Appends the section on how the numbers came about.
pub(crate) fn method(out: &mut String, scene: &Scene) {
    let method = &scene.profile.method;
    out.push_str(
        "<section id=\"method\"><h2>How these numbers came about</h2><dl class=\"method\">",
    );
    // As it was typed: to be copied.
    let command = escape(&words::command(scene.profile));
    let _ = write!(out, "<dt>Command</dt><dd>{command}</dd>");
    let mut row = |name: &str, text: &str| {
        let _ = write!(out, "<dt>{name}</dt><dd>{}</dd>", with_code(text));
    };
    row("Ended", &words::outcome(&scene.profile.outcome));
    row("Accesses seen", words::or(&method.source, "not stated"));
    row("Counted", &words::filter(method));
    if let Some(waiting) = words::waiting(scene.profile) {
        row("Waiting", &waiting);
    }
    row("One item is", &one_item(scene));
    row("Distances", &words::engine(method));
    if let Some(steps) = words::engine_steps(method) {
        row("Time of the engine", &steps);
    }
    row("Order of threads", words::or(&method.order, "not stated"));
    row(
        "Machine",
        words::or(&scene.profile.machine.processor, "not known"),
    );
    let caches: Vec<String> = scene
        .profile
        .machine
        .data_caches()
        .iter()
        .map(|cache| cache.label())
        .collect();
    row("Its caches", words::or(&caches.join(", "), "not known"));
    row(
        "Page shows first",
        &format!("{}: {}", scene.chosen.label(), scene.reason),
    );
    row("Made by", &format!("reuselens {}", scene.profile.version));
    out.push_str("</dl>");
    which_miss_ratio(out, scene);
    glossary(out);
    out.push_str("</section>");
}

fn one_item(scene: &Scene) -> String {
    if scene.profile.requested_bytes.is_some() {
        return words::weighed(scene.profile.granularity);
    }
    if scene.in_bytes() {
        format!(
            "{} bytes of memory; an access that touches two counts twice",
            scene.profile.granularity.bytes()
        )
    } else {
        "one id of the trace".to_owned()
    }
}

/// The table that compares the two models.
fn which_miss_ratio(out: &mut String, scene: &Scene) {
    out.push_str(
        "<h3>Which miss ratio is this?</h3><p class=\"explain\">Everywhere on this page: that of a <b>fully associative LRU \
         cache</b>, which may keep any data anywhere and throws out what was not used for longest. Real caches sort data into \
         sets, so that some data collide early; the number beside it is counted with the sets where the profile has \
         why accesses miss, and otherwise an estimate that takes lines to fall on sets at random. Neither knows of \
         prefetching, of other programs, or of what the hardware really counted.</p>",
    );
    if scene.levels.is_empty() || scene.accesses == 0 {
        return;
    }
    let _ = write!(
        out,
        "<div class=\"scroll\"><table class=\"plain\"><thead><tr><th scope=\"col\">Cache</th><th scope=\"col\">Misses</th>\
         <th scope=\"col\">Fully associative</th><th scope=\"col\">{}</th></tr></thead><tbody>",
        capitalised(caches::with_sets_head(&scene.levels, scene.profile))
    );
    for level in &scene.levels {
        let misses = scene.misses(level.items);
        let sets = level.with_sets(scene.profile);
        let sets = sets.filter(|_| level.is_known(scene.profile));
        let sets = sets.map_or("—".to_owned(), |sets| {
            percent(sets.misses, scene.accesses)
        });
        let ways = level
            .ways()
            .map(|ways| format!(", {ways}"))
            .unwrap_or_default();
        let _ = write!(
            out,
            "<tr><td>{}{ways}</td><td>{}</td><td>{}</td><td>{sets}</td></tr>",
            level.label(),
            grouped(misses),
            escape(&level.miss_ratio(scene.profile))
        );
    }
    out.push_str("</tbody></table></div>");
    if let Some(conflicts) = conflicts::sentence(&[("", scene.profile)], &scene.levels) {
        let _ = write!(out, "<p class=\"more\">{}</p>", escape(&conflicts));
    }
}

fn glossary(out: &mut String) {
    out.push_str(
        "<h3>Words</h3><dl class=\"words\">\
         <dt>Access</dt><dd>One touch of one item by a load or a store.</dd>\
         <dt>Item, line</dt><dd>The piece of memory that counts as the same data; caches move whole lines.</dd>\
         <dt>First touch (cold access)</dt><dd>The first access to an item. No cache can have it yet.</dd>\
         <dt>Reuse distance</dt><dd>How many different other items were accessed since the last access to this one. In bytes: \
         times the size of an item.</dd>\
         <dt>Working set</dt><dd>The data that a part of the program goes over again and again; it shows as a cliff of the \
         curve.</dd>\
         <dt>LRU</dt><dd>Least recently used: a full cache throws out what was not used for longest.</dd></dl>",
    );
}
