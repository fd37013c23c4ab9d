//! Trait methods with a default body.

use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "defaults";
/// Why there is such a rule.
pub const WHY: &str = "an adapter that forgets to forward a default method still compiles, and silently loses what the method gives";

/// Default methods that follow from the trait's other methods, so that an implementation without
/// them gives the same answer: file, method (all of the
/// file if it is empty), what an implementation of its own is for.
const DERIVED: &[(&str, &str, &str)] = &[
    (
        "crates/locality/src/histogram.rs",
        "reuses",
        "a histogram that keeps the sum",
    ),
    (
        "crates/locality/src/histogram.rs",
        "accesses",
        "a histogram that keeps the sum",
    ),
    (
        "crates/distance/src/engine.rs",
        "process_u32",
        "an engine that takes 32 bits without a copy",
    ),
    (
        "crates/distance/src/engine.rs",
        "tally",
        "an engine that counts near distances by itself",
    ),
    (
        "crates/distance/src/generate.rs",
        "fill",
        "a generator that makes several items at a time",
    ),
    (
        "crates/distance/src/counting/table.rs",
        "replace",
        "a table that looks in two places at once",
    ),
    (
        "crates/formats/src/records.rs",
        "invalid",
        "a format whose message can say more",
    ),
    (
        "crates/formats/src/records.rs",
        "cut_off",
        "a format whose message can say more",
    ),
    (
        "crates/distance/src/counting/compare/mod.rs",
        "",
        "a processor with instructions for it",
    ),
    (
        "crates/ptx/src/lanes/registers.rs",
        "put",
        "a processor with instructions for it",
    ),
];

/// Finds trait methods with a body.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let ours = |path: &str| path.starts_with("crates/") && path.contains("/src/");
    workspace
        .files()
        .filter(|(path, _)| ours(path) && path.ends_with(".rs") && !workspace.is_test(path))
        .flat_map(|(path, text)| defaults(path, text))
        .collect()
}

fn defaults(path: &str, text: &str) -> Vec<Finding> {
    let code = source::without_tests(&source::code(text));
    let mut findings = Vec::new();
    for at in source::words(&code, "trait") {
        let Some(body) = source::braces(&code[at..]) else {
            continue;
        };
        let first = source::line(&code, at + body.start) - 1;
        let listed = |name: &str| {
            DERIVED
                .iter()
                .any(|derived| derived.0 == path && [name, ""].contains(&derived.1))
        };
        for method in source::functions(&code[at..][body]) {
            if listed(&method.name) {
                continue;
            }
            findings.push(Finding {
                file: path.to_owned(),
                line: first + method.line,
                what: format!("the trait method {} has a default body", method.name),
                why: WHY,
                fix: "make it required, or move it to a trait of its own; if it follows from the \
                      other methods, list it in xtask/src/checks/defaults.rs"
                    .to_owned(),
            });
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_bodies_of_traits_are_found() {
        let text = "trait Engine {\n    fn process(&mut self, items: [u8; 2]);\n    fn memory(&self) -> u64 {\n        0\n    }\n}\nimpl Engine for A {\n    fn memory(&self) -> u64 {\n        1\n    }\n}\n";
        let workspace = Workspace::of(&[("crates/a/src/lib.rs", text)]);
        let found = check(&workspace);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 3);
        assert!(found[0].what.contains("memory"), "{}", found[0].what);
    }
}
