//! The names of what causes refer to by number ([`CauseNames`]), and which of their rows are shown.

use reuselens_document::numbers::noun;
use reuselens_locality::total;
use reuselens_profile::{Causes, Dimension, MissScope, Profile, SharedEnd, ShortPaths};

/// A row is shown if it has at least one in this many of what all rows count: the dynamic loader
/// alone has a hundred rows of a few misses.
const LEAST_SHARE: u64 = 1000;

/// Splits rows, which are in falling order of `count`, into those to show and the number of those
/// that are too small.
pub(super) fn noticeable<R>(mut rows: Vec<R>, count: impl Fn(&R) -> u64) -> (Vec<R>, usize) {
    let all = total(rows.iter().map(&count));
    let is_shown = |row: &R| count(row).saturating_mul(LEAST_SHARE) >= all;
    let shown = rows.iter().take_while(|row| is_shown(row)).count();
    let small = rows.split_off(shown).len();
    (rows, small)
}

/// Rows of a table in a summary.
pub(super) const TEXT_ROWS: usize = 5;
/// Rows of a table on a page.
pub(super) const PAGE_ROWS: usize = 100;

/// What a table of a summary leaves out.
pub(super) fn others(more: usize) -> String {
    format!("{more} others")
}

/// What a table of a page leaves out.
pub(super) fn in_json(more: usize) -> String {
    let more = noun(more as u64, "more row is", "more rows are");
    format!("{more} in the JSON (`--json`).")
}

/// The names of what causes refer to by number.
pub(super) struct CauseNames<'a> {
    profile: &'a Profile,
    causes: &'a Causes,
    lines: Vec<String>,
    paths: ShortPaths<'a>,
}

impl<'a> CauseNames<'a> {
    /// The names of a profile; `None` if it has no causes. Cost: linear in its sites.
    pub fn of(profile: &'a Profile) -> Option<Self> {
        Some(CauseNames {
            profile,
            causes: profile.causes.as_ref()?,
            lines: profile.entry_names(Dimension::Line),
            paths: ShortPaths::new(profile),
        })
    }

    /// The profile.
    pub fn profile(&self) -> &'a Profile {
        self.profile
    }

    /// Its causes.
    pub fn causes(&self) -> &'a Causes {
        self.causes
    }

    /// The line of a site.
    pub fn line(&self, site: u32) -> &str {
        let name = self.lines.get(site as usize);
        name.map_or("(unknown line)", String::as_str)
    }

    /// An object.
    pub fn object(&self, object: u32) -> &'a str {
        let object = self.profile.objects.get(object as usize);
        match object.map_or("", |object| &object.name) {
            "" => "(unknown object)",
            name => name,
        }
    }

    /// The field that one side of a pair accesses; nothing if it is not known.
    pub fn field(&self, end: &SharedEnd) -> Option<&'a str> {
        let (_, field) = self.causes.field(end.object, end.offset?)?;
        Some(&field.name)
    }

    /// The words of a loop or function: `the loop at matmul.c:35`.
    pub fn scope(&self, scope: &MissScope) -> String {
        scope.words(&self.paths)
    }
}
