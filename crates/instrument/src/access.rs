//! What an instruction does to memory, by its opcode: [`classify`].

use reuselens_ptx::Type;
use reuselens_warp::{Space, WarpKind};

use crate::left_out::LeftOutReason;

/// What is known of an instruction by its opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// Loads, stores, atomic operations.
    Access(AccessForm),
    /// Goes elsewhere, if its guard holds: a basic block ends.
    Jump,
    /// Calls a function.
    Call,
    /// Waits for the other warps of the block.
    Barrier,
    /// Accesses parameters, or arguments and results of calls: no hook.
    Passed(AccessForm),
    /// Accesses no memory that is recorded.
    Plain,
    /// Accesses memory, or may, and gets no hook.
    LeftOut(LeftOutReason),
}

/// The form of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessForm {
    /// The space that it names; none of a generic access.
    pub space: Option<Space>,
    pub kind: WarpKind,
    /// Bytes of a thread, all elements of a vector together.
    pub bytes: u8,
}

/// Instructions of PTX that access no memory, or only parameters, by the part before the first dot.
///
/// Source: PTX ISA 9.0, chapter 9.7.
const PLAIN: &[&str] = &[
    "abs",
    "activemask",
    "add",
    "addc",
    "alloca",
    "and",
    "applypriority",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "brev",
    "brkpt",
    "clusterlaunchcontrol",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "createpolicy",
    "cvt",
    "cvta",
    "discard",
    "div",
    "dp2a",
    "dp4a",
    "elect",
    "ex2",
    "fence",
    "fma",
    "fns",
    "getctarank",
    "griddepcontrol",
    "isspacep",
    "istypep",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "madc",
    "mapa",
    "match",
    "max",
    "membar",
    "min",
    "mma",
    "mov",
    "mul",
    "mul24",
    "nanosleep",
    "neg",
    "not",
    "or",
    "pmevent",
    "popc",
    "prefetch",
    "prefetchu",
    "prmt",
    "rcp",
    "redux",
    "rem",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setmaxnreg",
    "setp",
    "shf",
    "shfl",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "stackrestore",
    "stacksave",
    "sub",
    "subc",
    "szext",
    "tanh",
    "testp",
    "txq",
    "suq",
    "vabsdiff",
    "vabsdiff2",
    "vabsdiff4",
    "vadd",
    "vadd2",
    "vadd4",
    "vavrg2",
    "vavrg4",
    "vmad",
    "vmax",
    "vmax2",
    "vmax4",
    "vmin",
    "vmin2",
    "vmin4",
    "vote",
    "vset",
    "vset2",
    "vset4",
    "vshl",
    "vshr",
    "vsub",
    "vsub2",
    "vsub4",
    "wgmma",
    "xor",
];

/// What an instruction does to memory.
pub fn classify(opcode: &str) -> Opcode {
    let mut words = opcode.split('.');
    let base = words.next().unwrap_or_default();
    let modifiers: Vec<&str> = words.collect();
    let has = |word: &str| modifiers.contains(&word);
    match base {
        "ld" | "ldu" | "st" | "atom" | "red" => access(base, &modifiers),
        "bra" | "brx" | "ret" | "exit" | "trap" => Opcode::Jump,
        "call" => Opcode::Call,
        "bar" | "barrier" if has("warp") || has("cluster") => Opcode::Plain,
        "bar" | "barrier" if has("arrive") => Opcode::LeftOut(LeftOutReason::PartialBarrier),
        "bar" | "barrier" => Opcode::Barrier,
        "cp" if has("commit_group") || has("wait_group") || has("wait_all") => Opcode::Plain,
        "cp" => Opcode::LeftOut(LeftOutReason::Copy),
        "wmma" if has("mma") => Opcode::Plain,
        // The operands are descriptors of shared memory.
        "wgmma" if has("mma_async") => Opcode::LeftOut(LeftOutReason::Matrix),
        "ldmatrix" | "stmatrix" | "movmatrix" if base == "movmatrix" => Opcode::Plain,
        "ldmatrix" | "stmatrix" | "wmma" | "tcgen05" => Opcode::LeftOut(LeftOutReason::Matrix),
        "tex" | "tld4" | "suld" | "sust" | "sured" | "tensormap" => {
            Opcode::LeftOut(LeftOutReason::Texture)
        }
        "mbarrier" => Opcode::LeftOut(LeftOutReason::Barrier),
        "multimem" => Opcode::LeftOut(LeftOutReason::OtherBlocks),
        _ if PLAIN.contains(&base) => Opcode::Plain,
        _ => Opcode::LeftOut(LeftOutReason::Unknown),
    }
}

fn access(base: &str, modifiers: &[&str]) -> Opcode {
    let has = |word: &str| modifiers.contains(&word);
    if has("async") {
        return Opcode::LeftOut(LeftOutReason::Copy);
    }
    if has("shared::cluster") {
        return Opcode::LeftOut(LeftOutReason::OtherBlocks);
    }
    let named = modifiers.iter().find_map(|word| space(word));
    let kind = match base {
        "ld" | "ldu" => WarpKind::Load,
        "st" => WarpKind::Store,
        _ => WarpKind::Atomic,
    };
    let lanes = modifiers.iter().find_map(|word| match *word {
        "v2" => Some(2),
        "v4" => Some(4),
        "v8" => Some(8),
        _ => None,
    });
    let element = modifiers.iter().rev().find_map(|word| match *word {
        "b128" => Some(16),
        word => Type::named(word).map(Type::size),
    });
    let form = element.map(|element| AccessForm {
        space: named,
        kind,
        bytes: element * lanes.unwrap_or(1),
    });
    match (form, named) {
        (Some(form), Some(Space::Parameter)) => Opcode::Passed(form),
        (None, Some(Space::Parameter)) => Opcode::Plain,
        (Some(form), _) => Opcode::Access(form),
        (None, _) => Opcode::LeftOut(LeftOutReason::Form),
    }
}

fn space(modifier: &str) -> Option<Space> {
    Some(match modifier {
        "global" => Space::Global,
        "shared" | "shared::cta" => Space::Shared,
        "local" => Space::Local,
        "const" => Space::Constant,
        "param" | "param::entry" | "param::func" => Space::Parameter,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_say_what_they_access() {
        let form = |space, kind, bytes| Opcode::Access(AccessForm { space, kind, bytes });
        let parameter = AccessForm {
            space: Some(Space::Parameter),
            kind: WarpKind::Load,
            bytes: 8,
        };
        for (opcode, expected) in [
            (
                "ld.global.nc.v4.f32",
                form(Some(Space::Global), WarpKind::Load, 16),
            ),
            (
                "st.volatile.shared::cta.v2.u64",
                form(Some(Space::Shared), WarpKind::Store, 16),
            ),
            ("ld.u8", form(None, WarpKind::Load, 1)),
            (
                "atom.global.add.noftz.f16x2",
                form(Some(Space::Global), WarpKind::Atomic, 4),
            ),
            ("atom.cas.b128", form(None, WarpKind::Atomic, 16)),
            ("ld.param.u64", Opcode::Passed(parameter)),
            ("ld.global.b256", Opcode::LeftOut(LeftOutReason::Form)),
            (
                "st.shared::cluster.u32",
                Opcode::LeftOut(LeftOutReason::OtherBlocks),
            ),
            (
                "cp.async.ca.shared.global",
                Opcode::LeftOut(LeftOutReason::Copy),
            ),
            ("cp.async.wait_all", Opcode::Plain),
            ("movmatrix.sync.aligned.m8n8.trans.b16", Opcode::Plain),
            (
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
                Opcode::LeftOut(LeftOutReason::Matrix),
            ),
            (
                "wmma.load.a.sync.aligned.row.m16n16k16.f16",
                Opcode::LeftOut(LeftOutReason::Matrix),
            ),
            (
                "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
                Opcode::Plain,
            ),
            ("tex.1d.v4.f32.s32", Opcode::LeftOut(LeftOutReason::Texture)),
            ("bra.uni", Opcode::Jump),
            ("call.uni", Opcode::Call),
            ("bar.sync", Opcode::Barrier),
            ("barrier.cta.red.popc.aligned.u32", Opcode::Barrier),
            ("bar.warp.sync", Opcode::Plain),
            ("barrier.cluster.wait", Opcode::Plain),
            ("bar.arrive", Opcode::LeftOut(LeftOutReason::PartialBarrier)),
            ("frobnicate.b32", Opcode::LeftOut(LeftOutReason::Unknown)),
        ] {
            assert_eq!(classify(opcode), expected, "{opcode}");
        }
    }
}
