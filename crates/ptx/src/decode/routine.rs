//! Decoding of routines: functions whose bodies are in a kernel once, for calls through pointers
//! and for recursion. All others are put in the place of their calls.
//!
//! A routine's variables, parameters and results are in a frame of local memory, whose address a
//! register has; the machine makes the frame, and copies arguments and results.

use super::callees::CallParts;
use super::decoder::KernelDecoder;
use super::kernel::{CallOp, Callee, Code, FramePlace, KnownFunction, NONE, NamedSpace, Routine};
use super::lines::LineTable;
use super::scope::{Binding, BodyScope, CallChoice, Scope};
use crate::error::PtxError;
use crate::lanes::Slots;
use crate::machine::FaultKind;
use crate::syntax::ast::{FunctionAst, Operand, Prototype, Variable};
use crate::syntax::types::Type;

/// Bytes of a frame for the place to return to.
const RETURN_BYTES: u64 = 8;
/// A frame's address and size are multiples of this.
const FRAME_ALIGN: u64 = 16;

impl<'a> KernelDecoder<'a> {
    /// The register with the address of the running routine's frame.
    pub fn frame_register(&mut self) -> Result<u32, PtxError> {
        if self.kernel.frame == NONE {
            self.kernel.frame = self.fresh_slot(Type::B64)?;
        }
        Ok(self.kernel.frame)
    }

    /// A call of a function that leads back to itself.
    pub fn call_routine(
        &mut self,
        function: &'a FunctionAst,
        results: &[Operand],
        arguments: &[Operand],
    ) -> Result<(), PtxError> {
        self.takes(function, results, arguments)?;
        let routine = self.routine_of(function)?;
        let by_kernel = self.routine == NONE;
        self.needed[routine as usize] |= by_kernel || self.needed[self.routine as usize];
        let callee = Callee::Routine(routine);
        self.call_op(
            callee,
            &function.params,
            &function.returns,
            results,
            arguments,
        )
    }

    /// A call of whatever function a register has the address of.
    pub fn call_by_address(&mut self, call: &CallParts<'_>) -> Result<(), PtxError> {
        let address = self.source(&Operand::Name(call.callee.to_owned(), 0), Type::U64, false)?;
        let Some(label) = call.prototype else {
            return Err(self.error(format!(
                "a call through {} takes the label of a prototype",
                call.callee
            )));
        };
        let choice = self.scopes().find_map(|scope| scope.chosen(label)).cloned();
        let Some(choice) = choice else {
            return Err(self.error(format!("there is no prototype {label} before this")));
        };
        let prototype = self.candidates(&choice)?;
        let fits = prototype.params.len() == call.arguments.len()
            && prototype.returns.len() == call.results.len();
        if !fits {
            return Err(self.error(format!(
                "the prototype {label} takes {} arguments and returns {} values",
                prototype.params.len(),
                prototype.returns.len()
            )));
        }
        let callee = Callee::Register(address);
        self.call_op(
            callee,
            &prototype.params,
            &prototype.returns,
            call.results,
            call.arguments,
        )
    }

    /// Makes routines of the functions that a call may lead to. Returns what they take and return.
    fn candidates(&mut self, choice: &CallChoice) -> Result<Prototype, PtxError> {
        let names = match choice {
            CallChoice::Fitting(_) => self.symbols.callees.taken.clone(),
            CallChoice::Listed(names) => names.clone(),
        };
        let mut prototype = match choice {
            CallChoice::Fitting(prototype) => Some(prototype.clone()),
            CallChoice::Listed(_) => None,
        };
        for name in names {
            let Some(function) = self.function(&name) else {
                return Err(self.error(format!("there is no function {name}")));
            };
            let is_fitting = prototype.as_ref().is_none_or(|wanted| {
                are_alike(&wanted.params, &function.params)
                    && are_alike(&wanted.returns, &function.returns)
            });
            if !is_fitting || function.body.is_none() || function.refused.is_some() {
                continue;
            }
            prototype.get_or_insert_with(|| Prototype {
                returns: function.returns.clone(),
                params: function.params.clone(),
            });
            self.routine_of(function)?;
        }
        prototype.ok_or_else(|| {
            self.unsupported("none of the functions that this call may lead to has a body")
        })
    }

    /// The number of the routine with the body of a function.
    fn routine_of(&mut self, function: &'a FunctionAst) -> Result<u32, PtxError> {
        let mut known = self.kernel.routines.iter();
        if let Some(number) = known.position(|routine| routine.name == function.name) {
            return Ok(number as u32);
        }
        self.frame_register()?;
        let number = self.kernel.routines.len() as u32;
        self.kernel.routines.push(Routine {
            name: function.name.clone(),
            ..Routine::default()
        });
        self.needed.push(false);
        self.waiting.push((number, function));
        Ok(number)
    }

    /// The call, with arguments stored before it and results loaded after it.
    fn call_op(
        &mut self,
        callee: Callee,
        params: &[Variable],
        returns: &[Variable],
        results: &[Operand],
        arguments: &[Operand],
    ) -> Result<(), PtxError> {
        let place = |address, variable: &Variable| FramePlace {
            offset: address,
            bytes: variable.size.unwrap_or(0),
        };
        let (mut given, mut back) = (Vec::new(), Vec::new());
        for (param, argument) in params.iter().zip(arguments) {
            given.push(place(self.handed(param, argument, true)?, param));
        }
        for (param, result) in returns.iter().zip(results) {
            back.push(place(self.handed(param, result, false)?, param));
        }
        let addresses: Vec<u64> = back.iter().map(|place| place.offset).collect();
        self.kernel.calls.push(CallOp {
            callee,
            arguments: given,
            results: back,
            caller: self.routine,
        });
        let index = self.kernel.calls.len() as u32 - 1;
        self.emit(Code::Call(index), Slots::default())?;
        self.results_to_registers(returns, results, &addresses)
    }

    /// Decodes the bodies of all routines, after that of the kernel.
    pub fn routines(&mut self) -> Result<(), PtxError> {
        while let Some((number, function)) = self.waiting.pop() {
            self.routine = number;
            (self.local_next, self.local_bytes, self.local_align) = (0, 0, FRAME_ALIGN);
            (self.guard, self.fresh) = ((NONE, false), true);
            self.carry = None;
            let first = [self.kernel.narrow, self.kernel.wide, self.kernel.predicates];
            let entry = self.kernel.ops.len() as u32;
            self.kernel.routines[number as usize].entry = entry;
            let done = self.routine_body(function);
            if let Err(error) = done {
                if self.needed[number as usize] {
                    return Err(error);
                }
                self.instead_of_body(number, function, &error)?;
            }
            let routine = &mut self.kernel.routines[number as usize];
            let bytes = self.local_bytes + RETURN_BYTES;
            routine.frame_bytes = bytes.next_multiple_of(FRAME_ALIGN);
            routine.frame_align = self.local_align;
            let end = [self.kernel.narrow, self.kernel.wide, self.kernel.predicates];
            routine.registers = std::array::from_fn(|file| first[file]..end[file]);
        }
        self.known_functions();
        Ok(())
    }

    fn routine_body(&mut self, function: &'a FunctionAst) -> Result<(), PtxError> {
        let end = self.new_label();
        self.at = function.at;
        self.frames = vec![BodyScope {
            scopes: vec![Scope::default()],
            end: Some(end),
        }];
        // Who calls it is not known here.
        self.lines = LineTable::default();
        self.lines.enter(&function.name);
        let number = self.routine as usize;
        self.kernel.routines[number].params = self.in_frame(&function.params)?;
        self.kernel.routines[number].returns = self.in_frame(&function.returns)?;
        self.count_work(function, 0)?;
        self.body(function.body.as_deref().unwrap_or_default())?;
        self.place_label(end);
        // Belongs to the instruction before it, which returns.
        (self.guard, self.fresh) = ((NONE, false), false);
        self.emit(Code::Return, Slots::default())
    }

    /// Places parameters in the frame.
    fn in_frame(&mut self, variables: &[Variable]) -> Result<Vec<FramePlace>, PtxError> {
        let mut places = Vec::new();
        for variable in variables {
            let bytes = variable.size.unwrap_or(0);
            let offset = self.place_local(bytes, variable.align)?;
            places.push(FramePlace { offset, bytes });
            self.scope().bind(
                &variable.name,
                Binding::Variable {
                    space: NamedSpace::Local,
                    address: offset,
                },
            );
        }
        Ok(places)
    }

    /// A routine that only pointers lead to and that cannot be run: an error if it is called.
    fn instead_of_body(
        &mut self,
        number: u32,
        function: &FunctionAst,
        error: &PtxError,
    ) -> Result<(), PtxError> {
        self.kernel.routines[number as usize].entry = self.kernel.ops.len() as u32;
        (self.guard, self.fresh, self.at) = ((NONE, false), true, function.at);
        let name = crate::names::readable(&function.name);
        let what = format!("{name} is called through a pointer, and cannot be run: {error}");
        self.trap(FaultKind::Trap, what)
    }

    /// The functions that a pointer can lead to, by their addresses.
    fn known_functions(&mut self) {
        let calls = self.kernel.calls.iter();
        let mut callees = calls.map(|call| call.callee);
        if !callees.any(|callee| matches!(callee, Callee::Register(_))) {
            return;
        }
        let routines = self.kernel.routines.iter().zip(0..);
        let numbers: std::collections::HashMap<&str, u32> = routines
            .map(|(routine, number)| (routine.name.as_str(), number))
            .collect();
        let taken = self.symbols.callees.taken.iter();
        let known = taken.filter_map(|name| {
            Some(KnownFunction {
                address: *self.symbols.functions.get(name)?,
                name: name.clone(),
                routine: numbers.get(name.as_str()).copied(),
            })
        });
        let mut known: Vec<KnownFunction> = known.collect();
        known.sort_unstable_by_key(|function| function.address);
        self.kernel.functions = known;
    }
}

/// Whether parameters have the same sizes.
fn are_alike(some: &[Variable], others: &[Variable]) -> bool {
    let size = |variable: &Variable| variable.size;
    some.iter().map(size).eq(others.iter().map(size))
}
