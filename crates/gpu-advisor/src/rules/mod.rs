//! The rules: what is wrong with kernels and with what the host does around them, and what to
//! change. One file for each, with its `RULE` and a function `find`.

mod bank_conflicts;
mod distant_sharing;
mod divergent_branch;
mod lost_reuse;
mod no_reuse;
mod out_of_bounds_access;
mod redundant_copies;
mod uncoalesced_access;
mod unused_allocations;

use std::collections::HashMap;

use reuselens_advice::{Cost, Finding, FindingPlace, FindingRule, ranked};
use reuselens_warp::DeviceCall;

use crate::{KernelReport, Ledger, SiteReport, ratio, source_line};

/// Names for numbers in reports.
pub trait KernelNames {
    /// The name of a kernel, or of a device function that it calls, for people.
    fn kernel(&self, kernel: &str) -> String;
    /// The calls of a call path from `main` inwards, each as `function (file:line)`.
    fn call_path(&self, number: u32) -> Vec<String>;
    /// A data object's name.
    fn object(&self, number: u32) -> Option<String>;
}

/// What the rules look at.
#[derive(Clone, Copy)]
pub struct RunFacts<'a> {
    /// The kernels of the run.
    pub kernels: &'a [KernelReport],
    /// What the host did; an empty one where that is not known.
    pub ledger: &'a Ledger,
    /// Names.
    pub names: &'a dyn KernelNames,
}

/// A rule, and what applies it.
type Rule = (&'static FindingRule, fn(&RunFacts<'_>) -> Vec<Finding>);

/// All rules, by name.
static ALL: [Rule; 9] = [
    (&bank_conflicts::RULE, bank_conflicts::find),
    (&distant_sharing::RULE, distant_sharing::find),
    (&divergent_branch::RULE, divergent_branch::find),
    (&lost_reuse::RULE, lost_reuse::find),
    (&no_reuse::RULE, no_reuse::find),
    (&out_of_bounds_access::RULE, out_of_bounds_access::find),
    (&redundant_copies::RULE, redundant_copies::find),
    (&uncoalesced_access::RULE, uncoalesced_access::find),
    (&unused_allocations::RULE, unused_allocations::find),
];

/// The rules of this crate, by name.
pub fn rules() -> impl Iterator<Item = &'static FindingRule> {
    ALL.iter().map(|(rule, _)| *rule)
}

/// Where the rules applied: wrong accesses, then what costs time, each by falling share of the
/// cost.
pub fn findings(facts: &RunFacts<'_>) -> Vec<Finding> {
    let mut found = ranked(ALL.iter().flat_map(|(_, find)| find(facts)).collect());
    found.sort_by_key(|finding| finding.rule.name != out_of_bounds_access::RULE.name);
    found
}

/// The least share of a place's own counts for which a rule applies.
pub(crate) const LEAST_OF_PLACE: f64 = 0.1;
/// The least share of the run's counts for which a rule applies.
const LEAST_OF_RUN: f64 = 0.01;

/// What could be saved at a place: `amount` of the `own` of this place and of the `all` of the run.
/// None if it is too little to be looked at.
fn cost(amount: u64, own: u64, all: u64, unit: &'static str) -> Option<Cost> {
    let share = ratio(amount, all);
    let counts = amount > 0 && ratio(amount, own) >= LEAST_OF_PLACE && share >= LEAST_OF_RUN;
    counts.then_some(Cost {
        amount,
        unit: unit.into(),
        share,
    })
}

/// A line of a kernel in its call path; `calls` are those of device functions that lead there.
fn place(
    facts: &RunFacts<'_>,
    kernel: &KernelReport,
    source: &str,
    calls: &[DeviceCall],
) -> FindingPlace {
    let function = facts.names.kernel(&kernel.kernel);
    let mut call_path = facts.names.call_path(kernel.call_path);
    call_path.extend(device_path(facts, &function, source, calls));
    FindingPlace {
        source: (!source.is_empty()).then(|| source.to_owned()),
        function: Some(function),
        call_path,
        object: None,
    }
}

/// The way from a kernel to a line of a device function, each as `function (file:line)` with the
/// line of the next call, the last one with the line itself. Nothing for lines of the kernel.
fn device_path(
    facts: &RunFacts<'_>,
    kernel: &str,
    source: &str,
    calls: &[DeviceCall],
) -> Vec<String> {
    let short = |place: &str| match place.rsplit('/').next() {
        None | Some("") => "?".to_owned(),
        Some(name) => name.to_owned(),
    };
    let Some(first) = calls.first() else {
        return Vec::new();
    };
    let mut path = vec![format!("{kernel}<<<>>> ({})", short(&first.place))];
    let lines = calls.iter().skip(1).map(|call| call.place.as_str());
    for (call, line) in calls.iter().zip(lines.chain([source])) {
        let function = if call.function.is_empty() {
            "(unknown)".to_owned()
        } else {
            facts.names.kernel(&call.function)
        };
        let inlined = if call.is_inlined { ", inlined" } else { "" };
        path.push(format!("{function} ({}{inlined})", short(line)));
    }
    path
}

/// The place of a memory instruction, with the object that it accesses in global memory: an
/// asynchronous copy also accesses an array in shared memory.
fn site_place(facts: &RunFacts<'_>, kernel: &KernelReport, site: &SiteReport) -> FindingPlace {
    FindingPlace {
        object: site.object.and_then(|object| facts.names.object(object)),
        ..place(
            facts,
            kernel,
            &source_line(&site.code.place),
            &site.code.calls,
        )
    }
}

/// The sites of a kernel, where those of the same source line ([`source_line`], as in all tables),
/// calls that lead there, kind, and object or shared array are one: a compiler makes several
/// instructions of a line when it unrolls a loop. Sites whose line is not known stay by themselves.
fn line_accesses(kernel: &KernelReport) -> Vec<SiteReport> {
    let mut accesses: Vec<SiteReport> = Vec::new();
    let mut indices = HashMap::new();
    for site in &kernel.by_site {
        let line = source_line(&site.code.place);
        let known = if line.is_empty() {
            accesses.len()
        } else {
            let data = (site.object, &site.array);
            let key = (line, &site.code.calls, site.kind, data);
            *indices.entry(key).or_insert(accesses.len())
        };
        match accesses.get_mut(known) {
            Some(access) => access.counts.merge(&site.counts),
            None => accesses.push(site.clone()),
        }
    }
    accesses
}
