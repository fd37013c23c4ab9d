//! Values of items as they were made last: `ID.toml` with where and when, `ID.csv` with the table,
//! and `ID.curves.csv` with the lines of the picture.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

use super::comparison::{Axes, Compared, ComparedRow, Curve};
use super::{ComparedTable, Size};
use crate::csv::{csv_line, csv_records};
use crate::output_of;

const OURS: &str = "ours";
const PUBLISHED: &str = "published";

/// An item's values, and where they are from.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptItem {
    /// Where and when.
    pub origin: MadeWhere,
    /// The values.
    pub table: ComparedTable,
}

/// Where and when an item was made.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MadeWhere {
    /// Day, in UTC.
    pub date: String,
    /// Commit of the project.
    pub commit: String,
    /// Processor, its cores, and the system.
    pub machine: String,
    /// `full` or `small`.
    pub size: String,
    /// Seconds that making it took, by the clock.
    pub seconds: u64,
}

/// What `ID.toml` has.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct KeptHead {
    keys: Vec<String>,
    quantities: Vec<String>,
    notes: Vec<String>,
    origin: MadeWhere,
    axes: Axes,
}

impl MadeWhere {
    /// This machine, commit and day.
    ///
    /// # Errors
    /// If git or `date` cannot be run.
    pub fn here(root: &Path, size: Size, seconds: u64) -> anyhow::Result<MadeWhere> {
        let git = |words: &[&str]| line_of(Command::new("git").current_dir(root).args(words));
        // What is measured; the commit has all of it unless something of it was changed.
        let folders = ["--", "crates", "kernels", "programs"];
        let status = git(&[&["status", "--porcelain"][..], &folders].concat())?;
        let changed = if status.is_empty() {
            ""
        } else {
            " and changes"
        };
        Ok(MadeWhere {
            date: line_of(Command::new("date").args(["-u", "+%F"]))?,
            commit: git(&["rev-parse", "--short=8", "HEAD"])? + changed,
            machine: machine(),
            size: size.pick("small", "full").to_owned(),
            seconds,
        })
    }
}

/// What a command prints, without the end of the line.
fn line_of(command: &mut Command) -> anyhow::Result<String> {
    Ok(output_of(command)?.trim().to_owned())
}

/// The processor and how many of its cores there are.
fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models = text.lines().filter(|line| line.starts_with("model name"));
    let model = models.clone().next().and_then(|line| line.split_once(':'));
    let model = model.map_or("unknown processor", |(_, name)| name.trim());
    format!("{model}, {} cores", models.count())
}

/// Writes the files of an item into `folder`, in place of older ones.
///
/// # Errors
/// If they cannot be written.
pub fn write(folder: &Path, id: &str, item: &KeptItem) -> anyhow::Result<()> {
    fs::create_dir_all(folder)?;
    let table = &item.table;
    let head = KeptHead {
        keys: table.keys.clone(),
        quantities: table.quantities.clone(),
        notes: table.notes.clone(),
        origin: item.origin.clone(),
        axes: table.axes.clone(),
    };
    fs::write(path(folder, id, "toml"), toml::to_string(&head)?)?;
    fs::write(path(folder, id, "csv"), table_lines(table))?;
    let curves = path(folder, id, "curves.csv");
    if table.curves.is_empty() {
        let _ = fs::remove_file(curves);
    } else {
        fs::write(curves, curve_lines(&table.curves))?;
    }
    Ok(())
}

/// The values of an item, if it was ever made.
///
/// # Errors
/// If its files cannot be read, or do not fit together.
pub fn read(folder: &Path, id: &str) -> anyhow::Result<Option<KeptItem>> {
    let head = path(folder, id, "toml");
    if !head.exists() {
        return Ok(None);
    }
    let head: KeptHead = toml::from_str(&fs::read_to_string(&head)?)
        .with_context(|| format!("{}", head.display()))?;
    let mut table = ComparedTable {
        keys: head.keys,
        quantities: head.quantities,
        notes: head.notes,
        axes: head.axes,
        ..ComparedTable::default()
    };
    let csv = path(folder, id, "csv");
    let text = fs::read_to_string(&csv).with_context(|| format!("{}", csv.display()))?;
    table.rows = rows(&text, table.keys.len(), table.quantities.len())
        .with_context(|| format!("{}", csv.display()))?;
    let curves = path(folder, id, "curves.csv");
    if curves.exists() {
        let text = fs::read_to_string(&curves)?;
        table.curves = read_curves(&text).with_context(|| format!("{}", curves.display()))?;
    }
    Ok(Some(KeptItem {
        origin: head.origin,
        table,
    }))
}

fn path(folder: &Path, id: &str, ending: &str) -> PathBuf {
    folder.join(format!("{id}.{ending}"))
}

fn table_lines(table: &ComparedTable) -> String {
    let mut head = table.keys.clone();
    for quantity in &table.quantities {
        head.extend([OURS, PUBLISHED].map(|side| format!("{quantity}: {side}")));
    }
    let mut text = csv_line(&head);
    for row in &table.rows {
        let mut cells = row.keys.clone();
        for value in &row.values {
            cells.extend([value.ours.clone(), value.published.clone()]);
        }
        text += &csv_line(&cells);
    }
    text
}

fn rows(text: &str, keys: usize, quantities: usize) -> anyhow::Result<Vec<ComparedRow>> {
    let records = csv_records(text);
    let mut found = Vec::new();
    for record in records.iter().skip(1) {
        let width = keys + 2 * quantities;
        anyhow::ensure!(record.len() == width, "{record:?} has not {width} cells");
        let (of, values) = record.split_at(keys);
        let pair = |pair: &[String]| Compared::both(&pair[0], &pair[1]);
        found.push(ComparedRow {
            keys: of.to_vec(),
            values: values.chunks(2).map(pair).collect(),
        });
    }
    Ok(found)
}

fn curve_lines(curves: &[Curve]) -> String {
    let mut text = "panel,curve,x,y\n".to_owned();
    for curve in curves {
        for (x, y) in &curve.points {
            let cells = [&curve.panel, &curve.name, &x.to_string(), &y.to_string()];
            text += &csv_line(&cells.map(ToOwned::to_owned));
        }
    }
    text
}

fn read_curves(text: &str) -> anyhow::Result<Vec<Curve>> {
    let mut curves: Vec<Curve> = Vec::new();
    for record in csv_records(text).iter().skip(1) {
        let [panel, name, x, y] = &record[..] else {
            anyhow::bail!("{record:?} has not 4 cells");
        };
        let point = (x.parse()?, y.parse()?);
        match curves.last_mut() {
            Some(last) if last.panel == *panel && last.name == *name => last.points.push(point),
            _ => curves.push(Curve {
                panel: panel.clone(),
                name: name.clone(),
                points: vec![point],
            }),
        }
    }
    Ok(curves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_item_is_read_as_it_was_written() {
        let mut table = ComparedTable::new(&["program"], &["misses", "class"]);
        let values = vec![
            Compared::both("1,234", "1200"),
            Compared::published("\"nearly\"\nhalf"),
        ];
        table.push(&["a, b"], values);
        table.note("A \"quoted\" sentence.");
        table.axes.x = "distance".to_owned();
        for (panel, name) in [("one", "ours"), ("one", "published"), ("two", "ours")] {
            table.curves.push(Curve {
                panel: panel.to_owned(),
                name: name.to_owned(),
                points: vec![(1.0, 2.5), (3.0, 0.1)],
            });
        }
        let origin = MadeWhere {
            date: "2026-01-02".to_owned(),
            seconds: 3,
            ..MadeWhere::default()
        };
        let item = KeptItem { origin, table };
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "work.table1", &item).unwrap();
        assert_eq!(read(folder.path(), "work.table1").unwrap(), Some(item));
        assert_eq!(read(folder.path(), "work.table2").unwrap(), None);
    }

    #[test]
    fn row_with_a_missing_cell_is_refused() {
        let error = rows("a,b: ours,b: published\n1,2\n", 1, 1).unwrap_err();
        assert!(error.to_string().contains("has not 3 cells"), "{error}");
    }
}
