//! The places of local variables in the frames of functions, by DWARF.
//!
//! In a program that the LLVM pass instrumented, accesses are recorded with addresses of code that
//! never runs: each function has a stand-in in a section of its own, whose debug information has
//! the function's name. So the frames of a function are those of its stand-in too.
//!
//! Source: DWARF 5, sections 2.5 (expressions), 3.3.5 (frame bases) and 4.1 (variables); System V
//! ABI for AMD64, section 3.6.2 (the canonical frame address).

mod walk;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use gimli::{DebugInfoOffset, DwarfSections, EndianSlice, RunTimeEndian, SectionId};
use object::{Object, ObjectSection, ReadCache};
use reuselens_attribute::{FrameLayout, FrameLayouts};
use reuselens_io::read_object_file;

use super::folded;
use super::unwind::Unwind;
use super::variables::{SECTIONS, Unit, sections};
use crate::checked_file::CheckedFile;

/// Where the LLVM pass puts a byte for each access of a function: what it records as the access's
/// place in the code. Must agree with `capture/llvm/pass.cpp`.
const SITES: &str = "reuselens_sites";

/// The frames of a file's functions: reads the file at the first question, and a unit at the first
/// question about a function of it.
#[derive(Debug)]
pub(super) struct Frames {
    named: CheckedFile,
    /// `None` within if it cannot be read.
    debug: Option<Option<Debug>>,
}

impl Frames {
    /// The frames of the functions of a file.
    pub fn new(named: CheckedFile) -> Frames {
        Frames { named, debug: None }
    }
}

impl FrameLayouts for Frames {
    fn at(&mut self, address: u64) -> Option<FrameLayout> {
        let named = &self.named;
        let debug = self.debug.get_or_insert_with(|| Debug::read(named));
        debug.as_mut()?.at(address)
    }
}

/// The debug information of a file.
#[derive(Debug)]
pub(super) struct Debug {
    sections: DwarfSections<Vec<u8>>,
    endian: RunTimeEndian,
    unwind: Unwind,
    /// The section with the stand-ins of functions; empty without one.
    sites: (u64, u64),
    /// Code of units: first addresses, first after, and which unit, in the order of the addresses.
    code: Vec<(u64, u64, usize)>,
    /// Units, and whether their functions are known.
    units: Vec<(DebugInfoOffset, bool)>,
    /// Code of functions: first address to first after, and which function.
    functions: BTreeMap<u64, (u64, usize)>,
    layouts: Vec<FrameLayout>,
    /// Where the code of several functions begins.
    folded: BTreeSet<u64>,
}

impl Debug {
    /// That of a file, if it can be read.
    pub fn read(named: &CheckedFile) -> Option<Debug> {
        let (_, bytes) = read_object_file(&named.path()).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let (sections, endian) = sections(&file, is_used)?;
        let mut debug = Debug {
            sections,
            endian,
            unwind: Unwind::of(&file),
            sites: sites(&file),
            code: Vec::new(),
            units: Vec::new(),
            functions: BTreeMap::new(),
            layouts: Vec::new(),
            folded: folded::functions(&file),
        };
        debug.find_units();
        Some(debug)
    }

    /// Reads the lists of locations as well: those sections of the file alone.
    pub fn add_locations(&mut self, named: &CheckedFile) -> Option<()> {
        let cache = ReadCache::new(&named.file);
        let file = object::File::parse(&cache).ok()?;
        let section = |id: SectionId| {
            let section = file.section_by_name(id.name());
            let data = section.and_then(|section| section.uncompressed_data().ok());
            data.map_or_else(Vec::new, Cow::into_owned)
        };
        self.sections.debug_loc = section(SectionId::DebugLoc).into();
        self.sections.debug_loclists = section(SectionId::DebugLocLists).into();
        Some(())
    }

    /// Where frames are in the code.
    pub fn unwind(&self) -> &Unwind {
        &self.unwind
    }

    /// Finds out which code is of which unit: as far as units can be read.
    fn find_units(&mut self) {
        let endian = self.endian;
        let dwarf = self
            .sections
            .borrow(|section| EndianSlice::new(section, endian));
        let mut headers = dwarf.units();
        while let Ok(Some(header)) = headers.next() {
            let Some(offset) = header.debug_info_offset() else {
                continue;
            };
            let Ok(unit) = dwarf.unit(header) else {
                continue;
            };
            if let Ok(mut ranges) = dwarf.unit_ranges(&unit) {
                while let Ok(Some(range)) = ranges.next() {
                    self.code.push((range.begin, range.end, self.units.len()));
                }
            }
            self.units.push((offset, false));
        }
        // Code at 0 is what the linker threw away.
        self.code.retain(|(low, high, _)| 0 < *low && low < high);
        self.code.sort_unstable();
    }

    /// The number of the unit that an instruction is in.
    pub fn unit_at(&self, address: u64) -> Option<usize> {
        let after = self.code.partition_point(|(low, ..)| *low <= address);
        let &(_, high, unit) = self.code[..after].last()?;
        (address < high).then_some(unit)
    }

    /// Whether the code of a function that begins at an address is of no other function.
    pub fn is_of_one_function(&self, start: u64) -> bool {
        let after = self.code.partition_point(|(low, ..)| *low <= start);
        let mut last = self.code[..after].iter().rev();
        let (one, other) = (last.next(), last.next());
        let other = other.filter(|other| one.is_some_and(|one| one.0 == other.0));
        other.is_none() && !self.folded.contains(&start)
    }

    /// The number of the unit that has an entry.
    pub fn unit_of(&self, entry: DebugInfoOffset) -> Option<usize> {
        let after = self.units.partition_point(|(first, _)| *first <= entry);
        after.checked_sub(1)
    }

    fn at(&mut self, address: u64) -> Option<FrameLayout> {
        let unit = self.unit_at(address)?;
        if !std::mem::replace(&mut self.units[unit].1, true) {
            self.read_unit(self.units[unit].0);
        }
        let (_, &(high, function)) = self.functions.range(..=address).next_back()?;
        (address < high).then(|| self.layouts[function].clone())
    }

    /// Looks something up in a unit.
    pub fn with_unit<T>(&self, unit: usize, look: impl FnOnce(Unit<'_>) -> T) -> Option<T> {
        let endian = self.endian;
        let dwarf = self
            .sections
            .borrow(|section| EndianSlice::new(section, endian));
        let header = dwarf.unit_header(self.units.get(unit)?.0);
        let unit = header.and_then(|header| dwarf.unit(header)).ok()?;
        Some(look(unit.unit_ref(&dwarf)))
    }

    /// Reads the functions of a unit: those before a part that cannot be read.
    fn read_unit(&mut self, offset: DebugInfoOffset) {
        let endian = self.endian;
        let dwarf = self
            .sections
            .borrow(|section| EndianSlice::new(section, endian));
        let unit = dwarf
            .unit_header(offset)
            .and_then(|header| dwarf.unit(header));
        let Ok(unit) = unit else {
            return;
        };
        for layout in walk::functions(unit.unit_ref(&dwarf), &self.unwind, self.sites) {
            for (low, high) in &layout.code {
                self.functions.insert(*low, (*high, self.layouts.len()));
            }
            self.layouts.push(layout);
        }
    }
}

/// The section with the stand-ins of functions: first address, and first after.
fn sites(file: &object::File) -> (u64, u64) {
    let section = file.section_by_name(SITES);
    section.map_or((0, 0), |section| {
        let low = section.address();
        (low, low.saturating_add(section.size()))
    })
}

/// Whether a section describes frames: variables, or which code belongs to which function.
fn is_used(id: SectionId) -> bool {
    let of_code = [SectionId::DebugRanges, SectionId::DebugRngLists];
    SECTIONS.contains(&id) || of_code.contains(&id)
}
