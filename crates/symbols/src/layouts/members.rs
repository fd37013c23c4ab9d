//! [`Member`]: what a structure declares.

use std::sync::Arc;

use gimli::{Operation, UnitOffset};

use super::{Layouts, types};
use crate::variables::{Entry, offset};

/// Members of a structure beyond which it has none.
const MAX_MEMBERS: usize = 1 << 12;
/// How deep within a structure its members may be: a variant part, a variant, a member.
const VARIANT_MEMBER: isize = 3;

/// A member of a structure, or one of its base classes.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its name; empty for base classes and for anonymous members.
    pub name: String,
    pub kind: UnitOffset,
    /// Offset of its first byte in the structure.
    pub begin: u64,
    /// Its bytes, if it is a bit field: those that have a bit of it.
    pub bit_bytes: Option<u64>,
}

impl<'a> Layouts<'a> {
    /// The members of a structure. Empty if the structure has too many. `None` if the budget is
    /// spent.
    pub(super) fn members(&mut self, structure: UnitOffset) -> Option<Arc<[Member]>> {
        if let Some(members) = self.memory.members.get(&structure) {
            return Some(Arc::clone(members));
        }
        let mut members = Vec::new();
        for member in self.entries_of_members(structure)? {
            let Ok(entry) = self.unit.entry(member) else {
                continue;
            };
            members.extend(self.member(&entry));
        }
        if members.len() > MAX_MEMBERS {
            members.clear();
        }
        let members: Arc<[Member]> = members.into();
        self.memory.members.insert(structure, Arc::clone(&members));
        Some(members)
    }

    /// The entries of a structure's members and base classes, those of its variants included, but
    /// not those of types that are declared in it.
    fn entries_of_members(&mut self, structure: UnitOffset) -> Option<Vec<UnitOffset>> {
        let unit = self.unit;
        let mut entries = unit.entries_raw(Some(structure)).ok()?;
        let mut found = Vec::new();
        // The depth of the last entry that is neither a part nor a variant: what is deeper is not
        // of this structure.
        let mut foreign = isize::MAX;
        let mut read = 0;
        while !entries.is_empty() {
            let (place, depth) = (entries.next_offset(), entries.next_depth());
            if depth <= 0 && read > 0 {
                break;
            }
            read += 1;
            let Ok(abbreviation) = entries.read_abbreviation() else {
                break;
            };
            let Some(abbreviation) = abbreviation else {
                continue;
            };
            if entries.skip_attributes(abbreviation.attributes()).is_err() {
                break;
            }
            if depth > foreign || depth == 0 {
                continue;
            }
            foreign = isize::MAX;
            match abbreviation.tag() {
                gimli::DW_TAG_member | gimli::DW_TAG_inheritance if depth <= VARIANT_MEMBER => {
                    found.push(place);
                }
                gimli::DW_TAG_variant_part | gimli::DW_TAG_variant => {}
                _ => foreign = depth,
            }
        }
        self.spend(read)?;
        Some(found)
    }

    /// A member, if it has a place in the structure that does not depend on the run.
    fn member(&mut self, entry: &Entry<'a>) -> Option<Member> {
        let of = |name| entry.attr_value(name);
        let is_static = [gimli::DW_AT_external, gimli::DW_AT_declaration];
        let is_static = is_static.into_iter().any(|name| of(name).is_some());
        let kind = offset(of(gimli::DW_AT_type)?)?;
        let has_place = of(gimli::DW_AT_data_member_location).is_some();
        if is_static && !has_place {
            return None;
        }
        let start = if has_place { self.start(entry)? } else { 0 };
        let (begin, bit_bytes) = match self.bits(entry, start, kind) {
            Some((begin, bytes)) => (begin, Some(bytes)),
            None => (start, None),
        };
        let name = match entry.tag() {
            gimli::DW_TAG_inheritance => String::new(),
            // The discriminant of an enumeration of Rust.
            _ if of(gimli::DW_AT_artificial).is_some() && of(gimli::DW_AT_name).is_none() => {
                "tag".to_owned()
            }
            _ => self.own_name(entry).unwrap_or_default(),
        };
        self.spend(name.len())?;
        Some(Member {
            name: field_of_tuple(name),
            kind,
            begin,
            bit_bytes,
        })
    }

    /// Where a member begins: a number, or an expression that adds one. Virtual base classes have
    /// other expressions.
    fn start(&self, entry: &Entry<'a>) -> Option<u64> {
        let value = entry.attr_value(gimli::DW_AT_data_member_location)?;
        let Some(expression) = value.exprloc_value() else {
            return value.udata_value();
        };
        let mut operations = expression.operations(self.unit.encoding());
        let Operation::PlusConstant { value } = operations.next().ok()?? else {
            return None;
        };
        operations.next().ok()?.is_none().then_some(value)
    }

    /// The bytes that have bits of a bit field: the first, and how many. `None` if it is none.
    fn bits(&self, entry: &Entry<'a>, start: u64, kind: UnitOffset) -> Option<(u64, u64)> {
        let number = |name| entry.attr_value(name)?.udata_value();
        let bits = number(gimli::DW_AT_bit_size)?;
        let first = match number(gimli::DW_AT_data_bit_offset) {
            Some(first) => start.checked_mul(8)?.checked_add(first)?,
            // Up to DWARF 3: bits from the most significant end of a number at `start`.
            None => {
                let of_type = || types::size(self.unit, kind).map(types::Size::bytes);
                let unit = number(gimli::DW_AT_byte_size).or_else(of_type)?;
                let before = number(gimli::DW_AT_bit_offset)?.checked_add(bits)?;
                let first = unit.checked_mul(8)?.checked_sub(before)?;
                start.checked_mul(8)?.checked_add(first)?
            }
        };
        let end = first.checked_add(bits)?.div_ceil(8);
        Some((first / 8, end.checked_sub(first / 8)?))
    }
}

/// `0` for `__0`, as Rust has fields of tuples.
fn field_of_tuple(name: String) -> String {
    match name.strip_prefix("__") {
        Some(index) if !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) => {
            index.to_owned()
        }
        _ => name,
    }
}
