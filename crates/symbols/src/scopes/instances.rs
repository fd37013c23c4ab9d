//! Classes that templates make: `Node<T>`, by what their parameters stand for.

use super::levels::{TemplateArgument, base};
use super::{NameMeaning, ScopeReader};
use crate::scopes::heads::NamePart;
use crate::type_parameters::EntryPlace;
use crate::types::is_structure;

/// An argument as the source has it.
#[derive(Clone, Debug)]
pub(super) enum WrittenArgument {
    Known(TemplateArgument),
    /// A type that no scope around the statement declares, by its name.
    Named(String),
}

impl ScopeReader<'_> {
    /// The class that some namespaces, a name and arguments mean from a level outward.
    pub(super) fn instance(
        &mut self,
        first: usize,
        namespaces: &[&str],
        part: &NamePart,
    ) -> Option<NameMeaning> {
        let written = self.arguments(first, part.arguments.as_ref()?)?;
        let mut found = Vec::new();
        for index in (first..self.levels.len()).filter(|_| namespaces.is_empty()) {
            let level = self.levels[index].clone();
            if !level.is_class {
                continue;
            }
            let class = *level.entries.last()?;
            if level.name == part.name && self.is_instance(class, &part.name, &written)? {
                found.push(class);
            }
            found.extend(self.member_instances(class, &part.name, &written)?);
            // The class may declare the name in a way that debug information lacks.
            if found.is_empty() {
                self.alias(class, &part.name)?;
            }
        }
        let is_known = |it: &WrittenArgument| matches!(it, WrittenArgument::Known(_));
        if found.is_empty() && !written.iter().any(is_known) {
            return Some(NameMeaning::Outside);
        }
        let unit = self.levels.last()?.entries.last()?.0;
        for class in self.visible(unit, namespaces, &part.name)? {
            if self.is_instance(class, &part.name, &written)? {
                found.push(class);
            }
        }
        super::only(found).map(NameMeaning::Type)
    }

    /// The classes of a name that code at the levels sees without a namespace, or with this one.
    fn visible(&mut self, unit: usize, given: &[&str], name: &str) -> Option<Vec<EntryPlace>> {
        let outermost = *self.levels.last()?.entries.last()?;
        let own = self.namespaces(outermost)??;
        let walk = (self.entries.debug, &mut *self.entries.left);
        let classes = self.functions.scopes(walk, unit, is_structure);
        let mut found = Vec::new();
        for class in self.entries.called(unit, classes, name)? {
            let Some(around) = self.namespaces(class)? else {
                continue;
            };
            let is_visible = around.len() >= given.len() && {
                let (outer, last) = around.split_at(around.len() - given.len());
                last == given && own.starts_with(outer)
            };
            if is_visible {
                found.push(class);
            }
        }
        Some(found)
    }

    /// The names of the namespaces around an entry; `None` within if it is in something else.
    fn namespaces(&mut self, entry: EntryPlace) -> Option<Option<Vec<String>>> {
        let walk = (self.entries.debug, &mut *self.entries.left);
        let Some(places) = self.functions.namespaces(walk, entry) else {
            return Some(None);
        };
        let mut names = Vec::new();
        for place in places {
            names.push(self.entries.about(place)?.0);
        }
        // Those without names are seen through.
        names.retain(|name| !name.is_empty());
        Some(Some(names))
    }

    /// The classes of a template that a class declares, with these arguments.
    pub(super) fn member_instances(
        &mut self,
        class: EntryPlace,
        name: &str,
        written: &[WrittenArgument],
    ) -> Option<Vec<EntryPlace>> {
        let mut found = Vec::new();
        for member in self.entries.member_templates(class, name)? {
            if self.is_instance(member, name, written)? {
                found.push(member);
            }
        }
        Some(found)
    }

    /// Whether a class is that of a template of this name with all of these arguments.
    fn is_instance(
        &mut self,
        class: EntryPlace,
        name: &str,
        written: &[WrittenArgument],
    ) -> Option<bool> {
        let (full, is_declaration, _) = self.entries.about(class)?;
        if is_declaration || base(&full) != name {
            return Some(false);
        }
        let (_, own) = self.entries.arguments(class)?;
        let is_same = |(own, written): (&TemplateArgument, &WrittenArgument)| match (own, written) {
            (TemplateArgument::Type(own), WrittenArgument::Known(TemplateArgument::Type(kind))) => {
                self.entries.without_names(*own) == self.entries.without_names(*kind)
            }
            (TemplateArgument::Type(own), WrittenArgument::Named(name)) => {
                let about = self.entries.about(*own);
                about.is_some_and(|(own, ..)| own == *name)
            }
            (TemplateArgument::Number(own), WrittenArgument::Known(it)) => {
                *it == TemplateArgument::Number(*own)
            }
            _ => false,
        };
        Some(own.len() == written.len() && own.iter().zip(written).all(is_same))
    }

    /// What the arguments of a template mean from a level outward. `None` if one is not clear.
    pub(super) fn arguments(
        &mut self,
        first: usize,
        texts: &[String],
    ) -> Option<Vec<WrittenArgument>> {
        let mut found = Vec::new();
        for text in texts {
            let known = match text.parse() {
                Ok(number) => Some(TemplateArgument::Number(number)),
                Err(_) => match self.meaning_from(first, text)? {
                    NameMeaning::Type(kind) => Some(TemplateArgument::Type(kind)),
                    NameMeaning::Number(number) => Some(TemplateArgument::Number(number)),
                    NameMeaning::Outside => None,
                    NameMeaning::Named(_) | NameMeaning::Unclear => return None,
                },
            };
            found.push(match known {
                Some(known) => WrittenArgument::Known(known),
                None => WrittenArgument::Named(text.clone()),
            });
        }
        Some(found)
    }
}
