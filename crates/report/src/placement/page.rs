//! [`placement_page`]: a plan as an HTML page.

use std::fmt::Write;

use reuselens_document::html::{escape, page};
use reuselens_document::numbers::{percent, ratio_percent};
use reuselens_locality::total;
use reuselens_placement::{CapacityPoint, Placed, PlacementPlan, Reason, capacity_curve};
use reuselens_units::Bytes;

use super::PlacementReport;
use super::phases::{context_table, phase_name, phase_table};
use super::text::{object_table, objective, rule_table};
use crate::{MAKER, words};

/// Objects that have a part of a bar of their own, at most; there are six colours.
const PARTS: usize = 6;
/// Rows of the table of objects, at most.
const ROWS: usize = 200;

const TIERS: &str = "Each bar is a tier; its length is the tier's capacity, and for the last tier all that is in it. The largest \
objects have a part each. Objects that do not live at the same time share room, and can have more bytes together than the tier.";
const CURVE: &str = "What the best plan would be worth if the fastest tier had another capacity, relative to what it is worth when \
everything is in it. Where the curve is steep, more fast memory pays; where it is flat, the rest is not worth it.";
const PHASES: &str = "The run as a line of all its accesses, one part for each phase: a calling context with 5 % of the accesses or \
more. A phase's accesses stand together here, however often it was entered; a profile does not know when each ran, so they are in the order \
of the calling contexts, by name. Moving data to a phase's own placement costs time at each \
entry and at its end.";
const OBJECTS: &str = "Objects by F, the accesses for each byte.";
const CONTEXTS: &str = "Contexts with many accesses to more data than the cache holds are worth optimising first. Those with few \
accesses for each byte reuse little, and those whose data fit into the cache gain little, whatever is placed.";
const RULES: &str = "This plan beside the rules of other tools, by the same objective.";

/// A plan as one HTML file that works offline: tiers as stacked bars, what other capacities would
/// be worth, phases, and the tables. Equal plans, equal bytes. Cost: that of [`capacity_curve`].
pub fn placement_page(report: &PlacementReport) -> String {
    let plan = report.plan;
    let mut out = String::with_capacity(96 << 10);
    page::head(&mut out, MAKER, "Placement");
    let has_phases = !plan.phases.phases.is_empty();
    let links = [
        ("tiers", "Tiers"),
        ("capacity", "Capacity"),
        ("phases", "Phases"),
        ("objects", "Objects"),
        ("contexts", "Contexts"),
        ("rules", "Rules"),
    ];
    page::top(&mut out, MAKER, &links, |id| match id {
        "phases" => has_phases,
        "contexts" => plan.has_data,
        _ => true,
    });
    headline(&mut out, report);
    page::card(&mut out, "tiers", "What each tier holds", TIERS, |out| {
        tiers(out, plan)
    });
    let title = "What more or less fast memory would bring";
    page::card(&mut out, "capacity", title, CURVE, |out| curve(out, plan));
    if has_phases {
        page::card(&mut out, "phases", "Phases", PHASES, |out| {
            phases(out, plan);
            phase_table(plan).write_html(out);
        });
    }
    page::card(&mut out, "objects", "Objects", OBJECTS, |out| {
        objects(out, plan)
    });
    if plan.has_data {
        page::card(&mut out, "contexts", "Calling contexts", CONTEXTS, |out| {
            context_table(plan).write_html(out);
        });
    }
    page::card(&mut out, "rules", "How well each rule does", RULES, |out| {
        rule_table(plan).write_html(out);
    });
    page::end(&mut out, MAKER, "");
    out
}

fn headline(out: &mut String, report: &PlacementReport) {
    let plan = report.plan;
    let command = words::command(report.profile);
    let _ = write!(
        out,
        "<h1>Placement of {}</h1><ul class=\"facts\">",
        escape(&command)
    );
    let mut facts = vec![
        report.name.to_owned(),
        plan.machine.name.clone(),
        format!("objective {}", objective(plan)),
    ];
    if !plan.machine.source.is_empty() {
        facts.push(format!("values: {}", plan.machine.source.trim()));
    }
    let predicted = report.prediction.map(|prediction| prediction.lines(plan));
    let predicted = predicted.into_iter().flatten();
    facts.extend(predicted.map(|(label, text)| format!("{label}: {text}")));
    for fact in facts {
        let _ = write!(out, "<li>{}</li>", escape(&fact));
    }
    out.push_str("</ul>");
    let fast = plan.tiers[..plan.tiers.len() - 1].iter();
    let (objects, accesses, misses) = fast.fold((0, 0_u64, 0_u64), |sum, tier| {
        let accesses = sum.1.saturating_add(tier.accesses);
        (
            sum.0 + tier.objects,
            accesses,
            sum.2.saturating_add(tier.misses),
        )
    });
    let proof = if plan.best.is_proven {
        "No placement is better than this one.".to_owned()
    } else {
        format!(
            "A better one gains {} more at most.",
            escape(&ratio_percent(plan.best.gap()))
        )
    };
    let _ = write!(
        out,
        "<p class=\"lead\">{objects} of {} objects belong in fast memory: they have <b>{}</b> of \
         the accesses and <b>{}</b> of the misses. {proof}</p>",
        plan.objects.len(),
        escape(&percent(accesses, plan.accesses)),
        escape(&percent(misses, plan.misses)),
    );
    if plan.is_all_cached() {
        let _ = write!(
            out,
            "<p class=\"lead\">All data of the program ({}) fits into the cache of {}, so this plan \
             says little.</p>",
            plan.footprint, plan.cache.bytes
        );
    }
}

/// A part of a bar.
struct Part {
    name: String,
    /// How much it is, in words.
    size: String,
    /// Its share of the bar.
    share: f64,
    /// The number of its colour; `None` for what stays pale.
    colour: Option<usize>,
    /// What it stands for, if it is several.
    members: Vec<String>,
}

impl Part {
    /// The class of its colour.
    fn class(&self) -> String {
        match self.colour {
            Some(at) => format!("v{at}"),
            None => "rest".to_owned(),
        }
    }
}

/// Appends a bar of parts, and a legend of those with a colour.
fn bar(out: &mut String, title: &str, aside: &str, parts: &[Part]) {
    let _ = write!(
        out,
        "<h3 class=\"stack-title\">{} <small>{}</small></h3><div class=\"stack\" role=\"img\" \
         aria-label=\"{}\">",
        escape(title),
        escape(aside),
        escape(&parts.iter().map(words_of).collect::<Vec<_>>().join("; "))
    );
    for part in parts {
        let class = part.class();
        let _ = write!(
            out,
            "<span class=\"{class}\" style=\"width:{:.3}%\" title=\"{}\"></span>",
            part.share * 100.0,
            escape(&if part.members.is_empty() {
                words_of(part)
            } else {
                format!("{}: {}", words_of(part), part.members.join("; "))
            })
        );
    }
    out.push_str("</div><ul class=\"stack-legend\">");
    for part in parts {
        let (class, words) = (part.class(), escape(&words_of(part)));
        let words = if part.members.is_empty() {
            words
        } else {
            format!(
                "<details><summary>{words}</summary>{}</details>",
                escape(&part.members.join("; "))
            )
        };
        let _ = write!(
            out,
            "<li class=\"{class}\"><i class=\"swatch\"></i>{words}</li>"
        );
    }
    out.push_str("</ul>");
}

fn words_of(part: &Part) -> String {
    format!("{} {}", part.name, part.size)
}

fn tiers(out: &mut String, plan: &PlacementPlan) {
    for (index, (tier, used)) in plan.machine.tiers.iter().zip(&plan.tiers).enumerate() {
        let mut inside: Vec<&Placed> = plan.objects.iter().filter(|it| it.tier == index).collect();
        inside.sort_by_key(|placed| std::cmp::Reverse(placed.candidate.bytes));
        let capacity = tier.capacity.map_or(0, Bytes::get);
        let length = used.bytes.max(capacity).max(1) as f64;
        let part = |name: String, bytes: u64, colour| Part {
            name,
            size: Bytes(bytes).to_string(),
            share: bytes as f64 / length,
            colour,
            members: Vec::new(),
        };
        let mut parts: Vec<Part> = inside
            .iter()
            .take(PARTS)
            .enumerate()
            .map(|(at, it)| part(it.candidate.name.clone(), it.candidate.bytes, Some(at)))
            .collect();
        if let Some(others) = inside.get(PARTS..).filter(|others| !others.is_empty()) {
            let bytes = total(others.iter().map(|it| it.candidate.bytes));
            let named =
                |it: &&Placed| format!("{} {}", it.candidate.name, Bytes(it.candidate.bytes));
            let mut members: Vec<String> = others.iter().take(ROWS).map(named).collect();
            if others.len() > ROWS {
                members.push(format!("{} more", others.len() - ROWS));
            }
            parts.push(Part {
                members,
                ..part(format!("{} others", others.len()), bytes, None)
            });
        }
        if capacity > used.bytes {
            parts.push(Part {
                name: "free".to_owned(),
                size: Bytes(capacity - used.bytes).to_string(),
                share: 0.0,
                colour: None,
                members: Vec::new(),
            });
        }
        let aside = match tier.capacity {
            Some(capacity) if used.peak < used.bytes => format!(
                "{} in {capacity}, {} of them at one time",
                Bytes(used.bytes),
                Bytes(used.peak)
            ),
            Some(capacity) => format!("{} of {capacity}", Bytes(used.bytes)),
            None => Bytes(used.bytes).to_string(),
        };
        bar(out, &tier.name, &aside, &parts);
    }
}

fn phases(out: &mut String, plan: &PlacementPlan) {
    let part = |name: String, accesses: u64, colour| Part {
        name,
        size: percent(accesses, plan.accesses),
        share: accesses as f64 / plan.accesses.max(1) as f64,
        colour,
        members: Vec::new(),
    };
    let mut parts: Vec<Part> = plan
        .phases
        .phases
        .iter()
        .enumerate()
        .map(|(at, phase)| {
            let name = phase_name(&plan.phases.phases, phase);
            part(name, phase.accesses, Some(at % PARTS))
        })
        .collect();
    if plan.phases.outside > 0 {
        parts.push(part("in no phase".to_owned(), plan.phases.outside, None));
    }
    let aside = format!(
        "{} accesses",
        reuselens_document::numbers::count(plan.accesses)
    );
    bar(out, "the run", &aside, &parts);
}

/// Appends the picture of what other capacities are worth.
fn curve(out: &mut String, plan: &PlacementPlan) {
    let points = capacity_curve(plan);
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return;
    };
    let octave = |bytes: Bytes| (bytes.get().max(1) as f64).log2();
    let (low, high) = (
        octave(first.capacity),
        octave(last.capacity).max(octave(first.capacity) + 1.0),
    );
    let x = |bytes: Bytes| ((octave(bytes) - low) / (high - low)).clamp(0.0, 1.0);
    let share = |point: &CapacityPoint| {
        if last.value > 0.0 {
            (point.value / last.value).clamp(0.0, 1.0)
        } else {
            0.0
        }
    };
    let mut path = String::new();
    for point in &points {
        let (x, y) = (x(point.capacity) * 1000.0, 1000.0 - share(point) * 1000.0);
        // A plan holds until more fits.
        let _ = if path.is_empty() {
            write!(path, "M{x:.1} {y:.1}")
        } else {
            write!(path, "H{x:.1}V{y:.1}")
        };
    }
    out.push_str("<div class=\"plot\" style=\"--h:260px\"><div class=\"y\">");
    for percent in [0, 25, 50, 75, 100] {
        let _ = write!(out, "<span style=\"bottom:{percent}%\">{percent} %</span>");
    }
    let _ = write!(
        out,
        "</div><div class=\"area\" role=\"img\" aria-label=\"{}\"><svg viewBox=\"0 0 1000 1000\" \
         preserveAspectRatio=\"none\" aria-hidden=\"true\"><path class=\"grid\" d=\"M0 \
         250H1000M0 500H1000M0 750H1000\"/><path class=\"fill\" d=\"{path}V1000H0Z\"/><path \
         class=\"line\" d=\"{path}\"/></svg>",
        escape(&curve_words(&points, last.value))
    );
    mark(out, plan, x);
    out.push_str("</div><div class=\"x\" aria-hidden=\"true\">");
    ticks(out, low, high);
    let name = &plan.machine.tiers[plan.fastest()].name;
    let _ = write!(
        out,
        "</div><div class=\"axis-name\" aria-hidden=\"true\">capacity of {}</div></div>",
        escape(name)
    );
}

/// A line where the plan's capacity is.
fn mark(out: &mut String, plan: &PlacementPlan, x: impl Fn(Bytes) -> f64) {
    let Some(capacity) = plan.machine.tiers[plan.fastest()].capacity else {
        return;
    };
    let left = x(capacity);
    let flip = if left > 0.6 { " flip narrow-flip" } else { "" };
    let _ = write!(
        out,
        "<div class=\"mark{flip}\" style=\"left:{:.2}%;--row:0;--narrow-row:0;--lines:1\"><span>\
         <b>this plan</b> {capacity}</span></div>",
        left * 100.0
    );
}

/// Powers of two below the picture, not too many.
fn ticks(out: &mut String, low: f64, high: f64) {
    let first = low.ceil().max(0.0) as u32;
    for (at, octave) in (first..=high.floor() as u32).step_by(2).enumerate() {
        let left = (f64::from(octave) - low) / (high - low) * 100.0;
        let class = if at % 2 == 1 { " class=\"minor\"" } else { "" };
        let size = Bytes(1_u64 << octave.min(63));
        let _ = write!(out, "<span{class} style=\"left:{left:.2}%\">{size}</span>");
    }
}

/// The curve for those who cannot see it.
fn curve_words(points: &[CapacityPoint], most: f64) -> String {
    let every_fourth = points.iter().step_by(4);
    let words = every_fourth.map(|point| {
        let share = if most > 0.0 { point.value / most } else { 0.0 };
        format!("{} {}", point.capacity, ratio_percent(share))
    });
    words.collect::<Vec<_>>().join("; ")
}

/// Appends the table of objects: those in fast memory first, if there are too many.
fn objects(out: &mut String, plan: &PlacementPlan) {
    let mut shown: Vec<(usize, &Placed)> = plan.objects.iter().enumerate().collect();
    shown.sort_by_key(|(rank, placed)| (placed.reason != Reason::Placed, *rank));
    let left = shown.len().saturating_sub(ROWS);
    shown.truncate(ROWS);
    shown.sort_by_key(|(rank, _)| *rank);
    let mut table = object_table(plan, &shown);
    if left > 0 {
        table.left_out = format!("{left} more are in the slow memory; --json has all.");
    }
    table.write_html(out);
}
