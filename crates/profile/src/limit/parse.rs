//! Reads limits as people write them, with errors that give the place and what to write.

use std::str::FromStr;

use thiserror::Error;

use super::{Bound, Limit, Metric, Side};
use crate::{CacheSpec, Dimension};

/// The dimensions whose groups a limit can be about.
const OF: [Dimension; 3] = [Dimension::Line, Dimension::Object, Dimension::Function];

/// A rule that cannot be read: where, why, and what to write.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{text}', character {}: {what}", .at + 1)]
pub struct LimitError {
    /// The rule.
    pub text: String,
    /// How many of its characters were understood.
    pub at: usize,
    /// What is wrong there, and what to write.
    pub what: String,
}

/// A fault at a byte of the rule.
struct Fault {
    byte: usize,
    what: String,
}

type Parsed<T> = Result<T, Fault>;

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        parse(text).map_err(|fault| LimitError {
            text: text.to_owned(),
            at: text[..fault.byte].chars().count(),
            what: fault.what,
        })
    }
}

fn parse(text: &str) -> Parsed<Limit> {
    // Names of functions have such signs too (`vector<int>`), bounds have none: the last one
    // counts.
    let Some(sign) = text.rfind(['>', '<']) else {
        return fault(
            text.trim_end().len(),
            "expected > or < and a bound, for instance \"misses@256K > +5 %\"",
        );
    };
    let (number, of) = match text[..sign].find(" of ") {
        Some(at) => (0..at, Some(at + " of ".len()..sign)),
        None => (0..sign, None),
    };
    let (metric, cache) = number_of(text, number)?;
    let of = of.map(|range| group(text, range)).transpose()?;
    if metric == Metric::Distinct && of.is_some() {
        return fault(
            indent(text),
            "distinct items are those of all accesses; of a line, an object or a function use cold, its first accesses to an item",
        );
    }
    let side = match text.as_bytes()[sign] {
        b'>' => Side::Above,
        _ => Side::Below,
    };
    let bound = bound(text, sign + 1, metric)?;
    if let (Metric::MissRatio, Bound::Value(value)) = (metric, bound)
        && value > 1.0
    {
        return fault(
            sign + 1,
            "a miss ratio is at most 1, which is 100 %; write for instance 2 % or 0.02",
        );
    }
    Ok(Limit {
        text: text.trim().to_owned(),
        metric,
        cache,
        of,
        side,
        bound,
    })
}

/// `METRIC[@SIZE]`.
fn number_of(text: &str, range: std::ops::Range<usize>) -> Parsed<(Metric, Option<CacheSpec>)> {
    let part = &text[range.clone()];
    let begin = range.start + indent(part);
    let (word, size) = match part.split_once('@') {
        Some((word, size)) => (word.trim(), Some(size)),
        None => (part.trim(), None),
    };
    let metric = Metric::ALL.into_iter().find(|metric| metric.name() == word);
    let Some(metric) = metric else {
        let names = Metric::ALL.map(Metric::name).join(", ");
        return fault(
            begin,
            &format!("'{word}' is not a number to limit; use one of {names}"),
        );
    };
    match (size, metric.is_of_cache()) {
        (None, false) => Ok((metric, None)),
        (None, true) => fault(
            begin + word.len(),
            &format!(
                "{metric} is of a cache: write its size or its name, for instance {metric}@256K or {metric}@L1d"
            ),
        ),
        (Some(_), false) => fault(
            begin + word.len(),
            &format!("{metric} does not depend on a cache; leave out what follows the @"),
        ),
        (Some(size), true) => {
            let at = range.end - size.len() + indent(size);
            cache(size.trim(), at).map(|cache| (metric, Some(cache)))
        }
    }
}

fn cache(size: &str, at: usize) -> Parsed<CacheSpec> {
    let spec = size
        .parse()
        .or_else(|error| fault(at, &format!("{error}")))?;
    match &spec {
        // Whether a machine has such a cache is known only with a profile.
        CacheSpec::Named(name) if name.is_empty() || !name.chars().all(char::is_alphanumeric) => {
            fault(
                at,
                &format!(
                    "'{name}' is neither a size (256K, 2MiB, 48K:12) nor the name of a cache (L1d)"
                ),
            )
        }
        _ => Ok(spec),
    }
}

/// `line|object|function NAME`.
fn group(text: &str, range: std::ops::Range<usize>) -> Parsed<(Dimension, String)> {
    let part = &text[range.clone()];
    let begin = range.start + indent(part);
    let part = part.trim();
    let (word, name) = part.split_once(' ').unwrap_or((part, ""));
    let Some(by) = OF.into_iter().find(|by| by.name() == word) else {
        return fault(
            begin,
            &format!(
                "'{word}' is not what a limit can be of; use line, object or function, for instance \"misses@256K of line a.c:12 > 10\""
            ),
        );
    };
    match name.trim() {
        "" => fault(
            begin + word.len(),
            &format!("expected the name of the {word}, as `reuselens report --by {word}` shows it"),
        ),
        name => Ok((by, name.to_owned())),
    }
}

/// `NUMBER`, `PERCENT %` of a miss ratio, or `±PERCENT %`.
fn bound(text: &str, from: usize, metric: Metric) -> Parsed<Bound> {
    let part = &text[from..];
    let begin = from + indent(part);
    let part = part.trim();
    let (sign, rest) = match part.chars().next() {
        Some('+') => (Some(""), &part[1..]),
        Some(minus @ ('-' | '\u{2212}')) => (Some("-"), &part[minus.len_utf8()..]),
        _ => (None, part),
    };
    let rest = rest.trim_start();
    let (digits, percent) = match rest.strip_suffix('%') {
        Some(digits) => (digits.trim_end(), true),
        None => (rest, false),
    };
    let expected = "expected a number (10, 2M), a change against the base (+5 %, -10 %), or a miss ratio (2 %)";
    match (sign, percent) {
        (Some(sign), true) => match decimal(&format!("{sign}{digits}"), 0) {
            Some(change) if change >= -100.0 => Ok(Bound::Change(change)),
            Some(_) => fault(begin, "nothing can fall by more than 100 %"),
            None => fault(begin, expected),
        },
        (Some(_), false) => fault(
            begin,
            "a sign is for a change against the base, in percent: write for instance +5 %, or the number without its sign",
        ),
        (None, true) if metric == Metric::MissRatio => decimal(digits, -2)
            .map_or_else(|| fault(begin, expected), |value| Ok(Bound::Value(value))),
        (None, true) => fault(
            begin,
            &format!(
                "a percentage without a sign is a miss ratio, and {metric} is none; write +{digits} % for a change against the base"
            ),
        ),
        (None, false) => {
            number(digits).map_or_else(|| fault(begin, expected), |value| Ok(Bound::Value(value)))
        }
    }
}

/// A number, with `k`, `M` or `G` for a thousand, a million, a billion.
fn number(text: &str) -> Option<f64> {
    const UNITS: [(char, i32); 6] = [('k', 3), ('K', 3), ('M', 6), ('m', 6), ('G', 9), ('g', 9)];
    let unit = UNITS
        .iter()
        .find_map(|(unit, power)| Some((text.strip_suffix(*unit)?, *power)));
    let (digits, power) = unit.unwrap_or((text, 0));
    decimal(digits.trim_end(), power)
}

/// Digits, at most one point and `_` between them, times a power of ten: the nearest number, so
/// that `2 %` is what 2 misses in 100 accesses are.
fn decimal(text: &str, power: i32) -> Option<f64> {
    let digits = text.replace('_', "");
    let bare = digits.strip_prefix('-').unwrap_or(&digits);
    let plain = bare
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = format!("{digits}e{power}").parse().ok().filter(|_| plain)?;
    value.is_finite().then_some(value)
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

fn fault<T>(byte: usize, what: &str) -> Parsed<T> {
    Err(Fault {
        byte,
        what: what.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CacheSize;
    use reuselens_units::Bytes;

    fn limit(text: &str) -> Limit {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    fn sized(bytes: u64, ways: u32) -> Option<CacheSpec> {
        let bytes = Bytes(bytes);
        Some(CacheSpec::Sized(CacheSize { bytes, ways }))
    }

    #[test]
    fn contract_rules_are_parsed() {
        let rule = limit("misses@L1d > +5 %");
        assert_eq!((rule.metric, rule.side), (Metric::Misses, Side::Above));
        assert_eq!(rule.cache, Some(CacheSpec::Named("L1d".into())));
        assert_eq!((rule.of.clone(), rule.bound), (None, Bound::Change(5.0)));
        assert!(rule.needs_base());
        let rule = limit("misses@64 > 10");
        assert_eq!(
            (rule.cache.clone(), rule.bound),
            (sized(64, 0), Bound::Value(10.0))
        );
        assert!(!rule.needs_base());
        let rule = limit("miss-ratio@256K of object grid > 2 %");
        assert_eq!(rule.cache, sized(256 << 10, 0));
        assert_eq!(rule.of, Some((Dimension::Object, "grid".into())));
        assert_eq!(rule.bound, Bound::Value(0.02));
    }

    #[test]
    fn bounds_with_units_signs_and_points_are_parsed() {
        let bounds = [
            ("accesses>2.5M", Bound::Value(2_500_000.0)),
            ("cold < 1_000k", Bound::Value(1_000_000.0)),
            ("distinct > 0", Bound::Value(0.0)),
            ("mean-distance < 1.5", Bound::Value(1.5)),
            ("accesses < -12.5%", Bound::Change(-12.5)),
            ("accesses < \u{2212}12.5 %", Bound::Change(-12.5)),
            ("miss-ratio@48K:12 > 0.1 %", Bound::Value(0.001)),
            ("miss-ratio@48K > 0.25", Bound::Value(0.25)),
        ];
        for (text, bound) in bounds {
            assert_eq!(limit(text).bound, bound, "{text}");
        }
        assert_eq!(limit("misses@48K:12 > 1").cache, sized(48 << 10, 12));
        assert_eq!(limit(" misses@1.5 MiB  >  1 ").cache, sized(3 << 19, 0));
    }

    #[test]
    fn group_names_with_signs_and_spaces_are_parsed() {
        let of = |text: &str| limit(text).of.unwrap();
        assert_eq!(
            of("misses@64 of function std::vector<int>::at(int) > 5"),
            (Dimension::Function, "std::vector<int>::at(int)".into())
        );
        assert_eq!(
            of("misses@64 of object heap from read_all of (io.c:12) < 5"),
            (Dimension::Object, "heap from read_all of (io.c:12)".into())
        );
        assert_eq!(of("cold of line a.c:3 > 5").1, "a.c:3");
    }

    #[test]
    fn limit_errors_name_their_place() {
        let faults = [
            ("", 0, "expected > or <"),
            ("misses@L1d", 10, "expected > or <"),
            ("mises@L1d > 5", 0, "'mises' is not a number"),
            ("  mises@L1d > 5", 2, "use one of misses, miss-ratio"),
            ("misses > 5", 6, "misses@256K"),
            ("accesses@L1 > 5", 8, "does not depend"),
            ("misses@ > 5", 8, "neither a size"),
            ("misses@48K:0 > 5", 7, "48K:12"),
            ("misses@3 Q > 5", 7, "neither a size"),
            ("misses@64 of thread 1 > 5", 13, "line, object or function"),
            ("distinct of line a.c:1 > 5", 0, "cold"),
            ("misses@64 of line > 5", 17, "name of the line"),
            ("misses@64 > > 5", 7, "neither a size"),
            ("misses@64 >= 5", 11, "expected a number"),
            ("misses@64 >", 11, "expected a number"),
            ("misses@64 > many", 12, "expected a number"),
            ("misses@64 > +5", 12, "in percent"),
            ("misses@64 > 5 %", 12, "write +5 %"),
            ("misses@64 < -101 %", 12, "100 %"),
            ("misses@64 > 1.2.3", 12, "expected a number"),
            ("misses@64 > 1e3", 12, "expected a number"),
            ("misses@64 > inf", 12, "expected a number"),
            ("misses@64 of line \u{e4}.c:1 > x", 26, "expected a number"),
        ];
        for (text, at, what) in faults {
            let error = text.parse::<Limit>().unwrap_err();
            assert_eq!(error.at, at, "{error}");
            assert!(error.what.contains(what), "{error}");
        }
        let error = "misses@64 > many".parse::<Limit>().unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("'misses@64 > many', character 13: ")
        );
    }
}
