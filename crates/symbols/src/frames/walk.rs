//! A walk over a unit's debug information, for the variables in the frames of its functions.

use gimli::{Operation, UnitOffset};
use reuselens_attribute::{FrameLayout, LocalVariable};

use crate::exact_names;
use crate::layouts::Layouts;
use crate::symbol_names::{demangled, fortran_name};
use crate::types;
use crate::unwind::Unwind;
use crate::variables::{Entry, Unit, attribute_of, declaration, element_bytes, file_of, offset};

/// Arrays of fewer bytes are no objects of their own.
const LEAST_ARRAY: u64 = 16;
/// Structures of fewer bytes are no objects of their own: programs in C++ and Rust are full of
/// them.
const LEAST_STRUCTURE: u64 = 32;

/// The functions of a unit that have variables: as far as the unit can be read. `sites` is the code
/// of the program that only stands for other code.
pub(super) fn functions<'a>(
    unit: Unit<'a>,
    unwind: &'a Unwind,
    sites: (u64, u64),
) -> Vec<FrameLayout> {
    let mut walk = Walk {
        unit,
        layouts: Layouts::new(unit),
        unwind,
        sites,
        scopes: Vec::new(),
        found: Vec::new(),
        stand_ins: Vec::new(),
    };
    let _ = walk.all();
    walk.leave(0);
    walk.join_stand_ins();
    walk.found.into_iter().map(|(_, layout)| layout).collect()
}

/// A function, or one that is inlined in it, whose variables are being read.
struct Scope {
    depth: isize,
    entry: UnitOffset,
    /// Of a function with code; of what is inlined, it is that of the scope around.
    frame: Option<FrameCandidate>,
    is_inlined: bool,
}

/// The frames of a function, and what is known of them so far.
struct FrameCandidate {
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

/// The name of a function, and the line that declares it: what it and its stand-in have in common.
type Identity = (String, Option<u64>);
/// First addresses, and first addresses after.
type Code = Vec<(u64, u64)>;

/// A walk over the entries of a unit.
struct Walk<'a> {
    unit: Unit<'a>,
    layouts: Layouts<'a>,
    unwind: &'a Unwind,
    sites: (u64, u64),
    /// Outermost first.
    scopes: Vec<Scope>,
    /// The functions with variables. Identities are only known where there are stand-ins.
    found: Vec<(Option<Identity>, FrameLayout)>,
    /// What the LLVM pass made of functions: their accesses have addresses in there.
    stand_ins: Vec<(Identity, Code)>,
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
            if let Some(layout) = layout.filter(|layout| !layout.locals.is_empty()) {
                let has_stand_ins = self.sites.0 < self.sites.1;
                let entry = has_stand_ins.then(|| self.unit.entry(scope.entry).ok());
                let identity = entry.flatten().and_then(|entry| self.identity(&entry));
                self.found.push((identity, layout));
            }
        }
    }

    fn identity(&self, entry: &Entry<'a>) -> Option<Identity> {
        let name = self.function_name(entry.offset())?;
        let declared = declaration(self.unit, entry);
        let line = attribute_of(entry, declared.as_ref(), gimli::DW_AT_decl_line);
        Some((name, line.and_then(|line| line.udata_value())))
    }

    /// Adds the code of stand-ins to that of their functions, where it is clear which those are.
    fn join_stand_ins(&mut self) {
        for (identity, code) in std::mem::take(&mut self.stand_ins) {
            let is_it = |found: &&mut (Option<Identity>, _)| found.0.as_ref() == Some(&identity);
            let mut of = self.found.iter_mut().filter(is_it);
            if let (Some((_, layout)), None) = (of.next(), of.next()) {
                layout.code.extend(code);
            }
        }
    }

    /// The frames of a function, if it has code and they have a base.
    fn frame(&mut self, entry: &Entry<'a>) -> Option<FrameCandidate> {
        let mut code = Code::new();
        let mut ranges = self.unit.die_ranges(entry).ok()?;
        while let Some(range) = ranges.next().ok()? {
            if 0 < range.begin && range.begin < range.end {
                code.push((range.begin, range.end));
            }
        }
        let first = *code.first()?;
        if (self.sites.0..self.sites.1).contains(&first.0) {
            let identity = self.identity(entry);
            self.stand_ins
                .extend(identity.map(|identity| (identity, code)));
            return None;
        }
        let base = self.base(entry, first)?;
        let locals = Vec::new();
        Some(FrameCandidate {
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

    fn local(&mut self, entry: &Entry<'a>, base: Base) -> Option<LocalVariable> {
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
            .is_some_and(|frame| below > frame || below < bytes.saturating_add(8))
        {
            return None;
        }
        let name = exact_names::string(unit, attribute(gimli::DW_AT_name)?)?;
        let function = self.function_name(self.scopes.last()?.entry)?;
        let file = attribute(gimli::DW_AT_decl_file).and_then(|value| file_of(unit, value));
        Some(LocalVariable {
            below,
            bytes,
            name: format!("{name} in {function}"),
            file: file.unwrap_or_default(),
            element_bytes: element_bytes(unit, kind).unwrap_or(0),
            layout: self.layouts.of_element(kind),
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
        let name = exact_names::string(unit, name?)?;
        Some(if types::is_fortran(unit) {
            fortran_name(&name)
        } else {
            demangled(&name)
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
