//! Profiles that are written by hand.

use reuselens_profile::{Outcome, Profile, ProfiledThread};
use reuselens_units::Granularity;

/// A profile of a run with as many threads, of one site, an unknown object and the root of the
/// calling contexts, that accessed nothing.
pub fn empty_profile(threads: usize) -> Profile {
    Profile {
        command: vec!["program".into()],
        outcome: Outcome::Exit(0),
        threads: vec![ProfiledThread::default(); threads],
        ..Profile::empty(Granularity::LINE_64)
    }
}
