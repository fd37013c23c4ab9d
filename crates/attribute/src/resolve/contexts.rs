//! Names of calling contexts. Functions that compilers inlined become contexts of their own.

use reuselens_profile::{Context, Frame};

use super::Resolver;
use crate::places::CodePlace;
use crate::symbol_source::Function;

/// The name of a context that stands for several: their accesses count together.
const OTHER: &str = "(other contexts)";

impl Resolver<'_> {
    /// The number in the final table of the context that a node of the tree stands for.
    pub(super) fn context(&mut self, raw: u32) -> u32 {
        // From the node up to the first that has a number, then down again. The climb ends: every
        // path leads to the root, which has number 0 from the start.
        let mut path = Vec::new();
        let mut node = raw;
        while !self.context_numbers.contains_key(&node) {
            path.push(node);
            node = self.shared.contexts.node(node).parent;
        }
        let mut parent = self.context_numbers[&node];
        for node in path.into_iter().rev() {
            let place = self.shared.contexts.places(node).function;
            let function = self
                .function(place)
                .map(|function| (place.module, function));
            if let Some(number) = self.on_path(parent, function.as_ref()) {
                self.context_numbers.insert(node, number);
                parent = number;
                continue;
            }
            let (name, call) = self.call(node);
            let caller = self.inlined(parent, self.shared.contexts.places(node).call);
            parent = self.add_context(caller, name, call, function);
            self.context_numbers.insert(node, parent);
        }
        parent
    }

    /// The context of a cell that was made for several groups of accesses ([`crate::folding`]).
    /// `raw` is the node of the cell, and `context` its number in the final table.
    ///
    /// Such a cell holds accesses that were made in `context` or further down, on any path. They
    /// get a context below `context`, with the name `(other contexts)`. It is `context` itself if
    /// contexts are off, or if `raw` is the node of the other contexts already.
    pub(super) fn others_below(&mut self, context: u32, raw: u32) -> u32 {
        if !self.shared.with_contexts || self.shared.contexts.is_other(raw) {
            return context;
        }
        self.add_context(context, OTHER.to_owned(), Frame::default(), None)
    }

    /// The number of the context with this parent, name and call, made if it is new. `function` is
    /// its module and its function, if they are known; a context that exists keeps its own.
    fn add_context(
        &mut self,
        parent: u32,
        name: String,
        call: Frame,
        function: Option<(u32, Function)>,
    ) -> u32 {
        let context = Context {
            parent,
            function: name,
            call,
            ..Context::default()
        };
        let next = self.contexts.len() as u32;
        let number = *self.equal_contexts.entry(context.clone()).or_insert(next);
        if number == next {
            self.contexts.push(context);
            self.context_functions.push(function);
        }
        number
    }

    /// The context of the code that is inlined at a place. Below `context` it has one context for
    /// each inlined function around the place, from the outermost inward.
    ///
    /// It is `context` itself if nothing is inlined at the place, or if the place is not in the
    /// function of `context`. Two cases of the second: accesses of deeper calls count for a node at
    /// the greatest depth ([`MAX_DEPTH`]), and the trace lacks the call of a function.
    ///
    /// [`MAX_DEPTH`]: crate::contexts::MAX_DEPTH
    pub(super) fn inlined(&mut self, context: u32, place: CodePlace) -> u32 {
        let frames = self.frames(place);
        if frames.len() < 2 {
            return context;
        }
        let function = self
            .function(place)
            .map(|function| (place.module, function));
        if function.is_none() || self.context_functions[context as usize] != function {
            return context;
        }
        // Frames are innermost first, so the pairs are taken from the last: that of the function
        // really called, and of what it inlined first. `inner` is inlined into `outer`, at the line
        // of `outer`.
        let inward = frames.windows(2).rev();
        inward.fold(context, |parent, frames| {
            let [inner, outer] = frames else {
                return parent;
            };
            self.add_context(parent, inner.function.clone(), outer.clone(), None)
        })
    }

    /// The context of a function on the path from the root to the context `to`, `to` included.
    /// `None` if the path lacks the function, or if the function is unknown.
    ///
    /// The tree of nodes folds most recursions already ([`crate::contexts`]): a function that is
    /// entered at one program counter has one node on a path. A function that is entered at several
    /// has several, and these become one context here.
    fn on_path(&self, to: u32, function: Option<&(u32, Function)>) -> Option<u32> {
        let function = function?;
        let parent = |number: &u32| Some(self.contexts[*number as usize].parent);
        let mut path = std::iter::successors(Some(to), parent).take_while(|number| *number != 0);
        path.find(|number| self.context_functions[*number as usize].as_ref() == Some(function))
    }

    /// The name of a node's function, and where in the source its call is.
    fn call(&mut self, node: u32) -> (String, Frame) {
        if self.shared.contexts.is_other(node) {
            return (OTHER.to_owned(), Frame::default());
        }
        let node = *self.shared.contexts.places(node);
        let call = self.frames(node.call).first().cloned().unwrap_or_default();
        (self.function_name(node.function), call)
    }
}
