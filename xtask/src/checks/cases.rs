//! The table of cases that every engine is held to.

use std::collections::BTreeMap;

use crate::{Finding, Workspace};

/// What this check is called.
pub const NAME: &str = "cases";
/// Why there is such a rule.
pub const WHY: &str =
    "a case that no test reads proves nothing, and two of one name cannot be told apart";

const FOLDER: &str = "cases/";
/// The test that reads every `*.toml` of the folder.
const HARNESS: &str = "crates/reuselens/tests/cases.rs";
/// Folders of cases that have forms of their own, and the test that reads each.
const OTHERS: [(&str, &str); 2] = [
    ("cases/predict", "crates/predict/tests/cases.rs"),
    ("cases/gpu", "crates/gpu-advisor/tests/advisor/cases.rs"),
];
const EXPLANATION: &str = "cases/README.md";
const NEEDED: [&str; 5] = ["name", "source", "histogram", "cold", "distinct"];
const STREAMS: [&str; 3] = ["trace", "items", "generator"];

/// Finds files that are not read, cases that are not whole, and names given twice.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut names = BTreeMap::new();
    for (path, text) in workspace.matching(FOLDER, "") {
        let finding = |line, what: String, fix: &str| Finding {
            file: path.to_owned(),
            line,
            what,
            why: WHY,
            fix: fix.to_owned(),
        };
        if path == EXPLANATION || has_own_form(workspace, path) {
            continue;
        }
        if !is_read(workspace, path) {
            let fix = "put *.toml files directly into cases/ and keep the test that reads them";
            findings.push(finding(0, format!("{HARNESS} does not read it"), fix));
            continue;
        }
        let cases = match cases(text) {
            Ok(cases) => cases,
            Err(error) => {
                findings.push(finding(0, error, "see cases/README.md for the form"));
                continue;
            }
        };
        for case in cases {
            let name = case
                .get("name")
                .and_then(toml::Value::as_str)
                .unwrap_or_default();
            let named =
                |line: &str| line.starts_with("name") && line.contains(&format!("\"{name}\""));
            let line = text.lines().position(named).map_or(0, |index| index + 1);
            if let Some(wrong) = incomplete(&case) {
                findings.push(finding(
                    line,
                    format!("the case '{name}' {wrong}"),
                    "see cases/README.md",
                ));
            }
            if let Some(first) = names.insert(name.to_owned(), path) {
                let what = format!("a case '{name}' is in {first} already");
                findings.push(finding(line, what, "say in the name how they differ"));
            }
        }
    }
    findings
}

/// Whether a file is in a folder of other forms, and its test reads that.
fn has_own_form(workspace: &Workspace, path: &str) -> bool {
    let reads = |(folder, test): &(&str, &str)| {
        let harness = workspace.get(test).unwrap_or_default();
        let file = path
            .strip_prefix(folder)
            .and_then(|it| it.strip_prefix('/'));
        file.is_some_and(|file| file.ends_with(".toml"))
            && harness.contains(&format!("../../{folder}"))
    };
    OTHERS.iter().any(reads)
}

/// Whether the harness is there and reads a file.
fn is_read(workspace: &Workspace, path: &str) -> bool {
    let name = path.trim_start_matches(FOLDER);
    let harness = workspace.get(HARNESS).unwrap_or_default();
    name.ends_with(".toml") && !name.contains('/') && harness.contains("../../cases")
}

fn cases(text: &str) -> Result<Vec<toml::Table>, String> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| format!("not TOML: {}", error.message()))?;
    let cases = table.get("case").and_then(toml::Value::as_array);
    let cases = cases
        .filter(|_| table.len() == 1)
        .ok_or("not a list of [[case]] and nothing else")?;
    Ok(cases
        .iter()
        .filter_map(toml::Value::as_table)
        .cloned()
        .collect())
}

/// What a case lacks.
fn incomplete(case: &toml::Table) -> Option<String> {
    if let Some(needed) = NEEDED.iter().find(|needed| !case.contains_key(**needed)) {
        return Some(format!("has no {needed}"));
    }
    let streams = STREAMS
        .iter()
        .filter(|stream| case.contains_key(**stream))
        .count();
    (streams != 1).then(|| format!("needs one of {STREAMS:?} and has {streams}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = "[[case]]\nname = \"a\"\nsource = \"s\"\ntrace = \"a\"\nhistogram = []\ncold = 1\ndistinct = 1\n";
    const TEST: (&str, &str) = (HARNESS, "join(\"../../cases\")");

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Workspace::of(files))
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn whole_cases_in_files_that_are_read_are_fine() {
        assert_eq!(
            found(&[TEST, ("cases/a.toml", CASE), (EXPLANATION, "")]),
            [""; 0]
        );
    }

    #[test]
    fn what_no_test_reads_is_found() {
        assert_eq!(found(&[("cases/a.toml", CASE)]).len(), 1);
        assert_eq!(
            found(&[TEST, ("cases/deep/a.toml", CASE), ("cases/b.json", "")]).len(),
            2
        );
    }

    #[test]
    fn cases_of_other_forms_have_a_test_of_their_own() {
        for (folder, test) in OTHERS {
            let file = format!("{folder}/a.toml");
            let case = (file.as_str(), "[[merge]]\n");
            assert_eq!(found(&[TEST, case]).len(), 1);
            let join = format!("join(\"../../{folder}\")");
            assert_eq!(found(&[TEST, case, (test, &join)]), [""; 0]);
        }
    }

    #[test]
    fn wrong_cases_are_found() {
        let twice = found(&[TEST, ("cases/a.toml", CASE), ("cases/b.toml", CASE)]);
        assert_eq!(twice, ["a case 'a' is in cases/a.toml already"]);
        let no_stream = CASE.replace("trace", "tracks");
        assert_eq!(found(&[TEST, ("cases/a.toml", &no_stream)]).len(), 1);
        assert_eq!(
            found(&[TEST, ("cases/a.toml", &CASE.replace("cold", "warm"))]),
            ["the case 'a' has no cold"]
        );
        assert_eq!(found(&[TEST, ("cases/a.toml", "[[case]\n")]).len(), 1);
        assert_eq!(found(&[TEST, ("cases/a.toml", "case = 1\n")]).len(), 1);
    }
}
