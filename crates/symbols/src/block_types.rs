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
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use reuselens_attribute::known_names::{allocates_by_name, is_library_frame, is_system_module};
use reuselens_attribute::{AccessedType, BlockTypes, SymbolSource};
use reuselens_profile::{DataLayout, Frame};
use reuselens_trace::Module;

use super::Loader;
use super::access_types::AccessTypes;
use super::named_types::{NamedTypes, ScopedType};
use super::sources::Sources;
use super::statements::{self, Mentioned};

/// What Rust's library calls the type of the elements of `Vec<T>` and `Box<T>`.
const ELEMENT: &str = "T";
/// What libraries of C++ call the type of the elements of an allocator.
const CPP_ELEMENT: &str = "_Tp";
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
    calls: HashMap<(String, u64), CallEvidence>,
    /// By the path of a module.
    types: BTreeMap<String, Option<NamedTypes>>,
    /// By the path of a module, once an instruction is asked for.
    accesses: BTreeMap<String, Option<AccessTypes>>,
    sources: Sources,
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
            return self.of_library_frame(module, address, (index, frame));
        }
        let Some(statement) = self.sources.statement(frame) else {
            return CallEvidence::Unknown;
        };
        let mentioned = statements::mentioned(&statement);
        let Some((types, sources)) = self.types(module) else {
            return CallEvidence::Unknown;
        };
        let mut found: Vec<Arc<DataLayout>> = Vec::new();
        for mention in &mentioned {
            found.extend(match mention {
                Mentioned::Type(name) => {
                    match types.in_scope(sources, address, (index, frame), name) {
                        ScopedType::Type(layout) => Some(layout),
                        ScopedType::Unclear => None,
                        ScopedType::Outside => types.named(address, name),
                    }
                }
                Mentioned::Pointer => Some(Arc::new(statements::pointer())),
                Mentioned::Variable { name, steps } => types.pointee(address, name, *steps),
            });
        }
        let is_one = found.windows(2).all(|pair| pair[0].bytes == pair[1].bytes);
        let is_one = is_one && found.windows(2).all(|pair| is_same(&pair[0], &pair[1]));
        match found.pop() {
            Some(layout) if is_one => CallEvidence::Type(layout),
            None if statements::only_returns(&statement) => CallEvidence::Forwards,
            None if mentioned.is_empty() && allocates_by_name(&frame.function) => {
                CallEvidence::Forwards
            }
            _ => CallEvidence::Unknown,
        }
    }

    /// What a function of a standard library shows: which frame it is.
    fn of_library_frame(
        &mut self,
        module: &Module,
        address: u64,
        (index, frame): (usize, &Frame),
    ) -> CallEvidence {
        let function = frame.function.as_str();
        let Some(name) = statements::type_argument(function) else {
            return CallEvidence::Forwards;
        };
        let parameter = statements::type_parameter(function, name);
        let of_frame = (index, function);
        let found = self
            .types(module)
            .and_then(|(types, sources)| match parameter {
                Some(parameter) => types.argument(address, of_frame, parameter),
                // Symbols name arrays and tuples otherwise than debug information.
                None => types
                    .named(address, name)
                    .or_else(|| types.argument(address, of_frame, ELEMENT))
                    .or_else(|| {
                        match types.in_scope(sources, address, (index, frame), CPP_ELEMENT) {
                            ScopedType::Type(layout) => Some(layout),
                            ScopedType::Unclear | ScopedType::Outside => None,
                        }
                    }),
            });
        match found {
            Some(layout) => CallEvidence::Type(layout),
            // Frames of older compilers lack what the parameter stands for.
            None if parameter.is_some() => CallEvidence::Forwards,
            None => CallEvidence::Unknown,
        }
    }

    /// The types of a module, and the source.
    fn types(&mut self, module: &Module) -> Option<(&mut NamedTypes, &mut Sources)> {
        let loader = &mut self.loader;
        let read = || loader.named_types(module);
        let types = self.types.entry(module.path.clone()).or_insert_with(read);
        Some((types.as_mut()?, &mut self.sources))
    }
}

/// Whether two layouts describe one type: typedefs give one type several names.
fn is_same(one: &DataLayout, other: &DataLayout) -> bool {
    match (one.fields.is_empty(), other.fields.is_empty()) {
        (true, true) => true,
        _ => one.fields == other.fields,
    }
}
