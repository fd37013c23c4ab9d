//! Contexts and phases of a plan, as text: wording that the page shares.

use std::collections::BTreeSet;

use reuselens_document::numbers::{count, count_or_dash, percent, ratio_percent};
use reuselens_document::terminal::{Paint, heading};
use reuselens_document::{Table, TableColumn};
use reuselens_placement::{ContextAdvice, ContextUse, Phase, PhaseVerdict, PlacementPlan};
use reuselens_profile::Frame;
use reuselens_units::counted;

use super::calls;

/// Contexts as a table: what each accesses, and what the rule of footprints says of it. Nothing is
/// written without placement data.
pub(super) fn contexts(out: &mut String, plan: &PlacementPlan, width: usize, paint: Paint) {
    if !plan.has_data {
        return;
    }
    let aside = "(with 5 % of the accesses at least)";
    heading(
        out,
        "Calling contexts by what they access",
        aside,
        width,
        paint,
    );
    context_table(plan).write_text(out, width, paint);
}

/// The heads of [`context_table`].
const CONTEXT_HEADS: [&str; 6] = [
    "context",
    "accesses",
    "misses",
    "footprint",
    "entries",
    "what that means",
];

/// A row for each context.
pub(super) fn context_table(plan: &PlacementPlan) -> Table {
    let first = plan
        .phases
        .contexts
        .iter()
        .map(|it| it.depth)
        .min()
        .unwrap_or(0);
    // Rows of one caller are below it, so that the line of the call distinguishes them.
    let alike = |one: &ContextUse, other: &ContextUse| {
        let same = |a: Option<&Frame>, b: Option<&Frame>| {
            a.map(|call| &call.function) == b.map(|call| &call.function)
        };
        one.context != other.context
            && (one.depth, &one.function) == (other.depth, &other.function)
            && same(one.calls.first(), other.calls.first())
    };
    let row = |context: &ContextUse| {
        let indent = "· ".repeat((context.depth - first).min(12));
        let has_twin = plan
            .phases
            .contexts
            .iter()
            .any(|other| alike(context, other));
        vec![
            format!(
                "{indent}{}",
                with_calls(&context.function, &context.calls, has_twin.into())
            ),
            percent(context.accesses, plan.accesses),
            percent(context.misses, plan.misses),
            context
                .footprint
                .map_or_else(|| "—".to_owned(), |bytes| bytes.to_string()),
            count_or_dash(context.entries),
            advice(context.advice).to_owned(),
        ]
    };
    let columns = TableColumn::all(&CONTEXT_HEADS, &[0, 5]);
    Table::new(columns, plan.phases.contexts.iter().map(row))
}

fn advice(advice: ContextAdvice) -> &'static str {
    match advice {
        ContextAdvice::OptimiseFirst => "optimise first",
        ContextAdvice::LittleReuse => "little reuse",
        ContextAdvice::FitsCache => "fits the cache",
        ContextAdvice::Unknown => "—",
    }
}

/// A context's advice as a word of JSON.
pub(super) fn advice_word(advice: ContextAdvice) -> &'static str {
    match advice {
        ContextAdvice::OptimiseFirst => "optimise_first",
        ContextAdvice::LittleReuse => "little_reuse",
        ContextAdvice::FitsCache => "fits_cache",
        ContextAdvice::Unknown => "unknown",
    }
}

/// Phases as a table, if there are several.
pub(super) fn phases(out: &mut String, plan: &PlacementPlan, width: usize, paint: Paint) {
    if plan.phases.phases.is_empty() {
        return;
    }
    let title = "Phases, each with a placement of its own";
    heading(
        out,
        title,
        "(moved there at each entry, and back)",
        width,
        paint,
    );
    phase_table(plan).write_text(out, width, paint);
}

/// The heads of [`phase_table`].
const PHASE_HEADS: [&str; 8] = [
    "phase",
    "accesses",
    "entries",
    "gains",
    "moves",
    "costs",
    "verdict",
    "moving pays with",
];

/// A row for each phase. Gains and costs are relative to what the phase's own placement is worth.
pub(super) fn phase_table(plan: &PlacementPlan) -> Table {
    let phases = &plan.phases.phases;
    let row = |phase: &Phase| {
        let of_own = |value: f64| {
            if phase.value_own > 0.0 {
                part_or_times(value / phase.value_own)
            } else {
                "—".to_owned()
            }
        };
        let [verdict, pays] = verdict(plan, phase);
        vec![
            phase_name(phases, phase),
            percent(phase.accesses, plan.accesses),
            count_or_dash(phase.entries),
            of_own(phase.value_own - phase.value_whole),
            phase.moved.to_string(),
            phase.cost.map_or_else(|| "—".to_owned(), of_own),
            verdict,
            pays,
        ]
    };
    let columns = TableColumn::all(&PHASE_HEADS, &[0, 6, 7]);
    Table::new(columns, phases.iter().map(row))
}

/// The function of a phase, with as many of its calls as distinguish it from other phases.
pub(super) fn phase_name(phases: &[Phase], phase: &Phase) -> String {
    with_calls(&phase.function, &phase.calls, calls_needed(phases, phase))
}

/// How many calls distinguish the phases of a phase's function; 0 if there is one.
fn calls_needed(phases: &[Phase], phase: &Phase) -> usize {
    let same = phases
        .iter()
        .filter(|other| other.function == phase.function);
    let paths: Vec<&[Frame]> = same.map(|phase| phase.calls.as_slice()).collect();
    let most = paths.iter().map(|path| path.len()).max().unwrap_or(0);
    let is_enough = |calls: &usize| {
        let cut: BTreeSet<&[Frame]> = paths
            .iter()
            .map(|path| &path[..path.len().min(*calls)])
            .collect();
        cut.len() == paths.len()
    };
    (0..=most).find(is_enough).unwrap_or(most)
}

/// A function with the innermost `count` of its calls: `f < g (a.c:12)`.
pub(super) fn with_calls(function: &str, path: &[Frame], count: usize) -> String {
    let calls = calls(&path[..path.len().min(count)]);
    std::iter::once(function.to_owned())
        .chain(calls)
        .collect::<Vec<_>>()
        .join(" < ")
}

/// A ratio in percent, or as a factor if it is 10 or more: `33.3 %`, `× 6,529`.
fn part_or_times(ratio: f64) -> String {
    if ratio < 10.0 {
        ratio_percent(ratio)
    } else {
        format!("× {}", count(ratio as u64))
    }
}

/// The verdict, and what it would take for moving to pay.
fn verdict(plan: &PlacementPlan, phase: &Phase) -> [String; 2] {
    let words = match phase.verdict {
        PhaseVerdict::Same => ["stay", "—"],
        PhaseVerdict::Move => ["move", "—"],
        PhaseVerdict::DoNotMove {
            most_entries,
            times_accesses,
        } => {
            let accesses = format!("{} the accesses", times(times_accesses));
            let pays = match most_entries {
                0 => accesses,
                most => format!(
                    "at most {}, or {accesses}",
                    counted(most, "entry", "entries")
                ),
            };
            return ["do not move".to_owned(), pays];
        }
        PhaseVerdict::Unknown => match phase.entries {
            Some(1..) => ["unknown", "? (add --machine)"],
            _ if plan.has_data => ["unknown", "? (entries were not counted)"],
            _ => ["unknown", "? (profile with --placement)"],
        },
    };
    words.map(str::to_owned)
}

/// `2.3 times`, `1,200 times`.
fn times(factor: f64) -> String {
    if factor < 100.0 {
        format!("{factor:.1} times")
    } else {
        format!("{} times", count(factor as u64))
    }
}

/// A phase's verdict as a word of JSON.
pub(super) fn verdict_word(verdict: PhaseVerdict) -> &'static str {
    match verdict {
        PhaseVerdict::Same => "same",
        PhaseVerdict::Move => "move",
        PhaseVerdict::DoNotMove { .. } => "do_not_move",
        PhaseVerdict::Unknown => "unknown",
    }
}
