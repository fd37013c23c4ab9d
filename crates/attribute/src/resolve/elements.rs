//! What the elements of objects are, in the final table.

use std::sync::Arc;

use reuselens_locality::{DataLayout, ElementTypes};

use super::Resolver;
use crate::hash::FastMap;
use crate::objects::{ObjectKey, RawObject};

/// The types of the elements of the objects of the final table.
#[derive(Debug, Default)]
pub(super) struct FinalElements {
    pub types: ElementTypes,
    numbers: FastMap<Arc<DataLayout>, u32>,
}

impl FinalElements {
    /// Notes the size and the type of the elements of a raw object that became this object. They
    /// stay if all such raw objects have them.
    pub fn add(&mut self, object: u32, bytes: u32, layout: Option<Arc<DataLayout>>) {
        let layout = layout.map(|layout| self.number(layout));
        let is_first = self.types.objects.len() <= object as usize;
        self.complete(object as usize + 1);
        let known_bytes = &mut self.types.bytes[object as usize];
        let known_layout = &mut self.types.objects[object as usize];
        if is_first {
            (*known_bytes, *known_layout) = (bytes, layout);
            return;
        }
        if *known_bytes != bytes {
            *known_bytes = 0;
        }
        if *known_layout != layout {
            *known_layout = None;
        }
    }

    /// Gives all objects an entry.
    pub fn complete(&mut self, objects: usize) {
        let objects = self.types.objects.len().max(objects);
        self.types.objects.resize(objects, None);
        self.types.bytes.resize(objects, 0);
    }

    fn number(&mut self, layout: Arc<DataLayout>) -> u32 {
        let layouts = &mut self.types.layouts;
        let add = || {
            layouts.push(DataLayout::clone(&layout));
            layouts.len() as u32 - 1
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
