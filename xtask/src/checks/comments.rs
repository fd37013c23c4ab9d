//! How wide comments are.

use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "comments";
/// Why there is such a rule.
pub const WHY: &str = "a comment that is wider than the code beside it is not read";

const COLUMNS: usize = 100;
const ENDINGS: [&str; 6] = [".rs", ".c", ".cpp", ".cc", ".h", ".cu"];

/// Finds comments that end beyond column 100. Programs and kernels that are measured are left out:
/// tests name their lines.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let ours = |path: &str| path.starts_with("crates/") || path.starts_with("xtask/");
    let is_measured = |path: &str| path.contains("/tests/") && !path.ends_with(".rs");
    workspace
        .files()
        .filter(|(path, _)| ours(path) && !is_measured(path))
        .filter(|(path, _)| ENDINGS.iter().any(|ending| path.ends_with(ending)))
        .flat_map(|(path, text)| wide(path, text))
        .collect()
}

fn wide(path: &str, text: &str) -> Vec<Finding> {
    let without = source::without_comments(text);
    let lines = text.lines().zip(without.lines()).enumerate();
    let is_wide = |&(_, (line, code)): &(usize, (&str, &str))| {
        line.len() > COLUMNS && line != code && line.chars().count() > COLUMNS
    };
    let finding = |(index, _)| Finding {
        file: path.to_owned(),
        line: index + 1,
        what: format!("a comment beyond column {COLUMNS}"),
        why: WHY,
        fix: "wrap it".to_owned(),
    };
    lines.filter(is_wide).map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_beyond_column_100_are_found_and_strings_are_not() {
        let wide = "x".repeat(98);
        let text = format!(
            "// {wide}\n//! é{}\nconst A: &str = \"// {wide}\";\n",
            &wide[..95]
        );
        let workspace = Workspace::of(&[("crates/a/src/lib.rs", &text), ("docs/a.c", &text)]);
        let lines: Vec<usize> = check(&workspace)
            .into_iter()
            .map(|finding| finding.line)
            .collect();
        assert_eq!(lines, [1]);
    }
}
