//! The elements of blocks of the heap, where offsets in elements are asked for.

use std::sync::Arc;

use reuselens_profile::DataLayout;
use reuselens_trace::Module;

use super::Shared;
use crate::ballots::Shown;
use crate::known_names::is_system_module;
use crate::options::Kinds;
use crate::places::CodePlace;
use crate::sites::SiteKey;
use crate::symbol_source::SymbolSource;

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
    /// of the block has to agree. Where the call shows no type, or one of bytes, the accesses vote.
    pub fn begin_elements(&mut self, object: u32, (node, call): (u32, CodePlace), bytes: u64) {
        if bytes == 0 {
            return;
        }
        let fits = |layout: &DataLayout| bytes.is_multiple_of(layout.bytes);
        if self.objects.spans.is_new(object) {
            let layout = self.block_type(node, call).filter(|layout| fits(layout));
            self.objects.get_mut(object).layout.clone_from(&layout);
            self.open_ballot(object, layout, bytes);
        }
        if let Some(elements) = self.ballots.begin_block(object, bytes) {
            self.objects.spans.set(object, elements);
            return;
        }
        let layout = &mut self.objects.get_mut(object).layout;
        let element = match layout.as_deref() {
            Some(known) if fits(known) => known.bytes,
            Some(_) => {
                *layout = None;
                self.ballots.close(object);
                0
            }
            // A block of unknown type is one element.
            None => bytes,
        };
        self.objects.spans.agree(object, element);
    }

    /// Lets accesses vote for an object's type, if it is unknown, and check it, if it has fields.
    fn open_ballot(&mut self, object: u32, layout: Option<Arc<DataLayout>>, bytes: u64) {
        // Accesses to chunks have numbers of their own.
        if self.block_types.is_none() || self.chunks.is_some() {
            return;
        }
        match layout {
            Some(layout) if layout.fields.is_empty() && layout.bytes > 1 => {}
            Some(layout) if layout.bytes > 1 => self.ballots.open(object, Some(layout), bytes),
            _ => self.ballots.open(object, None, bytes),
        }
    }

    /// Asks what the instruction of a site accesses, unless that was asked.
    pub fn ask_access(&mut self, site: u32) {
        if self.ballots.was_asked(site) {
            return;
        }
        let SiteKey { place, kind } = self.sites[site as usize];
        let module = self.modules.get(place.module as usize);
        let shown = match module.zip(self.block_types.as_mut()) {
            Some((module, _)) if is_system_module(&module.path) => Shown::OfLibrary,
            Some((module, types)) => {
                let found = types.of_access(module, place.address, Kinds::writes(kind));
                found.map_or(Shown::Nothing, Shown::Type)
            }
            None => Shown::Nothing,
        };
        self.ballots.set_shown(site, shown);
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
