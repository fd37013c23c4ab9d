//! [`Callees`]: what has to be known of a file's functions before a kernel that calls them is made
//! ready: whose address is taken, and which lead back to themselves.

use std::collections::{HashMap, HashSet};

use crate::syntax::ast::{Ast, FunctionAst, Init, Operand, Statement};

/// Functions that cannot be put in the place of a call.
#[derive(Debug, Default)]
pub struct Callees {
    /// Those whose address something takes: an instruction, the first value of a variable (tables
    /// and those of virtual functions), or a list of `.calltargets`. In the order of the file.
    pub taken: Vec<String>,
    /// Those that call themselves, by others or not, and maybe some that are between two such.
    pub recursive: HashSet<String>,
}

impl Callees {
    /// Looks for them. Cost: linear in the size of the file.
    pub fn of(ast: &Ast) -> Callees {
        let functions = ast.functions.iter().filter(|function| !function.is_entry);
        let known: HashSet<&str> = functions.map(|function| function.name.as_str()).collect();
        let mut taken: HashSet<&str> = HashSet::new();
        let mut take = |name: &str| taken.extend(known.get(name));
        for value in ast.variables.iter().flat_map(|variable| &variable.init) {
            if let Init::Address { name, .. } = value {
                take(name);
            }
        }
        for statement in ast.functions.iter().flat_map(statements) {
            match statement {
                Statement::Instruction(instruction) => {
                    let operands = match CallParts::of(statement) {
                        Some(call) => call.arguments,
                        None => &instruction.operands[..],
                    };
                    operands
                        .iter()
                        .for_each(|operand| each_name(operand, &mut take));
                }
                Statement::CallTargets(_, names) => names.iter().for_each(|name| take(name)),
                _ => {}
            }
        }
        let in_order = ast.functions.iter().map(|function| &function.name);
        let mut seen = HashSet::new();
        Callees {
            taken: in_order
                .filter(|name| taken.contains(name.as_str()) && seen.insert(*name))
                .cloned()
                .collect(),
            recursive: recursive(ast),
        }
    }
}

fn statements(function: &FunctionAst) -> impl Iterator<Item = &Statement> {
    function.body.iter().flatten()
}

/// The parts of a `call`.
pub struct CallParts<'a> {
    pub results: &'a [Operand],
    /// A function, or a register with the address of one.
    pub callee: &'a str,
    pub arguments: &'a [Operand],
    /// The label of a prototype or of a list of functions.
    pub prototype: Option<&'a str>,
}

impl<'a> CallParts<'a> {
    /// The call that a statement is.
    fn of(statement: &'a Statement) -> Option<CallParts<'a>> {
        match statement {
            Statement::Instruction(instruction) if instruction.opcode.starts_with("call") => {
                CallParts::read(&instruction.operands)
            }
            _ => None,
        }
    }

    /// `(results), function, (arguments), prototype`, of which only the function is always there.
    pub fn read(operands: &'a [Operand]) -> Option<CallParts<'a>> {
        let (results, rest) = match operands {
            [Operand::List(results), rest @ ..] => (&results[..], rest),
            rest => (&[][..], rest),
        };
        let [Operand::Name(callee, 0), rest @ ..] = rest else {
            return None;
        };
        let (arguments, rest) = match rest {
            [Operand::List(arguments), rest @ ..] => (&arguments[..], rest),
            rest => (&[][..], rest),
        };
        let prototype = match rest {
            [] => None,
            [Operand::Name(label, 0)] => Some(label.as_str()),
            _ => return None,
        };
        Some(CallParts {
            results,
            callee,
            arguments,
            prototype,
        })
    }
}

fn each_name(operand: &Operand, take: &mut impl FnMut(&str)) {
    match operand {
        Operand::Name(name, _) => take(name),
        Operand::Vector(parts) | Operand::List(parts) => {
            parts.iter().for_each(|part| each_name(part, take));
        }
        Operand::Address(inner, _) | Operand::Texture(inner, _) | Operand::Not(inner) => {
            each_name(inner, take);
        }
        Operand::Pair(first, second) => {
            each_name(first, take);
            each_name(second, take);
        }
        Operand::Integer(_) | Operand::Single(_) | Operand::Double(_) => {}
    }
}

/// What is left when functions that no other one calls, and functions that call no other one, are
/// taken away until there are none: those of cycles, and those between two cycles.
fn recursive(ast: &Ast) -> HashSet<String> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for function in &ast.functions {
        let next = numbers.len();
        numbers.entry(&function.name).or_insert(next);
    }
    let mut calls = vec![HashSet::new(); numbers.len()];
    let mut callers = vec![HashSet::new(); numbers.len()];
    for function in &ast.functions {
        let from = numbers[function.name.as_str()];
        for call in statements(function).filter_map(CallParts::of) {
            if let Some(&to) = numbers.get(call.callee) {
                calls[from].insert(to);
                callers[to].insert(from);
            }
        }
    }
    peel(&mut calls, &mut callers);
    peel(&mut callers, &mut calls);
    let left = numbers
        .into_iter()
        .filter(|(_, number)| !calls[*number].is_empty());
    left.map(|(name, _)| name.to_owned()).collect()
}

/// Takes away what nothing of `next` is left of, until there is none.
fn peel(next: &mut [HashSet<usize>], before: &mut [HashSet<usize>]) {
    let mut ended: Vec<usize> = (0..next.len()).filter(|&at| next[at].is_empty()).collect();
    while let Some(at) = ended.pop() {
        for other in std::mem::take(&mut before[at]) {
            next[other].remove(&at);
            if next[other].is_empty() {
                ended.push(other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a` leads to the cycle of `b` and `c`, which leads by `d` to `e`, which calls itself, and
    /// that to `f`.
    #[test]
    fn cycles_and_what_is_between_them_are_recursive() {
        let calls = [
            ("a", "b"),
            ("b", "c"),
            ("c", "b"),
            ("c", "d"),
            ("d", "e"),
            ("e", "e"),
            ("e", "f"),
        ];
        let body = |name: &str| -> String {
            let of = calls.iter().filter(|(from, _)| *from == name);
            of.map(|(_, to)| format!("call {to};\n")).collect()
        };
        let functions = ["a", "b", "c", "d", "e", "f"]
            .map(|name| format!(".func {name}() {{\n{}ret; }}\n", body(name)));
        let text = format!(
            ".version 7.0\n.target sm_80\n.address_size 64\n{}\
             .visible .entry k() {{ .reg .b64 %x<3>; call a; mov.u64 %x1, f; call %x1, l; l: .calltargets a; }}\n\
             .global .u64 table[2] = {{d, k}};\n",
            functions.concat()
        );
        let found = Callees::of(&crate::syntax::parse(&text).unwrap());
        let mut recursive: Vec<String> = found.recursive.into_iter().collect();
        recursive.sort();
        assert_eq!(recursive, ["b", "c", "d", "e"]);
        assert_eq!(found.taken, ["a", "d", "f"]);
    }
}
