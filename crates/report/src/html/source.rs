//! The section of a page with annotated source: accesses and misses of each line beside its text.

use std::collections::BTreeMap;
use std::fmt::Write;

use reuselens_document::html::{escape, percent};
use reuselens_document::numbers::{count, grouped};
use reuselens_locality::FineHistogram;
use serde_json::{Value, json};

use super::data;
use super::scene::Scene;

/// Lines shown around a line that accesses memory.
const AROUND: usize = 4;
/// Files that are shown at most, those of most misses first.
const FILES: usize = 25;
/// Lines of a file that are shown at most.
const LINES: usize = 3000;
/// Bytes of the page that all lines together take at most: sources are in most pages, and a page
/// has less than 2 MB.
const BYTES: usize = 600 << 10;

/// The distances of the lines of one file, by line number.
type Lines = BTreeMap<usize, FineHistogram>;

/// A file to show.
pub(crate) struct File<'a> {
    path: &'a str,
    text: &'a str,
    lines: Lines,
    misses: u64,
}

/// The files whose text is known and whose lines access memory, those of most misses first.
pub(crate) fn files<'a>(scene: &Scene<'a>) -> Vec<File<'a>> {
    if scene.sources.is_empty() {
        return Vec::new();
    }
    let mut lines: BTreeMap<&str, Lines> = BTreeMap::new();
    for cell in &scene.profile.cells {
        let site = scene.profile.sites.get(cell.site as usize);
        let Some(frame) = site.and_then(|site| site.frames.first()) else {
            continue;
        };
        let of_file = lines.entry(frame.file.as_str()).or_default();
        of_file
            .entry(frame.line as usize)
            .or_default()
            .merge(&cell.histogram);
    }
    let mut files: Vec<File> = lines
        .into_iter()
        .filter_map(|(path, lines)| {
            let text = scene.sources.get(path)?;
            let misses = lines
                .values()
                .map(|line| line.misses(scene.chosen.items))
                .sum();
            Some(File {
                path,
                text,
                lines,
                misses,
            })
        })
        .collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.misses));
    files.truncate(FILES);
    files
}

/// The files' lines for the script: for each file its path, then its lines with their histograms.
pub(crate) fn json(files: &[File]) -> Vec<Value> {
    files
        .iter()
        .map(|file| {
            let lines = file
                .lines
                .iter()
                .map(|(line, histogram)| json!([line, data::histogram(histogram, None)]));
            json!([file.path, lines.collect::<Vec<_>>()])
        })
        .collect()
}

/// Appends the section, or nothing if there is no text.
pub(crate) fn write(out: &mut String, scene: &Scene, files: &[File]) {
    if files.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<section id=\"source\"><h2>The source, with its misses</h2><p class=\"explain\">Misses in a cache of \
         <b data-cache>{}</b>. The darker the count, the larger the line's part of all misses. This page contains these lines; \
         <code>--no-embed-source</code> leaves them out.</p>",
        scene.chosen.label()
    );
    let end = out.len() + BYTES;
    for (index, file) in files.iter().enumerate() {
        let open = if index == 0 { " open" } else { "" };
        let _ = write!(
            out,
            "<details class=\"file\"{open}><summary>{} <span class=\"soft\" data-file=\"{index}\">{} of the misses</span>\
             </summary><div class=\"code\"><table><thead><tr><th scope=\"col\">Misses</th><th scope=\"col\">Ratio</th>\
             <th scope=\"col\">Accesses</th><th scope=\"col\">Line</th><th scope=\"col\"><span class=\"sr\">Text</span></th>\
             </tr></thead><tbody>",
            escape(file.path),
            percent(
                file.misses,
                scene.misses(scene.chosen.items).max(file.misses)
            ),
        );
        write_file(out, scene, index, file, end);
        out.push_str("</tbody></table></div></details>");
    }
    out.push_str("</section>");
}

/// Appends the rows of a file, until the page is `end` bytes long.
fn write_file(out: &mut String, scene: &Scene, index: usize, file: &File, end: usize) {
    let near = |number: usize| {
        file.lines
            .range(number.saturating_sub(AROUND)..=number + AROUND)
            .next()
            .is_some()
    };
    let (mut skipped, mut shown) = (0, 0);
    let mut lines = (1..).zip(file.text.lines()).peekable();
    while let Some((number, text)) = lines.next_if(|_| shown < LINES && out.len() < end) {
        if !near(number) {
            skipped += 1;
            continue;
        }
        gap(out, skipped, "without accesses");
        skipped = 0;
        shown += 1;
        write_line(out, scene, index, file, number, text);
    }
    if lines.peek().is_none() {
        gap(out, skipped, "without accesses");
    } else {
        let rest = skipped + lines.count();
        gap(out, rest, "more, left out so that the page stays small");
    }
}

/// Appends the row of a line: its misses, their ratio, its accesses, its number and its text.
fn write_line(
    out: &mut String,
    scene: &Scene,
    index: usize,
    file: &File,
    number: usize,
    text: &str,
) {
    let all = scene.misses(scene.chosen.items);
    let _ = write!(out, "<tr id=\"s{index}-{number}\">");
    match file.lines.get(&number) {
        Some(line) => {
            let (misses, accesses) = (line.misses(scene.chosen.items), line.accesses());
            let _ = write!(
                out,
                "<td class=\"m\" style=\"--heat:{:.3}\" title=\"{}\">{}</td><td>{}</td><td>{}</td>",
                (misses as f64 / all.max(1) as f64).min(1.0),
                grouped(misses),
                count(misses),
                percent(misses, accesses),
                count(accesses)
            );
        }
        None => out.push_str("<td></td><td></td><td></td>"),
    }
    let _ = write!(
        out,
        "<td class=\"no\">{number}</td><td class=\"text\">{}</td></tr>",
        escape(text)
    );
}

/// Appends a row for lines that are not shown, if there are any, and why.
fn gap(out: &mut String, lines: usize, why: &str) {
    if lines > 0 {
        let lines = reuselens_document::numbers::noun(lines as u64, "line", "lines");
        let _ = write!(
            out,
            "<tr class=\"gap\"><td colspan=\"5\">{lines} {why}</td></tr>"
        );
    }
}
