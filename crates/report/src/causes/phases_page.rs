//! The phases of a run on a page: misses and footprint over time, and the table of phases.

use std::fmt::Write;

use reuselens_document::html::{escape, percent};
use reuselens_document::numbers::{count, ratio_percent};
use reuselens_locality::total;
use reuselens_profile::{RunInterval, RunPhases};
use reuselens_units::Granularity;

use super::cause_rows::{CauseNames, PAGE_ROWS, in_json};
use super::phases::{COLOURS, has_several, section};
use crate::caches;

/// The sides of a picture in its own units.
const SIDE: f64 = 1000.0;

const EXPLAIN: &str = "The run from its begin to its end, in intervals of equally many accesses. Intervals that are alike in their \
misses and in the data that these are on have one colour: they are a phase. A change that helps one phase is worth as much as that \
phase misses.";

/// Appends the picture and the table, if there are several phases.
pub(super) fn write(out: &mut String, names: &CauseNames<'_>) {
    let run = &names.causes().phases;
    if !has_several(run) {
        return;
    }
    let _ = write!(
        out,
        "<div class=\"card\" id=\"phases\"><h3 class=\"first\">Phases over time</h3><p class=\"explain\">{EXPLAIN}</p>"
    );
    let miss_ratio = |it: &RunInterval| it.misses as f64 / it.accesses.max(1) as f64;
    let granularity = names.profile().granularity;
    let pictures = [
        TimePicture {
            title: "Accesses that miss",
            value: miss_ratio,
            label: |ratio, _| ratio_percent(ratio),
        },
        TimePicture {
            title: "Distinct data in an interval",
            value: |it| it.footprint as f64,
            label: |items, granularity| caches::size(items as u64, granularity),
        },
    ];
    for picture in pictures {
        picture.write(out, run, granularity);
    }
    legend(out, names);
    out.push_str("</div>");
}

/// A picture of a number of each interval over the time of the run.
struct TimePicture {
    title: &'static str,
    /// The number of an interval.
    value: fn(&RunInterval) -> f64,
    /// That number as text.
    label: fn(f64, Granularity) -> String,
}

impl TimePicture {
    fn write(&self, out: &mut String, run: &RunPhases, granularity: Granularity) {
        let values = run.intervals.iter().map(self.value);
        let most = values.fold(0.0, f64::max);
        let top = if most > 0.0 { most } else { 1.0 };
        let label = |value| escape(&(self.label)(value, granularity));
        let _ = write!(
            out,
            "<figure class=\"over-time\"><figcaption class=\"soft\">{0}</figcaption><div class=\"plot\" style=\"--h:110px\">\
             <div class=\"y\"><span style=\"bottom:0\">0</span><span style=\"bottom:100%\">{1}</span></div><div class=\"area\" \
             role=\"img\" aria-label=\"{0} over time, at most {1}\"><svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" \
             aria-hidden=\"true\">",
            self.title,
            label(top),
        );
        for (phase, path) in self.paths(run, top).into_iter().enumerate() {
            let _ = write!(
                out,
                "<path class=\"sbar v{}\" d=\"{path}\"><title>Phase {}</title></path>",
                phase % COLOURS,
                phase + 1
            );
        }
        out.push_str("</svg></div><div class=\"x\" aria-hidden=\"true\">");
        for share in [0, 25, 50, 75, 100] {
            // A word in the middle below the right end would jut over the card where it is narrow.
            let class = match share {
                100 => " class=\"end\"",
                25 | 75 => " class=\"minor\"",
                _ => "",
            };
            let _ = write!(out, "<span{class} style=\"left:{share}%\">{share} %</span>");
        }
        out.push_str(
            "</div><div class=\"axis-name\" aria-hidden=\"true\">of the run's accesses</div></div></figure>",
        );
    }

    /// Bars for the intervals of each phase: as wide as the interval has accesses.
    fn paths(&self, run: &RunPhases, top: f64) -> Vec<String> {
        let all = run.intervals.iter().map(|it| it.accesses as f64);
        let all = all.sum::<f64>().max(1.0);
        let mut paths = vec![String::new(); run.phases.len()];
        let mut before = 0.0;
        for interval in &run.intervals {
            let left = before / all * SIDE;
            before += interval.accesses as f64;
            let (right, height) = (before / all * SIDE, (self.value)(interval) / top * SIDE);
            if let Some(path) = paths.get_mut(interval.phase as usize) {
                let _ = write!(
                    path,
                    "M{left:.1} 1000V{:.0}H{right:.1}V1000z",
                    SIDE - height
                );
            }
        }
        paths
    }
}

/// Appends the table of phases, each with its colour.
fn legend(out: &mut String, names: &CauseNames<'_>) {
    let section = section(names).first(PAGE_ROWS, in_json);
    section.write_parts(out);
    let run = &names.causes().phases;
    let first = run.intervals.first().map_or(0, |it| it.accesses);
    let cold = total(run.intervals.iter().map(|it| it.first_touches));
    let all = total(run.intervals.iter().map(|it| it.misses));
    let _ = write!(
        out,
        "<p class=\"soft\">{} intervals of {} accesses; {} of the misses are first touches.</p>",
        run.intervals.len(),
        count(first),
        percent(cold.min(all), all)
    );
}
