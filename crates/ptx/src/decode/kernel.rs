//! [`Kernel`]: a kernel as the machine runs it, a list of small operations ([`Op`]) over numbered
//! registers. Made by [`decode`](super::decode), never changed afterwards.

use std::sync::{Arc, OnceLock};

use reuselens_warp as warp;

pub use super::called::{
    AssertOp, CallOp, Callee, FramePlace, HeapCall, HeapOp, KnownFunction, LocalPlace, PrintOp,
    Routine,
};
pub use super::copy_op::{BulkCopy, CopyOp, CopySize, CopyStep};
use super::instruction_kind::InstructionKind;
pub use super::mbarrier_op::{Mbarrier, MbarrierOp};
pub use super::observed::{CountedInstruction, ObservedCalculation, Probe, ProbeKind};
pub use super::stack_op::{StackOp, StackStep};
pub use super::video_op::{VideoFunction, VideoLast, VideoOp, VideoPart, VideoSource};

use crate::error::Position;
use crate::lanes::{Picked, Slots};
use crate::machine::FaultKind;
use crate::ops::Float8;
use crate::syntax::ast::{Ast, FunctionAst};
use crate::syntax::types::Type;

/// No register, no target.
pub const NONE: u32 = u32::MAX;

/// A kernel, ready to be launched.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) ops: Vec<Op>,
    pub(crate) memory: Vec<MemoryOp>,
    pub(crate) atomics: Vec<AtomicOp>,
    pub(crate) collectives: Vec<Collective>,
    pub(crate) barriers: Vec<Barrier>,
    pub(crate) tables: Vec<BranchTable>,
    pub(crate) prints: Vec<PrintOp>,
    pub(crate) assertions: Vec<AssertOp>,
    pub(crate) heap: Vec<HeapOp>,
    pub(crate) copies: Vec<CopyStep>,
    pub(crate) mbarriers: Vec<MbarrierOp>,
    pub(crate) matrices: Vec<MatrixOp>,
    pub(crate) textures: Vec<TextureOp>,
    pub(crate) videos: Vec<VideoOp>,
    pub(crate) calls: Vec<CallOp>,
    pub(crate) routines: Vec<Routine>,
    /// What calls through pointers can find, by address; empty if there are none.
    pub(crate) functions: Vec<KnownFunction>,
    /// The wide register with the address of the running routine's frame in local memory; `NONE` if
    /// there are no routines.
    pub(crate) frame: u32,
    pub(crate) stack_ops: Vec<StackOp>,
    /// The wide register with the address of what was taken last from the end of local memory;
    /// `NONE` if nothing is taken while the kernel runs.
    pub(crate) stack_top: u32,
    /// What is counted of its control flow; none unless `Options::flow` asked for it.
    pub(crate) probes: Vec<Probe>,
    /// The instructions that are counted, if `probes` are.
    pub(crate) counted: Vec<CountedInstruction>,
    /// The arithmetic operations that sinks are shown; none unless `Options::arithmetic` asked for
    /// it.
    pub(crate) calculations: Vec<ObservedCalculation>,
    /// Why a `Trap` ends the kernel: what sort of error, and its words.
    pub(crate) traps: Vec<(FaultKind, String)>,
    /// Registers in each file.
    pub(crate) narrow: u32,
    pub(crate) wide: u32,
    pub(crate) predicates: u32,
    /// Registers that hold constants.
    pub(crate) constants: Vec<(u32, u32)>,
    pub(crate) wide_constants: Vec<(u32, u64)>,
    /// Registers that hold what the launch decides.
    pub(crate) specials: Vec<(u32, Special)>,
    pub(crate) params: Vec<Param>,
    pub(crate) param_bytes: u64,
    /// Bytes of shared memory without what the launch adds.
    pub(crate) shared_bytes: u64,
    /// The arrays that are in it, by their names in the PTX.
    pub(crate) shared_arrays: Vec<warp::SharedArray>,
    /// The same as streams of warps have them, once a launch has asked for them.
    pub(crate) warp_arrays: OnceLock<Arc<[warp::SharedArray]>>,
    /// Bytes of local memory of each thread.
    pub(crate) local_bytes: u64,
    pub(crate) sites: Vec<AccessSite>,
    /// The sites as streams of warps have them, once a launch has asked for them.
    pub(crate) warp_sites: OnceLock<Arc<[warp::KernelSite]>>,
    pub(crate) places: Vec<KernelPlace>,
    /// What the instruction at each of the places is.
    pub(crate) kinds: Vec<InstructionKind>,
    /// Its text; empty unless `Options::flow` or `Options::arithmetic` asked for it.
    pub(crate) texts: Vec<Arc<str>>,
    /// Blocks talk to each other: they run one after the other.
    pub(crate) is_ordered: bool,
    pub(crate) max_threads: Option<u64>,
    pub(crate) required_threads: Option<[u32; 3]>,
    /// The names of the files that its module was linked of.
    pub(crate) linked: Vec<String>,
    pub(crate) architecture: u32,
}

impl Kernel {
    /// A kernel without instructions.
    pub(super) fn empty(ast: &Ast, function: &FunctionAst) -> Kernel {
        Kernel {
            name: function.name.clone(),
            ops: Vec::new(),
            memory: Vec::new(),
            atomics: Vec::new(),
            collectives: Vec::new(),
            barriers: Vec::new(),
            tables: Vec::new(),
            prints: Vec::new(),
            assertions: Vec::new(),
            heap: Vec::new(),
            copies: Vec::new(),
            matrices: Vec::new(),
            mbarriers: Vec::new(),
            textures: Vec::new(),
            videos: Vec::new(),
            calls: Vec::new(),
            routines: Vec::new(),
            functions: Vec::new(),
            frame: NONE,
            stack_ops: Vec::new(),
            stack_top: NONE,
            probes: Vec::new(),
            counted: Vec::new(),
            calculations: Vec::new(),
            traps: Vec::new(),
            narrow: 0,
            wide: 0,
            predicates: 0,
            constants: Vec::new(),
            wide_constants: Vec::new(),
            specials: Vec::new(),
            params: Vec::new(),
            param_bytes: 0,
            shared_bytes: 0,
            shared_arrays: Vec::new(),
            warp_arrays: OnceLock::new(),
            local_bytes: 0,
            sites: Vec::new(),
            warp_sites: OnceLock::new(),
            places: Vec::new(),
            kinds: Vec::new(),
            texts: Vec::new(),
            is_ordered: false,
            max_threads: function.max_threads,
            required_threads: function.required_threads,
            linked: ast.linked.clone(),
            architecture: ast.architecture(),
        }
    }

    /// Its name, mangled.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is given at a launch.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Its instructions that access memory; `WarpAccess::site` is an index into this.
    pub fn sites(&self) -> &[AccessSite] {
        &self.sites
    }

    /// Its arithmetic operations, if it was decoded with
    /// [`Options::arithmetic`](crate::Options::arithmetic); `Calculation::instruction` is an index
    /// into this.
    pub fn calculations(&self) -> &[ObservedCalculation] {
        &self.calculations
    }

    /// Bytes of shared memory of a block, without those that a launch adds.
    pub fn shared_bytes(&self) -> u64 {
        self.shared_bytes
    }

    /// Whether threads of a block or warp exchange data by barriers, shuffles, votes or products of
    /// matrices: the work of two threads cannot change places then. Shared memory is another such
    /// way ([`Self::shared_bytes`] and what the launch adds).
    pub fn has_exchange(&self) -> bool {
        let has_barriers = !self.barriers.is_empty() || !self.mbarriers.is_empty();
        has_barriers || !self.collectives.is_empty() || !self.matrices.is_empty()
    }

    /// Bytes of local memory of each thread, without the stack of [`Self::has_stack`].
    pub fn local_bytes(&self) -> u64 {
        self.local_bytes
    }

    /// Whether functions are called through pointers, or call themselves, or memory is taken by
    /// `alloca`: each thread has a stack then.
    pub fn has_stack(&self) -> bool {
        !self.routines.is_empty() || self.stack_top != NONE
    }

    /// Bytes of all parameters, as the kernel lays them out.
    pub fn param_bytes(&self) -> u64 {
        self.param_bytes
    }

    /// The most threads of a block, if the kernel limits them (`.maxntid`, `.reqntid`).
    pub fn max_threads(&self) -> Option<u64> {
        let required = self.required_threads.map(|sizes| {
            let sizes = sizes.map(u64::from);
            sizes.iter().product()
        });
        self.max_threads.or(required)
    }

    /// The architecture that its PTX was compiled for: 75 is compute capability 7.5; 0 if the PTX
    /// names none.
    pub fn architecture(&self) -> u32 {
        self.architecture
    }

    /// Whether blocks may communicate through memory while they run (atomics, fences and
    /// volatile accesses of global memory). Such kernels run block after block.
    pub fn is_ordered(&self) -> bool {
        self.is_ordered
    }
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name in the PTX.
    pub name: String,
    /// Type; of an array, that of its elements.
    pub ty: Type,
    /// Bytes from the beginning of all parameters.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
}

/// An instruction that accesses memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessSite {
    /// Its position in the PTX.
    pub position: Position,
    /// The opcode with its modifiers.
    pub opcode: String,
    /// Its place in the source, if the PTX has it (`-lineinfo`).
    pub source: Option<SourceLine>,
}

impl AccessSite {
    /// Its line, as [`KernelPlace::line`].
    pub fn line(&self) -> Arc<str> {
        let source = self.source.as_ref();
        source.map_or_else(Arc::default, |source| Arc::clone(&source.text))
    }
}

/// How lines are written. What belongs to one line is found by this text.
pub(super) fn line_text(file: &str, line: u32) -> String {
    format!("{file}:{line}")
}

/// Where an operation comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KernelPlace {
    /// Its position in the PTX.
    pub position: Position,
    /// Its place in the source, if the PTX has it (`-lineinfo`).
    pub source: Option<SourceLine>,
}

impl KernelPlace {
    /// Its line in the source, as `file:line`, without the column; empty if it is not known.
    pub fn line(&self) -> Arc<str> {
        let source = self.source.as_ref();
        source.map_or_else(Arc::default, |source| Arc::clone(&source.text))
    }

    /// Its column in the source, from 1; 0 if it is not known.
    pub fn column(&self) -> u32 {
        self.source.as_ref().map_or(0, |source| source.column)
    }

    /// The calls of device functions that lead there from the kernel; empty if it is in the kernel
    /// itself, or not known.
    pub fn calls(&self) -> Arc<[warp::DeviceCall]> {
        let source = self.source.as_ref();
        source.map_or_else(Arc::default, |source| Arc::clone(&source.calls))
    }
}

/// A place in a kernel's source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// The file, as the compiler wrote it.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 if the compiler does not say.
    pub column: u32,
    /// `file:line`.
    pub text: Arc<str>,
    /// The calls of device functions that lead there from the kernel, the outermost first.
    pub calls: Arc<[warp::DeviceCall]>,
}

/// An instruction on a texture or surface.
#[derive(Clone, Debug)]
pub enum TextureOp {
    Fetch(TextureFetch),
    Surface(SurfaceOp),
}

/// Where in a texture or surface. Numbers are those of registers.
#[derive(Clone, Debug)]
pub struct TexturePlace {
    /// A register of 64 bits.
    pub handle: u32,
    /// Of a layer, where there are layers.
    pub layer: Option<u32>,
    /// The coordinates are a direction from the middle of a cube.
    pub is_cube: bool,
    /// One for each direction.
    pub coordinates: Vec<u32>,
}

/// Reads a texture.
#[derive(Clone, Debug)]
pub struct TextureFetch {
    pub place: TexturePlace,
    /// Coordinates are integers.
    pub takes_index: bool,
    /// Gathers this channel of four texels.
    pub channel: Option<u8>,
    pub results: [u32; 4],
    pub site: u32,
}

/// Reads or writes a surface. The first coordinate counts bytes.
#[derive(Clone, Debug)]
pub struct SurfaceOp {
    pub place: TexturePlace,
    pub is_store: bool,
    pub outside: SurfaceOutside,
    /// Bytes of each register.
    pub width: u8,
    pub registers: Vec<Register>,
    pub site: u32,
}

/// What an access outside a surface does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SurfaceOutside {
    /// Ends the kernel.
    Trap,
    /// Goes to the nearest place.
    Clamp,
    /// Reads zeros, and writes nothing.
    Zero,
}

/// An instruction on matrices.
#[derive(Clone, Debug)]
pub enum MatrixOp {
    Rows(MatrixRows),
    Access(FragmentAccess),
    Multiply(Multiply),
}

/// A load or store of matrices of 8 x 8 elements of 16 bits in shared memory, row by row.
#[derive(Clone, Debug)]
pub struct MatrixRows {
    /// Shared or generic.
    pub space: NamedSpace,
    pub address: Address,
    pub is_store: bool,
    pub transposed: bool,
    /// One for each matrix.
    pub registers: Vec<u32>,
    pub site: u32,
}

/// A load or store of the lanes' parts of a matrix.
#[derive(Clone, Debug)]
pub struct FragmentAccess {
    pub space: NamedSpace,
    pub address: Address,
    pub is_store: bool,
    /// In memory, rows are one after the other; else columns.
    pub by_rows: bool,
    /// Elements of a row.
    pub columns: usize,
    /// A register with the distance of rows or columns in memory, in elements.
    pub stride: u32,
    /// Elements of a lane that are one after the other in memory, and accessed together.
    pub together: usize,
    pub fragment: Fragment,
    pub site: u32,
}

/// `result = a * b + sum`
#[derive(Clone, Debug)]
pub struct Multiply {
    /// Rows, columns, and the length of the sums.
    pub shape: (usize, usize, usize),
    pub result: Fragment,
    pub a: Fragment,
    pub b: Fragment,
    pub sum: Fragment,
    /// Integers that are too large become the largest.
    pub saturates: bool,
}

/// A matrix that is spread over the registers of a warp.
#[derive(Clone, Debug)]
pub struct Fragment {
    pub registers: Vec<u32>,
    pub element: MatrixElement,
    /// Lane by lane, which element of the matrix each of the lane's is, counted by rows. An element
    /// may be in several lanes.
    pub map: Vec<u16>,
}

/// The type of the elements of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixElement {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    S8,
    U8,
    S32,
    Float8(Float8),
}

impl MatrixElement {
    pub fn bytes(self) -> usize {
        match self {
            MatrixElement::S8 | MatrixElement::U8 | MatrixElement::Float8(_) => 1,
            MatrixElement::F16 | MatrixElement::Bf16 => 2,
            MatrixElement::Tf32 | MatrixElement::F32 | MatrixElement::S32 => 4,
            MatrixElement::F64 => 8,
        }
    }

    /// Elements in a register.
    pub fn per_register(self) -> usize {
        match self {
            MatrixElement::F64 => 1,
            _ => 4 / self.bytes(),
        }
    }

    /// Whether factors of both types are multiplied.
    pub fn is_like(self, other: MatrixElement) -> bool {
        use MatrixElement::{S8, U8};
        let are_float8 = matches!(
            (self, other),
            (MatrixElement::Float8(_), MatrixElement::Float8(_))
        );
        self == other || are_float8 || matches!((self, other), (S8 | U8, S8 | U8))
    }
}

/// An operation of a warp.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    pub code: Code,
    pub slots: Slots,
    /// A predicate, or `NONE`.
    pub guard: u32,
    pub negated: bool,
    /// The first operation of its instruction: that one is counted.
    pub counts: bool,
    /// Index into `places`.
    pub place: u32,
}

/// What an operation does. Numbers are indices into the kernel's lists.
#[derive(Clone, Copy, Debug)]
pub enum Code {
    /// A loop over lanes.
    Lanes(Picked),
    /// A load or a store.
    Memory(u32),
    Atomic(u32),
    /// A branch; a guard makes it conditional. Lanes that part meet at `meet`.
    Branch {
        target: u32,
        meet: u32,
    },
    /// A branch to one of a table.
    Table(u32),
    /// Calls a routine.
    Call(u32),
    /// Ends a routine.
    Return,
    Exit,
    Barrier(u32),
    /// Lanes of a warp exchange values.
    Collective(u32),
    /// How far the warp has come, in place of time.
    Clock {
        wide: bool,
    },
    /// The kernel gives up, with a message.
    Trap(u32),
    /// `printf`.
    Print(u32),
    /// An assertion that does not hold.
    Assert(u32),
    /// `malloc` or `free`.
    Heap(u32),
    /// An asynchronous copy.
    Copy(u32),
    /// Something with a barrier in shared memory.
    Mbarrier(u32),
    /// Lets other warps have their turn unless the predicate holds: this one waits for them.
    TurnUnless,
    /// Something with matrices.
    Matrix(u32),
    /// Something with a texture or surface.
    Texture(u32),
    /// Something with parts of registers.
    Video(u32),
    /// `alloca` or `stackrestore`.
    Stack(u32),
    /// In a cooperative launch, lets others have their turn: the warp may be waiting for them.
    Yield,
    /// Shows an arithmetic operation to the sink, before it is done.
    Observe(u32),
    /// Counts the lanes that come here: see `Probe`.
    Probe(u32, ProbeKind),
}

/// A load or a store.
#[derive(Clone, Copy, Debug)]
pub struct MemoryOp {
    pub space: NamedSpace,
    pub is_store: bool,
    pub address: Address,
    /// Bytes of an element.
    pub width: u8,
    pub signed: bool,
    /// Registers of the elements.
    pub registers: [Register; 4],
    pub count: u8,
    pub site: u32,
}

/// The address of an access: a register (or none) and an offset in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    pub base: Option<Register>,
    pub offset: i64,
}

/// A register of one of the two files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Register {
    pub slot: u32,
    pub wide: bool,
}

/// A space that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedSpace {
    /// The address says which.
    Generic,
    /// Global or constant memory.
    Global,
    Const,
    Shared,
    Local,
    Param,
}

impl NamedSpace {
    /// Whether atomic operations work on it.
    pub fn has_atomics(self) -> bool {
        matches!(
            self,
            NamedSpace::Generic | NamedSpace::Global | NamedSpace::Shared
        )
    }
}

/// Read, change and write in one.
#[derive(Clone, Copy, Debug)]
pub struct AtomicOp {
    pub space: NamedSpace,
    pub address: Address,
    pub function: Atomic,
    pub ty: Type,
    /// Where the old value goes.
    pub result: Option<Register>,
    pub value: Register,
    /// What `cas` puts there if `value` is found.
    pub replacement: Option<Register>,
    pub site: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    Add,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
}

/// An exchange of values between lanes.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    pub kind: CollectiveKind,
    /// Which lanes take part; all that are active without it.
    pub members: Option<u32>,
    pub result: u32,
    pub wide: bool,
    /// A second result, a predicate.
    pub predicate: Option<u32>,
    pub a: u32,
    pub b: u32,
    pub c: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectiveKind {
    VoteAll,
    VoteAny,
    VoteUniform,
    Ballot,
    ShuffleUp,
    ShuffleDown,
    ShuffleXor,
    ShuffleIndex,
    MatchAny,
    MatchAll,
    ActiveMask,
    Reduce(Atomic, Type),
    Elect,
    /// `bar.warp.sync`
    Sync,
}

/// A barrier of a block.
#[derive(Clone, Copy, Debug)]
pub struct Barrier {
    pub id: u32,
    /// A register with the number of threads; without it, all.
    pub threads: Option<u32>,
    /// Goes on without waiting.
    pub arrives: bool,
    /// Demands that all lanes of the warp come together.
    pub aligned: bool,
    pub reduction: Option<Reduction>,
}

/// What a barrier calculates of predicates.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    pub kind: ReductionKind,
    pub source: u32,
    pub result: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionKind {
    And,
    Or,
    Count,
}

/// The targets of a branch by number.
#[derive(Clone, Debug)]
pub struct BranchTable {
    pub targets: Vec<u32>,
    pub meet: u32,
}

/// What a launch decides, or a thread's place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    Thread(u8),
    Threads(u8),
    Block(u8),
    Blocks(u8),
    Lane,
    Warp,
    Warps,
    LaneMask(LaneMask),
    DynamicShared,
    TotalShared,
    Zero,
    WarpSize,
    /// Half of the address of what the blocks of a cooperative launch have in common, the low one
    /// first.
    Workspace(u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneMask {
    Eq,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Special {
    /// The special register called so.
    pub fn named(name: &str) -> Option<Special> {
        let (base, axis) = match name.split_once('.') {
            Some((base, axis)) => (
                base,
                match axis {
                    "x" => 0,
                    "y" => 1,
                    "z" => 2,
                    _ => return None,
                },
            ),
            None => (name, 0),
        };
        Some(match base {
            "%tid" => Special::Thread(axis),
            "%ntid" => Special::Threads(axis),
            "%ctaid" => Special::Block(axis),
            "%nctaid" => Special::Blocks(axis),
            "%laneid" => Special::Lane,
            "%warpid" => Special::Warp,
            "%nwarpid" => Special::Warps,
            "%lanemask_eq" => Special::LaneMask(LaneMask::Eq),
            "%lanemask_lt" => Special::LaneMask(LaneMask::Lt),
            "%lanemask_le" => Special::LaneMask(LaneMask::Le),
            "%lanemask_gt" => Special::LaneMask(LaneMask::Gt),
            "%lanemask_ge" => Special::LaneMask(LaneMask::Ge),
            "%dynamic_smem_size" => Special::DynamicShared,
            "%total_smem_size" => Special::TotalShared,
            "%smid" | "%gridid" => Special::Zero,
            "WARP_SZ" => Special::WarpSize,
            // The driver's interface with cooperative groups.
            "%envreg1" => Special::Workspace(1),
            "%envreg2" => Special::Workspace(0),
            _ => return None,
        })
    }
}
