//! [`Scope`]: what names mean between two braces, and [`BodyScope`]: what belongs to the body of a
//! kernel or of a called function.

use std::collections::HashMap;

use super::kernel::NamedSpace;
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
}

impl Scope {
    pub fn with_labels(labels: HashMap<String, u32>) -> Scope {
        Scope {
            labels,
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

/// A body that is being decoded: a kernel's, or that of a function put in the place of a call.
#[derive(Debug, Default)]
pub struct BodyScope {
    pub function: String,
    pub scopes: Vec<Scope>,
    /// Where `ret` goes; none ends the thread.
    pub end: Option<u32>,
}
