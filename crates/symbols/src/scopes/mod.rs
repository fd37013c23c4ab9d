//! What names of types mean in a function of C++: parameters of templates, and the types that
//! classes and functions declare for themselves.
//!
//! `new T[n]` in a template is of another type in each function that is compiled from it. Debug
//! information has what the parameters stand for, by their places in the list of a template. The
//! source has their names ([`heads`]): those in debug information are of the first declaration,
//! also for a definition with others and for a specialization (gcc 12 and clang 14 show `T = long*`
//! within `template <class T> struct A<T*>`).
//!
//! A name is looked up as C++ does it, going outward from the function: its own types, its
//! parameters, the types and the name of its class, those of classes that this is derived from, the
//! parameters of the class, and then the class or function around. A name that is found in a place
//! that something else may hide, which debug information lacks, has no meaning: clang leaves out
//! types that no variable has.
//!
//! Source: ISO C++20, [basic.lookup.unqual], [temp.local].

mod heads;
mod instances;
mod levels;

use reuselens_attribute::known_names::file_name;

use super::frames::Debug;
use super::sources::Sources;
use super::type_parameters::{EntryPlace, TypeParameters};
use heads::{Declared, NamePart, TemplateHead};
use levels::{EntryReader, ScopeLevel, TemplateArgument};

/// Names within names, such as aliases of aliases, are followed so far.
const MAX_NAMES: usize = 16;
/// Classes that a class is derived from, directly or not, of which members are looked up.
const MAX_BASES: usize = 64;

/// What a name means in the scopes around a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NameMeaning {
    /// No function or class around the statement declares it.
    Outside,
    /// One may declare it, but it is not clear which, or what it stands for.
    Unclear,
    /// This type.
    Type(EntryPlace),
    /// A number: a parameter that is no type.
    Number(i64),
    /// A type that no function or class declares, by its name: a class has another name for it.
    Named(String),
}

use NameMeaning::{Outside, Unclear};

/// Where a statement is.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatementPlace<'s> {
    pub file: &'s str,
    pub line: u32,
}

/// The scopes around a statement.
pub(super) struct ScopeReader<'n> {
    entries: EntryReader<'n>,
    functions: &'n mut TypeParameters,
    sources: &'n mut Sources,
    levels: Vec<ScopeLevel>,
    statement: StatementPlace<'n>,
    /// How many more names within names may be followed.
    names_left: usize,
}

/// The names of parameters, as a definition outside of its class has them, while its classes are
/// gone over.
struct OuterHead {
    head: TemplateHead,
    /// The parts of what qualifies the name that are not gone over.
    left: usize,
}

impl<'n> ScopeReader<'n> {
    /// The scopes of a function. `None` if they cannot be read, or if that takes more than is left.
    pub fn new(
        debug: &'n Debug,
        left: &'n mut usize,
        (functions, sources): (&'n mut TypeParameters, &'n mut Sources),
        function: EntryPlace,
        statement: StatementPlace<'n>,
    ) -> Option<Self> {
        let mut entries = EntryReader { debug, left };
        let levels = entries.levels(functions, function)?;
        Some(ScopeReader {
            entries,
            functions,
            sources,
            levels,
            statement,
            names_left: MAX_NAMES,
        })
    }

    /// What the text of a type means in the innermost of the scopes.
    pub fn meaning(&mut self, text: &str) -> NameMeaning {
        self.meaning_from(0, text).unwrap_or(Unclear)
    }

    /// What a text means from a level outward. `None` if it is not clear.
    fn meaning_from(&mut self, first: usize, text: &str) -> Option<NameMeaning> {
        self.names_left = self.names_left.checked_sub(1)?;
        let text = text.trim();
        let text = text.strip_prefix("typename ").unwrap_or(text);
        let Some(parts) = heads::name_parts(text) else {
            // What depends on a name of the scopes is no type that others may have.
            for name in heads::names(text) {
                if self.simple(first, name)? != Outside {
                    return None;
                }
            }
            return Some(Outside);
        };
        let with_arguments = parts.iter().position(|part| part.arguments.is_some());
        let (start, rest) = match with_arguments {
            Some(0) => (self.instance(first, &[], &parts[0])?, 1),
            _ => (self.simple(first, &parts[0].name)?, 1),
        };
        let (start, rest) = match (start, with_arguments) {
            // The first parts are namespaces.
            (Outside, Some(at)) if at > 0 => {
                let names: Vec<&str> = parts[..at].iter().map(|it| it.name.as_str()).collect();
                (self.instance(first, &names, &parts[at])?, at + 1)
            }
            (start, _) => (start, rest),
        };
        let NameMeaning::Type(mut kind) = start else {
            let is_name = rest == parts.len() || start == Outside;
            return Some(if is_name { start } else { Unclear });
        };
        for part in &parts[rest..] {
            let class = self.entries.class(kind)?;
            kind = self.member(first, class, part)?;
        }
        Some(NameMeaning::Type(kind))
    }

    /// A type that a class or one that it is derived from declares. `None` if it is not clear.
    fn member(&mut self, first: usize, class: EntryPlace, part: &NamePart) -> Option<EntryPlace> {
        if let Some(arguments) = &part.arguments {
            let arguments = self.arguments(first, arguments)?;
            let members = self.member_instances(class, &part.name, &arguments)?;
            return only(members);
        }
        let own = self.entries.members(class, &part.name)?;
        if !own.is_empty() {
            return only(own);
        }
        match self.alias(class, &part.name)? {
            Some(NameMeaning::Type(kind)) => return Some(kind),
            Some(_) => return None,
            None => {}
        }
        let mut found = Vec::new();
        for base in self.all_bases(class)? {
            found.extend(self.entries.members(base, &part.name)?);
        }
        only(found)
    }

    /// What a name without arguments means from a level outward.
    fn simple(&mut self, first: usize, name: &str) -> Option<NameMeaning> {
        let mut outer: Option<OuterHead> = None;
        // Whether a definition has other names for parameters, which cannot be read.
        let mut is_unreadable = false;
        let mut is_parameter = false;
        for index in first..self.levels.len() {
            let level = self.levels[index].clone();
            let own = if level.is_class {
                self.of_class(&level, name)?
            } else {
                self.of_function(&level, name)?
            };
            if own.is_some() {
                return own;
            }
            let parameter = match (&mut outer, self.head(index)) {
                (Some(outer), _) if level.is_class => outer.parameter(&level, name)?,
                (None, Some(head)) => {
                    // What is around a friend is that of its class.
                    if head.is_friend {
                        return None;
                    }
                    is_parameter |= head.has_parameter(name);
                    let found = own_parameter(&level, &head, name)?;
                    let left = head.qualifiers.len();
                    outer = (left > 0).then_some(OuterHead { head, left });
                    found
                }
                _ if level.parameters.iter().any(|it| it == name) => return None,
                (None, None) if is_closure(&self.levels[index..]) => None,
                _ => {
                    is_unreadable = true;
                    None
                }
            };
            if let Some(argument) = parameter {
                return match argument {
                    _ if is_unreadable => None,
                    TemplateArgument::Type(kind) => Some(NameMeaning::Type(kind)),
                    TemplateArgument::Number(number) => Some(NameMeaning::Number(number)),
                    TemplateArgument::Unknown => None,
                };
            }
            if level.is_incomplete {
                break;
            }
        }
        Some(if is_parameter { Unclear } else { Outside })
    }

    /// What the types that a function declares say of a name; `None` within if nothing.
    fn of_function(&mut self, level: &ScopeLevel, name: &str) -> Option<Option<NameMeaning>> {
        let mut found = Vec::new();
        for entry in &level.entries {
            found.extend(self.entries.locals(*entry, name)?);
        }
        if !found.is_empty() {
            let is_of_all = found.iter().all(|(is_of_all, _)| *is_of_all);
            let found = found.into_iter().map(|(_, place)| place).collect();
            // If a block of the function declares it, that may be another one.
            let only = only(found).filter(|_| is_of_all);
            return Some(Some(NameMeaning::Type(only?)));
        }
        // A type that debug information lacks.
        let Some((file, line)) = &level.declared else {
            return Some(None);
        };
        let last = self.statement.line as usize;
        if file_name(file) != file_name(self.statement.file) || *line > last {
            return Some(Some(Outside));
        }
        let lines = self.sources.lines(self.statement.file);
        let declared = heads::declared_between(lines, (*line, last), name);
        (declared == Declared::Nothing).then_some(None)
    }

    /// What the types that a class declares, its name, and those that it is derived from say of a
    /// name; `None` within if nothing.
    fn of_class(&mut self, level: &ScopeLevel, name: &str) -> Option<Option<NameMeaning>> {
        let class = *level.entries.last()?;
        let own = self.entries.members(class, name)?;
        if !own.is_empty() {
            return Some(Some(NameMeaning::Type(only(own)?)));
        }
        if level.name == name {
            return Some(Some(NameMeaning::Type(class)));
        }
        if let Some(alias) = self.alias(class, name)? {
            return Some(Some(alias));
        }
        // Whether classes that this one is derived from hide what is around depends on whether
        // their templates do.
        Some(self.is_of_bases(class, name)?.then_some(Outside))
    }

    /// The type that a class gives a name in its source, where debug information lacks that. `None`
    /// if the class declares the name in a way that is not clear.
    fn alias(&mut self, class: EntryPlace, name: &str) -> Option<Option<NameMeaning>> {
        let (own, _, declared) = self.entries.about(class)?;
        // A lambda's class has no body.
        let has_body = !own.is_empty() && !own.starts_with('<');
        let Some((file, line)) = declared.filter(|_| has_body) else {
            return Some(None);
        };
        let lines = self.sources.lines(&file);
        if lines.is_empty() {
            return Some(None);
        }
        let text = match heads::declared_in_class(lines, line, name) {
            Declared::Nothing => return Some(None),
            Declared::Something => return None,
            Declared::Alias(text) => text,
        };
        let around = |level: &ScopeLevel| level.is_class && level.entries.contains(&class);
        let meaning = match self.levels.iter().position(around) {
            Some(at) => self.meaning_from(at, &text)?,
            None => {
                let levels = self.entries.levels(self.functions, class)?;
                let own = std::mem::replace(&mut self.levels, levels);
                let meaning = self.meaning_from(0, &text);
                self.levels = own;
                meaning?
            }
        };
        Some(Some(match meaning {
            Outside => NameMeaning::Named(text),
            meaning => meaning,
        }))
    }

    /// Whether a class that a class is derived from may declare a name.
    fn is_of_bases(&mut self, class: EntryPlace, name: &str) -> Option<bool> {
        for base in self.all_bases(class)? {
            if !self.entries.members(base, name)?.is_empty() {
                return Some(true);
            }
            let (.., declared) = self.entries.about(base)?;
            let (file, line) = declared?;
            let lines = self.sources.lines(&file);
            if heads::declared_in_class(lines, line, name) != Declared::Nothing {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The classes that a class is derived from, directly or not.
    fn all_bases(&mut self, class: EntryPlace) -> Option<Vec<EntryPlace>> {
        let mut found = self.entries.bases(class)?;
        let mut at = 0;
        while at < found.len() {
            let more = self.entries.bases(found[at])?;
            found.extend(more);
            at += 1;
            if found.len() > MAX_BASES {
                return None;
            }
        }
        Some(found)
    }

    /// What precedes the name of a level where it is declared.
    fn head(&mut self, index: usize) -> Option<TemplateHead> {
        let level = &self.levels[index];
        let (file, line) = level.declared.clone()?;
        if level.name.is_empty() {
            return None;
        }
        let lines = self.sources.lines(&file);
        let head = heads::head(lines, line, &level.name, !level.is_class)?;
        // Macros may have `template`.
        let is_bare = head.headers.is_empty() && head.qualifiers.is_empty();
        (!is_bare || level.arguments.is_empty()).then_some(head)
    }
}

/// Whether the innermost of some levels is a lambda without parameters of its own, or its class.
fn is_closure(levels: &[ScopeLevel]) -> bool {
    let is_class = |level: Option<&ScopeLevel>| {
        level.is_some_and(|it| it.is_class && it.name.is_empty() && it.arguments.is_empty())
    };
    let first = levels.first();
    let is_call = first.is_some_and(|it| !it.is_class && it.arguments.is_empty());
    is_class(first) || is_call && is_class(levels.get(1))
}

/// What a parameter of a level stands for, if the level's own template has it. `None` if what
/// precedes the level's name is not that of a template with its arguments.
fn own_parameter(
    level: &ScopeLevel,
    head: &TemplateHead,
    name: &str,
) -> Option<Option<TemplateArgument>> {
    let Some(own) = head.headers.last().filter(|_| !level.arguments.is_empty()) else {
        return Some(None);
    };
    let Some(at) = own.iter().position(|it| it == name) else {
        return Some(None);
    };
    // Of a member of a class that is defined outside of it, the last list may be that of the class.
    let is_own = own.len() == level.arguments.len() && !head.has_arguments;
    is_own.then(|| level.arguments.get(at).cloned())
}

impl OuterHead {
    /// What a parameter of a class stands for, by the arguments with which the definition of its
    /// member names the class. `None` if it is not clear.
    fn parameter(&mut self, class: &ScopeLevel, name: &str) -> Option<Option<TemplateArgument>> {
        self.left = self.left.checked_sub(1)?;
        let part = &self.head.qualifiers[self.left];
        if part.name != class.name {
            return None;
        }
        let Some(arguments) = part
            .arguments
            .as_ref()
            .filter(|_| !class.arguments.is_empty())
        else {
            return Some(None);
        };
        let Some(at) = arguments.iter().position(|it| it == name) else {
            return Some(None);
        };
        let is_it = self.head.has_parameter(name) && arguments.len() == class.arguments.len();
        is_it.then(|| class.arguments.get(at).cloned())
    }
}

/// The only one of some types.
fn only(mut found: Vec<EntryPlace>) -> Option<EntryPlace> {
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}
