//! What is done without this crate, and what other tools do: to compare with.

use crate::candidate::PAGE;
use crate::greedy::by_density;
use crate::problem::{Choice, Filling, Problem};

/// All data in the slowest tier.
pub fn all_slow(problem: &Problem) -> Choice {
    vec![None; problem.items.len()]
}

/// First come, first served: each object, in the order of the first allocations, into the fastest
/// memory that has room (the baseline B2 of Shen 2021, table 2.4).
pub fn first_come(problem: &Problem) -> Choice {
    let mut filling = Filling::new(problem);
    for item in 0..problem.items.len() {
        let _ = (0..problem.bins.len()).any(|bin| filling.put(bin, item));
    }
    filling.finish()
}

/// ecoHMEM's rule (Jordà et al., 2022): by falling loads and stores, each times its latency, for
/// each page; memories filled in order. Here loads and stores have one latency, so the order is
/// that of accesses per page.
pub fn eco_hmem(problem: &Problem) -> Choice {
    let mut filling = Filling::new(problem);
    let per_page = |item: usize| {
        let known = &problem.items[item];
        // `by_density` divides by bytes; each page counts in full.
        known.frequency * known.bytes as f64 / known.bytes.div_ceil(PAGE) as f64
    };
    let order = by_density(problem, per_page);
    for bin in 0..problem.bins.len() {
        for &item in &order {
            filling.put(bin, item);
        }
    }
    filling.finish()
}

/// The hot set of SICM: by falling accesses for each byte, until the first object that does not
/// fit. SICM takes that object too, and exceeds the capacity by it; it is left out here.
pub fn hot_set(problem: &Problem) -> Choice {
    let mut filling = Filling::new(problem);
    let mut order = by_density(problem, |item| problem.items[item].frequency).into_iter();
    let mut next = order.next();
    for bin in 0..problem.bins.len() {
        if problem.bins[bin].owner.is_some() {
            // SICM knows no memory of a single core.
            continue;
        }
        while let Some(item) = next
            && filling.put(bin, item)
        {
            next = order.next();
        }
    }
    filling.finish()
}
