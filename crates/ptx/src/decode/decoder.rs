//! [`KernelDecoder`]: the state while a kernel is decoded (scopes, labels, registers, constants),
//! and the functions that add operations to the kernel. The other files of this folder are its
//! methods for one sort of statement each.

use std::collections::HashMap;
use std::sync::Arc;

use reuselens_warp::SharedArray;

use super::Symbols;
use super::instruction_kind::InstructionKind;
use super::kernel::{
    AccessSite, Code, Kernel, KernelPlace, NONE, NamedSpace, ObservedCalculation, Op, Special,
};
use super::lines::LineTable;
use super::routine::CallSizes;
use super::scope::{Binding, BodyScope, CallChoice, Scope};
use crate::Options;
use crate::error::{Position, PtxError};
use crate::lanes::{Form, Isa, Slots};
use crate::syntax::ast::{Ast, FunctionAst, Variable};
use crate::syntax::types::{StateSpace, Type};

/// Operations of a kernel with all its calls.
const MOST_OPS: usize = 1 << 20;
/// Registers in use, of all files.
const MOST_REGISTERS: u32 = 1 << 16;

/// A place to branch to, by its number, until all places are known.
pub type Label = u32;

/// A kernel on its way from statements to operations.
pub struct KernelDecoder<'a> {
    pub ast: &'a Ast,
    pub symbols: &'a Symbols,
    pub isa: Isa,
    pub kernel: Kernel,
    pub frames: Vec<BodyScope>,
    /// The operation before which each label is placed.
    pub labels: Vec<Option<u32>>,
    /// The instruction being decoded.
    pub at: Position,
    pub opcode: String,
    /// All of it, if the kernel keeps its instructions' texts.
    pub text: Arc<str>,
    keeps_texts: bool,
    shows_arithmetic: bool,
    pub lines: LineTable,
    pub guard: (u32, bool),
    /// The next operation is the first of its instruction.
    pub fresh: bool,
    /// The carry of `add.cc`.
    pub carry: Option<u32>,
    /// The routine whose body is being decoded; `NONE` in the kernel's own.
    pub routine: u32,
    /// Where the next variable goes in local memory, or in the routine's frame.
    pub local_next: u64,
    /// Bytes of local memory, or of the frame, so far; and what it has to be a multiple of.
    pub local_bytes: u64,
    pub local_align: u64,
    /// Routines whose bodies have to be decoded.
    pub waiting: Vec<(u32, &'a FunctionAst)>,
    /// Routines by the names of their functions.
    pub routine_numbers: HashMap<&'a str, u32>,
    /// Calls of routines by name: the routine that calls (`NONE` is the kernel), and the other one.
    pub named_calls: Vec<(u32, u32)>,
    /// Functions with a body that pointers may lead to, by their sizes, without those that are
    /// routines already. None before the first call through a pointer.
    pub taken: Option<HashMap<CallSizes, Vec<&'a FunctionAst>>>,
    /// Functions by their names, as far as they were called.
    pub functions: HashMap<&'a str, &'a FunctionAst>,
    /// Variables outside functions by their names, as far as one was looked for.
    variables: HashMap<&'a str, &'a Variable>,
    /// Statements of functions that were put in the places of their calls.
    pub inlined: usize,
    constants: HashMap<u32, u32>,
    wide_constants: HashMap<u64, u32>,
    specials: HashMap<String, u32>,
    /// Module-level variables in shared memory that are used.
    shared: HashMap<String, u64>,
    /// Constant registers that hold the address of dynamic shared memory: wide or not, register,
    /// offset in bytes.
    pub dynamic: Vec<(bool, u32, i64)>,
    /// The name of the array in dynamic shared memory, if the kernel has one.
    pub dynamic_name: Option<String>,
}

impl<'a> KernelDecoder<'a> {
    pub fn new(
        ast: &'a Ast,
        symbols: &'a Symbols,
        options: &Options,
        function: &FunctionAst,
    ) -> KernelDecoder<'a> {
        KernelDecoder {
            ast,
            symbols,
            isa: options.isa,
            kernel: Kernel::empty(ast, function),
            frames: Vec::new(),
            labels: Vec::new(),
            at: function.at,
            opcode: String::new(),
            text: Arc::default(),
            keeps_texts: options.flow || options.arithmetic,
            shows_arithmetic: options.arithmetic,
            lines: LineTable::default(),
            guard: (NONE, false),
            fresh: true,
            carry: None,
            routine: NONE,
            local_next: 0,
            local_bytes: 0,
            local_align: 1,
            waiting: Vec::new(),
            routine_numbers: HashMap::new(),
            named_calls: Vec::new(),
            taken: None,
            functions: HashMap::new(),
            variables: HashMap::new(),
            inlined: 0,
            constants: HashMap::new(),
            wide_constants: HashMap::new(),
            specials: HashMap::new(),
            shared: HashMap::new(),
            dynamic: Vec::new(),
            dynamic_name: None,
        }
    }

    /// An instruction begins; `text` is made if the kernel keeps texts.
    pub fn begin(&mut self, at: Position, opcode: &str, text: impl FnOnce() -> String) {
        self.at = at;
        opcode.clone_into(&mut self.opcode);
        self.text = if self.keeps_texts {
            text().into()
        } else {
            Arc::default()
        };
        self.fresh = true;
        self.guard = (NONE, false);
    }

    /// An error at the instruction being decoded.
    pub fn error(&self, what: impl Into<String>) -> PtxError {
        PtxError::new(self.at, what)
    }

    /// An error of something outside the subset.
    pub fn unsupported(&self, what: impl Into<String>) -> PtxError {
        PtxError::unsupported(self.at, what)
    }

    /// An error of the instruction being decoded, with the line of the source that it is of.
    pub fn with_line(&self, error: PtxError) -> PtxError {
        match self.lines.current() {
            Some(line) if error.position() == self.at => error.at_line(line.text),
            _ => error,
        }
    }

    /// Adds an operation of the current instruction, under its guard.
    pub fn emit(&mut self, code: Code, slots: Slots) -> Result<(), PtxError> {
        if self.kernel.ops.len() >= MOST_OPS {
            return Err(self.error(format!(
                "the kernel with all its calls has more than {MOST_OPS} operations"
            )));
        }
        if self.fresh {
            let source = self.lines.current();
            self.kernel.places.push(KernelPlace {
                position: self.at,
                source,
            });
            self.kernel.kinds.push(InstructionKind::of(&self.opcode));
            if self.keeps_texts {
                self.kernel.texts.push(Arc::clone(&self.text));
            }
        }
        self.kernel.ops.push(Op {
            code,
            slots,
            guard: self.guard.0,
            negated: self.guard.1,
            counts: self.fresh,
            place: (self.kernel.places.len() - 1) as u32,
        });
        self.fresh = false;
        Ok(())
    }

    /// Before an arithmetic operation on these registers: shows it to sinks, if they want that. It
    /// is counted here then, and not at the operation itself, unless an operand has needed one
    /// before.
    pub fn observe(&mut self, types: &'static [Type], slots: &[u32]) -> Result<(), PtxError> {
        if !self.shows_arithmetic {
            return Ok(());
        }
        self.emit(
            Code::Observe(self.kernel.calculations.len() as u32),
            Slots::default(),
        )?;
        let place = &self.kernel.places[self.kernel.places.len() - 1];
        self.kernel.calculations.push(ObservedCalculation {
            place: place.clone(),
            text: Arc::clone(&self.text),
            types,
            registers: slots[..types.len()].to_vec(),
        });
        Ok(())
    }

    /// As [`observe`](Self::observe), for up to three sources of one type.
    pub fn observe_alike(&mut self, ty: Type, slots: &[u32]) -> Result<(), PtxError> {
        const fn three(ty: &'static [Type; 3]) -> &'static [Type] {
            ty
        }
        let types = match ty {
            Type::U32 => three(&[Type::U32; 3]),
            Type::S32 => three(&[Type::S32; 3]),
            Type::U16 => three(&[Type::U16; 3]),
            Type::S16 => three(&[Type::S16; 3]),
            Type::B16 => three(&[Type::B16; 3]),
            Type::Pred => three(&[Type::Pred; 3]),
            Type::U64 => three(&[Type::U64; 3]),
            Type::S64 => three(&[Type::S64; 3]),
            Type::F16 => three(&[Type::F16; 3]),
            Type::F16x2 => three(&[Type::F16x2; 3]),
            Type::Bf16 => three(&[Type::Bf16; 3]),
            Type::Bf16x2 => three(&[Type::Bf16x2; 3]),
            ty if ty.size() == 8 => three(&[Type::B64; 3]),
            _ => three(&[Type::B32; 3]),
        };
        self.observe(&types[..slots.len()], slots)
    }

    /// Adds a loop over lanes.
    pub fn emit_form(&mut self, form: Form, slots: Slots) -> Result<(), PtxError> {
        self.emit(Code::Lanes(form.exec.pick(self.isa)), slots)
    }

    /// A new register for values of that type.
    pub fn fresh_slot(&mut self, ty: Type) -> Result<u32, PtxError> {
        let kernel = &mut self.kernel;
        if kernel.narrow + kernel.wide + kernel.predicates >= MOST_REGISTERS {
            return Err(self.error(format!("more than {MOST_REGISTERS} registers are used")));
        }
        let counter = match ty.size() {
            _ if ty == Type::Pred => &mut kernel.predicates,
            8 => &mut kernel.wide,
            _ => &mut kernel.narrow,
        };
        *counter += 1;
        Ok(*counter - 1)
    }

    /// A register that holds these bits.
    pub fn constant(&mut self, ty: Type, bits: u64) -> Result<u32, PtxError> {
        if ty.size() == 8 {
            if let Some(&slot) = self.wide_constants.get(&bits) {
                return Ok(slot);
            }
            let slot = self.fresh_slot(Type::B64)?;
            self.kernel.wide_constants.push((slot, bits));
            self.wide_constants.insert(bits, slot);
            return Ok(slot);
        }
        let bits = bits as u32;
        if let Some(&slot) = self.constants.get(&bits) {
            return Ok(slot);
        }
        let slot = self.fresh_slot(Type::B32)?;
        self.kernel.constants.push((slot, bits));
        self.constants.insert(bits, slot);
        Ok(slot)
    }

    /// A narrow register that holds what the launch decides.
    pub fn special(&mut self, name: &str) -> Result<Option<u32>, PtxError> {
        if let Some(&slot) = self.specials.get(name) {
            return Ok(Some(slot));
        }
        let Some(special) = Special::named(name) else {
            return Ok(None);
        };
        let slot = self.fresh_slot(Type::B32)?;
        self.kernel.specials.push((slot, special));
        self.specials.insert(name.to_owned(), slot);
        Ok(Some(slot))
    }

    /// The scopes that can be seen, innermost first.
    pub fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.frames
            .last()
            .into_iter()
            .flat_map(|frame| frame.scopes.iter().rev())
    }

    /// What calls with a label that is declared here may lead to, from now on.
    pub fn remember_choice(&mut self, label: &str, choice: CallChoice) {
        let scopes = self.frames.last_mut().map(|frame| &mut frame.scopes[..]);
        let mut scopes = scopes.unwrap_or_default().iter_mut().rev();
        if let Some(scope) = scopes.find(|scope| scope.chosen(label).is_some()) {
            scope.choice(label, choice);
        }
    }

    /// The innermost scope.
    pub fn scope(&mut self) -> &mut Scope {
        let frame = self.frames.last_mut().expect("a body is being decoded");
        frame.scopes.last_mut().expect("a body has a scope")
    }

    /// Whether a name is that of a predicate.
    pub fn is_predicate(&mut self, name: &str) -> Result<bool, PtxError> {
        let binding = self.lookup(name)?;
        Ok(matches!(
            binding,
            Some(Binding::Register { ty: Type::Pred, .. })
        ))
    }

    /// What a name means here.
    pub fn lookup(&mut self, name: &str) -> Result<Option<Binding>, PtxError> {
        let depth = self.frames.last().map_or(0, |frame| frame.scopes.len());
        for index in (0..depth).rev() {
            let scope = &self.frames[self.frames.len() - 1].scopes[index];
            if let Some(binding) = scope.get(name) {
                return Ok(Some(binding));
            }
            if let Some(ty) = scope.undeclared(name) {
                let binding = Binding::Register {
                    ty,
                    slot: self.fresh_slot(ty)?,
                };
                let frame = self.frames.len() - 1;
                self.frames[frame].scopes[index].bind(name, binding);
                return Ok(Some(binding));
            }
        }
        self.module_variable(name)
    }

    fn module_variable(&mut self, name: &str) -> Result<Option<Binding>, PtxError> {
        let ast = self.ast;
        if let Some(error) = ast.refused.get(name) {
            return Err(error.clone());
        }
        if self.variables.is_empty() {
            for variable in &ast.variables {
                self.variables.entry(&variable.name).or_insert(variable);
            }
        }
        let Some(&variable) = self.variables.get(name) else {
            return Ok(None);
        };
        Ok(Some(match variable.space {
            StateSpace::Shared => self.shared_variable(variable)?,
            StateSpace::Global | StateSpace::Const => {
                let Some(&address) = self.symbols.variables.get(name) else {
                    return Err(self.error(format!(
                        "{name} is declared but defined in another file; link first"
                    )));
                };
                Binding::Variable {
                    space: NamedSpace::Global,
                    address,
                    size: variable.size,
                }
            }
            StateSpace::Local | StateSpace::Param => {
                return Err(self.unsupported(format!(
                    "{name}: local variables outside functions are not supported"
                )));
            }
        }))
    }

    /// Places a variable of a block.
    fn shared_variable(&mut self, variable: &Variable) -> Result<Binding, PtxError> {
        let Some(size) = variable.size else {
            self.name_dynamic(&variable.name);
            return Ok(Binding::Dynamic);
        };
        let name = &variable.name;
        if let Some(&address) = self.shared.get(name) {
            return Ok(Binding::Variable {
                space: NamedSpace::Shared,
                address,
                size: variable.size,
            });
        }
        let address = self.place_shared(name, size, variable.align)?;
        self.shared.insert(name.clone(), address);
        Ok(Binding::Variable {
            space: NamedSpace::Shared,
            address,
            size: variable.size,
        })
    }

    /// The name of the array that takes what the launch adds to shared memory: of several, all of
    /// which begin there, the first. Where it begins is known at the end.
    pub fn name_dynamic(&mut self, name: &str) {
        self.dynamic_name.get_or_insert_with(|| name.to_owned());
    }

    /// Places a variable of that name in shared memory.
    pub fn place_shared(&mut self, name: &str, size: u64, align: u64) -> Result<u64, PtxError> {
        const WINDOW: u64 = 1 << 30;
        let address = self.kernel.shared_bytes.next_multiple_of(align);
        if size > WINDOW || address + size > WINDOW {
            return Err(self.error("more than a GiB of shared memory"));
        }
        self.kernel.shared_bytes = address + size;
        self.kernel.shared_arrays.push(SharedArray {
            name: name.to_owned(),
            start: address,
            bytes: Some(size),
        });
        Ok(address)
    }

    pub fn place_local(&mut self, size: u64, align: u64) -> Result<u64, PtxError> {
        const WINDOW: u64 = 1 << 24;
        let address = self.local_next.next_multiple_of(align);
        if size > WINDOW || address + size > WINDOW {
            return Err(self.error("more than 16 MiB of local memory for each thread"));
        }
        self.local_next = address + size;
        self.local_bytes = self.local_bytes.max(self.local_next);
        self.local_align = self.local_align.max(align);
        Ok(address)
    }

    /// A new label, not placed yet.
    pub fn new_label(&mut self) -> Label {
        self.labels.push(None);
        (self.labels.len() - 1) as Label
    }

    /// Puts a label before the next operation.
    pub fn place_label(&mut self, label: Label) {
        self.labels[label as usize] = Some(self.kernel.ops.len() as u32);
    }

    /// The site of the instruction being decoded.
    pub fn site(&mut self) -> u32 {
        let same = |site: &AccessSite| site.position == self.at;
        if let Some(index) = self.kernel.sites.iter().rposition(same) {
            return index as u32;
        }
        let source = self.lines.current();
        self.kernel.sites.push(AccessSite {
            position: self.at,
            opcode: self.opcode.clone(),
            source,
        });
        (self.kernel.sites.len() - 1) as u32
    }
}
