//! Fields of a structure, with those of nested structures, each byte in one field at most.

use gimli::UnitOffset;
use reuselens_attribute::known_names::is_library_type;
use reuselens_profile::LayoutField;

use super::{Layouts, is_structure, types};

/// Structures are opened to this depth.
const MAX_DEPTH: usize = 8;
/// A type with more fields has none.
const MAX_FIELDS: usize = 1 << 10;
/// What a field costs beside its name, in the budget of a unit.
const FIELD_COST: usize = 16;
/// Names of fields that share bytes that are spelled out.
const NAMES: usize = 3;

/// A structure that is opened.
struct OpenStructure<'n> {
    /// Offset of its first byte.
    begin: u64,
    /// Offset of the first byte after it.
    end: u64,
    /// What the names of its fields begin with.
    prefix: &'n str,
}

/// Fields as they are found.
#[derive(Default)]
struct Flattened {
    fields: Vec<LayoutField>,
    /// The structures that are open, the outermost first.
    open: Vec<UnitOffset>,
}

/// The size of a field that reaches up to the next one.
const UP_TO_NEXT: u64 = u64::MAX;

impl Layouts<'_> {
    /// The fields of a structure of this many bytes, by offset. `None` if the budget is spent.
    pub(super) fn fields(&mut self, structure: UnitOffset, bytes: u64) -> Option<Vec<LayoutField>> {
        let mut flattened = Flattened::default();
        let level = OpenStructure {
            begin: 0,
            end: bytes,
            prefix: "",
        };
        self.flatten(structure, &level, &mut flattened)?;
        if flattened.fields.len() > MAX_FIELDS {
            return Some(Vec::new());
        }
        Some(disjoint(flattened.fields, bytes))
    }

    fn flatten(
        &mut self,
        structure: UnitOffset,
        level: &OpenStructure<'_>,
        into: &mut Flattened,
    ) -> Option<()> {
        into.open.push(structure);
        for member in self.members(structure)?.iter() {
            let begin = level.begin.saturating_add(member.begin);
            if begin >= level.end || into.fields.len() > MAX_FIELDS {
                continue;
            }
            let name = format!("{}{}", level.prefix, member.name);
            self.spend(name.len() + FIELD_COST)?;
            let bytes = types::size(self.unit, member.kind).map(types::Size::bytes);
            let bytes = member.bit_bytes.or(bytes).unwrap_or(UP_TO_NEXT);
            let is_nameless = member.name.is_empty();
            if let Some(inner) = self.opened(member.kind, is_nameless, &into.open) {
                let prefix = if is_nameless { name } else { name + "." };
                let level = OpenStructure {
                    begin,
                    end: begin.saturating_add(bytes).min(level.end),
                    prefix: &prefix,
                };
                self.flatten(inner, &level, into)?;
                continue;
            }
            let bytes = match bytes {
                UP_TO_NEXT => UP_TO_NEXT,
                bytes => bytes.min(level.end - begin),
            };
            let type_name = self.type_name(member.kind);
            self.spend(type_name.len())?;
            into.fields.push(LayoutField {
                name: if is_nameless {
                    format!("{}{type_name}", level.prefix)
                } else {
                    name
                },
                type_name,
                offset: begin,
                bytes,
            });
        }
        into.open.pop();
        Some(())
    }

    /// The structure that a member is, if the member becomes that structure's members. Base classes
    /// and anonymous members (`is_nameless`) do, whose types they are.
    fn opened(
        &mut self,
        kind: UnitOffset,
        is_nameless: bool,
        open: &[UnitOffset],
    ) -> Option<UnitOffset> {
        let (kind, tag) = self.resolved(kind)?;
        let is_open = is_structure(tag) && open.len() < MAX_DEPTH && !open.contains(&kind);
        let is_closed = |name: String| !is_nameless && is_library_type(&name);
        (is_open && !is_closed(self.type_name(kind))).then_some(kind)
    }
}

/// Fields by offset, those that share bytes as one. Fields of no bytes are left out.
fn disjoint(mut fields: Vec<LayoutField>, bytes: u64) -> Vec<LayoutField> {
    fields.sort_by_key(|field| field.offset);
    let begins: Vec<u64> = fields.iter().map(|field| field.offset).collect();
    for field in &mut fields {
        if field.bytes == UP_TO_NEXT {
            let next = begins.partition_point(|begin| *begin <= field.offset);
            field.bytes = begins.get(next).unwrap_or(&bytes) - field.offset;
        }
    }
    let mut groups: Vec<Vec<LayoutField>> = Vec::new();
    // The end of the last group.
    let mut end = 0;
    for field in fields.into_iter().filter(|field| field.bytes > 0) {
        let own_end = field.offset + field.bytes;
        match groups.last_mut() {
            Some(group) if field.offset < end => {
                end = own_end.max(end);
                group.push(field);
            }
            _ => {
                end = own_end;
                groups.push(vec![field]);
            }
        }
    }
    groups.into_iter().filter_map(one_of).collect()
}

/// Fields that share bytes as one, in the order of their offsets.
fn one_of(group: Vec<LayoutField>) -> Option<LayoutField> {
    let first = group.first()?;
    let end = group.iter().map(|field| field.offset + field.bytes).max()?;
    let names: Vec<&str> = group.iter().map(|field| field.name.as_str()).collect();
    let mut type_names: Vec<&str> = group.iter().map(|field| field.type_name.as_str()).collect();
    type_names.dedup();
    Some(LayoutField {
        name: joined(&names),
        type_name: list(&type_names),
        offset: first.offset,
        bytes: end - first.offset,
    })
}

/// Names of fields that share bytes: `value.number/text` for `value.number` and `value.text`.
fn joined(names: &[&str]) -> String {
    let [first, rest @ ..] = names else {
        return String::new();
    };
    let common = |dot: &usize| rest.iter().all(|name| name.starts_with(&first[..=*dot]));
    let dots = first.match_indices('.').map(|(at, _)| at);
    let prefix = dots.take_while(common).last().map_or(0, |dot| dot + 1);
    let own: Vec<&str> = names.iter().map(|name| &name[prefix..]).collect();
    format!("{}{}", &first[..prefix], list(&own))
}

/// The first few of some names, and how many more there are.
fn list(names: &[&str]) -> String {
    let listed = names[..names.len().min(NAMES)].join("/");
    match names.len().saturating_sub(NAMES) {
        0 => listed,
        more => format!("{listed}/{more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, offset: u64, bytes: u64) -> LayoutField {
        LayoutField {
            name: name.into(),
            type_name: "int".into(),
            offset,
            bytes,
        }
    }

    #[test]
    fn fields_that_share_bytes_become_one() {
        let fields = vec![
            field("kind", 0, 4),
            field("value.number", 8, 8),
            field("value.text", 8, 24),
            field("value.tail", 31, 2),
            field("none", 33, 0),
            field("rest", 33, UP_TO_NEXT),
            field("end", 40, UP_TO_NEXT),
        ];
        let expected = [
            field("kind", 0, 4),
            field("value.number/text/tail", 8, 25),
            field("rest", 33, 7),
            field("end", 40, 8),
        ];
        assert_eq!(disjoint(fields, 48), expected);
    }

    #[test]
    fn names_of_many_fields_are_cut_short() {
        assert_eq!(joined(&["a.b.x", "a.b.y"]), "a.b.x/y");
        assert_eq!(joined(&["a.x", "b.x"]), "a.x/b.x");
        assert_eq!(joined(&["a", "b", "c", "d", "e"]), "a/b/c/2 more");
    }
}
