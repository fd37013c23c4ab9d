//! The size of an input to predict, as options name it.

use std::path::PathBuf;

use anyhow::Context as _;
use reuselens::profile::Profile;
use reuselens::units::Bytes;
use reuselens_predict::data_size;

use crate::exit::Usage;
use crate::files::read_profile;

/// Options that name the size of the input to predict, and the sizes of the training inputs.
#[derive(clap::Args, Debug)]
pub struct WantedSize {
    /// Predict for data of this size: bytes (64M, 2GiB), or a number of ids if the profiles are of
    /// ids
    #[arg(long, value_name = "SIZE", conflicts_with = "like")]
    pub size: Option<String>,

    /// Predict for data of the size that this run has
    #[arg(long, value_name = "PROFILE")]
    pub like: Option<PathBuf>,

    /// Compare with this run; without --size and --like, that is the run to predict
    #[arg(long, value_name = "PROFILE")]
    pub check: Option<PathBuf>,

    /// Sizes of the training inputs, one for each, where their data do not show them (the size of a
    /// file that streams through); --size is then in the same unit
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub sizes: Vec<f64>,
}

impl WantedSize {
    /// Whether an option names a size.
    pub fn is_given(&self) -> bool {
        self.size.is_some() || self.like.is_some() || self.check.is_some()
    }

    /// The size to predict for, in items, or in the unit of `--sizes`. `observed` is the run of
    /// `--check`.
    ///
    /// # Errors
    /// If the options name no size that data can have.
    pub fn of(&self, runs: &[&Profile], observed: Option<&Profile>) -> anyhow::Result<f64> {
        if let Some(text) = &self.size {
            if !self.sizes.is_empty() {
                return text
                    .parse()
                    .map_err(|_| bad_size(text, "a number, in the unit of --sizes"));
            }
            if runs[0].method.ids {
                return text.parse().map_err(|_| {
                    bad_size(
                        text,
                        "a number of ids: those of these profiles have no size",
                    )
                });
            }
            let bytes: Bytes = text
                .parse()
                .map_err(|_| bad_size(text, "a size in bytes, for instance 64M"))?;
            let items = bytes.items(runs[0].granularity).get();
            if items == 0 {
                let line = runs[0].granularity.bytes();
                let what = format!(
                    "as much as one item of {line} bytes: --size is in bytes, for instance 64M"
                );
                return Err(bad_size(text, &what));
            }
            return Ok(items as f64);
        }
        if !self.sizes.is_empty() {
            let text = "--sizes says how large the training inputs are, so --size must say what to predict, in the same unit";
            return Err(Usage(text.to_owned()).into());
        }
        let like = self.like.as_deref().map(read_profile).transpose()?;
        let run = like
            .as_ref()
            .or(observed)
            .context("there is no size to predict for; say --size")?;
        if run.granularity != runs[0].granularity {
            anyhow::bail!(
                "the run to be like counts items of {} bytes and the training runs of {}; profile again with the same --granularity",
                run.granularity.bytes(),
                runs[0].granularity.bytes()
            );
        }
        let size = data_size(&run.histogram)
            .context("the run to be like has no reuses, so no size; say --size")?;
        Ok(size as f64)
    }
}

fn bad_size(text: &str, what: &str) -> anyhow::Error {
    Usage(format!("--size {text} is not {what}")).into()
}
