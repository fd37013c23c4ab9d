//! [`Netlist`]: gate-level circuits, read from the `.bench` format of ISCAS'89 and ITC'99. They are
//! inputs of the kernels in [`generate`](crate::generate).
//!
//! ```text
//! # a comment
//! INPUT(a)
//! OUTPUT(z)
//! z = NAND(a, q)
//! q = DFF(z)
//! ```

use std::collections::HashMap;

use crate::SimtError;
use crate::graph::Graph;

/// What a node of a netlist is. The numbers are those that kernels get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Gate {
    /// An input of the circuit.
    Input = 0,
    /// Conjunction.
    And = 1,
    /// Its inverse.
    Nand = 2,
    /// Disjunction.
    Or = 3,
    /// Its inverse.
    Nor = 4,
    /// Exclusive or.
    Xor = 5,
    /// Its inverse.
    Xnor = 6,
    /// Inverse.
    Not = 7,
    /// The same.
    Buffer = 8,
    /// A flip-flop.
    Dff = 9,
}

/// A circuit: nodes are inputs and gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Netlist {
    /// Names of nodes, in the order in which the file defines them.
    pub names: Vec<String>,
    /// What each node is.
    pub gates: Vec<Gate>,
    /// From each node to the nodes that it takes its values from.
    pub fanin: Graph,
    /// The circuit's outputs, as nodes.
    pub outputs: Vec<u32>,
}

/// Signals that are used, by node and line.
type Uses<'a> = Vec<(Option<u32>, usize, &'a str)>;

impl Netlist {
    /// Reads a netlist. Signals may be used before they are defined. `name` is for messages.
    ///
    /// # Errors
    /// [`SimtError::Text`] with the line: what is no statement, unknown gates, signals without or
    /// with two definitions, inverters and flip-flops that do not have one input, gates that have
    /// none.
    pub fn read(text: &str, name: &str) -> Result<Netlist, SimtError> {
        let bad = |line: usize, what: String| SimtError::Text {
            name: name.to_owned(),
            line,
            what,
        };
        let (mut names, mut gates) = (Vec::new(), Vec::new());
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut uses: Uses = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let at = at + 1;
            let statement = line.split('#').next().unwrap_or_default().trim();
            if statement.is_empty() {
                continue;
            }
            let (signal, gate, inputs) = parse(statement).map_err(|what| bad(at, what))?;
            let Some(gate) = gate else {
                uses.push((None, at, signal));
                continue;
            };
            let node = names.len() as u32;
            if known.insert(signal, node).is_some() {
                return Err(bad(
                    at,
                    format!("'{}' is defined twice", signal.escape_debug()),
                ));
            }
            names.push(signal.to_owned());
            gates.push(gate);
            uses.extend(inputs.into_iter().map(|input| (Some(node), at, input)));
        }
        if names.is_empty() {
            return Err(bad(0, "it has no input and no gate".to_owned()));
        }
        let (mut edges, mut outputs) = (Vec::new(), Vec::new());
        for (user, at, signal) in uses {
            let Some(&node) = known.get(signal) else {
                return Err(bad(
                    at,
                    format!("'{}' is not defined", signal.escape_debug()),
                ));
            };
            match user {
                Some(user) => edges.push((user, node)),
                None => outputs.push(node),
            }
        }
        let fanin = Graph::new(names.len() as u32, &edges)?;
        Ok(Netlist {
            names,
            gates,
            fanin,
            outputs,
        })
    }
}

/// A statement: the signal, the gate that it is (`None` for an output), and the gate's inputs.
type Statement<'a> = (&'a str, Option<Gate>, Vec<&'a str>);

fn parse(statement: &str) -> Result<Statement<'_>, String> {
    let shown = || {
        statement
            .chars()
            .take(60)
            .collect::<String>()
            .escape_debug()
            .to_string()
    };
    let (defined, call) = match statement.split_once('=') {
        Some((signal, call)) => (Some(signal.trim()), call.trim()),
        None => (None, statement),
    };
    let parts = call
        .split_once('(')
        .and_then(|(word, rest)| Some((word.trim(), rest.strip_suffix(')')?)));
    let (word, rest) = parts.ok_or_else(|| {
        format!(
            "'{}' is not of the form `signal = GATE(signal, …)`",
            shown()
        )
    })?;
    let inputs: Vec<&str> = rest
        .split(',')
        .map(str::trim)
        .filter(|signal| !signal.is_empty())
        .collect();
    let word = word.to_ascii_uppercase();
    let Some(signal) = defined else {
        return match (&word[..], &inputs[..]) {
            ("INPUT", [signal]) => Ok((signal, Some(Gate::Input), Vec::new())),
            ("OUTPUT", [signal]) => Ok((signal, None, Vec::new())),
            _ => Err(format!(
                "'{}' is neither INPUT(signal) nor OUTPUT(signal)",
                shown()
            )),
        };
    };
    let gate = gate(&word).ok_or_else(|| {
        format!(
            "the gate {word} is unknown: AND, NAND, OR, NOR, XOR, XNOR, NOT, BUFF, DFF are read"
        )
    })?;
    let single = matches!(gate, Gate::Not | Gate::Buffer | Gate::Dff);
    if inputs.is_empty() || (single && inputs.len() != 1) {
        return Err(format!("{word} does not take {} inputs", inputs.len()));
    }
    if signal.is_empty() || signal.contains(char::is_whitespace) {
        return Err(format!("'{}' does not define a signal", shown()));
    }
    Ok((signal, Some(gate), inputs))
}

fn gate(word: &str) -> Option<Gate> {
    Some(match word {
        "AND" => Gate::And,
        "NAND" => Gate::Nand,
        "OR" => Gate::Or,
        "NOR" => Gate::Nor,
        "XOR" => Gate::Xor,
        "XNOR" => Gate::Xnor,
        "NOT" | "INV" => Gate::Not,
        "BUF" | "BUFF" => Gate::Buffer,
        "DFF" => Gate::Dff,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn netlist_reads_gates_and_connections() {
        let text = "# c\nINPUT(a)\nOUTPUT(z)\n\nz = NAND(a, q) # gate\nq=DFF(z)\n";
        let netlist = Netlist::read(text, "t").unwrap();
        assert_eq!(netlist.names, ["a", "z", "q"]);
        assert_eq!(netlist.gates, [Gate::Input, Gate::Nand, Gate::Dff]);
        assert_eq!(netlist.fanin.targets(1), [0, 2]);
        assert_eq!(netlist.outputs, [1]);
    }

    #[test]
    fn netlist_errors_name_their_line() {
        for (text, says) in [
            ("", "no input and no gate"),
            ("INPUT(a)\nz = MUX(a)", "line 2: the gate MUX"),
            ("z = AND(a)", "line 1: 'a' is not defined"),
            ("INPUT(a)\nINPUT(a)", "line 2: 'a' is defined twice"),
            (
                "INPUT(a)\nz = NOT(a, a)",
                "line 2: NOT does not take 2 inputs",
            ),
            ("INPUT(a)\nz = AND()", "does not take 0"),
            ("INPUT(a", "not of the form"),
            ("FOO(a)", "neither INPUT"),
            ("INPUT(a)\n = NOT(a)", "does not define"),
            ("OUTPUT(z)\nINPUT(a)", "line 1: 'z'"),
        ] {
            let error = Netlist::read(text, "t").unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
