//! Profiles as text, HTML, JSON, CSV and Parquet.
//!
//! Every function here turns a [`Profile`](reuselens_profile::Profile) (or several) into a string
//! or bytes. Nothing is read or written, nothing is fetched, and equal profiles give equal bytes.
//!
//! - [`summary`]: one screen for a terminal; [`diff`]: two profiles on a terminal.
//! - [`check_text`], [`check_markdown`], [`check_json`], [`check_junit`]: limits, and which of them
//!   are broken; [`diff_json`], [`diff_markdown`]: two profiles.
//! - [`page`]: one profile as one offline HTML file; [`compare`]: several.
//! - [`advice_text`], [`advice_json`], [`advice_markdown`], [`advice_sarif`], [`advice_gitlab`]:
//!   what to change; [`explain_text`]: what a rule means.
//! - [`forecast`], [`forecast_page`], [`forecast_json`]: what is predicted of another input.
//! - [`curve_svg`], [`curve_png`], [`curve_csv`]: the miss-ratio curve by itself.
//! - [`json`], [`groups_csv`], [`histogram_csv`], [`groups_parquet`]: the numbers, for other
//!   programs; [`Viewer`]: the files of programs that show profiles.
//!
//! For: showing results. Not for: computing them; every number here comes from the `locality`,
//! `profile`, `advisor` and `predict` crates.

mod advice;
mod caches;
mod causes;
mod check;
mod comparable;
mod conflicts;
mod csv;
mod curve;
mod diff_json;
mod diff_markdown;
mod diff_text;
mod finding_changes;
mod forecast;
mod gpu;
mod histogram_error;
mod html;
mod json;
mod kernels;
mod multiples;
mod parquet;
mod path_shares;
mod placement;
mod shown_profile;
mod text;
mod times;
mod viewers;
mod weights;
mod words;

pub use advice::{
    ADVICE_SCHEMA, AdviceReport, AdviceTextOptions, advice_gitlab, advice_json, advice_markdown,
    advice_sarif, advice_text, explain_text, rules_text,
};
pub use check::{
    CHECK_SCHEMA, Checked, CheckedLimit, check_json, check_junit, check_markdown, check_text,
};
pub use csv::{groups_csv, histogram_csv};
pub use curve::{curve_csv, curve_png, curve_svg};
pub use diff_json::{DIFF_SCHEMA, diff_json};
pub use diff_markdown::diff_markdown;
pub use diff_text::{DiffOptions, diff};
pub use forecast::{FORECAST_SCHEMA, Forecast, forecast, forecast_json, forecast_page};
pub use gpu::{
    GPU_SCHEMA, GpuFindings, GpuPageOptions, GpuRun, GpuTextOptions, HostAccesses, HostCall,
    HostSum, RunOrigin, StoppedKernel, StoredGpuRun, StoredGpuRunError, SummedRun, UnlikeOrigins,
    UnrecordedAccesses, UnseenLaunches, configuration_text, gpu_csv, gpu_diff, gpu_json, gpu_page,
    gpu_text, mix_text,
};
pub use html::{CompareOptions, HtmlOptions, ProfileVariant, compare, page, page_of};
pub use json::{Bins, JsonOptions, SCHEMA, json, json_of};
pub use kernels::{KernelRow, kernels_text};
pub use parquet::{ParquetExportError, groups_parquet};
pub use placement::{
    PLACEMENT_SCHEMA, PlacementPrediction, PlacementReport, placed_run_text, placed_run_warnings,
    placement_json, placement_page, placement_text,
};
pub use shown_profile::ShownProfile;
pub use text::{TextOptions, summary, summary_of};
pub use viewers::Viewer;
pub use words::{TRUNCATED, about};

/// The program that made a page, as the page says it.
const MAKER: &str = "reuselens";
