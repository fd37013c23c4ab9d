//! [`BuiltIn`]: which parts of reuselens were built into a program, found by searching its file for
//! known texts. `program` decides by it whether to rewrite a program that it starts, `follow` for
//! the programs that a measured one becomes by `exec`.

use std::ffi::OsStr;
use std::path::Path;

use reuselens_io::{find_program, read_object_file};

/// What was built into a program, by what is in its file.
#[derive(Clone, Copy, Default)]
pub(crate) struct BuiltIn {
    /// The run time.
    pub run_time: bool,
    /// The LLVM pass, whose code writes block records.
    pub block_records: bool,
    /// Basic blocks (`--llvm=blocks`).
    pub basic_blocks: bool,
}

impl BuiltIn {
    /// What is in a program, which is looked up like a shell does.
    pub fn of(program: &OsStr) -> BuiltIn {
        find_program(program).map_or_else(BuiltIn::default, |path| BuiltIn::at(&path))
    }

    /// What is in the program in a file; nothing if the file cannot be read.
    pub fn at(path: &Path) -> BuiltIn {
        let Ok((_, bytes)) = read_object_file(path) else {
            return BuiltIn::default();
        };
        let holds = |part: &[u8]| memchr::memmem::find(&bytes, part).is_some();
        BuiltIn {
            run_time: holds(reuselens_wire::ENVIRONMENT.as_bytes()),
            block_records: holds(crate::records::SECTION.as_bytes()),
            basic_blocks: holds(b"REUSELENS_BASIC_BLOCKS\0"),
        }
    }
}

/// Whether a program was built so that its basic blocks are recorded (`reuselens cc
/// --llvm=blocks`).
pub fn carries_basic_blocks(program: &OsStr) -> bool {
    BuiltIn::of(program).basic_blocks
}
