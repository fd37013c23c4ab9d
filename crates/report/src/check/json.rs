//! [`check_json`]: checked limits as JSON, schema `reuselens-check/1`.

use reuselens_profile::{Certainty, Measured};
use serde::Serialize;

use super::{Checked, CheckedLimit};
use crate::json::to_text;

/// The name and version of the schema. Fields may be added to it; none is renamed.
pub const CHECK_SCHEMA: &str = "reuselens-check/1";

#[derive(Serialize)]
struct CheckDocument<'a> {
    schema: &'static str,
    version: &'static str,
    profile: &'a str,
    command: &'a [String],
    base: Option<&'a str>,
    base_command: Option<&'a [String]>,
    granularity_bytes: u64,
    broken: usize,
    unsure: usize,
    unchecked: usize,
    limits: Vec<LimitJson<'a>>,
    warnings: Vec<String>,
}

/// A limit and what was found; numbers are null where nothing could be.
#[derive(Serialize)]
pub(crate) struct LimitJson<'a> {
    fail_if: &'a str,
    result: &'static str,
    metric: &'static str,
    /// Null for all accesses.
    by: Option<&'static str>,
    /// The complete name that was found, or the one that was not.
    name: Option<&'a str>,
    cache: Option<CacheSizeJson>,
    now: Option<NumberJson>,
    base: Option<NumberJson>,
    bound: Option<f64>,
    note: &'a str,
    /// Why it is not `ok`; null where it is.
    message: Option<String>,
}

#[derive(Serialize)]
struct CacheSizeJson {
    bytes: u64,
    items: u64,
    /// 0 = fully associative.
    ways: u32,
}

#[derive(Serialize)]
struct NumberJson {
    value: f64,
    exact: bool,
    /// How far it may be off, where that is known.
    error_bound: Option<f64>,
}

impl From<Measured> for NumberJson {
    fn from(measured: Measured) -> Self {
        NumberJson {
            value: measured.value,
            exact: measured.certainty == Certainty::Exact,
            error_bound: match measured.certainty {
                Certainty::Within(width) => Some(width),
                _ => None,
            },
        }
    }
}

/// The limits as JSON: one to a line. Ends with a line break. Miss ratios are shares of 1.
pub fn check_json(checked: &Checked<'_>) -> String {
    let (name, profile) = checked.profile;
    to_text(&CheckDocument {
        schema: CHECK_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        profile: name,
        command: &profile.command,
        base: checked.base.map(|(name, _)| name),
        base_command: checked.base.map(|(_, base)| base.command.as_slice()),
        granularity_bytes: profile.granularity.bytes(),
        broken: checked.broken(),
        unsure: checked.unsure(),
        unchecked: checked.unchecked(),
        limits: limits(checked),
        warnings: checked.warnings(),
    })
}

/// Each limit.
pub(crate) fn limits<'a>(checked: &'a Checked<'_>) -> Vec<LimitJson<'a>> {
    let limits = checked.limits.iter();
    limits.map(|limit| limit_json(checked, limit)).collect()
}

fn limit_json<'a>(checked: &Checked<'_>, limit: &'a CheckedLimit) -> LimitJson<'a> {
    let rule = &limit.limit;
    let verdict = limit.verdict.as_ref().ok();
    let name = verdict.and_then(|verdict| verdict.name.as_deref());
    let cache = verdict.and_then(|verdict| verdict.cache.zip(verdict.items));
    LimitJson {
        fail_if: &rule.text,
        result: limit.result(),
        metric: rule.metric.name(),
        by: rule.of.as_ref().map(|(by, _)| by.name()),
        name: name.or(rule.of.as_ref().map(|(_, name)| name.as_str())),
        cache: cache.map(|(cache, items)| CacheSizeJson {
            bytes: cache.bytes.get(),
            items,
            ways: cache.ways,
        }),
        now: verdict.map(|verdict| verdict.now.into()),
        base: verdict.and_then(|verdict| verdict.base).map(Into::into),
        bound: verdict.map(|verdict| verdict.bound),
        note: &limit.note,
        message: checked.message(limit),
    }
}
