//! [`placement_text`]: a plan as text for a terminal.

use std::fmt::Write;

use reuselens_document::numbers::{count, percent, ratio_percent};
use reuselens_document::terminal::{Paint, TextStyle, heading, wrap};
use reuselens_document::{Table, TableColumn};
use reuselens_locality::total;
use reuselens_placement::{LINE_FILL_BUFFERS, Objective, Placed, PlacementPlan, Reason, TierScope};
use reuselens_units::{Bytes, counted, shown};

use super::objects::objects;
use super::phases::{contexts, phases};
use super::{PlacementReport, reason, tier};
use crate::text::warnings;
use crate::words;

/// What is missing in a profile that was made without `--placement`.
const WITHOUT_DATA: &str = "objects are planned undivided and as live all the time; profile with \
                            --placement for chunks of large objects, lifetimes and footprints";

/// A plan as text for a terminal: what was planned for, the objects by falling F with what decides
/// about each, the tiers, and how well each rule does. At most `top` objects are shown; those with
/// less than a thousandth of the accesses and of the misses are only counted. `width` is that of
/// the terminal, 60 at least. Ends with a line break.
pub fn placement_text(report: &PlacementReport, top: usize, width: usize, color: bool) -> String {
    let PlacementReport {
        name,
        profile,
        plan,
        prediction,
    } = *report;
    let (paint, width) = (Paint::new(color), width.max(60));
    let mut out = String::new();
    let label = paint.ink(TextStyle::Soft, &format!("{:<9}", "profile"));
    let text = format!("{}: {}", shown(name), words::command(profile));
    let _ = writeln!(out, "{label} {}", wrap(&text, width, 10));
    if !profile.method.exact {
        let text =
            "the profile is an estimate, and so is all that follows; no bound below covers that";
        let warning = paint.ink(TextStyle::Warn, "warning:");
        let _ = writeln!(out, "{warning}  {}", wrap(text, width, 10));
    }
    let predicted = prediction.map(|prediction| prediction.lines(plan));
    for (label, text) in predicted.into_iter().flatten() {
        let label = paint.ink(TextStyle::Soft, &format!("{label:<9}"));
        let _ = writeln!(out, "{label} {}", wrap(&shown(&text), width, 10));
    }
    head(&mut out, plan, width, paint);
    objects(&mut out, report, top, width, paint);
    tiers(&mut out, plan, width, paint);
    rules(&mut out, plan, width, paint);
    contexts(&mut out, plan, width, paint);
    phases(&mut out, plan, width, paint);
    warnings(&mut out, &profile.warnings, width, paint);
    out
}

fn head(out: &mut String, plan: &PlacementPlan, width: usize, paint: Paint) {
    let mut line = |name: &str, text: &str| {
        let name = paint.ink(TextStyle::Soft, &format!("{name:<9}"));
        let _ = writeln!(out, "{name} {}", wrap(&shown(text), width, 10));
    };
    line("machine", &plan.machine.name);
    if !plan.machine.source.is_empty() {
        line("values", plan.machine.source.trim());
    }
    line("objective", &objective(plan));
    line("data", &data(plan));
    if !plan.has_data {
        line("note", WITHOUT_DATA);
    }
    if let Some(text) = left_out(plan) {
        line("left out", &text);
    }
    if plan.is_all_cached() {
        line("note", &all_cached(plan));
    }
    if plan.objective == Objective::Time {
        line("saves", &saved_time(plan.best.value));
    }
    for &tier in &plan.gainless {
        let (tier, slowest) = (&plan.machine.tiers[tier].name, &plan.machine.slowest().name);
        line(
            "note",
            &format!("{tier} gains nothing over {slowest} by this objective"),
        );
    }
}

/// The objective, and what it counts.
pub(super) fn objective(plan: &PlacementPlan) -> String {
    match plan.objective {
        Objective::F => "f: accesses, whoever serves them".to_owned(),
        Objective::Misses => format!(
            "misses: accesses that {} of cache in front do not serve ({})",
            plan.cache.bytes,
            cache_model(plan)
        ),
        Objective::Time => format!(
            "time: what accesses that {} of cache do not serve ({}) wait for latency and bandwidth, \
             {} at a time{} (a model, not a measurement)",
            plan.cache.bytes,
            cache_model(plan),
            plan.machine.parallelism_of(1),
            plan.assumed_threads
                .map_or_else(String::new, |threads| format!(
                    ": {LINE_FILL_BUFFERS} line-fill buffers for each of {}, or else --parallelism",
                    counted(threads as u64, "thread", "threads")
                ))
        ),
    }
}

/// What the cache in front is taken for.
fn cache_model(plan: &PlacementPlan) -> String {
    match plan.cache.ways {
        0 => "fully associative LRU".to_owned(),
        ways => format!("{ways}-way LRU, expected"),
    }
}

/// What the plan saves by the objective `time`. Its unit is that of the machine file's latencies,
/// which are ns wherever its bandwidths mean anything.
fn saved_time(nanoseconds: f64) -> String {
    let (time, unit) = match nanoseconds {
        time if time < 1e3 => (time, "ns"),
        time if time < 1e6 => (time / 1e3, "µs"),
        time if time < 1e9 => (time / 1e6, "ms"),
        time => (time / 1e9, "s"),
    };
    format!(
        "{time:.3} {unit} of waiting for memory, by the model with the machine file's latencies as ns"
    )
}

/// Why the plan says little where all data is in the cache, and what to type.
fn all_cached(plan: &PlacementPlan) -> String {
    format!(
        "all data of the program ({}) fits into {} of cache, so only first accesses miss and this \
         plan says little; profile a larger input, or add --cache SIZE with less than {0} (as in \
         --cache L2), or --objective f",
        plan.footprint, plan.cache.bytes
    )
}

/// The objects that are left out though their sizes are known; `None` if there are none.
fn left_out(plan: &PlacementPlan) -> Option<String> {
    let others = &plan.others;
    let groups = [
        (&others.loader, "of the dynamic loader"),
        (&others.small, "static and smaller than a page"),
        (&others.negligible, "negligible (together below 0.1 %)"),
    ];
    let groups = groups.iter().filter(|(group, _)| group.objects > 0);
    let texts: Vec<String> = groups
        .map(|(group, what)| {
            let share = percent(group.accesses, plan.accesses);
            format!("{} {what} with {share} of the accesses", group.objects)
        })
        .collect();
    (!texts.is_empty()).then(|| {
        format!(
            "objects that cannot be placed alone or do not matter: {}",
            texts.join(", ")
        )
    })
}

/// What can be placed, and what cannot.
fn data(plan: &PlacementPlan) -> String {
    let others = &plan.others;
    let unplaceable = [
        ("stacks", others.stack),
        ("unknown memory", others.unknown),
        ("objects of unknown size", others.no_size),
    ];
    let shares: Vec<String> = unplaceable
        .iter()
        .filter(|(_, accesses)| *accesses > 0)
        .map(|(what, accesses)| format!("{what} {}", percent(*accesses, plan.accesses)))
        .collect();
    let bytes = total(plan.tiers.iter().map(|tier| tier.bytes));
    let mut text = format!(
        "{} accesses; {} objects can be placed, {} together",
        count(plan.accesses),
        plan.objects.len(),
        Bytes(bytes)
    );
    if !shares.is_empty() {
        let _ = write!(
            text,
            "; not placed: {} of the accesses, together {} of the misses",
            shares.join(", "),
            percent(others.misses, plan.misses)
        );
    }
    text
}

/// The heads of [`object_table`].
const OBJECT_HEADS: [&str; 9] = [
    "rank",
    "object",
    "size",
    "accesses",
    "share",
    "F",
    "misses",
    "threads",
    "belongs in",
];

/// An object as the cells of a table.
fn object_row(plan: &PlacementPlan, rank: usize, placed: &Placed) -> Vec<String> {
    let object = &placed.candidate;
    let belongs = match placed.reason {
        Reason::Placed => tier(plan, placed),
        _ => format!("{}: {}", tier(plan, placed), reason(placed)),
    };
    let threads = match object.owner() {
        Some(thread) => format!("only {thread}"),
        None => object.by_thread.len().to_string(),
    };
    vec![
        (rank + 1).to_string(),
        object.name.clone(),
        Bytes(object.bytes).to_string(),
        count(object.accesses),
        percent(object.accesses, plan.accesses),
        format!("{:.2}", object.frequency()),
        count(object.misses),
        threads,
        belongs,
    ]
}

/// These objects of the plan, each with its rank, as a table.
pub(super) fn object_table(plan: &PlacementPlan, objects: &[(usize, &Placed)]) -> Table {
    let row = |(rank, placed): &(usize, &Placed)| object_row(plan, *rank, placed);
    let columns = TableColumn::all(&OBJECT_HEADS, &[1, 7, 8]);
    Table::new(columns, objects.iter().map(row))
}

fn tiers(out: &mut String, plan: &PlacementPlan, width: usize, paint: Paint) {
    heading(out, "What each tier holds", "", width, paint);
    let columns = [
        TableColumn::words("tier"),
        TableColumn::numbers("capacity"),
        TableColumn::numbers("used"),
        TableColumn::numbers("objects"),
        TableColumn::numbers("accesses"),
        TableColumn::numbers("misses"),
    ];
    let cells: Vec<Vec<String>> = plan
        .machine
        .tiers
        .iter()
        .zip(&plan.tiers)
        .map(|(tier, used)| {
            let each = match tier.scope {
                TierScope::Machine => "",
                TierScope::Core => " a core",
            };
            let capacity = tier.capacity.map(|size| format!("{size}{each}"));
            let capacity = capacity.unwrap_or_else(|| "—".to_owned());
            vec![
                tier.name.clone(),
                capacity,
                if used.peak < used.bytes {
                    format!("{}, {} at one time", Bytes(used.bytes), Bytes(used.peak))
                } else {
                    Bytes(used.bytes).to_string()
                },
                used.objects.to_string(),
                percent(used.accesses, plan.accesses),
                percent(used.misses, plan.misses),
            ]
        })
        .collect();
    Table::new(columns, cells).write_text(out, width, paint);
}

fn rules(out: &mut String, plan: &PlacementPlan, width: usize, paint: Paint) {
    let best = &plan.best;
    let aside = if best.is_proven {
        "(no placement is better than this plan)".to_owned()
    } else {
        format!(
            "(a better one gains {} more at most)",
            ratio_percent(best.gap())
        )
    };
    heading(out, "How well each rule does", &aside, width, paint);
    rule_table(plan).write_text(out, width, paint);
}

/// A row for each rule, and one for the plan.
pub(super) fn rule_table(plan: &PlacementPlan) -> Table {
    let best = &plan.best;
    let share = |value: f64| {
        if best.value > 0.0 {
            ratio_percent(value.max(0.0) / best.value)
        } else {
            "—".to_owned()
        }
    };
    let mut cells: Vec<Vec<String>> = plan
        .rules
        .iter()
        .map(|rule| {
            vec![
                rule.name.to_owned(),
                share(rule.value),
                rule.placed.to_string(),
                Bytes(rule.bytes).to_string(),
                rule.summary.to_owned(),
            ]
        })
        .collect();
    let placed = plan.objects.iter();
    let placed = placed.filter(|placed| placed.reason == Reason::Placed);
    let sizes: Vec<u64> = placed.map(|placed| placed.candidate.bytes).collect();
    cells.push(vec![
        "this plan".to_owned(),
        share(best.value),
        sizes.len().to_string(),
        Bytes(sizes.iter().sum()).to_string(),
        "branch and bound over all placements".to_owned(),
    ]);
    let heads = ["rule", "of the best", "objects", "bytes", "how"];
    Table::new(TableColumn::all(&heads, &[0, 4]), cells)
}
