//! [`Checked`]: limits that were held against a profile, with what was found. `text`, `markdown`,
//! `json` and `junit` show it.

mod json;
mod junit;
mod markdown;
mod text;

use reuselens_document::numbers::{count, grouped};
use reuselens_profile::{
    Certainty, CheckError, Dimension, GroupChanges, Judgement, Limit, Measured, Metric, Profile,
    Side, Verdict,
};

use crate::comparable;

pub use json::{CHECK_SCHEMA, check_json};
pub(crate) use json::{LimitJson, limits as limits_json};
pub use junit::check_junit;
pub use markdown::check_markdown;
pub use text::check_text;

/// How many lines are named as the cause of a broken limit.
const CAUSES: usize = 3;

/// Limits, and the profiles that they were held against.
#[derive(Clone, Debug)]
pub struct Checked<'a> {
    /// The profile, and what it is called.
    pub profile: (&'a str, &'a Profile),
    /// What it is compared with, and what that is called.
    pub base: Option<(&'a str, &'a Profile)>,
    /// The limits, in their order.
    pub limits: Vec<CheckedLimit>,
}

/// A limit, and what was found.
#[derive(Clone, Debug)]
pub struct CheckedLimit {
    /// The limit.
    pub limit: Limit,
    /// Why there is such a limit; may be empty.
    pub note: String,
    /// What was found, or why nothing can be.
    pub verdict: Result<Verdict, CheckError>,
}

impl<'a> Checked<'a> {
    /// Holds limits, each with its note, against a profile and what it is compared with.
    pub fn new(
        profile: (&'a str, &'a Profile),
        base: Option<(&'a str, &'a Profile)>,
        limits: impl IntoIterator<Item = (Limit, String)>,
    ) -> Self {
        let check = |(limit, note): (Limit, String)| CheckedLimit {
            verdict: limit.check(profile.1, base.map(|(_, base)| base)),
            limit,
            note,
        };
        Checked {
            profile,
            base,
            limits: limits.into_iter().map(check).collect(),
        }
    }

    /// How many limits are broken.
    pub fn broken(&self) -> usize {
        let broken = |limit: &&CheckedLimit| limit.result() == "broken";
        self.limits.iter().filter(broken).count()
    }

    /// Of how many limits it is not sure whether they hold.
    pub fn unsure(&self) -> usize {
        let unsure = |limit: &&CheckedLimit| limit.result() == "unsure";
        self.limits.iter().filter(unsure).count()
    }

    /// How many limits could not be held against the profiles.
    pub fn unchecked(&self) -> usize {
        let failed = |limit: &&CheckedLimit| limit.verdict.is_err();
        self.limits.iter().filter(failed).count()
    }

    /// A message for each limit that does not hold, in their order.
    pub fn messages(&self) -> Vec<String> {
        let limits = self.limits.iter();
        limits.filter_map(|limit| self.message(limit)).collect()
    }

    fn message(&self, limit: &CheckedLimit) -> Option<String> {
        let rule = &limit.limit;
        let verdict = match &limit.verdict {
            Err(error) => return Some(format!("limit not checked: {rule}: {error}")),
            Ok(verdict) => verdict,
        };
        let kind = match verdict.judgement {
            Judgement::Holds => return None,
            Judgement::Unsure => "limit perhaps broken",
            Judgement::Broken => "limit broken",
        };
        let mut text = format!("{kind}: {rule}: {}", facts(rule, verdict));
        for more in [self.causes(limit), limit.note.clone()] {
            if !more.is_empty() {
                text.push_str("; ");
                text.push_str(&more);
            }
        }
        Some(text)
    }

    /// Why the numbers of the profiles are of less than a complete run.
    pub fn warnings(&self) -> Vec<String> {
        let (_, profile) = self.profile;
        match self.base {
            None => comparable::partial(profile),
            Some((_, base)) => {
                let unlike = comparable::unlike(base, profile).map(str::to_owned);
                let seen = comparable::seen(base, profile);
                seen.into_iter().chain(unlike).collect()
            }
        }
    }

    /// How many limits there are and how many do not hold, as a sentence without its end.
    pub(crate) fn outcome(&self) -> String {
        let all = self.limits.len();
        let limits = |number: usize| match number {
            1 => "1 limit".to_owned(),
            number => format!("{number} limits"),
        };
        let (broken, unsure, unchecked) = (self.broken(), self.unsure(), self.unchecked());
        let mut text = match (broken, all) {
            (0, 1) if unsure + unchecked == 0 => "the limit holds".to_owned(),
            (0, _) if unsure + unchecked == 0 => format!("all {} hold", limits(all)),
            (1, _) | (_, 1) => format!("{broken} of {} is broken", limits(all)),
            (_, _) => format!("{broken} of {} are broken", limits(all)),
        };
        if unsure > 0 {
            text.push_str(&format!(", {unsure} not sure"));
        }
        if unchecked > 0 {
            text.push_str(&format!(", {unchecked} cannot be checked"));
        }
        text
    }

    /// The lines that cause a broken limit on the misses of all accesses; empty if unknown.
    pub(crate) fn causes(&self, limit: &CheckedLimit) -> String {
        let (rule, verdict) = (&limit.limit, &limit.verdict);
        let (Ok(verdict), (_, profile)) = (verdict, self.profile) else {
            return String::new();
        };
        let (true, None, Side::Above, Some(items)) = (
            verdict.judgement == Judgement::Broken && rule.metric.is_of_cache(),
            &rule.of,
            rule.side,
            verdict.items,
        ) else {
            return String::new();
        };
        if !profile.has_names(Dimension::Line) {
            return String::new();
        }
        let (what, causes) = match self.base.filter(|_| rule.needs_base()) {
            Some((_, base)) => ("most of the rise", rises(base, profile, items)),
            None => ("most of the misses", misses(profile, items)),
        };
        if causes.is_empty() {
            String::new()
        } else {
            format!("{what}: {}", causes.join(", "))
        }
    }
}

/// The lines with the largest rises in misses.
fn rises(base: &Profile, profile: &Profile, items: u64) -> Vec<String> {
    let changes = GroupChanges::between(base, profile, Dimension::Line, items);
    let all = changes.both.into_iter().chain(changes.only_after);
    let mut rises: Vec<_> = all.filter(|change| change.change() > 0).collect();
    // Stable: lines that rise alike stay in their order.
    rises.sort_by_key(|change| std::cmp::Reverse(change.change()));
    let rises = rises.iter().take(CAUSES);
    let text = rises.map(|change| {
        let more = change.after_misses.saturating_sub(change.before_misses);
        format!("{} (+{})", change.name, count(more))
    });
    text.collect()
}

/// The lines with the most misses.
fn misses(profile: &Profile, items: u64) -> Vec<String> {
    let mut lines = profile.groups(Dimension::Line);
    lines.retain(|line| line.misses(items) > 0);
    lines.sort_by_key(|line| std::cmp::Reverse(line.misses(items)));
    let lines = lines.iter().take(CAUSES);
    lines
        .map(|line| format!("{} ({})", line.name, count(line.misses(items))))
        .collect()
}

impl CheckedLimit {
    /// `ok`, `broken`, `unsure` or `unchecked`.
    pub(crate) fn result(&self) -> &'static str {
        match &self.verdict {
            Err(_) => "unchecked",
            Ok(verdict) => match verdict.judgement {
                Judgement::Holds => "ok",
                Judgement::Unsure => "unsure",
                Judgement::Broken => "broken",
            },
        }
    }

    /// How far the numbers may be off, if they are not exact.
    pub(crate) fn doubt(&self) -> Option<String> {
        let verdict = self.verdict.as_ref().ok()?;
        if verdict.judgement == Judgement::Unsure {
            return Some("the estimate may be off by more than it is from the bound".to_owned());
        }
        let measured = [Some(verdict.now), verdict.base].into_iter().flatten();
        let reasons = measured.filter_map(|measured| match measured.certainty {
            Certainty::Estimate(why) => Some(why.to_owned()),
            _ => None,
        });
        reasons.into_iter().next()
    }
}

/// The numbers of a verdict, as half a sentence.
fn facts(limit: &Limit, verdict: &Verdict) -> String {
    let now = number(limit.metric, verdict.now);
    match verdict.base {
        None => now,
        Some(base) => format!(
            "{now} now, {} in the base ({})",
            number(limit.metric, base),
            change(base.value, verdict.now.value)
        ),
    }
}

/// A number of a metric with how far it may be off: to the digit, since limits are.
pub(crate) fn number(metric: Metric, measured: Measured) -> String {
    let show = |value: f64| match metric {
        Metric::MissRatio => format!("{} %", short(value * 100.0, 4)),
        Metric::MeanDistance => short(value, 2),
        _ => grouped(value.round() as u64),
    };
    match measured.certainty {
        Certainty::Within(width) if width > 0.0 => {
            format!("{} ±{}", show(measured.value), show(width))
        }
        _ => show(measured.value),
    }
}

/// A change in percent with its sign.
pub(crate) fn change(base: f64, now: f64) -> String {
    if base == now {
        return "±0 %".to_owned();
    }
    if base == 0.0 {
        return "from none".to_owned();
    }
    let percent = (now - base) / base * 100.0;
    let sign = if percent < 0.0 { '−' } else { '+' };
    if percent.abs() < 0.01 {
        format!("{sign}<0.01 %")
    } else {
        format!("{sign}{} %", short(percent.abs(), 2))
    }
}

/// A number with at most `decimals` decimals.
fn short(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
