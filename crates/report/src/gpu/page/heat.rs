//! The section of the page with the heat map: how often the parts of each data object are accessed.

use std::collections::BTreeMap;
use std::fmt::Write;

use reuselens_document::html::{escape, page};
use reuselens_document::numbers::{count, noun};
use reuselens_gpu_advisor::{HeatMap, SECTOR_BYTES};
use reuselens_units::Bytes;

use crate::gpu::sums::ObjectSum;
use crate::gpu::{GpuRun, ShortNames, SummedRun};

/// Rows at most, each of some kilobytes.
const ROWS: usize = 48;
/// Kernels of an object that have a row of their own at most.
const KERNELS: usize = 4;
/// Colours at most, those of the legend.
const LEVELS: i32 = 8;

const EXPLAIN: &str = "Each row is a data object, from its first byte at the left to its last at the right, in up to 64 \
equal parts. The stronger the colour of a part, the more often its sectors of 32 bytes are requested, on average and on \
a logarithmic scale; <b>empty</b> parts are never accessed. All launches count together, and so do blocks of memory that \
one call path allocated, offset by offset. The JSON has the exact counts.";

/// A row of an object's picture.
struct HeatRow<'a> {
    /// The kernel, or all of them.
    label: &'a str,
    map: HeatMap,
}

/// The objects with rows to show, those of most sectors first.
pub(super) fn objects<'a>(summed: &'a SummedRun<'_>) -> Vec<&'a ObjectSum> {
    let objects = summed.objects.iter();
    objects.filter(|sum| sum.object.is_some()).collect()
}

/// Appends the section.
pub(super) fn write(out: &mut String, run: &GpuRun, objects: &[&ObjectSum]) {
    let title = "Which parts of the data are accessed";
    let short = ShortNames::of(run);
    let mut left = ROWS;
    let shown = objects.iter().map_while(|&sum| {
        let rows = rows(run, sum);
        left = left.checked_sub(rows.len())?;
        Some((sum, rows))
    });
    let shown: Vec<(&ObjectSum, Vec<HeatRow>)> = shown.collect();
    let rest = objects.len() - shown.len();
    let all = shown.iter().flat_map(|(_, rows)| rows);
    let scale = HeatScale::of(all.flat_map(|row| densities(&row.map)));
    page::card(out, "heat", title, EXPLAIN, |out| {
        legend(out, &scale);
        for (sum, rows) in &shown {
            let map = &sum.heat;
            let parts = noun(map.sectors().len() as u64, "part", "parts");
            let _ = write!(
                out,
                "<h3>{} <small class=\"soft\">{}, {parts} of {}</small></h3>",
                escape(short.name(sum.object)),
                Bytes(map.bytes()),
                Bytes(map.part_bytes())
            );
            for row in rows {
                write_row(out, row, &scale);
            }
        }
        if rest > 0 {
            let more = noun(rest as u64, "more object is", "more objects are");
            let _ = write!(out, "<p class=\"more\">{more} in the JSON.</p>");
        }
    });
}

/// The rows of an object: all kernels together, and each one if there are several.
fn rows<'a>(run: &'a GpuRun, sum: &'a ObjectSum) -> Vec<HeatRow<'a>> {
    let mut by_kernel: BTreeMap<&str, HeatMap> = BTreeMap::new();
    for report in &run.kernels {
        let own = report.by_object.iter().find(|it| it.object == sum.object);
        if let Some(own) = own {
            let map = by_kernel.entry(&report.kernel).or_default();
            map.merge(&own.heat);
        }
    }
    let mut rows: Vec<HeatRow> = by_kernel
        .into_iter()
        .map(|(label, map)| HeatRow { label, map })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.map.sectors().iter().sum::<u64>()));
    if rows.len() > 1 {
        rows.truncate(KERNELS);
        let all = HeatRow {
            label: "all kernels",
            map: sum.heat,
        };
        rows.insert(0, all);
    }
    rows
}

/// How often each sector of a part is requested, on average, by part.
fn densities(map: &HeatMap) -> impl Iterator<Item = f64> {
    let rest = map.bytes();
    let sectors = (0..).zip(map.sectors());
    sectors.map(move |(part, &sectors)| {
        let bytes = rest.saturating_sub(part * map.part_bytes());
        let held = bytes.clamp(1, map.part_bytes()).div_ceil(SECTOR_BYTES);
        sectors as f64 / held as f64
    })
}

/// The colours: level *n* is for densities from `factor`^(`least` + n) on, below the next one. Few
/// densities may be below the first level or above the last; they have its colour.
struct HeatScale {
    factor: f64,
    least: i32,
    levels: i32,
    has_below: bool,
    has_above: bool,
}

/// Factors between two levels, the finest first.
const FACTORS: [f64; 5] = [2.0, 4.0, 10.0, 100.0, 1e6];

impl HeatScale {
    /// The finest scale that has nineteen of twenty densities in [`LEVELS`] levels.
    fn of(densities: impl Iterator<Item = f64>) -> HeatScale {
        let used: Vec<f64> = densities.filter(|density| *density > 0.0).collect();
        let mut scale = HeatScale::with(FACTORS[0], &used);
        for factor in &FACTORS[1..] {
            if scale.1 * 20 >= used.len() * 19 {
                break;
            }
            scale = HeatScale::with(*factor, &used);
        }
        scale.0
    }

    /// The scale with this factor that holds most densities, and how many these are.
    fn with(factor: f64, densities: &[f64]) -> (HeatScale, usize) {
        let mut powers: BTreeMap<i32, usize> = BTreeMap::new();
        for &density in densities {
            *powers.entry(exponent(density, factor)).or_default() += 1;
        }
        let held = |least: i32| powers.range(least..least + LEVELS).map(|it| it.1).sum();
        let best: Option<(usize, i32)> = (powers.keys().map(|&least| (held(least), least)))
            .reduce(|best, next| if next.0 > best.0 { next } else { best });
        let (held, least) = best.unwrap_or((0, 0));
        let last = powers.range(least..least + LEVELS).next_back();
        let last = last.map_or(least, |last| *last.0);
        let scale = HeatScale {
            factor,
            least,
            levels: last - least + 1,
            has_below: powers.range(..least).next().is_some(),
            has_above: powers.range(last + 1..).next().is_some(),
        };
        (scale, held)
    }

    fn level(&self, density: f64) -> i32 {
        (exponent(density, self.factor) - self.least).clamp(0, self.levels - 1)
    }

    /// How much of its colour a level has.
    fn opacity(&self, level: i32) -> f64 {
        match self.levels {
            1 => 0.6,
            levels => 0.2 + 0.8 * f64::from(level) / f64::from(levels - 1),
        }
    }

    /// The densities of a level, in words.
    fn words(&self, level: i32) -> String {
        let (low, high) = (self.bound_text(level), self.bound_text(level + 1));
        match (
            self.has_below && level == 0,
            self.has_above && level + 1 == self.levels,
        ) {
            (true, true) => "any number".to_owned(),
            (true, false) => format!("below {high}"),
            (false, true) => format!("{low} and more"),
            (false, false) => format!("{low}–{high}"),
        }
    }

    /// The least density of a level, in words.
    fn bound_text(&self, level: i32) -> String {
        match self.least + level {
            power @ ..0 => format!("1/{}", count(self.factor.powi(-power) as u64)),
            power => count(self.factor.powi(power) as u64),
        }
    }
}

/// The greatest power of `factor` that is not above a number.
fn exponent(number: f64, factor: f64) -> i32 {
    let power = (number.ln() / factor.ln()).floor() as i32;
    // Logarithms of exact powers are rounded.
    if factor.powi(power + 1) <= number {
        power + 1
    } else {
        power
    }
}

fn legend(out: &mut String, scale: &HeatScale) {
    out.push_str(
        "<ul class=\"legend heat-legend\"><li>Requests for each sector:</li><li><i></i>none</li>",
    );
    for level in 0..scale.levels {
        let _ = write!(
            out,
            "<li><i class=\"k-miss\" style=\"opacity:{:.2}\"></i>{}</li>",
            scale.opacity(level),
            scale.words(level),
        );
    }
    out.push_str("</ul>");
}

fn write_row(out: &mut String, row: &HeatRow<'_>, scale: &HeatScale) {
    let map = &row.map;
    let (parts, total) = (map.sectors(), map.sectors().iter().sum::<u64>());
    let used = parts.iter().filter(|sectors| **sectors > 0).count();
    let _ = write!(
        out,
        "<div class=\"heat-row\"><span class=\"mono\">{0}</span><svg viewBox=\"0 0 {1} 1\" \
         preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\" role=\"img\" aria-label=\"{0}: {used} of {1} parts accessed\">",
        escape(row.label),
        parts.len()
    );
    let levels: Vec<Option<i32>> = densities(map)
        .map(|density| (density > 0.0).then(|| scale.level(density)))
        .collect();
    for level in 0..scale.levels {
        if !levels.contains(&Some(level)) {
            continue;
        }
        let opacity = scale.opacity(level);
        let _ = write!(out, "<g class=\"miss\" fill-opacity=\"{opacity:.2}\">");
        for (part, _) in levels.iter().enumerate().filter(|it| *it.1 == Some(level)) {
            let from = part as u64 * map.part_bytes();
            let to = (from + map.part_bytes()).min(map.bytes().max(from + 1));
            let _ = write!(
                out,
                "<rect x=\"{part}\" width=\"1\" height=\"1\"><title>{} to {}: {} sectors</title></rect>",
                Bytes(from),
                Bytes(to),
                count(parts[part])
            );
        }
        out.push_str("</g>");
    }
    let _ = write!(
        out,
        "</svg><span class=\"num\">{}</span></div>",
        noun(total, "sector", "sectors")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_is_the_finest_that_holds_most() {
        for (densities, factor, legend) in [
            (vec![1.0], 2.0, "1–2"),
            (vec![0.0, 0.25, 1.9], 2.0, "1/4–1/2, 1/2–1, 1–2"),
            (
                vec![1.0, 1000.0],
                4.0,
                "1–4, 4–16, 16–64, 64–256, 256–1,024",
            ),
            (
                vec![0.5, 99_999.0],
                10.0,
                "1/10–1, 1–10, 10–100, 100–1,000, 1,000–10.0 k, 10.0 k–100 k",
            ),
            (
                vec![1e-9, 1e9],
                1e6,
                "1/1.00 T–1/1.00 M, 1/1.00 M–1, 1–1.00 M, 1.00 M–1.00 T",
            ),
        ] {
            let scale = HeatScale::of(densities.iter().copied());
            let words: Vec<String> = (0..scale.levels).map(|level| scale.words(level)).collect();
            assert_eq!((scale.factor, &*words.join(", ")), (factor, legend));
        }
    }

    /// One small object must not take the colours of all others.
    #[test]
    fn few_parts_may_be_beyond_the_scale() {
        let mut densities = vec![2.0; 50];
        densities.extend([4.0, 1e6]);
        let scale = HeatScale::of(densities.into_iter());
        assert_eq!((scale.factor, scale.levels), (2.0, 2));
        assert_eq!(scale.words(1), "4 and more");
        assert_eq!((scale.level(2.0), scale.level(1e6)), (0, 1));
    }

    #[test]
    fn scale_of_nothing_has_a_level() {
        assert_eq!(HeatScale::of([0.0].into_iter()).levels, 1);
    }
}
