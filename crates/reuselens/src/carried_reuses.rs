//! Puts what carries reuses into a profile.

use std::collections::BTreeMap;

use reuselens_causes::{CarriedCounts, CarriedPair, CellPlace};
use reuselens_profile::{CarriedReuse, Carrier, Causes, MissScope};

/// Puts the reuses into `causes`, with the names of their scopes. Equal scopes, as of several
/// processes, become one. Without basic blocks scopes are not known, and there are no reuses.
pub(crate) fn add(
    causes: &mut Causes,
    carried: &CarriedCounts,
    named: Vec<MissScope>,
    places: &[CellPlace],
) {
    causes.has_loops = carried.blocks > 0;
    if !causes.has_loops {
        return;
    }
    let mut numbers = BTreeMap::new();
    let mut number = |scope: MissScope| {
        let next = causes.scopes.len() as u32;
        *numbers.entry(scope).or_insert_with_key(|scope| {
            causes.scopes.push(scope.clone());
            next
        })
    };
    let numbers: Vec<u32> = named.into_iter().map(&mut number).collect();
    let scope = |number: u32| numbers.get(number as usize).copied().unwrap_or(number);
    let place = |cell: u32| places.get(cell as usize).copied().unwrap_or_default();
    let reuse = |pair: &CarriedPair| {
        let sink = place(pair.sink);
        CarriedReuse {
            source: pair.source.map_or(0, |source| place(source).site),
            sink: sink.site,
            object: sink.object,
            carrier: match pair.carrier {
                Carrier::Scope(number) => Carrier::Scope(scope(number)),
                Carrier::Iteration(number) => Carrier::Iteration(scope(number)),
                other => other,
            },
            misses: pair.misses,
            distance_sum: pair.distance_sum,
        }
    };
    causes.carried = carried.pairs.iter().map(reuse).collect();
}
