//! The page about the packages of others: which there are, and what their licences ask to be handed
//! on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

/// The page.
pub const PAGE: &str = "docs/third-party.md";

/// The packages whose code is in what users get: the binary, and what it puts into programs.
const SHIPPED: [&str; 4] = [
    "reuselens-cli",
    "reuselens-dbi",
    "reuselens-runtime",
    "reuselens-annotate",
];

const HEAD: &str = "\
# Packages of others

Made by `cargo xtask third-party` from `Cargo.lock` and the packages' own files; do not edit it. The check
`third_party` of `cargo xtask tidy` finds packages that are missing here.

reuselens itself is under MIT OR Apache-2.0. Its binary holds the packages of the first table, for
x86-64 Linux. Where a package may be had under Apache-2.0, it is taken under that licence, whose text
is `LICENSE-APACHE`. The Rust standard library is in the binary too, under MIT OR Apache-2.0, and so
are letters of the fonts DejaVu Sans, whose notice is `crates/document/fonts/LICENSE`.
";

/// A package with a licence.
struct Package {
    /// Name and version.
    name: String,
    /// The licences as the package states them.
    licence: String,
    authors: String,
    folder: PathBuf,
}

/// Writes the page.
///
/// # Errors
/// If cargo cannot say which packages there are, or a file cannot be read or written.
pub fn run(root: &Path) -> anyhow::Result<()> {
    let lock = std::fs::read_to_string(root.join("Cargo.lock"))?;
    let shipped = shipped(&metadata(root)?)?;
    let known: BTreeSet<&str> = shipped.iter().map(|package| &*package.name).collect();
    let mut page = format!("{HEAD}\n| package | licence | taken under |\n|---|---|---|\n");
    for package in &shipped {
        let taken = taken(&package.licence);
        let _ = writeln!(
            page,
            "| `{}` | {} | {taken} |",
            package.name, package.licence
        );
    }
    page.push_str("\n## In no binary\n\nPackages of builds, tests and other systems:\n");
    for name in locked(&lock)
        .iter()
        .filter(|name| !known.contains(&***name))
    {
        let _ = writeln!(page, "- `{name}`");
    }
    page.push_str("\n## Notices and licences\n");
    for (text, packages) in texts(root, &shipped)? {
        let _ = write!(page, "\n{}\n\n```text\n{text}\n```\n", packages.join("\n"));
    }
    std::fs::write(root.join(PAGE), page).with_context(|| format!("cannot write {PAGE}"))
}

/// Names and versions of the packages of others in a `Cargo.lock`.
pub(crate) fn locked(text: &str) -> BTreeSet<String> {
    let lock: toml::Table = text.parse().unwrap_or_default();
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let foreign = packages.into_iter().flatten().filter_map(|package| {
        package.get("source")?;
        let word = |key: &str| package.get(key)?.as_str();
        Some(format!("{} {}", word("name")?, word("version")?))
    });
    foreign.collect()
}

/// Names and versions that a page lists: `` `name version` `` in a row of its table or list.
pub(crate) fn listed(page: &str) -> BTreeSet<String> {
    let names = page.lines().filter_map(|line| {
        let rest = line.strip_prefix("| `").or(line.strip_prefix("- `"))?;
        let (name, _) = rest.split_once('`')?;
        Some(name.to_owned())
    });
    names.collect()
}

fn metadata(root: &Path) -> anyhow::Result<Value> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--format-version", "1", "--locked"]);
    cargo.args(["--filter-platform", "x86_64-unknown-linux-gnu"]);
    let output = cargo.current_dir(root).output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn array<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

/// The packages of others that [`SHIPPED`] have in them, by name. What only makes code at build
/// time (macros, build scripts) is not.
fn shipped(metadata: &Value) -> anyhow::Result<Vec<Package>> {
    let packages: BTreeMap<&str, &Value> = array(metadata, "packages")
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = array(&metadata["resolve"], "nodes")
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let is_macro = |package: &Value| {
        let mut kinds = array(package, "targets").flat_map(|target| array(target, "kind"));
        kinds.any(|kind| kind == "proc-macro")
    };
    let named = |name: &str| packages.iter().find(|(_, package)| package["name"] == name);
    let mut waiting = Vec::new();
    for name in SHIPPED {
        waiting.push(*named(name).with_context(|| format!("no package {name}"))?.0);
    }
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        let package = packages.get(id).context("a package without an entry")?;
        if is_macro(package) || !seen.insert(id) {
            continue;
        }
        let normal = |dependency: &&Value| {
            let mut kinds = array(dependency, "dep_kinds");
            kinds.any(|kind| kind["kind"].is_null())
        };
        let dependencies = nodes
            .get(id)
            .into_iter()
            .flat_map(|node| array(node, "deps"));
        let dependencies = dependencies.filter(normal);
        waiting.extend(dependencies.filter_map(|dependency| dependency["pkg"].as_str()));
        if !package["source"].is_null() {
            let word = |key: &str| package[key].as_str().unwrap_or_default();
            let name = format!("{} {}", word("name"), word("version"));
            let folder = Path::new(word("manifest_path")).parent();
            let folder = folder.context("a package without a folder")?.to_owned();
            let authors = array(package, "authors").filter_map(Value::as_str);
            let package = Package {
                licence: word("license").replace('/', " OR "),
                authors: authors.collect::<Vec<_>>().join("; "),
                name: name.clone(),
                folder,
            };
            found.insert(name, package);
        }
    }
    Ok(found.into_values().collect())
}

/// The licence that a package is taken under, of those that it offers.
fn taken(licence: &str) -> &str {
    if licence.contains(" AND ") {
        return licence;
    }
    let offers = |name: &str| licence.split(" OR ").any(|one| one == name);
    let first = ["Apache-2.0", "MIT"].into_iter().find(|name| offers(name));
    first.unwrap_or(licence)
}

/// Each text that has to be handed on, and the packages that it is of with their copyright lines.
fn texts(root: &Path, packages: &[Package]) -> anyhow::Result<Vec<(String, Vec<String>)>> {
    let mut texts = Vec::new();
    for package in packages {
        let files = files(package)?;
        let taken = taken(&package.licence);
        if files.is_empty() && taken != "Apache-2.0" {
            // It states its licence, and does not bring the text, which is the same as ours.
            if taken != "MIT" {
                bail!("{} has no file with its licence, {taken}", package.name);
            }
            let (name, authors) = (&package.name, &package.authors);
            let entry = format!("- `{name}` (states MIT, without a file): {authors}");
            let entry = entry.trim_end_matches(": ").to_owned();
            add(&mut texts, &root.join("LICENSE-MIT"), |_| entry.clone())?;
        }
        for file in files {
            let entry = |rights: String| match rights.as_str() {
                "" => format!("- `{}` ({file})", package.name),
                rights => format!("- `{}` ({file}): {rights}", package.name),
            };
            add(&mut texts, &package.folder.join(&file), entry)?;
        }
    }
    let texts = texts.into_iter();
    Ok(texts.map(|text| (text.body, text.packages)).collect())
}

/// A text without its copyright lines.
struct Text {
    /// Its words with one space between.
    words: String,
    body: String,
    packages: Vec<String>,
}

/// Adds what is in a file, once for all that differ in their copyright lines or line breaks only.
fn add(texts: &mut Vec<Text>, file: &Path, entry: impl Fn(String) -> String) -> anyhow::Result<()> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
    let (rights, body): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| is_right(line));
    let body: Vec<&str> = body.iter().map(|line| line.trim_end()).collect();
    let body = body.join("\n").trim().to_owned();
    let words = body.split_whitespace().collect::<Vec<_>>().join(" ");
    let rights: Vec<&str> = rights.iter().map(|line| line.trim()).collect();
    let entry = entry(rights.join("; "));
    match texts.iter_mut().find(|known| known.words == words) {
        Some(known) => known.packages.push(entry),
        None => texts.push(Text {
            words,
            body,
            packages: vec![entry],
        }),
    }
    Ok(())
}

/// Whether a line says whose the rights are, which differs where the licence is the same.
fn is_right(line: &str) -> bool {
    let line = line.trim().to_lowercase();
    line.starts_with("copyright (c)") || line.starts_with("copyright 2")
}

/// The files of a package that have to be handed on: notices, and of the licence it is taken under
/// its text, unless that is `LICENSE-APACHE`.
fn files(package: &Package) -> anyhow::Result<Vec<String>> {
    let taken = taken(&package.licence);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&package.folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let upper = name.to_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING"]
            .iter()
            .any(|begin| upper.starts_with(begin));
        if upper.starts_with("NOTICE") || is_licence && taken != "Apache-2.0" {
            names.push(name);
        }
    }
    names.sort();
    // Of several licences only the one that was chosen.
    if taken == "MIT" && names.iter().any(|name| name.to_uppercase().contains("MIT")) {
        names.retain(|name| name.to_uppercase().contains("MIT"));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apache_is_taken_before_mit_and_both_before_others() {
        assert_eq!(taken("MIT OR Apache-2.0"), "Apache-2.0");
        assert_eq!(taken("Unlicense OR MIT"), "MIT");
        assert_eq!(taken("BSD-3-Clause"), "BSD-3-Clause");
        assert_eq!(
            taken("(MIT OR Apache-2.0) AND Unicode-3.0"),
            "(MIT OR Apache-2.0) AND Unicode-3.0"
        );
    }

    #[test]
    fn own_packages_are_not_listed_and_rows_and_items_are() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0\"\nsource = \"x\"\n[[package]]\nname = \"own\"\nversion = \"2.0\"\n";
        assert_eq!(locked(lock), BTreeSet::from(["a 1.0".to_owned()]));
        let page = "| `a 1.0` | MIT | MIT |\n- `b 2.0`\ntext `c 3.0`\n";
        assert_eq!(
            listed(page),
            BTreeSet::from(["a 1.0".to_owned(), "b 2.0".to_owned()])
        );
    }
}
