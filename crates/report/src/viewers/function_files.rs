//! The files of the functions of stacks, for formats in which a function has one.

use std::collections::{BTreeMap, BTreeSet};

use super::{CellStack, Stacks};

/// Each function of a stack, with its file and the line at which it goes on: at its call of the
/// next one, or at the access.
pub(super) fn places<'a>(stack: &CellStack<'a>) -> impl Iterator<Item = (&'a str, &'a str, u32)> {
    let last = stack.functions.len() - 1;
    let place = stack.place;
    let functions = stack.functions.iter().enumerate();
    functions.map(move |(at, function)| {
        let (file, line) = if at == last { place } else { function.call };
        (function.name, file, line)
    })
}

/// By the name of a function, the files in which there is one.
pub(super) struct FunctionFiles<'a>(BTreeMap<&'a str, BTreeSet<&'a str>>);

impl<'a> FunctionFiles<'a> {
    /// Those of all stacks.
    pub fn of(stacks: &'a Stacks<'_>) -> Self {
        let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (stack, _) in stacks.iter(&[]) {
            for (name, file, _) in places(&stack).filter(|(_, file, _)| !file.is_empty()) {
                files.entry(name).or_default().insert(file);
            }
        }
        FunctionFiles(files)
    }

    /// The file of a function where a stack may not say it (`file` is empty): that in which there
    /// is one of the name, if it is one only.
    pub fn file(&self, name: &str, file: &'a str) -> &'a str {
        if !file.is_empty() {
            return file;
        }
        let only = self.0.get(name).filter(|files| files.len() == 1);
        only.and_then(|files| files.first()).unwrap_or(&"")
    }
}
