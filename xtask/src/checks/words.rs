//! Words that do not belong into files that others get.

use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "words";
/// Why there is such a rule.
pub const WHY: &str = "the project means the same on every machine, and what is left to do is not hidden in its files";

// In two parts, so that this file does not find itself.
const MARKS: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];
const FOLDERS: [&str; 4] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("/tm", "p/"),
];
/// Where run-time systems write down names for perf: the same place on every machine.
const INTERFACE: &str = concat!("/tm", "p/perf-");
/// What makes a build depend on where packages were once fetched from.
const MIRRORS: [&str; 5] = [
    "[source",
    "[registries",
    "[registry]",
    "registry-index",
    "replace-with",
];
const PACKAGES: &str = "registry+https://github.com/rust-lang/crates.io-index";

const CODE: [&str; 12] = [
    "rs", "js", "css", "html", "c", "cc", "h", "f", "f90", "inc", "sh", "run",
];
const LOCK: &str = "Cargo.lock";

/// Finds marks of unfinished work, folders of one machine, and mirrors of packages.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in workspace.files() {
        let file = path.rsplit('/').next().unwrap_or(path);
        let ending = file.rsplit('.').next().unwrap_or(file);
        if file == LOCK {
            findings.extend(foreign_packages(path, text));
            continue;
        }
        let fix = "do it, or write down what is known where a reader looks for it";
        findings.extend(each(path, text, &MARKS, "a mark of unfinished work", fix));
        if CODE.contains(&ending) && !workspace.is_test(path) {
            // Tests may make up paths.
            let kept = if ending == "rs" {
                keep_tests_out(text)
            } else {
                text.to_owned()
            };
            let kept = kept.replace(INTERFACE, "");
            let fix = "ask the system (temporary folder, user's cache), or take it as an argument";
            findings.extend(each(path, &kept, &FOLDERS, "a folder of one machine", fix));
        }
        if ending == "toml" {
            let fix = "leave the choice to whoever builds";
            findings.extend(each(
                path,
                text,
                &MIRRORS,
                "a place to fetch packages from",
                fix,
            ));
        }
    }
    findings
}

/// The text with its comments, up to the tests at its end.
fn keep_tests_out(text: &str) -> String {
    let code = source::without_tests(&source::code(text));
    let lines = text.lines().zip(code.lines());
    let is_test =
        |line: &str, code: &str| code.trim().is_empty() && !line.trim_start().starts_with("//");
    lines
        .map(|(line, code)| {
            if is_test(line, code) {
                "\n".to_owned()
            } else {
                format!("{line}\n")
            }
        })
        .collect()
}

fn each(path: &str, text: &str, words: &[&str], what: &str, fix: &str) -> Vec<Finding> {
    let places = words.iter().flat_map(|word| text.match_indices(word));
    let finding = |(at, word)| Finding {
        file: path.to_owned(),
        line: source::line(text, at),
        what: format!("'{word}' is {what}"),
        why: WHY,
        fix: fix.to_owned(),
    };
    places.map(finding).collect()
}

fn foreign_packages(path: &str, text: &str) -> Vec<Finding> {
    let foreign = |line: &str| line.starts_with("source = ") && !line.contains(PACKAGES);
    let lines = text.lines().enumerate().filter(|(_, line)| foreign(line));
    let finding = |(index, line): (usize, &str)| Finding {
        file: path.to_owned(),
        line: index + 1,
        what: format!("a package from elsewhere than crates.io ({line})"),
        why: WHY,
        fix: "take a published version".to_owned(),
    };
    lines.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_of_the_system_is_no_folder_of_one_machine() {
        let path = format!("const A: &str = \"{INTERFACE}1.map\";");
        let workspace = Workspace::of(&[("crates/a/src/a.rs", &path)]);
        assert!(check(&workspace).is_empty());
    }

    #[test]
    fn each_sort_of_word_is_found_where_it_counts() {
        let mark = format!("# a\n{}: later", MARKS[0]);
        let folder = format!("const A: &str =\n\"{}x\";", FOLDERS[3]);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{folder}\n}}");
        let lock = "source = \"registry+https://mirror.example/index\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"";
        let workspace = Workspace::of(&[
            ("README.md", &mark),
            ("Cargo.lock", lock),
            (".cargo/config.toml", "[source.crates-io]\n"),
            ("crates/a/src/a.rs", &folder),
            ("crates/a/src/b.rs", &tests),
            ("crates/a/tests/c.rs", &folder),
        ]);
        let found: Vec<(String, usize)> = check(&workspace)
            .into_iter()
            .map(|f| (f.file, f.line))
            .collect();
        let expected = [
            (".cargo/config.toml", 1),
            ("Cargo.lock", 1),
            ("README.md", 2),
            ("crates/a/src/a.rs", 2),
        ];
        assert_eq!(found, expected.map(|(file, line)| (file.to_owned(), line)));
    }
}
