//! [`CauseCell`] and [`CellPlace`]: what analyses have to know of cells.

use reuselens_profile::ElementUse;

/// What is known of a cell when its first access is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseCell {
    /// Its instruction, by a number that no other instruction has.
    pub site: u32,
    /// Its object, by a number that no other object has.
    pub object: u32,
    /// Bytes of an element of the object. 0, or more than [`ElementUse::MOST_BYTES`], if accesses
    /// are not to be broken down by their bytes.
    pub element_bytes: u32,
    /// Whether each block of the object up to the cell's first access is a single element, as the
    /// nodes of a list are. What a line has before and after the element then counts for no
    /// element.
    pub is_single: bool,
}

impl CauseCell {
    /// Bytes of an element whose bytes have counters; 0 if there are none.
    pub(crate) fn counted_bytes(&self) -> u32 {
        match self.element_bytes {
            bytes if u64::from(bytes) <= ElementUse::MOST_BYTES => bytes,
            _ => 0,
        }
    }
}

/// Where a cell is in the tables of the profile, which is known at the end. Two cells can be at one
/// place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellPlace {
    /// Index into [`Profile::sites`](reuselens_profile::Profile::sites).
    pub site: u32,
    /// Index into [`Profile::objects`](reuselens_profile::Profile::objects).
    pub object: u32,
}
