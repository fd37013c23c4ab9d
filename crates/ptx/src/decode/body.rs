//! Decoding of a function's body, statement by statement: scopes, labels, registers and variables.
//! Instructions go on to `instruction`.

use std::collections::HashMap;

use super::decoder::{KernelDecoder, Label};
use super::kernel::{NONE, NamedSpace};
use super::scope::{Binding, CallChoice, Scope};
use crate::error::PtxError;
use crate::syntax::ast::{Statement, Variable};
use crate::syntax::types::StateSpace;

impl KernelDecoder<'_> {
    /// Decodes a body in the innermost frame.
    pub fn body(&mut self, statements: &[Statement]) -> Result<(), PtxError> {
        let mut labels = self.labels_of(statements)?.into_iter();
        let depth = self.frames.last().map_or(0, |frame| frame.scopes.len());
        self.open(&mut labels);
        for statement in statements {
            match statement {
                Statement::Open => self.open(&mut labels),
                Statement::Close => self.close(depth + 1),
                other => self.statement(other)?,
            }
        }
        self.close(depth);
        Ok(())
    }

    fn open(&mut self, labels: &mut impl Iterator<Item = HashMap<String, Label>>) {
        let scope = Scope::new(labels.next().unwrap_or_default(), self.local_next);
        if let Some(frame) = self.frames.last_mut() {
            frame.scopes.push(scope);
        }
    }

    fn close(&mut self, least: usize) {
        if let Some(frame) = self.frames.last_mut()
            && frame.scopes.len() > least
            && let Some(scope) = frame.scopes.pop()
            && self.routine != NONE
        {
            // Stacks are small, and calls one after the other share their room.
            self.local_next = scope.local_start;
        }
    }

    /// New labels for those of each scope, scopes in the order in which they open.
    fn labels_of(
        &mut self,
        statements: &[Statement],
    ) -> Result<Vec<HashMap<String, Label>>, PtxError> {
        let mut found = vec![HashMap::new()];
        let mut open = vec![0];
        for statement in statements {
            match statement {
                Statement::Open => {
                    open.push(found.len());
                    found.push(HashMap::new());
                }
                Statement::Close => {
                    open.pop();
                }
                Statement::Label(name, at) => {
                    let label = self.new_label();
                    let scope = &mut found[open.last().copied().unwrap_or(0)];
                    if scope.insert(name.clone(), label).is_some() {
                        self.at = *at;
                        return Err(self.error(format!("there is a label {name} already")));
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), PtxError> {
        match statement {
            Statement::Registers {
                ty,
                name,
                count: None,
                at,
            } => {
                self.at = *at;
                let slot = self.fresh_slot(*ty)?;
                self.scope().bind(name, Binding::Register { ty: *ty, slot });
            }
            Statement::Registers {
                ty,
                name,
                count: Some(count),
                ..
            } => {
                self.scope().family(name, *ty, *count);
            }
            Statement::Variable(variable) => self.variable(variable)?,
            Statement::Label(name, at) => {
                let label = self.scopes().find_map(|scope| scope.label(name));
                self.at = *at;
                let label =
                    label.ok_or_else(|| self.error(format!("the label {name} is in no scope")))?;
                self.place_label(label);
            }
            Statement::Targets(label, targets) => self.scope().table(label, targets),
            Statement::Prototype(label, prototype) => {
                let choice = CallChoice::Fitting(prototype.clone());
                self.scope().choice(label, choice);
            }
            Statement::CallTargets(label, functions) => {
                let choice = CallChoice::Listed(functions.clone());
                self.scope().choice(label, choice);
            }
            Statement::Location(source, inlined) => {
                self.lines.locate(self.ast, *source, inlined.as_ref());
            }
            Statement::Instruction(instruction) => {
                self.begin(instruction.at, &instruction.opcode, || {
                    instruction.to_string()
                });
                if let Some((name, negated)) = &instruction.guard {
                    let operand = crate::syntax::ast::Operand::Name(name.clone(), 0);
                    let slot = self.source(&operand, crate::syntax::types::Type::Pred, false)?;
                    self.guard = (slot, *negated);
                }
                self.instruction(instruction)?;
            }
            Statement::Open | Statement::Close => {}
        }
        Ok(())
    }

    fn variable(&mut self, variable: &Variable) -> Result<(), PtxError> {
        self.at = variable.at;
        let Some(size) = variable.size else {
            if variable.space == StateSpace::Shared {
                self.name_dynamic(&variable.name);
                self.scope().bind(&variable.name, Binding::Dynamic);
                return Ok(());
            }
            return Err(self.error(format!("the array {} has no length", variable.name)));
        };
        let binding = match variable.space {
            StateSpace::Shared => {
                let address = self.place_shared(&variable.name, size, variable.align)?;
                Binding::Variable {
                    space: NamedSpace::Shared,
                    address,
                    size: variable.size,
                }
            }
            // Arguments of a function are in local memory, beside the thread's own variables.
            StateSpace::Local | StateSpace::Param => {
                let address = self.place_local(size, variable.align)?;
                Binding::Variable {
                    space: NamedSpace::Local,
                    address,
                    size: variable.size,
                }
            }
            StateSpace::Global | StateSpace::Const => {
                return Err(
                    self.unsupported("global variables inside of functions are not supported")
                );
            }
        };
        self.scope().bind(&variable.name, binding);
        Ok(())
    }
}
