//! [`Forecast`]: a prediction with what it is shown beside. `text`, `json` and `html` show it.

mod html;
mod json;
mod lines;
mod multiples;
mod pictures;
mod tables;
mod text;

use reuselens_predict::{Check, Prediction, Unpredictable};
use reuselens_profile::Profile;
use reuselens_units::grouped;

use crate::caches;

pub use html::forecast_page;
pub use json::{FORECAST_SCHEMA, forecast_json};
pub use text::forecast;

/// A prediction, and what it is shown with.
#[derive(Clone, Debug)]
pub struct Forecast<'a> {
    /// The prediction.
    pub prediction: &'a Prediction,
    /// The training runs, each with a name, in the order in which they were given.
    pub training: Vec<(&'a str, &'a Profile)>,
    /// The run that it was compared with.
    pub observed: Option<(&'a str, &'a Profile, &'a Check)>,
    /// What the groups are: `line` or `instruction`.
    pub by: &'a str,
    /// Rows of each table.
    pub top: usize,
    /// Columns of the terminal; 60 at least.
    pub width: usize,
    /// Whether to colour.
    pub color: bool,
}

impl Forecast<'_> {
    /// A data size as text: in bytes or items, or as it was given.
    fn size(&self, size: f64) -> String {
        if self.prediction.given {
            grouped(size.round().max(0.0) as u64)
        } else {
            caches::size(size.round() as u64, self.prediction.granularity)
        }
    }

    /// The training runs by size: name, profile, size.
    fn by_size(&self) -> impl Iterator<Item = (&str, &Profile, f64)> {
        let training = self.prediction.training.iter();
        training.filter_map(|(run, size)| {
            let (name, profile) = self.training.get(*run)?;
            Some((*name, *profile, *size))
        })
    }
}

/// Why something cannot be predicted, in words.
fn why(reason: &Unpredictable, training: &[(&str, &Profile)], sizes: &[(usize, f64)]) -> String {
    // Reasons count the runs by size.
    let name = |at: &usize| {
        sizes
            .get(*at)
            .and_then(|(run, _)| training.get(*run))
            .map_or("?", |run| run.0)
    };
    match reason {
        Unpredictable::Missing(runs) => {
            let names: Vec<&str> = runs.iter().map(name).collect();
            format!("not in {}", names.join(", "))
        }
        Unpredictable::Patterns(counts) => {
            let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
            format!("{} patterns", counts.join(" and "))
        }
        Unpredictable::Rarer(runs) => {
            let names: Vec<&str> = runs.iter().map(name).collect();
            format!("rarer paths, together in {}", names.join(", "))
        }
    }
}
