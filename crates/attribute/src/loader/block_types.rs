//! The types of blocks of the heap, by the calls that allocate them. [`super::access_types`] has
//! those by the instructions that access the blocks.
//!
//! Going outward from the call of the allocator, the first frame that shows a type decides:
//! - A frame of a standard library by its name: `std::__new_allocator<Node>::allocate`,
//!   `<alloc::raw_vec::RawVec<prog::Node>>::grow_one`. Where the name has a parameter, as in
//!   `alloc::raw_vec::RawVec<T,A>::grow_one`, by what `T` stands for ([`super::type_parameters`]).
//! - A frame of the program by the statement in its source ([`super::statements`]). If all types
//!   that the statement names are one, it is that type. A statement that only returns the block
//!   leaves the question to its caller.
//!
//! A type is one of the unit of debug information that the call is in. Where a name has several
//! meanings there, the block has no type.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use reuselens_io::open_regular_file;
use reuselens_locality::{DataLayout, Frame};
use reuselens_trace::Module;

use super::access_types::AccessTypes;
use super::statements::{self, Mentioned};
use super::{Loader, named_types::NamedTypes};
use crate::hash::FastMap;
use crate::naming::{is_library_frame, is_system_module};
use crate::symbols::{AccessedType, BlockTypes, SymbolSource};
use crate::wrappers::has_known_name;

/// The most bytes of a source file that is read.
const MOST_SOURCE: u64 = 4 << 20;
/// Source files that are kept.
const MAX_SOURCES: usize = 64;
/// What Rust's library calls the type of the elements of `Vec<T>` and `Box<T>`.
const ELEMENT: &str = "T";
/// Calls that are remembered.
const MAX_CALLS: usize = 1 << 16;

/// What a call shows of the type of the block that it allocates.
#[derive(Clone, Debug)]
enum CallEvidence {
    /// Blocks are of this type.
    Type(Arc<DataLayout>),
    /// It allocates for its caller.
    Forwards,
    /// Nothing is known.
    Unknown,
}

/// Finds types of blocks. It opens files of its own, so that the run need not wait for those that
/// are read ahead.
#[derive(Default)]
pub(super) struct BlockTypeReader {
    loader: Loader,
    /// By module and address.
    calls: FastMap<(String, u64), CallEvidence>,
    /// By the path of a module.
    types: BTreeMap<String, Option<NamedTypes>>,
    /// By the path of a module, once an instruction is asked for.
    accesses: BTreeMap<String, Option<AccessTypes>>,
    /// Lines of source files.
    sources: BTreeMap<String, Vec<String>>,
}

impl fmt::Debug for BlockTypeReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BlockTypeReader")
            .finish_non_exhaustive()
    }
}

impl BlockTypes for BlockTypeReader {
    fn of_block(&mut self, calls: &[(&Module, u64)]) -> Option<Arc<DataLayout>> {
        for (module, address) in calls {
            match self.evidence(module, *address) {
                CallEvidence::Type(layout) => return Some(layout),
                CallEvidence::Forwards => {}
                CallEvidence::Unknown => return None,
            }
        }
        None
    }

    fn of_access(&mut self, module: &Module, address: u64, writes: bool) -> Option<AccessedType> {
        if is_system_module(&module.path) {
            return None;
        }
        let loader = &mut self.loader;
        let path = || module.path.clone();
        let types = self.types.entry(path());
        let debug = types
            .or_insert_with(|| loader.named_types(module))
            .as_mut()?
            .debug();
        let accesses = self.accesses.entry(path());
        let accesses = accesses.or_insert_with(|| loader.access_types(module, debug));
        accesses.as_mut()?.of_access(debug, address, writes)
    }
}

impl BlockTypeReader {
    fn evidence(&mut self, module: &Module, address: u64) -> CallEvidence {
        if is_system_module(&module.path) {
            return CallEvidence::Forwards;
        }
        let key = (module.path.clone(), address);
        if let Some(known) = self.calls.get(&key) {
            return known.clone();
        }
        let frames = self.loader.frames(module, address);
        let of_frames = frames
            .iter()
            .enumerate()
            .map(|(index, frame)| self.of_frame(module, address, (index, frame)));
        let shown = of_frames.collect::<Vec<_>>().into_iter();
        let mut shown = shown.skip_while(|shown| matches!(shown, CallEvidence::Forwards));
        let found = shown.next().unwrap_or(CallEvidence::Forwards);
        if self.calls.len() < MAX_CALLS {
            self.calls.insert(key, found.clone());
        }
        found
    }

    /// What a frame shows, whose number is 0 for the innermost one that is inlined there.
    fn of_frame(
        &mut self,
        module: &Module,
        address: u64,
        (index, frame): (usize, &Frame),
    ) -> CallEvidence {
        if is_library_frame(frame) {
            return self.of_library_frame(module, address, (index, &frame.function));
        }
        let Some(statement) = self.statement(frame) else {
            return CallEvidence::Unknown;
        };
        let mentioned = statements::mentioned(&statement);
        let Some(types) = self.types(module) else {
            return CallEvidence::Unknown;
        };
        let mut found: Vec<Arc<DataLayout>> = Vec::new();
        for mention in &mentioned {
            found.extend(match mention {
                Mentioned::Type(name) => types.named(address, name),
                Mentioned::Pointer => Some(Arc::new(statements::pointer())),
                Mentioned::Variable { name, steps } => types.pointee(address, name, *steps),
            });
        }
        let is_one = found.windows(2).all(|pair| pair[0].bytes == pair[1].bytes);
        let is_one = is_one && found.windows(2).all(|pair| is_same(&pair[0], &pair[1]));
        match found.pop() {
            Some(layout) if is_one => CallEvidence::Type(layout),
            None if statements::only_returns(&statement) => CallEvidence::Forwards,
            None if mentioned.is_empty() && has_known_name(&frame.function) => {
                CallEvidence::Forwards
            }
            _ => CallEvidence::Unknown,
        }
    }

    /// What a function of a standard library shows: which frame it is, and its name.
    fn of_library_frame(
        &mut self,
        module: &Module,
        address: u64,
        frame: (usize, &str),
    ) -> CallEvidence {
        let Some(name) = statements::type_argument(frame.1) else {
            return CallEvidence::Forwards;
        };
        let parameter = statements::type_parameter(frame.1, name);
        let found = self.types(module).and_then(|types| match parameter {
            Some(parameter) => types.argument(address, frame, parameter),
            // Symbols name arrays and tuples otherwise than debug information.
            None => types
                .named(address, name)
                .or_else(|| types.argument(address, frame, ELEMENT)),
        });
        match found {
            Some(layout) => CallEvidence::Type(layout),
            // Frames of older compilers lack what the parameter stands for.
            None if parameter.is_some() => CallEvidence::Forwards,
            None => CallEvidence::Unknown,
        }
    }

    fn types(&mut self, module: &Module) -> Option<&mut NamedTypes> {
        let loader = &mut self.loader;
        let read = || loader.named_types(module);
        let types = self.types.entry(module.path.clone()).or_insert_with(read);
        types.as_mut()
    }

    /// The statement around a frame's line, if its source can be read.
    fn statement(&mut self, frame: &Frame) -> Option<String> {
        let read = || {
            let file = open_regular_file(Path::new(&frame.file)).ok();
            let text = file
                .filter(|(_, bytes)| *bytes < MOST_SOURCE)
                .and_then(|(file, _)| std::io::read_to_string(file).ok());
            let text = text.unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        };
        if self.sources.len() >= MAX_SOURCES {
            self.sources.clear();
        }
        let lines = self.sources.entry(frame.file.clone()).or_insert_with(read);
        let line = usize::try_from(frame.line).ok()?.checked_sub(1)?;
        let around = match statements::is_fortran(&frame.file) {
            true => statements::around_fortran,
            false => statements::around,
        };
        (line < lines.len()).then(|| around(lines, line))
    }
}

/// Whether two layouts describe one type: typedefs give one type several names.
fn is_same(one: &DataLayout, other: &DataLayout) -> bool {
    match (one.fields.is_empty(), other.fields.is_empty()) {
        (true, true) => true,
        _ => one.fields == other.fields,
    }
}
