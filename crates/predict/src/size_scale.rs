//! [`SizeScale`]: the sizes of the runs of a prediction, and the part of each that grows.

use reuselens_profile::Profile;

use crate::fixed::fixed_data;
use crate::prediction::{MOST_ITEMS, PredictOptions};
use crate::program::{ProgramError, sizes};

/// Data that do not grow are left out of the sizes up to this share of the smallest training run.
/// They are known to a twentieth (see [`fixed_data`]), so if they are two thirds, the rest is known
/// to a tenth: less than half of the difference between one way of growing and the next if the data
/// grow fourfold. A smaller run of which more is fixed would keep the start in the sizes of all, so
/// it is left out if two others are left.
const MOST_FIXED: f64 = 2.0 / 3.0;

/// The sizes of the training runs.
pub(crate) struct SizeScale {
    /// Runs by size: index as given, size.
    pub training: Vec<(usize, f64)>,
    /// The part of each size that does not grow, and that is left out: `found`, or 0 if that is too
    /// much.
    pub fixed: f64,
    /// The part of each size that does not grow; 0 where sizes were given.
    pub found: f64,
    /// Smaller runs that are left out, as they are hardly more than what does not grow.
    pub left_out: Vec<(usize, f64)>,
}

/// The profiles of training runs.
pub(crate) fn profiles_of<'a>(runs: &[&'a Profile], training: &[(usize, f64)]) -> Vec<&'a Profile> {
    training.iter().map(|(run, _)| runs[*run]).collect()
}

impl SizeScale {
    /// The sizes of the runs, to predict for data of size `size`.
    ///
    /// # Errors
    /// If two runs are of equal size, one has no reuses, or no data have that size.
    pub fn new(
        runs: &[&Profile],
        size: f64,
        options: &PredictOptions,
    ) -> Result<SizeScale, ProgramError> {
        let mut training = sizes(runs, &options.sizes)?;
        check_size(size)?;
        let measured = options.fixed && options.sizes.is_empty();
        // Without so many of the smallest runs: what is fixed, and whether it is little enough.
        let without = |count: usize| {
            let used = &training[count..];
            let found = if measured {
                fixed_data(&profiles_of(runs, used))
            } else {
                0.0
            };
            (count, found, found <= used[0].1 * MOST_FIXED)
        };
        let all = without(0);
        // As few are left out as possible, and none if that does not help.
        let fewer = || (1..training.len() - 1).map(without).find(|it| it.2);
        let (count, found, is_little) = if all.2 { all } else { fewer().unwrap_or(all) };
        let left_out = training.drain(..count).collect();
        let fixed = if is_little { found } else { 0.0 };
        Ok(SizeScale {
            training,
            fixed,
            found,
            left_out,
        })
    }

    /// The part of a size that grows.
    pub fn grown(&self, size: f64) -> f64 {
        grown(size, self.fixed)
    }
}

/// What is more than the fixed part of a size.
pub(crate) fn grown(size: f64, fixed: f64) -> f64 {
    (size - fixed).max(1.0)
}

/// Refuses sizes that no data have.
fn check_size(size: f64) -> Result<(), ProgramError> {
    if !(1.0..=MOST_ITEMS).contains(&size) {
        let text = if size < 1.0 {
            "a size of less than one item is nothing to predict; give a larger one: --size 64M"
                .to_owned()
        } else {
            format!(
                "a size of {size:.0} items is beyond what any machine holds; give a smaller one: --size 64G"
            )
        };
        return Err(ProgramError::BadSize { text });
    }
    Ok(())
}
