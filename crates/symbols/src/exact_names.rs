//! Names that debug information has, as text that keeps all their bytes: compilers take names of
//! variables, types, functions and files as they are in the source, whatever its encoding.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use gimli::AttributeValue;
use reuselens_io::text_of_bytes;

use super::variables::{Entry, Reader, Unit};

/// The text of a string of debug information, as [`text_of_bytes`] has it.
pub(super) fn string<'a>(unit: Unit<'a>, value: AttributeValue<Reader<'a>>) -> Option<String> {
    let name = unit.attr_string(value).ok()?;
    Some(text_of_bytes(name.slice()).into_owned())
}

/// The name that an entry itself has.
pub(super) fn own_name<'a>(unit: Unit<'a>, entry: &Entry<'a>) -> Option<String> {
    string(unit, entry.attr_value(gimli::DW_AT_name)?)
}

/// The path of a source file of a unit, by its number, with the folders that the unit names.
pub(super) fn path(unit: Unit<'_>, index: u64) -> Option<PathBuf> {
    let header = unit.line_program.as_ref()?.header();
    let file = header.file(index)?;
    let mut path = PathBuf::new();
    if let Some(folder) = unit.comp_dir {
        path.push(OsStr::from_bytes(folder.slice()));
    }
    // The folder of number 0 is that of the unit.
    if file.directory_index() != 0 {
        let folder = unit.attr_string(file.directory(header)?).ok()?;
        path.push(OsStr::from_bytes(folder.slice()));
    }
    let name = unit.attr_string(file.path_name()).ok()?;
    path.push(OsStr::from_bytes(name.slice()));
    Some(path)
}
