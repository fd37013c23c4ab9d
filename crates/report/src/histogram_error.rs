//! [`write_error`] and [`error_json`]: how far one histogram is from another, by the measures of
//! the literature, and bin by bin.

use std::fmt::Write;

use reuselens_document::terminal::{Paint, TextStyle, heading, wrap};
use reuselens_document::{Table, TableColumn};
use reuselens_locality::error::{BinShares, average_bin_error, bin_shares, total_variation};
use reuselens_profile::Profile;
use reuselens_units::ratio_percent;
use serde::Serialize;

use crate::caches;

/// The measures, and the shares of accesses before and after in each bin.
#[derive(Serialize)]
pub(crate) struct ErrorJson {
    average_bin_error: f64,
    total_variation: f64,
    /// `[lowest distance, highest, share before, share after]`; no distances for cold accesses.
    bins: Vec<(Option<u64>, Option<u64>, f64, f64)>,
}

/// How far the second histogram is from the first: the average error of a bin (Cui et al. 2012,
/// section V-C) and the total variation, over the log2 bins and the cold accesses, and both shares
/// in each bin.
pub(crate) fn write_error(
    out: &mut String,
    [before, after]: [&Profile; 2],
    width: usize,
    paint: Paint,
) {
    let (reference, other) = (before.histogram.log2(), after.histogram.log2());
    let bins = bin_shares(&reference, &other);
    let title = format!("Error over {} bins of distances", bins.len());
    heading(out, &title, "", width, paint);
    let columns = ["distance", "before", "after", "error"];
    let columns = columns.map(TableColumn::numbers);
    let cells: Vec<Vec<String>> = bins.iter().map(|bin| cells_of(bin, before)).collect();
    Table::new(columns, cells).write_text(out, width, paint);
    let text = format!(
        "average error of a bin {}; {} of the accesses are in another bin (total variation)",
        ratio_percent(average_bin_error(&reference, &other)),
        ratio_percent(total_variation(&reference, &other)),
    );
    let text = paint.ink(TextStyle::Strong, &wrap(&text, width, 2));
    let _ = writeln!(out, "  {text}");
}

fn cells_of(bin: &BinShares, profile: &Profile) -> Vec<String> {
    let name = bin.distances.map(|(low, _)| {
        let from = caches::size(low, profile.granularity);
        if low == 0 {
            from
        } else {
            format!("from {from}")
        }
    });
    let shares = [bin.reference, bin.other, (bin.reference - bin.other).abs()];
    name.into_iter()
        .chain(bin.distances.is_none().then(|| "cold".to_owned()))
        .chain(shares.map(ratio_percent))
        .collect()
}

/// The same as fields of a document.
pub(crate) fn error_json(before: &Profile, after: &Profile) -> ErrorJson {
    let (reference, other) = (before.histogram.log2(), after.histogram.log2());
    let bin = |bin: BinShares| {
        let (low, high) = bin.distances.unzip();
        (low, high, bin.reference, bin.other)
    };
    ErrorJson {
        average_bin_error: average_bin_error(&reference, &other),
        total_variation: total_variation(&reference, &other),
        bins: bin_shares(&reference, &other)
            .into_iter()
            .map(bin)
            .collect(),
    }
}
