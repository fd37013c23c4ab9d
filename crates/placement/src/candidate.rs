//! The objects of a profile that a placement can move, and what is known of each.

use reuselens_profile::{CacheSize, FileOffset, Frame, Object, ObjectKind, Profile};
use reuselens_units::Bytes;

use crate::chunks;
use crate::front_cache::FrontCache;

/// An object that a placement can move, with all that decides about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its index in [`Profile::objects`]. The first of [`Self::rows`].
    pub object: usize,
    /// The rows of [`Profile::objects`] that it is: one, or some chunks of one object.
    pub rows: Vec<usize>,
    /// The parts of each block that it is, as first byte and first byte after, ascending; all of it
    /// if there are none.
    pub parts: Vec<(u64, u64)>,
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
    /// The first and the last access of the run, by all threads, while it was live; `None` if the
    /// profile does not say, or it is live all the time.
    pub live: Option<(u64, u64)>,
    /// Accesses by thread: index in [`Profile::threads`], accesses; ascending, without zeros.
    pub by_thread: Vec<(u32, u64)>,
}

impl Candidate {
    /// F = C / S: accesses for each byte (Shen 2021, equation 2.1).
    pub fn frequency(&self) -> f64 {
        self.accesses as f64 / self.bytes as f64
    }

    /// Adds accesses by a thread.
    pub(crate) fn add_thread(&mut self, thread: u32, accesses: u64) {
        let at = self.by_thread.partition_point(|&(known, _)| known < thread);
        match self.by_thread.get_mut(at) {
            Some((known, count)) if *known == thread => *count = count.saturating_add(accesses),
            _ => self.by_thread.insert(at, (thread, accesses)),
        }
    }

    /// The only thread that accesses it; `None` for a shared object.
    pub fn owner(&self) -> Option<u32> {
        match self.by_thread[..] {
            [(thread, _)] => Some(thread),
            _ => None,
        }
    }
}

/// Bytes of a page. A smaller symbol shares its page with others, and cannot be moved alone.
pub(crate) const PAGE: u64 = 4096;
/// The objects with the fewest accesses and misses are left out, as long as all of them together
/// have less than this share of both.
const NEGLIGIBLE: f64 = 0.001;

/// Objects that are left out, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftAside {
    /// How many.
    pub objects: u64,
    /// Accesses to them.
    pub accesses: u64,
}

impl LeftAside {
    fn add(&mut self, accesses: u64) {
        self.objects += 1;
        self.accesses = self.accesses.saturating_add(accesses);
    }
}

/// Accesses to what no placement moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unplaceable {
    /// To stacks, which the system places.
    pub stack: u64,
    /// To memory of which no object is known.
    pub unknown: u64,
    /// To objects whose size is not known.
    pub no_size: u64,
    /// Data of the dynamic loader, which is in memory before anything can be placed.
    pub loader: LeftAside,
    /// Static objects that share their pages with other data: smaller than a page, or in several
    /// places. Only where the memory is placed by pages.
    pub small: LeftAside,
    /// Objects that together have less than a thousandth of the accesses, and of the misses.
    pub negligible: LeftAside,
    /// Of all these accesses, those that the caches in front do not serve.
    pub misses: u64,
}

/// What is taken for a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateOptions {
    /// The cache in front of the memory. With sets, misses are those to expect by the model.
    pub cache: CacheSize,
    /// Whether memory is placed page by page, as the system does it. A scratchpad takes any bytes.
    pub by_pages: bool,
    /// Chunks of large objects are joined up to this many bytes; `None` joins all of an object.
    pub most_chunk: Option<Bytes>,
}

/// The objects of `profile` that can be placed, in the order of their first allocations as far as
/// the profile knows lifetimes and else in its own, and the accesses to all others. Cost: linear in
/// the profile's cells, and n log n in its objects.
pub fn candidates(profile: &Profile, options: CandidateOptions) -> (Vec<Candidate>, Unplaceable) {
    let mut all = counted(profile, options.cache);
    let mut others = Unplaceable::default();
    all.retain(|candidate| {
        if candidate.accesses == 0 {
            return false;
        }
        let is_left = !leave_out(profile, candidate, options.by_pages, &mut others);
        if !is_left {
            others.misses = others.misses.saturating_add(candidate.misses);
        }
        is_left
    });
    let mut all = chunks::joined(profile, all, options.most_chunk.map(Bytes::get));
    // What is live all the time comes first.
    all.sort_by_key(|candidate| candidate.live.map(|(begin, _)| begin));
    leave_out_negligible(&mut all, &mut others);
    (all, others)
}

/// When an object is live. Symbols are all the time.
fn live(object: &Object) -> Option<(u64, u64)> {
    let lifetime = object
        .lifetime
        .filter(|_| object.kind == ObjectKind::Heap)?;
    Some((lifetime.begin, lifetime.end))
}

/// All objects with what is counted of them.
fn counted(profile: &Profile, cache: CacheSize) -> Vec<Candidate> {
    let cache = FrontCache::new(cache, profile.granularity);
    let mut all: Vec<Candidate> = profile
        .objects
        .iter()
        .enumerate()
        .map(|(object, known)| Candidate {
            object,
            rows: vec![object],
            parts: Vec::new(),
            name: known.name.clone(),
            path: known.path.clone(),
            bytes: known.bytes,
            blocks: known.blocks,
            accesses: 0,
            stores: 0,
            misses: 0,
            live: live(known),
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
            .saturating_add(cache.misses(&cell.histogram));
        if matches!(kind, "store" | "atomic" | "range store") {
            candidate.stores = candidate.stores.saturating_add(accesses);
        }
        candidate.add_thread(cell.thread, accesses);
    }
    all
}

/// Counts an object that cannot be placed; whether it is one.
fn leave_out(
    profile: &Profile,
    candidate: &Candidate,
    by_pages: bool,
    others: &mut Unplaceable,
) -> bool {
    let (object, accesses) = (&profile.objects[candidate.object], candidate.accesses);
    let count = match object.kind {
        ObjectKind::Stack => &mut others.stack,
        ObjectKind::Unknown => &mut others.unknown,
        _ if object.bytes == 0 => &mut others.no_size,
        _ if is_of_loader(object) => {
            others.loader.add(accesses);
            return true;
        }
        ObjectKind::Static if by_pages && shares_pages(object) => {
            others.small.add(accesses);
            return true;
        }
        _ => return false,
    };
    *count = count.saturating_add(accesses);
    true
}

/// Whether an object's pages hold other data too: it is smaller than a page, or (variables without
/// a name) in several places.
pub(crate) fn shares_pages(object: &Object) -> bool {
    object.bytes < PAGE || object.origins.len() > 1
}

/// Whether all of an object is the dynamic loader's.
fn is_of_loader(object: &Object) -> bool {
    let of_loader = |path: &Vec<FileOffset>| {
        let module = path.first().map_or("", |place| &place.module);
        ["ld-linux", "ld-musl", "ld64.so", "ld.so"]
            .iter()
            .any(|name| module.starts_with(name))
    };
    !object.origins.is_empty() && object.origins.iter().all(of_loader)
}

/// Takes out the objects that together count for next to nothing.
fn leave_out_negligible(all: &mut Vec<Candidate>, others: &mut Unplaceable) {
    let sum = |count: fn(&Candidate) -> u64| all.iter().map(|it| count(it) as f64).sum::<f64>();
    let (accesses, misses) = (sum(|it| it.accesses), sum(|it| it.misses));
    let share = |count: u64, total: f64| {
        if total > 0.0 {
            count as f64 / total
        } else {
            0.0
        }
    };
    let shares = |it: &Candidate| (share(it.accesses, accesses), share(it.misses, misses));
    let most = |it: &Candidate| shares(it).0.max(shares(it).1);
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|&a, &b| most(&all[a]).total_cmp(&most(&all[b])).then(b.cmp(&a)));
    let (mut sums, mut is_left) = ((0.0, 0.0), vec![true; all.len()]);
    for index in order {
        let (of_accesses, of_misses) = shares(&all[index]);
        sums = (sums.0 + of_accesses, sums.1 + of_misses);
        if sums.0 > NEGLIGIBLE || sums.1 > NEGLIGIBLE {
            break;
        }
        is_left[index] = false;
        others.negligible.add(all[index].accesses);
        others.misses = others.misses.saturating_add(all[index].misses);
    }
    let mut next = is_left.into_iter();
    all.retain(|_| next.next().unwrap_or(true));
}
