//! [`Prediction::check`]: compares a prediction with a run of the predicted size.

use std::collections::{BTreeMap, BTreeSet};

use reuselens_locality::{Log2Histogram, MissRatioCurve, Pattern, error};
use reuselens_profile::Profile;

use super::{
    CacheForecast, Check, PredictOptions, Prediction, PredictionSizes, forecasts, levels::levels,
};
use crate::check::{GroupCheck, GroupSeen, wrong};
use crate::group::{GroupForecast, Groups};
use crate::program::{ProgramError, groups, have_paths, same_program};
use crate::program_prediction::data_size;
use crate::ranking_accuracy::{self, RankingAccuracy};

impl Prediction {
    /// Compares with a run of that size. If that has no paths and the training runs do, groups are
    /// predicted once more from the coarser bins that all profiles have, and that is compared.
    ///
    /// # Errors
    /// If that run does not belong to the training runs, or has no reuses.
    pub fn check(
        &self,
        observed: &Profile,
        training: &[&Profile],
        options: &PredictOptions,
    ) -> Result<Check, ProgramError> {
        let all: Vec<&Profile> = training.iter().copied().chain([observed]).collect();
        same_program(&all, options.loose)?;
        have_paths(&all, options.by)?;
        let run = all.len();
        let size = data_size(&observed.histogram).ok_or(ProgramError::NoReuses { run })? as f64;
        let logs = [&observed.histogram, &self.program.histogram].map(Log2Histogram::of);
        let curves = [&observed.histogram, &self.program.histogram].map(MissRatioCurve::new);
        let caches = self.observed_caches(observed, &curves[0], training, options);
        let held = |(forecast, (seen, _)): (&CacheForecast, &(f64, _))| {
            forecast.miss_ratio.low <= *seen && *seen <= forecast.miss_ratio.high
        };
        let held = self
            .caches
            .iter()
            .zip(&caches)
            .filter(|pair| held(*pair))
            .count();
        let exact = self.exact && observed.paths.is_some();
        let seen = groups(observed, options.by, exact);
        let again = if exact == self.exact {
            Vec::new()
        } else {
            self.forecasts_again(training, options, exact)
        };
        // Of paths there can be a million: no copies of them.
        let forecasts: Vec<&GroupForecast> = if exact == self.exact {
            self.groups.iter().map(|group| &group.0).collect()
        } else {
            again.iter().collect()
        };
        Ok(Check {
            ranking: self.ranking_accuracy(&forecasts, &seen),
            size,
            accuracy: error::accuracy(&logs[0], &logs[1]),
            curve_error: curves[0].mean_absolute_error(&curves[1]),
            intervals: (caches.len() as u64, held as u64),
            caches,
            groups: GroupCheck::of(
                forecasts.iter().copied(),
                &seen,
                self.merging,
                self.training.len(),
            ),
            observed: self.observed(&forecasts, &seen),
            seen: self.seen(&forecasts, &seen),
            wrong: wrong(forecasts.iter().copied(), &seen, self.merging),
            never_seen: never_seen(&forecasts, &seen),
        })
    }

    /// Whether accesses and misses were predicted of the right groups.
    fn ranking_accuracy(&self, forecasts: &[&GroupForecast], seen: &Groups) -> RankingAccuracy {
        let items: Vec<u64> = self.caches.iter().map(|cache| cache.items).collect();
        let misses = |forecast: &GroupForecast| -> Vec<u64> {
            items.iter().map(|items| forecast.misses(*items)).collect()
        };
        let placed = forecasts.iter();
        let placed: Vec<(&GroupForecast, Vec<u64>)> = placed
            .map(|forecast| (*forecast, misses(forecast)))
            .collect();
        RankingAccuracy::of(&placed, seen, &items)
    }

    /// Accesses and misses that were observed of the groups that were trained.
    fn seen(&self, forecasts: &[&GroupForecast], seen: &Groups) -> BTreeMap<String, GroupSeen> {
        let items: Vec<u64> = self.caches.iter().map(|cache| cache.items).collect();
        let found = forecasts.iter().filter_map(|forecast| {
            let run = seen.get(&forecast.name)?;
            Some((forecast.name.clone(), ranking_accuracy::seen(run, &items)))
        });
        found.collect()
    }

    /// The observed patterns of what could be predicted.
    fn observed(
        &self,
        forecasts: &[&GroupForecast],
        seen: &Groups,
    ) -> BTreeMap<String, Vec<Pattern>> {
        let predicted = forecasts
            .iter()
            .filter(|forecast| forecast.patterns.is_ok());
        let found = predicted.filter_map(|forecast| {
            let run = seen.get(&forecast.name)?;
            Some((forecast.name.clone(), self.merging.patterns(&run.bins)))
        });
        found.collect()
    }

    /// The observed miss ratios of the caches: fully associative ones, and with their sets.
    fn observed_caches(
        &self,
        observed: &Profile,
        curve: &MissRatioCurve,
        training: &[&Profile],
        options: &PredictOptions,
    ) -> Vec<(f64, Option<f64>)> {
        let last = training[self.training[self.training.len() - 1].0];
        let levels = levels(last, options.cache);
        let ratios = levels.iter().map(|level| {
            let model = level.sets.as_ref();
            let with_sets = model.map(|model| model.miss_ratio(&observed.histogram));
            (curve.at(level.items), with_sets)
        });
        ratios.collect()
    }

    /// The groups from the bins that the observed run has too, so that both are equally fine.
    fn forecasts_again(
        &self,
        training: &[&Profile],
        options: &PredictOptions,
        exact: bool,
    ) -> Vec<GroupForecast> {
        let scale = PredictionSizes {
            training: &self.training,
            size: self.size,
            fixed: self.fixed,
            counts: (self.program.accesses, self.program.cold),
        };
        forecasts(training, &scale, options, exact)
    }
}

/// The observed groups that no training run has, and their accesses, the most first.
fn never_seen(forecasts: &[&GroupForecast], seen: &Groups) -> Vec<(String, u64)> {
    let known: BTreeSet<&str> = forecasts.iter().map(|f| f.name.as_str()).collect();
    let unknown = seen.iter();
    let unknown = unknown.filter(|(name, run)| !run.rest && !known.contains(name.as_str()));
    let mut never: Vec<(String, u64)> = unknown
        .map(|(name, run)| (name.clone(), run.accesses))
        .collect();
    never.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    never
}
