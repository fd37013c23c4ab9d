//! [`Need`]: what a rule needs a profile to have; and [`Unknown`], what a profile lacks.

use std::fmt;

use reuselens_profile::{Profile, Sharing, Site};
use reuselens_units::Granularity;

/// What a profile lacks, so that rules were not applied or places have no names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What is not known, as a noun: `why accesses miss`.
    pub what: &'static str,
    /// Why it is not known, as a sentence.
    pub why: &'static str,
    /// What to type or do.
    pub how: NextStep,
    /// Names of the rules that were not applied. Empty where only names of places are missing.
    pub rules: Vec<&'static str>,
    /// Names of the rules that were applied only to the data that has it.
    pub partial_rules: Vec<&'static str>,
    /// The misses, of those in the cache of the advice, that these rules could not look at. `None`
    /// where that is all or is not counted.
    pub misses: Option<u64>,
    /// Whether without it most rules have nothing to look at, so that no finding means little.
    pub is_essential: bool,
}

impl Unknown {
    /// Whether it keeps this rule from all or some of the data.
    pub fn limits(&self, rule: &str) -> bool {
        self.rules.contains(&rule) || self.partial_rules.contains(&rule)
    }
}

/// What to type or do so that a profile has what it lacks. Displayed as an imperative sentence:
/// `Run: reuselens profile --why -- ./prog`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// A command to type as it is: `reuselens profile --why -- ./prog`.
    Command(String),
    /// Something else, in sentences: `Compile the program with -g, and profile it again.`
    Advice(&'static str),
}

impl NextStep {
    /// The command alone, or the sentences.
    pub fn text(&self) -> &str {
        match self {
            NextStep::Command(command) => command,
            NextStep::Advice(advice) => advice,
        }
    }
}

impl fmt::Display for NextStep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NextStep::Command(command) => write!(out, "Run: {command}"),
            NextStep::Advice(advice) => out.write_str(advice),
        }
    }
}

/// What a rule needs a profile to have. The order is that in which reports list what is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// Addresses: items that are bytes of memory, and not ids.
    Addresses,
    /// Exact distances.
    Exact,
    /// A breakdown by instruction and object.
    Breakdown,
    /// Items that are lines of a cache, and not pages.
    CacheLines,
    /// Why accesses miss.
    Causes,
    /// Loops that carry reuses.
    Loops,
    /// What accesses are to within elements.
    Elements,
    /// Misses with the sets of a cache.
    Sets,
    /// The machine's caches.
    Machine,
    /// Source lines.
    Lines,
    /// Distances in pages.
    Pages,
    /// Sizes of allocated blocks.
    Blocks,
}

/// The largest line of a cache.
const MOST_LINE_BYTES: u64 = 256;
/// The smallest size of a page.
pub(crate) const PAGE_BYTES: u64 = 4096;

impl Need {
    /// Whether the profile has it.
    pub(crate) fn is_met(self, profile: &Profile) -> bool {
        let causes = profile.causes.as_ref();
        match self {
            Need::Addresses => !profile.method.ids && profile.requested_bytes.is_none(),
            Need::Exact => profile.method.exact && profile.method.max_distance.is_none(),
            Need::Breakdown => !profile.method.totals_only,
            Need::CacheLines => profile.granularity.bytes() <= MOST_LINE_BYTES,
            Need::Causes => causes.is_some(),
            Need::Loops => causes.is_some_and(|causes| causes.has_loops),
            Need::Elements => causes.is_some_and(|causes| !causes.elements.is_empty()),
            Need::Sets => causes.is_some_and(|causes| !causes.set_caches.is_empty()),
            Need::Machine => !profile.machine.data_caches().is_empty(),
            Need::Lines => profile.sites.len() < 2 || profile.sites.iter().any(has_line),
            Need::Pages => profile.granularity.bytes() >= PAGE_BYTES,
            Need::Blocks => profile.method.placement.is_some(),
        }
    }

    /// What to report where the profile lacks it.
    pub(crate) fn unknown(self, profile: &Profile) -> Unknown {
        let (what, why) = self.words(profile);
        Unknown {
            what,
            why,
            how: self.how(profile),
            rules: Vec::new(),
            partial_rules: Vec::new(),
            misses: None,
            is_essential: self <= Need::Causes,
        }
    }

    fn words(self, profile: &Profile) -> (&'static str, &'static str) {
        match self {
            Need::Addresses => (
                "where data is in memory",
                "The trace has ids, which have no place in memory and no size.",
            ),
            Need::Exact if profile.method.exact => (
                "exact distances",
                "Distances beyond a limit were not measured.",
            ),
            Need::Exact => ("exact distances", "Distances were sampled."),
            Need::Breakdown => (
                "which line and object misses",
                "All accesses were counted together.",
            ),
            Need::CacheLines => (
                "what happens to cache lines",
                "Distances were counted in larger pieces of memory than lines.",
            ),
            Need::Causes => (
                "why accesses miss",
                "The profile was made without recording it.",
            ),
            Need::Loops if profile.is_of_parts() => (
                "which loop carries a reuse",
                "Parts of the run were left out (--function, --region, --after, --burst), and basic \
                 blocks are seen only of a run from its start.",
            ),
            Need::Loops => (
                "which loop carries a reuse",
                "The capture did not see the program's basic blocks.",
            ),
            Need::Elements => (
                "which fields of structures are used",
                "Data with half of the misses or more has elements of unknown size: neither debug \
                 information nor accesses give it.",
            ),
            Need::Sets => (
                "which misses are conflicts",
                "No cache of the machine has known sets.",
            ),
            Need::Machine => ("the machine's caches", "The profile names none."),
            Need::Lines => (
                "source lines",
                "The program and its libraries have no debug information.",
            ),
            Need::Pages => (
                "misses of the TLB",
                "Distances were counted in cache lines, not in pages.",
            ),
            Need::Blocks => (
                "sizes of allocated blocks",
                "The profile has no data for placement.",
            ),
        }
    }

    fn how(self, profile: &Profile) -> NextStep {
        let profiled = |options: &str| NextStep::Command(repeat_command(profile, options));
        match self {
            Need::Addresses => NextStep::Advice("Record a trace with addresses."),
            Need::Exact => profiled("--why --engine counting"),
            Need::Breakdown => profiled("--why --by line,object"),
            Need::CacheLines => profiled("--why --granularity auto"),
            Need::Causes | Need::Sets | Need::Machine => profiled("--why"),
            Need::Loops if profile.method.recorded => {
                NextStep::Advice("Traces have no loops. Run: reuselens profile --why -- PROGRAM")
            }
            Need::Loops if profile.is_of_parts() => profiled("--why"),
            Need::Loops => profiled("--why --capture rewriting"),
            Need::Elements => NextStep::Advice(
                "Compile the program with -g (not -g1; Rust: debug = true below \
                     [profile.release], or CARGO_PROFILE_RELEASE_DEBUG=true), and measure it again.",
            ),
            Need::Lines => NextStep::Advice(
                "Compile the program with -g (Rust: CARGO_PROFILE_RELEASE_DEBUG=true), and measure \
                 it again.",
            ),
            Need::Pages => profiled("--granularity 4K"),
            Need::Blocks => profiled("--why --placement"),
        }
    }
}

/// The command that makes a profile of the same run, or of the same recorded trace, with other
/// options. It has the options of the profile that choose what is measured and go together with
/// `options`: the cache of `--why`, `--granularity`, `--data`, `--capture`, and without `--why`
/// also `--kind` and `--sharing`. Which part of a run was recorded is not in a profile, nor in the
/// command.
pub fn repeat_command(profile: &Profile, options: &str) -> String {
    let command = profile.command_line();
    let mut all = vec![with_cache(profile, options)];
    all.extend(kept_options(profile, options));
    let options = all.join(" ");
    if profile.method.recorded {
        format!("reuselens analyze {options} {command}")
    } else {
        format!("reuselens profile {options} -- {command}")
    }
}

/// Options with the cache that the profile explains after a `--why` that names none, unless it is
/// the default.
fn with_cache(profile: &Profile, options: &str) -> String {
    let machine = &profile.machine;
    let cache = profile.causes.as_ref().map(|causes| causes.cache);
    let other = cache.filter(|cache| *cache != machine.default_cause_cache());
    let word = |word: &str| match (word, other) {
        ("--why", Some(cache)) => {
            let known = machine.cache_of_size(cache);
            let name = known.map_or_else(|| cache.get().to_string(), |known| known.name());
            format!("--why={name}")
        }
        _ => word.to_owned(),
    };
    options.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// The code of the warning of a program that carries hooks and was rewritten.
const REWRITTEN_HOOKS: &str = "hooks-measured";

/// The options of a profile that `options` leaves as they are, where they are not the defaults.
fn kept_options(profile: &Profile, options: &str) -> Vec<String> {
    let method = &profile.method;
    let line = profile
        .machine
        .data_caches()
        .first()
        .map(|it| it.line.get());
    let items = profile.granularity.bytes();
    let is_default = items == line.unwrap_or(Granularity::LINE_64.bytes());
    let is_other = |choice: &str| !["", "all"].contains(&choice);
    // Why accesses miss is known of all accesses and a cache of all threads only.
    let has_causes = options.contains("--why");
    let has_hooks = profile.warnings.iter().any(|it| it.code == REWRITTEN_HOOKS);
    let sharing = match method.sharing {
        Sharing::Shared => None,
        Sharing::Private => Some("private"),
        Sharing::Coherent => Some("coherent"),
    };
    let kept = [
        (!method.ids && !is_default).then(|| ("--granularity", items.to_string())),
        is_other(&method.data).then(|| ("--data", method.data.clone())),
        (has_hooks && !method.recorded).then(|| ("--capture", "rewriting".to_owned())),
        (!has_causes && is_other(&method.kinds)).then(|| ("--kind", method.kinds.clone())),
        sharing
            .filter(|_| !has_causes)
            .map(|sharing| ("--sharing", sharing.to_owned())),
    ];
    let kept = kept.into_iter().flatten();
    let kept = kept.filter(|(name, _)| !options.contains(name));
    kept.map(|(name, value)| format!("{name} {value}"))
        .collect()
}

fn has_line(site: &Site) -> bool {
    site.frames.iter().any(|frame| frame.line > 0)
}
