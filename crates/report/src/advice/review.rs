//! What formats of tools that review code share: paths in the repository, and what a finding is
//! known by from run to run.

use std::collections::BTreeMap;

use reuselens_advice::{Finding, SourcePlace};

/// Where a finding is in the source: a file and a line, which counts from 1.
pub(super) struct ReviewPlace {
    /// As debug information has it, without `.` and `..`; below `root` from there on.
    pub path: String,
    /// The line.
    pub line: u64,
}

/// The place of a finding; `None` where its line is not known. `root`: an absolute path of a
/// folder, mostly that of the repository.
pub(super) fn review_place(finding: &Finding, root: Option<&str>) -> Option<ReviewPlace> {
    let SourcePlace { file, line, .. } = SourcePlace::parse(finding.place.source.as_deref()?)?;
    let known = line > 0 && !file.is_empty();
    known.then(|| {
        let path = normal(file);
        let path = below(&path, root).map_or(path.clone(), str::to_owned);
        ReviewPlace { path, line }
    })
}

/// A path without `.`, and without `..` but at its beginning: builds in a folder of their own name
/// files `build/../src/a.c`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match (part, parts.last()) {
            ("" | ".", _) => {}
            ("..", Some(last)) if *last != ".." => {
                parts.pop();
            }
            ("..", None) if path.starts_with('/') => {}
            _ => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// A name without the lines in it, as blocks of the heap have those of their allocation: `heap from
/// make (a.c:12)`.
fn without_lines(name: &str) -> String {
    let mut parts = name.split(':');
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_digit());
        if rest.len() == part.len() {
            kept.push(':');
        }
        kept.push_str(rest);
    }
    kept
}

/// A path from a folder on; `None` if it is not below it.
fn below<'a>(path: &'a str, root: Option<&str>) -> Option<&'a str> {
    let rest = path.strip_prefix(root?.trim_end_matches('/'))?;
    let rest = rest.strip_prefix('/')?.trim_start_matches('/');
    (!rest.is_empty()).then_some(rest)
}

/// What each finding is known by, however its line and its numbers change: rule, file, function and
/// object; of those that have all in common, the second and further ones with a number.
pub(super) fn fingerprints(findings: &[Finding], root: Option<&str>) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let fingerprint = |finding: &Finding| {
        let place = &finding.place;
        let path = review_place(finding, root).map_or(String::new(), |place| place.path);
        let function = place.function.as_deref().unwrap_or_default();
        let object = without_lines(place.object.as_deref().unwrap_or_default());
        let words = [finding.rule.name, &path, function, &object].join(":");
        let count = counts.entry(words.clone()).or_default();
        *count += 1;
        match *count {
            1 => words,
            number => format!("{words}:{number}"),
        }
    };
    findings.iter().map(fingerprint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_repository_wherever_it_was_built() {
        for (path, expected) in [
            ("build/../src/a.c", "src/a.c"),
            ("././src//a.c", "src/a.c"),
            ("../src/a.c", "../src/a.c"),
            ("../../a/../b.c", "../../b.c"),
            ("/p/build/../a.c", "/p/a.c"),
            ("/../a.c", "/a.c"),
        ] {
            assert_eq!(normal(path), expected, "{path}");
        }
    }

    #[test]
    fn lines_are_no_part_of_what_an_object_is_known_by() {
        assert_eq!(without_lines("heap from f (a.c:12)"), "heap from f (a.c)");
        assert_eq!(without_lines("std::map<a::b> m"), "std::map<a::b> m");
        assert_eq!(without_lines("a.c:7:3"), "a.c");
    }

    #[test]
    fn paths_below_the_root_begin_there() {
        for (path, expected) in [
            ("/p/src/a.c", Some("src/a.c")),
            ("/pq/a.c", None),
            ("/p/", None),
            ("src/a.c", None),
        ] {
            assert_eq!(below(path, Some("/p")), expected, "{path}");
            assert_eq!(below(path, Some("/p/")), expected, "{path}");
            assert_eq!(below(path, None), None);
        }
        assert_eq!(below("/a.c", Some("/")), Some("a.c"));
    }
}
