//! Linking: several files become one, in which functions and variables that one file declares and
//! another defines are the same.

use std::collections::{HashMap, HashSet};

use super::ast::{Ast, Init, Operand, SourceRef, Statement, Variable};
use super::types::StateSpace;
use crate::error::PtxError;

/// Numbers of sources of a file are below that, and lines of its PTX.
const FILE_STEP: u32 = 1_000_000;

/// Links files.
///
/// # Errors
/// A variable that is declared and nowhere defined.
pub fn link(files: Vec<Ast>) -> Result<Ast, PtxError> {
    let mut all = Ast::default();
    let (mut taken, mut declared) = (HashSet::new(), Vec::new());
    for (index, mut file) in files.into_iter().enumerate() {
        let new_names = clashes(&file, &taken, index);
        rename(
            &mut file,
            &new_names,
            (index as u32).wrapping_mul(FILE_STEP),
        );
        let variables = file.variables.iter().map(|variable| &variable.name);
        let functions = file.functions.iter().map(|function| &function.name);
        taken.extend(variables.chain(functions).cloned());
        add(&mut all, &mut declared, file, index);
    }
    one_of_each(&mut all, declared)?;
    Ok(all)
}

/// New names for what only its file sees and other files have too.
fn clashes(file: &Ast, taken: &HashSet<String>, index: usize) -> HashMap<String, String> {
    let clash = file.locals.iter().filter(|name| taken.contains(*name));
    clash
        .map(|name| (name.clone(), format!("{name}$file{index}")))
        .collect()
}

fn rename(file: &mut Ast, names: &HashMap<String, String>, first_source: u32) {
    let renamed = |name: &mut String| {
        if let Some(new) = names.get(name) {
            name.clone_from(new);
        }
    };
    for variable in &mut file.variables {
        renamed(&mut variable.name);
        for value in &mut variable.init {
            if let Init::Address { name, .. } = value {
                renamed(name);
            }
        }
    }
    for function in &mut file.functions {
        renamed(&mut function.name);
        for statement in function.body.iter_mut().flatten() {
            match statement {
                Statement::Instruction(instruction) => {
                    // Accesses are known by their positions.
                    let line = &mut instruction.at.line;
                    *line = line.wrapping_add(first_source);
                    for operand in &mut instruction.operands {
                        rename_operand(operand, names);
                    }
                }
                Statement::Location(source, inlined) => {
                    let moved = |source: &mut SourceRef| {
                        source.file = source.file.wrapping_add(first_source)
                    };
                    moved(source);
                    if let Some(inlined) = inlined {
                        moved(&mut inlined.at);
                        inlined.name = label(&inlined.name, first_source);
                    }
                }
                _ => {}
            }
        }
    }
    let files = std::mem::take(&mut file.files);
    let files = files.into_iter();
    file.files = files
        .map(|(number, name)| (number.wrapping_add(first_source), name))
        .collect();
    let labels = std::mem::take(&mut file.debug_labels);
    let labels = labels.into_iter();
    file.debug_labels = labels
        .map(|(name, at)| (label(&name, first_source), at))
        .collect();
}

/// A label of the texts of a file, by the first number of its sources.
fn label(name: &str, first_source: u32) -> String {
    format!("{name}${first_source}")
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
    all.functions.extend(file.functions);
}

/// Leaves one of several functions and variables of a name: that which is defined.
fn one_of_each(all: &mut Ast, declared: Vec<Variable>) -> Result<(), PtxError> {
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
    for variable in declared {
        if !seen.insert(variable.name.clone()) {
            continue;
        }
        // The shared memory of a launch is declared everywhere, and defined nowhere.
        if variable.space != StateSpace::Shared {
            let what = format!("{} is declared and nowhere defined", variable.name);
            return Err(PtxError::new(variable.at, what));
        }
        all.variables.push(variable);
    }
    Ok(())
}
