//! The elements of blocks of the heap, where offsets in elements are asked for.

use std::sync::Arc;

use reuselens_locality::DataLayout;
use reuselens_trace::Module;

use super::Shared;
use crate::places::CodePlace;
use crate::symbols::SymbolSource;

/// Calls of a path that may show the type of a block.
const MAX_CALLS: usize = 16;

impl Shared {
    /// Keeps what knows the types of blocks.
    pub fn keep_block_types(&mut self, symbols: &mut dyn SymbolSource) {
        if self.with_offsets && self.block_types.is_none() {
            self.block_types = symbols.block_types();
        }
    }

    /// A block of an object begins, which a call in this context allocated. Finds the type of the
    /// object's elements at the first block: a type whose size fits it. At any later one, the size
    /// of the block has to agree.
    pub fn begin_elements(&mut self, object: u32, (node, call): (u32, CodePlace), bytes: u64) {
        if bytes == 0 {
            return;
        }
        let fits = |layout: &DataLayout| bytes.is_multiple_of(layout.bytes);
        if self.objects.spans.is_new(object) {
            let layout = self.block_type(node, call);
            self.objects.get_mut(object).layout = layout.filter(|layout| fits(layout));
        }
        let layout = &mut self.objects.get_mut(object).layout;
        let element = match layout.as_deref() {
            Some(known) if fits(known) => known.bytes,
            Some(_) => {
                *layout = None;
                0
            }
            // A block of unknown type is one element.
            None => bytes,
        };
        self.objects.spans.agree(object, element);
    }

    fn block_type(&mut self, node: u32, call: CodePlace) -> Option<Arc<DataLayout>> {
        let types = self.block_types.as_mut()?;
        let (contexts, modules) = (&self.contexts, &self.modules);
        let parent = |node: &u32| Some(contexts.node(*node).parent);
        let path = std::iter::successors(Some(node), parent).take_while(|node| *node != 0);
        let path: Vec<u32> = path.collect();
        // Where the allocator has not been left yet, its own calls come first.
        let allocator = path
            .iter()
            .position(|node| contexts.places(*node).call == call);
        let outer = &path[allocator.map_or(0, |at| at + 1)..];
        let calls = outer.iter().map(|node| contexts.places(*node).call);
        let calls = std::iter::once(call).chain(calls).take(MAX_CALLS);
        let place = |place: CodePlace| -> Option<(&Module, u64)> {
            Some((modules.get(place.module as usize)?, place.address))
        };
        // What is outside of a call without a module is another call's business.
        let calls: Vec<(&Module, u64)> = calls.map_while(place).collect();
        types.of_block(&calls)
    }
}
