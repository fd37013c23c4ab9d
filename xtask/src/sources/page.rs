//! `sources.md`: all items, with ours beside what is printed.

use std::fmt::Write as _;

use super::comparison::ValueSide;
use super::kept::KeptItem;
use super::printed::{Making, Printed, Publication};
use super::{ComparedTable, picture};

const COLUMNS: usize = 100;
const HEAD: &str = "\
`cargo xtask sources` makes this page: for each table and figure of the works that this project
implements, ours beside what is printed. Nothing here is written by hand but the sentences on how and
why. `cargo xtask sources hp_rda.figure14` makes one item anew, `cargo xtask sources hp_rda` all of a
work, and both keep the others; `--list` shows ids. `--data FOLDER` names inputs that are not in the
repository: `b17.bench` (`kernels/thesis/README.md`) and a folder `graphs`. Each table is also a file,
`sources/ID.csv`. Each item has the machine and the commit that it was made at.

An empty cell is a value that is not printed (most figures of the sources have no numbers), or one
that our runs do not give. What cannot be made has a reason in its place.";

/// The page of all works, with what is kept of each item.
pub fn page(works: &[&Publication], kept: impl Fn(&Printed) -> Option<KeptItem>) -> String {
    let mut text = format!("# The sources' tables and figures\n\n{HEAD}\n");
    let items = works.iter().flat_map(|work| work.items());
    let seconds: u64 = items
        .filter_map(&kept)
        .map(|kept| kept.origin.seconds)
        .sum();
    let minutes = seconds.div_ceil(60);
    let words = format!("All that is made here took {minutes} minutes together.");
    paragraph(&mut text, &words);
    for work in works {
        contents(&mut text, work, &kept);
    }
    for work in works {
        let _ = write!(text, "\n## {}\n", work.title);
        paragraph(&mut text, work.remark);
        for item in work.items() {
            section(&mut text, item, kept(item).as_ref());
        }
    }
    text
}

fn contents(text: &mut String, work: &Publication, kept: &impl Fn(&Printed) -> Option<KeptItem>) {
    let _ = writeln!(
        text,
        "\n**{}**\n\n| as printed | id | made |\n|---|---|---|",
        work.title
    );
    for item in work.items() {
        let made = match (item.making, kept(item)) {
            (Making::Not(_), _) => "cannot be".to_owned(),
            (_, Some(kept)) => kept.origin.date,
            (_, None) => "not yet".to_owned(),
        };
        let title = item.heading.replace('|', "\\|");
        let _ = writeln!(
            text,
            "| [{title}](#{}) | `{}` | {made} |",
            anchor(item.id),
            item.id
        );
    }
}

/// The name that a link of the contents leads to; made by us, as titles may be equal.
fn anchor(id: &str) -> String {
    id.replace('.', "-")
}

fn section(text: &mut String, item: &Printed, kept: Option<&KeptItem>) {
    let _ = write!(
        text,
        "\n<a id=\"{}\"></a>\n\n### {}\n",
        anchor(item.id),
        item.heading
    );
    match item.making {
        Making::Not(reason) => paragraph(text, &format!("Cannot be made here. {reason}")),
        Making::Runs { how, .. } => {
            paragraph(text, how);
            match kept {
                Some(kept) => values(text, item, kept),
                None => paragraph(
                    text,
                    &format!("Not made yet: `cargo xtask sources {}`.", item.id),
                ),
            }
        }
    }
}

fn values(text: &mut String, item: &Printed, kept: &KeptItem) {
    let origin = &kept.origin;
    let small = if origin.size == "small" {
        ", **at the small size of tests**"
    } else {
        ""
    };
    paragraph(
        text,
        &format!(
            "*Made on {} at commit {} in {} s, on {}{small}; `{}`.*",
            origin.date, origin.commit, origin.seconds, origin.machine, item.id
        ),
    );
    text.push('\n');
    text.push_str(&markdown(&kept.table));
    if picture::draw(item.heading, &kept.table).is_some() {
        let _ = write!(text, "\n![{}](sources/{}.svg)\n", item.heading, item.id);
    }
    if !kept.table.notes.is_empty() {
        text.push('\n');
        for note in &kept.table.notes {
            wrapped(text, "- ", "  ", note);
        }
    }
}

/// The table in Markdown. Sides of a quantity that have no value in any row are left out.
fn markdown(table: &ComparedTable) -> String {
    let all =
        (0..table.quantities.len()).flat_map(|index| ValueSide::BOTH.map(|side| (index, side)));
    let columns: Vec<(usize, ValueSide)> = all.filter(|of| table.has(of.0, of.1)).collect();
    let title = |of: &(usize, ValueSide)| format!("{}, {}", table.quantities[of.0], of.1.name());
    let titles = table.keys.iter().cloned().chain(columns.iter().map(title));
    let mut text = line(titles);
    let rule = table
        .keys
        .iter()
        .map(|_| "---")
        .chain(columns.iter().map(|_| "--:"));
    let _ = writeln!(text, "|{}|", rule.collect::<Vec<_>>().join("|"));
    for row in &table.rows {
        let value = |of: &(usize, ValueSide)| row.values[of.0].of(of.1).to_owned();
        text += &line(row.keys.iter().cloned().chain(columns.iter().map(value)));
    }
    text
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

fn paragraph(text: &mut String, words: &str) {
    if !words.is_empty() {
        text.push('\n');
        wrapped(text, "", "", words);
    }
}

/// Appends words in lines of at most [`COLUMNS`], if no word is longer.
fn wrapped(text: &mut String, first: &str, other: &str, words: &str) {
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in words.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            text.push_str(line.trim_end());
            text.push('\n');
            line = other.to_owned();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::super::comparison::Compared;
    use super::*;

    #[test]
    fn sides_without_any_value_have_no_column() {
        let mut table = ComparedTable::new(&["program"], &["misses", "class"]);
        table.push(&["a|b"], vec![Compared::both(1, 2), Compared::ours("MB")]);
        table.push(&["c"], vec![Compared::ours(3), Compared::default()]);
        let text = "\
| program | misses, ours | misses, printed | class, ours |
|---|--:|--:|--:|
| a\\|b | 1 | 2 | MB |
| c | 3 |  |  |
";
        assert_eq!(markdown(&table), text);
    }

    #[test]
    fn long_paragraphs_are_wrapped() {
        let mut text = String::new();
        wrapped(&mut text, "- ", "  ", &"word ".repeat(40));
        assert!(
            text.lines().all(|line| line.chars().count() <= COLUMNS),
            "{text}"
        );
        assert_eq!(text.matches("word").count(), 40);
        assert!(text.lines().nth(1).unwrap().starts_with("  word"));
    }
}
