//! The types of blocks of the heap by the instructions that access them.
//!
//! Each heap object has a *ballot*. An instruction whose debug information says that it accesses a
//! field of a structure votes for that structure with each of its accesses to the object's blocks.
//! The first such type is the *candidate*, and every access that shows a type is checked against
//! it: the field must be where the candidate has it, counted from the begin of the block
//! ([`fit`]). One access that does not fit, and the object has no type. So blocks that an allocator
//! carves for several types have none.
//!
//! Per access that is one comparison: an instruction that accessed this object's field before says
//! nothing new. What else there is to do comes once for each instruction, object and field.

mod fit;

use std::ops::Range;
use std::sync::Arc;

use reuselens_locality::{DataLayout, ElementUse, TypeOrigin};

use crate::symbols::AccessedType;
use fit::{Fit, are_in_one_array, extends, fit, has_one_place, is_link};

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
    /// The state of a ballot that they are known for, or [`ANY`], or 0 for none.
    tag: u32,
    /// Where in elements they begin: from here on, and so many bytes.
    low: u32,
    bytes: u32,
    class: Class,
}

/// All objects.
const ANY: u32 = u32::MAX;

impl KnownAccesses {
    const NONE: KnownAccesses = KnownAccesses {
        tag: 0,
        low: 0,
        bytes: 0,
        class: Class::Open,
    };
}

/// The offset of the first byte of a block that has bytes before its first element.
pub(crate) const HEAD: u32 = 1 << 16;
/// Bytes that may be before the first element.
const MAX_START: u64 = 1 << 12;
/// What allocators align data to.
const ALIGNMENTS: [u64; 4] = [8, 16, 32, 64];
/// Accesses that are remembered until a type is known that they can be checked against.
const MAX_EARLIER: usize = 64;
/// How many accesses to the first element of a block are looked at closely.
const PATIENCE: u32 = 1 << 10;
/// The share of the program's own accesses that must show the type: one in so many.
const LEAST_SHARE: u64 = 2;
/// There is no type if one in so many of the program's own accesses shows nothing at all: those may
/// be to data of another type that has as many bytes.
const MOST_UNTYPED: u64 = 10;
/// A type by the allocating call is dropped if one in so many accesses shows another.
const MOST_AGAINST: u64 = 100;

/// Where the elements of an object's blocks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementPlacement {
    /// Bytes of a block before the first.
    pub start: u32,
    /// Bytes of one; 0 if they are unknown.
    pub bytes: u32,
}

/// Whether some of all are one in so many at least.
fn is_share(some: u64, all: u64, many: u64) -> bool {
    some.saturating_mul(many) >= all
}

/// A type whose elements are so many bytes apart.
fn apart(layout: &Arc<DataLayout>, bytes: u64) -> Arc<DataLayout> {
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
    /// The bytes of each block, if all have as many and they are no more than elements may have.
    /// Offsets are then those in the block.
    block: u32,
    /// Bytes of the largest block.
    largest: u64,
    /// Whether offsets never were those in blocks. Then blocks may have a head before the first
    /// element, and elements may be further apart than their type has bytes.
    is_pool: bool,
    /// Bytes of a block before the first element: the head of a chunk, for instance.
    start: u32,
    /// Whether accesses of another type showed that there is a head.
    has_head: bool,
    /// Whether two accesses contradict each other.
    is_broken: bool,
    /// Whether an access to a known field was seen where it is, and whether one beyond the first
    /// element.
    has_field: bool,
    has_several: bool,
    patience: u32,
    /// Other bytes of elements, of which offsets were counted before.
    counted: Vec<u32>,
    /// Accesses that show what is no candidate, of numbers for instance, with the bytes of blocks
    /// that they begin at, as long as there is no candidate.
    earlier: Vec<(Arc<AccessedType>, u64)>,
    /// Its accesses by [`Class`], without those of its present tag.
    counts: [u64; CLASSES],
}

/// What became of a ballot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BallotOutcome {
    /// The accesses show this type. Offsets were also counted in these other sizes of elements.
    Type(Arc<DataLayout>, TypeOrigin, Vec<u32>),
    /// They contradict the type that the allocating call shows.
    Contradicted,
    /// They show no type. Offsets were counted in elements of so many bytes, or in none.
    None(u32),
}

/// The ballots of all heap objects without a type, or with a structure that the allocating call
/// shows.
#[derive(Debug, Default)]
pub(crate) struct Ballots {
    /// By object, the state of its ballot; 0 = it has none, or its type is decided.
    tags: Vec<u32>,
    /// By object, the index of its ballot plus one; 0 = none.
    numbers: Vec<u32>,
    list: Vec<Ballot>,
    /// By tag, accesses by [`Class`].
    states: Vec<[u64; CLASSES]>,
    /// By site.
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
    /// An object gets a ballot, with its first block. It has none if it has elements of 4 GiB or
    /// more.
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

    /// Whether a block of so many bytes changes the size of an object's elements.
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

    /// The object's type is decided otherwise.
    pub fn close(&mut self, object: u32) {
        if let Some(ballot) = self.ballot(object) {
            ballot.is_broken = true;
            self.renew(object);
        }
    }

    /// Counts an access at an offset of an element, if that needs no other look: 0 if the bytes of
    /// an element are unknown, or [`HEAD`] and more before the first element. True for objects
    /// without a ballot.
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

    /// Whether it was asked what an instruction accesses.
    pub fn was_asked(&self, site: u32) -> bool {
        let known = self.accesses.get(site as usize);
        let is_any = self
            .known
            .get(site as usize)
            .is_some_and(|it| it.tag == ANY);
        is_any || known.is_some_and(Option::is_some)
    }

    /// An instruction shows this.
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

    /// Counts an access to a byte of a block, and lets it vote. Returns the object's elements from
    /// now on, if these change.
    pub fn vote(&mut self, object: u32, site: u32, at: u64) -> Option<ElementPlacement> {
        let access = Arc::clone(self.accesses.get(site as usize)?.as_ref()?);
        let tag = self.tags.get(object as usize).copied().unwrap_or(0);
        let last = self.known.get(site as usize).filter(|it| it.tag == tag);
        let last = last.map(|it| it.low);
        let ballot = self.ballot(object)?;
        let before = (
            ballot.elements(),
            ballot.is_broken,
            ballot.candidate.clone(),
        );
        let (mut class, range) = ballot.look(&access, at);
        if last.is_some_and(|last| ballot.is_elsewhere(&access, last, range.start)) {
            class = Class::Against;
            ballot.is_broken |= ballot.allocated.is_none();
        }
        let is_final = ballot.is_final();
        let after = (
            ballot.elements(),
            ballot.is_broken,
            ballot.candidate.clone(),
        );
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
            return Some(match is_against {
                true => BallotOutcome::Contradicted,
                false => {
                    BallotOutcome::None(ballot.allocated.as_ref().map_or(0, |it| it.bytes as u32))
                }
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

    /// What is known of accesses to an object holds no more.
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
        self.tags[object as usize] = match is_over {
            true => 0,
            false => self.states.len() as u32,
        };
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

    /// What an access to a byte of a block is, and the offsets in elements of which that is true.
    fn look(&mut self, access: &Arc<AccessedType>, at: u64) -> (Class, Range<u32>) {
        let known = self.allocated.as_ref().or(self.candidate.as_ref());
        let Some(known) = known.map(Arc::clone) else {
            return self.look_first(access, at);
        };
        let Some(inner) = at.checked_sub(self.start.into()) else {
            return self.look_in_head(access, at as u32);
        };
        let bytes = known.bytes;
        let found = fit(access, &known, (inner % bytes) as u32);
        if self.allocated.is_none() && !matches!(found, Fit::Agrees(_)) {
            let better = self.better(access, &known, (at, &found));
            if let Some((candidate, start)) = better {
                let old = self.elements();
                (self.candidate, self.start) = (Some(candidate), start);
                match old.start == start {
                    true => self.counted.push(old.bytes),
                    // Those were of a head.
                    false => self.counted.clear(),
                }
                return self.look(access, at);
            }
        }
        let (class, range) = match found {
            Fit::Agrees(range) => (Class::Agrees, range),
            Fit::Open(range) => (Class::Open, range),
            Fit::Against(range) => (Class::Against, range),
        };
        self.has_field |= class == Class::Agrees;
        self.has_several |= class == Class::Agrees && inner >= bytes;
        self.is_broken |= class == Class::Against && self.allocated.is_none();
        // Offsets are those in the block, where it has one size.
        let element = match self.allocated.is_none() && self.block != 0 {
            true => (inner - inner % bytes) as u32,
            false => 0,
        };
        (class, range.start + element..range.end + element)
    }

    /// Whether two accesses of an instruction that is at one offset of all elements are not. Then
    /// it is to an array of something else, behind the structure that its address is of.
    fn is_elsewhere(&self, access: &AccessedType, one: u32, other: u32) -> bool {
        let known = self.allocated.as_ref().or(self.candidate.as_ref());
        let Some(known) = known.filter(|known| has_one_place(access, known)) else {
            return false;
        };
        let [inner, other_inner] = [one, other].map(|at| (u64::from(at) % known.bytes) as u32);
        let is_moved = inner != other_inner && !are_in_one_array(known, inner, other_inner);
        is_moved && one.max(other) < HEAD
    }

    /// An access to a byte before the first element. It says nothing, unless it is to an element.
    fn look_in_head(&mut self, access: &AccessedType, at: u32) -> (Class, Range<u32>) {
        let candidate = self.candidate.as_ref();
        let is_element = candidate.is_some_and(|it| it.fields == access.layout.fields);
        self.is_broken |= is_element;
        let class = if is_element {
            Class::Against
        } else {
            Class::Open
        };
        (class, HEAD + at..HEAD + at + 1)
    }

    /// A type and the begin of the first element that an access shows which does not agree with the
    /// type so far, if what was seen so far has a place there.
    fn better(
        &mut self,
        access: &AccessedType,
        known: &Arc<DataLayout>,
        (at, found): (u64, &Fit),
    ) -> Option<(Arc<DataLayout>, u32)> {
        // A class derived from it. Elements stay as far apart as they are.
        let layout = &access.layout;
        if self.may_be(access) && extends(layout, known) {
            let bytes = layout.bytes.max(known.bytes);
            return Some((apart(layout, bytes), self.start));
        }
        let is_exact = !access.is_indexed && matches!(found, Fit::Against(_));
        if !is_exact || !self.is_pool || self.has_several {
            return None;
        }
        let element = at.checked_sub(access.offset?.into())?;
        let after = element.checked_sub(self.start.into())?;
        // The same type: elements are further apart, as each is aligned, or a part of another type.
        if layout.fields == known.fields {
            let strides = ALIGNMENTS.map(|to| layout.bytes.next_multiple_of(to));
            let fits = |stride: &u64| *stride != known.bytes && after.is_multiple_of(*stride);
            let stride = strides.into_iter().find(fits).unwrap_or(after);
            let is_stride = (layout.bytes..=ElementUse::MOST_BYTES).contains(&stride);
            return is_stride.then(|| (apart(layout, stride), self.start));
        }
        // Another type: what was seen so far is a head.
        if self.has_head || !self.may_be(access) {
            return None;
        }
        let further = after.checked_sub(known.bytes)? % layout.bytes;
        let start = u64::from(self.start) + known.bytes + further;
        self.has_head = true;
        (start <= MAX_START).then(|| (Arc::clone(layout), start as u32))
    }

    /// The same without a type to check against: the access may show one.
    fn look_first(&mut self, access: &Arc<AccessedType>, at: u64) -> (Class, Range<u32>) {
        if !self.may_be(access) || is_link(access) {
            if self.earlier.len() < MAX_EARLIER {
                self.earlier.push((Arc::clone(access), at));
            }
            return (Class::Open, 0..u32::MAX);
        }
        let candidate = Arc::clone(&access.layout);
        let is_exact = self.is_pool && !access.is_indexed;
        if let Some(offset) = access.offset.filter(|_| is_exact) {
            let from_begin = (at % candidate.bytes) as i64 - i64::from(offset);
            self.start = from_begin.rem_euclid(candidate.bytes as i64) as u32;
        }
        let earlier = std::mem::take(&mut self.earlier);
        let start = u64::from(self.start);
        let contradicts = |(access, at): &(Arc<AccessedType>, u64)| {
            let inner = at.checked_sub(start).map(|inner| inner % candidate.bytes);
            let found = inner.map(|inner| fit(access, &candidate, inner as u32));
            matches!(found, Some(Fit::Against(_)))
        };
        self.is_broken = earlier.len() >= MAX_EARLIER || earlier.iter().any(contradicts);
        self.candidate = Some(candidate);
        self.look(access, at)
    }

    /// Whether blocks can be arrays of the type of an access.
    fn may_be(&self, access: &AccessedType) -> bool {
        let layout = &access.layout;
        let fits = match self.block {
            0 => layout.bytes <= self.largest,
            block => u64::from(block).is_multiple_of(layout.bytes),
        };
        let is_small = layout.bytes <= ElementUse::MOST_BYTES;
        fits && is_small && !layout.fields.is_empty() && !access.has_tail
    }

    /// Whether further accesses of the same instruction to the same field need no other look. As
    /// long as only first elements were accessed, any may be the first to another one. Those before
    /// there is a type are checked later.
    fn is_final(&mut self) -> bool {
        if self.allocated.is_none() && self.candidate.is_none() {
            return self.earlier.len() >= MAX_EARLIER;
        }
        let needs_several = self.block == 0 && self.candidate.is_some() && !self.has_several;
        self.patience = self.patience.saturating_sub(u32::from(needs_several));
        !needs_several || self.patience == 0
    }

    /// The type that the accesses show. A block of several elements must have been accessed beyond
    /// the first: else it may be other data with a head of this type.
    fn elected(&self) -> Option<&Arc<DataLayout>> {
        let candidate = self.candidate.as_ref()?;
        let is_one = u64::from(self.block) == candidate.bytes;
        let is_shown = self.has_field && (is_one || self.has_several);
        (is_shown && !self.is_broken).then_some(candidate)
    }
}
