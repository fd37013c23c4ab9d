//! Linking: several files become one, in which functions and variables that one file declares and
//! another defines are the same.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::ast::{Ast, Init, Operand, Statement, Variable};
use super::types::StateSpace;
use crate::error::PtxError;

/// Links files. A variable that is declared and nowhere defined is refused: an error of the kernels
/// that name it.
pub fn link(files: Vec<Ast>) -> Ast {
    let mut all = Ast::default();
    let (mut taken, mut declared) = (HashSet::new(), Vec::new());
    // Of names in several files, those that any file shows to others stay as they are.
    let shown = files.iter().flat_map(|file| {
        let is_shown = |name: &&String| !file.locals.contains(*name);
        names(file).filter(is_shown).cloned()
    });
    let shown: HashSet<String> = shown.collect();
    for (index, mut file) in files.into_iter().enumerate() {
        all.linked.push(file_name(&file, index));
        let is_taken = |name: &String| shown.contains(name) || taken.contains(name);
        let renaming = Renaming::new(&file, index, is_taken, all.files.len() as u32);
        renaming.apply(&mut file);
        taken.extend(names(&file).cloned());
        add(&mut all, &mut declared, file, index);
    }
    one_of_each(&mut all, declared);
    all
}

/// The names of a file's variables, those that are refused among them, and functions. A name may
/// come several times.
fn names(file: &Ast) -> impl Iterator<Item = &String> {
    let variables = file.variables.iter().map(|variable| &variable.name);
    let functions = file.functions.iter().map(|function| &function.name);
    variables.chain(file.refused.keys()).chain(functions)
}

/// How people find a file among those that are linked: by its number, from 1, and by the source
/// that it was compiled from, as far as it names one (`-lineinfo`).
fn file_name(file: &Ast, index: usize) -> String {
    let number = index + 1;
    let is_source = |path: &&Arc<str>| path.ends_with(".cu");
    let source = file.files.values().find(is_source);
    match source.or(file.files.values().next()) {
        Some(path) => {
            let name = path.rsplit('/').next().unwrap_or_default();
            format!("linked file {number} ({name})")
        }
        None => format!("linked file {number}"),
    }
}

/// What a file has in common with others by chance, and what that becomes.
struct Renaming {
    /// Names that only this file sees and others have too.
    names: HashMap<String, String>,
    /// Numbers of its sources (`.file`).
    sources: HashMap<u32, u32>,
    /// The number of the file itself, from 1.
    number: u32,
}

impl Renaming {
    /// `is_taken` is whether another file has a name, and `sources` the number of sources of
    /// earlier files.
    fn new(file: &Ast, index: usize, is_taken: impl Fn(&String) -> bool, sources: u32) -> Renaming {
        let clash = file.locals.iter().filter(|name| is_taken(name));
        Renaming {
            names: clash
                .map(|name| (name.clone(), format!("{name}$file{index}")))
                .collect(),
            sources: file.files.keys().copied().zip(sources + 1..).collect(),
            number: index as u32 + 1,
        }
    }

    fn apply(&self, file: &mut Ast) {
        for variable in &mut file.variables {
            self.variable(variable);
        }
        for function in &mut file.functions {
            self.name(&mut function.name);
            function.at.file = self.number;
            if let Some(error) = &mut function.refused {
                error.set_file(self.number);
            }
            let params = function.params.iter_mut();
            params
                .chain(&mut function.returns)
                .for_each(|param| param.at.file = self.number);
            for statement in function.body.iter_mut().flatten() {
                self.statement(statement);
            }
        }
        let refused = std::mem::take(&mut file.refused).into_iter();
        file.refused = refused
            .map(|(mut name, mut error)| {
                self.name(&mut name);
                error.set_file(self.number);
                (name, error)
            })
            .collect();
        let files = std::mem::take(&mut file.files).into_iter();
        file.files = files
            .map(|(number, name)| (self.source(number), name))
            .collect();
        let labels = std::mem::take(&mut file.debug_labels).into_iter();
        file.debug_labels = labels.map(|(name, at)| (self.label(&name), at)).collect();
    }

    fn variable(&self, variable: &mut Variable) {
        variable.at.file = self.number;
        self.name(&mut variable.name);
        for value in &mut variable.init {
            if let Init::Address { name, .. } = value {
                self.name(name);
            }
        }
    }

    fn statement(&self, statement: &mut Statement) {
        match statement {
            Statement::Instruction(instruction) => {
                // Accesses are known by their positions, the file among them.
                instruction.at.file = self.number;
                for operand in &mut instruction.operands {
                    rename_operand(operand, &self.names);
                }
            }
            Statement::Registers { at, .. } | Statement::Label(_, at) => at.file = self.number,
            Statement::Variable(variable) => variable.at.file = self.number,
            Statement::Location(source, inlined) => {
                source.file = self.source(source.file);
                if let Some(inlined) = inlined {
                    inlined.at.file = self.source(inlined.at.file);
                    inlined.name = self.label(&inlined.name);
                }
            }
            Statement::CallTargets(_, functions) => {
                functions
                    .iter_mut()
                    .for_each(|function| self.name(function));
            }
            Statement::Open
            | Statement::Close
            | Statement::Targets(..)
            | Statement::Prototype(..) => {}
        }
    }

    fn name(&self, name: &mut String) {
        if let Some(new) = self.names.get(name) {
            name.clone_from(new);
        }
    }

    /// The number of a source; one that no source has, if the file does not name it.
    fn source(&self, number: u32) -> u32 {
        self.sources.get(&number).copied().unwrap_or(u32::MAX)
    }

    /// A label of the texts of a file.
    fn label(&self, name: &str) -> String {
        format!("{name}${}", self.number)
    }
}

fn rename_operand(operand: &mut Operand, names: &HashMap<String, String>) {
    match operand {
        Operand::Name(name, _) => {
            if let Some(new) = names.get(name) {
                name.clone_from(new);
            }
        }
        Operand::Vector(parts) | Operand::List(parts) => {
            parts
                .iter_mut()
                .for_each(|part| rename_operand(part, names));
        }
        Operand::Address(base, _) | Operand::Texture(base, _) => rename_operand(base, names),
        Operand::Integer(_)
        | Operand::Single(_)
        | Operand::Double(_)
        | Operand::Pair(..)
        | Operand::Not(_) => {}
    }
}

/// Adds what a file has to what others have; variables that it only declares to `others`.
fn add(all: &mut Ast, others: &mut Vec<Variable>, file: Ast, index: usize) {
    if index == 0 {
        all.target = file.target;
    }
    all.version = all.version.max(file.version);
    all.files.extend(file.files);
    let begin = all.debug_bytes.len();
    all.debug_bytes.extend(file.debug_bytes);
    let labels = file.debug_labels.into_iter();
    all.debug_labels
        .extend(labels.map(|(name, at)| (name, begin + at)));
    let (declared, defined): (Vec<_>, Vec<_>) = file
        .variables
        .into_iter()
        .partition(|variable| file.externs.contains(&variable.name));
    others.extend(declared);
    all.variables.extend(defined);
    all.refused.extend(file.refused);
    all.functions.extend(file.functions);
}

/// Leaves one of several functions and variables of a name: that which is defined.
fn one_of_each(all: &mut Ast, declared: Vec<Variable>) {
    let with_body = all
        .functions
        .iter()
        .filter(|function| function.body.is_some());
    let defined: HashSet<String> = with_body.map(|function| function.name.clone()).collect();
    let mut seen = HashSet::new();
    all.functions.retain(|function| {
        let is_needed = function.body.is_some() || !defined.contains(&function.name);
        is_needed && seen.insert(function.name.clone())
    });
    let mut seen = HashSet::new();
    all.variables
        .retain(|variable| seen.insert(variable.name.clone()));
    // What one file declares in a way that is not supported may be defined in another one.
    all.refused.retain(|name, _| !seen.contains(name));
    for variable in declared {
        if !seen.insert(variable.name.clone()) {
            continue;
        }
        // The shared memory of a launch is declared everywhere, and defined nowhere.
        if variable.space != StateSpace::Shared {
            let what = format!("{} is declared and nowhere defined", variable.name);
            let error = PtxError::new(variable.at, what);
            all.refused.entry(variable.name).or_insert(error);
            continue;
        }
        all.variables.push(variable);
    }
}
