//! How often a type's name is defined.

use std::collections::BTreeMap;

use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "names";
/// Why there is such a rule.
pub const WHY: &str = "a reader who searches for a name finds one thing";

/// In how many crates a name may be defined.
const CRATES: usize = 2;

/// Names that many modules define, and why.
const REPEATED: &[(&str, &str)] = &[(
    "Args",
    "each command of the command line has its arguments under the name that clap's users expect",
)];

/// A place where a name is defined.
struct Definition<'a> {
    owner: &'a str,
    file: &'a str,
    line: usize,
}

/// Finds types whose names are defined twice in one crate, or in more than two crates. Tests,
/// examples and benchmarks are left out.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut definitions: BTreeMap<String, Vec<Definition<'_>>> = BTreeMap::new();
    for (path, text) in workspace.files() {
        let Some(owner) = owner(path).filter(|_| !workspace.is_test(path)) else {
            continue;
        };
        let code = source::without_tests(&source::code(text));
        for (name, line) in types(&code) {
            definitions.entry(name).or_default().push(Definition {
                owner,
                file: path,
                line,
            });
        }
    }
    let mut findings = Vec::new();
    for (name, places) in &definitions {
        if REPEATED.iter().all(|(repeated, _)| repeated != name) {
            findings.extend(repeats(name, places));
        }
    }
    findings
}

/// The crate whose sources a file is among.
fn owner(path: &str) -> Option<&str> {
    if !path.ends_with(".rs") {
        return None;
    }
    if path.starts_with("xtask/src/") {
        return Some("xtask");
    }
    let (owner, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then_some(owner)
}

/// The names of the types and traits that `code` defines, each with its line. Types inside
/// functions are left out: nobody searches for them from elsewhere.
fn types(code: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for word in ["struct", "enum", "union", "trait"] {
        for at in source::words(code, word) {
            let line_start = code[..at].rfind('\n').map_or(0, |before| before + 1);
            let before = &code[line_start..at];
            let is_item = before.chars().take_while(|c| *c == ' ').count() == 0
                && before.split_whitespace().all(|part| {
                    part.starts_with("pub") || matches!(part, "unsafe" | "crate)" | "super)")
                });
            let name: String = code[at + word.len()..]
                .trim_start()
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if is_item && !name.is_empty() {
                found.push((name, source::line(code, at)));
            }
        }
    }
    found
}

fn repeats(name: &str, places: &[Definition<'_>]) -> Vec<Finding> {
    let mut owners: Vec<&str> = Vec::new();
    let mut findings = Vec::new();
    for place in places {
        let what = if owners.contains(&place.owner) {
            format!("{name} is defined twice in {}", place.owner)
        } else if owners.len() == CRATES {
            format!("{name} is defined in {} too", owners.join(" and "))
        } else {
            owners.push(place.owner);
            continue;
        };
        findings.push(Finding {
            file: place.file.to_owned(),
            line: place.line,
            what,
            why: WHY,
            fix: "give it a name that says what it is here".to_owned(),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_defined_twice_in_a_crate_or_in_three_are_found() {
        let one = "pub struct Berth;\nfn f() {\n    struct Inner;\n}\nstruct Once;\n";
        let workspace = Workspace::of(&[
            (
                "crates/a/src/lib.rs",
                "pub(crate) enum Berth {}\nstruct Args;\n",
            ),
            ("crates/a/src/other.rs", "trait Berth {}\nstruct Args;\n"),
            ("crates/a/tests/all.rs", one),
            ("crates/b/src/lib.rs", one),
            (
                "crates/c/src/lib.rs",
                one.replace("struct Once", "// struct Gone").as_str(),
            ),
        ]);
        let found: Vec<String> = check(&workspace)
            .into_iter()
            .map(|finding| format!("{}: {}", finding.file, finding.what))
            .collect();
        assert_eq!(
            found,
            [
                "crates/a/src/other.rs: Berth is defined twice in a",
                "crates/c/src/lib.rs: Berth is defined in a and b too",
            ]
        );
    }
}
