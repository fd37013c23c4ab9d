//! [`kernels_text`]: what the kernels of a CUDA program did, as a table for a terminal.

use std::cmp::Reverse;
use std::fmt::Write;

use reuselens_document::numbers::{count, percent};
use reuselens_document::terminal::{Paint, TextStyle, heading, wrap};
use reuselens_document::{Table, TableColumn};

/// The launches of one kernel, together. Counts are of warps where they say so, else of threads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelRow {
    /// Its name in the source.
    pub name: String,
    /// How often it was launched.
    pub launches: u64,
    /// Blocks of all launches.
    pub blocks: u64,
    /// Instructions of warps.
    pub warp_instructions: u64,
    /// Instructions of threads.
    pub thread_instructions: u64,
    /// Instructions of warps that access global memory.
    pub requests: u64,
    /// Sectors of 32 bytes that those access.
    pub sectors: u64,
    /// Accesses of threads to memory.
    pub accesses: u64,
}

/// The kernels of a program, those with most instructions first. `top` rows at most; the rest is
/// one row. `width` is that of the terminal. Ends with a line break; empty if there are no kernels.
pub fn kernels_text(kernels: &[KernelRow], top: usize, width: usize, color: bool) -> String {
    let (paint, width) = (Paint::new(color), width.max(60));
    let mut out = String::new();
    if kernels.is_empty() {
        return out;
    }
    let mut sorted: Vec<&KernelRow> = kernels.iter().collect();
    sorted.sort_by_key(|kernel| Reverse(kernel.thread_instructions));
    let total: u64 = kernels.iter().fold(0, |sum, kernel| {
        sum.saturating_add(kernel.thread_instructions)
    });
    heading(&mut out, "Kernels by instructions", "", width, paint);
    let columns = [
        TableColumn::words("kernel"),
        TableColumn::numbers("launches"),
        TableColumn::numbers("instructions"),
        TableColumn::numbers("share"),
        TableColumn::numbers("lanes"),
        TableColumn::numbers("requests"),
        TableColumn::numbers("sectors/req"),
    ];
    let (shown, folded) = sorted.split_at(top.min(sorted.len()));
    let mut cells: Vec<Vec<String>> = shown.iter().map(|kernel| cells_of(kernel, total)).collect();
    if !folded.is_empty() {
        let mut others = KernelRow::default();
        for kernel in folded {
            others.add(kernel);
        }
        others.name = format!("({} others)", folded.len());
        cells.push(cells_of(&others, total));
    }
    Table::new(columns, cells).write_text(&mut out, width, paint);
    let text = "lanes: active of the 32 of a warp, on average. sectors/req: sectors of 32 bytes that \
                an instruction of a warp accesses in global memory; 4 where 32 threads access \
                neighbouring words.";
    let _ = writeln!(
        out,
        "  {}",
        paint.ink(TextStyle::Soft, &wrap(text, width, 2))
    );
    out
}

impl KernelRow {
    fn add(&mut self, other: &KernelRow) {
        let counts = [
            (&mut self.launches, other.launches),
            (&mut self.blocks, other.blocks),
            (&mut self.warp_instructions, other.warp_instructions),
            (&mut self.thread_instructions, other.thread_instructions),
            (&mut self.requests, other.requests),
            (&mut self.sectors, other.sectors),
            (&mut self.accesses, other.accesses),
        ];
        for (sum, count) in counts {
            *sum = sum.saturating_add(count);
        }
    }
}

fn cells_of(kernel: &KernelRow, total: u64) -> Vec<String> {
    vec![
        kernel.name.clone(),
        count(kernel.launches),
        count(kernel.thread_instructions),
        percent(kernel.thread_instructions, total),
        mean(kernel.thread_instructions, kernel.warp_instructions),
        count(kernel.requests),
        mean(kernel.sectors, kernel.requests),
    ]
}

fn mean(sum: u64, number: u64) -> String {
    match number {
        0 => "—".to_owned(),
        number => format!("{:.1}", sum as f64 / number as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, thread_instructions: u64) -> KernelRow {
        KernelRow {
            name: name.to_owned(),
            launches: 2,
            blocks: 4,
            warp_instructions: thread_instructions / 16,
            thread_instructions,
            requests: 10,
            sectors: 320,
            accesses: 320,
        }
    }

    #[test]
    fn kernels_are_sorted_and_the_rest_is_one_row() {
        let kernels = [kernel("few", 16), kernel("most", 1600), kernel("fewer", 32)];
        let text = kernels_text(&kernels, 1, 100, false);
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(" %")).collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(
            lines[0].contains("most") && lines[0].contains("16.0"),
            "{text}"
        );
        assert!(lines[0].contains("32.0"), "{text}");
        assert!(
            lines[1].contains("(2 others)") && lines[1].contains("48"),
            "{text}"
        );
    }

    #[test]
    fn no_kernels_are_no_table() {
        assert_eq!(kernels_text(&[], 5, 100, false), "");
    }
}
