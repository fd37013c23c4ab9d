//! The section of the page with reuse distances and memory divergence: bars for each kernel.

use std::fmt::Write;

use reuselens_document::html::escape;
use reuselens_document::numbers::{count, percent};
use reuselens_gpu_advisor::{DegreeHistograms, RequestSums};
use reuselens_locality::Log2Histogram;

use crate::gpu::GpuRun;
use crate::gpu::sums::KernelSum;

/// A bar: its label below, and its height.
struct LabelledBar {
    label: String,
    value: u64,
    /// The class of its colour: `hit`, `miss` or `cold`.
    class: &'static str,
}

/// Appends the pictures of these kernels.
pub(super) fn write(out: &mut String, run: &GpuRun, kernels: &[KernelSum]) {
    for kernel in kernels {
        let _ = write!(
            out,
            "<h3>{}</h3><div class=\"variants\">",
            escape(&kernel.name)
        );
        if let Some(reuse) = &kernel.reuse {
            draw(
                out,
                "Reuse distance in a block, lines",
                &distances(&reuse.cta_lines.loads, 0),
            );
            draw(
                out,
                "Reuse distance in a warp, lines",
                &distances(&reuse.warp_lines.loads, 0),
            );
        }
        if let Some(caches) = &kernel.cache_distances {
            for (title, loads, lost) in [
                (
                    "Reuse distance in a multiprocessor, lines",
                    &caches.private,
                    0,
                ),
                (
                    "The same, if others' stores invalidate lines",
                    &caches.coherent,
                    caches.invalidated,
                ),
                (
                    "Reuse distance in all multiprocessors, lines",
                    &caches.shared,
                    0,
                ),
            ] {
                draw(out, title, &distances(loads, lost));
            }
        }
        let mut degrees = DegreeHistograms::default();
        for report in run.kernels.iter().filter(|it| it.kernel == kernel.name) {
            degrees.merge(&report.divergence.all());
        }
        draw(out, "Lines of a request", &by_degree(&degrees.lines));
        draw(out, "Sectors of a request", &by_degree(&degrees.sectors));
        out.push_str("</div>");
    }
}

/// Loads by powers of two of their distances; those of new lines last, after those of lines that
/// were lost, which are `lost` of the cold ones.
fn distances(loads: &Log2Histogram, lost: u64) -> Vec<LabelledBar> {
    let mut bars: Vec<LabelledBar> = loads
        .iter()
        .map(|(low, high, value)| LabelledBar {
            label: if low == high {
                count(low)
            } else {
                format!("{}–", count(low))
            },
            value,
            class: "hit",
        })
        .collect();
    if lost > 0 {
        bars.push(LabelledBar {
            label: "lost".to_owned(),
            value: lost,
            class: "miss",
        });
    }
    bars.push(LabelledBar {
        label: "new".to_owned(),
        value: loads.cold() - lost,
        class: "cold",
    });
    bars
}

/// Requests by the number of lines or sectors; numbers that do not occur are left out.
fn by_degree(requests: &[u64]) -> Vec<LabelledBar> {
    let numbered = requests.iter().enumerate();
    numbered
        .filter(|(_, requests)| **requests > 0)
        .map(|(number, requests)| LabelledBar {
            label: number.to_string(),
            value: *requests,
            class: if number > 8 { "miss" } else { "hit" },
        })
        .collect()
}

/// Appends one picture; nothing if all bars are empty.
fn draw(out: &mut String, title: &str, bars: &[LabelledBar]) {
    let total: u64 = bars.iter().map(|bar| bar.value).sum();
    let most = bars.iter().map(|bar| bar.value).max().unwrap_or(0);
    if total == 0 {
        return;
    }
    let words: Vec<String> = bars
        .iter()
        .map(|bar| format!("{}: {}", bar.label, percent(bar.value, total)))
        .collect();
    let _ = write!(
        out,
        "<figure class=\"variant\" style=\"margin:0\"><figcaption class=\"soft\">{title}</figcaption><div class=\"plot\" \
         style=\"--h:120px;grid-template-columns:44px 1fr\"><div class=\"y\"><span \
         style=\"bottom:0\">0</span><span style=\"bottom:100%\">{}</span></div><div class=\"area\" role=\"img\" \
         aria-label=\"{}\"><svg viewBox=\"0 0 {} 100\" preserveAspectRatio=\"none\" aria-hidden=\"true\">",
        percent(most, total),
        escape(&words.join("; ")),
        bars.len() * 10
    );
    for (at, bar) in bars.iter().enumerate() {
        let height = bar.value as f64 / most as f64 * 100.0;
        let _ = write!(
            out,
            "<path class=\"{}\" d=\"M{} 100V{:.1}h8V100z\"><title>{}</title></path>",
            bar.class,
            at * 10 + 1,
            100.0 - height,
            escape(&words[at])
        );
    }
    out.push_str("</svg></div><div class=\"x\" aria-hidden=\"true\">");
    // Eight labels at most, so that they do not overlap.
    let step = bars.len().div_ceil(8);
    for (at, bar) in bars.iter().enumerate() {
        if at % step == 0 || at + 1 == bars.len() && at % step >= step.div_ceil(2) {
            let left = (at as f64 + 0.5) / bars.len() as f64 * 100.0;
            let _ = write!(
                out,
                "<span style=\"left:{left:.1}%\">{}</span>",
                escape(&bar.label)
            );
        }
    }
    out.push_str("</div></div></figure>");
}
