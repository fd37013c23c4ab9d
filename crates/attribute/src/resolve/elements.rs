//! What the elements of objects are, in the final table.

use std::sync::Arc;

use reuselens_profile::{DataLayout, ElementTypes, TypeOrigin};

use super::Resolver;
use crate::ballots::BallotOutcome;
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
    pub fn add(&mut self, object: u32, element: RawElement) {
        let RawElement {
            bytes,
            layout,
            origin,
            counted,
        } = element;
        let layout = layout.map(|layout| self.number(layout));
        let is_first = self.types.objects.len() <= object as usize;
        self.complete(object as usize + 1);
        let known_bytes = &mut self.types.bytes[object as usize];
        let known_layout = &mut self.types.objects[object as usize];
        if is_first {
            (*known_bytes, *known_layout) = (bytes, layout);
            self.types.origins[object as usize] = origin;
            self.types.counted[object as usize] = counted;
            return;
        }
        self.types.counted[object as usize].extend(counted);
        let known_origin = &mut self.types.origins[object as usize];
        *known_origin = known_origin.and(origin);
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
        self.types.origins.resize(objects, TypeOrigin::default());
        self.types.counted.resize(objects, Vec::new());
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

/// What the elements of a raw object are.
pub(super) struct RawElement {
    /// Bytes of an element; 0 if they are unknown.
    bytes: u32,
    layout: Option<Arc<DataLayout>>,
    origin: TypeOrigin,
    /// Other sizes of elements in which offsets were counted.
    counted: Vec<u32>,
}

impl Resolver<'_> {
    /// What the elements of a raw object are: as the allocating call shows it, or else as the
    /// accesses do.
    pub(super) fn element_of(&mut self, number: u32, raw: &RawObject) -> RawElement {
        let layout = self.layout_of(raw);
        let bytes = self.shared.objects.spans.get(number).unwrap_or(0);
        let origin = match raw.key {
            ObjectKey::Heap { .. } => TypeOrigin::Allocation,
            _ => TypeOrigin::Declaration,
        };
        let layout_bytes = |layout: &DataLayout| u32::try_from(layout.bytes).unwrap_or(0);
        match self.shared.ballots.outcome(number) {
            Some(BallotOutcome::Type(layout, origin, counted)) => RawElement {
                counted,
                bytes: layout_bytes(&layout),
                layout: Some(layout),
                origin,
            },
            Some(BallotOutcome::Contradicted) => RawElement {
                bytes: 0,
                layout: None,
                origin,
                counted: Vec::new(),
            },
            Some(BallotOutcome::None(bytes)) => RawElement {
                // Of bytes, offsets were counted in blocks.
                counted: Vec::from([bytes]),
                bytes: layout.as_deref().map_or(bytes, layout_bytes),
                layout,
                origin,
            },
            None => RawElement {
                counted: Vec::new(),
                bytes,
                layout,
                origin,
            },
        }
    }

    /// The type of a raw object's elements, if it is known by a declaration or by the call that
    /// allocates them.
    fn layout_of(&mut self, raw: &RawObject) -> Option<Arc<DataLayout>> {
        let ObjectKey::Static { module, address } = raw.key else {
            return raw.layout.clone();
        };
        let module = self.shared.modules.get(module as usize)?;
        self.symbols.variable(module, address).layout
    }
}
