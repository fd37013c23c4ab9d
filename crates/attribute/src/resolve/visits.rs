//! Footprints and entries of calling contexts, as these are named at the end.

use reuselens_profile::ContextFootprint;

use super::Resolver;
use crate::footprints::{Leaf, count_items};

impl Resolver<'_> {
    /// Gives the contexts what was counted of their footprints and entries, if anything.
    pub(super) fn count_visits(&mut self) {
        let Some(visits) = self.shared.visits.take() else {
            return;
        };
        let (footprints, entries) = visits.finish();
        match footprints.finish() {
            Some((leaves, items)) => {
                let contexts: Vec<u32> = leaves.iter().map(|leaf| self.leaf(*leaf)).collect();
                let parents: Vec<u32> = self.contexts.iter().map(|it| it.parent).collect();
                let counts = count_items(&parents, &contexts, &items);
                for (context, (exclusive, inclusive)) in self.contexts.iter_mut().zip(counts) {
                    // A context that stands for several has the accesses of its cells, which are
                    // counted here for the contexts that made them.
                    context.footprint = (inclusive > 0).then_some(ContextFootprint {
                        exclusive,
                        inclusive,
                    });
                }
            }
            None => self.shared.warnings.once(
                "footprints-left-out",
                "the calling contexts accessed more different data than there is memory for; their footprints are left out",
                "raise --memory-limit, take larger items (--granularity 4096), or measure a smaller part of the program",
            ),
        }
        self.count_entries(&entries);
    }

    /// The context of a leaf: that of its node, or of the functions inlined around its site.
    fn leaf(&mut self, (node, site): Leaf) -> u32 {
        let context = self.context(node);
        let place = self.shared.sites[site as usize].place;
        self.inlined(context, place)
    }

    fn count_entries(&mut self, entries: &[u64]) {
        for (node, &entries) in (0..).zip(entries).filter(|(_, entries)| **entries > 0) {
            let Some(&context) = self.context_numbers.get(&node) else {
                // Nothing was accessed there, nor below.
                continue;
            };
            let caller = self.shared.contexts.node(node).parent;
            // A call of a function that is on the path already enters nothing.
            if node != 0 && self.is_below(self.context_numbers[&caller], context) {
                continue;
            }
            let sum = self.contexts[context as usize].entries.get_or_insert(0);
            *sum = sum.saturating_add(entries);
        }
    }

    /// Whether a context is `above`, or below it.
    fn is_below(&self, context: u32, above: u32) -> bool {
        let parent = |number: &u32| (*number != 0).then(|| self.contexts[*number as usize].parent);
        std::iter::successors(Some(context), parent).any(|number| number == above)
    }
}
