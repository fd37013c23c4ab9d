//! What `ptx-syntax` says of a file.

use ptx_syntax::r#type::{FunctionBody, FunctionStatement, Instruction, Module, ModuleDirective, ParameterDirective};
use ptx_syntax::{PtxToken, PtxUnlexer, PtxUnparser, parse_ptx, run_with_large_stack};

use crate::Function;

/// Its functions, in order.
pub fn functions(text: String) -> Result<Vec<Function>, String> {
    let parsed = run_with_large_stack(move || parse_ptx(&text).map_err(|error| error.to_string()));
    Ok(parsed?.functions())
}

trait Functions {
    fn functions(&self) -> Vec<Function>;
}

impl Functions for Module {
    fn functions(&self) -> Vec<Function> {
        let all = self.directives.iter().filter_map(|directive| match directive {
            ModuleDirective::EntryFunction { directive, .. } => Some(Function {
                name: directive.name.val.clone(),
                is_entry: true,
                params: names(&directive.params),
                opcodes: opcodes(directive.body.as_ref()),
            }),
            ModuleDirective::FuncFunction { directive, .. } => Some(Function {
                name: directive.name.val.clone(),
                is_entry: false,
                params: names(&directive.params),
                opcodes: opcodes(directive.body.as_ref()),
            }),
            _ => None,
        });
        all.collect()
    }
}

fn opcodes(body: Option<&FunctionBody>) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(body) = body {
        statements(&body.statements, &mut found);
    }
    found
}

fn statements(all: &[FunctionStatement], found: &mut Vec<String>) {
    for statement in all {
        match statement {
            FunctionStatement::Instruction { instruction, .. } => found.push(opcode(instruction)),
            FunctionStatement::Block { statements, .. } => self::statements(statements, found),
            _ => {}
        }
    }
}

/// The opcode, as it would be written: up to the first space.
fn opcode(instruction: &Instruction) -> String {
    let tokens = instruction.inst.to_tokens_spaced();
    let end = tokens.iter().position(|token| matches!(token, PtxToken::Space | PtxToken::Semicolon));
    PtxUnlexer::to_string(&tokens[..end.unwrap_or(tokens.len())]).unwrap_or_default()
}

fn names(params: &[ParameterDirective]) -> Vec<String> {
    let name = |param: &ParameterDirective| match param {
        ParameterDirective::Register { name, .. } | ParameterDirective::Parameter { name, .. } => name.val.clone(),
    };
    params.iter().map(name).collect()
}
