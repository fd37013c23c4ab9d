//! The lines of [`summary`](super::summary) about reuse times, footprints and forward distances.

use std::fmt::Write;

use reuselens_document::numbers::{count, percent, significant};
use reuselens_document::terminal::wrap;
use reuselens_locality::{Histogram, ReuseTimes};
use reuselens_profile::{Dimension, Profile};

use crate::caches::Level;
use crate::times::DECADES;
use crate::words;

/// Appends the lines of what was measured.
pub(super) fn write(out: &mut String, profile: &Profile, chosen: &Level, width: usize) {
    if let Some(times) = &profile.reuse_times {
        let lines = [reuses(times), footprint(times, profile)];
        for line in lines.into_iter().flatten() {
            let _ = writeln!(out, "{}", wrap(&line, width, 0));
        }
    }
    if let Some(line) = forward(profile, chosen) {
        let _ = writeln!(out, "{}", wrap(&line, width, 0));
    }
}

/// The median and the mean of the reuse times.
fn reuses(times: &ReuseTimes) -> Option<String> {
    let histogram = times.histogram();
    let half = histogram.reuses().div_ceil(2);
    let mut sum = 0_u64;
    let median = histogram.iter().find(|(_, _, accesses)| {
        sum = sum.saturating_add(*accesses);
        sum >= half
    })?;
    Some(format!(
        "Reuse times: half of the reuses come after at most {} other accesses; the mean is {}.",
        count(median.1),
        significant(times.mean()?)
    ))
}

/// The average footprints of windows of a few lengths.
fn footprint(times: &ReuseTimes, profile: &Profile) -> Option<String> {
    let longest = profile.histogram.accesses();
    let lengths = DECADES.into_iter().filter(|length| *length <= longest);
    let point = |length| {
        Some(format!(
            "{} of {}",
            significant(times.footprint(length)?),
            count(length)
        ))
    };
    let points: Vec<String> = lengths.filter_map(point).collect();
    (!points.is_empty()).then(|| {
        let items = words::items(profile.granularity);
        format!(
            "Footprint, mean {items} in a stretch of accesses: {}.",
            points.join(", ")
        )
    })
}

/// The line whose data is longest not used again.
fn forward(profile: &Profile, chosen: &Level) -> Option<String> {
    if profile.cells.iter().all(|cell| cell.forward.is_empty()) {
        return None;
    }
    let lines = profile.groups(Dimension::Line).into_iter();
    let far = lines.filter_map(|group| {
        let far = group.forward?.misses(chosen.items);
        Some((far, group.name, group.accesses))
    });
    // Of equals the first, which is that of more accesses.
    let (far, name, accesses) =
        far.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    Some(format!(
        "Forward distances: {name} leaves most behind, data of {} of its accesses is not used again within {}.",
        percent(far, accesses),
        chosen.label()
    ))
}
