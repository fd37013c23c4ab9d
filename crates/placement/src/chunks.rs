//! Chunks of large objects, each ranked by itself.
//!
//! A profile with placement data has a row for each chunk of a large object that was accessed.
//! Neighbouring rows of one object are joined up to a given number of bytes, since finer parts cost
//! more places in the plan than they gain (Shen 2021, section 2.5.2: a tenth of the fast memory).

use std::collections::BTreeMap;

use reuselens_profile::{ChunkedKey, ObjectPart, Profile};

use crate::candidate::Candidate;

/// Joins the rows of chunks; other candidates stay as they are. The order is that of the first row
/// of each. Without `most`, all rows of an object are joined.
pub(crate) fn joined(profile: &Profile, rows: Vec<Candidate>, most: Option<u64>) -> Vec<Candidate> {
    let mut joined: Vec<Candidate> = Vec::new();
    let mut groups: BTreeMap<(ChunkedKey<'_>, u64), usize> = BTreeMap::new();
    // Merged profiles of several runs may have rows with different lengths.
    let mut lengths: BTreeMap<ChunkedKey<'_>, u64> = BTreeMap::new();
    for object in &profile.objects {
        if let (Some(part), Some(key)) = (object.part, object.chunked_key()) {
            let longest = lengths.entry(key).or_default();
            *longest = part.longest.max(*longest);
        }
    }
    for row in rows {
        let object = &profile.objects[row.object];
        let (Some(part), Some(key)) = (object.part, object.chunked_key()) else {
            joined.push(row);
            continue;
        };
        let group = most.map_or(0, |most| part.start / width(part, most));
        match groups.get(&(key, group)) {
            Some(&at) => join(&mut joined[at], row, part),
            None => {
                groups.insert((key, group), joined.len());
                let parts = vec![(part.start, part.end)];
                joined.push(Candidate { parts, ..row });
            }
        }
    }
    for ((key, _), at) in groups {
        finish(&mut joined[at], lengths[&key]);
    }
    joined
}

/// The bytes of joined chunks: the largest multiple of a chunk within `most`, one chunk at least.
fn width(part: ObjectPart, most: u64) -> u64 {
    let chunk = part.chunk.max(1);
    (most / chunk).max(1).saturating_mul(chunk)
}

fn join(into: &mut Candidate, row: Candidate, part: ObjectPart) {
    into.bytes = into.bytes.saturating_add(row.bytes);
    // A block has several chunks.
    into.blocks = into.blocks.max(row.blocks);
    into.accesses = into.accesses.saturating_add(row.accesses);
    into.stores = into.stores.saturating_add(row.stores);
    into.misses = into.misses.saturating_add(row.misses);
    into.live = match (into.live, row.live) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        _ => None,
    };
    into.rows.extend(row.rows);
    into.parts.push((part.start, part.end));
    for (thread, accesses) in row.by_thread {
        into.add_thread(thread, accesses);
    }
}

/// Brings the parts into order, and names the chunk; a candidate with all of the `longest` bytes of
/// its object is the object.
fn finish(candidate: &mut Candidate, longest: u64) {
    candidate.parts.sort_unstable();
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for &(start, end) in &candidate.parts {
        match parts.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => parts.push((start, end)),
        }
    }
    if parts == [(0, longest)] {
        candidate.parts.clear();
        return;
    }
    let end = parts.last().map_or(0, |part| part.1);
    candidate.name = format!(
        "{} [{} to {}]",
        candidate.name,
        exact_size(parts[0].0),
        exact_size(end)
    );
    candidate.parts = parts;
}

/// A number of bytes in the largest unit of which it is a multiple: `5 MiB`, `5123 KiB`. So that
/// different numbers have different names.
pub fn exact_size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let is_multiple = |(shift, _): &(u32, &str)| bytes > 0 && bytes.trailing_zeros() >= *shift;
    match units.into_iter().find(is_multiple) {
        Some((shift, unit)) => format!("{} {unit}", bytes >> shift),
        None => format!("{bytes} B"),
    }
}
