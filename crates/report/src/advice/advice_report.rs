//! [`AdviceReport`]: findings as they are shown, whatever advisor made them.

use reuselens_advice::Finding;
use reuselens_advisor::{MissAdvice, NextStep, Unknown, repeat_command};
use reuselens_document::numbers::count;
use reuselens_profile::Profile;
use reuselens_units::{counted, percent};

use crate::gpu::STOPPED;
use crate::{GpuFindings, GpuRun, ShownProfile, StoppedKernel, caches};

/// Findings of a program or of a GPU run, with what was run and what is not known.
#[derive(Clone, Debug, Default)]
pub struct AdviceReport<'a> {
    /// What was run, as one line.
    pub(super) command: String,
    /// The findings, the costliest first.
    pub(super) findings: &'a [Finding],
    /// What is not known.
    pub(super) unknown: &'a [Unknown],
    /// Kernels that faults stopped: what came after them is not known.
    pub(super) stopped: Vec<StoppedKernel>,
    /// The advice on misses, with the cache that they are of; `None` for GPU kernels.
    pub(super) miss_advice: Option<&'a MissAdvice>,
    /// What to know of all findings, as sentences.
    pub(super) notes: Vec<String>,
    /// The cache to ask about next, if it is another than that of the findings.
    pub(super) other_cache: Option<OtherCache>,
}

/// The cache in which misses cost the most time, where causes were recorded of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OtherCache {
    /// `L1d (32 KiB)`.
    label: String,
    /// The command that records why accesses miss there.
    command: String,
}

impl<'a> AdviceReport<'a> {
    /// The findings of a profile.
    pub fn of(shown: &'a ShownProfile<'_>) -> Self {
        let (profile, advice) = (shown.profile(), shown.advice());
        let other = other_cache(profile, advice);
        let note = other.as_ref().map(|other| {
            format!(
                "Misses in {} cost more time here than those in {}, which the findings are of. For \
                 them: {}",
                other.label,
                advice.cache_words(),
                other.command
            )
        });
        AdviceReport {
            notes: advice.unexplained.clone().into_iter().chain(note).collect(),
            other_cache: other,
            ..AdviceReport::of_misses(advice, profile.command_line())
        }
    }

    /// Findings of a program of which no profile is at hand.
    pub fn of_misses(advice: &'a MissAdvice, command: String) -> Self {
        AdviceReport {
            command,
            findings: &advice.findings,
            unknown: &advice.unknown,
            miss_advice: Some(advice),
            notes: advice.unexplained.clone().into_iter().collect(),
            ..AdviceReport::default()
        }
    }

    /// The findings of a run of a GPU program.
    pub fn of_gpu_run(run: &'a GpuRun) -> Self {
        AdviceReport {
            command: run.command.clone(),
            findings: &run.findings,
            stopped: run.stopped_kernels(),
            notes: run
                .is_stopped()
                .then(|| STOPPED.to_owned())
                .into_iter()
                .collect(),
            ..AdviceReport::default()
        }
    }

    /// The findings that the file of a run of a GPU program has.
    pub fn of_gpu_file(run: &'a GpuFindings) -> Self {
        AdviceReport {
            command: run.command.clone(),
            findings: &run.findings,
            stopped: run.stopped.clone(),
            notes: run.notes(),
            ..AdviceReport::default()
        }
    }

    /// The findings, the costliest first.
    pub fn findings(&self) -> &'a [Finding] {
        self.findings
    }

    /// Whether they are of GPU kernels.
    pub fn is_of_gpu(&self) -> bool {
        self.miss_advice.is_none()
    }

    /// What to type or do to find more, if that is known and nothing was found: a command, or
    /// sentences where no command alone does it.
    pub fn next(&self) -> Option<&str> {
        if !self.findings.is_empty() {
            return None;
        }
        let lacking = self.miss_advice.and_then(|advice| {
            let unlooked = || advice.unlooked().map(|(unknown, _)| unknown);
            advice.lacks().or_else(unlooked)
        });
        match (lacking, &self.other_cache) {
            (Some(unknown), _) => Some(unknown.how.text()),
            (None, other) => other.as_ref().map(|other| other.command.as_str()),
        }
    }

    /// Whether any rule was applied.
    pub(super) fn is_applied(&self) -> bool {
        self.miss_advice.is_none_or(MissAdvice::is_applied)
    }

    /// That nothing was found, and how many rules were not applied, as a clause.
    pub(super) fn nothing_found(&self) -> String {
        let left_out: usize = self.unknown.iter().map(|it| it.rules.len()).sum();
        if self.is_applied()
            && self.stopped.is_empty()
            && let Some(part) = self.unlooked_part()
        {
            return part;
        }
        let nothing = match &self.other_cache {
            Some(other) => format!("nothing was found in this cache; look in {}", other.label),
            None => "nothing to change was found".to_owned(),
        };
        match left_out {
            _ if !self.is_applied() => "no rule was applied".to_owned(),
            _ if !self.stopped.is_empty() => "what to change is not known".to_owned(),
            0 => nothing,
            1 => format!("{nothing}; 1 rule was not applied"),
            _ => format!("{nothing}; {left_out} rules were not applied"),
        }
    }

    /// That nothing was found, and of which share of the misses some rules could not know, as a
    /// clause. Nothing where all rules that were applied could look at most misses.
    fn unlooked_part(&self) -> Option<String> {
        let advice = self.miss_advice?;
        let (unknown, misses) = advice.unlooked()?;
        let rules = unknown.rules.len() + unknown.partial_rules.len();
        let others = self.unknown.iter().filter(|it| *it != unknown);
        let others: usize = others.map(|it| it.rules.len()).sum();
        let others = match others {
            0 => String::new(),
            1 => ", 1 was not applied".to_owned(),
            _ => format!(", {others} were not applied"),
        };
        Some(format!(
            "nothing was found; {} could not look at {} of the misses{others}",
            counted(rules as u64, "rule", "rules"),
            percent(misses, advice.misses)
        ))
    }

    /// What some rules could not look at, beside findings of the others, as sentences.
    pub(super) fn unlooked(&self) -> Option<String> {
        let advice = self.miss_advice?;
        let (unknown, misses) = advice.unlooked()?;
        let rules = unknown.rules.len() + unknown.partial_rules.len();
        Some(format!(
            "{} could not look at {} of the misses ({}): {} {}",
            counted(rules as u64, "rule", "rules"),
            percent(misses, advice.misses),
            unknown.what,
            unknown.why,
            unknown.how
        ))
    }

    /// Why most rules were not applied, and how to record what they need, as sentences.
    pub(super) fn lacking(&self) -> Option<String> {
        let advice = self.miss_advice?;
        let unlooked = || advice.unlooked().map(|(unknown, _)| unknown);
        let unknown = advice.lacks().or_else(unlooked)?;
        let how = match &unknown.how {
            NextStep::Command(command) => format!("For findings: {command}"),
            NextStep::Advice(advice) => (*advice).to_owned(),
        };
        Some(format!("{} {how}", unknown.why))
    }

    /// The cache that costs are of, and its misses: `1.2 M misses in L1d (32 KiB)`; nothing of GPU
    /// kernels.
    pub(super) fn cache(&self) -> Option<String> {
        let advice = self.miss_advice?;
        Some(format!(
            "{} misses in {}",
            count(advice.misses),
            advice.cache_words()
        ))
    }
}

/// The cache that the tables of a report are of, if the misses of its reuses matter and causes were
/// recorded of another one.
fn other_cache(profile: &Profile, advice: &MissAdvice) -> Option<OtherCache> {
    profile.causes.as_ref()?;
    let level = caches::noticeable(profile)?;
    let name = level.name.clone()?;
    let command = repeat_command(profile, &format!("--why={name}"));
    (level.bytes != advice.cache).then(|| OtherCache {
        label: level.label(),
        command,
    })
}
