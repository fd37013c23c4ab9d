//! Contexts and phases of a plan, as text: wording that the page shares.

use std::collections::BTreeSet;

use reuselens_placement::{ContextAdvice, ContextUse, Phase, PhaseVerdict, PlacementPlan};
use reuselens_profile::Frame;
use reuselens_units::counted;

use super::calls;
use crate::numbers::{count, count_or_dash, percent, ratio_percent};
use crate::text::{Paint, TextColumn, heading, rows};

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
    let columns = columns(&CONTEXT_HEADS, 1);
    rows(out, &columns, &context_rows(plan), width, paint);
}

/// Columns of numbers after one of words and before the `last` ones of words.
fn columns(heads: &[&str], last: usize) -> Vec<TextColumn> {
    let words = heads.len() - last;
    let column = |(at, head): (usize, &&str)| match at == 0 || at >= words {
        true => TextColumn::left(head),
        false => TextColumn::right(head),
    };
    heads.iter().enumerate().map(column).collect()
}

/// The heads of [`context_rows`].
pub(super) const CONTEXT_HEADS: [&str; 6] = [
    "context",
    "accesses",
    "misses",
    "footprint",
    "entries",
    "what that means",
];

/// A row for each context.
pub(super) fn context_rows(plan: &PlacementPlan) -> Vec<Vec<String>> {
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
    plan.phases.contexts.iter().map(row).collect()
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
    let columns = columns(&PHASE_HEADS, 2);
    rows(out, &columns, &phase_rows(plan), width, paint);
}

/// The heads of [`phase_rows`].
pub(super) const PHASE_HEADS: [&str; 8] = [
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
pub(super) fn phase_rows(plan: &PlacementPlan) -> Vec<Vec<String>> {
    let phases = &plan.phases.phases;
    let row = |phase: &Phase| {
        let of_own = |value: f64| match phase.value_own > 0.0 {
            true => part_or_times(value / phase.value_own),
            false => "—".to_owned(),
        };
        let [verdict, pays] = verdict(plan, phase);
        vec![
            with_calls(&phase.function, &phase.calls, calls_needed(phases, phase)),
            percent(phase.accesses, plan.accesses),
            count_or_dash(phase.entries),
            of_own(phase.value_own - phase.value_whole),
            phase.moved.to_string(),
            phase.cost.map_or_else(|| "—".to_owned(), of_own),
            verdict,
            pays,
        ]
    };
    phases.iter().map(row).collect()
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
    match ratio < 10.0 {
        true => ratio_percent(ratio),
        false => format!("× {}", count(ratio as u64)),
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
    match factor < 100.0 {
        true => format!("{factor:.1} times"),
        false => format!("{} times", count(factor as u64)),
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
