//! Names of calling contexts, with what compilers inlined.

use reuselens_locality::{Context, Frame};

use super::Resolver;
use crate::places::CodePlace;
use crate::symbols::Function;

/// The name of contexts that count together.
const OTHER: &str = "(other contexts)";

impl Resolver<'_> {
    /// The number in the final table of a context.
    pub(super) fn context(&mut self, raw: u32) -> u32 {
        // From the node up to the first that has a number, then down again.
        let mut path = Vec::new();
        let mut node = raw;
        while !self.context_numbers.contains_key(&node) {
            path.push(node);
            node = self.shared.contexts.node(node).parent;
        }
        let mut parent = self.context_numbers[&node];
        for node in path.into_iter().rev() {
            let of = self.shared.contexts.places(node).function;
            let known = self.function(of).map(|function| (of.module, function));
            if let Some(number) = self.on_path(parent, known.as_ref()) {
                self.context_numbers.insert(node, number);
                parent = number;
                continue;
            }
            let (function, call) = self.call(node);
            let caller = self.inlined(parent, self.shared.contexts.places(node).call);
            parent = self.add_context(caller, function, call, known);
            self.context_numbers.insert(node, parent);
        }
        parent
    }

    /// The context of what was reached from another one, on paths that count together.
    pub(super) fn others_below(&mut self, context: u32, raw: u32) -> u32 {
        if !self.shared.with_contexts || self.shared.contexts.is_other(raw) {
            return context;
        }
        self.add_context(context, OTHER.to_owned(), Frame::default(), None)
    }

    fn add_context(
        &mut self,
        parent: u32,
        function: String,
        call: Frame,
        known: Option<(u32, Function)>,
    ) -> u32 {
        let context = Context {
            parent,
            function,
            call,
        };
        let next = self.contexts.len() as u32;
        let number = *self.equal_contexts.entry(context.clone()).or_insert(next);
        if number == next {
            self.contexts.push(context);
            self.context_functions.push(known);
        }
        number
    }

    /// The context of what is inlined at a place of a context's function: under that context, one
    /// for each function of the chain. Where the place is not in that function (what counts for it
    /// is from further down, or a call was not seen), the context itself.
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
        let outward = frames.windows(2).rev();
        outward.fold(context, |parent, frames| {
            let [inner, outer] = frames else {
                return parent;
            };
            self.add_context(parent, inner.function.clone(), outer.clone(), None)
        })
    }

    /// The context of a function on the path to another one, which may be that itself. Nodes of one
    /// function are one already, but for functions with several places to enter them.
    fn on_path(&self, to: u32, function: Option<&(u32, Function)>) -> Option<u32> {
        let function = function?;
        let parent = |number: &u32| Some(self.contexts[*number as usize].parent);
        let mut path = std::iter::successors(Some(to), parent).take_while(|number| *number != 0);
        path.find(|number| self.context_functions[*number as usize].as_ref() == Some(function))
    }

    /// The function of a node and the place of its call.
    fn call(&mut self, node: u32) -> (String, Frame) {
        if self.shared.contexts.is_other(node) {
            return (OTHER.to_owned(), Frame::default());
        }
        let node = *self.shared.contexts.places(node);
        let call = self.frames(node.call).first().cloned().unwrap_or_default();
        (self.function_name(node.function), call)
    }
}
