//! No crate compiles the sources of another.
//!
//! Seen are names in attributes and in `include!`, in the files in `src/`. A name that is put
//! together (`include!(concat!(…))`) is not seen, nor what examples and benches take: they are in
//! no library.

use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "paths";
/// Why there is such a rule.
pub const WHY: &str = "a file that two crates compile is a dependency that no manifest shows";

/// What names a file of source text, up to the name.
const INCLUDE: &str = "include!(\"";
/// The same in an attribute.
const ATTRIBUTE: &str = "path = \"";

/// Finds sources that are taken from outside of a crate's folder. Build scripts and tests may: what
/// they take is in no library.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in workspace.matching("crates/", ".rs") {
        let mut parts = path.splitn(4, '/');
        let (Some(folder), Some("src")) = (parts.nth(1), parts.next()) else {
            continue;
        };
        let text = source::without_comments(text);
        findings.extend(named(&text).filter_map(|(at, name)| {
            let is_own = resolved(path, name).starts_with(&["crates", folder]);
            (!is_own).then(|| Finding {
                file: path.to_owned(),
                line: source::line(&text, at),
                what: format!("{name} is a file of another crate"),
                why: WHY,
                fix: "move it to a crate that both may use, and use it from there".to_owned(),
            })
        }));
    }
    findings
}

/// The files that a text names, each with its place in the text.
fn named(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let included = text
        .match_indices(INCLUDE)
        .map(|(at, start)| at + start.len());
    let attributes = text
        .match_indices(ATTRIBUTE)
        .filter(|(at, _)| is_in_attribute(text, *at))
        .map(|(at, start)| at + start.len());
    let starts = attributes.chain(included);
    starts.filter_map(|at| Some((at, text[at..].split_once('"')?.0)))
}

/// Whether a place is in an attribute, where `path` is no variable.
fn is_in_attribute(text: &str, at: usize) -> bool {
    let before = &text[..at];
    before
        .rfind("#[")
        .is_some_and(|start| !before[start..].contains(']'))
}

/// The parts of the path that `name` is, seen from the file `from`; none are left of what is above
/// the workspace.
fn resolved<'a>(from: &'a str, name: &'a str) -> Vec<&'a str> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_another_crate_are_found_and_own_ones_are_not() {
        let own = "#[path = \"../b.rs\"]\nmod b;\n// #[path = \"../../../x/src/c.rs\"]\n\
                   fn f() { let path = \"/etc/passwd\"; }\n";
        let taken = "mod a;\n#[path = \"../../x/src/c.rs\"]\nmod c;\ninclude!(\"../../y.rs\");\n\
                     #[cfg_attr(x, path = \"../../x/src/z.rs\")]\nmod z;\n";
        let workspace = Workspace::of(&[
            ("crates/a/src/inner/mod.rs", own),
            ("crates/a/src/lib.rs", taken),
            ("crates/a/build.rs", taken),
            ("crates/a/tests/main.rs", taken),
        ]);
        let found: Vec<(String, usize, String)> = check(&workspace)
            .into_iter()
            .map(|found| (found.file, found.line, found.what))
            .collect();
        let expected = |line, name: &str| {
            let what = format!("{name} is a file of another crate");
            ("crates/a/src/lib.rs".to_owned(), line, what)
        };
        assert_eq!(
            found,
            [
                expected(2, "../../x/src/c.rs"),
                expected(5, "../../x/src/z.rs"),
                expected(4, "../../y.rs")
            ]
        );
    }
}
