//! What is less than it seems of paths.

use reuselens_locality::PathShares;
use reuselens_profile::{PathProfile, Warning};

/// What is less than it seems of paths.
pub(crate) fn warnings(paths: &PathProfile) -> Option<Warning> {
    let (message, hint) = if paths.blocks == 0 {
        ("paths were asked for, but there are no basic blocks in what was read: all paths are empty".to_owned(),
         "record with --basic-blocks, or profile the program without its run time: --capture rewriting")
    } else if let Some(folded) = folded_paths(paths) {
        (
            format!("there were too many paths for --most-paths or the memory limit: {folded}"),
            "allow more pairs (--most-paths 8M) and the memory for them, 200 to 400 bytes each (--memory-limit); or profile a smaller part, or one kind of data: --data heap",
        )
    } else {
        return None;
    };
    Some(Warning {
        code: "paths".to_owned(),
        message,
        hint: hint.to_owned(),
    })
}

/// How many accesses are on paths that are counted by themselves, by the number of outcomes, where
/// that is not all; rounded down.
fn folded_paths(paths: &PathProfile) -> Option<String> {
    if paths.length == 0 {
        return Some("no paths are counted by themselves".to_owned());
    }
    let all = paths.shares.first().map_or(0, |shares| shares.accesses);
    let some = |shares: &&PathShares| shares.accesses < all;
    let told: Vec<String> = paths
        .shares
        .iter()
        .rev()
        .filter(some)
        .map(|shares| {
            let share = (shares.accesses as f64 / all as f64 * 1000.0).floor() / 10.0;
            format!("{share} % by {}", shares.length)
        })
        .collect();
    let (first, others) = told.split_first()?;
    let others = match others {
        [] => String::new(),
        others => format!(" ({})", others.join(", ")),
    };
    Some(format!(
        "of the accesses {first} outcomes{others}, the other paths are rarer and counted by fewer"
    ))
}
