//! What is kept fits the list of items, the page is made of it, and the short items still run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::printed::InTests;
use super::*;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

fn items() -> impl Iterator<Item = &'static Printed> {
    WORKS.iter().flat_map(|work| work.items())
}

#[test]
fn ids_begin_with_their_work_and_are_unique() {
    let mut seen = BTreeSet::new();
    for work in WORKS {
        for item in work.items() {
            let of = item.id.split_once('.').map(|(of, _)| of);
            assert_eq!(of, Some(work.id), "{}", item.id);
            assert!(seen.insert(item.id), "{} is there twice", item.id);
        }
    }
}

#[test]
fn page_and_pictures_are_what_is_made_of_the_kept_values() {
    for (path, text) in made_of_kept(&root().join("docs")).unwrap() {
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == text,
            "{} is not what `cargo xtask sources --page` makes",
            path.display()
        );
    }
}

#[test]
fn every_kept_file_belongs_to_an_item() {
    let ids: BTreeSet<&str> = items().map(|item| item.id).collect();
    for entry in std::fs::read_dir(root().join("docs/sources")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let endings = [".curves.csv", ".csv", ".toml", ".svg"];
        let id = endings.iter().find_map(|ending| name.strip_suffix(ending));
        let is_known = id.is_some_and(|id| ids.contains(id));
        assert!(is_known, "docs/sources/{name} is of no item");
    }
}

/// The folder with the command: that of the tests' own programs, where cargo builds it for
/// `cargo test --workspace`.
fn built() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.ancestors().nth(2).unwrap().to_owned()
}

#[test]
fn short_items_run_at_the_small_size_with_the_kept_shape() {
    let built = built();
    if !built.join("reuselens").exists() {
        reuselens_testing::skip("the command is not built: cargo build --workspace");
        return;
    }
    if !reuselens_testing::has("gcc") || !reuselens_testing::has("python3") {
        return;
    }
    let root = root();
    let workshop = Workshop::new(&root, Size::Small, Some(built), None, false).unwrap();
    let mut made = 0;
    for item in items() {
        let Making::Runs { make, in_tests, .. } = item.making else {
            continue;
        };
        if in_tests == InTests::LeftOut {
            continue;
        }
        // Its programs are in Fortran.
        if item.id.starts_with("exact.") && !reuselens_testing::has("gfortran") {
            continue;
        }
        let table = make(&workshop).unwrap_or_else(|error| panic!("{}: {error:#}", item.id));
        let kept = kept::read(&root.join("docs/sources"), item.id).unwrap();
        let kept = kept
            .unwrap_or_else(|| panic!("{} was never made", item.id))
            .table;
        assert_eq!(table.keys, kept.keys, "{}", item.id);
        assert_eq!(table.quantities, kept.quantities, "{}", item.id);
        match in_tests {
            InTests::Rows(rows) => assert_eq!(table.rows.len(), rows, "{}", item.id),
            _ => assert_eq!(of_rows(&table), of_rows(&kept), "{}", item.id),
        }
        assert_eq!(
            table.curves.is_empty(),
            kept.curves.is_empty(),
            "{}",
            item.id
        );
        made += 1;
    }
    assert!(made > 0, "no item is made in tests");
}

fn of_rows(table: &ComparedTable) -> Vec<&Vec<String>> {
    table.rows.iter().map(|row| &row.keys).collect()
}
