//! Where DWARF says that local variables are in the frames of functions.
//!
//! Source: DWARF 5, sections 2.5 (expressions), 3.3.5 (frame bases) and 4.1 (variables); System V
//! ABI for AMD64, section 3.6.2 (the canonical frame address).

use std::borrow::Cow;
use std::collections::BTreeMap;

use gimli::{
    DebugInfoOffset, DwarfSections, EndianSlice, Operation, RunTimeEndian, SectionId, UnitOffset,
};
use object::{Object, ObjectSection};
use reuselens_trace::read_object_file;

use super::unwind::Unwind;
use super::variables::{
    Entry, SECTIONS, Unit, attribute_of, declaration, element_bytes, file_of, offset,
};
use super::{FORTRAN, Named, types};
use crate::loader::symbol_names::{demangled, fortran_name};
use crate::symbols::{FrameLayout, FrameLayouts, LocalVariable};

/// Arrays of fewer bytes are no objects of their own.
const LEAST_ARRAY: u64 = 16;
/// Structures of fewer bytes are no objects of their own: programs in C++ and Rust are full of them.
const LEAST_STRUCTURE: u64 = 32;

/// The frames of a file's functions: reads the file at the first question, and a unit at the first
/// question about a function of it.
#[derive(Debug)]
pub(super) struct Frames {
    named: Named,
    /// `None` within if it cannot be read.
    debug: Option<Option<Debug>>,
}

impl Frames {
    /// The frames of the functions of a file.
    pub fn new(named: Named) -> Frames {
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
struct Debug {
    sections: DwarfSections<Vec<u8>>,
    endian: RunTimeEndian,
    unwind: Unwind,
    /// Code of units: first addresses, first after, and which unit, in the order of the addresses.
    code: Vec<(u64, u64, usize)>,
    /// Units, and whether their functions are known.
    units: Vec<(DebugInfoOffset, bool)>,
    /// Code of functions: first address to first after, and which function.
    functions: BTreeMap<u64, (u64, usize)>,
    layouts: Vec<FrameLayout>,
}

impl Debug {
    fn read(named: &Named) -> Option<Debug> {
        let (_, bytes) = read_object_file(&named.path()).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let endian = match file.is_little_endian() {
            true => RunTimeEndian::Little,
            false => RunTimeEndian::Big,
        };
        let load = |id: SectionId| {
            let section = file.section_by_name(id.name()).filter(|_| is_used(id));
            let data = section.and_then(|section| section.uncompressed_data().ok());
            Ok::<_, gimli::Error>(data.map(Cow::into_owned).unwrap_or_default())
        };
        let mut debug = Debug {
            sections: DwarfSections::load(load).ok()?,
            endian,
            unwind: Unwind::of(&file),
            code: Vec::new(),
            units: Vec::new(),
            functions: BTreeMap::new(),
            layouts: Vec::new(),
        };
        debug.find_units();
        Some(debug)
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

    fn at(&mut self, address: u64) -> Option<FrameLayout> {
        let after = self.code.partition_point(|(low, ..)| *low <= address);
        let &(_, high, unit) = self.code[..after].last()?;
        if address >= high {
            return None;
        }
        if !std::mem::replace(&mut self.units[unit].1, true) {
            self.read_unit(self.units[unit].0);
        }
        let (_, &(high, function)) = self.functions.range(..=address).next_back()?;
        (address < high).then(|| self.layouts[function].clone())
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
        let mut walk = Walk {
            unit: unit.unit_ref(&dwarf),
            unwind: &self.unwind,
            scopes: Vec::new(),
            found: Vec::new(),
        };
        let _ = walk.all();
        walk.leave(0);
        for layout in walk.found {
            for (low, high) in &layout.code {
                self.functions.insert(*low, (*high, self.layouts.len()));
            }
            self.layouts.push(layout);
        }
    }
}

/// Whether a section says something of frames: of variables, or which code is of which function.
fn is_used(id: SectionId) -> bool {
    let of_code = [SectionId::DebugRanges, SectionId::DebugRngLists];
    SECTIONS.contains(&id) || of_code.contains(&id)
}

/// A function, or one that is inlined in it, whose variables are being read.
struct Scope {
    depth: isize,
    entry: UnitOffset,
    /// Of a function with code; of what is inlined, it is that of the scope around.
    frame: Option<Frame>,
    is_inlined: bool,
}

/// The frames of a function, and what is known of them so far.
struct Frame {
    base: Base,
    layout: FrameLayout,
}

/// What the places of variables are relative to.
#[derive(Clone, Copy)]
struct Base {
    /// How far above the canonical frame address it is.
    above: i64,
    /// The bytes of the frame, if they are known.
    bytes: Option<u64>,
}

/// A walk over the entries of a unit.
struct Walk<'a> {
    unit: Unit<'a>,
    unwind: &'a Unwind,
    /// Outermost first.
    scopes: Vec<Scope>,
    found: Vec<FrameLayout>,
}

impl<'a> Walk<'a> {
    fn all(&mut self) -> gimli::Result<()> {
        let unit = self.unit;
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            self.leave(entry.depth());
            let is_inlined = entry.tag() == gimli::DW_TAG_inlined_subroutine;
            match entry.tag() {
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine => {
                    let frame = if is_inlined { None } else { self.frame(entry) };
                    self.scopes.push(Scope {
                        depth: entry.depth(),
                        entry: entry.offset(),
                        frame,
                        is_inlined,
                    });
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => self.variable(entry),
                _ => {}
            }
        }
        Ok(())
    }

    /// Leaves the scopes that an entry at this depth is not in.
    fn leave(&mut self, depth: isize) {
        while let Some(scope) = self.scopes.pop_if(|scope| scope.depth >= depth) {
            let layout = scope.frame.map(|frame| frame.layout);
            self.found
                .extend(layout.filter(|layout| !layout.locals.is_empty()));
        }
    }

    /// The frames of a function, if it has code and they have a base.
    fn frame(&self, entry: &Entry<'a>) -> Option<Frame> {
        let mut code = Vec::new();
        let mut ranges = self.unit.die_ranges(entry).ok()?;
        while let Some(range) = ranges.next().ok()? {
            if 0 < range.begin && range.begin < range.end {
                code.push((range.begin, range.end));
            }
        }
        let base = self.base(entry, *code.first()?)?;
        let locals = Vec::new();
        Some(Frame {
            base,
            layout: FrameLayout { code, locals },
        })
    }

    /// The base of a function's frames, of which this is the first code.
    fn base(&self, entry: &Entry<'a>, code: (u64, u64)) -> Option<Base> {
        const RBP: u16 = 6;
        const RSP: u16 = 7;
        let expression = entry.attr_value(gimli::DW_AT_frame_base)?.exprloc_value()?;
        let mut operations = expression.operations(self.unit.encoding());
        let mut next = || operations.next().ok().flatten();
        let (above, bytes) = match next()? {
            Operation::CallFrameCFA => {
                let above = match (next(), next()) {
                    (None, _) => 0,
                    (Some(Operation::PlusConstant { value }), None) => value as i64,
                    (Some(Operation::SignedConstant { value }), Some(Operation::Plus)) => value,
                    _ => return None,
                };
                (above, None)
            }
            Operation::Register { register } if register.0 == RBP => {
                (self.unwind.frame_pointer(code)?.wrapping_neg(), None)
            }
            Operation::Register { register } if register.0 == RSP => {
                let bytes = self.unwind.stack_pointer(code)?;
                (bytes.wrapping_neg(), u64::try_from(bytes).ok())
            }
            _ => return None,
        };
        next().is_none().then_some(Base { above, bytes })
    }

    /// Adds a variable to the frames that it is in, if it has a place there and is large enough.
    fn variable(&mut self, entry: &Entry<'a>) {
        let Some((index, base)) = self.around() else {
            return;
        };
        let Some(local) = self.local(entry, base) else {
            return;
        };
        if let Some(frame) = &mut self.scopes[index].frame {
            frame.layout.locals.push(local);
        }
    }

    /// The function around: which scope, and the base of its frames.
    fn around(&self) -> Option<(usize, Base)> {
        let index = self.scopes.iter().rposition(|scope| !scope.is_inlined)?;
        let frame = self.scopes[index].frame.as_ref()?;
        Some((index, frame.base))
    }

    fn local(&self, entry: &Entry<'a>, base: Base) -> Option<LocalVariable> {
        let unit = self.unit;
        let below = base
            .above
            .checked_add(frame_offset(unit, entry)?)?
            .checked_neg()?;
        let below = u64::try_from(below).ok()?;
        let declared = declaration(unit, entry);
        let attribute = |name| attribute_of(entry, declared.as_ref(), name);
        let kind = offset(attribute(gimli::DW_AT_type)?)?;
        let bytes = match types::size(unit, kind)? {
            types::Size::Array(bytes) if bytes >= LEAST_ARRAY => bytes,
            types::Size::Structure(bytes) if bytes >= LEAST_STRUCTURE => bytes,
            _ => return None,
        };
        // Where the stack pointer is the base, the frame reaches from there to the return address.
        if base
            .bytes
            .is_some_and(|frame| below > frame || below < bytes + 8)
        {
            return None;
        }
        let name = attribute(gimli::DW_AT_name)?;
        let name = unit.attr_string(name).ok()?;
        let function = self.function_name(self.scopes.last()?.entry)?;
        let file = attribute(gimli::DW_AT_decl_file).and_then(|value| file_of(unit, value));
        Some(LocalVariable {
            below,
            bytes,
            name: format!("{} in {function}", name.to_string_lossy()),
            file: file.unwrap_or_default(),
            element_bytes: element_bytes(unit, kind).unwrap_or(0),
        })
    }

    /// The name of a function as its author wrote it.
    fn function_name(&self, entry: UnitOffset) -> Option<String> {
        /// From what is inlined to its function, and from there to its declaration.
        const STEPS: usize = 4;
        let unit = self.unit;
        let mut entry = unit.entry(entry).ok()?;
        let mut name = None;
        for _ in 0..STEPS {
            let linkage = [gimli::DW_AT_linkage_name, gimli::DW_AT_MIPS_linkage_name];
            if let Some(linkage) = linkage.iter().find_map(|name| entry.attr_value(*name)) {
                name = Some(linkage);
                break;
            }
            name = name.or_else(|| entry.attr_value(gimli::DW_AT_name));
            match declaration(unit, &entry) {
                Some(declared) => entry = declared,
                None => break,
            }
        }
        let name = unit.attr_string(name?).ok()?;
        let name = name.to_string_lossy();
        Some(match types::language(unit) {
            Some(language) if FORTRAN.contains(&language) => fortran_name(&name),
            _ => demangled(&name),
        })
    }
}

/// How far above the frame base a variable is, if that is all there is to its place.
fn frame_offset<'a>(unit: Unit<'a>, entry: &Entry<'a>) -> Option<i64> {
    let expression = entry.attr_value(gimli::DW_AT_location)?.exprloc_value()?;
    let mut operations = expression.operations(unit.encoding());
    let Operation::FrameOffset { offset } = operations.next().ok()?? else {
        return None;
    };
    operations.next().ok()?.is_none().then_some(offset)
}
