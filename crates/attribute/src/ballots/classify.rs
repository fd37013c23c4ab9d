//! How a ballot classifies accesses: by the type that the allocating call shows, or by the
//! candidate that earlier accesses made, which a later one may revise.

use std::ops::Range;
use std::sync::Arc;

use reuselens_profile::{DataLayout, ElementUse};

use super::fit::{Fit, are_in_one_array, extends, fit, has_one_place, is_link, is_same};
use super::{ALIGNMENTS, Ballot, Class, HEAD, MAX_EARLIER, MAX_START, with_stride};
use crate::symbol_source::AccessedType;

impl Ballot {
    /// Classifies an access to a byte of a block. Accesses of the same instruction at the returned
    /// offsets in elements have the same class.
    pub(super) fn classify(&mut self, access: &Arc<AccessedType>, at: u64) -> (Class, Range<u32>) {
        let known = self.allocated.as_ref().or(self.candidate.as_ref());
        let Some(known) = known.map(Arc::clone) else {
            return self.classify_first(access, at);
        };
        let Some(inner) = at.checked_sub(self.start.into()) else {
            return self.classify_in_head(access, at as u32);
        };
        let bytes = known.bytes;
        let found = fit(access, &known, (inner % bytes) as u32);
        if self.allocated.is_none() && !matches!(found, Fit::Agrees(_)) {
            let revised = self.revised(access, &known, (at, &found));
            if let Some((candidate, start)) = revised {
                let old = self.elements();
                (self.candidate, self.start) = (Some(candidate), start);
                if old.start == start {
                    self.counted.push(old.bytes)
                } else {
                    // The offsets counted so far were of a head.
                    self.counted.clear()
                }
                return self.classify(access, at);
            }
        }
        let (class, range) = match found {
            Fit::Agrees(range) => (Class::Agrees, range),
            Fit::Open(range) => (Class::Open, range),
            Fit::Against(range) => (Class::Against, range),
        };
        self.has_field |= class == Class::Agrees;
        let is_further = inner >= bytes;
        self.has_several |= class == Class::Agrees && is_further;
        self.may_have_several |= is_further && is_same(&access.layout, &known);
        self.is_broken |= class == Class::Against && self.allocated.is_none();
        // Where blocks have one size, offsets are those in the block.
        let element = if self.allocated.is_none() && self.block != 0 {
            (inner - inner % bytes) as u32
        } else {
            0
        };
        (class, range.start + element..range.end + element)
    }

    /// Whether an instruction that would access all elements at one offset accessed two. Then it is
    /// to an array of other data, which follows the structure that its address is of.
    pub(super) fn is_elsewhere(&self, access: &AccessedType, one: u32, other: u32) -> bool {
        let known = self.allocated.as_ref().or(self.candidate.as_ref());
        let Some(known) = known.filter(|known| has_one_place(access, known)) else {
            return false;
        };
        let [inner, other_inner] = [one, other].map(|at| (u64::from(at) % known.bytes) as u32);
        let is_moved = inner != other_inner && !are_in_one_array(known, inner, other_inner);
        is_moved && one.max(other) < HEAD
    }

    /// Classifies an access to a byte before the first element. It shows nothing, unless it is to
    /// an element: then the elements begin elsewhere.
    fn classify_in_head(&mut self, access: &AccessedType, at: u32) -> (Class, Range<u32>) {
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

    /// Another type and start of the first element, of which both an access that does not agree
    /// with the present type and all accesses before can be: `None` if there is none.
    fn revised(
        &mut self,
        access: &AccessedType,
        known: &Arc<DataLayout>,
        (at, found): (u64, &Fit),
    ) -> Option<(Arc<DataLayout>, u32)> {
        // A class that is derived from it. Elements stay as far apart as they are.
        let layout = &access.layout;
        if self.can_be_of(access) && extends(layout, known) {
            let bytes = layout.bytes.max(known.bytes);
            return Some((with_stride(layout, bytes), self.start));
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
            return is_stride.then(|| (with_stride(layout, stride), self.start));
        }
        // Another type: the accesses so far were to a head.
        if self.has_head || self.may_have_several || !self.can_be_of(access) {
            return None;
        }
        let further = after.checked_sub(known.bytes)? % layout.bytes;
        let start = u64::from(self.start) + known.bytes + further;
        self.has_head = true;
        (start <= MAX_START).then(|| (Arc::clone(layout), start as u32))
    }

    /// Classifies an access while no type is known to check it against. It may show the first one.
    fn classify_first(&mut self, access: &Arc<AccessedType>, at: u64) -> (Class, Range<u32>) {
        if !self.can_be_of(access) || is_link(access) {
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
        self.classify(access, at)
    }

    /// Whether blocks can be arrays of the type of an access.
    fn can_be_of(&self, access: &AccessedType) -> bool {
        let layout = &access.layout;
        let fits = match self.block {
            0 => layout.bytes <= self.largest,
            block => u64::from(block).is_multiple_of(layout.bytes),
        };
        let is_small = layout.bytes <= ElementUse::MOST_BYTES;
        fits && is_small && !layout.fields.is_empty() && !access.has_tail
    }

    /// Ends a vote: whether further accesses of the same instruction to the same field need only be
    /// counted. As long as only first elements were accessed, any of them may be the first to
    /// another element. Accesses before there is a type are kept, to be checked later.
    pub(super) fn end_vote(&mut self) -> bool {
        if self.allocated.is_none() && self.candidate.is_none() {
            return self.earlier.len() >= MAX_EARLIER;
        }
        let needs_several = self.block == 0 && self.candidate.is_some() && !self.has_several;
        self.patience = self.patience.saturating_sub(u32::from(needs_several));
        // From here on, accesses of these instructions are counted wherever they are.
        self.may_have_several |= self.patience == 0;
        !needs_several || self.patience == 0
    }

    /// The type that the accesses show. A block of several elements must have been accessed beyond
    /// the first: else it may be other data with a head of this type.
    pub(super) fn elected(&self) -> Option<&Arc<DataLayout>> {
        let candidate = self.candidate.as_ref()?;
        let is_one = u64::from(self.block) == candidate.bytes;
        let is_shown = self.has_field && (is_one || self.has_several);
        (is_shown && !self.is_broken).then_some(candidate)
    }
}
