//! [`Scope`]: what names mean between two braces, and [`BodyScope`]: what belongs to the body of a
//! kernel or of a called function.

use std::collections::HashMap;

use super::kernel::NamedSpace;
use crate::syntax::ast::Prototype;
use crate::syntax::types::Type;

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Binding {
    Register {
        ty: Type,
        slot: u32,
    },
    /// A variable at that address of its space.
    Variable {
        space: NamedSpace,
        address: u64,
        /// Bytes, as far as they are declared.
        size: Option<u64>,
    },
    /// Shared memory whose size the launch decides, after all other shared memory.
    Dynamic,
}

/// What was declared between two braces.
#[derive(Debug, Default)]
pub struct Scope {
    names: HashMap<String, Binding>,
    /// `%r<44>`: what the names begin with, and how many there are.
    families: Vec<(String, Type, u32)>,
    labels: HashMap<String, u32>,
    targets: HashMap<String, Vec<String>>,
    choices: HashMap<String, CallChoice>,
    /// Where the variables of the scope begin in local memory.
    pub local_start: u64,
}

/// What a call through a pointer may lead to.
#[derive(Clone, Debug)]
pub enum CallChoice {
    /// Functions that take and return this.
    Fitting(Prototype),
    /// These.
    Listed(Vec<String>),
    /// Those of a list that are routines already, which take and return this.
    Known(Prototype),
}

impl Scope {
    pub fn new(labels: HashMap<String, u32>, local_start: u64) -> Scope {
        Scope {
            labels,
            local_start,
            ..Scope::default()
        }
    }

    pub fn bind(&mut self, name: &str, binding: Binding) {
        self.names.insert(name.to_owned(), binding);
    }

    pub fn family(&mut self, prefix: &str, ty: Type, count: u32) {
        self.families.push((prefix.to_owned(), ty, count));
    }

    pub fn table(&mut self, label: &str, targets: &[String]) {
        self.targets.insert(label.to_owned(), targets.to_vec());
    }

    pub fn choice(&mut self, label: &str, choice: CallChoice) {
        self.choices.insert(label.to_owned(), choice);
    }

    /// What a call with the label may lead to.
    pub fn chosen(&self, label: &str) -> Option<&CallChoice> {
        self.choices.get(label)
    }

    pub fn get(&self, name: &str) -> Option<Binding> {
        self.names.get(name).copied()
    }

    pub fn label(&self, name: &str) -> Option<u32> {
        self.labels.get(name).copied()
    }

    pub fn targets(&self, label: &str) -> Option<&[String]> {
        self.targets.get(label).map(Vec::as_slice)
    }

    /// The type of a register of a family that has not been used yet.
    pub fn undeclared(&self, name: &str) -> Option<Type> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(name.len() - digits);
        let number: u32 = number.parse().ok()?;
        let found = self.families.iter().rev().find(|family| family.0 == prefix);
        found
            .filter(|family| number < family.2)
            .map(|family| family.1)
    }
}

/// A body that is being decoded: a kernel's, that of a function put in the place of a call, or that
/// of a routine.
#[derive(Debug, Default)]
pub struct BodyScope {
    pub scopes: Vec<Scope>,
    /// Where `ret` goes; none ends the thread.
    pub end: Option<u32>,
}
