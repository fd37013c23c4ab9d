//! [`InstructionKind`]: the class of an instruction, and how many operations on floats it is, by
//! its opcode.
//!
//! Operations on floats are those that rooflines count: an addition, subtraction, multiplication,
//! division, root, reciprocal, sine, exponential and the like is one, a fused multiplication and
//! addition two; packed instructions have as many for each of their values. A product of matrices
//! of m × k and k × n elements is 2 · m · n · k for the warp. Minima, comparisons, signs,
//! conversions and atomic operations are none.
//!
//! Source: Nsight Compute's rooflines count additions, multiplications and twice the fused ones of
//! what the GPU executes. There, a division or root is several such instructions.

use reuselens_warp::InstructionClass;

use crate::lanes::WARP;

/// What is counted of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionKind {
    pub class: InstructionClass,
    /// Operations on floats of each thread; of a product of matrices, a lane's part.
    pub float_operations: u32,
}

impl InstructionKind {
    /// The kind of an opcode with all its modifiers, as in `fma.rn.f32`.
    pub fn of(opcode: &str) -> InstructionKind {
        let mut words = opcode.split('.');
        let base = words.next().unwrap_or_default();
        let modifiers: Vec<&str> = words.collect();
        let class = class(base, &modifiers);
        InstructionKind {
            class,
            float_operations: float_operations(class, base, &modifiers),
        }
    }
}

fn class(base: &str, modifiers: &[&str]) -> InstructionClass {
    use InstructionClass as Class;
    let has = |word: &str| modifiers.contains(&word);
    match base {
        "ld" | "ldu" | "ldmatrix" => load(modifiers),
        "st" | "stmatrix" => store(modifiers),
        "wmma" if has("mma") => Class::Tensor,
        "wmma" if has("load") => load(modifiers),
        "wmma" => store(modifiers),
        "mma" => Class::Tensor,
        "atom" | "red" => Class::Atomic,
        "cp" if has("wait_all") || has("wait_group") || has("commit_group") => Class::Barrier,
        "cp" => Class::Copy,
        "tex" | "tld4" | "suld" | "sust" | "sured" | "txq" | "suq" => Class::Texture,
        "bar" | "barrier" if has("warp") => Class::Exchange,
        "bar" | "barrier" | "membar" | "fence" | "mbarrier" => Class::Barrier,
        "vote" | "shfl" | "match" | "activemask" | "redux" | "elect" => Class::Exchange,
        "bra" | "brx" | "call" | "ret" | "exit" | "trap" | "brkpt" => Class::Control,
        "cvt" | "cvta" => Class::Conversion,
        "mov" | "selp" | "slct" => Class::Move,
        "isspacep" | "lop3" | "prmt" | "istypep" => Class::Integer,
        // The result of these has a type of its own, and comes first.
        "set" | "testp" | "setp" => by_type(modifiers.iter().rev()),
        _ => by_type(modifiers.iter()),
    }
}

/// Of an instruction that calculates: by the first of these modifiers that is a type.
fn by_type<'a>(modifiers: impl Iterator<Item = &'a &'a str>) -> InstructionClass {
    use InstructionClass as Class;
    let of = |word: &&str| match *word {
        "f16" | "f16x2" | "bf16" | "bf16x2" => Some(Class::Float16),
        "f32" | "f32x2" => Some(Class::Float32),
        "f64" => Some(Class::Float64),
        "pred" | "b1" | "b8" | "b16" | "b32" | "b64" => Some(Class::Integer),
        word => {
            let bits = word.strip_prefix(['u', 's'])?.split('x').next()?;
            matches!(bits, "8" | "16" | "32" | "64" | "128").then_some(Class::Integer)
        }
    };
    let mut modifiers = modifiers;
    modifiers.find_map(of).unwrap_or(Class::Other)
}

fn load(modifiers: &[&str]) -> InstructionClass {
    use InstructionClass as Class;
    match space(modifiers) {
        "global" => Class::LoadGlobal,
        "shared" => Class::LoadShared,
        "local" => Class::LoadLocal,
        "const" => Class::LoadConstant,
        "param" => Class::LoadParameter,
        _ => Class::LoadGeneric,
    }
}

fn store(modifiers: &[&str]) -> InstructionClass {
    use InstructionClass as Class;
    match space(modifiers) {
        "global" => Class::StoreGlobal,
        "shared" => Class::StoreShared,
        // Of arguments of functions, which are in local memory.
        "local" | "param" => Class::StoreLocal,
        _ => Class::StoreGeneric,
    }
}

/// The space that an access names, without what follows `::`; empty if it names none.
fn space<'a>(modifiers: &[&'a str]) -> &'a str {
    let spaces = modifiers
        .iter()
        .map(|word| word.split("::").next().unwrap_or(word));
    let mut spaces =
        spaces.filter(|word| matches!(*word, "global" | "shared" | "local" | "const" | "param"));
    spaces.next().unwrap_or_default()
}

fn float_operations(class: InstructionClass, base: &str, modifiers: &[&str]) -> u32 {
    match class {
        InstructionClass::Tensor => of_product(modifiers),
        InstructionClass::Float16 | InstructionClass::Float32 | InstructionClass::Float64 => {
            let has_two = modifiers.iter().any(|word| word.ends_with("x2"));
            let values = if has_two { 2 } else { 1 };
            values * of_arithmetic(base)
        }
        _ => 0,
    }
}

fn of_arithmetic(base: &str) -> u32 {
    match base {
        "fma" | "mad" => 2,
        "add" | "sub" | "mul" | "div" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "ex2"
        | "lg2" | "tanh" => 1,
        _ => 0,
    }
}

/// A lane's part of a product of matrices: of `m16n8k16`, 2 · 16 · 8 · 16 / 32. None if the
/// elements are whole numbers.
fn of_product(modifiers: &[&str]) -> u32 {
    let has = |any: &[&str]| modifiers.iter().any(|word| any.contains(word));
    if has(&["s32", "s8", "u8", "s4", "u4", "b1"]) {
        return 0;
    }
    let sizes = modifiers.iter().find_map(|word| {
        let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        Some([m.parse().ok()?, n.parse().ok()?, k.parse::<u32>().ok()?])
    });
    let product = sizes.map(|[m, n, k]: [u32; 3]| m.saturating_mul(n).saturating_mul(k));
    product.map_or(0, |product| product.saturating_mul(2) / WARP as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_have_their_class_and_operations() {
        use InstructionClass as Class;
        for (opcode, class, operations) in [
            ("mad.lo.s32", Class::Integer, 0),
            ("mul.wide.u32", Class::Integer, 0),
            ("and.pred", Class::Integer, 0),
            ("setp.lt.s64", Class::Integer, 0),
            ("setp.neu.ftz.f32", Class::Float32, 0),
            ("set.lt.u32.f32", Class::Float32, 0),
            ("fma.rn.f32", Class::Float32, 2),
            ("fma.rn.ftz.f32x2", Class::Float32, 4),
            ("div.full.f32", Class::Float32, 1),
            ("max.f32", Class::Float32, 0),
            ("add.f64", Class::Float64, 1),
            ("fma.rn.f16x2", Class::Float16, 4),
            ("add.rn.bf16", Class::Float16, 1),
            ("cvt.rn.f32.s32", Class::Conversion, 0),
            ("cvta.to.global.u64", Class::Conversion, 0),
            ("mov.u32", Class::Move, 0),
            ("ld.global.nc.v4.f32", Class::LoadGlobal, 0),
            ("ld.f32", Class::LoadGeneric, 0),
            ("ld.volatile.shared::cta.u32", Class::LoadShared, 0),
            ("ld.param.u64", Class::LoadParameter, 0),
            ("st.local.b64", Class::StoreLocal, 0),
            ("st.v2.f32", Class::StoreGeneric, 0),
            (
                "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
                Class::LoadShared,
                0,
            ),
            (
                "wmma.load.a.sync.aligned.row.m16n16k16.global.f16",
                Class::LoadGlobal,
                0,
            ),
            (
                "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
                Class::Tensor,
                256,
            ),
            (
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                Class::Tensor,
                128,
            ),
            (
                "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
                Class::Tensor,
                0,
            ),
            ("cp.async.ca.shared.global", Class::Copy, 0),
            ("cp.async.wait_group", Class::Barrier, 0),
            ("red.global.add.f32", Class::Atomic, 0),
            ("bar.sync", Class::Barrier, 0),
            ("bar.warp.sync", Class::Exchange, 0),
            ("shfl.sync.down.b32", Class::Exchange, 0),
            ("bra.uni", Class::Control, 0),
            ("tex.2d.v4.f32.f32", Class::Texture, 0),
            ("ret", Class::Control, 0),
        ] {
            let kind = InstructionKind::of(opcode);
            assert_eq!(
                (kind.class, kind.float_operations),
                (class, operations),
                "{opcode}"
            );
        }
    }
}
