//! [`bypass`]: loads of global memory that use the L1 in some warps of a block, and pass it by in
//! the others.
//!
//! A load becomes two, of which each warp does one: `ld.global.ca` in the warps below a number, and
//! `ld.global.cg` in the others, under a predicate that is set where the body begins. So a warp
//! does not diverge, and a load under a guard is done by the lanes that did it before. A load with
//! a priority of its own (`.cs`, `L1::evict_first`, …) stays as it is in the warps that use the L1.
//! Loads of read-only data (`.nc`) are in the L1 of all GPUs since Maxwell, and are rewritten, too.
//! So are loads of generic addresses: an operator says nothing of shared memory.
//!
//! # What stays as it is
//! Loads with an order (`volatile`, `relaxed`, `acquire`, `mmio`) take no cache operator; `.cg`,
//! `.cv` and `L1::no_allocate` pass the L1 by already; and `ldu`, copies to shared memory
//! (`cp.async`) and loads of matrices (`wmma.load`) have no form for both ways. Stores and atomic
//! operations do not use the L1 of a GPU for what they write.
//!
//! Source: Shen 2021, section 3.4, listing 3.5.

use std::collections::BTreeMap;
use std::fmt;

use reuselens_ptx::tokens;

use crate::body::{InstructionText, Item};
use crate::edit::with_replaced;
use crate::error::InstrumentError;
use crate::hook::{WARP, named};
use crate::names;
use crate::scan::{ScannedBody, scan};

/// Which warps of a block use the L1: those with numbers below a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BypassWarps {
    /// The number for all kernels, and for the functions that they call.
    All(u32),
    /// The number for each of some kernels, by their mangled names. Other kernels stay as they are,
    /// and so do functions, which several kernels may call.
    Kernels(BTreeMap<String, u32>),
}

impl BypassWarps {
    /// The number for a body; none if it stays as it is.
    fn of(&self, body: &ScannedBody<'_>) -> Option<u32> {
        match self {
            BypassWarps::All(warps) => Some(*warps),
            BypassWarps::Kernels(kernels) if body.is_kernel => kernels.get(body.function).copied(),
            BypassWarps::Kernels(_) => None,
        }
    }
}

/// A load, as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BypassedLoad {
    /// Line of the opcode in the PTX that was given, from 1.
    pub line: u32,
    /// Column of the opcode, from 1.
    pub column: u32,
    /// The kernel or function that it is in.
    pub function: String,
    /// The opcode with its modifiers.
    pub opcode: String,
    /// Why it stays as it is; none of a load that was rewritten.
    pub kept: Option<KeptReason>,
}

/// Why a load stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeptReason {
    /// It has an order, and takes no cache operator.
    Ordered,
    /// It passes the L1 by already.
    Passes,
    /// It has no form for both ways.
    Form,
    /// It is in a function, which kernels with different numbers may call.
    Function,
}

impl fmt::Display for KeptReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            KeptReason::Ordered => "loads with an order",
            KeptReason::Passes => "loads that pass the L1 by already",
            KeptReason::Form => "loads without a cache operator",
            KeptReason::Function => "loads in functions",
        })
    }
}

/// PTX whose loads go by warps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bypassed {
    /// The PTX.
    pub text: String,
    /// The loads that may access global memory, in the order of the text.
    pub loads: Vec<BypassedLoad>,
}

/// Rewrites the loads of global memory. All else is the given text, byte for byte.
///
/// # Errors
/// Text that is no PTX, or that ends too early.
///
/// Cost: one pass over the text.
pub fn bypass(text: &str, warps: &BypassWarps) -> Result<Bypassed, InstrumentError> {
    let tokens = tokens(text)?;
    let module = scan(&tokens)?;
    let mut writer = BypassWriter {
        text,
        prefix: names::free_prefix(&tokens),
        replaced: Vec::new(),
        loads: Vec::new(),
    };
    for body in &module.bodies {
        let number = warps.of(body);
        if number.is_some() || !body.is_kernel {
            writer.body(body, number);
        }
    }
    Ok(Bypassed {
        text: with_replaced(text, &writer.replaced),
        loads: writer.loads,
    })
}

struct BypassWriter<'t> {
    text: &'t str,
    prefix: String,
    replaced: Vec<(std::ops::Range<usize>, String)>,
    loads: Vec<BypassedLoad>,
}

impl BypassWriter<'_> {
    /// Rewrites the loads of a body, if there is a number for it.
    fn body(&mut self, scanned: &ScannedBody<'_>, warps: Option<u32>) {
        let before = self.replaced.len();
        for item in &scanned.body.items {
            let Item::Instruction(instruction) = item else {
                continue;
            };
            let Some(ways) = ways(instruction.opcode) else {
                continue;
            };
            let ways = ways.and_then(|it| warps.map(|_| it).ok_or(KeptReason::Function));
            self.loads.push(BypassedLoad {
                line: instruction.line,
                column: instruction.column,
                function: scanned.function.to_owned(),
                opcode: instruction.opcode.to_owned(),
                kept: ways.as_ref().err().copied(),
            });
            if let Ok(ways) = ways {
                let pair = self.pair(instruction, &ways);
                let place = instruction.start..instruction.after;
                self.replaced.push((place, pair));
            }
        }
        let Some(warps) = warps.filter(|_| self.replaced.len() > before) else {
            return;
        };
        let prefix = &self.prefix;
        let registers = format!("\n\t.reg .pred %{prefix}_b<4>;\n\t.reg .b32 %{prefix}_r<4>;");
        let body = format!("{WARP}setp.lt.u32 %@b0, %@r1, {warps};\n");
        let first = scanned.body.first;
        let start = [
            (scanned.body.open..scanned.body.open, registers),
            (first..first, format!("\n{}", named(&body, prefix))),
        ];
        self.replaced.splice(before..before, start);
    }

    /// Both ways of a load.
    fn pair(&self, instruction: &InstructionText<'_>, ways: &BothWays) -> String {
        let operands = &self.text[instruction.rest..instruction.after];
        let prefix = &self.prefix;
        let (guards, here, there) = match instruction.guard {
            None => (String::new(), "%@b0", "!%@b0"),
            Some((name, is_negated)) => {
                let (invert, guard) = if is_negated {
                    (format!("not.pred %@b3, {name};\n"), "%@b3")
                } else {
                    (String::new(), name)
                };
                let guards = format!(
                    "{invert}and.pred %@b1, %@b0, {guard};
                    not.pred %@b2, %@b0;
                    and.pred %@b2, %@b2, {guard};\n"
                );
                (guards, "%@b1", "%@b2")
            }
        };
        let pair = |predicate: &str, opcode: &str| {
            let predicate = predicate.replace('@', &format!("{prefix}_"));
            format!("@{predicate} {opcode}{operands}")
        };
        let guards = named(&guards, prefix);
        let begin = if guards.is_empty() { "" } else { "\n" };
        format!(
            "{begin}{}{}\n\t{}",
            guards,
            pair(here, &ways.cached),
            pair(there, &ways.passing)
        )
    }
}

/// The opcodes of a load that uses the L1, and of one that does not.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BothWays {
    cached: String,
    passing: String,
}

/// The two ways of a load that may access global memory, or why there are none; none of what is no
/// such load.
fn ways(opcode: &str) -> Option<Result<BothWays, KeptReason>> {
    let words: Vec<&str> = opcode.split('.').collect();
    let has = |any: &[&str]| words.iter().any(|word| any.contains(word));
    match words[0] {
        "ld" => {}
        "ldu" => return Some(Err(KeptReason::Form)),
        "cp" if has(&["async"]) && has(&["ca", "cg", "bulk"]) => {
            return Some(Err(KeptReason::Form));
        }
        "wmma" if has(&["load"]) && !has(&["shared", "shared::cta"]) => {
            return Some(Err(KeptReason::Form));
        }
        _ => return None,
    }
    const OTHER_SPACES: [&str; 9] = [
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "const",
        "param",
        "param::entry",
        "param::func",
        "sreg",
    ];
    if has(&OTHER_SPACES) {
        return None;
    }
    if has(&["volatile", "relaxed", "acquire", "mmio"]) {
        return Some(Err(KeptReason::Ordered));
    }
    if has(&["cg", "cv", "L1::no_allocate"]) {
        return Some(Err(KeptReason::Passes));
    }
    // An operator is after the space; `weak` may be before that.
    let space = words
        .iter()
        .rposition(|word| ["ld", "weak", "global"].contains(word));
    let operator_at = space.map_or(1, |at| at + 1);
    let is_policy = |word: &&str| ["ca", "cs", "lu"].contains(word) || word.starts_with("L1::");
    let with = |operator| {
        let (before, after) = words.split_at(operator_at);
        let after = after.iter().copied().filter(|word| !is_policy(word));
        let words = before.iter().copied().chain([operator]).chain(after);
        words.collect::<Vec<_>>().join(".")
    };
    Some(Ok(BothWays {
        cached: if words.iter().any(is_policy) {
            opcode.to_owned()
        } else {
            with("ca")
        },
        passing: with("cg"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_of_global_memory_have_both_ways() {
        for (opcode, cached, passing) in [
            ("ld.global.u32", "ld.global.ca.u32", "ld.global.cg.u32"),
            (
                "ld.weak.global.v4.f32",
                "ld.weak.global.ca.v4.f32",
                "ld.weak.global.cg.v4.f32",
            ),
            (
                "ld.global.nc.v2.u64",
                "ld.global.ca.nc.v2.u64",
                "ld.global.cg.nc.v2.u64",
            ),
            ("ld.f64", "ld.ca.f64", "ld.cg.f64"),
            ("ld.global.ca.u8", "ld.global.ca.u8", "ld.global.cg.u8"),
            ("ld.global.cs.u8", "ld.global.cs.u8", "ld.global.cg.u8"),
            (
                "ld.global.nc.L1::evict_last.L2::128B.b32",
                "ld.global.nc.L1::evict_last.L2::128B.b32",
                "ld.global.cg.nc.L2::128B.b32",
            ),
        ] {
            let (cached, passing) = (cached.to_owned(), passing.to_owned());
            assert_eq!(ways(opcode), Some(Ok(BothWays { cached, passing })));
        }
    }

    #[test]
    fn other_loads_stay_as_they_are() {
        use KeptReason::{Form, Ordered, Passes};
        for (opcode, kept) in [
            ("ld.volatile.global.u32", Some(Ordered)),
            ("ld.relaxed.gpu.global.u32", Some(Ordered)),
            ("ld.acquire.sys.b64", Some(Ordered)),
            ("ld.global.cg.u32", Some(Passes)),
            ("ld.global.L1::no_allocate.v4.u32", Some(Passes)),
            ("ldu.global.f32", Some(Form)),
            ("cp.async.ca.shared.global", Some(Form)),
            (
                "wmma.load.a.sync.aligned.row.m16n16k16.global.f16",
                Some(Form),
            ),
            ("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", None),
            ("cp.async.wait_all", None),
            ("ld.shared.u32", None),
            ("ld.param.u64", None),
            ("st.global.u32", None),
            ("atom.global.add.u32", None),
        ] {
            assert_eq!(ways(opcode).map(|it| it.unwrap_err()), kept, "{opcode}");
        }
    }

    const FILE: &str = ".version 7.0\n.target sm_75\n.address_size 64\n\
        .func f(.param .b64 a) {\n.reg .b64 %x; .reg .b32 %r;\nld.global.u32 %r, [%x];\nret;\n}\n\
        .entry one() {\n.reg .b64 %x; .reg .b32 %r; .reg .pred %p;\n\
        @!%p ld.global.u32 %r, [%x];\nret;\n}\n\
        .entry two() {\n.reg .b64 %x; .reg .b32 %r;\nld.global.u32 %r, [%x];\nret;\n}\n";

    #[test]
    fn kernels_have_numbers_of_their_own_and_others_stay() {
        let found = bypass(FILE, &BypassWarps::Kernels([("one".to_owned(), 5)].into())).unwrap();
        let kept: Vec<_> = found
            .loads
            .iter()
            .map(|load| (&*load.function, load.line, load.kept))
            .collect();
        let expected = [("f", 6, Some(KeptReason::Function)), ("one", 11, None)];
        assert_eq!(kept, expected);
        let changed = found
            .text
            .contains("setp.lt.u32 %reuselens_b0, %reuselens_r1, 5;");
        assert!(changed, "{}", found.text);
        let one = found.text.split(".entry").nth(1).unwrap();
        for line in [
            "\tnot.pred %reuselens_b3, %p;\n",
            "@%reuselens_b1 ld.global.ca.u32 %r, [%x];\n",
            "@%reuselens_b2 ld.global.cg.u32 %r, [%x];\n",
        ] {
            assert!(one.contains(line), "{line}: {one}");
        }
        for (at, part) in [(0, ".func"), (2, "two")] {
            let [before, after] = [FILE, &found.text].map(|it| it.split(".entry").nth(at).unwrap());
            assert_eq!(before, after, "{part}");
        }
    }
}
