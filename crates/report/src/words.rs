//! Facts of a profile as phrases, the same in every report: the command, the engine, the outcome,
//! names of items.

use reuselens_document::numbers::{count, noun, percent, ratio_percent};
use reuselens_profile::{Dimension, EngineStep, Method, Outcome, Profile, Sharing, signal_name};
use reuselens_units::Granularity;

use crate::caches;

/// What items are called: `64-byte lines`, and where they are too small for that, `8-byte items`.
pub(crate) fn items(granularity: Granularity) -> String {
    match granularity.bytes() {
        1 => "items".to_owned(),
        bytes @ 2..=16 => format!("{bytes}-byte items"),
        bytes @ 17..=256 => format!("{bytes}-byte lines"),
        _ => format!("blocks of {}", reuselens_units::Bytes(granularity.bytes())),
    }
}

/// What distances are of objects that were weighed.
pub(crate) fn weighed(unit: Granularity) -> String {
    let unit = reuselens_units::Bytes(unit.bytes());
    format!("objects weighed by their sizes, in units of {unit}")
}

/// What a histogram of the profile shows.
pub(crate) fn histogram(profile: &Profile) -> &'static str {
    if profile.requested_bytes.is_some() {
        "How many bytes of other objects are requested between two requests for one"
    } else {
        "How much other data is touched between two uses of the same data"
    }
}

/// The command as it would be typed.
pub(crate) fn command(profile: &Profile) -> String {
    if profile.command.is_empty() {
        "(no command)".to_owned()
    } else {
        profile.command_line()
    }
}

/// The accesses of loops that wait, which no share has; `None` without any.
pub(crate) fn waiting(profile: &Profile) -> Option<String> {
    let waiting = profile.waiting;
    let all = profile.histogram.accesses().saturating_add(waiting);
    (waiting > 0).then(|| {
        format!(
            "{} accesses of loops that wait for other threads, {} of all; left out of all other numbers",
            count(waiting),
            percent(waiting, all)
        )
    })
}

/// How the run ended.
pub(crate) fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Complete => "the trace was read to its end".to_owned(),
        Outcome::Exit(0) => "the program exited normally".to_owned(),
        Outcome::Exit(status) => format!("the program exited with status {status}"),
        Outcome::Signal(signal) => {
            let signal = signal_name(*signal);
            format!("{signal} ended the program; what was recorded until then is here")
        }
        Outcome::Incomplete(why) => {
            format!("incomplete: {why}; everything before is here")
        }
    }
}

/// The engine, and whether its numbers are exact.
pub(crate) fn engine(method: &Method) -> String {
    let worth = match (method.exact, method.error_bound) {
        // Accesses are counted one by one until there are many, and all at a rate of 1.
        (true, _) if method.engine == "sampled" => "exact: no sample had to be taken".to_owned(),
        (true, _) if method.engine == Method::BURSTS => {
            "exact: all accesses were recorded".to_owned()
        }
        (true, _) => "exact".to_owned(),
        (false, Some(_)) if method.error_bounds.is_some() => bounds(method),
        (false, Some(bound)) => format!("miss ratios within ±{}", ratio_percent(bound)),
        (false, None) => "an estimate without a bound on its error".to_owned(),
    };
    let reach = method.max_distance.map_or_else(String::new, |limit| {
        format!(" below distances of {}", noun(limit, "item", "items"))
    });
    let sharing = match method.sharing {
        Sharing::Shared => "",
        Sharing::Private => ", a cache for each thread",
        Sharing::Coherent => ", a cache for each thread, kept coherent",
    };
    let engine = or(&method.engine, "unknown");
    format!("{engine} engine, {worth}{reach}{sharing}")
}

/// How long each step of the engine took, and its share of them all; none where nobody asked.
pub(crate) fn engine_steps(method: &Method) -> Option<String> {
    let all: f64 = method.engine_steps.iter().map(|step| step.seconds).sum();
    let step = |step: &EngineStep| {
        let share = ratio_percent(step.seconds / all.max(f64::MIN_POSITIVE));
        format!("{} {:.3} s ({share})", step.step, step.seconds)
    };
    let steps: Vec<String> = method.engine_steps.iter().map(step).collect();
    (!steps.is_empty()).then(|| steps.join(", "))
}

/// The prefix of a number of distinct items: `about ` if a sample has estimated it.
pub fn about(method: &Method) -> &'static str {
    if !method.exact && method.error_bound.is_some() {
        "about "
    } else {
        ""
    }
}

/// Before a number of accesses: only bursts do not count them.
pub(crate) fn about_all(method: &Method) -> &'static str {
    if method.is_from_bursts() {
        "about "
    } else {
        ""
    }
}

/// The suffix of a number of distinct items if distances are within each thread: every thread
/// counts its own.
pub(crate) fn summed(method: &Method) -> &'static str {
    match method.sharing {
        Sharing::Shared => "",
        Sharing::Private | Sharing::Coherent => ", summed over the threads",
    }
}

/// The name of accesses without a distance: `first touch`, or, if long distances were not measured,
/// `first or ≥ 4 MiB`.
pub(crate) fn cold(profile: &Profile) -> String {
    match profile.method.max_distance {
        None => "first touch".to_owned(),
        Some(limit) => format!("first or ≥ {}", caches::size(limit, profile.granularity)),
    }
}

/// What an access is called whose item another thread's store had invalidated.
pub(crate) const INVALIDATED: &str = "invalidated";

/// What was sampled, and how far off its miss ratios may be.
fn bounds(method: &Method) -> String {
    let Some(curve) = &method.error_bounds else {
        return String::new();
    };
    // What a share is of that an engine looks at.
    let of = if method.is_from_bursts() {
        "accesses"
    } else {
        "items"
    };
    format!(
        "{} of the {of}: miss ratios within ±{} on average over the cache sizes, ±{} at the worst ({:.0} % confidence)",
        ratio_percent(curve.rate),
        ratio_percent(curve.mean()),
        ratio_percent(curve.largest()),
        100.0 * curve.confidence
    )
}

/// The name of a group on a terminal. Calling contexts are without the functions that every program
/// begins with.
pub(crate) fn group(by: Dimension, name: &str) -> &str {
    const START: [&str; 4] = [
        "_start > ",
        "__libc_start_main > ",
        "__libc_start_main_impl > ",
        "__libc_start_call_main > ",
    ];
    if by != Dimension::Context {
        return name;
    }
    let mut name = name;
    while let Some(rest) = START.iter().find_map(|start| name.strip_prefix(start)) {
        // Of all that is below one of these functions: without it, two such rows would look the
        // same.
        if rest == "(other contexts)" {
            break;
        }
        name = rest;
    }
    name
}

/// The remark below a histogram whose short distances depend on a guessed order.
pub(crate) fn order_guess(profile: &Profile) -> Option<String> {
    let items = profile.method.order_guessed_below?;
    Some(format!(
        "Between threads that did not synchronise, distances below {} are a guess.",
        caches::size(items, profile.granularity)
    ))
}

/// How the order between threads came about, and what follows from it.
pub(crate) fn order(method: &Method) -> String {
    let order = or(&method.order, "not stated");
    match method.sharing {
        Sharing::Shared => {
            format!("{order}; all threads share one cache (--sharing private: each has its own)")
        }
        Sharing::Private => order.to_owned(),
        Sharing::Coherent => {
            format!("{order}; each thread has a cache, which the stores of others invalidate")
        }
    }
}

/// Which accesses count: `loads and stores, all data`.
pub(crate) fn filter(method: &Method) -> String {
    let kinds = match method.kinds.as_str() {
        "" | "all" => "loads and stores",
        "loads" => "loads only",
        "stores" => "stores only",
        other => other,
    };
    match method.data.as_str() {
        "" | "all" => format!("{kinds}, all data"),
        data => format!("{kinds}, {data} data only"),
    }
}

/// What accesses are made by: `loads and stores`, or the kind of them that counts.
pub(crate) fn kinds(method: &Method) -> &'static str {
    match method.kinds.as_str() {
        "loads" => "loads",
        "stores" => "stores",
        _ => "loads and stores",
    }
}

/// `text`, or what to say if there is none.
pub(crate) fn or<'a>(text: &'a str, none: &'a str) -> &'a str {
    if text.is_empty() { none } else { text }
}

/// The first line of the report of a trace that was cut off or damaged.
pub const TRUNCATED: &str = "NOT COMPLETE: the trace is cut off or damaged";

/// The text of a report without accesses.
pub(crate) const NOTHING: &str = "No access was recorded, so there is nothing to measure.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_contexts_below_two_functions_are_two_names() {
        let name = |path: &'static str| group(Dimension::Context, path);
        let start = "__libc_start_main_impl > __libc_start_call_main";
        assert_eq!(name("__libc_start_main_impl > main > f"), "main > f");
        let one = "__libc_start_main_impl > (other contexts)";
        assert_eq!(name(one), one);
        let other = format!("{start} > (other contexts)");
        assert_eq!(
            group(Dimension::Context, &other),
            "__libc_start_call_main > (other contexts)"
        );
    }
}
