//! `cargo xtask sources`: each table and figure of the works that this project implements, with
//! ours beside what is printed.
//!
//! [`WORKS`] lists what is printed, one file for each subject. An item is made by a function that
//! runs the project's commands in a [`workshop::Workshop`] and returns a [`ComparedTable`]. What
//! came out is kept in `docs/sources/` as CSV, with machine, commit and day, and
//! `docs/sources.md` and the pictures are made of what is kept. So items can be made one by one.
//!
//! To add an item: an entry of `ITEMS` in the file of its subject, with its heading as printed and
//! a function that makes it; then `cargo xtask sources ID`.

mod comparison;
mod kept;
mod page;
mod picture;
pub mod printed;
#[cfg(test)]
mod tests;
mod works;
pub mod workshop;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

pub use comparison::ComparedTable;
pub use printed::Size;
pub use works::WORKS;

use kept::{KeptItem, MadeWhere};
use printed::{Making, Printed};
use workshop::Workshop;

const USAGE: &str = "\
usage: cargo xtask sources [OPTION...] [ID...]
makes the tables and figures of the sources, and docs/sources.md: all, or those that are named by
their ids (hp_rda.figure14) or as a work's (hp_rda)
  --list          show works, ids and headings
  --page          make docs/sources.md and the pictures of what is kept, and run nothing
  --small         make those that tests make, at their small size, into a folder of the build
  --out FOLDER    write sources.md and the folder sources there, and not into docs/
  --data FOLDER   inputs that the repository does not have (b17.bench and graphs)
  --resume        take streams and profiles that an interrupted run has left
  --built FOLDER  take the command and its examples from there (target/debug), and build nothing";

/// What the words of the command line ask for.
#[derive(Debug, Default)]
struct Wanted {
    helps: bool,
    lists: bool,
    page_only: bool,
    is_small: bool,
    resumes: bool,
    out: Option<PathBuf>,
    data: Option<PathBuf>,
    built: Option<PathBuf>,
    ids: Vec<String>,
}

/// Runs the command with these words.
///
/// # Errors
/// If words are wrong, or an item cannot be made: then after all others have been made.
pub fn run(root: &Path, words: &[&str]) -> anyhow::Result<()> {
    let wanted = Wanted::read(words)?;
    if wanted.helps {
        println!("{USAGE}");
        return Ok(());
    }
    let items: Vec<&Printed> = chosen(&wanted.ids)?;
    if wanted.lists {
        list(&items);
        return Ok(());
    }
    let size = if wanted.is_small {
        Size::Small
    } else {
        Size::Full
    };
    let absolute = |path: PathBuf| std::path::absolute(path);
    let built = wanted.built.map(absolute).transpose()?;
    let data = wanted.data.map(absolute).transpose()?;
    let workshop = Workshop::new(root, size, built, data, wanted.resumes || wanted.page_only)?;
    let folder = match wanted.out {
        Some(out) => out,
        None => size.pick(workshop.scratch.with_file_name("page"), root.join("docs")),
    };
    let mut failed = Vec::new();
    for item in items.iter().filter(|_| !wanted.page_only) {
        if let Err(error) = make_item(&workshop, item, &folder) {
            eprintln!("{}: {error:#}", item.id);
            failed.push(item.id);
        }
    }
    write_page(&folder)?;
    println!("{}", folder.join("sources.md").display());
    ensure!(failed.is_empty(), "not made: {}", failed.join(", "));
    Ok(())
}

impl Wanted {
    fn read(words: &[&str]) -> anyhow::Result<Wanted> {
        let mut wanted = Wanted::default();
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let mut folder = || words.next().map(PathBuf::from).context(USAGE);
            match word {
                "--list" => wanted.lists = true,
                "--page" => wanted.page_only = true,
                "--small" => wanted.is_small = true,
                "--resume" => wanted.resumes = true,
                "--out" => wanted.out = Some(folder()?),
                "--data" => wanted.data = Some(folder()?),
                "--built" => wanted.built = Some(folder()?),
                "--help" | "-h" => wanted.helps = true,
                option if option.starts_with('-') => bail!("no option {option}\n{USAGE}"),
                id => wanted.ids.push(id.to_owned()),
            }
        }
        Ok(wanted)
    }
}

/// The items with these ids, and those of works with these ids; all without any.
fn chosen(ids: &[String]) -> anyhow::Result<Vec<&'static Printed>> {
    let all = || WORKS.iter().flat_map(|work| work.items());
    for id in ids {
        ensure!(
            all().any(|item| is_named(item, id)),
            "nothing has the id `{id}`; `cargo xtask sources --list` shows ids"
        );
    }
    let is_chosen = |item: &&Printed| ids.is_empty() || ids.iter().any(|id| is_named(item, id));
    Ok(all().filter(is_chosen).collect())
}

/// Whether `id` is that of an item, or of its work.
fn is_named(item: &Printed, id: &str) -> bool {
    let of_work = item.id.strip_prefix(id);
    of_work.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        && (item.id == id || WORKS.iter().any(|work| work.id == id))
}

/// Prints ids and headings below the titles of their works.
fn list(items: &[&Printed]) {
    for work in WORKS {
        let mut of_work = items
            .iter()
            .filter(|item| is_named(item, work.id))
            .peekable();
        if of_work.peek().is_some() {
            println!("{}", work.title);
        }
        for item in of_work {
            println!("  {:32} {}", item.id, item.heading);
        }
    }
}

/// Makes an item and keeps it below `folder`.
fn make_item(workshop: &Workshop, item: &Printed, folder: &Path) -> anyhow::Result<()> {
    let Making::Runs { make, in_tests, .. } = item.making else {
        return Ok(());
    };
    if workshop.size == Size::Small && in_tests == printed::InTests::LeftOut {
        return Ok(());
    }
    let begun = Instant::now();
    let table = make(workshop)?;
    ensure!(!table.rows.is_empty(), "it came out without rows");
    let mut seconds = begun.elapsed().as_secs();
    let values = folder.join("sources");
    if workshop.resumes {
        // What an interrupted run has left took its time there.
        let before = kept::read(&values, item.id)?;
        seconds = before.map_or(seconds, |kept| seconds.max(kept.origin.seconds));
    }
    let origin = MadeWhere::here(&workshop.root, workshop.size, seconds)?;
    println!("{}: {} rows in {seconds} s", item.id, table.rows.len());
    kept::write(&values, item.id, &KeptItem { origin, table })
}

/// Makes the page and the pictures of what is kept below `folder`.
fn write_page(folder: &Path) -> anyhow::Result<()> {
    for (path, text) in made_of_kept(folder)? {
        std::fs::create_dir_all(path.parent().context("a file is in a folder")?)?;
        std::fs::write(path, text)?;
    }
    Ok(())
}

/// The files that are made of what is kept below `folder`: the page and the pictures.
fn made_of_kept(folder: &Path) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let values = folder.join("sources");
    let mut files = Vec::new();
    let mut items = Vec::new();
    for item in WORKS.iter().flat_map(|work| work.items()) {
        if let (Making::Runs { .. }, Some(kept)) = (item.making, kept::read(&values, item.id)?) {
            if let Some(svg) = picture::draw(item.heading, &kept.table) {
                files.push((values.join(format!("{}.svg", item.id)), svg));
            }
            items.push((item.id, kept));
        }
    }
    let find = |item: &Printed| {
        items
            .iter()
            .find(|kept| kept.0 == item.id)
            .map(|kept| kept.1.clone())
    };
    files.push((folder.join("sources.md"), page::page(WORKS, find)));
    Ok(files)
}
