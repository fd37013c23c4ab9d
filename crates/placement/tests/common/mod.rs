//! Profiles that are written by hand.

use reuselens_locality::{
    Context, ExactHistogram, Machine, Method, Object, Outcome, Profile, ProfiledThread, Site,
};
use reuselens_units::Granularity;

/// A profile of a run with as many threads, of one site, an unknown object and the root of the
/// calling contexts, that accessed nothing.
pub fn empty_profile(threads: usize) -> Profile {
    Profile {
        version: String::new(),
        command: vec!["program".into()],
        machine: Machine::default(),
        method: Method::default(),
        outcome: Outcome::Exit(0),
        granularity: Granularity::LINE_64,
        references: 0,
        histogram: ExactHistogram::new(),
        invalidated: 0,
        requested_bytes: None,
        reuse_times: None,
        paths: None,
        builds: Default::default(),
        sites: vec![Site::default()],
        objects: vec![Object::default()],
        contexts: vec![Context::default()],
        threads: vec![ProfiledThread::default(); threads],
        cells: Vec::new(),
        warnings: Vec::new(),
    }
}
