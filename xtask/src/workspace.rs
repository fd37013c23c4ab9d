//! The files of the project, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::source;

/// All text files by their path from the root, with `/` between folders.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    files: BTreeMap<String, String>,
    /// Files that are test code as a whole, though they lie under `src`.
    test_modules: BTreeSet<String>,
}

/// Folders that are never looked into where there is no git to say what is ignored.
const SKIPPED: [&str; 3] = [".git", "target", "demo-out"];

impl Workspace {
    /// Reads the files that git knows or would take, or, where there is no git, all files.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn read(root: &Path) -> anyhow::Result<Workspace> {
        let paths = match listed_by_git(root) {
            Some(paths) => paths,
            None => {
                let mut paths = Vec::new();
                walk(root, "", &mut paths)?;
                paths
            }
        };
        let mut files = BTreeMap::new();
        for path in paths {
            // Deleted files are still listed; what is not text has no rules.
            if let Ok(text) = std::fs::read_to_string(root.join(&path)) {
                files.insert(path, text);
            }
        }
        Ok(Workspace::new(files))
    }

    /// A project made of these files.
    pub fn new(files: BTreeMap<String, String>) -> Workspace {
        let test_modules = files
            .iter()
            .flat_map(|(path, text)| test_modules(path, text))
            .collect();
        Workspace {
            files,
            test_modules,
        }
    }

    /// A project made of these files, for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Workspace {
        let owned = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Workspace::new(owned.collect())
    }

    /// All files, by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of a file, if it is there.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Whether there is such a file, or a folder with files in it.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.files.contains_key(path) || self.files.keys().any(|file| file.starts_with(&folder))
    }

    /// The files whose path begins and ends so.
    pub fn matching<'a>(
        &'a self,
        start: &'a str,
        end: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files()
            .filter(move |(path, _)| path.starts_with(start) && path.ends_with(end))
    }

    /// Names of the folders in `crates` that are crates.
    pub fn crates(&self) -> Vec<&str> {
        let name = |(path, _): (&'_ str, _)| {
            let name = path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml")?;
            (!name.contains('/')).then_some(self.files.get_key_value(path)?.0.as_str())
        };
        let paths = self.files().filter_map(name);
        paths.filter_map(|path| path.split('/').nth(1)).collect()
    }

    /// Whether a file is test code as a whole.
    pub fn is_test(&self, path: &str) -> bool {
        let folders = ["/tests/", "/benches/", "/examples/"];
        folders.iter().any(|folder| path.contains(folder))
            || path.starts_with("fuzz/")
            || self.test_modules.contains(path)
    }
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let arguments = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let output = Command::new("git")
        .args(arguments)
        .current_dir(root)
        .output()
        .ok()?;
    let list = String::from_utf8(output.stdout)
        .ok()
        .filter(|_| output.status.success())?;
    let paths: Vec<String> = list
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect();
    (!paths.is_empty()).then_some(paths)
}

fn walk(root: &Path, below: &str, paths: &mut Vec<String>) -> anyhow::Result<()> {
    let folder = root.join(below);
    let entries = folder
        .read_dir()
        .with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() {
            name.clone()
        } else {
            format!("{below}/{name}")
        };
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.contains(&name.as_str()) {
            walk(root, &path, paths)?;
        } else if kind.is_file() {
            paths.push(path);
        }
    }
    Ok(())
}

/// The files that a file's `#[cfg(test)] mod name;` stand for.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    if !path.ends_with(".rs") || !text.contains("#[cfg(test)]") {
        return Vec::new();
    }
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let folder = match file {
        "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    };
    let code = source::code(text);
    let parts = code.split("#[cfg(test)]").skip(1);
    let name = |part: &str| {
        let name = part.trim_start().strip_prefix("mod ")?.split_once(';')?.0;
        (!name.contains('{')).then(|| format!("{folder}/{}.rs", name.trim()))
    };
    parts.filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_and_folders_are_found() {
        let workspace = Workspace::of(&[
            ("crates/a/Cargo.toml", ""),
            (
                "crates/a/src/lib.rs",
                "#[cfg(test)]\nmod testing;\nmod plain;\n#[cfg(test)]\nmod t { }",
            ),
            ("crates/a/fuzz/Cargo.toml", ""),
            ("xtask/Cargo.toml", ""),
        ]);
        assert_eq!(workspace.crates(), ["a"]);
        assert!(workspace.has("crates/a/src") && !workspace.has("crates/a/sr"));
        assert!(workspace.is_test("crates/a/src/testing.rs"));
        assert!(!workspace.is_test("crates/a/src/plain.rs"));
        assert!(workspace.is_test("crates/a/tests/x.rs"));
    }

    #[test]
    fn a_folder_without_git_is_walked() {
        let mut paths = Vec::new();
        walk(Path::new(env!("CARGO_MANIFEST_DIR")), "", &mut paths).unwrap();
        assert!(paths.contains(&"src/workspace.rs".to_owned()), "{paths:?}");
    }
}
