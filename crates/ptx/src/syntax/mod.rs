//! PTX as text: tokens, statements, functions.
//!
//! The grammar is that of NVIDIA's *PTX ISA*, as far as nvcc 12 and 13 and clang 14 to 19 use it.

pub mod ast;
mod body;
mod cursor;
mod declaration;
mod inline_assembly;
mod lexer;
mod link;
mod module;
mod number;
mod text;
pub mod types;

pub use lexer::{Token, TokenKind, tokens};
pub use link::link;
pub use module::parse;
