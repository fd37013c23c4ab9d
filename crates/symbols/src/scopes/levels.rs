//! The functions and classes around a statement, as debug information has them.
//!
//! Source: DWARF 5, sections 2.23 (template parameters), 3.3.8 (inlined functions) and 5.7.

use gimli::AttributeValue;
use reuselens_io::text_of;

use crate::exact_names::{self, own_name};
use crate::frames::Debug;
use crate::named_types::is_type;
use crate::type_parameters::{EntryPlace, Reference, TypeParameters, origins, resolved, symbol};
use crate::types::is_structure;
use crate::variables::{Entry, MAX_STEPS, Unit};

/// Bytes of debug information that reading a child of an entry counts as.
const CHILD_BYTES: usize = 16;

/// A file and a line of it, from 1.
pub(super) type SourceLine = (String, usize);

/// What an argument of a template is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TemplateArgument {
    Type(EntryPlace),
    Number(i64),
    /// One that debug information does not say, or a list.
    Unknown,
}

/// A function or a class around a statement.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeLevel {
    /// Those of a function, from that of its code to that of its declaration; that of a class.
    pub entries: Vec<EntryPlace>,
    pub is_class: bool,
    /// Its name without arguments. Empty for what has none in the source, as a lambda's class.
    pub name: String,
    /// Where its name is declared.
    pub declared: Option<SourceLine>,
    /// What its own parameters stand for.
    pub arguments: Vec<TemplateArgument>,
    /// Their names, as debug information has them.
    pub parameters: Vec<String>,
    /// Whether its members may be missing.
    pub is_incomplete: bool,
}

/// Reads entries, as long as bytes are left; see [`super::super::named_types`].
pub(super) struct EntryReader<'n> {
    pub debug: &'n Debug,
    pub left: &'n mut usize,
}

impl EntryReader<'_> {
    /// The levels around an entry of a function, the innermost first.
    pub fn levels(
        &mut self,
        functions: &mut TypeParameters,
        function: EntryPlace,
    ) -> Option<Vec<ScopeLevel>> {
        let mut found = Vec::new();
        let mut next = Some(function);
        while let Some(place) = next {
            if found.len() >= MAX_STEPS {
                return None;
            }
            let mut level = self.level(place)?;
            if !level.is_class && level.name.is_empty() {
                let function = self.nameless(functions, &found)?;
                level = self.level(function)?;
            }
            let last = *level.entries.last()?;
            found.push(level);
            next = functions.around((self.debug, self.left), last)?;
        }
        Some(found)
    }

    /// The function around a lambda, whose levels these are, by their symbols: where clang inlines
    /// a lambda, its class is in an entry of its own, which has no attributes.
    fn nameless(
        &mut self,
        functions: &mut TypeParameters,
        inner: &[ScopeLevel],
    ) -> Option<EntryPlace> {
        let call = inner.iter().rev().find(|level| !level.is_class)?;
        let debug = self.debug;
        let symbol_of = |place: &EntryPlace| {
            let read = debug.with_unit(place.0, |unit| symbol(unit, &unit.entry(place.1).ok()?));
            read.flatten()
        };
        let inner = call.entries.iter().find_map(symbol_of)?;
        let number = call.entries.last()?.0;
        let is_function = |tag| tag == gimli::DW_TAG_subprogram;
        let all = functions.scopes((self.debug, self.left), number, is_function);
        self.spend(all.len())?;
        // `_ZZ4makeIdEviENKUlvE_clEv` is in `_Z4makeIdEvi`.
        let around = inner.strip_prefix("_Z")?;
        let is_around = |unit: Unit<'_>, place: &EntryPlace| {
            let entry = unit.entry(place.1).ok()?;
            let outer = symbol(unit, &entry).or_else(|| {
                let name = own_name(unit, &entry).filter(|name| name == "main")?;
                Some(format!("_Z{}{name}", name.len()))
            })?;
            let rest = around.strip_prefix(outer.strip_prefix('_')?)?;
            Some(rest.starts_with('E'))
        };
        // One look at the unit: reading its head takes longer than reading an entry.
        let found = debug.with_unit(number, |unit| {
            let mut all = all.into_iter();
            all.find(|place| is_around(unit, place) == Some(true))
        });
        found.flatten()
    }

    /// Those of some classes of a unit that are defined there and have this name, but for arguments
    /// of templates.
    pub fn called(
        &mut self,
        number: usize,
        classes: Vec<EntryPlace>,
        name: &str,
    ) -> Option<Vec<EntryPlace>> {
        self.spend(classes.len())?;
        let is_it = |unit: Unit<'_>, place: &EntryPlace| {
            let entry = unit.entry(place.1).ok()?;
            let is_declaration = entry.attr_value(gimli::DW_AT_declaration).is_some();
            let own = own_name(unit, &entry)?;
            Some(!is_declaration && base(&own) == name)
        };
        self.debug.with_unit(number, |unit| {
            let all = classes.into_iter();
            all.filter(|place| is_it(unit, place) == Some(true))
                .collect()
        })
    }

    /// Counts the reading of some entries. `None` if too much was read.
    pub fn spend(&mut self, entries: usize) -> Option<()> {
        let cost = entries.checked_mul(CHILD_BYTES)?;
        *self.left = self.left.checked_sub(cost)?;
        Some(())
    }

    /// A function with its declaration, or a class.
    fn level(&mut self, place: EntryPlace) -> Option<ScopeLevel> {
        let mut level = ScopeLevel {
            entries: origins(self.debug, place),
            ..ScopeLevel::default()
        };
        let (mut file, mut line) = (None, None);
        for place in level.entries.clone() {
            let (parameters, arguments) = self.arguments(place)?;
            self.debug.with_unit(place.0, |unit| {
                let entry = unit.entry(place.1).ok()?;
                level.is_class = is_structure(entry.tag());
                let is_declaration = entry.attr_value(gimli::DW_AT_declaration).is_some();
                level.is_incomplete = level.is_class && is_declaration;
                if level.name.is_empty() {
                    level.name = own_name(unit, &entry).unwrap_or_default();
                }
                file = file.take().or_else(|| declared_file(unit, &entry));
                line = line.take().or_else(|| declared_line(&entry));
                Some(())
            })??;
            if level.arguments.is_empty() {
                level.arguments = arguments;
                level.parameters = parameters;
            }
        }
        level.declared = file.zip(line);
        // gcc has a name for a lambda's class.
        if level.name.starts_with('<') {
            level.name.clear();
        }
        level.name.truncate(base(&level.name).len());
        Some(level)
    }

    /// Calls `look` on the children of an entry, until it is false. `None` if too much was read.
    pub fn children(
        &mut self,
        place: EntryPlace,
        mut look: impl for<'a> FnMut(Unit<'a>, &Entry<'a>) -> bool,
    ) -> Option<()> {
        let left = &mut *self.left;
        let all = self.debug.with_unit(place.0, |unit| {
            let mut tree = unit.entries_tree(Some(place.1)).ok()?;
            let mut children = tree.root().ok()?.children();
            while let Some(child) = children.next().ok()? {
                *left = left.checked_sub(CHILD_BYTES)?;
                if !look(unit, child.entry()) {
                    break;
                }
            }
            Some(())
        });
        all.flatten()
    }

    /// The names of the parameters of a template, and what they stand for, in their order.
    pub fn arguments(&mut self, place: EntryPlace) -> Option<(Vec<String>, Vec<TemplateArgument>)> {
        let (debug, mut names, mut found) = (self.debug, Vec::new(), Vec::new());
        self.children(place, |unit, entry| {
            let argument = match entry.tag() {
                gimli::DW_TAG_template_type_parameter => {
                    let kind = type_of(debug, place.0, entry);
                    kind.map_or(TemplateArgument::Unknown, TemplateArgument::Type)
                }
                gimli::DW_TAG_template_value_parameter => {
                    let value = entry.attr_value(gimli::DW_AT_const_value);
                    let value = value.as_ref().and_then(number);
                    value.map_or(TemplateArgument::Unknown, TemplateArgument::Number)
                }
                gimli::DW_TAG_GNU_template_template_param
                | gimli::DW_TAG_GNU_template_parameter_pack => TemplateArgument::Unknown,
                _ => return true,
            };
            names.push(own_name(unit, entry).unwrap_or_default());
            found.push(argument);
            true
        })?;
        Some((names, found))
    }

    /// The types of a name among the children of a class: those that the class declares itself.
    pub fn members(&mut self, class: EntryPlace, name: &str) -> Option<Vec<EntryPlace>> {
        let (debug, mut found) = (self.debug, Vec::new());
        self.children(class, |unit, entry| {
            if is_type(entry.tag()) && is_called(unit, entry, name) {
                found.push(named(debug, class.0, unit, entry));
            }
            true
        })?;
        Some(found)
    }

    /// The classes that a template of this name makes, among the children of a class.
    pub fn member_templates(&mut self, class: EntryPlace, name: &str) -> Option<Vec<EntryPlace>> {
        let mut found = Vec::new();
        self.children(class, |unit, entry| {
            let own = own_name(unit, entry).filter(|_| is_structure(entry.tag()));
            if own.is_some_and(|own| own.contains('<') && base(&own) == name) {
                found.push((class.0, entry.offset()));
            }
            true
        })?;
        Some(found)
    }

    /// The types of a name that a function declares: those of all of it, and those of its blocks.
    pub fn locals(&mut self, function: EntryPlace, name: &str) -> Option<Vec<(bool, EntryPlace)>> {
        let (debug, left) = (self.debug, &mut *self.left);
        let read = debug.with_unit(function.0, |unit| {
            let mut found = Vec::new();
            let mut entries = unit.entries_at_offset(function.1).ok()?;
            let first = entries.next_dfs().ok()??.depth();
            while let Some(entry) = entries.next_dfs().ok()? {
                if entry.depth() <= first {
                    break;
                }
                *left = left.checked_sub(CHILD_BYTES)?;
                if is_type(entry.tag()) && is_called(unit, entry, name) {
                    let is_of_all = entry.depth() == first + 1;
                    found.push((is_of_all, named(debug, function.0, unit, entry)));
                }
            }
            Some(found)
        });
        read.flatten()
    }

    /// The classes that a class is derived from.
    pub fn bases(&mut self, class: EntryPlace) -> Option<Vec<EntryPlace>> {
        let (debug, mut found) = (self.debug, Vec::new());
        self.children(class, |_, entry| {
            if entry.tag() == gimli::DW_TAG_inheritance {
                found.push(type_of(debug, class.0, entry));
            }
            true
        })?;
        let found: Option<Vec<EntryPlace>> = found.into_iter().collect();
        found?.into_iter().map(|base| self.class(base)).collect()
    }

    /// The class that a type is, whatever it is called.
    pub fn class(&self, kind: EntryPlace) -> Option<EntryPlace> {
        let mut place = kind;
        for _ in 0..MAX_STEPS {
            let (tag, next) = self.debug.with_unit(place.0, |unit| {
                let entry = unit.entry(place.1).ok()?;
                Some((entry.tag(), type_of(self.debug, place.0, &entry)))
            })??;
            if is_structure(tag) {
                return Some(place);
            }
            place = next.filter(|_| is_other_name(tag))?;
        }
        None
    }

    /// A type without other names of it.
    pub fn without_names(&self, kind: EntryPlace) -> EntryPlace {
        let mut place = kind;
        for _ in 0..MAX_STEPS {
            let next = self.debug.with_unit(place.0, |unit| {
                let entry = unit.entry(place.1).ok()?;
                type_of(self.debug, place.0, &entry)
                    .filter(|_| entry.tag() == gimli::DW_TAG_typedef)
            });
            match next.flatten() {
                Some(next) => place = next,
                None => break,
            }
        }
        place
    }

    /// The name of an entry, whether it is only declared, and where it is declared.
    pub fn about(&self, place: EntryPlace) -> Option<(String, bool, Option<SourceLine>)> {
        let read = self.debug.with_unit(place.0, |unit| {
            let entry = unit.entry(place.1).ok()?;
            let is_declaration = entry.attr_value(gimli::DW_AT_declaration).is_some();
            let name = own_name(unit, &entry).unwrap_or_default();
            let declared = declared_file(unit, &entry).zip(declared_line(&entry));
            Some((name, is_declaration, declared))
        });
        read.flatten()
    }
}

/// The name of a class or a function without the arguments of a template.
pub(super) fn base(name: &str) -> &str {
    if name.starts_with("operator") {
        name
    } else {
        name.split('<').next().unwrap_or(name)
    }
}

/// Whether entries of this kind give another type a name, or qualify it.
fn is_other_name(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_typedef | gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type
    )
}

fn is_called<'a>(unit: Unit<'a>, entry: &Entry<'a>, name: &str) -> bool {
    own_name(unit, entry).is_some_and(|own| own == name)
}

/// The type that a typedef is, if that has a name; other types themselves.
fn named<'a>(debug: &Debug, number: usize, unit: Unit<'a>, entry: &Entry<'a>) -> EntryPlace {
    let own = (number, entry.offset());
    if entry.tag() != gimli::DW_TAG_typedef {
        return own;
    }
    let Some(kind) = type_of(debug, number, entry).filter(|kind| kind.0 == number) else {
        return own;
    };
    let target = unit.entry(kind.1);
    let is_unnamed = target.is_ok_and(|target| {
        is_structure(target.tag()) && target.attr_value(gimli::DW_AT_name).is_none()
    });
    if is_unnamed { own } else { kind }
}

fn type_of(debug: &Debug, number: usize, entry: &Entry<'_>) -> Option<EntryPlace> {
    let kind = Reference::of(entry, gimli::DW_AT_type)?;
    resolved(debug, number, kind)
}

fn number<R: gimli::Reader>(value: &AttributeValue<R>) -> Option<i64> {
    let unsigned = || i64::try_from(value.udata_value()?).ok();
    value.sdata_value().or_else(unsigned)
}

/// The line where an entry's name is declared.
fn declared_line(entry: &Entry<'_>) -> Option<usize> {
    let line = entry.attr_value(gimli::DW_AT_decl_line)?.udata_value()?;
    usize::try_from(line).ok()
}

/// The file where an entry's name is declared.
fn declared_file<'a>(unit: Unit<'a>, entry: &Entry<'a>) -> Option<String> {
    let index = match entry.attr_value(gimli::DW_AT_decl_file)? {
        AttributeValue::FileIndex(index) => index,
        other => other.udata_value()?,
    };
    exact_names::path(unit, index).map(text_of)
}
