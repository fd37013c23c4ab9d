//! The types of blocks of the heap by the instructions that access them.
//!
//! Each heap object has a *ballot*. An instruction whose debug information says that it accesses a
//! field of a structure votes for that structure with each of its accesses to the object's blocks.
//! The first such type is the *candidate*, and every access that shows a type is checked against
//! it: the field must be where the candidate has it, counted from the begin of the block ([`fit`]).
//! The object has no type if one access does not fit: blocks that an allocator carves for several
//! types have none.
//!
//! Most accesses cost one comparison ([`Ballots::count_known`]): where the instruction accessed the
//! same field of this object before, the access is only counted. The rest ([`Ballots::vote`]) runs
//! once for each instruction, object and field.

mod classify;
mod fit;

use std::sync::Arc;

use reuselens_profile::{DataLayout, ElementUse, TypeOrigin};

use crate::symbol_source::AccessedType;

/// What an access counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// It shows the type of the data.
    Agrees,
    /// It shows no type, and is the program's own.
    Untyped,
    /// It is the program's own and shows what the data may be, but does not have to be:
    /// [`Fit::Open`].
    Open,
    /// It is of a library.
    Outside,
    /// It shows another type.
    Against,
}

const CLASSES: usize = 5;

/// The accesses of an instruction that are counted without another look.
#[derive(Clone, Copy, Debug)]
struct KnownAccesses {
    /// The tag of the ballot's state that they are known for, or [`ANY`], or 0 for none.
    tag: u32,
    /// The lowest offset in elements that they begin at.
    low: u32,
    /// The number of these offsets.
    bytes: u32,
    class: Class,
}

/// The tag of accesses that are known for all objects.
const ANY: u32 = u32::MAX;

impl KnownAccesses {
    const NONE: KnownAccesses = KnownAccesses {
        tag: 0,
        low: 0,
        bytes: 0,
        class: Class::Open,
    };
}

/// Bytes before the first element have their offsets in the block from here on, so that these
/// differ from offsets in elements.
pub(crate) const HEAD: u32 = 1 << 16;
/// Bytes that may be before the first element, at most.
const MAX_START: u64 = 1 << 12;
/// The alignments of data that allocators give.
const ALIGNMENTS: [u64; 4] = [8, 16, 32, 64];
/// Accesses that are remembered until a type is known that they can be checked against.
const MAX_EARLIER: usize = 64;
/// How many accesses to first elements are classified one by one, in the hope of one to another.
const PATIENCE: u32 = 1 << 10;
/// There is a type if at least one in this many of the program's own accesses shows it.
const LEAST_SHARE: u64 = 2;
/// There is no type if at least one in this many of the program's own accesses shows nothing at
/// all: those may be to data of another type that has as many bytes.
const MOST_UNTYPED: u64 = 10;
/// A type by the allocating call is dropped if at least one in this many accesses shows another.
const MOST_AGAINST: u64 = 100;

/// Where the elements of an object's blocks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementPlacement {
    /// Bytes of a block before the first.
    pub start: u32,
    /// Bytes of one; 0 if they are unknown.
    pub bytes: u32,
}

/// Whether a part is at least one in `many` of all.
fn is_share(part: u64, all: u64, many: u64) -> bool {
    part.saturating_mul(many) >= all
}

/// A type with its elements this many bytes apart.
fn with_stride(layout: &Arc<DataLayout>, bytes: u64) -> Arc<DataLayout> {
    if layout.bytes == bytes {
        return Arc::clone(layout);
    }
    Arc::new(DataLayout {
        bytes,
        ..DataLayout::clone(layout)
    })
}

/// What is known of the type of an object's blocks.
#[derive(Debug)]
struct Ballot {
    /// The structure that the allocating call shows.
    allocated: Option<Arc<DataLayout>>,
    /// The structure that accesses show.
    candidate: Option<Arc<DataLayout>>,
    /// The bytes of each block, if all blocks have the same number and elements may have as many;
    /// else 0. Offsets are then those in the block.
    block: u32,
    /// Bytes of the largest block.
    largest: u64,
    /// Whether the first block was larger than elements may be, so that offsets were never those in
    /// blocks. Then blocks may have a head before the first element, and elements may be further
    /// apart than their type has bytes.
    is_pool: bool,
    /// Bytes of a block before the first element: the head of a chunk, for instance.
    start: u32,
    /// Whether accesses of another type showed that there is a head.
    has_head: bool,
    /// Whether two accesses contradict each other.
    is_broken: bool,
    /// Whether an access agreed with the type.
    has_field: bool,
    /// Whether one beyond the first element did.
    has_several: bool,
    /// Whether an access of the candidate's type was beyond the first element, wherever it agreed,
    /// or may have been, unseen ([`PATIENCE`]). For good: then it is not the type of a head.
    may_have_several: bool,
    /// What is left of [`PATIENCE`].
    patience: u32,
    /// Sizes of elements of which offsets were counted before the present one.
    counted: Vec<u32>,
    /// As long as there is no candidate: accesses to what cannot be one, such as numbers, each with
    /// the byte of a block that it begins at.
    earlier: Vec<(Arc<AccessedType>, u64)>,
    /// Its accesses by [`Class`], without those that [`Ballots::states`] has for its present tag.
    counts: [u64; CLASSES],
}

/// What became of a ballot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BallotOutcome {
    /// The accesses show this type. Offsets were also counted in these other sizes of elements.
    Type(Arc<DataLayout>, TypeOrigin, Vec<u32>),
    /// They contradict the type that the allocating call shows.
    Contradicted,
    /// They show no type. Offsets were counted in elements of this many bytes; 0 if in none.
    None(u32),
}

/// The ballots of all heap objects without a type, or with a structure that the allocating call
/// shows.
#[derive(Debug, Default)]
pub(crate) struct Ballots {
    /// By object, the tag of its ballot's state: each time that what is known of its accesses no
    /// longer holds, it gets a new one. 0 if it has no ballot, or its type is decided.
    tags: Vec<u32>,
    /// By object, the index of its ballot plus one; 0 = none.
    numbers: Vec<u32>,
    list: Vec<Ballot>,
    /// By tag, accesses by [`Class`].
    states: Vec<[u64; CLASSES]>,
    /// By site, the accesses of its instruction that need only be counted.
    known: Vec<KnownAccesses>,
    /// By site, what its instruction accesses, as far as that was asked.
    accesses: Vec<Option<Arc<AccessedType>>>,
}

/// What an instruction shows of the data that it accesses.
#[derive(Clone, Debug)]
pub(crate) enum Shown {
    /// A type.
    Type(AccessedType),
    /// Nothing, and it is the program's own.
    Nothing,
    /// Nothing, and it is of a library.
    OfLibrary,
}

impl Ballots {
    /// Gives an object a ballot, with the bytes of its first block; none if the allocating call
    /// shows elements of 4 GiB or more.
    pub fn open(&mut self, object: u32, allocated: Option<Arc<DataLayout>>, bytes: u64) {
        let has_place = |it: &Arc<DataLayout>| u32::try_from(it.bytes).is_ok();
        if !allocated.as_ref().is_none_or(has_place) {
            return;
        }
        let index = object as usize;
        if self.numbers.len() <= index {
            self.numbers.resize(index + 1, 0);
            self.tags.resize(index + 1, 0);
        }
        let block = u32::try_from(bytes).ok();
        self.list.push(Ballot {
            allocated,
            candidate: None,
            block: block
                .filter(|_| bytes <= ElementUse::MOST_BYTES)
                .unwrap_or(0),
            largest: bytes,
            is_pool: bytes > ElementUse::MOST_BYTES,
            start: 0,
            has_head: false,
            is_broken: false,
            has_field: false,
            has_several: false,
            may_have_several: false,
            patience: PATIENCE,
            counted: block
                .filter(|_| bytes <= ElementUse::MOST_BYTES)
                .into_iter()
                .collect(),
            earlier: Vec::new(),
            counts: [0; CLASSES],
        });
        self.numbers[index] = self.list.len() as u32;
        self.renew(object);
    }

    /// Whether a block of this many bytes changes the size of an object's elements.
    pub fn is_changed_by(&self, object: u32, bytes: u64) -> bool {
        let number = self.numbers.get(object as usize).copied().unwrap_or(0);
        let ballot = self.list.get((number as usize).wrapping_sub(1));
        ballot.is_some_and(|it| it.block != 0 && u64::from(it.block) != bytes)
    }

    /// A block of an object begins. Returns the object's elements from now on; `None` if it has no
    /// ballot.
    pub fn begin_block(&mut self, object: u32, bytes: u64) -> Option<ElementPlacement> {
        let ballot = self.ballot(object).filter(|it| it.allocated.is_none())?;
        ballot.largest = ballot.largest.max(bytes);
        let has_one_size = ballot.block != 0;
        if u64::from(ballot.block) != bytes {
            ballot.block = 0;
        }
        let (elements, has_many_now) = (ballot.elements(), ballot.block == 0);
        if has_one_size && has_many_now {
            self.renew(object);
        }
        Some(elements)
    }

    /// Ends an object's ballot, as its type is decided by other means.
    pub fn close(&mut self, object: u32) {
        if let Some(ballot) = self.ballot(object) {
            ballot.is_broken = true;
            self.renew(object);
        }
    }

    /// Counts an access at an offset of an element, if its class is known. Returns false if not: it
    /// then has to [`vote`](Ballots::vote). The offset is 0 if the bytes of an element are unknown,
    /// and [`HEAD`] or more before the first element. Returns true for objects without a ballot.
    #[inline(always)]
    pub fn count_known(&mut self, object: u32, site: u32, offset: u32) -> bool {
        let tag = self.tags.get(object as usize).copied().unwrap_or(0);
        if tag == 0 {
            return true;
        }
        let known = self.known.get(site as usize);
        let known = known.copied().unwrap_or(KnownAccesses::NONE);
        let is_there = known.tag == tag && offset.wrapping_sub(known.low) < known.bytes;
        let is_known = is_there || known.tag == ANY;
        if is_known {
            self.states[tag as usize][known.class as usize] += 1;
        }
        is_known
    }

    /// Whether what an instruction accesses is known, so that it need not be asked again.
    pub fn was_asked(&self, site: u32) -> bool {
        let known = self.accesses.get(site as usize);
        let is_any = self
            .known
            .get(site as usize)
            .is_some_and(|it| it.tag == ANY);
        is_any || known.is_some_and(Option::is_some)
    }

    /// Sets what an instruction shows.
    pub fn set_shown(&mut self, site: u32, shown: Shown) {
        let index = site as usize;
        if self.known.len() <= index {
            self.known.resize(index + 1, KnownAccesses::NONE);
            self.accesses.resize(index + 1, None);
        }
        let class = match shown {
            Shown::Type(access) => {
                self.accesses[index] = Some(Arc::new(access));
                return;
            }
            Shown::Nothing => Class::Untyped,
            Shown::OfLibrary => Class::Outside,
        };
        self.known[index] = KnownAccesses {
            tag: ANY,
            class,
            ..KnownAccesses::NONE
        };
    }

    /// Classifies and counts an access to a byte of a block. Returns the object's elements from now
    /// on, if the access changes them.
    pub fn vote(&mut self, object: u32, site: u32, at: u64) -> Option<ElementPlacement> {
        let access = Arc::clone(self.accesses.get(site as usize)?.as_ref()?);
        let tag = self.tags.get(object as usize).copied().unwrap_or(0);
        let last = self.known.get(site as usize).filter(|it| it.tag == tag);
        let last = last.map(|it| it.low);
        let ballot = self.ballot(object)?;
        let state = |it: &Ballot| (it.elements(), it.is_broken, it.candidate.clone());
        let before = state(ballot);
        let (mut class, range) = ballot.classify(&access, at);
        if last.is_some_and(|last| ballot.is_elsewhere(&access, last, range.start)) {
            class = Class::Against;
            ballot.is_broken |= ballot.allocated.is_none();
        }
        let is_final = ballot.end_vote();
        let after = state(ballot);
        self.count(object, class);
        if before != after {
            self.renew(object);
        }
        if is_final {
            self.known[site as usize] = KnownAccesses {
                tag: self.tags[object as usize],
                low: range.start,
                bytes: range.end - range.start,
                class,
            };
        }
        (before.0 != after.0).then_some(after.0)
    }

    /// What became of an object's ballot, if it has one.
    pub fn outcome(&self, object: u32) -> Option<BallotOutcome> {
        let number = self.numbers.get(object as usize)?.checked_sub(1)?;
        let ballot = &self.list[number as usize];
        let present = self.states.get(self.tags[object as usize] as usize);
        let sum = |class: Class| {
            let present = present.map_or(0, |counts| counts[class as usize]);
            present.saturating_add(ballot.counts[class as usize])
        };
        let (agree, untyped) = (sum(Class::Agrees), sum(Class::Untyped));
        let (open, against) = (sum(Class::Open), sum(Class::Against));
        if ballot.allocated.is_some() {
            let is_against =
                against > 0 && is_share(against, agree.saturating_add(against), MOST_AGAINST);
            return Some(if is_against {
                BallotOutcome::Contradicted
            } else {
                BallotOutcome::None(ballot.allocated.as_ref().map_or(0, |it| it.bytes as u32))
            });
        }
        let all = agree.saturating_add(untyped).saturating_add(open);
        let is_shown = agree > 0 && is_share(agree, all, LEAST_SHARE);
        let is_clear = untyped == 0 || !is_share(untyped, all, MOST_UNTYPED);
        let elected = ballot.elected().filter(|_| is_shown && is_clear);
        Some(match elected {
            Some(layout) => {
                let origin = TypeOrigin::Accesses { agree, all };
                BallotOutcome::Type(Arc::clone(layout), origin, ballot.counted.clone())
            }
            None => BallotOutcome::None(ballot.block),
        })
    }

    fn ballot(&mut self, object: u32) -> Option<&mut Ballot> {
        let number = self.numbers.get(object as usize)?.checked_sub(1)?;
        self.list.get_mut(number as usize)
    }

    fn count(&mut self, object: u32, class: Class) {
        if let Some(tag) = self.tags.get(object as usize).filter(|tag| **tag != 0) {
            self.states[*tag as usize][class as usize] += 1;
        }
    }

    /// Gives an object a new tag, so that what is known of its accesses is not used any more, and
    /// takes the counts of the old one into its ballot. Tag 0 if the ballot is over.
    fn renew(&mut self, object: u32) {
        let number = self.numbers[object as usize] - 1;
        if self.states.is_empty() {
            // Tag 0 is none.
            self.states.push([0; CLASSES]);
        }
        let ballot = &mut self.list[number as usize];
        let old = std::mem::take(&mut self.states[self.tags[object as usize] as usize]);
        for (count, more) in ballot.counts.iter_mut().zip(old) {
            *count = count.saturating_add(more);
        }
        let is_over = ballot.is_broken || self.states.len() >= ANY as usize;
        self.tags[object as usize] = if is_over { 0 } else { self.states.len() as u32 };
        if !is_over {
            self.states.push([0; CLASSES]);
        }
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        let bytes = (self.tags.capacity() + self.numbers.capacity()) * size_of::<u32>()
            + self.list.capacity() * size_of::<Ballot>()
            + self.states.capacity() * size_of::<[u64; CLASSES]>()
            + self.known.capacity() * size_of::<KnownAccesses>()
            + self.accesses.capacity() * size_of::<Option<Arc<AccessedType>>>();
        bytes as u64
    }
}

impl Ballot {
    /// The elements of which offsets are counted.
    fn elements(&self) -> ElementPlacement {
        let bytes = match (self.block, &self.candidate) {
            (0, _) if self.is_broken => 0,
            (0, Some(candidate)) => candidate.bytes as u32,
            (block, _) => block,
        };
        let start = self.start;
        ElementPlacement { start, bytes }
    }
}
