//! A command has a file, a page and tests of its name.

use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "verbs";
/// Why there is such a rule.
pub const WHY: &str =
    "what a command does, what it promises and what proves it are found by its name alone";

const COMMANDS: &str = "crates/cli/src/commands/";
const LIST: &str = "crates/cli/src/commands/mod.rs";
const PAGES: &str = "docs/commands/";
const TESTS: &str = "crates/cli/tests/";
/// The page of what commands have in common.
const INDEX: &str = "docs/commands/README.md";
/// Where options that several commands have are defined.
const SHARED_OPTIONS: [&str; 2] = ["crates/cli/src/options.rs", "crates/cli/src/output.rs"];

/// Words that are typed like commands and share the file and page of one: word, command.
const ALIASES: [(&str, &str); 2] = [("c++", "cc"), ("fortran", "cc")];

/// Commands whose tests are elsewhere: command, file, reason.
const TESTED_ELSEWHERE: &[(&str, &str, &str)] = &[];

/// Finds commands without a page, without tests or off the list, pages for nothing, and options
/// that no page explains.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let listed = listed(workspace.get(LIST).unwrap_or_default());
    let mut findings = Vec::new();
    for verb in &listed {
        findings.extend(check_verb(workspace, verb));
    }
    for (path, _) in workspace.matching(COMMANDS, ".rs") {
        let name = stem(path, COMMANDS, ".rs");
        if path != LIST && !name.contains('/') && !listed.contains(&name) {
            let fix = format!("add `pub mod {name};` and a variant to {LIST}");
            findings.push(finding(
                path,
                "a command that cannot be called".to_owned(),
                fix,
            ));
        }
    }
    for (path, _) in workspace.matching(PAGES, ".md") {
        if path != INDEX && !listed.contains(&stem(path, PAGES, ".md")) {
            let fix = "call it as the command is called, or move it to docs/".to_owned();
            findings.push(finding(path, "a page of no command".to_owned(), fix));
        }
    }
    for file in SHARED_OPTIONS {
        findings.extend(unexplained(workspace, file, INDEX));
    }
    findings
}

fn check_verb(workspace: &Workspace, verb: &str) -> Vec<Finding> {
    let file = format!("{COMMANDS}{verb}.rs");
    let page = format!("{PAGES}{verb}.md");
    let tests = TESTED_ELSEWHERE
        .iter()
        .find(|known| known.0 == verb)
        .map(|known| known.1);
    let tests = tests.map_or_else(|| format!("{TESTS}{verb}.rs"), str::to_owned);
    let mut findings = Vec::new();
    for (needed, what) in [(&file, "code"), (&page, "page"), (&tests, "tests")] {
        if !workspace.has(needed) {
            let fix = format!("write {needed}");
            findings.push(finding(
                LIST,
                format!("the command '{verb}' has no {what}"),
                fix,
            ));
        }
    }
    let text = workspace.get(&page);
    for (alias, _) in ALIASES.iter().filter(|(_, command)| *command == verb) {
        if text.is_some_and(|text| !text.contains(&format!("reuselens {alias}"))) {
            let fix = format!("show `reuselens {alias}` there");
            findings.push(finding(&page, format!("nothing about '{alias}'"), fix));
        }
    }
    findings.extend(unexplained(workspace, &file, &page));
    findings
}

fn finding(file: &str, what: String, fix: String) -> Finding {
    Finding {
        file: file.to_owned(),
        line: 0,
        what,
        why: WHY,
        fix,
    }
}

fn stem(path: &str, start: &str, end: &str) -> String {
    path.trim_start_matches(start)
        .trim_end_matches(end)
        .to_owned()
}

/// The commands of the list.
fn listed(text: &str) -> Vec<String> {
    let code = source::without_tests(&source::code(text));
    let name = |line: &str| {
        line.trim()
            .strip_prefix("pub mod ")?
            .strip_suffix(';')
            .map(str::to_owned)
    };
    code.lines().filter_map(name).collect()
}

/// Options of `file` that `page` does not mention; nothing if one of them is not there.
fn unexplained(workspace: &Workspace, file: &str, page: &str) -> Vec<Finding> {
    let (Some(code), Some(text)) = (workspace.get(file), workspace.get(page)) else {
        return Vec::new();
    };
    let missing = long_options(code)
        .into_iter()
        .filter(|(_, option)| !mentions(text, option));
    let finding = |(line, option): (usize, String)| Finding {
        file: file.to_owned(),
        line,
        what: format!("{page} does not explain {option}"),
        why: WHY,
        fix: format!("add {option} to {page}"),
    };
    missing.map(finding).collect()
}

/// Whether a page names an option, and not only a longer one that begins like it.
fn mentions(text: &str, option: &str) -> bool {
    text.match_indices(option).any(|(at, _)| {
        let next = text[at + option.len()..].chars().next();
        !next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-')
    })
}

/// Fields marked `#[arg(… long …)]`, as line and option.
fn long_options(text: &str) -> Vec<(usize, String)> {
    let code = source::code(text);
    let mut found = Vec::new();
    for (at, _) in code.match_indices("#[arg(") {
        let Some(end) = code[at..].find(")]").map(|end| at + end) else {
            continue;
        };
        let attribute = &code[at..end];
        if source::words(attribute, "long").next().is_none() {
            continue;
        }
        let field = code[end + 2..].trim_start().trim_start_matches("pub ");
        // A field that is called like a word of the language.
        let field = field.trim_start_matches("r#");
        let name: String = field
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        found.push((
            source::line(&code, at),
            format!("--{}", name.replace('_', "-")),
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Workspace::of(files))
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    const VERB: &str = "struct A { #[arg(short, long, value_name = \"N\")]\n pub dry_run: u8, }";

    #[test]
    fn a_whole_command_is_fine() {
        let files = [
            (LIST, "pub mod fly;"),
            ("crates/cli/src/commands/fly.rs", VERB),
            ("docs/commands/fly.md", "`--dry-run`"),
            ("crates/cli/tests/fly.rs", ""),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn what_is_missing_is_found() {
        let files = [
            (LIST, "pub mod fly;"),
            ("crates/cli/src/commands/fly.rs", VERB),
        ];
        let expected = [
            "the command 'fly' has no page",
            "the command 'fly' has no tests",
        ];
        assert_eq!(found(&files), expected);
        let files = [
            ("docs/commands/swim.md", ""),
            ("crates/cli/src/commands/run.rs", ""),
        ];
        assert_eq!(
            found(&files),
            ["a command that cannot be called", "a page of no command"]
        );
    }

    #[test]
    fn options_are_explained_by_their_whole_name() {
        let files = [
            (LIST, "pub mod cc;"),
            ("crates/cli/src/commands/cc.rs", VERB),
            ("docs/commands/cc.md", "`--dry-runs`, reuselens c++"),
            ("crates/cli/tests/cc.rs", ""),
        ];
        let expected = [
            "nothing about 'fortran'",
            "docs/commands/cc.md does not explain --dry-run",
        ];
        assert_eq!(found(&files), expected);
    }
}
