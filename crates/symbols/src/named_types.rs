//! Types by their names, what variables of a name point to, in the unit of an instruction, and what
//! generic functions are compiled for.

use std::collections::BTreeMap;
use std::sync::Arc;

use gimli::UnitOffset;
use reuselens_io::text_of_bytes;
use reuselens_profile::{DataLayout, Frame};

use super::frames::Debug;
use super::layouts::Layouts;
use super::scopes::{NameMeaning, ScopeReader, StatementPlace};
use super::sources::Sources;
use super::type_parameters::{EntryPlace, TypeParameters};
use super::types;
use super::variables::{MAX_STEPS, Unit, for_each_entry, offset};
use crate::checked_file::CheckedFile;

/// Bytes of units that are walked over for questions about a file: about a second.
const MAX_WALKED: usize = 256 << 20;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    /// The type of this name.
    Type(String),
    /// What the variables of this name point to, after some steps.
    Pointee(String, usize),
}

/// What the scopes around a statement say of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScopedType {
    /// No class or function declares it.
    Outside,
    /// It is not clear which type it is.
    Unclear,
    /// This one.
    Type(Arc<DataLayout>),
}

/// The types of a file.
#[derive(Debug)]
pub(super) struct NamedTypes {
    debug: Debug,
    /// Bytes that may still be walked over; see [`MAX_WALKED`].
    left: usize,
    /// By unit.
    answers: BTreeMap<(usize, Question), Option<Arc<DataLayout>>>,
    parameters: TypeParameters,
    /// Types that parameters stand for.
    arguments: BTreeMap<EntryPlace, Option<Arc<DataLayout>>>,
    /// What names mean in a function, at a line.
    meanings: BTreeMap<(EntryPlace, u32, String), NameMeaning>,
}

impl NamedTypes {
    /// Those of a file, if it has debug information.
    pub fn read(named: &CheckedFile) -> Option<NamedTypes> {
        Some(NamedTypes {
            debug: Debug::read(named)?,
            left: MAX_WALKED,
            answers: BTreeMap::new(),
            parameters: TypeParameters::default(),
            arguments: BTreeMap::new(),
            meanings: BTreeMap::new(),
        })
    }

    /// The type of this name in the unit of an instruction, if all types of the name are alike.
    pub fn named(&mut self, address: u64, name: &str) -> Option<Arc<DataLayout>> {
        self.ask(address, Question::Type(name.to_owned()))
    }

    /// What the variables and members of this name in the unit of an instruction point to, after
    /// this many elements of arrays, if all have one type.
    pub fn pointee(&mut self, address: u64, name: &str, steps: usize) -> Option<Arc<DataLayout>> {
        self.ask(address, Question::Pointee(name.to_owned(), steps))
    }

    /// What a type parameter of a generic function stands for: see [`TypeParameters::find`].
    pub fn argument(
        &mut self,
        address: u64,
        frame: (usize, &str),
        parameter: &str,
    ) -> Option<Arc<DataLayout>> {
        let walk = (&self.debug, &mut self.left);
        let found = self.parameters.find(walk, address, frame, parameter)?;
        self.layout(found)
    }

    /// What a name of a type means in a function of C++ with this frame, by the scopes around its
    /// statement: see [`super::scopes`].
    pub fn in_scope(
        &mut self,
        sources: &mut Sources,
        address: u64,
        (index, frame): (usize, &Frame),
        name: &str,
    ) -> ScopedType {
        let (debug, left) = (&self.debug, &mut self.left);
        let is_cpp = |unit| debug.with_unit(unit, types::is_cpp).unwrap_or(false);
        if !debug.unit_at(address).is_some_and(is_cpp) {
            return ScopedType::Outside;
        }
        let parameters = &mut self.parameters;
        let name_of = (index, frame.function.as_str());
        let function = match parameters.function_of_frame((debug, left), address, name_of) {
            Some(Some(function)) => function,
            Some(None) => return ScopedType::Unclear,
            None => return ScopedType::Outside,
        };
        let key = (function, frame.line, name.to_owned());
        let meaning = self.meanings.entry(key).or_insert_with(|| {
            let statement = StatementPlace {
                file: &frame.file,
                line: frame.line,
            };
            let read = (parameters, sources);
            let scopes = ScopeReader::new(debug, left, read, function, statement);
            scopes.map_or(NameMeaning::Unclear, |mut scopes| scopes.meaning(name))
        });
        match meaning.clone() {
            NameMeaning::Outside => ScopedType::Outside,
            NameMeaning::Named(name) => match self.named(address, &name) {
                Some(layout) => ScopedType::Type(layout),
                None => ScopedType::Unclear,
            },
            NameMeaning::Unclear | NameMeaning::Number(_) => ScopedType::Unclear,
            // Elsewhere the unit may have all of a type that is only declared there.
            NameMeaning::Type(kind) if is_declaration(&self.debug, kind) => ScopedType::Outside,
            NameMeaning::Type(kind) => match self.layout(kind) {
                Some(layout) => ScopedType::Type(layout),
                None => ScopedType::Unclear,
            },
        }
    }

    /// The layout of a type.
    fn layout(&mut self, kind: EntryPlace) -> Option<Arc<DataLayout>> {
        let (debug, left) = (&self.debug, &mut self.left);
        let mut read = || {
            debug.with_unit(kind.0, |unit| {
                *left = left.checked_sub(unit.header.length_including_self())?;
                Layouts::new(unit).of_element(kind.1)
            })
        };
        let known = self.arguments.entry(kind);
        known.or_insert_with(|| read().flatten()).clone()
    }

    /// The debug information that they are from.
    pub fn debug(&mut self) -> &mut Debug {
        &mut self.debug
    }

    fn ask(&mut self, address: u64, question: Question) -> Option<Arc<DataLayout>> {
        let unit = self.debug.unit_at(address)?;
        let key = (unit, question);
        if let Some(answer) = self.answers.get(&key) {
            return answer.clone();
        }
        let left = &mut self.left;
        let answer = self.debug.with_unit(unit, |unit| {
            *left = left.checked_sub(unit.header.length_including_self())?;
            answer(unit, &key.1)
        });
        let answer = answer.flatten();
        self.answers.insert(key, answer.clone());
        answer
    }
}

/// Whether a type is only declared there.
fn is_declaration(debug: &Debug, kind: EntryPlace) -> bool {
    let read = debug.with_unit(kind.0, |unit| {
        let entry = unit.entry(kind.1);
        entry.is_ok_and(|entry| entry.attr_value(gimli::DW_AT_declaration).is_some())
    });
    read.unwrap_or(false)
}

fn answer(unit: Unit<'_>, question: &Question) -> Option<Arc<DataLayout>> {
    let mut layouts = Layouts::new(unit);
    let mut found: Option<Arc<DataLayout>> = None;
    for entry in candidates(unit, question) {
        let layout = match question {
            Question::Type(name) => {
                let layout = layouts.of_element(entry);
                layout.filter(|layout| is_named(&layout.name, name))
            }
            Question::Pointee(_, steps) => {
                let kind = pointee(unit, entry, *steps);
                Some(kind.and_then(|kind| layouts.of_element(kind))?)
            }
        };
        let Some(layout) = layout else {
            continue;
        };
        if found.as_ref().is_some_and(|found| *found != layout) {
            return None;
        }
        found = Some(layout);
    }
    found
}

/// The entries of a unit that may answer a question: those of the name that is asked for.
fn candidates(unit: Unit<'_>, question: &Question) -> Vec<UnitOffset> {
    let (wanted, is_kind): (&str, fn(gimli::DwTag) -> bool) = match question {
        Question::Type(name) => (last_part(name), is_type),
        Question::Pointee(name, _) => (name, is_variable),
    };
    let mut found = Vec::new();
    // A part that cannot be read ends the walk: what was found stays.
    let _ = for_each_entry(unit, |place, _, abbreviation| {
        if !is_kind(abbreviation.tag()) {
            return Ok(());
        }
        let name = unit.entry(place).ok();
        let name = name.and_then(|entry| entry.attr_value(gimli::DW_AT_name));
        let name = name.and_then(|name| unit.attr_string(name).ok());
        if name.is_some_and(|name| is_equal(&text_of_bytes(name.slice()), wanted)) {
            found.push(place);
        }
        Ok(())
    });
    found
}

/// Whether entries of this kind are types with names.
pub(super) fn is_type(tag: gimli::DwTag) -> bool {
    let is_other = matches!(
        tag,
        gimli::DW_TAG_typedef | gimli::DW_TAG_base_type | gimli::DW_TAG_enumeration_type
    );
    is_other || types::is_structure(tag)
}

fn is_variable(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter | gimli::DW_TAG_member
    )
}

/// Whether names are equal but for spaces: compilers and their names differ in these.
fn is_equal(one: &str, other: &str) -> bool {
    let letters = |name: &'_ str| {
        name.chars()
            .filter(|letter| *letter != ' ')
            .collect::<String>()
    };
    one == other || letters(one) == letters(other)
}

/// Whether a type with namespaces is meant by a name that may lack some of them.
fn is_named(full: &str, name: &str) -> bool {
    let last = |name: &str| last_part(name).to_owned();
    if name.contains("::") {
        is_equal(full, name) || !full.contains("::") && is_equal(full, &last(name))
    } else {
        is_equal(&last(full), name)
    }
}

/// The last part of a name with namespaces: `Cell<a::B>` of `grid::Cell<a::B>`.
fn last_part(name: &str) -> &str {
    let arguments = name.find('<').unwrap_or(name.len());
    let start = name[..arguments].rfind("::").map_or(0, |at| at + 2);
    &name[start..]
}

/// What a variable points to: the element of an array that is allocated, or what a pointer is to.
/// Each step is an element of an array or of a pointer before that.
fn pointee(unit: Unit<'_>, variable: UnitOffset, steps: usize) -> Option<UnitOffset> {
    let entry = unit.entry(variable).ok()?;
    let mut kind = offset(entry.attr_value(gimli::DW_AT_type)?)?;
    let mut left = steps + 1;
    for _ in 0..MAX_STEPS {
        if left == 0 {
            return Some(kind);
        }
        let entry = unit.entry(kind).ok()?;
        match entry.tag() {
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_array_type => left -= 1,
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_reference_type => {}
            _ => return None,
        }
        kind = offset(entry.attr_value(gimli::DW_AT_type)?)?;
    }
    None
}
