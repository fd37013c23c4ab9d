//! The checks: one file each, with the same names inside (`NAME`, `WHY`, `check`), and the list of
//! them.

mod cases;
mod choices;
mod comments;
mod defaults;
mod dependencies;
mod docs;
mod io;
mod length;
mod manifests;
mod names;
mod offline;
mod paths;
mod quiet;
mod third_party;
mod unsafe_code;
mod verbs;
mod words;

use crate::{Finding, Workspace};

/// A check.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name, as `ARCHITECTURE.md` refers to it.
    pub name: &'static str,
    /// Why there is such a rule.
    pub why: &'static str,
    /// What it finds.
    pub check: fn(&Workspace) -> Vec<Finding>,
}

macro_rules! checks {
    ($($module:ident),+ $(,)?) => {
        /// All checks.
        pub const CHECKS: &[Check] =
            &[$(Check { name: $module::NAME, why: $module::WHY, check: $module::check }),+];
    };
}

checks! {
    dependencies,
    paths,
    quiet,
    unsafe_code,
    io,
    length,
    comments,
    defaults,
    names,
    verbs,
    choices,
    offline,
    words,
    manifests,
    docs,
    cases,
    third_party,
}

/// A rule's exception: a file, or a folder with `/` at its end, and why.
pub(crate) struct Exception {
    pub path: &'static str,
    pub reason: &'static str,
}

impl Exception {
    pub(crate) fn covers(&self, path: &str) -> bool {
        if self.path.ends_with('/') {
            path.starts_with(self.path)
        } else {
            path == self.path
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_its_own_name_and_architecture_tells_of_it() {
        let text = include_str!("../../../ARCHITECTURE.md");
        for (index, check) in CHECKS.iter().enumerate() {
            assert!(!check.why.is_empty());
            assert!(
                CHECKS[..index].iter().all(|other| other.name != check.name),
                "{}",
                check.name
            );
            assert!(
                text.contains(&format!("`{}`", check.name)),
                "{} is not explained",
                check.name
            );
        }
    }
}
