//! CUDA kernels without a GPU: a reader of PTX, and a machine that runs it.
//!
//! PTX goes in as text ([`PtxModule::parse`]); a [`Device`] has memory, takes modules, and launches
//! their kernels to the end, with results in its memory. Warps go in step; lanes that part at a
//! branch meet again at its immediate post-dominator. A [`LaunchSink`] sees each memory instruction
//! of each warp.
//!
//! ```
//! use reuselens_ptx::{Argument, Count, Device, Options, PtxModule};
//!
//! let text = "
//! .version 7.0
//! .target sm_70
//! .address_size 64
//! .visible .entry twice(.param .u64 a) {
//!     .reg .b32 %r<3>;
//!     .reg .b64 %rd<4>;
//!     ld.param.u64 %rd1, [a];
//!     mov.u32 %r1, %tid.x;
//!     mul.wide.u32 %rd2, %r1, 4;
//!     add.s64 %rd3, %rd1, %rd2;
//!     ld.global.u32 %r2, [%rd3];
//!     shl.b32 %r2, %r2, 1;
//!     st.global.u32 [%rd3], %r2;
//!     ret;
//! }";
//! let mut device = Device::new();
//! let module = device.load(PtxModule::parse(text)?)?;
//! let kernel = device.kernel(&module, "twice", &Options::default())?;
//! let a = device.allocate("a", 128)?;
//! device.write(a, &(0..32u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>())?;
//! let mut count = Count::default();
//! let launch = kernel.launch([1, 1, 1], [32, 1, 1], 0, &[Argument::Pointer(a)])?;
//! device.launch(&kernel, &launch, &Options::default(), &mut count)?;
//! assert_eq!(device.read(a, 128)?[4 * 21], 42);
//! assert_eq!((count.instructions, count.accesses), (2, 64));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is checked while a kernel runs: bounds and alignment of each access, barriers that not all
//! threads reach, instructions that wait for lanes on another path, and, if asked for, races
//! between threads of a block ([`Options::check_races`]). [`Options::seed`] changes the order in
//! which warps and blocks run. Results and the order of what sinks see are the same with any number
//! of threads.
//!
//! [`Options::flow`] counts basic blocks and branches ([`Device::take_flow`]). Blocks that wait for
//! blocks that come later need a cooperative launch ([`LaunchConfig::cooperative`]).
//!
//! For: analyses of kernels, and tests of kernels where there is no GPU. Not for: timing (nothing
//! here says how fast a GPU would be) and graphics.

#[macro_use]
mod lanes;

mod arguments;
mod arithmetic;
mod decode;
mod device;
mod error;
mod machine;
mod names;
mod ops;
pub mod plan;
mod selection;
mod sink;
mod stream;
mod syntax;

pub use arguments::{Argument, ArgumentError};
pub use arithmetic::ArithmeticSink;
pub use decode::{AccessSite, Kernel, KernelPlace, ObservedCalculation, Param, SourceLine};
pub use device::{Device, DeviceError, Loaded, Outline, PtxModule};
pub use error::{Position, PtxError};
pub use lanes::Isa;
pub use machine::random::SplitMix64;
pub use machine::{
    Allocation, BlockFlow, BranchFlow, FaultKind, FlowCounts, FlowProbe, InstructionFlow,
    KernelError, LaunchConfig, LaunchError, OnFault, Options, ProbeCounts, SkippedAccess,
    SkippedSum, Stats,
};
pub use names::{readable, without_parameters};
pub use reuselens_wire::{AddressMode, ChannelKind, TextureDescriptor};
pub use selection::{LaunchNumbers, LaunchSelection};
pub use sink::{
    BlockSink, Calculation, Count, Ignore, LaunchSink, OperandValues, Space, WarpAccess, WarpKind,
};
pub use stream::{CollectorSink, Pieces, launch_record, with_row};
pub use syntax::types::Type;
pub use syntax::{Token, TokenKind, tokens};
