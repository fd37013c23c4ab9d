//! Names of code and data, and types of data: read from the files that a program was mapped from,
//! by symbol tables, DWARF, code and source text.
//!
//! [`Loader`] is the [`SymbolSource`](reuselens_attribute::SymbolSource) of an attributor: the
//! crate `attribute` says what is asked, and opens no files itself.
//!
//! | what | modules |
//! |---|---|
//! | functions and lines of code | `debug_names`, `source_frames`, `exact_names`, `folded` |
//! | code without debug information | `symbol_names`, `non_utf8_symbols`, `stubs`, `bounds` |
//! | the table that unwinding needs | `exception_frames`, `unwind` |
//! | static variables | `variables`, `commons`, `unnamed` |
//! | variables in frames | `frames` |
//! | types and their fields | `types`, `layouts`, `named_types` |
//! | types of heap blocks | `block_types`, `statements`, `scopes`, `type_parameters`, `sources` |
//! | types that instructions access | `access_types`, `code_sections` |
//! | loops that wait for another thread | `wait_loops` |
//! | files, files of symbols beside them, unreadable ones | `checked_file`, `separate`, `unread` |
//!
//! What a file holds is never trusted: damage gives fewer names, and no panic.
//!
//! For: whoever wants accesses named. Not for: whose an access is (`attribute`).

mod access_types;
mod block_types;
mod bounds;
mod checked_file;
mod code_sections;
mod commons;
mod debug_names;
mod exact_names;
mod exception_frames;
mod folded;
mod frames;
mod generated;
mod language;
mod layouts;
mod loader;
mod named_types;
mod non_utf8_symbols;
mod scopes;
mod separate;
mod source_frames;
mod sources;
mod statements;
mod stubs;
mod symbol_names;
mod type_parameters;
mod types;
mod unnamed;
mod unread;
mod unwind;
mod variables;
mod wait_loops;

pub use loader::Loader;
