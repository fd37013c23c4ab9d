//! An engine or a format has a file of its name, with the same names inside as its siblings.

use crate::{Finding, Workspace, source};

/// What this check is called.
pub const NAME: &str = "choices";
/// Why there is such a rule.
pub const WHY: &str = "an engine or a format is found, read, copied and taken out as one piece";

/// A list of things to choose from.
struct List {
    what: &'static str,
    /// The file with the list and the name of its constant.
    file: &'static str,
    constant: &'static str,
    /// The folders, in one of which each has a file or folder.
    folders: &'static [&'static str],
    /// What each of those defines; where there are two ways, both, with ` | ` between.
    names: &'static [&'static str],
    page: &'static str,
}

const LISTS: [List; 2] = [
    List {
        what: "engine",
        file: "crates/reuselens/src/engines.rs",
        constant: "ENGINES",
        folders: &["crates/distance/src/", "crates/baselines/src/"],
        names: &["impl Engine for "],
        page: "docs/commands/engines.md",
    },
    List {
        what: "format",
        file: "crates/formats/src/lib.rs",
        constant: "FORMATS",
        folders: &["crates/formats/src/"],
        names: &["pub const NAME: ", "pub const SUMMARY: ", "pub fn detect("],
        page: "docs/commands/formats.md",
    },
];

/// Choices whose file is elsewhere: name, file, what it defines in place of what its siblings
/// define, reason.
const ELSEWHERE: &[(&str, &str, &str, &str)] = &[
    (
        "gpu",
        "crates/distance-gpu/src/exact.rs",
        "pub const NAME",
        "its distances come by the chunk, and it can fail",
    ),
    (
        "hp-rda-gpu",
        "crates/distance-gpu/src/hp_rda/mod.rs",
        "pub const NAME",
        "it is the engine `hp-rda` on a device",
    ),
    (
        "native",
        "crates/rltrace/src/lib.rs",
        "pub fn detect(",
        "the native file is a crate of its own",
    ),
];

/// Finds engines and formats without a file, a page, or the names that the others have.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    LISTS
        .iter()
        .flat_map(|list| check_list(workspace, list))
        .collect()
}

fn check_list(workspace: &Workspace, list: &List) -> Vec<Finding> {
    let Some(text) = workspace.get(list.file) else {
        return Vec::new();
    };
    let found = entries(text, list.constant);
    let mut findings = Vec::new();
    if found.is_empty() {
        let what = format!("no {} found in {}", list.what, list.constant);
        findings.push(finding(
            list.file,
            0,
            what,
            "keep the list there".to_owned(),
        ));
    }
    for (line, name, approximate) in found {
        let elsewhere = ELSEWHERE.iter().find(|choice| choice.0 == name);
        // Approximate engines are alike in nothing but that.
        let own = if approximate { &[] } else { list.names };
        let names = elsewhere.map_or(own, |choice| std::slice::from_ref(&choice.2));
        let places = match elsewhere {
            Some((_, file, _, _)) => vec![(*file).to_owned()],
            None => places(list, &name),
        };
        let Some((place, code)) = places.iter().find_map(|p| Some((p, workspace.get(p)?))) else {
            let what = format!("the {} '{name}' has no file of its name", list.what);
            findings.push(finding(
                list.file,
                line,
                what,
                format!("put it into {}", places[0]),
            ));
            continue;
        };
        for needed in names.iter().filter(|needed| !code.contains(**needed)) {
            let what = format!("the {} '{name}' has no `{}`", list.what, needed.trim());
            let fix = "define what its siblings define".to_owned();
            findings.push(finding(place, 0, what, fix));
        }
        let page = workspace.get(list.page).unwrap_or_default();
        if !page.contains(&format!("`{name}`")) {
            let what = format!("nothing about the {} '{name}'", list.what);
            findings.push(finding(
                list.page,
                0,
                what,
                format!("explain `{name}` there"),
            ));
        }
    }
    findings
}

/// The files that may hold a choice: of its name, or the first of a folder of its name.
fn places(list: &List, name: &str) -> Vec<String> {
    let file = name.replace('-', "_");
    let in_folder = |folder| {
        [
            format!("{folder}{file}.rs"),
            format!("{folder}{file}/mod.rs"),
        ]
    };
    list.folders.iter().flat_map(in_folder).collect()
}

fn finding(file: &str, line: usize, what: String, fix: String) -> Finding {
    Finding {
        file: file.to_owned(),
        line,
        what,
        why: WHY,
        fix,
    }
}

/// The `name:` of each entry of a list, as line and name (a string, or `module::NAME`), and whether
/// the entry says that it is not exact.
fn entries(text: &str, constant: &str) -> Vec<(usize, String, bool)> {
    let code = source::without_comments(text);
    let declared = ["const", "static"].map(|kind| code.find(&format!("pub {kind} {constant}")));
    let Some(start) = declared.into_iter().flatten().next() else {
        return Vec::new();
    };
    let end = code[start..]
        .find("\n];")
        .map_or(code.len(), |end| start + end);
    let list = &code[start..end];
    let entry = |at: usize| {
        let value = list[at + 4..]
            .trim_start()
            .strip_prefix(':')?
            .split(',')
            .next()?
            .trim();
        let name = value
            .strip_suffix("::NAME")
            .unwrap_or(value.trim_matches('"'));
        let rest = list[at..].split('}').next()?;
        let approximate = rest.contains("exact: false");
        Some((
            source::line(&code, start + at),
            name.to_owned(),
            approximate,
        ))
    };
    source::words(list, "name").filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: &str =
        "pub const FORMATS: &[F] = &[\n    F { name: pcap::NAME, reads: true },\n];\n";
    const PCAP: &str =
        "pub const NAME: &str = \"pcap\";\npub const SUMMARY: &str = \"\";\npub fn detect(";

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&Workspace::of(files))
            .into_iter()
            .map(|finding| finding.what)
            .collect()
    }

    #[test]
    fn a_format_needs_file_names_and_page() {
        let list = ("crates/formats/src/lib.rs", FORMATS);
        let whole = ("crates/formats/src/pcap/mod.rs", PCAP);
        let page = ("docs/commands/formats.md", "`pcap`");
        assert_eq!(found(&[list, whole, page]), [""; 0]);
        assert_eq!(
            found(&[list, page]),
            ["the format 'pcap' has no file of its name"]
        );
        assert_eq!(found(&[list, whole]), ["nothing about the format 'pcap'"]);
        let half = (
            "crates/formats/src/pcap.rs",
            "pub const NAME: &str; pub fn detect(",
        );
        assert_eq!(
            found(&[list, half, page]),
            ["the format 'pcap' has no `pub const SUMMARY:`"]
        );
    }

    #[test]
    fn an_approximate_engine_needs_a_file_and_a_page() {
        let list = "pub const ENGINES: &[E] = &[\n    E {\n        name: \"a-b\",\n        exact: false,\n    },\n];\n";
        let list = ("crates/reuselens/src/engines.rs", list);
        let file = ("crates/baselines/src/a_b/mod.rs", "pub struct AB;");
        let page = ("docs/commands/engines.md", "`a-b`");
        assert_eq!(found(&[list, file, page]), [""; 0]);
        assert_eq!(
            found(&[list, page]),
            ["the engine 'a-b' has no file of its name"]
        );
        assert_eq!(found(&[list, file]), ["nothing about the engine 'a-b'"]);
    }

    #[test]
    fn an_engine_needs_a_file_and_a_list_is_expected() {
        let list = "pub const ENGINES: &[E] = &[\n    E {\n        name: \"splay\",\n    },\n];\n";
        let page = ("docs/commands/engines.md", "`splay`");
        let found_in = |list| found(&[("crates/reuselens/src/engines.rs", list), page]);
        assert_eq!(
            found_in(list),
            ["the engine 'splay' has no file of its name"]
        );
        assert_eq!(found_in("const E: u8 = 0;"), ["no engine found in ENGINES"]);
    }
}
