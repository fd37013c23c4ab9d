//! How long files and functions may be.

use super::Exception;
use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "length";
/// Why there is such a rule.
pub const WHY: &str = "what does not fit on a few screens is not read before it is changed";

const FILE_LINES: usize = 800;
const FUNCTION_LINES: usize = 60;

/// Files that may be longer, each with a reason.
const LONG_FILES: &[Exception] = &[];

/// Functions that may be longer: file, name, reason.
const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[
    (
        "crates/ptx/src/machine/warp.rs",
        "run_warp",
        "the loop over instructions is one function, so that nothing of it is called per instruction",
    ),
    (
        "crates/attribute/src/pass/row_batches.rs",
        "take_batch",
        "the loop over rows is one function: its state stays in registers",
    ),
    (
        "crates/capture/src/records/mod.rs",
        "expand",
        "the loop over notes is one function: its state stays in registers",
    ),
];

/// Finds files and functions that are too long. Tests may be as long as they like.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let ours = |path: &str| path.starts_with("crates/") || path.starts_with("xtask/");
    let sources = workspace
        .files()
        .filter(|(path, _)| ours(path) && path.contains("/src/"));
    let mut findings = Vec::new();
    for (path, text) in sources.filter(|(path, _)| !workspace.is_test(path)) {
        let lines = text.lines().count();
        if lines > FILE_LINES && !LONG_FILES.iter().any(|long| long.covers(path)) {
            findings.push(Finding {
                file: path.to_owned(),
                line: 0,
                what: format!("{lines} lines; {FILE_LINES} are the most"),
                why: WHY,
                fix: "split it by what its parts are for, or list it with a reason in \
                      xtask/src/checks/length.rs"
                    .to_owned(),
            });
        }
        if path.ends_with(".rs") {
            findings.extend(long_functions(path, text));
        }
    }
    findings
}

fn long_functions(path: &str, text: &str) -> Vec<Finding> {
    let code = source::without_tests(&source::code(text));
    let listed = |name: &str| {
        LONG_FUNCTIONS
            .iter()
            .any(|long| (long.0, long.1) == (path, name))
    };
    let long = source::functions(&code)
        .into_iter()
        .filter(|function| function.lines > FUNCTION_LINES && !listed(&function.name));
    let finding = |function: source::FunctionSpan| Finding {
        file: path.to_owned(),
        line: function.line,
        what: format!(
            "{} has {} lines; {FUNCTION_LINES} are the most",
            function.name, function.lines
        ),
        why: WHY,
        fix: "give its steps names of their own, or list it with a reason in \
              xtask/src/checks/length.rs"
            .to_owned(),
    };
    long.map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_and_functions_are_found() {
        let long = format!("fn f() {{\n{}}}\n", "    g();\n".repeat(60));
        let tests = format!("#[cfg(test)]\nmod tests {{\n{long}}}\n");
        let file = "const A: u8 = 0;\n".repeat(FILE_LINES + 1);
        let workspace = Workspace::of(&[
            ("crates/a/src/function.rs", &long),
            ("crates/a/src/test.rs", &tests),
            ("crates/a/src/file.rs", &file),
            ("crates/a/src/page.css", &file),
            ("crates/a/tests/file.rs", &file),
        ]);
        let found: Vec<String> = check(&workspace)
            .into_iter()
            .map(|finding| finding.file)
            .collect();
        assert_eq!(
            found,
            [
                "crates/a/src/file.rs",
                "crates/a/src/function.rs",
                "crates/a/src/page.css"
            ]
        );
    }
}
