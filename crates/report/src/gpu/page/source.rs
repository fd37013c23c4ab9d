//! The section of the page with annotated source: what each line of the kernels fetches, beside its
//! text, and the instructions of PTX that it was compiled to.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::gpu::instructions::PtxSum;
use crate::gpu::rows;
use crate::gpu::sums::LineSum;
use reuselens_document::html::escape;
use reuselens_document::numbers::{count, noun, percent};
use reuselens_units::Bytes;

/// Lines shown around a line of a kernel that was executed.
const AROUND: usize = 4;
/// Files that are shown at most.
const FILES: usize = 25;
/// Bytes of the page that all lines together take at most, with their instructions.
const BYTES: usize = 1000 << 10;
/// Bytes of those that the instructions of PTX take at most.
const PTX_BYTES: usize = 400 << 10;

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

    fn has_ptx(&self) -> bool {
        let mut lines = self.lines.values();
        lines.any(|sum| sum.ptx.rows().next().is_some())
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

/// A column of numbers beside the source: its head, what it has, and the cell of a line; empty
/// where the line has nothing of it.
struct SourceColumn {
    head: &'static str,
    cell: fn(&LineSum) -> String,
}

/// All columns but that of sectors, which is shaded.
const COLUMNS: [SourceColumn; 9] = [
    SourceColumn {
        head: "Sectors/Req",
        cell: |sum| {
            let global = &sum.counts.global;
            known(global.requests, || {
                rows::mean(global.sectors, global.requests)
            })
        },
    },
    SourceColumn {
        head: "Excessive",
        cell: |sum| {
            let global = &sum.counts.global;
            known(global.sectors, || {
                percent(global.excessive_sectors(), global.sectors)
            })
        },
    },
    SourceColumn {
        head: "L1",
        cell: |sum| known(sum.counts.l1.loads, || rows::hit_rate(&sum.counts.l1)),
    },
    SourceColumn {
        head: "Splits",
        cell: |sum| known(sum.branches, || percent(sum.splits, sum.branches)),
    },
    SourceColumn {
        head: "Instructions",
        cell: |sum| known(sum.instructions.warps, || count(sum.instructions.threads)),
    },
    SourceColumn {
        head: "Lanes",
        cell: |sum| {
            let executed = &sum.instructions;
            known(executed.warps, || {
                rows::mean(executed.threads, executed.warps)
            })
        },
    },
    SourceColumn {
        head: "Wavefronts",
        cell: |sum| {
            let shared = &sum.counts.shared;
            known(shared.requests, || count(shared.wavefronts))
        },
    },
    SourceColumn {
        head: "Conflicts",
        cell: |sum| {
            let shared = &sum.counts.shared;
            known(shared.requests, || count(shared.conflicts()))
        },
    },
    SourceColumn {
        head: "Local",
        cell: |sum| {
            let local = &sum.counts.local;
            known(local.requests, || Bytes(local.bytes).to_string())
        },
    },
];

/// The cell of something of which there is this much; empty if there is nothing.
fn known(number: u64, cell: impl FnOnce() -> String) -> String {
    match number {
        0 => String::new(),
        _ => cell(),
    }
}

/// The columns of which a line of the file has something.
fn columns(file: &SourceFile) -> Vec<&'static SourceColumn> {
    let has_cells = |column: &&SourceColumn| {
        let mut lines = file.lines.values();
        lines.any(|sum| !(column.cell)(sum).is_empty())
    };
    COLUMNS.iter().filter(has_cells).collect()
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
         branch that split the warp. <b>instructions</b> of threads, and active <b>lanes</b> of the 32 of a warp. \
         <b>wavefronts</b>: passes that requests of shared memory need, and <b>conflicts</b>: those of them for \
         lanes that use one bank. <b>local</b>: bytes of local memory that threads load and store: registers \
         that did not fit, and arrays of threads. <b>PTX</b> shows the instructions that a line was compiled to, with \
         the column where they begin. This page contains these lines; \
         <code>--no-embed-source</code> leaves them out.</p>",
    );
    let mut room = Room {
        end: out.len() + BYTES,
        ptx: PTX_BYTES,
    };
    for (index, file) in files.iter().enumerate() {
        let open = if index == 0 { " open" } else { "" };
        let _ = write!(
            out,
            "<details class=\"file\"{open}><summary>{} <span class=\"soft\">{} of the sectors</span></summary>",
            escape(file.path),
            percent(file.sectors(), total),
        );
        if file.has_ptx() {
            out.push_str("<label class=\"with-ptx\"><input type=\"checkbox\"> PTX</label>");
        }
        out.push_str("<div class=\"code\"><table><thead><tr><th scope=\"col\">Sectors</th>");
        let columns = columns(file);
        for column in &columns {
            let _ = write!(out, "<th scope=\"col\">{}</th>", column.head);
        }
        out.push_str(
            "<th scope=\"col\">Line</th><th scope=\"col\"><span class=\"sr\">Text</span></th></tr></thead><tbody>",
        );
        write_file(out, file, &columns, total, &mut room);
        out.push_str("</tbody></table></div></details>");
    }
    out.push_str("</section>");
}

/// Bytes that may still be written.
struct Room {
    /// The length of the page after which no line is written.
    end: usize,
    /// Bytes of instructions of PTX.
    ptx: usize,
}

/// Appends the rows of a file, as long as there is room.
fn write_file(
    out: &mut String,
    file: &SourceFile,
    columns: &[&SourceColumn],
    total: u64,
    room: &mut Room,
) {
    let near = |number: usize| {
        let around = number.saturating_sub(AROUND)..=number + AROUND;
        file.lines.range(around).next().is_some()
    };
    let mut skipped = 0;
    for (number, text) in (1..).zip(file.text.lines()) {
        if !near(number) || out.len() > room.end {
            skipped += 1;
            continue;
        }
        gap(out, skipped, columns.len());
        skipped = 0;
        let sum = file.lines.get(&number).copied();
        write_line(out, sum, columns, total, (number, text));
        if let Some(sum) = sum {
            write_ptx(out, sum, columns, total, room);
        }
    }
    gap(out, skipped, columns.len());
}

fn write_line(
    out: &mut String,
    sum: Option<&LineSum>,
    columns: &[&SourceColumn],
    total: u64,
    (number, text): (usize, &str),
) {
    out.push_str("<tr>");
    match sum {
        Some(sum) => write_cells(out, sum, columns, total),
        None => (0..=columns.len()).for_each(|_| out.push_str("<td></td>")),
    }
    let _ = write!(
        out,
        "<td class=\"no\">{number}</td><td class=\"text\">{}</td></tr>",
        escape(text)
    );
}

/// Appends the numbers of a line, sectors first.
fn write_cells(out: &mut String, sum: &LineSum, columns: &[&SourceColumn], total: u64) {
    let sectors = sum.counts.global.sectors;
    let heat = sectors as f64 / total.max(1) as f64;
    let _ = write!(
        out,
        "<td class=\"m\" style=\"--heat:{heat:.3}\">{}</td>",
        known(sectors, || count(sectors))
    );
    for column in columns {
        let _ = write!(out, "<td>{}</td>", (column.cell)(sum));
    }
}

/// Appends the instructions of a line, hidden until the file's box is ticked.
fn write_ptx(
    out: &mut String,
    sum: &LineSum,
    columns: &[&SourceColumn],
    total: u64,
    room: &mut Room,
) {
    let before = out.len();
    let (mut of, mut left_out) = ("", 0);
    for (kernel, line, instruction) in sum.ptx.rows() {
        if out.len() - before > room.ptx {
            left_out += 1;
            continue;
        }
        if sum.kernels.len() > 1 && kernel != of {
            let _ = write!(
                out,
                "<tr class=\"ptx gap\"><td colspan=\"{}\">{}</td></tr>",
                columns.len() + 3,
                escape(kernel)
            );
            of = kernel;
        }
        write_instruction(out, (line, instruction), columns, total);
    }
    if left_out > 0 {
        let _ = write!(
            out,
            "<tr class=\"ptx gap\"><td colspan=\"{}\">{} left out</td></tr>",
            columns.len() + 3,
            noun(left_out, "instruction", "instructions")
        );
    }
    room.ptx = room.ptx.saturating_sub(out.len() - before);
}

fn write_instruction(
    out: &mut String,
    (line, instruction): (u32, &PtxSum),
    columns: &[&SourceColumn],
    total: u64,
) {
    out.push_str("<tr class=\"ptx\">");
    let sum = LineSum {
        counts: instruction.counts,
        instructions: instruction.executed,
        ..LineSum::default()
    };
    write_cells(out, &sum, columns, total);
    let column = match instruction.column {
        0 => String::new(),
        column => format!(":{column}"),
    };
    let _ = write!(
        out,
        "<td class=\"no\">{column}</td><td class=\"text\" title=\"line {line} of the PTX\">{}</td></tr>",
        escape(&instruction.text)
    );
}

/// Appends a row for lines that are not shown, if there are any. Beside the columns of numbers
/// there are those of sectors, the line's number and its text.
fn gap(out: &mut String, lines: usize, columns: usize) {
    if lines > 0 {
        let lines = noun(lines as u64, "line", "lines");
        let _ = write!(
            out,
            "<tr class=\"gap\"><td colspan=\"{}\">{lines} left out</td></tr>",
            columns + 3
        );
    }
}
