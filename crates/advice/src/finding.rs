//! [`Finding`]: a place where a rule applied.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::FindingRule;

/// Where a finding is. What is not known is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FindingPlace {
    /// The line, as a [`SourcePlace`](crate::SourcePlace) is written: `file:line` or
    /// `file:line:column`.
    pub source: Option<String>,
    /// The function, or the kernel.
    pub function: Option<String>,
    /// The calls that lead there, from `main` inwards, each as `function (file:line)`.
    pub call_path: Vec<String>,
    /// The data object that is accessed, by its name.
    pub object: Option<String>,
}

/// What a finding costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// How much could be saved at most, in `unit`.
    pub amount: u64,
    /// What is counted: `excessive sectors`, `misses`.
    pub unit: Cow<'static, str>,
    /// `amount` divided by all of that unit in the run, from 0 to 1.
    pub share: f64,
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// It follows from exact counts.
    Certain,
    /// It follows from exact counts and a model.
    Likely,
    /// It is a heuristic.
    Possible,
}

impl Confidence {
    /// Its name in reports and files.
    pub const fn name(self) -> &'static str {
        match self {
            Confidence::Certain => "certain",
            Confidence::Likely => "likely",
            Confidence::Possible => "possible",
        }
    }
}

/// A place where a rule applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static FindingRule,
    /// Where.
    pub place: FindingPlace,
    /// What was counted there: sentences with figures, the strongest first.
    pub evidence: Vec<String>,
    /// What it costs.
    pub cost: Cost,
    /// What to change, as one imperative sentence or two.
    pub remedy: String,
    /// How sure it is.
    pub confidence: Confidence,
}

/// Findings by falling share of their costs; equal ones by rule and place, so that equal input
/// gives equal output.
pub fn ranked(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by(by_cost);
    findings
}

fn by_cost(a: &Finding, b: &Finding) -> Ordering {
    (b.cost.share.total_cmp(&a.cost.share))
        .then_with(|| b.cost.amount.cmp(&a.cost.amount))
        .then_with(|| a.rule.name.cmp(b.rule.name))
        .then_with(|| a.place.cmp(&b.place))
}

/// A clause with its first letter in upper case, as the begin of a sentence.
pub fn capitalised(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Example;

    static RULE: FindingRule = FindingRule {
        name: "a-rule",
        title: "A rule",
        what: "",
        why: "",
        example: Example {
            before: "",
            after: "",
        },
        limits: "",
        source: "reuselens",
    };

    fn finding(source: &str, share: f64) -> Finding {
        Finding {
            rule: &RULE,
            place: FindingPlace {
                source: Some(source.to_owned()),
                ..FindingPlace::default()
            },
            evidence: Vec::new(),
            cost: Cost {
                amount: 1,
                unit: "misses".into(),
                share,
            },
            remedy: String::new(),
            confidence: Confidence::Certain,
        }
    }

    #[test]
    fn sentences_begin_with_a_capital_and_keep_the_rest() {
        assert_eq!(capitalised("the loop at A.c:3"), "The loop at A.c:3");
        assert_eq!(capitalised("état"), "État");
        assert_eq!(capitalised(""), "");
    }

    #[test]
    fn the_costliest_finding_is_first_and_equal_ones_go_by_place() {
        let given = vec![
            finding("b:1", 0.1),
            finding("c:1", 0.5),
            finding("a:1", 0.1),
        ];
        let places: Vec<_> = ranked(given)
            .into_iter()
            .filter_map(|finding| finding.place.source)
            .collect();
        assert_eq!(places, ["c:1", "a:1", "b:1"]);
    }
}
