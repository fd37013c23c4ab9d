//! The groups of [`Dimension::Path`]: accesses by instruction and path.

use crate::group::{CellSum, Group, all_accesses};
use crate::{Dimension, Profile, names};

/// Outcomes of the paths that are shown.
const SHOWN_OUTCOMES: u32 = 8;

impl Profile {
    /// The accesses by instruction and its newest outcomes. A group's distances are those of its
    /// pattern bins, each at its mean.
    pub(crate) fn path_groups(&self) -> Vec<Group> {
        let known = self
            .paths
            .as_ref()
            .and_then(|paths| paths.at(paths.length.min(SHOWN_OUTCOMES)));
        let Some(sites) = known else {
            let mut all = all_accesses(&self.histogram);
            all.by = Dimension::Path;
            all.name = Dimension::Path.unknown_name();
            return vec![all];
        };
        let length = self
            .paths
            .as_ref()
            .map_or(0, |paths| paths.length.min(SHOWN_OUTCOMES));
        // Without basic blocks no branch was ever seen to be taken.
        let seen = sites
            .iter()
            .flat_map(|(_, paths)| paths)
            .any(|path| path.outcomes != 0);
        let mut groups = Vec::new();
        for (site, paths) in sites {
            let instruction = names::path_site(site);
            for path in paths {
                let mut tally = CellSum {
                    histogram: path.fine(),
                    ..CellSum::default()
                };
                for bin in path.bins.iter() {
                    tally.sum += (bin.mean * bin.accesses as f64) as u128;
                    tally.max = tally.max.max(bin.max);
                }
                let name = if seen {
                    format!("{instruction} after {}", path.digits(length))
                } else {
                    format!("{instruction} (no path known)")
                };
                groups.push(tally.group(Dimension::Path, name));
            }
        }
        groups.sort_by(|a, b| {
            b.accesses
                .cmp(&a.accesses)
                .then_with(|| a.name.cmp(&b.name))
        });
        groups
    }
}
