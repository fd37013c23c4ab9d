//! What the elements of objects are, in the final table.

use std::sync::Arc;

use reuselens_locality::DataLayout;

use super::Resolver;
use crate::hash::FastMap;
use crate::objects::{ObjectKey, RawObject};

/// The types of the elements of the objects of the final table.
#[derive(Debug, Default)]
pub(super) struct FinalElements {
    /// By object; 0 if the size is unknown.
    pub bytes: Vec<u32>,
    /// By object, an index into `types`.
    pub layouts: Vec<Option<u32>>,
    /// Each once, in the order of the objects.
    pub types: Vec<DataLayout>,
    numbers: FastMap<Arc<DataLayout>, u32>,
}

impl FinalElements {
    /// Notes the size and the type of the elements of a raw object that became this object. They
    /// stay if all such raw objects have them.
    pub fn add(&mut self, object: u32, bytes: u32, layout: Option<Arc<DataLayout>>) {
        let layout = layout.map(|layout| self.number(layout));
        let is_first = self.layouts.len() <= object as usize;
        self.complete(object as usize + 1);
        let known_bytes = &mut self.bytes[object as usize];
        let known_layout = &mut self.layouts[object as usize];
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
        let objects = self.layouts.len().max(objects);
        self.layouts.resize(objects, None);
        self.bytes.resize(objects, 0);
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
