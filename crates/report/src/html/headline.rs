//! The top of a page: the command, the facts, and the result in two or three sentences.

use std::fmt::Write;

use reuselens_document::html::with_code;
use reuselens_document::html::{escape, percent};
use reuselens_document::numbers::{count, grouped};
use reuselens_profile::Warning;
use reuselens_units::Bytes;

use super::scene::Scene;
use crate::caches::Level;
use crate::words;

/// Appends the command, the facts and the headline.
pub(crate) fn write(out: &mut String, scene: &Scene, title: &str) {
    let command = words::command(scene.profile);
    let title = if title.is_empty() {
        command.as_str()
    } else {
        title
    };
    let _ = write!(out, "<h1>{}", escape(title));
    if scene.profile.is_truncated() {
        let _ = write!(out, " <span class=\"cut\">{}</span>", words::TRUNCATED);
    }
    out.push_str("</h1><ul class=\"facts\">");
    for fact in facts(scene) {
        let _ = write!(out, "<li>{}</li>", escape(&fact));
    }
    let _ = write!(out, "</ul>\n<p class=\"lead\">{}</p>\n", lead(scene));
    if scene.accesses > 0 {
        tiles(out, scene);
    }
    warnings(out, &scene.profile.warnings);
}

fn facts(scene: &Scene) -> Vec<String> {
    let profile = scene.profile;
    let mut facts = vec![words::outcome(&profile.outcome)];
    if !profile.machine.processor.is_empty() {
        facts.push(profile.machine.processor.clone());
    }
    facts.push(words::engine(&profile.method));
    facts.push(format!(
        "{}, {}",
        scene.items(),
        words::filter(&profile.method)
    ));
    facts
}

/// The result in two or three sentences. HTML.
fn lead(scene: &Scene) -> String {
    if scene.accesses == 0 {
        return words::NOTHING.to_owned();
    }
    let level = &scene.chosen;
    let misses = scene.misses(level.items);
    if !level.is_known(scene.profile) {
        return format!(
            "Of {}<span class=\"num\">{}</span> accesses <b>{}</b> miss in {}. Which of them is not \
             known: the estimate is too wide for that.",
            words::about_all(&scene.profile.method),
            count(scene.accesses),
            escape(&level.miss_ratio(scene.profile)),
            cache_words(level)
        );
    }
    let mut text = format!(
        "<span class=\"num\"><span class=\"miss-word\">{}</span> of {}</span> accesses (<b>{}</b>) miss in {}",
        count(misses),
        count(scene.accesses),
        escape(&level.miss_ratio(scene.profile)),
        cache_words(level)
    );
    let is_exact = scene.profile.method.exact;
    if is_exact && misses == scene.cold && scene.profile.method.max_distance.is_none() {
        text.push_str(match scene.profile.invalidations() {
            Some(1..) => ": every one of them is the first touch of its data, or another thread's store had invalidated them. All other reuses hit.",
            _ => ": every one of them is the first touch of its data. All reuses hit.",
        });
        return text;
    }
    text.push('.');
    text.push_str(&culprit(scene, misses));
    text.push_str(&next_level(scene));
    text
}

fn cache_words(level: &Level) -> String {
    match &level.name {
        Some(name) => format!("an {name} cache of {}", level.size),
        None => format!("a cache of {}", level.size),
    }
}

/// Which line and data cause most of the misses.
fn culprit(scene: &Scene, misses: u64) -> String {
    let items = scene.chosen.items;
    let cross = scene.cross.iter();
    let Some(worst) = cross.max_by_key(|cross| cross.group.misses(items)) else {
        return String::new();
    };
    let part = worst.group.misses(items);
    if part * 20 < misses || worst.group.name.starts_with('(') {
        return String::new();
    }
    format!(
        " <b>{}</b> of these misses come from <code>{}</code> at <code>{}</code>.",
        percent(part.min(misses), misses),
        escape(&worst.name),
        escape(&worst.group.name)
    )
}

/// A sentence about the misses in the next larger cache.
fn next_level(scene: &Scene) -> String {
    let Some(next) = scene
        .levels
        .iter()
        .find(|level| level.items > scene.chosen.items)
    else {
        return String::new();
    };
    let misses = scene.misses(next.items);
    let ratio = escape(&next.miss_ratio(scene.profile));
    if misses == scene.cold && scene.profile.method.exact {
        format!(
            " {} holds all reuses: only first touches{} ({ratio}) go past it.",
            next.label(),
            scene
                .or_invalidated()
                .replace("invalidated", "what was invalidated")
        )
    } else if scene.profile.method.exact {
        format!(" {ratio} also miss in {}.", next.label())
    } else {
        format!(" In {}, {ratio} miss.", next.label())
    }
}

fn tiles(out: &mut String, scene: &Scene) {
    out.push_str("<dl class=\"tiles\">");
    let mut tile = |name: &str, value: String, small: String| {
        let _ = write!(
            out,
            "<div class=\"tile\"><dt>{name}</dt><dd>{value}<small>{small}</small></dd></div>"
        );
    };
    tile(
        "Accesses",
        format!(
            "{}{}",
            words::about_all(&scene.profile.method),
            count(scene.accesses)
        ),
        format!(
            "by {} {}",
            count(scene.profile.references),
            words::kinds(&scene.profile.method)
        ),
    );
    if scene.profile.method.max_distance.is_some() {
        let share = percent(scene.cold, scene.accesses);
        tile("No distance told", share, words::cold(scene.profile));
    } else {
        distinct_tiles(scene, &mut tile);
    }
    for level in &scene.levels {
        let misses = scene.misses(level.items);
        let of_size = if level.is_known(scene.profile) {
            format!("{} in {}", count(misses), level.size)
        } else {
            format!("in {}", level.size)
        };
        let name = format!("Miss in {}", level.short());
        tile(&name, escape(&level.miss_ratio(scene.profile)), of_size);
    }
    out.push_str("</dl>");
}

/// Appends the tiles about the distinct data.
fn distinct_tiles(scene: &Scene, tile: &mut impl FnMut(&str, String, String)) {
    let distinct = scene.profile.first_touches();
    let memory = match &scene.profile.requested_bytes {
        Some(bytes) => Bytes(bytes.cold()).to_string(),
        None => crate::caches::size(distinct, scene.profile.granularity),
    };
    let about = words::about(&scene.profile.method);
    let number = format!("{about}{}", grouped(distinct));
    let what = if scene.in_bytes() {
        format!("{number} {}", scene.items())
    } else {
        "distinct items".into()
    };
    let what = what + words::summed(&scene.profile.method);
    tile(
        "Distinct data",
        if scene.in_bytes() { memory } else { number },
        what,
    );
    tile(
        "First touches",
        percent(distinct, scene.accesses),
        "miss in any cache".into(),
    );
    if let Some(lost) = scene.profile.invalidations() {
        tile(
            "Invalidated",
            percent(lost, scene.accesses),
            "by another thread's store: miss in any cache".into(),
        );
    }
}

/// Appends the warnings.
pub(crate) fn warnings(out: &mut String, warnings: &[Warning]) {
    if warnings.is_empty() {
        return;
    }
    out.push_str("<ul class=\"warnings\" aria-label=\"Warnings\">");
    for warning in warnings {
        let hint = if warning.hint.is_empty() {
            String::new()
        } else {
            format!(
                " <span class=\"hint\">To do: {}.</span>",
                with_code(warning.hint.trim_end_matches('.'))
            )
        };
        let _ = write!(
            out,
            "<li><b>{}.</b>{hint} <code>{}</code></li>",
            with_code(warning.message.trim_end_matches('.')),
            escape(&warning.code)
        );
    }
    out.push_str("</ul>");
}
