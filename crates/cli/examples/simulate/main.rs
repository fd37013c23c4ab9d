//! Runs every placement of a program's arrays on a simulated machine, and holds the rules of
//! `reuselens place` against the best one.
//!
//! ```text
//! reuselens record -o p.rltrace -- ./program        # built with `reuselens cc`
//! reuselens analyze p.rltrace -q -o p --by thread,object
//! cargo run --release -p reuselens-cli --example simulate -- \
//!   NAME p.rltrace p.rlprof FOOTPRINT FAST CACHE
//! ```
//!
//! Sizes are in bytes. Prints two lines of CSV (`--head` prints their head): without and with a
//! prefetcher. `programs/hmbench/run simulate` does all of that for the programs of HMBench.
//!
//! The simulation shares no code with the objective that it judges. It reads the trace itself, has
//! caches with sets and write-backs, a clock of intervals, and memory whose bandwidth is shared
//! ([`memory`]). It is a model too: nothing here is measured.
//!
//! The caches do not depend on where objects are. So they run once, count for each object and
//! interval what reaches the memory, and each placement is a sum over intervals.

mod cache;
mod memory;
mod ranks;
mod rules;
mod traffic;

use std::path::Path;

use memory::{Clock, Memory};
use ranks::rank_correlation;
use reuselens::profile::Profile;
use reuselens_placement::{CandidateOptions, candidates};
use rules::judged;
use traffic::{Traffic, traffic};

type Failure = Box<dyn std::error::Error>;

/// Objects of which all placements run; the largest are taken if there are more.
const MOST_GROUPS: usize = 12;
/// Accesses to a group by the trace and by the profile may differ by this part.
const TOLERANCE: f64 = 0.01;

/// A data object as the trace and the profile know it.
struct Group {
    /// Its index in [`Traffic::objects`].
    object: usize,
    candidate: reuselens_placement::Candidate,
}

/// The objects that both the trace and the profile have as one block of the heap: equal in size,
/// and of those the nearest in accesses, or the one that is accessed first.
fn groups(traffic: &Traffic, profile: &Profile, cache: u64) -> Result<Vec<Group>, Failure> {
    let options = CandidateOptions {
        cache: reuselens::units::Bytes(cache).into(),
        by_pages: false,
        most_chunk: None,
    };
    let (candidates, _) = candidates(profile, options);
    let mut blocks: Vec<usize> = (0..traffic.objects.len())
        .filter(|&object| traffic.objects[object].accesses > 0)
        .collect();
    blocks.sort_by_key(|&object| traffic.objects[object].first_access);
    let mut groups = Vec::new();
    for candidate in candidates {
        let off = |object: usize| {
            traffic.objects[object]
                .accesses
                .abs_diff(candidate.accesses)
        };
        let same_size = |place: &usize| traffic.objects[blocks[*place]].bytes == candidate.bytes;
        let is_one_block = candidate.blocks == 1 && !candidate.path.is_empty();
        let places = (0..blocks.len()).filter(same_size);
        let found = places.min_by_key(|&place| off(blocks[place]));
        if let Some(place) = found.filter(|_| is_one_block) {
            let object = blocks.remove(place);
            if off(object) as f64 > TOLERANCE * candidate.accesses as f64 {
                let seen = traffic.objects[object].accesses;
                let (name, known) = (candidate.name, candidate.accesses);
                return Err(format!("{name}: {known} accesses, {seen} in the trace").into());
            }
            groups.push(Group { object, candidate });
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.candidate.bytes));
    groups.truncate(MOST_GROUPS);
    // Rules take the objects in the order of their first accesses.
    groups.sort_by_key(|group| group.candidate.object);
    if groups.is_empty() {
        return Err("no block of the heap is in both the trace and the profile".into());
    }
    Ok(groups)
}

/// A number of the command line.
fn number(arguments: &[String], index: usize) -> Result<u64, Failure> {
    let text = arguments
        .get(index)
        .ok_or("NAME TRACE PROFILE FOOTPRINT FAST CACHE")?;
    Ok(text.parse().map_err(|error| format!("{text}: {error}"))?)
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "--head") {
        let rules = rules::NAMES.map(|name| format!(",regret_{name}")).concat();
        println!(
            "program,prefetcher,footprint_bytes,fast_bytes,cache_bytes,groups,placements,feasible,\
             rank_correlation_f,rank_correlation_time,gain_of_best{rules}"
        );
        return Ok(());
    }
    let [footprint, fast, cache] = [
        number(&arguments, 3)?,
        number(&arguments, 4)?,
        number(&arguments, 5)?,
    ];
    let (name, trace) = (&arguments[0], Path::new(&arguments[1]));
    let profile = Profile::from_bytes(&std::fs::read(&arguments[2])?)?;
    let traffic = traffic(trace, cache)?;
    let groups = groups(&traffic, &profile, cache)?;
    let memory = Memory::of_dram_and_cxl(fast);
    for has_prefetcher in [false, true] {
        let clock = Clock::new(&traffic, &groups, &memory, has_prefetcher);
        let judged = judged(&groups, &memory, &clock, cache)?;
        let correlations = judged.values.each_ref().map(|values| {
            let saved: Vec<f64> = judged.times.iter().map(|time| -time).collect();
            rank_correlation(values, &saved)
        });
        let regrets = judged
            .regrets
            .map(|regret| format!(",{regret:.5}"))
            .concat();
        println!(
            "{name},{has_prefetcher},{footprint},{fast},{cache},{},{},{},{:.4},{:.4},{:.4}{regrets}",
            groups.len(),
            judged.times.len(),
            judged.feasible,
            correlations[0],
            correlations[1],
            judged.times[0] / judged.best,
        );
    }
    Ok(())
}
