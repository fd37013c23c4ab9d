//! [`FindingRule`]: the description of what an advisor looks for.

/// Code before a change and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// With the fault.
    pub before: &'static str,
    /// Without it.
    pub after: &'static str,
}

/// What an advisor looks for. There is one value of each rule, a `static` in the rule's own file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FindingRule {
    /// Its name on the command line and in files, as `uncoalesced-access`. It never changes.
    pub name: &'static str,
    /// What it finds, as a heading: `Uncoalesced access`.
    pub title: &'static str,
    /// What it looks at, and when it applies: thresholds with their units.
    pub what: &'static str,
    /// Why that is bad.
    pub why: &'static str,
    /// Code before the change that it asks for, and after it.
    pub example: Example,
    /// When it can be wrong.
    pub limits: &'static str,
    /// Where it is from: a paper with its section, a vendor's guide, or `reuselens`.
    pub source: &'static str,
}
