//! No addresses of the network in what pages are made of.

use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "offline";
/// Why there is such a rule.
pub const WHY: &str = "a page must look the same in ten years and on a machine without a network, and tell nobody that it was opened";

const FOLDERS: [&str; 2] = ["crates/document/src/", "crates/report/src/"];
const SCHEMES: [&str; 2] = ["http://", "https://"];
/// Names that look like addresses and are never fetched: SVG's, and those of the schemas of SARIF
/// and speedscope.
const NAMES_ONLY: [&str; 3] = [
    "http://www.w3.org/2000/svg",
    "https://docs.oasis-open.org/sarif/",
    "https://www.speedscope.app/file-format-schema.json",
];

/// Finds addresses.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    let files = FOLDERS
        .iter()
        .flat_map(|folder| workspace.matching(folder, ""));
    for (path, text) in files {
        let text = if path.ends_with(".rs") {
            source::without_comments(text)
        } else {
            text.to_owned()
        };
        for at in SCHEMES
            .iter()
            .flat_map(|scheme| text.match_indices(scheme))
            .map(|(at, _)| at)
        {
            if !NAMES_ONLY.iter().any(|name| text[at..].starts_with(name)) {
                findings.push(Finding {
                    file: path.to_owned(),
                    line: source::line(&text, at),
                    what: "an address of the network".to_owned(),
                    why: WHY,
                    fix: "put what is needed into the page itself".to_owned(),
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
    fn addresses_are_found_and_the_name_of_svg_is_not() {
        let workspace = Workspace::of(&[
            (
                "crates/report/src/a.rs",
                "//! https://example.org\nconst A: &str = \"http://www.w3.org/2000/svg\";",
            ),
            (
                "crates/report/src/b.rs",
                "const A: &str =\n\"https://example.org/plot.js\";",
            ),
            (
                "crates/document/src/c.css",
                "@import url(http://example.org);",
            ),
            (
                "crates/trace/src/d.rs",
                "const A: &str = \"https://example.org\";",
            ),
        ]);
        let found: Vec<(String, usize)> = check(&workspace)
            .into_iter()
            .map(|f| (f.file, f.line))
            .collect();
        let expected = [
            ("crates/document/src/c.css".to_owned(), 1),
            ("crates/report/src/b.rs".to_owned(), 2),
        ];
        assert_eq!(found, expected);
    }
}
