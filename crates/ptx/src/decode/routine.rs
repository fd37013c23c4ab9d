//! Decoding of routines: functions whose bodies are in a kernel once, for calls through pointers
//! and for recursion. All others are put in the place of their calls.
//!
//! A routine's variables, parameters and results are in a frame of local memory, whose address a
//! register has; the machine makes the frame, and copies arguments and results.

use std::collections::HashMap;

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
        self.named_calls.push((self.routine, routine));
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
        let choice = self.scopes().find_map(|scope| scope.chosen(label));
        let Some(choice) = choice.cloned() else {
            return Err(self.error(format!("there is no prototype {label} before this")));
        };
        let prototype = self.candidates(label, choice)?;
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
    /// Cost: a look-up, if an earlier call had the same list of functions or the same sizes.
    fn candidates(&mut self, label: &str, choice: CallChoice) -> Result<Prototype, PtxError> {
        let names = match choice {
            CallChoice::Fitting(prototype) => {
                let sizes = CallSizes::of(&prototype.params, &prototype.returns);
                for function in self.fitting(&sizes) {
                    self.routine_of(function)?;
                }
                return Ok(prototype);
            }
            CallChoice::Known(prototype) => return Ok(prototype),
            CallChoice::Listed(names) => names,
        };
        let mut chosen: Option<(CallSizes, Prototype)> = None;
        for name in &names {
            let Some(function) = self.function(name) else {
                return Err(self.error(format!("there is no function {name}")));
            };
            if function.body.is_none() || function.refused.is_some() {
                continue;
            }
            let sizes = CallSizes::of(&function.params, &function.returns);
            let (wanted, _) = chosen.get_or_insert_with(|| {
                let prototype = Prototype {
                    returns: function.returns.clone(),
                    params: function.params.clone(),
                };
                (sizes.clone(), prototype)
            });
            if *wanted == sizes {
                self.routine_of(function)?;
            }
        }
        let Some((_, prototype)) = chosen else {
            return Err(
                self.unsupported("none of the functions that this call may lead to has a body")
            );
        };
        self.remember_choice(label, CallChoice::Known(prototype.clone()));
        Ok(prototype)
    }

    /// The functions of these sizes that pointers may lead to and that have a body: the first time
    /// that they are asked for; none later.
    fn fitting(&mut self, sizes: &CallSizes) -> Vec<&'a FunctionAst> {
        if self.taken.is_none() {
            let mut taken: HashMap<CallSizes, Vec<&'a FunctionAst>> = HashMap::new();
            let symbols = self.symbols;
            for name in &symbols.callees.taken {
                let function = self.function(name);
                if let Some(function) = function.filter(|one| one.body.is_some())
                    && function.refused.is_none()
                {
                    let sizes = CallSizes::of(&function.params, &function.returns);
                    taken.entry(sizes).or_default().push(function);
                }
            }
            self.taken = Some(taken);
        }
        let taken = self.taken.as_mut();
        taken
            .and_then(|taken| taken.remove(sizes))
            .unwrap_or_default()
    }

    /// The number of the routine with the body of a function.
    fn routine_of(&mut self, function: &'a FunctionAst) -> Result<u32, PtxError> {
        if let Some(&number) = self.routine_numbers.get(function.name.as_str()) {
            return Ok(number);
        }
        self.frame_register()?;
        let number = self.kernel.routines.len() as u32;
        self.kernel.routines.push(Routine {
            name: function.name.clone(),
            ..Routine::default()
        });
        self.routine_numbers.insert(&function.name, number);
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
            given.push(place(self.argument_address(param, argument, true)?, param));
        }
        for (param, result) in returns.iter().zip(results) {
            back.push(place(self.argument_address(param, result, false)?, param));
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
        let mut failed = Vec::new();
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
                let error = self.with_line(error);
                self.instead_of_body(number, function, &error)?;
                failed.push((number, error));
            }
            let routine = &mut self.kernel.routines[number as usize];
            let bytes = self.local_bytes + RETURN_BYTES;
            routine.frame_bytes = bytes.next_multiple_of(FRAME_ALIGN);
            routine.frame_align = self.local_align;
            let end = [self.kernel.narrow, self.kernel.wide, self.kernel.predicates];
            routine.registers = std::array::from_fn(|file| first[file]..end[file]);
        }
        let needed = self.needed_routines();
        if let Some((_, error)) = failed
            .into_iter()
            .find(|(number, _)| needed[*number as usize])
        {
            return Err(error);
        }
        self.known_functions();
        Ok(())
    }

    /// Which of the routines the kernel cannot do without: those that it calls by name, and those
    /// that such a routine calls by name.
    fn needed_routines(&self) -> Vec<bool> {
        let mut calls: HashMap<u32, Vec<u32>> = HashMap::new();
        for &(caller, callee) in &self.named_calls {
            calls.entry(caller).or_default().push(callee);
        }
        let mut needed = vec![false; self.kernel.routines.len()];
        let mut callers = vec![NONE];
        while let Some(caller) = callers.pop() {
            for callee in calls.remove(&caller).unwrap_or_default() {
                if !std::mem::replace(&mut needed[callee as usize], true) {
                    callers.push(callee);
                }
            }
        }
        needed
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
                    size: variable.size,
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
        self.begin(function.at, "trap", || "trap;".to_owned());
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
        let taken = self.symbols.callees.taken.iter();
        let known = taken.filter_map(|name| {
            Some(KnownFunction {
                address: *self.symbols.functions.get(name)?,
                name: name.clone(),
                routine: self.routine_numbers.get(name.as_str()).copied(),
            })
        });
        let mut known: Vec<KnownFunction> = known.collect();
        known.sort_unstable_by_key(|function| function.address);
        self.kernel.functions = known;
    }
}

/// Bytes of what a function takes and returns: a pointer may lead to functions of the same sizes as
/// its prototype.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallSizes {
    params: Vec<Option<u64>>,
    returns: Vec<Option<u64>>,
}

impl CallSizes {
    fn of(params: &[Variable], returns: &[Variable]) -> CallSizes {
        let sizes = |variables: &[Variable]| variables.iter().map(|one| one.size).collect();
        CallSizes {
            params: sizes(params),
            returns: sizes(returns),
        }
    }
}
