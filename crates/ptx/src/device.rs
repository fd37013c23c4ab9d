//! The way from PTX text to results: a [`PtxModule`] is parsed text, a [`Loaded`] one has addresses
//! for its variables, and a [`Device`] has the memory, finds kernels by name and launches them.
//!
//! The work is done elsewhere: parsing in `syntax`, making a kernel ready in `decode`, running in
//! `machine`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::decode::{self, Callees, Kernel, Param, Symbols};
use crate::error::PtxError;
use crate::machine::{
    Allocation, DeviceMemory, FlowCounts, LaunchConfig, LaunchError, Options, SkippedAccess, Stats,
    run, windows,
};
use crate::names;
use crate::sink::LaunchSink;
use crate::syntax::ast::{Ast, FunctionAst, Init, Statement, Variable};
use crate::syntax::types::StateSpace;

/// A PTX file that has been read.
#[derive(Clone, Debug)]
pub struct PtxModule {
    ast: Ast,
}

impl PtxModule {
    /// Reads a file.
    ///
    /// # Errors
    /// What is no PTX, with line and column. Declarations and instructions outside the subset are
    /// errors of the kernels that use them, when those are made ready.
    pub fn parse(text: &str) -> Result<PtxModule, PtxError> {
        Ok(PtxModule {
            ast: crate::syntax::parse(text)?,
        })
    }

    /// Links files: what one declares and another defines becomes the same. What only its file sees
    /// stays its own.
    ///
    /// Variables and functions that are declared and nowhere defined are errors of the kernels that
    /// name them.
    pub fn link(modules: Vec<PtxModule>) -> PtxModule {
        let files = modules.into_iter().map(|module| module.ast).collect();
        PtxModule {
            ast: crate::syntax::link(files),
        }
    }

    /// Names of the kernels.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let entries = self
            .ast
            .functions
            .iter()
            .filter(|function| function.is_entry && function.body.is_some());
        entries.map(|function| function.name.as_str())
    }

    /// The parameters of a kernel, in order, and the bytes of all of them; none if the file has no
    /// kernel of that name.
    ///
    /// # Errors
    /// If the kernel's head is outside the subset.
    pub fn params(&self, kernel: &str) -> Option<Result<(Vec<Param>, u64), PtxError>> {
        let mut functions = self.ast.functions.iter();
        let found = functions.find(|function| {
            function.is_entry && function.body.is_some() && function.name == kernel
        })?;
        let params = match &found.refused {
            Some(error) => Err(error.clone()),
            None => decode::layout(found),
        };
        Some(params.map_err(|error| self.ast.with_file(error)))
    }

    /// Variables that the file defines in global and constant memory: name, and whether it is
    /// constant.
    pub fn variables(&self) -> impl Iterator<Item = (&str, bool)> {
        let placed = placed_variables(&self.ast);
        placed.map(|variable| {
            let is_constant = variable.space == StateSpace::Const;
            (variable.name.as_str(), is_constant)
        })
    }

    /// The architecture that it was compiled for: 75 is compute capability 7.5; 0 if it names none.
    pub fn architecture(&self) -> u32 {
        self.ast.architecture()
    }

    /// Kernels, functions and declarations of functions, in order.
    pub fn outlines(&self) -> impl Iterator<Item = Outline<'_>> {
        self.ast.functions.iter().map(|function| {
            let body = function.body.as_deref().unwrap_or_default();
            let opcodes = body.iter().filter_map(|statement| match statement {
                Statement::Instruction(instruction) => Some(instruction.opcode.as_str()),
                _ => None,
            });
            Outline {
                name: &function.name,
                is_entry: function.is_entry,
                params: function
                    .params
                    .iter()
                    .map(|param| param.name.as_str())
                    .collect(),
                opcodes: opcodes.collect(),
            }
        })
    }
}

/// What a kernel or function of a module says, before any of it is looked at more closely: for
/// comparison with other readers of PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline<'a> {
    /// Its name, mangled.
    pub name: &'a str,
    /// A kernel.
    pub is_entry: bool,
    /// Names of its parameters.
    pub params: Vec<&'a str>,
    /// Opcodes of its instructions with all modifiers, in order; none for a declaration.
    pub opcodes: Vec<&'a str>,
}

/// A module whose variables have their places on a device.
#[derive(Clone, Debug)]
pub struct Loaded {
    ast: Ast,
    symbols: Symbols,
}

impl Loaded {
    /// Whether it has a kernel of that name, as the file has it.
    pub fn has_kernel(&self, name: &str) -> bool {
        let mut functions = self.ast.functions.iter();
        functions
            .any(|function| function.is_entry && function.body.is_some() && function.name == name)
    }

    /// The address of a global variable.
    pub fn variable(&self, name: &str) -> Option<u64> {
        self.symbols.variables.get(name).copied()
    }

    /// All variables that the file declares in global and constant memory: name, address, and
    /// whether it is constant.
    pub fn variables(&self) -> impl Iterator<Item = (&str, u64, bool)> {
        self.ast.variables.iter().filter_map(|variable| {
            let address = self.variable(&variable.name)?;
            let is_constant = variable.space == StateSpace::Const;
            Some((variable.name.as_str(), address, is_constant))
        })
    }
}

/// What a device refuses.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeviceError {
    /// The device has too little memory.
    #[error(
        "'{name}' takes {size} bytes, and the device has {left} of {limit} left; raise the limit (--memory-limit) or make it smaller"
    )]
    OutOfMemory {
        /// What for.
        name: String,
        /// Bytes.
        size: u64,
        /// Bytes that are left.
        left: u64,
        /// Bytes of the device.
        limit: u64,
    },
    /// No such kernel.
    #[error("there is no kernel {name}; there are: {known}")]
    NoKernel {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Several functions match the name.
    #[error("{name} may be any of: {known}; write more of the name")]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// What it may be.
        known: String,
    },
    /// Bytes that are in no buffer.
    #[error("{size} bytes at {address:#x} are not in one buffer")]
    OutOfBounds {
        /// Where.
        address: u64,
        /// How many.
        size: u64,
    },
    /// A kernel outside the subset.
    #[error(transparent)]
    Ptx(#[from] PtxError),
}

/// Variables that have a place in the device's memory: those that a file defines in global and
/// constant memory, with a size.
fn placed_variables(ast: &Ast) -> impl Iterator<Item = &Variable> {
    ast.variables.iter().filter(|variable| {
        let is_global = matches!(variable.space, StateSpace::Global | StateSpace::Const);
        let has_size = variable.size.is_some() || !variable.init.is_empty();
        is_global && has_size && !ast.externs.contains(&variable.name)
    })
}

/// From the address of a function to that of the next one.
const FUNCTION_BYTES: u64 = 16;

/// Bytes of a device without another limit.
const LIMIT: u64 = 8 << 30;

/// A GPU: its memory, and the interpreter that runs kernels on it.
#[derive(Clone, Debug)]
pub struct Device {
    memory: DeviceMemory,
    limit: u64,
    /// Functions of all modules that have addresses.
    functions: u64,
}

impl Default for Device {
    fn default() -> Device {
        Device::new()
    }
}

impl Device {
    /// A device with up to 8 GiB of memory, taken as it is asked for.
    pub fn new() -> Device {
        Device::with_limit(LIMIT)
    }

    /// A device with up to that many bytes of memory.
    pub fn with_limit(limit: u64) -> Device {
        Device {
            memory: DeviceMemory::default(),
            limit,
            functions: 0,
        }
    }

    /// A buffer of zeros; gives its address. The name is for messages.
    ///
    /// # Errors
    /// If the device has too little memory.
    pub fn allocate(&mut self, name: &str, size: u64) -> Result<u64, DeviceError> {
        self.allocate_aligned(name, size, 1)
    }

    /// A buffer of zeros at a multiple of the power of two `alignment`; gives its address.
    ///
    /// # Errors
    /// If the device has too little memory.
    pub fn allocate_aligned(
        &mut self,
        name: &str,
        size: u64,
        alignment: u64,
    ) -> Result<u64, DeviceError> {
        let left = self.left();
        let address = if size <= left {
            self.memory
                .allocate(name, size, alignment, self.most_bytes())
        } else {
            None
        };
        address.ok_or_else(|| DeviceError::OutOfMemory {
            name: name.to_owned(),
            size,
            left,
            limit: self.limit,
        })
    }

    /// The addresses that buffers can have. Between buffers is room that belongs to none, so they
    /// reach somewhat further than the limit.
    pub fn addresses(&self) -> std::ops::Range<u64> {
        windows::GLOBAL..windows::GLOBAL.saturating_add(self.most_bytes())
    }

    /// The most bytes of buffers and of the room between them.
    fn most_bytes(&self) -> u64 {
        self.limit.saturating_mul(2)
    }

    /// Bytes that are left.
    pub fn left(&self) -> u64 {
        self.limit.saturating_sub(self.memory.taken())
    }

    /// Frees the buffer that begins at an address; whether there is one.
    pub fn free(&mut self, address: u64) -> bool {
        self.memory.free(address)
    }

    /// Gives the buffer that begins at an address another name for messages; whether there is one.
    pub fn rename(&mut self, address: u64, name: &str) -> bool {
        self.memory.rename(address, name)
    }

    /// The buffer that begins at an address; variables of modules are buffers too.
    pub fn buffer(&self, address: u64) -> Option<&Allocation> {
        self.memory.buffer(address)
    }

    /// Copies bytes from one place of the device to another; the places may overlap.
    ///
    /// # Errors
    /// If either is not in one buffer.
    pub fn copy(&mut self, to: u64, from: u64, size: u64) -> Result<(), DeviceError> {
        let range = |address| {
            let range = self.memory.range(address, size);
            range.ok_or(DeviceError::OutOfBounds { address, size })
        };
        let (to, from) = (range(to)?, range(from)?);
        self.memory.bytes_mut().copy_within(from, to.start);
        Ok(())
    }

    /// Bytes of the device, to be changed.
    ///
    /// # Errors
    /// If they are not in one buffer.
    pub fn bytes_mut(&mut self, address: u64, size: u64) -> Result<&mut [u8], DeviceError> {
        let range = self
            .memory
            .range(address, size)
            .ok_or(DeviceError::OutOfBounds { address, size })?;
        Ok(&mut self.memory.bytes_mut()[range])
    }

    /// Copies bytes to the device.
    ///
    /// # Errors
    /// If they are not in one buffer.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.bytes_mut(address, bytes.len() as u64)?
            .copy_from_slice(bytes);
        Ok(())
    }

    /// Bytes of the device.
    ///
    /// # Errors
    /// If they are not in one buffer.
    pub fn read(&self, address: u64, size: u64) -> Result<&[u8], DeviceError> {
        let range = self
            .memory
            .range(address, size)
            .ok_or(DeviceError::OutOfBounds { address, size })?;
        Ok(&self.memory.bytes()[range])
    }

    /// Gives a module's variables their places and first values.
    ///
    /// A variable whose first value names an unknown symbol is an error of the kernels that name
    /// the variable.
    ///
    /// # Errors
    /// If the device has too little memory.
    pub fn load(&mut self, module: PtxModule) -> Result<Loaded, DeviceError> {
        let mut ast = module.ast;
        let mut symbols = Symbols {
            callees: Arc::new(Callees::of(&ast)),
            ..Symbols::default()
        };
        for name in &symbols.callees.taken {
            let address = windows::CODE + self.functions * FUNCTION_BYTES;
            self.functions += 1;
            symbols.functions.insert(name.clone(), address);
        }
        for variable in placed_variables(&ast) {
            let values = variable.init.len() as u64 * u64::from(variable.ty.size());
            let address = self.allocate(&variable.name, variable.size.unwrap_or(values))?;
            symbols.variables.insert(variable.name.clone(), address);
        }
        let mut refused = HashMap::new();
        for variable in placed_variables(&ast) {
            if let Some(&address) = symbols.variables.get(&variable.name) {
                match first_bytes(variable, &symbols) {
                    Ok(bytes) => self.write(address, &bytes)?,
                    Err(error) => {
                        refused.insert(variable.name.clone(), error);
                    }
                }
            }
        }
        ast.refused.extend(refused);
        Ok(Loaded { ast, symbols })
    }

    /// Makes a kernel ready. The name as the file has it comes first, then the one of its source,
    /// then a part of either if only one kernel has it.
    ///
    /// # Errors
    /// If there is no such kernel, or it is outside the subset.
    pub fn kernel(
        &self,
        module: &Loaded,
        name: &str,
        options: &Options,
    ) -> Result<Kernel, DeviceError> {
        let function = named(&module.ast, name)?;
        Ok(decode::decode(
            &module.ast,
            function,
            &module.symbols,
            options,
        )?)
    }

    /// Takes what kernels have printed with `printf` since this was last called: the blocks of a
    /// launch in their order, the lanes of a warp in theirs.
    pub fn take_printed(&mut self) -> Vec<u8> {
        self.memory.take_printed()
    }

    /// Sets the bytes of the heap from which kernels allocate with `malloc` and `new`: 8 MiB
    /// without it. Whether that was done: the device must have as many left, and once a kernel that
    /// allocates has been launched, it is too late.
    ///
    /// What kernels allocate has the same addresses with any number of threads. It stays until a
    /// kernel frees it.
    pub fn set_heap(&mut self, bytes: u64) -> bool {
        bytes <= self.left() && self.memory.set_heap(bytes)
    }

    /// Sets the bytes of a thread's stack, for the launches from now on; `None` and at first: 1
    /// KiB, as CUDA has it. Kernels that call functions through pointers, or functions that call
    /// themselves, have one.
    pub fn set_stack(&mut self, bytes: Option<u64>) {
        self.memory.set_stack(bytes);
    }

    /// Takes the control flow of the last launch of a kernel that was decoded with
    /// [`Options::flow`], also if that launch was stopped; `None` if there was none since this was
    /// last called.
    pub fn take_flow(&mut self) -> Option<FlowCounts> {
        self.memory.take_flow()
    }

    /// Takes the accesses that launches have left out since this was last called, if they go on
    /// after bad ones ([`OnFault::Continue`](crate::OnFault::Continue)): by the places of the
    /// instructions, in the order of the blocks.
    pub fn take_skipped(&mut self) -> Vec<SkippedAccess> {
        self.memory.take_skipped()
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// A launch that does not fit, and whatever the kernel does that it must not. Blocks before the
    /// one that was stopped have written what they wrote.
    pub fn launch<S: LaunchSink + Send>(
        &mut self,
        kernel: &Kernel,
        launch: &LaunchConfig,
        options: &Options,
        sink: &mut S,
    ) -> Result<Stats, LaunchError> {
        run(kernel, launch, &mut self.memory, options, sink)
    }
}

/// The bytes with which a variable begins; zeros follow them.
fn first_bytes(variable: &Variable, symbols: &Symbols) -> Result<Vec<u8>, PtxError> {
    let width = usize::from(variable.ty.size());
    let mut bytes = Vec::with_capacity(variable.init.len() * width);
    for value in &variable.init {
        let bits = match value {
            Init::Bits(bits) => *bits,
            Init::Address { name, offset, .. } => {
                let known = symbols.variables.get(name);
                let known = known.or(symbols.functions.get(name)).ok_or_else(|| {
                    let what = format!(
                        "{} begins with the address of {name}, which is no function and no variable in global memory",
                        variable.name
                    );
                    PtxError::unsupported(variable.at, what)
                })?;
                known.wrapping_add_signed(*offset)
            }
        };
        bytes.extend_from_slice(&bits.to_le_bytes()[..width]);
    }
    Ok(bytes)
}

/// The kernel that is meant.
fn named<'a>(ast: &'a Ast, name: &str) -> Result<&'a FunctionAst, DeviceError> {
    let entries = || {
        let functions = ast.functions.iter();
        functions.filter(|function| function.is_entry && function.body.is_some())
    };
    // A file may have both C's `gemm` and C++'s `gemm(float*)`: the name as the file has it
    // decides.
    if let Some(function) = entries().find(|function| function.name == name) {
        return Ok(function);
    }
    let exact: Vec<_> = entries()
        .filter(|function| names::is(&function.name, name))
        .collect();
    let similar: Vec<_> = entries()
        .filter(|function| names::may_be(&function.name, name))
        .collect();
    let listed = |list: &[&FunctionAst]| {
        let names = list.iter().map(|function| names::readable(&function.name));
        names.collect::<Vec<_>>().join("; ")
    };
    let name = name.to_owned();
    match (&exact[..], &similar[..]) {
        ([function], _) | (_, [function]) => Ok(function),
        (_, []) => Err(DeviceError::NoKernel {
            name,
            known: listed(&entries().collect::<Vec<_>>()),
        }),
        (_, several) => Err(DeviceError::Ambiguous {
            name,
            known: listed(several),
        }),
    }
}
