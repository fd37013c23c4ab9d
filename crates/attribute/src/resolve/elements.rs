//! What the elements of objects are, in the final table.

use std::sync::Arc;

use reuselens_locality::DataLayout;

use super::Resolver;
use crate::hash::FastMap;
use crate::objects::{ObjectKey, RawObject};

/// The types of the elements of the objects of the final table.
#[derive(Debug, Default)]
pub(super) struct FinalElements {
    /// By object, an index into `types`.
    pub layouts: Vec<Option<u32>>,
    /// Each once, in the order of the objects.
    pub types: Vec<DataLayout>,
    numbers: FastMap<Arc<DataLayout>, u32>,
}

impl FinalElements {
    /// Notes the type of a raw object that became this object. The type stays if all such raw
    /// objects have it.
    pub fn add(&mut self, object: u32, layout: Option<Arc<DataLayout>>) {
        let layout = layout.map(|layout| self.number(layout));
        let is_first = self.layouts.len() <= object as usize;
        self.complete(object as usize + 1);
        let known = &mut self.layouts[object as usize];
        if is_first {
            *known = layout;
        } else if *known != layout {
            *known = None;
        }
    }

    /// Gives all objects an entry.
    pub fn complete(&mut self, objects: usize) {
        self.layouts.resize(self.layouts.len().max(objects), None);
    }

    fn number(&mut self, layout: Arc<DataLayout>) -> u32 {
        let types = &mut self.types;
        let add = || {
            types.push(DataLayout::clone(&layout));
            types.len() as u32 - 1
        };
        *self.numbers.entry(Arc::clone(&layout)).or_insert_with(add)
    }
}

impl Resolver<'_> {
    /// The type of a raw object's elements, if it is known.
    pub(super) fn layout_of(&mut self, raw: &RawObject) -> Option<Arc<DataLayout>> {
        let ObjectKey::Static { module, address } = raw.key else {
            return raw.layout.clone();
        };
        let module = self.shared.modules.get(module as usize)?;
        self.symbols.variable(module, address).layout
    }
}
