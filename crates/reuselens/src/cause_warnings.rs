//! What is not known of why accesses miss.

use reuselens_profile::{Causes, ObjectKind, Profile, UnlistedPairs, Warning};
use reuselens_units::grouped;

use crate::counts;

/// Warnings of what is not known of the causes of a profile. `is_sampled`: a sample was asked for.
/// `lacks_elements`: there was no room for the bytes of some elements.
pub(crate) fn all(
    profile: &Profile,
    causes: &Causes,
    is_sampled: bool,
    lacks_elements: bool,
) -> Vec<Warning> {
    if profile.references == 0 {
        return Vec::new();
    }
    let scopes = if causes.has_loops {
        None
    } else if is_sampled {
        Some(counts::sampled_causes_warning(causes))
    } else {
        Some(no_blocks(profile.is_of_parts()))
    };
    let unlisted = causes.unlisted_pairs.map(pairs_left_out);
    let elements = lacks_elements.then(elements_left_out);
    let warnings = [scopes, in_part(profile, causes), unlisted, elements];
    warnings.into_iter().flatten().collect()
}

/// Why there are no carried reuses; `is_of_parts`: options left out parts of the run.
fn no_blocks(is_of_parts: bool) -> Warning {
    let (why, hint) = if is_of_parts {
        (
            "parts of the run were left out, and basic blocks are seen only of a run from its start",
            "leave out --function, --region, --regions, --after and --burst; --for and --max-accesses \
             go with basic blocks",
        )
    } else {
        (
            "no basic blocks were seen",
            "measure the program as it is (--capture rewriting), or build it with reuselens cc \
             --llvm=blocks; record a trace with --basic-blocks",
        )
    };
    Warning {
        code: "no-basic-blocks".to_owned(),
        message: format!("which loop or function carries a reuse is not known: {why}"),
        hint: hint.to_owned(),
    }
}

/// What the trace does not have, as those of other tools.
fn in_part(profile: &Profile, causes: &Causes) -> Option<Warning> {
    let mut cells = profile.cells.iter();
    let knows_sites = cells.clone().any(|cell| cell.site != 0);
    let knows_data = cells.any(|cell| {
        let object = profile.objects.get(cell.object as usize);
        object.is_some_and(|object| object.kind != ObjectKind::Unknown)
    });
    if knows_sites && knows_data {
        return None;
    }
    let is_of_one_thread = profile.threads.len() < 2;
    let unknown = [
        (!knows_sites, "which instructions miss"),
        (
            !knows_data,
            "which data they miss, and which of its fields are used",
        ),
        (
            is_of_one_thread && causes.sample_rate.is_none(),
            "whether threads share lines, as all accesses are of one",
        ),
    ];
    let unknown: Vec<&str> = (unknown.iter())
        .filter(|(is_unknown, _)| *is_unknown)
        .map(|(_, what)| *what)
        .collect();
    Some(Warning {
        code: "causes-in-part".to_owned(),
        message: format!(
            "the trace does not have all that explains misses; not known: {}",
            unknown.join("; ")
        ),
        hint: "measure the program itself: reuselens profile --why -- PROGRAM".to_owned(),
    })
}

/// There are more pairs of accesses that share lines than are counted by themselves.
fn pairs_left_out(unlisted: UnlistedPairs) -> Warning {
    Warning {
        code: "sharing-pairs-left-out".to_owned(),
        message: format!(
            "threads share lines by more pairs of accesses than are counted: {} invalidations are of \
             the rarer ones, which are not listed; a pair, listed or not, lacks {} of its \
             invalidations at most",
            grouped(unlisted.invalidations),
            grouped(unlisted.most_of_a_pair)
        ),
        hint: String::new(),
    }
}

/// Some objects have no counts by byte of an element.
fn elements_left_out() -> Warning {
    Warning {
        code: "elements-left-out".to_owned(),
        message: "the program has too many objects with elements: of those that it accessed last, \
                  it is not known which fields are used"
            .to_owned(),
        hint: String::new(),
    }
}
