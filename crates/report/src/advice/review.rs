//! What formats of tools that review code share: paths in the repository, and what a finding is
//! known by from run to run.

use std::collections::BTreeMap;

use reuselens_advice::{Finding, SourcePlace};

/// Where a finding is in the source: a file and a line, which counts from 1.
pub(super) struct ReviewPlace<'a> {
    /// As debug information has it, but in `root` from there on.
    pub path: &'a str,
    /// The line.
    pub line: u64,
}

/// The place of a finding; `None` where its line is not known. `root`: an absolute path of a
/// folder, mostly that of the repository.
pub(super) fn review_place<'a>(
    finding: &'a Finding,
    root: Option<&str>,
) -> Option<ReviewPlace<'a>> {
    let SourcePlace { file, line, .. } = SourcePlace::parse(finding.place.source.as_deref()?)?;
    let known = line > 0 && !file.is_empty();
    known.then(|| ReviewPlace {
        path: below(file, root).unwrap_or(file),
        line,
    })
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
        let path = review_place(finding, root).map_or("", |place| place.path);
        let function = place.function.as_deref().unwrap_or_default();
        let object = place.object.as_deref().unwrap_or_default();
        let words = [finding.rule.name, path, function, object].join(":");
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
    fn paths_below_the_root_begin_there() {
        for (path, expected) in [
            ("/p/src/a.c", Some("src/a.c")),
            ("/p//a.c", Some("a.c")),
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
