//! [`gpu_text`]: a run of a GPU program on one screen of a terminal.

use std::fmt::Write;

use reuselens_advice::Finding;
use reuselens_document::numbers::{count, ratio_percent};
use reuselens_document::terminal::{Paint, TextStyle, heading, wrap};
use reuselens_document::{Table, TableColumn};

use super::sums::KernelSum;
use super::{
    GpuRun, RunOrigin, STOPPED, STOPPED_HEADING, STREAM_MIX, ShortNames, SummedRun, cache_sizes,
    rows,
};
use crate::advice::PlaceNames;

/// How a run is shown.
#[derive(Clone, Copy, Debug)]
pub struct GpuTextOptions {
    /// Rows of each table, and findings.
    pub top: usize,
    /// Columns of the terminal; 60 at least.
    pub width: usize,
    /// Whether to colour.
    pub color: bool,
}

/// A run as text for a terminal: kernels that were stopped, all kernels, source lines and data
/// objects, those that fetch most first, then what to change. Ends with a line break; empty if no
/// kernel was launched.
pub fn gpu_text(summed: &SummedRun<'_>, options: &GpuTextOptions) -> String {
    let run = summed.run;
    let mut out = String::new();
    let writer = Writer {
        run,
        summed,
        top: options.top,
        width: options.width.max(60),
        paint: Paint::new(options.color),
    };
    writer.faults(&mut out);
    if !run.kernels.is_empty() {
        writer.kernels(&mut out);
        writer.mix(&mut out);
        writer.configurations(&mut out);
        writer.lines(&mut out);
        writer.objects(&mut out);
        writer.shared_arrays(&mut out);
        writer.cache_sizes(&mut out);
        writer.host(&mut out);
        writer.findings(&mut out);
        for cut in run.cuts() {
            writer.soft(&mut out, &cut);
        }
    }
    out
}

struct Writer<'a> {
    run: &'a GpuRun,
    summed: &'a SummedRun<'a>,
    top: usize,
    width: usize,
    paint: Paint,
}

const KERNEL_LEGEND: &str = "lanes: active of the 32 of a warp, on average. diverged: executions of basic blocks in which \
not all threads of the warp took part. sectors/req: sectors of 32 bytes that an instruction of a warp accesses in global \
memory; 4 where 32 threads access neighbouring words. L1, L2: share of the sectors of loads that a model of the caches has.";

const MIX_LEGEND: &str = "FLOP: operations on floats; an addition, multiplication, division, root or the like is one, a fused \
multiplication and addition two. FLOP/B: those for each byte that the modelled L2 is asked for, and that it loads from the \
device's memory.";
const CONFIGURATION_LEGEND: &str = "static, dynamic: bytes of shared memory of a block that the kernel declares, and that the launch \
adds. occupancy: warps that a multiprocessor can hold at the same time, of the most it can; an upper bound, for the \
registers of a thread are not known from PTX. waves: how often the blocks fill all multiprocessors.";

impl Writer<'_> {
    fn faults(&self, out: &mut String) {
        let faults = self.run.faults();
        if faults.is_empty() {
            return;
        }
        heading(out, STOPPED_HEADING, "", self.width, self.paint);
        for fault in faults.iter().take(self.top) {
            let message = wrap(&fault.message, self.width, 2);
            let _ = writeln!(out, "  {message}");
            for fact in self.run.fault_facts(fault) {
                self.indented(out, &fact);
            }
        }
        if faults.len() > self.top {
            let more = faults.len() - self.top;
            self.soft(out, &format!("{more} more are on the page."));
        }
    }

    fn kernels(&self, out: &mut String) {
        let (kernels, total) = (&self.summed.kernels, self.summed.all.instructions.threads);
        heading(out, "Kernels by instructions", "", self.width, self.paint);
        // A row of one other kernel would take as much room as the kernel.
        let top = if kernels.len() == self.top + 1 {
            self.top + 1
        } else {
            self.top
        };
        let (shown, rest) = kernels.split_at(top.min(kernels.len()));
        let mut cells: Vec<_> = shown.iter().map(|sum| rows::kernel(sum, total)).collect();
        if !rest.is_empty() {
            let mut others = KernelSum::default();
            for kernel in rest {
                others.add_kernel(kernel);
            }
            others.name = format!("({} others)", rest.len());
            cells.push(rows::kernel(&others, total));
        }
        Table::new(rows::kernel_columns(), cells).write_text(out, self.width, self.paint);
        self.soft(out, KERNEL_LEGEND);
    }

    fn mix(&self, out: &mut String) {
        heading(out, "Instruction mix", "", self.width, self.paint);
        let kernels = self.summed.kernels.iter().take(self.top);
        // What the other columns leave, without the kernel's name.
        let width = self.width.saturating_sub(54);
        let cells = kernels.map(|sum| rows::mix(sum, width));
        Table::new(rows::mix_columns(), cells).write_text(out, self.width, self.paint);
        if self.summed.kernels.len() > self.top {
            let more = self.summed.kernels.len() - self.top;
            self.soft(out, &format!("{more} more are on the page."));
        }
        self.soft(out, MIX_LEGEND);
        if self.run.origin == RunOrigin::Stream {
            self.soft(out, STREAM_MIX);
        }
    }

    fn configurations(&self, out: &mut String) {
        heading(out, "Launch configurations", "", self.width, self.paint);
        let cells = rows::configurations(&self.summed.kernels);
        self.table(out, rows::configuration_columns(), cells);
        if let Some(others) = rows::other_configurations(&self.summed.kernels) {
            self.soft(out, &others);
        }
        self.soft(out, CONFIGURATION_LEGEND);
    }

    fn lines(&self, out: &mut String) {
        let (lines, total) = (&self.summed.lines, self.summed.sectors());
        if lines.iter().all(|sum| sum.line.is_empty()) {
            self.soft(
                out,
                "Lines of the source are not known: compile with nvcc -lineinfo, or in Python with \
                 lineinfo=True.",
            );
            return;
        }
        heading(out, "Source lines by sectors", "", self.width, self.paint);
        let shown = lines.iter().filter(|sum| sum.counts.global.sectors > 0);
        let cells = shown.map(|sum| rows::line(sum, total));
        self.table(out, rows::line_columns(), cells.collect());
    }

    fn objects(&self, out: &mut String) {
        let (objects, total) = (&self.summed.objects, self.summed.object_sectors());
        if objects.is_empty() {
            return;
        }
        heading(out, "Data objects by sectors", "", self.width, self.paint);
        let short = ShortNames::of(self.run);
        let cells = objects.iter();
        let cells = cells.map(|sum| rows::object(self.run, &short, sum, total));
        self.table(out, rows::object_columns(), cells.collect());
        self.soft(
            out,
            "with: memory of the host that copies tie to it. reused: loads whose line the block had \
             loaded before.",
        );
    }

    fn shared_arrays(&self, out: &mut String) {
        let cells = rows::shared_arrays(&self.summed.kernels);
        if cells.is_empty() {
            return;
        }
        let title = "Arrays in shared memory by wavefronts";
        heading(out, title, "", self.width, self.paint);
        self.table(out, rows::array_columns(), cells);
        self.soft(
            out,
            "wavefronts: passes that requests need; conflicts: those that they would not need if the \
             lanes used different banks.",
        );
    }

    fn cache_sizes(&self, out: &mut String) {
        let cells = cache_sizes::rows(&self.summed.kernels);
        if cells.is_empty() {
            return;
        }
        // Three rows of each kernel.
        heading(out, cache_sizes::TITLE, "", self.width, self.paint);
        let columns = TableColumn::all(&cache_sizes::heads(), &cache_sizes::WORDS);
        let table = Table::new(columns, cells).first(3 * self.top, on_page);
        table.write_text(out, self.width, self.paint);
        self.soft(out, cache_sizes::LEGEND);
    }

    fn host(&self, out: &mut String) {
        let Some(host) = &self.run.host else { return };
        let title = "Source lines of the host by misses";
        heading(out, title, "", self.width, self.paint);
        let cells = host.lines.iter().map(|sum| host.line_row(sum)).collect();
        self.table(out, TableColumn::all(&host.line_heads(), &[0]), cells);
        self.soft(out, &host.left_out_text(&host.lines_left_out));
        let title = "Data objects of the host by misses";
        heading(out, title, "", self.width, self.paint);
        let short = ShortNames::of(self.run);
        let objects = host.objects.iter();
        let cells = objects.map(|sum| host.object_row(sum, &short)).collect();
        self.table(out, TableColumn::all(&host.object_heads(), &[0, 1]), cells);
        self.soft(out, "on the device: memory that copies tie the object to.");
        self.soft(out, &host.left_out_text(&host.objects_left_out));
    }

    fn findings(&self, out: &mut String) {
        let findings = &self.run.findings;
        let is_stopped = self.run.is_stopped();
        let title = match (findings.len(), is_stopped) {
            (0, false) => "Nothing to change was found",
            (0, true) => "What to change is not known",
            _ => "What to change",
        };
        heading(out, title, "", self.width, self.paint);
        if is_stopped {
            self.soft(out, STOPPED);
        }
        let mut rules: Vec<&str> = Vec::new();
        for (at, finding) in findings.iter().take(self.top).enumerate() {
            self.finding(out, at + 1, finding);
            // What to do is the same for each place of a rule.
            if !rules.contains(&finding.rule.name) {
                rules.push(finding.rule.name);
                self.indented(out, &format!("→ {}", finding.remedy));
            }
        }
        if findings.len() > self.top {
            let more = findings.len() - self.top;
            self.soft(
                out,
                &format!("{more} more are on the page; --top N shows more here."),
            );
        }
    }

    fn finding(&self, out: &mut String, number: usize, finding: &Finding) {
        let head = format!(
            "{number}. {}: {} {} ({} of all)",
            finding.rule.title,
            count(finding.cost.amount),
            finding.cost.unit,
            ratio_percent(finding.cost.share)
        );
        let _ = writeln!(out, "  {}", self.paint.ink(TextStyle::Strong, &head));
        let mut lines = vec![PlaceNames::of(&self.run.findings).place(finding)];
        if !finding.place.call_path.is_empty() {
            lines.push(format!("called by {}", finding.place.call_path.join(" › ")));
        }
        lines.extend(finding.evidence.iter().cloned());
        for line in lines.iter().filter(|line| !line.is_empty()) {
            self.indented(out, line);
        }
    }

    fn indented(&self, out: &mut String, text: &str) {
        let text = wrap(text, self.width, 5);
        let _ = writeln!(out, "     {text}");
    }

    /// Appends the first rows of a table, and how many more the page has.
    fn table(&self, out: &mut String, columns: Vec<TableColumn>, cells: Vec<Vec<String>>) {
        let table = Table::new(columns, cells).first(self.top, on_page);
        table.write_text(out, self.width, self.paint);
    }

    fn soft(&self, out: &mut String, text: &str) {
        let text = wrap(text, self.width, 2);
        let _ = writeln!(out, "  {}", self.paint.ink(TextStyle::Soft, &text));
    }
}

/// What a table of a summary leaves out.
fn on_page(more: usize) -> String {
    format!("{more} more are on the page.")
}
