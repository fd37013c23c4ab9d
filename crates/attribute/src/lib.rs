//! Whose access was it: the instruction, the data object, the calling context, the thread.
//!
//! An [`Attributor`] takes in the events and blocks of a trace and yields, for each block, the
//! [`Columns`]: the items touched (for a distance engine), and the numbers of the cell and of the
//! element that each touch counts for (for histograms by key). At the end its [`Tables`] say what
//! the cells are, with names.
//!
//! Names come from a [`SymbolSource`]: the `Loader` of the crate `symbols` reads them from the
//! program's files, [`NoSymbols`] has none. Nothing here opens a file.
//!
//! What belongs to whom:
//! - *Static* symbols by their extent in the module's symbol table.
//! - *Stack* memory by the function whose frame it is: with hooks, a frame reaches from the stack
//!   pointer of its function up to that of its caller; where calls are seen (rewritten code, the
//!   LLVM pass), from the stack pointer at the call down to that of the next call. All frames of
//!   one function are one object. Room made at run time (`alloca`) counts for the innermost
//!   function at the time. Local variables of which a fixed place in the frame is known are objects
//!   of their own, if they are large enough (arrays of 16 bytes, structures of 32).
//! - *Heap* blocks by the call path of the allocation: blocks from one path are one object.
//! - Structures that the program *named* itself, before all others.
//! - What is left is one *unknown* object: nothing is dropped.
//!
//! | what | modules |
//! |---|---|
//! | events, and blocks to columns | `attributor`, `pass` |
//! | whose an address is | `space`, `shadow`, `intervals`, `objects`, `chunks` |
//! | the parts of objects | `structures`, `elements`, `element_spans` |
//! | frames and contexts | `stack`, `locals`, `contexts`, `wrappers` |
//! | what an access counts for | `sites`, `cells`, `merging`, `folding`, `function_sites` |
//! | what contexts access | `visits`, `footprints` |
//! | names, at the end | `resolve`, `symbol_source`, `naming`, `known_names` |
//!
//! For: whoever turns traces into profiles. Not for: distances, histograms, or showing anything.

mod attributor;
mod ballots;
mod cells;
mod chunks;
mod columns;
mod contexts;
mod element_spans;
mod elements;
mod folding;
mod footprints;
mod function_sites;
mod hash;
mod intervals;
pub mod known_names;
mod locals;
mod merging;
mod naming;
mod objects;
mod options;
mod pass;
mod places;
mod resolve;
mod shadow;
mod shared;
mod sites;
mod space;
mod stack;
mod state;
mod statement_addresses;
mod structures;
mod symbol_source;
mod tables;
#[cfg(test)]
mod testing;
mod visits;
mod warnings;
mod wrappers;

pub use attributor::Attributor;
pub use cells::CellKey;
pub use columns::{CellObject, Columns};
pub use elements::ElementKey;
pub use intervals::range_of;
pub use options::{DataFilter, Kinds, NamesMode, Options, PlacementOptions};
pub use symbol_source::{
    AccessedType, BlockTypes, FrameLayout, FrameLayouts, Function, LocalVariable, NoSymbols,
    StaticSymbol, SymbolSource, Variable,
};
pub use tables::Tables;

pub use reuselens_profile::Warning;
