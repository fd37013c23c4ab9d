//! [`InstructionClass`]: what sort of instruction a warp executes.

use crate::{Space, WarpKind};

/// A class of instructions, by what they do and with which type or memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InstructionClass {
    /// Arithmetic, logic and comparisons of whole numbers and predicates.
    Integer,
    /// Arithmetic and comparisons of floats of 16 bits.
    Float16,
    /// Arithmetic and comparisons of floats of 32 bits.
    Float32,
    /// Arithmetic and comparisons of floats of 64 bits.
    Float64,
    /// Products of matrices.
    Tensor,
    /// Conversions between types, and between addresses of different spaces.
    Conversion,
    /// Copies of registers, and choices between two.
    Move,
    /// Loads from global memory.
    LoadGlobal,
    /// Stores to global memory.
    StoreGlobal,
    /// Loads from shared memory.
    LoadShared,
    /// Stores to shared memory.
    StoreShared,
    /// Loads from local memory.
    LoadLocal,
    /// Stores to local memory.
    StoreLocal,
    /// Loads of constants.
    LoadConstant,
    /// Loads of a kernel's parameters.
    LoadParameter,
    /// Loads by an address that says itself which memory it is of.
    LoadGeneric,
    /// Stores by an address that says itself which memory it is of.
    StoreGeneric,
    /// Asynchronous copies from global to shared memory.
    Copy,
    /// Reads and writes of textures and surfaces.
    Texture,
    /// Atomic operations.
    Atomic,
    /// Barriers, and waits for asynchronous copies.
    Barrier,
    /// Exchanges between the lanes of a warp: shuffles, votes, matches, reductions.
    Exchange,
    /// Branches, calls, returns and exits.
    Control,
    /// All others.
    Other,
}

impl InstructionClass {
    /// How many there are.
    pub const COUNT: usize = 24;

    /// All of them, in the order of reports.
    pub const ALL: [InstructionClass; InstructionClass::COUNT] = [
        InstructionClass::Integer,
        InstructionClass::Float16,
        InstructionClass::Float32,
        InstructionClass::Float64,
        InstructionClass::Tensor,
        InstructionClass::Conversion,
        InstructionClass::Move,
        InstructionClass::LoadGlobal,
        InstructionClass::StoreGlobal,
        InstructionClass::LoadShared,
        InstructionClass::StoreShared,
        InstructionClass::LoadLocal,
        InstructionClass::StoreLocal,
        InstructionClass::LoadConstant,
        InstructionClass::LoadParameter,
        InstructionClass::LoadGeneric,
        InstructionClass::StoreGeneric,
        InstructionClass::Copy,
        InstructionClass::Texture,
        InstructionClass::Atomic,
        InstructionClass::Barrier,
        InstructionClass::Exchange,
        InstructionClass::Control,
        InstructionClass::Other,
    ];

    /// The class of an access of memory, of a stream that does not have other instructions.
    pub const fn of_access(space: Space, kind: WarpKind) -> InstructionClass {
        match (kind, space) {
            (WarpKind::Atomic, _) => InstructionClass::Atomic,
            (WarpKind::Load, Space::Global) => InstructionClass::LoadGlobal,
            (WarpKind::Load, Space::Shared) => InstructionClass::LoadShared,
            (WarpKind::Load, Space::Local) => InstructionClass::LoadLocal,
            (WarpKind::Load, Space::Constant) => InstructionClass::LoadConstant,
            (WarpKind::Load, Space::Parameter) => InstructionClass::LoadParameter,
            (WarpKind::Store, Space::Global) => InstructionClass::StoreGlobal,
            (WarpKind::Store, Space::Shared) => InstructionClass::StoreShared,
            (WarpKind::Store, Space::Local) => InstructionClass::StoreLocal,
            // There are no such instructions.
            (WarpKind::Store, Space::Constant | Space::Parameter) => InstructionClass::Other,
        }
    }

    /// Its name in reports and files.
    pub const fn name(self) -> &'static str {
        match self {
            InstructionClass::Integer => "integer",
            InstructionClass::Float16 => "float 16",
            InstructionClass::Float32 => "float 32",
            InstructionClass::Float64 => "float 64",
            InstructionClass::Tensor => "tensor",
            InstructionClass::Conversion => "conversion",
            InstructionClass::Move => "move",
            InstructionClass::LoadGlobal => "global load",
            InstructionClass::StoreGlobal => "global store",
            InstructionClass::LoadShared => "shared load",
            InstructionClass::StoreShared => "shared store",
            InstructionClass::LoadLocal => "local load",
            InstructionClass::StoreLocal => "local store",
            InstructionClass::LoadConstant => "constant load",
            InstructionClass::LoadParameter => "parameter load",
            InstructionClass::LoadGeneric => "generic load",
            InstructionClass::StoreGeneric => "generic store",
            InstructionClass::Copy => "asynchronous copy",
            InstructionClass::Texture => "texture",
            InstructionClass::Atomic => "atomic",
            InstructionClass::Barrier => "barrier",
            InstructionClass::Exchange => "exchange",
            InstructionClass::Control => "control",
            InstructionClass::Other => "other",
        }
    }
}
