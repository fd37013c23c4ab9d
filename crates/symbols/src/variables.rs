//! Static variables by DWARF: the file that defines each, the size of an element, and the type.
//! Other readers of DWARF share its ways to go over files, units, entries and attributes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use gimli::{
    Abbreviation, AttributeValue, DebuggingInformationEntry, DwarfSections, EndianSlice,
    RunTimeEndian, SectionId, UnitOffset,
};
use object::{Object, ObjectSection};
use reuselens_attribute::Variable;
use reuselens_io::{read_object_file, text_of_bytes};

use super::exact_names;
use super::layouts::Layouts;

pub(super) type Reader<'a> = EndianSlice<'a, RunTimeEndian>;
pub(super) type Entry<'a> = DebuggingInformationEntry<Reader<'a>>;
pub(super) type Unit<'a> = gimli::UnitRef<'a, Reader<'a>>;

/// Types are followed through at most this many qualifiers and names.
pub(super) const MAX_STEPS: usize = 32;

/// The variables of a file by address, with their types if `with_layouts`; what cannot be read is
/// left out. Cost: one walk over the debug information.
pub(super) fn read(path: &Path, with_layouts: bool) -> BTreeMap<u64, Variable> {
    let mut variables = BTreeMap::new();
    let Ok((_, bytes)) = read_object_file(path) else {
        return variables;
    };
    let Ok(file) = object::File::parse(&*bytes) else {
        return variables;
    };
    // A part that cannot be read ends the walk: what was found stays.
    let _ = for_each_unit(&file, |unit| {
        let mut layouts = with_layouts.then(|| Layouts::new(unit));
        let _ = walk_unit(unit, layouts.as_mut(), &mut variables);
    });
    variables
}

/// The sections that say what variables there are, where and of which type. Others, such as the
/// lists of locations, are larger, and unpacking them would take most of the time.
pub(super) const SECTIONS: [SectionId; 7] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

/// The sections of a file's debug information that are used, unpacked, and the order of its bytes.
/// The others are empty.
pub(super) fn sections<'a, T: From<Cow<'a, [u8]>>>(
    file: &object::File<'a>,
    is_used: impl Fn(SectionId) -> bool,
) -> Option<(DwarfSections<T>, RunTimeEndian)> {
    let endian = if file.is_little_endian() {
        RunTimeEndian::Little
    } else {
        RunTimeEndian::Big
    };
    let load = |id: SectionId| {
        let name = is_used(id).then_some(id.name());
        let section = name.and_then(|name| file.section_by_name(name));
        let data = section.and_then(|section| section.uncompressed_data().ok());
        Ok::<_, gimli::Error>(data.unwrap_or(Cow::Borrowed(&[])).into())
    };
    Some((DwarfSections::load(load).ok()?, endian))
}

/// Calls `visit` on each unit of a file's debug information that can be read.
pub(super) fn for_each_unit(
    file: &object::File<'_>,
    mut visit: impl FnMut(Unit<'_>),
) -> Option<()> {
    let is_used = |id| SECTIONS.contains(&id);
    let (sections, endian) = sections::<Cow<'_, [u8]>>(file, is_used)?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, endian));
    let mut headers = dwarf.units();
    while let Some(header) = headers.next().ok()? {
        if let Ok(unit) = dwarf.unit(header) {
            visit(unit.unit_ref(&dwarf));
        }
    }
    Some(())
}

/// Most entries are no variables, or are in registers and frames: these are skipped by their
/// abbreviation, without reading an attribute. For the C library that is a third of the time.
fn walk_unit<'a>(
    unit: Unit<'a>,
    mut layouts: Option<&mut Layouts<'a>>,
    variables: &mut BTreeMap<u64, Variable>,
) -> gimli::Result<()> {
    for_each_entry(unit, |offset, _, abbreviation| {
        if !may_have_address(abbreviation) {
            return Ok(());
        }
        let entry = unit.entry(offset)?;
        if let Some(address) = address(unit, &entry) {
            variables.insert(address, variable(unit, layouts.as_deref_mut(), &entry));
        }
        Ok(())
    })
}

/// Calls `visit` on each entry of a unit, with its offset, its depth and its abbreviation, which
/// has its tag and the names of its attributes. The attributes themselves are skipped. Ends with
/// the first error, also of `visit`.
pub(super) fn for_each_entry(
    unit: Unit<'_>,
    mut visit: impl FnMut(UnitOffset, isize, &Abbreviation) -> gimli::Result<()>,
) -> gimli::Result<()> {
    let mut entries = unit.entries_raw(None)?;
    while !entries.is_empty() {
        let (offset, depth) = (entries.next_offset(), entries.next_depth());
        // Without an abbreviation, it is the end of a list of siblings.
        if let Some(abbreviation) = entries.read_abbreviation()? {
            entries.skip_attributes(abbreviation.attributes())?;
            visit(offset, depth, abbreviation)?;
        }
    }
    Ok(())
}

/// Whether entries of this kind are variables with one place, and not with a list of places.
fn may_have_address(abbreviation: &Abbreviation) -> bool {
    let is_list = |form| matches!(form, gimli::DW_FORM_sec_offset | gimli::DW_FORM_loclistx);
    let mut attributes = abbreviation.attributes().iter();
    abbreviation.tag() == gimli::DW_TAG_variable
        && attributes.any(|attribute| {
            attribute.name() == gimli::DW_AT_location && !is_list(attribute.form())
        })
}

/// The fixed address of a variable, if it has one.
pub(super) fn address(unit: Unit<'_>, entry: &Entry<'_>) -> Option<u64> {
    let expression = entry.attr_value(gimli::DW_AT_location)?.exprloc_value()?;
    let mut operations = expression.operations(unit.encoding());
    let address = match operations.next().ok()?? {
        gimli::Operation::Address { address } => address,
        gimli::Operation::AddressIndex { index } => unit.address(index).ok()?,
        _ => return None,
    };
    // More steps: a thread-local variable, or one in pieces.
    operations.next().ok()?.is_none().then_some(address)
}

fn variable<'a>(unit: Unit<'a>, layouts: Option<&mut Layouts<'a>>, entry: &Entry<'a>) -> Variable {
    let declared = declaration(unit, entry);
    let attribute = |name| attribute_of(entry, declared.as_ref(), name);
    let kind = attribute(gimli::DW_AT_type).and_then(offset);
    let file = attribute(gimli::DW_AT_decl_file).and_then(|value| file_of(unit, value));
    Variable {
        file: file.or_else(|| unit_name(unit)).unwrap_or_default(),
        element_bytes: kind.and_then(|kind| element_bytes(unit, kind)).unwrap_or(0),
        layout: kind
            .zip(layouts)
            .and_then(|(kind, layouts)| layouts.of_element(kind)),
    }
}

/// An attribute of an entry, or else of the one that it refers to.
pub(super) fn attribute_of<'a>(
    entry: &Entry<'a>,
    declared: Option<&Entry<'a>>,
    name: gimli::DwAt,
) -> Option<AttributeValue<Reader<'a>>> {
    let of_declared = || declared.and_then(|entry| entry.attr_value(name));
    entry.attr_value(name).or_else(of_declared)
}

/// The entry that a definition refers to for its type (members of C++ classes, inlined ones).
pub(super) fn declaration<'a>(unit: Unit<'a>, entry: &Entry<'a>) -> Option<Entry<'a>> {
    let value = entry
        .attr_value(gimli::DW_AT_specification)
        .or_else(|| entry.attr_value(gimli::DW_AT_abstract_origin))?;
    unit.entry(offset(value)?).ok()
}

pub(super) fn offset(value: AttributeValue<Reader<'_>>) -> Option<UnitOffset> {
    match value {
        AttributeValue::UnitRef(offset) => Some(offset),
        _ => None,
    }
}

pub(super) fn file_of<'a>(unit: Unit<'a>, value: AttributeValue<Reader<'a>>) -> Option<String> {
    let index = match value {
        AttributeValue::FileIndex(index) => index,
        other => other.udata_value()?,
    };
    let header = unit.line_program.as_ref()?.header();
    exact_names::string(unit, header.file(index)?.path_name())
}

/// The code of an entry.
pub(super) fn ranges<'a>(unit: Unit<'a>, entry: &Entry<'a>) -> Vec<Range<u64>> {
    let mut found = Vec::new();
    let Ok(mut ranges) = unit.die_ranges(entry) else {
        return found;
    };
    while let Ok(Some(range)) = ranges.next() {
        // Code at 0 is what the linker threw away.
        if 0 < range.begin && range.begin < range.end {
            found.push(range.begin..range.end);
        }
    }
    found
}

fn unit_name(unit: Unit<'_>) -> Option<String> {
    unit.name
        .map(|name| text_of_bytes(name.slice()).into_owned())
}

/// Bytes of an array's element, or of the whole where the type is no array.
pub(super) fn element_bytes(unit: Unit<'_>, kind: UnitOffset) -> Option<u64> {
    let mut kind = kind;
    for _ in 0..MAX_STEPS {
        let entry = unit.entry(kind).ok()?;
        match entry.tag() {
            gimli::DW_TAG_array_type
            | gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => kind = offset(entry.attr_value(gimli::DW_AT_type)?)?,
            tag => {
                let bytes = entry
                    .attr_value(gimli::DW_AT_byte_size)
                    .and_then(|value| value.udata_value());
                let is_pointer = tag == gimli::DW_TAG_pointer_type;
                return bytes.or(is_pointer.then_some(u64::from(unit.encoding().address_size)));
            }
        }
    }
    None
}
