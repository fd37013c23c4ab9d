//! Pointers within types: what is at an offset, and what it points to.

use gimli::UnitOffset;

use super::{Layouts, is_structure, types};
use crate::variables::{MAX_STEPS, offset};

impl Layouts<'_> {
    /// The bytes of a type, if they are fixed.
    pub fn bytes(&self, kind: UnitOffset) -> Option<u64> {
        types::size(self.unit, kind).map(types::Size::bytes)
    }

    /// A type without its names and qualifiers. `None` for what has no bytes, such as `void`.
    pub fn plain(&self, kind: UnitOffset) -> Option<UnitOffset> {
        self.resolved(kind).map(|(kind, _)| kind)
    }

    /// What the pointer at an offset of a type points to. `None` if there is no pointer, if it
    /// points to anything (`void *`), or if members that share these bytes disagree.
    pub fn pointee_at(&mut self, kind: UnitOffset, at: u64) -> Option<UnitOffset> {
        self.pointee_within(kind, at, MAX_STEPS)
    }

    fn pointee_within(&mut self, kind: UnitOffset, at: u64, steps: usize) -> Option<UnitOffset> {
        let steps = steps.checked_sub(1)?;
        let (kind, tag) = self.resolved(kind)?;
        match tag {
            gimli::DW_TAG_pointer_type
            | gimli::DW_TAG_reference_type
            | gimli::DW_TAG_rvalue_reference_type => {
                let pointee = self.unit.entry(kind).ok()?.attr_value(gimli::DW_AT_type);
                pointee.and_then(offset).filter(|_| at == 0)
            }
            gimli::DW_TAG_array_type => {
                let element = self.unit.entry(kind).ok()?.attr_value(gimli::DW_AT_type);
                let element = element.and_then(offset)?;
                let bytes = self.bytes(element).filter(|bytes| *bytes > 0)?;
                self.pointee_within(element, at % bytes, steps)
            }
            tag if is_structure(tag) => {
                let members = self.members(kind)?;
                let mut found = None;
                for member in members.iter() {
                    let bytes = self.bytes(member.kind).unwrap_or(0);
                    let inner = at.checked_sub(member.begin).filter(|inner| *inner < bytes);
                    let Some(inner) = inner.filter(|_| !self.is_empty(member.kind)) else {
                        continue;
                    };
                    let pointee = self.pointee_within(member.kind, inner, steps)?;
                    if found.is_some_and(|found| found != pointee) {
                        return None;
                    }
                    found = Some(pointee);
                }
                found
            }
            _ => None,
        }
    }

    /// Whether elements of a type may have more bytes than the type: its last member is an array
    /// of unknown length, or of length 0 or 1, as such arrays were declared before C99.
    pub fn has_tail(&mut self, kind: UnitOffset) -> bool {
        let element = self.element(kind);
        element.is_some_and(|(element, _)| self.ends_with_tail(element, MAX_STEPS))
    }

    fn ends_with_tail(&mut self, kind: UnitOffset, steps: usize) -> bool {
        let (Some(steps), Some((kind, tag))) = (steps.checked_sub(1), self.resolved(kind)) else {
            return false;
        };
        if tag == gimli::DW_TAG_array_type {
            let element = self.unit.entry(kind).ok();
            let element = element.and_then(|entry| entry.attr_value(gimli::DW_AT_type));
            let one = element.and_then(offset).and_then(|it| self.bytes(it));
            return self.bytes(kind).is_none_or(|bytes| Some(bytes) <= one);
        }
        let members = is_structure(tag).then(|| self.members(kind)).flatten();
        let members = members.unwrap_or_default();
        let last = members.iter().map(|member| member.begin).max();
        let mut ends = members.iter().filter(|it| Some(it.begin) == last);
        ends.any(|member| self.ends_with_tail(member.kind, steps))
    }

    /// Whether a type has no members, as base classes can.
    fn is_empty(&mut self, kind: UnitOffset) -> bool {
        let structure = self.resolved(kind).filter(|(_, tag)| is_structure(*tag));
        let members = structure.and_then(|(kind, _)| self.members(kind));
        members.is_some_and(|members| members.is_empty())
    }
}
