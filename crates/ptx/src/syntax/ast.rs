//! The parsed form of a PTX file ([`Ast`]): its variables, its functions and their statements, in
//! the order of the file. Names are not resolved here; that is done by `decode`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::types::{StateSpace, Type};
use crate::error::{Position, PtxError};

/// A file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ast {
    /// `.version`.
    pub version: (u32, u32),
    /// `.target`.
    pub target: String,
    /// `.file`: sources by number.
    pub files: BTreeMap<u32, Arc<str>>,
    /// The bytes of the section `.debug_str`: texts that end with 0.
    pub debug_bytes: Vec<u8>,
    /// Where labels are in it.
    pub debug_labels: HashMap<String, usize>,
    /// Variables outside functions.
    pub variables: Vec<Variable>,
    /// Kernels and functions, declarations too.
    pub functions: Vec<FunctionAst>,
    /// Names of functions and variables that no other file sees.
    pub locals: HashSet<String>,
    /// Names of variables that another file defines.
    pub externs: HashSet<String>,
    /// Variables that cannot be used, and why: an error of the kernels that name them.
    pub refused: HashMap<String, PtxError>,
    /// What people call the files that it was linked of; empty for a file as it is.
    pub linked: Vec<String>,
}

/// A variable or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The space that it is in.
    pub space: StateSpace,
    /// Type of an element.
    pub ty: Type,
    /// Bytes; none for `extern` arrays without a length.
    pub size: Option<u64>,
    /// Bytes; a power of two.
    pub align: u64,
    /// Its first values; zeros follow them.
    pub init: Vec<Init>,
    /// Where it is declared.
    pub at: Position,
}

/// An element of an initializer.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    /// These bits.
    Bits(u64),
    /// The address of a variable.
    Address {
        /// The variable.
        name: String,
        /// Bytes from its beginning.
        offset: i64,
        /// A generic address, not one of its space.
        generic: bool,
    },
}

/// A kernel or a function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionAst {
    /// Its name, mangled.
    pub name: String,
    /// A kernel.
    pub is_entry: bool,
    /// What it returns.
    pub returns: Vec<Variable>,
    /// What it is given.
    pub params: Vec<Variable>,
    /// None for a declaration.
    pub body: Option<Vec<Statement>>,
    /// Why it cannot be run, if its head or body has what is not supported: an error of the kernels
    /// that call it. Then it has neither parameters nor statements.
    pub refused: Option<PtxError>,
    /// `.maxntid`, as a product.
    pub max_threads: Option<u64>,
    /// `.reqntid`.
    pub required_threads: Option<[u32; 3]>,
    /// Where it begins.
    pub at: Position,
}

/// A statement of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `{`
    Open,
    /// `}`
    Close,
    /// `.reg`
    Registers {
        /// Their type.
        ty: Type,
        /// The name, or what the names begin with.
        name: String,
        /// How many, numbered from 0; none for one of that name.
        count: Option<u32>,
        /// Where.
        at: Position,
    },
    /// A variable in shared, local or parameter space.
    Variable(Variable),
    /// A place to branch to.
    Label(String, Position),
    /// `.branchtargets` of a label.
    Targets(String, Vec<String>),
    /// `.callprototype` of a label: what the functions that are called with it take and return.
    Prototype(String, Prototype),
    /// `.calltargets` of a label: the functions that a call may choose among.
    CallTargets(String, Vec<String>),
    /// `.loc`: what follows is from there, which may be in a function that the compiler put in the
    /// place of its call.
    Location(SourceRef, Option<InlinedRef>),
    /// Something to do.
    Instruction(Instruction),
}

/// What a function takes and returns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prototype {
    /// What it returns.
    pub returns: Vec<Variable>,
    /// What it is given.
    pub params: Vec<Variable>,
}

/// A place in one of the sources that `.file` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceRef {
    /// Number of the file.
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// A predicate, and whether it is negated.
    pub guard: Option<(String, bool)>,
    /// With all modifiers.
    pub opcode: String,
    /// In the order in which they are written.
    pub operands: Vec<Operand>,
    /// The position of the opcode.
    pub at: Position,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register, label, function or variable, and an offset in bytes.
    Name(String, i64),
    /// An integer, two's complement.
    Integer(u64),
    /// The bits of a single.
    Single(u32),
    /// The bits of a double.
    Double(u64),
    /// `{a, b}`
    Vector(Vec<Operand>),
    /// `[a+4]`
    Address(Box<Operand>, i64),
    /// `[a, {b, c}]`: a texture or surface, and coordinates.
    Texture(Box<Operand>, Vec<Operand>),
    /// `(a, b)`
    List(Vec<Operand>),
    /// `p|q`
    Pair(Box<Operand>, Box<Operand>),
    /// `!p`
    Not(Box<Operand>),
}

/// `function_name LABEL+OFFSET, inlined_at …` of a `.loc`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedRef {
    /// A label in the section `.debug_str`.
    pub name: String,
    /// Bytes from there to the function's name.
    pub offset: usize,
    /// Where the function is called.
    pub at: SourceRef,
}

impl FunctionAst {
    /// A declaration of a function that takes and returns nothing.
    pub fn empty(name: &str, is_entry: bool, at: Position) -> FunctionAst {
        FunctionAst {
            name: name.to_owned(),
            is_entry,
            returns: Vec::new(),
            params: Vec::new(),
            body: None,
            refused: None,
            max_threads: None,
            required_threads: None,
            at,
        }
    }
}

impl Ast {
    /// The number of its `.target`: 90 for `sm_90a`; 0 if it has none.
    pub fn architecture(&self) -> u32 {
        let number = self.target.strip_prefix("sm_").unwrap_or_default();
        let digits = number.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        digits.parse().unwrap_or_default()
    }

    /// The error with what people call the file that it is in.
    pub fn with_file(&self, error: PtxError) -> PtxError {
        let file = error.position().file_in(&self.linked).map(str::to_owned);
        error.in_file(file)
    }

    /// A text of the section `.debug_str`; none if the label is not there.
    pub fn debug_text(&self, label: &str, offset: usize) -> Option<String> {
        let start = self.debug_labels.get(label)?.checked_add(offset)?;
        let text = self.debug_bytes.get(start..)?;
        let text = text.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}
