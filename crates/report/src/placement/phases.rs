//! Contexts and phases of a plan, as text: wording that the page shares.

use reuselens_placement::{ContextAdvice, ContextUse, Phase, PhaseVerdict, PlacementPlan};
use reuselens_units::counted;

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
    let columns = columns(&CONTEXT_HEADS);
    rows(out, &columns, &context_rows(plan), width, paint);
}

/// Columns of numbers between two of words.
fn columns(heads: &[&str]) -> Vec<TextColumn> {
    let last = heads.len() - 1;
    let column = |(at, head): (usize, &&str)| match at == 0 || at == last {
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
    let row = |context: &ContextUse| {
        let indent = "· ".repeat((context.depth - first).min(12));
        vec![
            format!("{indent}{}", context.function),
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
    let columns = columns(&PHASE_HEADS);
    rows(out, &columns, &phase_rows(plan), width, paint);
}

/// The heads of [`phase_rows`].
pub(super) const PHASE_HEADS: [&str; 7] = [
    "phase", "accesses", "entries", "gains", "moves", "costs", "verdict",
];

/// A row for each phase. Gains and costs are relative to what this plan is worth in the phase.
pub(super) fn phase_rows(plan: &PlacementPlan) -> Vec<Vec<String>> {
    let row = |phase: &Phase| {
        let of_own = |value: f64| match phase.value_own > 0.0 {
            true => ratio_percent(value / phase.value_own),
            false => "—".to_owned(),
        };
        vec![
            phase.function.clone(),
            percent(phase.accesses, plan.accesses),
            count_or_dash(phase.entries),
            of_own(phase.value_own - phase.value_whole),
            phase.moved.to_string(),
            phase.cost.map_or_else(|| "—".to_owned(), of_own),
            verdict(plan, phase),
        ]
    };
    plan.phases.phases.iter().map(row).collect()
}

fn verdict(plan: &PlacementPlan, phase: &Phase) -> String {
    match phase.verdict {
        PhaseVerdict::Same => "stay: the plan of the run is as good".to_owned(),
        PhaseVerdict::Move => "move".to_owned(),
        PhaseVerdict::DoNotMove {
            most_entries: 0,
            times_accesses,
        } => format!(
            "do not move: pays with {} the accesses",
            times(times_accesses)
        ),
        PhaseVerdict::DoNotMove {
            most_entries,
            times_accesses,
        } => format!(
            "do not move: pays with {} at most, or {} the accesses",
            counted(most_entries, "entry", "entries"),
            times(times_accesses)
        ),
        PhaseVerdict::Unknown => match phase.entries {
            Some(1..) => "unknown: add --machine".to_owned(),
            _ if plan.has_data => "unknown: its entries were not counted".to_owned(),
            _ => "unknown: profile with --placement".to_owned(),
        },
    }
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
