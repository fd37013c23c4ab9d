//! [`summary`]: a profile on one screen of a terminal.

mod bars;
mod paths;
mod tables;
mod times;
mod visits;

use std::fmt::Write;

use reuselens_document::numbers::{count, grouped, percent};
use reuselens_document::terminal::{Paint, TextStyle, wrap};
use reuselens_document::{Table, TableColumn};
use reuselens_profile::{CacheSize, Dimension, Profile, Warning};

use crate::caches::{self, Level};
use crate::{ShownProfile, advice, causes, conflicts, weights, words};

/// What the summary shows, and how.
#[derive(Clone, Debug)]
pub struct TextOptions {
    /// The cache whose misses the tables count; `None` = the one in which the misses of reuses cost
    /// the most time.
    pub cache: Option<CacheSize>,
    /// Columns of the terminal; 60 at least.
    pub width: usize,
    /// Whether to colour: the caller knows whether this goes to a terminal, and about `NO_COLOR`.
    pub color: bool,
    /// Rows of each table.
    pub top: usize,
    /// Dimensions to make tables of. Lines are shown with the objects that they miss on.
    pub by: Vec<Dimension>,
}

impl Default for TextOptions {
    fn default() -> Self {
        let by = vec![Dimension::Line, Dimension::Function];
        TextOptions {
            cache: None,
            width: 90,
            color: false,
            top: 5,
            by,
        }
    }
}

/// The profile as text for a terminal: what was run and what was seen, the histogram with the
/// machine's caches marked, the misses at each cache, and where most of them come from. About forty
/// lines with the default options. Ends with a line break.
pub fn summary(profile: &Profile, options: &TextOptions) -> String {
    summary_of(&ShownProfile::new(profile), options)
}

/// As [`summary`], of a profile that is shown in other ways too.
pub fn summary_of(shown: &ShownProfile<'_>, options: &TextOptions) -> String {
    let (profile, grouping) = (shown.profile(), shown.grouping());
    let paint = Paint::new(options.color);
    let width = options.width.max(60);
    let levels = caches::levels(profile);
    let chosen = caches::chosen(profile, options.cache);
    let mut out = String::new();
    head(&mut out, profile, &levels, width, paint);
    if profile.histogram.accesses() == 0 {
        let _ = writeln!(out, "\n{}", words::NOTHING);
    } else {
        totals(&mut out, profile, width, paint);
        times::write(&mut out, profile, &chosen, width);
        bars::histogram(&mut out, profile, &levels, width, paint);
        let asked = options.cache.filter(|cache| cache.ways > 0);
        weighted_misses(&mut out, profile, paint);
        which_miss_ratio(
            &mut out,
            profile,
            &levels,
            asked.map(|_| &chosen),
            width,
            paint,
        );
        paths::write(&mut out, profile, width, paint);
        tables::misses(&mut out, grouping, options, &chosen, width, paint);
        visits::write(&mut out, profile, options, width, paint);
        advice::write_first(&mut out, shown, width, paint);
        causes::write_text(&mut out, profile, width, paint);
    }
    warnings(&mut out, &profile.warnings, width, paint);
    out
}

fn head(out: &mut String, profile: &Profile, levels: &[Level], width: usize, paint: Paint) {
    let _ = write!(
        out,
        "{}",
        paint.ink(TextStyle::Strong, &words::command(profile))
    );
    if profile.is_truncated() {
        let _ = write!(out, "  {}", paint.ink(TextStyle::Warn, words::TRUNCATED));
    }
    out.push('\n');
    let method = format!(
        "{}; {}; {}",
        words::engine(&profile.method),
        if profile.requested_bytes.is_some() {
            words::weighed(profile.granularity)
        } else {
            words::items(profile.granularity)
        },
        words::filter(&profile.method)
    );
    let facts = [
        (
            "seen",
            words::or(&profile.method.source, "not stated").to_owned(),
        ),
        ("order", words::order(&profile.method)),
        ("method", method),
        ("machine", machine(profile, levels)),
        ("ended", words::outcome(&profile.outcome)),
    ];
    let partial = profile.warnings.iter().filter(|it| is_partial(it));
    let partial = partial.map(|warning| ("partly", warning.message.clone()));
    let waiting = words::waiting(profile).map(|fact| ("waiting", fact));
    let times = words::engine_steps(&profile.method).map(|fact| ("times", fact));
    let more = times.into_iter().chain(waiting).chain(partial);
    for (name, fact) in facts.into_iter().chain(more) {
        // A run that ended well, and the order of one thread, need no line.
        let plain = name == "ended" && fact == words::outcome(&reuselens_profile::Outcome::Exit(0));
        if plain || (name == "order" && profile.threads.len() < 2) {
            continue;
        }
        let name = paint.ink(TextStyle::Soft, &format!("{name:<8}"));
        let _ = writeln!(out, "{name} {}", wrap(&fact, width, 9));
    }
}

/// The processor, and the caches whose misses are shown or why there are none.
fn machine(profile: &Profile, levels: &[Level]) -> String {
    let caches: Vec<String> = levels
        .iter()
        .map(|level| format!("{} {}", level.short(), level.size))
        .collect();
    let none = if profile.machine.caches.is_empty() {
        "caches not known"
    } else if profile.requested_bytes.is_some() {
        "its caches hold lines, not objects"
    } else if profile.method.ids {
        "its caches say nothing about ids"
    } else {
        "no cache whose misses are known"
    };
    let caches = words::or(&caches.join(", "), none).to_owned();
    match profile.machine.processor.as_str() {
        "" => caches,
        processor => format!("{processor}; {caches}"),
    }
}

/// Whether a warning is about which part of a run was recorded: such warnings are in the head.
pub(crate) fn is_partial(warning: &Warning) -> bool {
    ["left-out", "other-data", "stopped"].contains(&warning.code.as_str())
}

fn totals(out: &mut String, profile: &Profile, width: usize, paint: Paint) {
    if let Some(text) = weights::totals(profile) {
        let _ = writeln!(out, "\n{}", paint.ink(TextStyle::Strong, &text));
        return;
    }
    let about = words::about_all(&profile.method);
    let all = format!("{about}{}", count(profile.histogram.accesses()));
    let (what, cold) = (accesses(profile), first_touches(profile));
    let fits = format!("{all} {what}; {cold}.").chars().count() <= width;
    // The count is coloured after the lines are broken: colours have no columns.
    let what = wrap(&format!("{all} {what}"), width, 0);
    let what = what.strip_prefix(&all).unwrap_or(&what);
    let _ = writeln!(
        out,
        "\n{}{what};{}{}.",
        paint.ink(TextStyle::Strong, &all),
        if fits { " " } else { "\n" },
        if fits {
            cold
        } else {
            wrap(&cold, width - 1, 0)
        }
    );
}

/// The text after the number of accesses: what makes them, and to how much data.
fn accesses(profile: &Profile) -> String {
    let accesses = profile.histogram.accesses();
    let mut text = if accesses == 1 { "access" } else { "accesses" }.to_owned();
    let references = count(profile.references);
    // A few accesses to two items do not change the numbers shown.
    if references != count(accesses) {
        let _ = write!(text, " by {references} {}", words::kinds(&profile.method));
    }
    if profile.method.max_distance.is_some() {
        return text;
    }
    let distinct = profile.first_touches();
    let mut items = words::items(profile.granularity);
    if distinct == 1 {
        let one = items.trim_end_matches('s');
        items = one.replacen("blocks of", "block of", 1);
    }
    let about = words::about(&profile.method);
    let _ = write!(text, " to {about}{} distinct {items}", grouped(distinct));
    if profile.granularity != reuselens_units::Granularity::BYTE {
        let _ = write!(text, " ({})", caches::size(distinct, profile.granularity));
    }
    text + words::summed(&profile.method)
}

/// Which part of the accesses no cache can hold.
fn first_touches(profile: &Profile) -> String {
    let accesses = profile.histogram.accesses();
    let share = percent(profile.first_touches(), accesses);
    if profile.method.max_distance.is_some() {
        return format!("{share} are a {}", words::cold(profile));
    }
    let lost = profile.invalidations().map_or_else(String::new, |lost| {
        let share = percent(lost, accesses);
        format!(", and {share} find it invalidated by another thread's store")
    });
    format!("{share} are first touches{lost}")
}

/// What misses in caches of objects, if those were weighed.
fn weighted_misses(out: &mut String, profile: &Profile, paint: Paint) {
    let table = weights::table(profile);
    if table.rows.is_empty() {
        return;
    }
    let title = paint.ink(
        TextStyle::Strong,
        "What misses in a cache of objects (LRU model)",
    );
    let _ = writeln!(out, "\n{title}");
    table.write_text(out, usize::MAX, paint);
}

/// What misses in the machine's caches, and in one with ways that was asked for.
fn which_miss_ratio(
    out: &mut String,
    profile: &Profile,
    levels: &[Level],
    asked: Option<&Level>,
    width: usize,
    paint: Paint,
) {
    let asked = asked.filter(|asked| !levels.contains(asked));
    if levels.is_empty() && asked.is_none() {
        return;
    }
    let title = match (levels.is_empty(), asked) {
        (_, None) => "What misses in this machine's caches (LRU model)",
        (true, _) => "What misses in the cache asked for (LRU model)",
        (false, _) => "What misses in this machine's caches and the one asked for (LRU model)",
    };
    let histogram = &profile.histogram;
    let accesses = histogram.accesses();
    let shown: Vec<Level> = levels.iter().chain(asked).cloned().collect();
    let _ = writeln!(out, "\n{}", paint.ink(TextStyle::Strong, title));
    let columns = [
        TableColumn::words("cache"),
        TableColumn::numbers("misses"),
        TableColumn::numbers("fully associative"),
        TableColumn::numbers(caches::with_sets_head(&shown, profile)),
    ];
    let cells: Vec<Vec<String>> = shown
        .iter()
        .map(|level| {
            let misses = histogram.misses(level.items);
            let sets = level.with_sets(profile);
            let sets = sets.filter(|_| level.is_known(profile));
            let name = level.name.as_deref().unwrap_or_default();
            vec![
                format!("{name} {}", level.size).trim_start().to_owned(),
                if level.is_known(profile) {
                    count(misses)
                } else {
                    "—".to_owned()
                },
                level.miss_ratio(profile),
                sets.map_or("—".into(), |sets| percent(sets.misses, accesses)),
            ]
        })
        .collect();
    Table::new(columns, cells).write_text(out, usize::MAX, paint);
    if let Some(conflicts) = conflicts::sentence(&[("", profile)], &shown) {
        let _ = writeln!(out, "  {}", wrap(&conflicts, width, 2));
    }
}

/// Appends the warnings, each with what to do.
pub(crate) fn warnings(out: &mut String, warnings: &[Warning], width: usize, paint: Paint) {
    let rest = warnings.iter().filter(|warning| !is_partial(warning));
    for (index, warning) in rest.enumerate() {
        let gap = if index == 0 { "\n" } else { "" };
        let _ = writeln!(
            out,
            "{gap}{} {}",
            paint.ink(TextStyle::Warn, "warning:"),
            wrap(&warning.message, width, 9)
        );
        if !warning.hint.is_empty() {
            let _ = writeln!(
                out,
                "{}     {}",
                paint.ink(TextStyle::Soft, "try:"),
                wrap(&warning.hint, width, 9)
            );
        }
    }
}
