//! Blocks of the heap: how the program came to allocate them.

use std::collections::BTreeSet;

use reuselens_profile::{FileOffset, Frame};

use super::Resolver;
use crate::cells::CellKey;
use crate::known_names::{is_library_frame, is_system_module};
use crate::naming::Caller;
use crate::objects::ObjectKey;
use crate::places::CodePlace;
use crate::symbol_source::Function;
use crate::wrappers::{Evidence, Wrappers};

/// A call on the path to an allocation.
enum AllocatingCall {
    /// At this place.
    At(CodePlace),
    /// Somewhere in this function: a library that is not instrumented made the call for it.
    Within(CodePlace),
    /// Calls that the context does not keep.
    Hidden,
}

impl Resolver<'_> {
    /// The functions that allocate for their callers, from the blocks that were accessed and the
    /// sites that accessed them.
    pub(super) fn find_wrappers(&mut self, cells: &[CellKey]) -> Wrappers {
        let mut evidence = Evidence::default();
        let (mut sites, mut objects) = (BTreeSet::new(), BTreeSet::new());
        for cell in cells {
            let object = self.shared.objects.start_of(cell.object).0;
            if let ObjectKey::Heap { node, call } = self.shared.objects.get(object).key {
                if objects.insert(object) {
                    evidence.add_allocation(&self.heap_path(node, call));
                }
                if sites.insert(cell.site) {
                    let place = self.shared.sites[cell.site as usize].place;
                    for frame in self.frames(place) {
                        evidence.add_access(&frame);
                    }
                }
            }
        }
        evidence.wrappers()
    }

    /// An allocation's call path, innermost first.
    pub(super) fn heap_path(&mut self, node: u32, call: CodePlace) -> Vec<Caller> {
        let mut path = Vec::new();
        for call in self.allocating_calls(node, call) {
            match call {
                AllocatingCall::At(place) => self.extend_path(&mut path, place),
                // The function's head stands for the place in it.
                AllocatingCall::Within(function) => {
                    let head = self.frames(function).pop();
                    path.extend(head.map(|frame| Caller {
                        frame,
                        place: function,
                        system: self.is_system(function),
                    }));
                }
                AllocatingCall::Hidden => {}
            }
        }
        // What called `main` says nothing.
        while path.len() > 1
            && path
                .last()
                .is_some_and(|last| last.system || is_library_frame(&last.frame))
        {
            path.pop();
        }
        path
    }

    /// An allocation's call path as places in files, innermost first, without what called `main`.
    pub(super) fn heap_origin(&mut self, node: u32, call: CodePlace) -> Vec<FileOffset> {
        let place = |call| match call {
            AllocatingCall::At(place) => place,
            AllocatingCall::Within(_) | AllocatingCall::Hidden => CodePlace::UNKNOWN,
        };
        let calls = self.allocating_calls(node, call).into_iter();
        let mut path: Vec<CodePlace> = calls.map(place).collect();
        path.dedup();
        while path.len() > 1 && path.last().is_some_and(|last| self.is_outermost(*last)) {
            path.pop();
        }
        path.into_iter().map(|place| self.offset(place)).collect()
    }

    /// The calls that led to an allocation, innermost first, that of the allocator included.
    fn allocating_calls(&mut self, node: u32, call: CodePlace) -> Vec<AllocatingCall> {
        let mut calls = vec![AllocatingCall::At(call)];
        let mut node = self.outside_allocator(node, call);
        let first = self.shared.contexts.places(node).function;
        if node != 0 && self.function(call) != self.function(first) && !self.is_stub(first) {
            calls.push(AllocatingCall::Within(first));
        }
        let contexts = &self.shared.contexts;
        while node != 0 {
            if contexts.hides_calls(node) {
                calls.push(AllocatingCall::Hidden);
            }
            calls.push(AllocatingCall::At(contexts.places(node).call));
            node = contexts.node(node).parent;
        }
        calls
    }

    /// Whether a place is in a stub for calls of a library. At its first call it enters the dynamic
    /// loader, which jumps to the function.
    fn is_stub(&mut self, place: CodePlace) -> bool {
        self.function(place)
            .is_some_and(|function| function.name.ends_with(Function::STUB))
    }

    /// Whether a place at the outer end of a path is left out: what called `main`.
    fn is_outermost(&mut self, place: CodePlace) -> bool {
        let is_start = |frame: &Frame| {
            is_library_frame(frame) || frame.function.split('+').next() == Some("_start")
        };
        self.is_system(place) || self.frames(place).last().is_some_and(is_start)
    }

    /// A place as profiles have it: the file name of its module, and its address in the file. Empty
    /// if it has no module.
    pub(super) fn offset(&self, place: CodePlace) -> FileOffset {
        match self.module_name(place) {
            "" => FileOffset::default(),
            module => FileOffset {
                module: module.to_owned(),
                offset: place.address,
            },
        }
    }

    /// The node of the function that made an allocating call. `node` is the innermost one when the
    /// trace reports the block. Where libraries are traced too, the allocator has not been left at
    /// that moment: `node` is then that of the allocator or of a function further down.
    fn outside_allocator(&self, node: u32, call: CodePlace) -> u32 {
        let contexts = &self.shared.contexts;
        let parent = |node: &u32| (*node != 0).then(|| contexts.node(*node).parent);
        let mut path = std::iter::successors(Some(node), parent);
        let is_call = |node: &u32| contexts.places(*node).call == call;
        let allocator = path.find(is_call).filter(|_| call != CodePlace::UNKNOWN);
        allocator.map_or(node, |allocator| contexts.node(allocator).parent)
    }

    fn is_system(&self, place: CodePlace) -> bool {
        let module = self.shared.modules.get(place.module as usize);
        module.is_none_or(|module| is_system_module(&module.path))
    }

    fn extend_path(&mut self, path: &mut Vec<Caller>, place: CodePlace) {
        let system = self.is_system(place);
        let caller = |frame| Caller {
            frame,
            place,
            system,
        };
        path.extend(self.frames(place).into_iter().map(caller));
    }
}
