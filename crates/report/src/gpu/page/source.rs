//! The section of the page with annotated source: what each line of the kernels fetches, beside its
//! text.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::gpu::rows;
use crate::gpu::sums::LineSum;
use crate::html::escape;
use crate::numbers::{count, percent};

/// Lines shown around a line of a kernel that was executed.
const AROUND: usize = 4;
/// Files that are shown at most.
const FILES: usize = 25;
/// Bytes of the page that all lines together take at most.
const BYTES: usize = 600 << 10;

/// A file to show.
pub(super) struct SourceFile<'a> {
    path: &'a str,
    text: &'a str,
    lines: BTreeMap<usize, &'a LineSum>,
}

impl SourceFile<'_> {
    fn sectors(&self) -> u64 {
        self.lines
            .values()
            .map(|sum| sum.counts.global.sectors)
            .sum()
    }
}

/// The files whose text is known, those of most sectors first.
pub(super) fn files<'a>(
    lines: &'a [LineSum],
    sources: &'a BTreeMap<String, String>,
) -> Vec<SourceFile<'a>> {
    let mut by_file: BTreeMap<&str, BTreeMap<usize, &LineSum>> = BTreeMap::new();
    for sum in lines {
        if let Some((file, line)) = sum.file_and_line() {
            by_file.entry(file).or_default().insert(line, sum);
        }
    }
    let mut files: Vec<SourceFile> = by_file
        .into_iter()
        .filter_map(|(path, lines)| {
            let text = sources.get(path)?;
            Some(SourceFile { path, text, lines })
        })
        .collect();
    files.sort_by_key(|file| std::cmp::Reverse(file.sectors()));
    files.truncate(FILES);
    files
}

/// Appends the section, or nothing if there is no text. `total` are the sectors of all lines.
pub(super) fn write(out: &mut String, total: u64, files: &[SourceFile]) {
    if files.is_empty() {
        return;
    }
    out.push_str(
        "<section id=\"source\"><h2>The source, with what it fetches</h2><p class=\"explain\">Sectors of 32 \
         bytes of global memory. The darker the count, the larger the line's part of all. \
         <b>excessive</b>: sectors that neighbouring accesses would not need. <b>splits</b>: executions of a \
         branch that split the warp. This page contains these lines; <code>--no-embed-source</code> leaves \
         them out.</p>",
    );
    let end = out.len() + BYTES;
    for (index, file) in files.iter().enumerate() {
        let open = if index == 0 { " open" } else { "" };
        let _ = write!(
            out,
            "<details class=\"file\"{open}><summary>{} <span class=\"soft\">{} of the sectors</span></summary><div \
             class=\"code\"><table><thead><tr><th scope=\"col\">Sectors</th><th scope=\"col\">Sectors/Req</th><th \
             scope=\"col\">Excessive</th><th scope=\"col\">L1</th><th scope=\"col\">Splits</th><th \
             scope=\"col\">Line</th><th scope=\"col\"><span class=\"sr\">Text</span></th></tr></thead><tbody>",
            escape(file.path),
            percent(file.sectors(), total),
        );
        write_file(out, file, total, end);
        out.push_str("</tbody></table></div></details>");
    }
    out.push_str("</section>");
}

/// Appends the rows of a file, until the page is `end` bytes long.
fn write_file(out: &mut String, file: &SourceFile, total: u64, end: usize) {
    let near = |number: usize| {
        let around = number.saturating_sub(AROUND)..=number + AROUND;
        file.lines.range(around).next().is_some()
    };
    let mut skipped = 0;
    for (number, text) in (1..).zip(file.text.lines()) {
        if !near(number) || out.len() > end {
            skipped += 1;
            continue;
        }
        gap(out, skipped);
        skipped = 0;
        write_line(out, file.lines.get(&number).copied(), total, (number, text));
    }
    gap(out, skipped);
}

fn write_line(out: &mut String, sum: Option<&LineSum>, total: u64, (number, text): (usize, &str)) {
    out.push_str("<tr>");
    match sum {
        Some(sum) => {
            let global = &sum.counts.global;
            let heat = global.sectors as f64 / total.max(1) as f64;
            let _ = write!(
                out,
                "<td class=\"m\" style=\"--heat:{heat:.3}\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>",
                if global.sectors > 0 {
                    count(global.sectors)
                } else {
                    String::new()
                },
                rows::mean(global.sectors, global.requests),
                percent(global.excessive_sectors(), global.sectors),
                rows::hit_rate(&sum.counts.l1),
                percent(sum.splits, sum.branches),
            );
        }
        None => out.push_str("<td></td><td></td><td></td><td></td><td></td>"),
    }
    let _ = write!(
        out,
        "<td class=\"no\">{number}</td><td class=\"text\">{}</td></tr>",
        escape(text)
    );
}

/// Appends a row for lines that are not shown, if there are any.
fn gap(out: &mut String, lines: usize) {
    if lines > 0 {
        let lines = crate::numbers::noun(lines as u64, "line", "lines");
        let _ = write!(
            out,
            "<tr class=\"gap\"><td colspan=\"7\">{lines} left out</td></tr>"
        );
    }
}
