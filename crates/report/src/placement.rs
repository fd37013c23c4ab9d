//! Plans of which objects belong in the fast memory, as text and as JSON: wording that both share.

mod json;
mod objects;
mod page;
mod phases;
mod prediction;
mod run;
mod text;

use reuselens_placement::{Placed, PlacementPlan, Reason};
use reuselens_profile::{Frame, Profile};

pub use json::{PLACEMENT_SCHEMA, placement_json};
pub use page::placement_page;
pub use prediction::PlacementPrediction;
pub use run::{placed_run_text, placed_run_warnings};
pub use text::placement_text;

/// A plan, and what it is shown with.
#[derive(Clone, Copy, Debug)]
pub struct PlacementReport<'a> {
    /// The name of the profile.
    pub name: &'a str,
    /// The profile that the plan is for.
    pub profile: &'a Profile,
    /// The plan.
    pub plan: &'a PlacementPlan,
    /// How the profile was predicted, if it is of an input that was not run.
    pub prediction: Option<&'a PlacementPrediction<'a>>,
}

/// The tier that an object belongs in, and the core that the tier is at.
fn tier(plan: &PlacementPlan, placed: &Placed) -> String {
    let name = &plan.machine.tiers[placed.tier].name;
    match placed.core_of {
        Some(thread) => format!("{name} of thread {thread}"),
        None => name.clone(),
    }
}

/// Why an object is in the slow memory, in a word or two; nothing for one that is not.
fn reason(placed: &Placed) -> &'static str {
    match placed.reason {
        Reason::Placed => "",
        Reason::Cached => "cached",
        Reason::TooLarge => "too large",
        Reason::NoRoom => "no room",
        Reason::NoGain => "no gain",
    }
}

/// The calls that allocated an object, innermost first: `main (main.c:157)`.
fn calls(path: &[Frame]) -> impl Iterator<Item = String> + '_ {
    path.iter().map(|frame| {
        let function = match frame.function.as_str() {
            "" => "?",
            function => function,
        };
        match (frame.file.as_str(), frame.line) {
            ("", _) => function.to_owned(),
            (file, 0) => format!("{function} ({file})"),
            (file, line) => format!("{function} ({file}:{line})"),
        }
    })
}
