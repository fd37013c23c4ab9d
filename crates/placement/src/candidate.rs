//! The objects of a profile that a placement can move, and what is known of each.

use reuselens_locality::{Frame, ObjectKind, Profile};
use reuselens_units::Bytes;

/// An object that a placement can move, with all that decides about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its index in [`Profile::objects`]; objects are in the order of their first accesses.
    pub object: usize,
    /// Its name as people read it.
    pub name: String,
    /// For heap objects: the call path of the allocation, innermost first.
    pub path: Vec<Frame>,
    /// Its bytes: of the symbol, or the largest number live at one time.
    pub bytes: u64,
    /// Number of blocks that were allocated.
    pub blocks: u64,
    /// Accesses C of the published metric.
    pub accesses: u64,
    /// Of the accesses, those that store (atomic operations included).
    pub stores: u64,
    /// Accesses that the caches in front do not serve.
    pub misses: u64,
    /// Accesses by thread: index in [`Profile::threads`], accesses; ascending, without zeros.
    pub by_thread: Vec<(u32, u64)>,
}

impl Candidate {
    /// F = C / S: accesses for each byte (Shen 2021, equation 2.1).
    pub fn frequency(&self) -> f64 {
        self.accesses as f64 / self.bytes as f64
    }

    /// The only thread that accesses it; `None` for a shared object.
    pub fn owner(&self) -> Option<u32> {
        match self.by_thread[..] {
            [(thread, _)] => Some(thread),
            _ => None,
        }
    }
}

/// Accesses to objects that no placement can move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unplaceable {
    /// To stacks, which the system places.
    pub stack: u64,
    /// To memory of which no object is known.
    pub unknown: u64,
    /// To objects whose size is not known.
    pub no_size: u64,
    /// Of all these accesses, those that the caches in front do not serve.
    pub misses: u64,
}

/// The objects of `profile` that can be placed, in the order of their first accesses, and the
/// accesses to all others. `cache` is the size of the cache in front of the memory; misses are
/// those of a fully associative LRU cache of that size. Cost: linear in the profile's cells.
pub fn candidates(profile: &Profile, cache: Bytes) -> (Vec<Candidate>, Unplaceable) {
    let items = cache.items(profile.granularity).get();
    let mut all: Vec<Candidate> = profile
        .objects
        .iter()
        .enumerate()
        .map(|(object, known)| Candidate {
            object,
            name: known.name.clone(),
            path: known.path.clone(),
            bytes: known.bytes,
            blocks: known.blocks,
            accesses: 0,
            stores: 0,
            misses: 0,
            by_thread: Vec::new(),
        })
        .collect();
    for cell in &profile.cells {
        let candidate = &mut all[cell.object as usize];
        let accesses = cell.histogram.accesses();
        let kind = profile.sites[cell.site as usize].kind.as_str();
        candidate.accesses = candidate.accesses.saturating_add(accesses);
        candidate.misses = candidate
            .misses
            .saturating_add(cell.histogram.misses(items));
        if matches!(kind, "store" | "atomic" | "range store") {
            candidate.stores = candidate.stores.saturating_add(accesses);
        }
        let at = candidate
            .by_thread
            .partition_point(|&(thread, _)| thread < cell.thread);
        match candidate.by_thread.get_mut(at) {
            Some((thread, count)) if *thread == cell.thread => {
                *count = count.saturating_add(accesses);
            }
            _ => candidate.by_thread.insert(at, (cell.thread, accesses)),
        }
    }
    let mut others = Unplaceable::default();
    all.retain(|candidate| {
        let (kind, accesses) = (profile.objects[candidate.object].kind, candidate.accesses);
        let count = match kind {
            _ if accesses == 0 => return false,
            ObjectKind::Stack => &mut others.stack,
            ObjectKind::Unknown => &mut others.unknown,
            _ if candidate.bytes == 0 => &mut others.no_size,
            _ => return true,
        };
        *count = count.saturating_add(accesses);
        others.misses = others.misses.saturating_add(candidate.misses);
        false
    });
    (all, others)
}
