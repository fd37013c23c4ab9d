//! Decoding of `call`: the body of the called function is decoded in place of the call, with
//! arguments and results as variables in local memory; for recursion and calls through pointers see
//! `routine`. Of functions without a body, those of CUDA's run time that print, assert or allocate
//! are known; others are refused.

use std::sync::Arc;

use super::callees::CallParts;
use super::decoder::KernelDecoder;
use super::kernel::{
    Address, AssertOp, Code, HeapCall, HeapOp, LocalPlace, MemoryOp, NONE, NamedSpace, PrintOp,
    Register,
};
use super::scope::{Binding, BodyScope, Scope};
use crate::error::PtxError;
use crate::lanes::Slots;
use crate::syntax::ast::{FunctionAst, Operand, Statement, Variable};

/// Calls inside of calls.
const MOST_FRAMES: usize = 64;
/// Statements of all functions that are put in their places, empty ones too: two calls in each of
/// forty functions are a million million bodies.
const MOST_INLINED: usize = 1 << 21;

impl<'a> KernelDecoder<'a> {
    /// `call (results), function, (arguments);`
    pub fn call(&mut self, operands: &[Operand]) -> Result<(), PtxError> {
        let Some(call) = CallParts::read(operands) else {
            return Err(self.error("`call` takes the name of a function"));
        };
        let (name, results, arguments) = (call.callee, call.results, call.arguments);
        if matches!(self.lookup(name)?, Some(Binding::Register { .. })) {
            return self.call_by_address(&call);
        }
        let Some(function) = self.function(name) else {
            return Err(self.error(format!("there is no function {name}")));
        };
        if let Some(error) = &function.refused {
            return Err(error.clone());
        }
        if function.body.is_none() {
            return self.external(name, results, arguments);
        }
        if self.symbols.callees.recursive.contains(name) {
            return self.call_routine(function, results, arguments);
        }
        self.inline(function, results, arguments)
    }

    /// The function of that name, the one with a body of several.
    pub fn function(&mut self, name: &str) -> Option<&'a FunctionAst> {
        if self.functions.is_empty() {
            for function in &self.ast.functions {
                let known = self.functions.entry(&function.name).or_insert(function);
                if function.body.is_some() || known.body.is_none() {
                    *known = function;
                }
            }
        }
        self.functions.get(name).copied()
    }

    /// Functions of CUDA's run time.
    fn external(
        &mut self,
        name: &str,
        results: &[Operand],
        arguments: &[Operand],
    ) -> Result<(), PtxError> {
        match name {
            "vprintf" => self.print(results, arguments),
            "__assertfail" | "__assert_fail" => self.assertion(arguments),
            "malloc" | "free" => self.heap(name, results, arguments),
            _ => Err(self.unsupported(format!("{name} has no body in this file: put it into the same file, or link with `nvcc -rdc=false`"))),
        }
    }

    /// A call of `vprintf` with a format and the address of its arguments.
    fn print(&mut self, results: &[Operand], arguments: &[Operand]) -> Result<(), PtxError> {
        let [format, values] = arguments else {
            return Err(self.error("`vprintf` takes a format and its arguments"));
        };
        let op = PrintOp {
            format: self.local_variable(format, 8)?,
            arguments: self.local_variable(values, 8)?,
            result: match results {
                [result] => Some(self.local_variable(result, 4)?),
                _ => None,
            },
        };
        self.kernel.prints.push(op);
        let index = self.kernel.prints.len() as u32 - 1;
        self.emit(Code::Print(index), Slots::default())
    }

    /// A call of `__assertfail` with what is asserted, file, line and function.
    fn assertion(&mut self, arguments: &[Operand]) -> Result<(), PtxError> {
        let [condition, file, line, function, ..] = arguments else {
            return Err(self.error("`__assertfail` takes an assertion and where it is"));
        };
        let op = AssertOp {
            condition: self.local_variable(condition, 8)?,
            file: self.local_variable(file, 8)?,
            line: self.local_variable(line, 4)?,
            function: self.local_variable(function, 8)?,
        };
        self.kernel.assertions.push(op);
        let index = self.kernel.assertions.len() as u32 - 1;
        self.emit(Code::Assert(index), Slots::default())
    }

    /// A call of `malloc` or `free`. What one block allocates changes what the next one gets, so
    /// blocks run one after the other.
    fn heap(
        &mut self,
        name: &str,
        results: &[Operand],
        arguments: &[Operand],
    ) -> Result<(), PtxError> {
        let ([argument], true) = (arguments, results.len() == usize::from(name == "malloc")) else {
            return Err(self.error(format!("`{name}` takes one argument")));
        };
        let argument = self.local_variable(argument, 8)?;
        let call = match results {
            [result] => HeapCall::Allocate(self.local_variable(result, 8)?),
            _ => HeapCall::Free,
        };
        self.kernel.heap.push(HeapOp { call, argument });
        self.kernel.is_ordered = true;
        let index = self.kernel.heap.len() as u32 - 1;
        self.emit(Code::Heap(index), Slots::default())
    }

    /// The address of a variable in local memory, as those of calls are, with room for `bytes`.
    fn local_variable(&mut self, operand: &Operand, bytes: u64) -> Result<LocalPlace, PtxError> {
        if let Operand::Name(name, 0) = operand
            && let Some(Binding::Variable {
                space: NamedSpace::Local,
                address,
                ..
            }) = self.lookup(name)?
        {
            // What is declared too small reads on into the next variable, and never past the last.
            self.local_bytes = self.local_bytes.max(address + bytes);
            return Ok(self.local_place(address));
        }
        Err(self
            .error("a function of CUDA's run time takes variables of the call, and this is none"))
    }

    /// The place of a variable of the kernel, or of the routine being decoded.
    fn local_place(&self, offset: u64) -> LocalPlace {
        let frame = match self.routine {
            NONE => NONE,
            _ => self.kernel.frame,
        };
        LocalPlace { frame, offset }
    }

    /// The address of a variable in local memory.
    pub fn local_address(&self, offset: u64) -> Address {
        let place = self.local_place(offset);
        let slot = place.frame;
        Address {
            base: (slot != NONE).then_some(Register { slot, wide: true }),
            offset: offset as i64,
        }
    }

    fn inline(
        &mut self,
        function: &FunctionAst,
        results: &[Operand],
        arguments: &[Operand],
    ) -> Result<(), PtxError> {
        self.may_inline(function, results, arguments)?;
        let mut scope = Scope::default();
        for (param, argument) in function.params.iter().zip(arguments) {
            let address = self.argument_address(param, argument, true)?;
            scope.bind(
                &param.name,
                Binding::Variable {
                    space: NamedSpace::Local,
                    address,
                    size: param.size,
                },
            );
        }
        let mut back = Vec::new();
        for (param, result) in function.returns.iter().zip(results) {
            let address = self.argument_address(param, result, false)?;
            scope.bind(
                &param.name,
                Binding::Variable {
                    space: NamedSpace::Local,
                    address,
                    size: param.size,
                },
            );
            back.push(address);
        }
        self.inlined_body(function, scope)?;
        self.results_to_registers(&function.returns, results, &back)
    }

    /// Loads the results of a call that go to registers from where they are in local memory.
    pub fn results_to_registers(
        &mut self,
        returns: &[Variable],
        results: &[Operand],
        addresses: &[u64],
    ) -> Result<(), PtxError> {
        for ((param, result), &address) in returns.iter().zip(results).zip(addresses) {
            if self.is_register(result)? {
                self.move_value(result, address, param.ty.size(), false)?;
            }
        }
        Ok(())
    }

    fn may_inline(
        &mut self,
        function: &FunctionAst,
        results: &[Operand],
        arguments: &[Operand],
    ) -> Result<(), PtxError> {
        if self.frames.len() >= MOST_FRAMES {
            return Err(self.unsupported(format!(
                "more than {MOST_FRAMES} calls inside of each other"
            )));
        }
        self.count_work(function, results.len() + arguments.len())?;
        self.takes(function, results, arguments)
    }

    /// Counts a body of a function that the kernel has once more.
    pub fn count_work(&mut self, function: &FunctionAst, more: usize) -> Result<(), PtxError> {
        self.inlined += work(function) + more;
        if self.inlined > MOST_INLINED {
            return Err(self.unsupported(format!(
                "all calls together have more than {MOST_INLINED} statements, as {} is put in its place once more",
                function.name
            )));
        }
        Ok(())
    }

    /// Demands the right number of arguments and results.
    pub fn takes(
        &self,
        function: &FunctionAst,
        results: &[Operand],
        arguments: &[Operand],
    ) -> Result<(), PtxError> {
        if results.len() != function.returns.len() || arguments.len() != function.params.len() {
            let what = format!(
                "{} takes {} arguments and returns {} values",
                function.name,
                function.params.len(),
                function.returns.len()
            );
            return Err(self.error(what));
        }
        Ok(())
    }

    fn inlined_body(&mut self, function: &FunctionAst, scope: Scope) -> Result<(), PtxError> {
        let end = self.new_label();
        let (at, guard) = (self.at, self.guard);
        let (opcode, text) = (self.opcode.clone(), Arc::clone(&self.text));
        let top = self.keep_stack(function)?;
        if guard.0 != NONE {
            // Lanes without the guard go around the body.
            self.guard.1 = !guard.1;
            self.emit(
                Code::Branch {
                    target: end,
                    meet: NONE,
                },
                Slots::default(),
            )?;
        }
        self.frames.push(BodyScope {
            scopes: vec![scope],
            end: Some(end),
        });
        let lines = self.lines.enter(&function.name);
        self.body(function.body.as_deref().unwrap_or_default())?;
        self.frames.pop();
        self.place_label(end);
        if let Some(top) = top {
            // Belongs to the instruction before it, which returns.
            self.fresh = false;
            self.give_back(top)?;
        }
        (self.at, self.guard, self.lines) = (at, guard, lines);
        (self.opcode, self.text) = (opcode, text);
        Ok(())
    }

    fn is_register(&mut self, operand: &Operand) -> Result<bool, PtxError> {
        Ok(match operand {
            Operand::Name(name, _) => !matches!(self.lookup(name)?, Some(Binding::Variable { .. })),
            _ => true,
        })
    }

    /// The address of an argument for the function, or of a place for a result. Variables are
    /// passed as they are, since the caller writes them anew before each call.
    pub fn argument_address(
        &mut self,
        param: &Variable,
        argument: &Operand,
        copies: bool,
    ) -> Result<u64, PtxError> {
        if let Operand::Name(name, 0) = argument
            && let Some(Binding::Variable {
                space: NamedSpace::Local,
                address,
                size,
            }) = self.lookup(name)?
        {
            if let (Some(wanted), Some(size)) = (param.size, size)
                && wanted != size
            {
                return Err(self.error(format!(
                    "{name} has {size} bytes, and the function takes or returns {wanted} there"
                )));
            }
            return Ok(address);
        }
        let address = self.place_local(param.size.unwrap_or(0), param.align)?;
        if copies {
            self.move_value(argument, address, param.ty.size(), true)?;
        }
        Ok(address)
    }

    /// A store of a register or number to a variable in local memory, or a load.
    fn move_value(
        &mut self,
        operand: &Operand,
        address: u64,
        width: u8,
        is_store: bool,
    ) -> Result<(), PtxError> {
        use crate::syntax::types::Type;
        let ty = match width {
            1 => Type::B8,
            2 => Type::B16,
            8 => Type::B64,
            _ => Type::B32,
        };
        let register = self.element(operand, ty, is_store)?;
        let site = self.site();
        self.kernel.memory.push(MemoryOp {
            space: NamedSpace::Local,
            is_store,
            address: self.local_address(address),
            width,
            signed: false,
            registers: [
                register,
                Register::default(),
                Register::default(),
                Register::default(),
            ],
            count: 1,
            site,
        });
        self.emit(
            Code::Memory(self.kernel.memory.len() as u32 - 1),
            Slots::default(),
        )
    }
}

/// What it takes to put a function in the place of a call: its statements, and what each of them
/// lists.
fn work(function: &FunctionAst) -> usize {
    let of = |statement: &Statement| match statement {
        Statement::Targets(_, names) | Statement::CallTargets(_, names) => names.len(),
        _ => 1,
    };
    let body = function.body.iter().flatten().map(of).sum::<usize>();
    1 + body + function.params.len() + function.returns.len()
}
