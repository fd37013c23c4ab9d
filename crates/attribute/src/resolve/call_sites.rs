//! The names of blocks of the heap: by the call that allocated them, as one statement can have
//! several.
//!
//! A line has several calls of the allocator where it allocates several variables (`allocate(a(n),
//! b(n))`, `std::vector<T> a(n), b(n)`), or where a macro does. The blocks of each are an object.
//! Its name has the variable, if the statement names as many of them as it has calls; where names
//! and call paths are equal then, objects are numbered in the order of the code.

use std::collections::BTreeSet;

use reuselens_profile::{FileOffset, Frame};

use super::Resolver;
use crate::cells::CellKey;
use crate::hash::FastMap;
use crate::known_names::run_time;
use crate::naming::{Caller, heap_name, heap_of_run_time};
use crate::objects::ObjectKey;
use crate::places::CodePlace;

/// A block's name, and its call path, innermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct BlockName {
    pub name: String,
    pub path: Vec<Frame>,
}

/// The blocks from one call path.
struct AllocatedBlocks {
    /// The number of the object.
    object: u32,
    block: BlockName,
    /// The frame that wanted them, and the place of its call.
    wanting: Option<(Frame, CodePlace)>,
    origin: Vec<FileOffset>,
}

/// By frame that wanted blocks: the calls there, in the order of their first allocations, and the
/// variables that these allocate, or none.
type Calls = FastMap<Frame, (Vec<CodePlace>, Vec<String>)>;

impl Resolver<'_> {
    /// The names of all blocks that were accessed, by object.
    pub(super) fn name_blocks(&mut self, cells: &[CellKey]) -> FastMap<u32, BlockName> {
        let objects = cells
            .iter()
            .map(|cell| self.shared.objects.start_of(cell.object).0);
        // Objects are numbered in the order of their first allocations.
        let objects: BTreeSet<u32> = objects.collect();
        let mut all: Vec<AllocatedBlocks> = Vec::new();
        for object in objects {
            if let ObjectKey::Heap { node, call } = self.shared.objects.get(object).key {
                all.push(self.allocated_blocks(object, node, call));
            }
        }
        let calls = self.calls_by_frame(&all);
        let mut origins: FastMap<BlockName, BTreeSet<Vec<FileOffset>>> = FastMap::default();
        for blocks in &mut all {
            if let Some((frame, place)) = &blocks.wanting
                && let Some((places, names)) = calls.get(frame)
                && let Some(at) = places.iter().position(|known| known == place)
                && let Some(name) = names.get(at)
            {
                blocks.block.name = format!("{} ({name})", blocks.block.name);
            }
            let origins = origins.entry(blocks.block.clone()).or_default();
            origins.insert(blocks.origin.clone());
        }
        let numbered = |blocks: AllocatedBlocks| {
            let mut block = blocks.block;
            if let Some(origins) = origins.get(&block).filter(|origins| origins.len() > 1) {
                let before = origins.iter().take_while(|known| **known < blocks.origin);
                block.name = format!("{} #{}", block.name, before.count() + 1);
            }
            (blocks.object, block)
        };
        all.into_iter().map(numbered).collect()
    }

    /// The name of blocks, and their call path: without regard to others where no cell has them.
    pub(super) fn block_name(&mut self, object: u32, node: u32, call: CodePlace) -> BlockName {
        match self.blocks.get(&object) {
            Some(block) => block.clone(),
            None => self.allocated_blocks(object, node, call).block,
        }
    }

    fn allocated_blocks(&mut self, object: u32, node: u32, call: CodePlace) -> AllocatedBlocks {
        let path = self.heap_path(node, call);
        let wanting = self.wrappers.wanting(&path);
        let innermost = path.first();
        if let Some(library) = innermost.and_then(|it| run_time(self.module_name(it.place))) {
            return AllocatedBlocks {
                object,
                wanting: None,
                block: BlockName {
                    name: heap_of_run_time(library, wanting),
                    path: path.into_iter().map(|caller| caller.frame).collect(),
                },
                // All of a library's own blocks are one object for each call of the program.
                origin: Vec::new(),
            };
        }
        let named = |caller: &Caller| (caller.frame.clone(), caller.place);
        AllocatedBlocks {
            object,
            wanting: wanting.filter(|caller| caller.frame.line > 0).map(named),
            block: BlockName {
                name: heap_name(wanting),
                path: path.into_iter().map(|caller| caller.frame).collect(),
            },
            origin: self.heap_origin(node, call),
        }
    }

    fn calls_by_frame(&mut self, all: &[AllocatedBlocks]) -> Calls {
        let mut calls = Calls::default();
        for (frame, place) in all.iter().filter_map(|blocks| blocks.wanting.as_ref()) {
            let (places, _) = calls.entry(frame.clone()).or_default();
            if !places.contains(place) {
                places.push(*place);
            }
        }
        for (frame, (places, names)) in &mut calls {
            let module = places.first().map(|place| place.module as usize);
            if let Some(module) = module.and_then(|module| self.shared.modules.get(module)) {
                *names = self.symbols.allocated_names(module, frame, places.len());
            }
        }
        calls
    }
}
