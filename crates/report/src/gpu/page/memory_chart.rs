//! The chart of the memories: what moved between kernel, caches, device memory and host.

use std::fmt::Write;

use reuselens_document::html::escape;
use reuselens_document::numbers::{count, noun, or_dash};
use reuselens_gpu_advisor::{Direction, SECTOR_BYTES};
use reuselens_locality::total;
use reuselens_units::Bytes;

use crate::gpu::sums::KernelSum;
use crate::gpu::{GpuRun, SummedRun, rows};

/// A box of the chart.
struct ChartBox {
    name: &'static str,
    /// A line below the name.
    fact: String,
    x: u32,
    y: u32,
}

/// An arrow between two boxes, with its words.
struct Arrow {
    from: (u32, u32),
    to: (u32, u32),
    words: String,
}

/// Width and height of a box.
const BOX: (u32, u32) = (150, 58);

/// Appends the chart of all kernels together.
pub(super) fn write(out: &mut String, summed: &SummedRun<'_>) {
    let (boxes, arrows) = (boxes(&summed.all), arrows(summed.run, &summed.all));
    let words: Vec<&str> = arrows.iter().map(|arrow| arrow.words.as_str()).collect();
    let _ = write!(
        out,
        "<div class=\"scroll\"><svg viewBox=\"0 0 1060 210\" role=\"img\" aria-label=\"{}\" \
         style=\"width:100%;min-width:760px;height:auto;font:13px var(--sans)\" fill=\"currentColor\"><defs><marker \
         id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto-start-reverse\"><path d=\"M0 0L8 4L0 8z\" fill=\"currentColor\"/></marker></defs>",
        escape(&words.join("; "))
    );
    for memory in &boxes {
        let (width, height) = BOX;
        let middle = memory.x + width / 2;
        let _ = write!(
            out,
            "<rect x=\"{}\" y=\"{}\" width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"var(--faint)\" \
             stroke=\"var(--rule)\"/><text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" \
             font-weight=\"600\">{}</text><text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\" \
             fill=\"var(--soft)\">{}</text>",
            memory.x,
            memory.y,
            memory.y + 24,
            memory.name,
            memory.y + 44,
            escape(&memory.fact)
        );
    }
    for arrow in &arrows {
        write_arrow(out, arrow);
    }
    out.push_str("</svg></div>");
}

fn write_arrow(out: &mut String, arrow: &Arrow) {
    let ((x1, y1), (x2, y2)) = (arrow.from, arrow.to);
    let (x, y) = ((x1 + x2) / 2, (y1 + y2) / 2);
    // The words of an upright arrow are beside it: left of one that goes up, right of the other.
    let (x, y, anchor) = match (x1 == x2, y2 < y1) {
        (true, true) => (x - 8, y + 4, "end"),
        (true, false) => (x + 8, y + 4, "start"),
        (false, _) => (x, y - 7, "middle"),
    };
    let _ = write!(
        out,
        "<path d=\"M{x1} {y1}L{x2} {y2}\" stroke=\"currentColor\" stroke-width=\"1.4\" fill=\"none\" \
         marker-end=\"url(#arrow)\"/><text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" \
         font-size=\"12\">{}</text>",
        escape(&arrow.words)
    );
}

fn boxes(all: &KernelSum) -> Vec<ChartBox> {
    let hit = |cache: &Option<_>| or_dash(cache.as_ref(), rows::hit_rate);
    let at = |name, fact: String, x, y| ChartBox { name, fact, x, y };
    vec![
        at("Kernels", noun(all.launches, "launch", "launches"), 0, 20),
        at("L1", format!("{} hits", hit(&all.l1)), 300, 20),
        at("L2", format!("{} hits", hit(&all.l2)), 560, 20),
        at("Device memory", String::new(), 820, 20),
        at(
            "Shared memory",
            format!("{} conflicts", count(all.shared.conflicts())),
            300,
            140,
        ),
        at("Host", String::new(), 820, 140),
    ]
}

fn arrows(run: &GpuRun, all: &KernelSum) -> Vec<Arrow> {
    let bytes = |sectors: u64| Bytes(sectors.saturating_mul(SECTOR_BYTES)).to_string();
    let copied = |direction: Direction| {
        let copies = run.ledger.copies.iter();
        let copies = copies.filter(|copy| copy.direction == direction);
        Bytes(total(copies.map(|copy| copy.bytes))).to_string()
    };
    let arrow = |from, to, words| Arrow { from, to, words };
    let mut arrows = vec![arrow(
        (152, 49),
        (298, 49),
        format!("{} sectors", count(all.global.sectors)),
    )];
    if let (Some(l1), Some(l2)) = (&all.l1, &all.l2) {
        arrows.push(arrow(
            (452, 40),
            (558, 40),
            bytes(l1.load_misses() + l1.stores),
        ));
        arrows.push(arrow(
            (712, 40),
            (818, 40),
            format!("{} loaded", bytes(l2.load_misses())),
        ));
    }
    if all.shared.requests > 0 {
        let words = format!("{} wavefronts", count(all.shared.wavefronts));
        arrows.push(arrow((152, 169), (298, 169), words));
    }
    arrows.push(arrow(
        (850, 138),
        (850, 80),
        copied(Direction::HostToDevice),
    ));
    arrows.push(arrow(
        (940, 80),
        (940, 138),
        copied(Direction::DeviceToHost),
    ));
    arrows
}
