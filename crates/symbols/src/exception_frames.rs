//! The table that unwinding needs. Nearly every x86-64 program has one, since exceptions and
//! profilers need it: `strip` leaves it in place.
//!
//! Source: Linux Standard Base Core, section 10.6 (exception frames).

use std::borrow::Cow;

use gimli::{BaseAddresses, EhFrame, EndianSlice, LittleEndian};
use object::{Object, ObjectSection};

/// The `.eh_frame` of a file.
#[derive(Debug)]
pub(super) struct ExceptionFrames<'a> {
    data: Cow<'a, [u8]>,
    /// What its addresses are relative to.
    pub bases: BaseAddresses,
    address_size: u8,
}

impl<'a> ExceptionFrames<'a> {
    /// That of a file, if it has one.
    pub fn of(file: &object::File<'a>) -> Option<ExceptionFrames<'a>> {
        let section = file.section_by_name(".eh_frame")?;
        let address = |name| {
            let section = file.section_by_name(name);
            section.map_or(0, |found| found.address())
        };
        Some(ExceptionFrames {
            data: section.uncompressed_data().unwrap_or_default(),
            bases: BaseAddresses::default()
                .set_eh_frame(section.address())
                .set_text(address(".text"))
                .set_got(address(".got")),
            address_size: if file.is_64() { 8 } else { 4 },
        })
    }

    /// The same, without the file.
    pub fn into_owned(self) -> ExceptionFrames<'static> {
        ExceptionFrames {
            data: Cow::Owned(self.data.into_owned()),
            ..self
        }
    }

    /// Its entries.
    pub fn table(&self) -> EhFrame<EndianSlice<'_, LittleEndian>> {
        let mut table = EhFrame::new(&self.data, LittleEndian);
        table.set_address_size(self.address_size);
        table
    }
}
