//! Every crate says whom it is for.

use crate::{Finding, Workspace};

/// What this check is called.
pub const NAME: &str = "docs";
/// Why there is such a rule.
pub const WHY: &str =
    "a crate that does not say what it is not for grows until it is for everything";

/// Finds crates whose documentation does not say so.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let crates = workspace
        .crates()
        .into_iter()
        .map(|name| format!("crates/{name}/src/lib.rs"));
    let mut findings = Vec::new();
    for file in crates.chain(["xtask/src/lib.rs".to_owned()]) {
        let Some(text) = workspace.get(&file) else {
            continue;
        };
        let docs: String = text
            .lines()
            .filter_map(|line| line.strip_prefix("//!"))
            .collect();
        for needed in ["For:", "Not for:"] {
            if !docs.contains(needed) {
                findings.push(Finding {
                    file: file.clone(),
                    line: 1,
                    what: format!("the crate's documentation has no \"{needed}\""),
                    why: WHY,
                    fix: "say it in one sentence at the end of the `//!` lines".to_owned(),
                });
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sentences_are_needed() {
        let workspace = Workspace::of(&[
            ("crates/a/Cargo.toml", ""),
            ("crates/a/src/lib.rs", "//! For: all. Not for: some."),
            ("crates/b/Cargo.toml", ""),
            ("crates/b/src/lib.rs", "//! For: all.\n// Not for: some."),
        ]);
        let found = check(&workspace);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].file, "crates/b/src/lib.rs");
    }
}
