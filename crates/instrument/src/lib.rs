//! Rewrites PTX. With hooks a kernel writes a record of each memory instruction of each warp into a
//! buffer on the device, which [`read_ring`] turns into a stream of warps.
//!
//! [`instrument`] takes PTX as text and gives PTX as text. Hooks are put between the statements;
//! all else stays as it is, to the byte. A hook has no branch and calls nothing, uses registers of
//! its own, and no shared memory, so a kernel computes what it computed before. Parameters of
//! kernels stay as they are: the buffer is named by a variable of the module
//! ([`Instrumented::variable`], see [`RingControl`]) that the host writes before a launch and reads
//! after it. Functions that kernels call have hooks too.
//!
//! Where sums are enough, hooks count on the device instead, and need no buffer
//! ([`InstrumentOptions::counts`], [`read_counts`]).
//!
//! A hook is before its instruction. The lowest active lane reserves room for the warp by one
//! atomic addition; then each lane writes its own address. Records for which there is no room are
//! counted and not written.
//!
//! [`bypass()`] is another change of a kernel: it lets the loads of some warps pass the L1 by.
//!
//! ```
//! use reuselens_instrument::{InstrumentOptions, instrument};
//!
//! let text = "
//! .version 7.0
//! .target sm_70
//! .address_size 64
//! .visible .entry clear(.param .u64 a) {
//!     .reg .b64 %rd<2>;
//!     ld.param.u64 %rd1, [a];
//!     st.global.u32 [%rd1], 0;
//!     ret;
//! }";
//! let found = instrument(text, &InstrumentOptions::default())?;
//! assert_eq!(found.sites.len(), 1);
//! assert_eq!(found.sites[0].line, 8);
//! assert!(found.left_out.is_empty());
//! # Ok::<(), reuselens_instrument::InstrumentError>(())
//! ```
//!
//! For: records of kernels on a real GPU, in the form that the interpreter's have. Not for: timing
//! (hooks take many times as long as what they record), and SASS.

mod access;
mod body;
mod bypass;
mod code_map;
mod counts;
mod edit;
mod error;
mod hook;
mod left_out;
mod names;
mod replay;
mod ring;
mod scan;
mod site;
mod steps;

pub use bypass::{BypassWarps, Bypassed, BypassedLoad, KeptReason, bypass};
pub use counts::{COUNT_BYTES, SiteCounts, read_counts};
pub use error::InstrumentError;
pub use left_out::{LeftOut, LeftOutReason};
pub use replay::{RecordReplay, ReplayedLaunch};
pub use ring::{CONTROL_BYTES, RingControl, RingError, RingStream, read_ring};
pub use site::{HookKind, HookedSite, InstrumentOptions, Instrumented, instrument};
