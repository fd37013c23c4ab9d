//! [`GroupFinder`]: finds the line, object or function that a rule names, and proposes similar
//! names if there is none.

use thiserror::Error;

use crate::{Dimension, Group, Profile};

/// How many names an error lists.
const LISTED: usize = 3;

/// How many groups an error lists that a name may be.
const CANDIDATES: usize = 10;

/// How alike two names are, of 1, to be taken for a misspelling.
const ALIKE: f64 = 0.7;

/// Finds groups by their names.
pub(crate) struct GroupFinder<'a>(pub(crate) &'a Profile);

/// A name that is not that of one group.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NamedError {
    /// There is no such group.
    #[error(
        "there is no {by} '{name}' in {profile}{}",
        alternatives(.near, *.by)
    )]
    Unknown {
        /// What it should be.
        by: Dimension,
        /// The name.
        name: String,
        /// Which profile was searched.
        profile: &'static str,
        /// Names that look like it, the most alike first.
        near: Vec<String>,
    },
    /// There are several.
    #[error(
        "the {by} '{name}' may be any of {} in {profile}; write one of these names in full",
        listed(.names)
    )]
    Several {
        /// What it should be.
        by: Dimension,
        /// The name.
        name: String,
        /// Which profile was searched.
        profile: &'static str,
        /// The names of all groups that it may be.
        names: Vec<String>,
    },
    /// The profile has no groups.
    #[error(
        "{profile} was analysed as a whole (--by program), so nothing is known of the {by} '{name}'; analyse it again without that"
    )]
    Whole {
        /// What it should be.
        by: Dimension,
        /// The name.
        name: String,
        /// Which profile was searched.
        profile: &'static str,
    },
}

/// The first names, quoted since names of objects have spaces in them, and how many more there are.
fn listed(names: &[String]) -> String {
    let first: Vec<String> = names.iter().take(CANDIDATES).map(quoted).collect();
    match names.len().saturating_sub(CANDIDATES) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn quoted(name: &String) -> String {
    format!("'{name}'")
}

fn alternatives(names: &[String], by: Dimension) -> String {
    match names {
        [] => format!("; `reuselens report PROFILE --by {by} --csv -` lists the names"),
        names => format!("; names like it: {}", names.join(", ")),
    }
}

impl GroupFinder<'_> {
    /// The group of this name: the complete name; else, if only one group matches, an object or a
    /// function without what follows in parentheses (`grid` for `grid (a.c)`), a variable of a
    /// function by its own name (`grid` for `grid in main` and for `grid.0 (a.c)`), or a line with
    /// more or fewer folders (`a.c:12` for `src/a.c:12`). `profile` is what errors call the
    /// profile.
    ///
    /// # Errors
    /// If there is no such group, or more than one.
    pub(crate) fn find(
        &self,
        by: Dimension,
        name: &str,
        profile: &'static str,
    ) -> Result<Group, NamedError> {
        let mut groups = self.0.groups(by);
        if let Some(at) = groups.iter().position(|group| group.name == name) {
            return Ok(groups.swap_remove(at));
        }
        let fits = |group: &Group| match by {
            Dimension::Line => is_end(&group.name, name) || is_end(name, &group.name),
            Dimension::Object => is_begin(&group.name, name) || variable(&group.name) == Some(name),
            _ => is_begin(&group.name, name),
        };
        let found: Vec<usize> = (0..groups.len()).filter(|at| fits(&groups[*at])).collect();
        let name = name.to_owned();
        match found[..] {
            [at] => Ok(groups.swap_remove(at)),
            [] if self.0.method.totals_only => Err(NamedError::Whole { by, name, profile }),
            [] => Err(NamedError::Unknown {
                by,
                near: alike(&groups, &name),
                name,
                profile,
            }),
            _ => Err(NamedError::Several {
                by,
                name,
                profile,
                names: found.iter().map(|at| groups[*at].name.clone()).collect(),
            }),
        }
    }
}

/// Whether `end` is the end of a path in complete components.
fn is_end(path: &str, end: &str) -> bool {
    path.strip_suffix(end)
        .is_some_and(|rest| rest.ends_with('/'))
}

/// Whether a name goes on in parentheses after `begin`.
fn is_begin(name: &str, begin: &str) -> bool {
    let rest = name.strip_prefix(begin).map(str::trim_start);
    rest.is_some_and(|rest| rest.starts_with('('))
}

/// The name in the source of a variable of a function: `grid` of `grid in main`, a local array, and
/// of `grid.0 (a.c)` and `main.grid (a.c)`, static variables as gcc and clang name them.
fn variable(object: &str) -> Option<&str> {
    if let Some((name, _)) = object.split_once(" in ") {
        return Some(name);
    }
    let symbol = object.split_once(" (").map_or(object, |(symbol, _)| symbol);
    let (first, last) = symbol.rsplit_once('.')?;
    let is_number = last.bytes().all(|digit| digit.is_ascii_digit());
    Some(if is_number { first } else { last })
}

/// Names that look like this one, the most alike first; of equally alike ones those with more
/// accesses.
fn alike(groups: &[Group], name: &str) -> Vec<String> {
    let bare = |name: &str| name.rsplit('/').next().unwrap_or(name).to_lowercase();
    let wanted = bare(name);
    let mut alike: Vec<(f64, &Group)> = groups
        .iter()
        .map(|group| (strsim::jaro_winkler(&bare(&group.name), &wanted), group))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    // Stable, and the groups have the most accesses first.
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    let names = alike.into_iter().take(LISTED);
    names.map(|(_, group)| group.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn find(profile: &Profile, by: Dimension, name: &str) -> Result<String, NamedError> {
        GroupFinder(profile)
            .find(by, name, "the profile")
            .map(|group| group.name)
    }

    #[test]
    fn names_are_found_completely_or_without_their_place() {
        let profile = testing::profile();
        let found = [
            (Dimension::Object, "table (a.c)", "table (a.c)"),
            (Dimension::Object, "table", "table (a.c)"),
            (
                Dimension::Object,
                "heap from solve",
                "heap from solve (b.c:5)",
            ),
            (Dimension::Function, "sweep", "sweep"),
            (Dimension::Line, "a.c:12", "a.c:12"),
            (Dimension::Line, "p/a.c:12", "a.c:12"),
        ];
        for (by, name, full) in found {
            assert_eq!(find(&profile, by, name).as_deref(), Ok(full));
        }
        // Half a name is no name.
        for (by, name) in [(Dimension::Object, "tab"), (Dimension::Line, "c:12")] {
            assert!(find(&profile, by, name).is_err(), "{name}");
        }
    }

    #[test]
    fn unknown_names_propose_similar_ones() {
        let profile = testing::profile();
        let error = find(&profile, Dimension::Function, "sweeep")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no function 'sweeep' in the profile; names like it: sweep"),
            "{error}"
        );
        let error = find(&profile, Dimension::Line, "src/a.c:13")
            .unwrap_err()
            .to_string();
        assert!(error.contains("a.c:12"), "{error}");
        let error = find(&profile, Dimension::Object, "qqq")
            .unwrap_err()
            .to_string();
        assert!(error.contains("--by object --csv -"), "{error}");
    }

    #[test]
    fn a_name_of_several_groups_is_refused() {
        let mut profile = testing::profile();
        profile.objects[2].name = "table (b.c)".into();
        let error = find(&profile, Dimension::Object, "table").unwrap_err();
        assert!(
            matches!(&error, NamedError::Several { names, .. } if names.len() == 2),
            "{error}"
        );
        assert_eq!(
            find(&profile, Dimension::Object, "table (b.c)").as_deref(),
            Ok("table (b.c)")
        );
    }

    #[test]
    fn variables_of_functions_are_found_by_their_names() {
        let mut profile = testing::profile();
        profile.objects[1].name = "big in main".into();
        profile.objects[2].name = "a.0 (main.c)".into();
        for (name, full) in [
            ("big", "big in main"),
            ("a", "a.0 (main.c)"),
            ("a.0", "a.0 (main.c)"),
        ] {
            assert_eq!(find(&profile, Dimension::Object, name).as_deref(), Ok(full));
        }
        // The function alone is no name of a variable in it.
        assert!(find(&profile, Dimension::Object, "main").is_err());
        profile.objects[2].name = "work.hot (main.c)".into();
        let found = find(&profile, Dimension::Object, "hot");
        assert_eq!(found.as_deref(), Ok("work.hot (main.c)"));
        profile.objects[2].name = "big (main.c)".into();
        let error = find(&profile, Dimension::Object, "big").unwrap_err();
        assert!(
            error.to_string().contains("'big in main', 'big (main.c)'")
                || error.to_string().contains("'big (main.c)', 'big in main'"),
            "{error}"
        );
        assert_eq!(
            find(&profile, Dimension::Object, "big in main").as_deref(),
            Ok("big in main")
        );
    }

    #[test]
    fn missing_groups_are_reported_as_such() {
        let mut profile = testing::profile();
        (profile.cells, profile.method.totals_only) = (Vec::new(), true);
        let error = find(&profile, Dimension::Function, "sweep")
            .unwrap_err()
            .to_string();
        assert!(error.contains("--by program"), "{error}");
    }
}
