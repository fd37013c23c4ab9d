//! [`FindingChanges`]: what became of the findings of a program between two of its profiles, and of
//! the invalidations and the misses in sets that findings are made of.

use std::collections::BTreeSet;

use reuselens_advice::Finding;
use reuselens_advisor::MissAdvice;
use reuselens_document::numbers::{count, ratio_percent};
use reuselens_locality::total;
use reuselens_profile::Profile;

use crate::ShownProfile;
use crate::caches::Level;
use crate::causes::complete;

/// A finding before and after a change. One of the two is there at least.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FindingChange {
    /// The finding before; `None` if it is new.
    pub before: Option<Finding>,
    /// The finding after; `None` if it is gone.
    pub after: Option<Finding>,
}

/// What becomes of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FindingFate {
    /// Only the profile before has it.
    Gone,
    /// Only the profile after has it.
    New,
    /// Both have it.
    Stays,
}

impl FindingFate {
    /// All, in the order in which reports show them.
    pub const ALL: [FindingFate; 3] = [FindingFate::Gone, FindingFate::New, FindingFate::Stays];

    /// Its name in JSON: `gone`.
    pub const fn name(self) -> &'static str {
        match self {
            FindingFate::Gone => "gone",
            FindingFate::New => "new",
            FindingFate::Stays => "stays",
        }
    }

    /// The heading of findings with this fate.
    pub const fn title(self) -> &'static str {
        match self {
            FindingFate::Gone => "Findings that are gone",
            FindingFate::New => "New findings",
            FindingFate::Stays => "Findings that stay",
        }
    }
}

impl FindingChange {
    /// What becomes of it.
    pub fn fate(&self) -> FindingFate {
        match (&self.before, &self.after) {
            (Some(_), None) => FindingFate::Gone,
            (None, _) => FindingFate::New,
            (Some(_), Some(_)) => FindingFate::Stays,
        }
    }

    /// The latest of its two forms, whose place a reader finds in the code of that profile.
    pub fn latest(&self) -> Option<&Finding> {
        self.after.as_ref().or(self.before.as_ref())
    }

    /// Its cost before and after: `15.8 k invalidations, 47.5 % of all`, `115 k → 12.3 k misses,
    /// 86.4 % → 68.0 % of all`.
    pub fn cost(&self) -> String {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                let (old, new) = (&before.cost, &after.cost);
                // `invalidations` can become `invalidations at most`.
                let amounts = if old.unit == new.unit {
                    format!("{} → {}", count(old.amount), count(new.amount))
                } else {
                    format!("{} {} → {}", count(old.amount), old.unit, count(new.amount))
                };
                let shares = [old.share, new.share].map(ratio_percent);
                let [before, after] = shares;
                format!("{amounts} {}, {before} → {after} of all", new.unit)
            }
            (before, after) => {
                let only = before.as_ref().or(after.as_ref());
                only.map_or_else(String::new, |it| crate::advice::cost(&it.cost))
            }
        }
    }
}

/// The findings of two profiles by what became of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FindingChanges {
    /// The findings of rules that were applied to both profiles, the costliest first: those of the
    /// profile before, then the new ones. `None` if findings cannot be compared.
    pub changes: Option<Vec<FindingChange>>,
    /// Why findings, or those of some rules, are not compared, as sentences.
    pub notes: Vec<String>,
}

impl FindingChanges {
    /// Compares the findings of two profiles if both have causes, of one cache. Cost: that of
    /// [`advise`](reuselens_advisor::advise) for each.
    pub fn between(before: &Profile, after: &Profile) -> FindingChanges {
        let caches = [before, after].map(|it| it.causes.as_ref().map(|causes| causes.cache));
        let lacking = match caches {
            [Some(old), Some(new)] if old == new => None,
            [Some(old), Some(new)] => Some(format!(
                "Findings are not compared: those before are of {}, and those after of {}. Profile \
                 both with the same --why.",
                Level::named(old, before).label(),
                Level::named(new, after).label()
            )),
            [None, None] => return FindingChanges::default(),
            [old, _] => {
                let lacks = if old.is_none() { "before" } else { "after" };
                Some(format!(
                    "Findings are not compared: the profile {lacks} was made without --why."
                ))
            }
        };
        if let Some(lacking) = lacking {
            return FindingChanges {
                changes: None,
                notes: vec![lacking],
            };
        }
        let shown = [before, after].map(ShownProfile::new);
        let [old, new] = [&shown[0], &shown[1]].map(ShownProfile::advice);
        FindingChanges::of(old, new)
    }

    /// Compares what the rules found. A rule that could not be applied to one of the two profiles
    /// says nothing about what is gone or new.
    fn of(before: &MissAdvice, after: &MissAdvice) -> FindingChanges {
        let both = [(before, "before"), (after, "after")];
        let mut notes = Vec::new();
        // A rule that found something was applied, if only to a part of the data.
        let is_found =
            |advice: &MissAdvice, rule: &str| advice.findings.iter().any(|it| it.rule.name == rule);
        let is_applied = |advice: &MissAdvice, rule: &str| {
            let mut unknown = advice.unknown.iter();
            !unknown.any(|it| it.limits(rule)) || is_found(advice, rule)
        };
        let kept = |advice: &MissAdvice| -> Vec<Finding> {
            let findings = advice.findings.iter();
            let compared = findings.filter(|it| {
                both.iter()
                    .all(|(other, _)| is_applied(other, it.rule.name))
            });
            compared.cloned().collect()
        };
        for (advice, when) in both {
            for unknown in &advice.unknown {
                let findings = before.findings.iter().chain(&after.findings);
                let names = findings.map(|it| it.rule.name);
                let is_lost = |it: &&str| unknown.limits(it) && !is_found(advice, it);
                let lost: BTreeSet<&str> = names.filter(is_lost).collect();
                if !lost.is_empty() {
                    let lost: Vec<&str> = lost.into_iter().collect();
                    notes.push(format!(
                        "Not compared: findings of {}, for which the profile {when} lacks {}.",
                        lost.join(", "),
                        unknown.what
                    ));
                }
            }
        }
        FindingChanges {
            changes: Some(paired(kept(before), kept(after))),
            notes,
        }
    }

    /// Those with this fate.
    pub fn with(&self, fate: FindingFate) -> Vec<&FindingChange> {
        let changes = self.changes.iter().flatten();
        changes.filter(|change| change.fate() == fate).collect()
    }
}

/// Pairs findings of one rule: first those of equal places, then those of one function and one
/// object, whose lines may have moved, in the order of their costs. Cost: findings before times
/// findings after.
fn paired(before: Vec<Finding>, after: Vec<Finding>) -> Vec<FindingChange> {
    let exact = |it: &Finding| (it.rule.name, it.place.clone());
    let mut rest: Vec<Option<Finding>> = after.into_iter().map(Some).collect();
    let same = |finding: &Finding, rest: &mut [Option<Finding>]| {
        let key = exact(finding);
        let mut rest = rest.iter_mut();
        let found = rest.find(|it| it.as_ref().map(exact).as_ref() == Some(&key));
        found.and_then(Option::take)
    };
    let pairs = before.into_iter().map(|finding| FindingChange {
        after: same(&finding, &mut rest),
        before: Some(finding),
    });
    let mut changes: Vec<FindingChange> = pairs.collect();
    let rest = rest.into_iter().flatten();
    let mut rest: Vec<_> = rest.map(|it| (moved_key(&it), it)).collect();
    for change in changes.iter_mut().filter(|it| it.after.is_none()) {
        let key = change.before.as_ref().map(moved_key);
        let moved = rest.iter().position(|it| Some(&it.0) == key.as_ref());
        change.after = moved.map(|at| rest.remove(at).1);
    }
    changes.extend(rest.into_iter().map(|(_, finding)| FindingChange {
        before: None,
        after: Some(finding),
    }));
    changes
}

/// What stays of a finding when its lines move, or its file has another name: the rule, the
/// function and the object's own name; without these the line.
fn moved_key(finding: &Finding) -> [String; 4] {
    let place = &finding.place;
    let text = |part: &Option<String>| part.clone().unwrap_or_default();
    let object = text(&place.object);
    let object = object.split(" (").next().unwrap_or_default().to_owned();
    let source = match (&place.function, &place.object) {
        (None, None) => text(&place.source),
        _ => String::new(),
    };
    let rule = finding.rule.name.to_owned();
    [rule, text(&place.function), object, source]
}

/// Accesses that find their line invalidated by another thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Invalidations {
    /// The thread used bytes that another had written.
    pub true_sharing: u64,
    /// It did not.
    pub false_sharing: u64,
}

impl Invalidations {
    fn of(profile: &Profile) -> Invalidations {
        let causes = profile.cells.iter().map(|cell| &cell.causes);
        Invalidations {
            true_sharing: total(causes.clone().map(|it| it.true_sharing)),
            false_sharing: total(causes.map(|it| it.false_sharing)),
        }
    }

    /// Those of each profile; `None` unless all have causes, and one has any.
    pub fn of_all(profiles: &[&Profile]) -> Option<Vec<Invalidations>> {
        complete(profiles)?;
        let all: Vec<_> = profiles.iter().map(|it| Invalidations::of(it)).collect();
        let has_some = all.iter().any(|it| *it != Invalidations::default());
        has_some.then_some(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reuselens_advice::{Confidence, Cost, FindingPlace, FindingRule};

    fn rule(at: usize) -> &'static FindingRule {
        reuselens_advisor::rules().nth(at).unwrap()
    }

    fn finding(at: usize, source: &str, object: &str, amount: u64) -> Finding {
        Finding {
            rule: rule(at),
            place: FindingPlace {
                source: Some(source.to_owned()),
                function: Some("main".to_owned()),
                object: Some(object.to_owned()),
                ..FindingPlace::default()
            },
            evidence: Vec::new(),
            cost: Cost {
                amount,
                unit: "misses".into(),
                share: amount as f64 / 1000.0,
            },
            remedy: String::new(),
            confidence: Confidence::Certain,
        }
    }

    fn amounts(changes: &[FindingChange]) -> Vec<(Option<u64>, Option<u64>)> {
        let amount = |it: &Option<Finding>| it.as_ref().map(|it| it.cost.amount);
        let changes = changes.iter();
        changes
            .map(|it| (amount(&it.before), amount(&it.after)))
            .collect()
    }

    #[test]
    fn findings_whose_lines_moved_stay_and_others_are_gone_or_new() {
        let before = vec![
            finding(0, "a.c:5", "rows (a.c)", 900),
            finding(0, "a.c:9", "rows (a.c)", 800),
            finding(1, "a.c:5", "rows (a.c)", 700),
        ];
        let after = vec![
            finding(0, "a.c:9", "rows (a.c)", 790),
            finding(0, "b.c:6", "rows (b.c)", 90),
            finding(0, "b.c:7", "columns (b.c)", 80),
        ];
        assert_eq!(
            amounts(&paired(before, after)),
            [
                (Some(900), Some(90)),
                (Some(800), Some(790)),
                (Some(700), None),
                (None, Some(80)),
            ]
        );
    }

    #[test]
    fn a_rule_that_was_not_applied_after_makes_no_finding_gone() {
        let advice = |findings: Vec<Finding>, lacks: Vec<&'static str>| MissAdvice {
            cache: reuselens_units::Bytes(32 << 10),
            cache_name: None,
            misses: 1000,
            findings,
            unexplained: None,
            unknown: vec![reuselens_advisor::Unknown {
                what: "the loops",
                why: "",
                how: reuselens_advisor::NextStep::Advice(""),
                rules: lacks,
                partial_rules: Vec::new(),
                misses: None,
                is_essential: false,
            }],
        };
        let found = vec![finding(0, "a.c:5", "x", 9), finding(1, "a.c:5", "x", 8)];
        let before = advice(found, Vec::new());
        let after = advice(Vec::new(), vec![rule(0).name]);
        let changes = FindingChanges::of(&before, &after);
        assert_eq!(amounts(&changes.changes.unwrap()), [(Some(8), None)]);
        let expected = format!(
            "Not compared: findings of {}, for which the profile after lacks the loops.",
            rule(0).name
        );
        assert_eq!(changes.notes, [expected]);
        // Applied in part, it found something.
        let after = advice(vec![finding(0, "a.c:5", "x", 7)], vec![rule(0).name]);
        let changes = FindingChanges::of(&before, &after);
        let expected = [(Some(9), Some(7)), (Some(8), None)];
        assert_eq!(amounts(&changes.changes.unwrap()), expected);
        assert!(changes.notes.is_empty());
    }
}
