//! What every `Cargo.toml` has in common.

use crate::{Finding, Workspace};

/// What this check is called.
pub const NAME: &str = "manifests";
/// Why there is such a rule.
pub const WHY: &str = "one place decides versions and lints for all crates";

/// Why each file of tests is to be named.
const WHY_NAMED: &str =
    "cargo compiles a file of tests by itself only where no list says otherwise";

/// Crates that share types, so that they move together or not at all.
const PINNED: [&str; 3] = ["addr2line", "gimli", "object"];

/// Finds crates outside the workspace's lints, versions that could drift apart, and files of tests
/// that are not compiled.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = check_root(workspace.get("Cargo.toml").unwrap_or_default());
    let folders = workspace
        .crates()
        .into_iter()
        .map(|name| format!("crates/{name}"));
    for folder in folders.chain(["xtask".to_owned()]) {
        let file = format!("{folder}/Cargo.toml");
        if let Some(text) = workspace.get(&file) {
            findings.extend(check_member(&file, text));
            findings.extend(unlisted_tests(workspace, &folder, text));
        }
    }
    findings
}

/// Files of tests that neither the manifest nor `tests/main.rs` names, in a crate that lists its
/// tests.
fn unlisted_tests(workspace: &Workspace, folder: &str, manifest: &str) -> Vec<Finding> {
    if !manifest.contains("autotests = false") {
        return Vec::new();
    }
    let tests = format!("{folder}/tests/");
    let binary = format!("{tests}main.rs");
    let modules = workspace.get(&binary).unwrap_or_default();
    let mut findings = Vec::new();
    for (path, _) in workspace.matching(&tests, ".rs") {
        let name = path.trim_start_matches(&tests).trim_end_matches(".rs");
        let module = format!("mod {name};");
        let is_listed = modules.lines().any(|line| line == module)
            || manifest.contains(&format!("path = \"tests/{name}.rs\""));
        if !name.contains('/') && !is_listed {
            findings.push(Finding {
                file: path.to_owned(),
                line: 0,
                what: "tests that never run".to_owned(),
                why: WHY_NAMED,
                fix: format!("add `{module}` to {binary}"),
            });
        }
    }
    findings
}

fn finding(file: &str, text: &str, word: &str, what: String, fix: String) -> Finding {
    let line = text
        .lines()
        .position(|line| line.starts_with(word))
        .map_or(0, |index| index + 1);
    Finding {
        file: file.to_owned(),
        line,
        what,
        why: WHY,
        fix,
    }
}

fn table(text: &str) -> toml::Table {
    text.parse().unwrap_or_default()
}

fn check_root(text: &str) -> Vec<Finding> {
    let root = table(text);
    let dependencies = root
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"));
    let version = |name: &str| {
        let entry = dependencies?.get(name)?;
        entry
            .get("version")
            .unwrap_or(entry)
            .as_str()
            .map(str::to_owned)
    };
    let loose = PINNED
        .iter()
        .filter_map(|name| Some((name, version(name)?)));
    let loose = loose.filter(|(_, version)| !version.starts_with('='));
    let finding = |(name, version): (&&str, String)| {
        let what = format!(
            "{name} is not pinned ({version}), but shares types with the others of {PINNED:?}"
        );
        finding(
            "Cargo.toml",
            text,
            name,
            what,
            format!("write \"={version}\""),
        )
    };
    loose.map(finding).collect()
}

fn check_member(file: &str, text: &str) -> Vec<Finding> {
    let manifest = table(text);
    let mut findings = Vec::new();
    let lints = manifest
        .get("lints")
        .and_then(|lints| lints.get("workspace"));
    if lints.and_then(toml::Value::as_bool) != Some(true) {
        let fix = "add `[lints]` with `workspace = true`".to_owned();
        findings.push(finding(
            file,
            text,
            "[lints]",
            "the workspace's lints do not hold here".to_owned(),
            fix,
        ));
    }
    for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
        for name in PINNED {
            let entry = manifest.get(section).and_then(|section| section.get(name));
            if entry.is_some_and(|entry| entry.get("workspace").is_none()) {
                let what = format!("{name} has a version of its own here");
                findings.push(finding(
                    file,
                    text,
                    name,
                    what,
                    format!("write `{name}.workspace = true`"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> Vec<usize> {
        check(&Workspace::of(&[(file, text)]))
            .into_iter()
            .map(|finding| finding.line)
            .collect()
    }

    #[test]
    fn loose_versions_are_found() {
        let text = "[workspace.dependencies]\naddr2line = \"=0.27.1\"\nobject = { version = \"0.40\" }\ngimli = \"1\"";
        assert_eq!(found("Cargo.toml", text), [4, 3]);
    }

    #[test]
    fn file_of_tests_that_no_list_names_is_reported() {
        let files = |manifest| {
            [
                ("crates/a/Cargo.toml", manifest),
                ("crates/a/tests/main.rs", "mod common;\nmod swim;"),
                ("crates/a/tests/common/mod.rs", ""),
                ("crates/a/tests/alone.rs", ""),
                ("crates/a/tests/fly.rs", ""),
                ("crates/a/tests/swim.rs", ""),
            ]
        };
        let lints = "[lints]\nworkspace = true\n";
        let paths = "[[test]]\npath = \"tests/main.rs\"\n[[test]]\npath = \"tests/alone.rs\"\n";
        let listed = format!("[package]\nautotests = false\n{lints}{paths}");
        let findings = check(&Workspace::of(&files(&listed)));
        let found: Vec<&str> = findings.iter().map(|finding| &finding.file[..]).collect();
        assert_eq!(found, ["crates/a/tests/fly.rs"]);
        assert!(check(&Workspace::of(&files(lints))).is_empty());
    }

    #[test]
    fn members_inherit() {
        let good = "[lints]\nworkspace = true\n[dependencies]\nobject = { workspace = true, features = [] }";
        assert_eq!(found("crates/a/Cargo.toml", good), [0; 0]);
        assert_eq!(found("xtask/Cargo.toml", "[dependencies]\n"), [0]);
        let own = "[lints]\nworkspace = true\n[dev-dependencies]\ngimli = \"0.34\"";
        assert_eq!(found("crates/a/Cargo.toml", own), [4]);
    }
}
