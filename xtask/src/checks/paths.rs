//! No crate compiles the sources of another.

use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "paths";
/// Why there is such a rule.
pub const WHY: &str = "a file that two crates compile is a dependency that no manifest shows";

/// What names a file of source text, up to the name.
const STARTS: [&str; 2] = ["path = \"", "include!(\""];

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
    let starts = STARTS.into_iter().flat_map(|start| {
        text.match_indices(start)
            .map(move |(at, _)| at + start.len())
    });
    starts.filter_map(|at| Some((at, text[at..].split_once('"')?.0)))
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
        let own = "#[path = \"../b.rs\"]\nmod b;\n// #[path = \"../../../x/src/c.rs\"]\n";
        let taken = "mod a;\n#[path = \"../../x/src/c.rs\"]\nmod c;\ninclude!(\"../../y.rs\");";
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
            [expected(2, "../../x/src/c.rs"), expected(4, "../../y.rs")]
        );
    }
}
