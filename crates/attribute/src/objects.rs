//! The data objects, as they turn up.

use std::sync::Arc;

use reuselens_profile::DataLayout;

use crate::contexts::Callers;
use crate::element_spans::ElementSpans;
use crate::elements::{Counter, Elements};
use crate::hash::FastMap;
use crate::places::CodePlace;
use crate::shadow::MAX_OBJECTS;

/// Where an object lies, for the data filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Where {
    #[default]
    Unknown,
    Static,
    Stack,
    Heap,
}

/// What makes an object the same object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ObjectKey {
    /// Memory of which nothing is known.
    Unknown,
    /// Stack memory of which no frame is known.
    UnknownFrame,
    /// What there was no room for.
    Other,
    /// A symbol: module, address in its file.
    Static { module: u32, address: u64 },
    /// The frames of a function: a place in it.
    Frames(CodePlace),
    /// A local variable in all frames of its function: module, source file, name.
    Local {
        module: u32,
        file: String,
        name: String,
    },
    /// Blocks from one call path: context, allocating call.
    Heap { node: u32, call: CodePlace },
    /// The bytes of another object's blocks from this offset on, up to the end of a chunk: see
    /// [`crate::chunks`]. Those from offset 0 on have the object's own number.
    Chunk { object: u32, start: u64 },
    /// Named by the program: process, name, bytes of an element, where it lies.
    Named {
        process: u16,
        name: String,
        element: u64,
        place: Where,
    },
    /// Announced by the program without a name, and no object of its own by symbol or allocation:
    /// a part of another object's memory from this byte on, or, where the memory's owner is not
    /// known (0), what a call announced. And the bytes of an element.
    Unnamed {
        owner: u32,
        start: u64,
        call: CodePlace,
        element: u64,
    },
}

/// An object.
#[derive(Clone, Debug)]
pub(crate) struct RawObject {
    pub key: ObjectKey,
    pub place: Where,
    /// Name of a symbol; else empty.
    pub name: String,
    pub element_bytes: u64,
    /// The type of an element, if it is known. Of static symbols it is looked up at the end.
    pub layout: Option<Arc<DataLayout>>,
    /// The accesses to its elements, by index.
    pub elements: Vec<Counter>,
}

/// The memory of an object over the run. Apart from the object, since every call touches it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// Bytes live now.
    live: u64,
    /// At most at one time.
    pub peak: u64,
    pub blocks: u64,
    /// Bytes of the largest block.
    pub longest: u64,
    /// Of the frames of a function: where they have variables; see [`crate::locals::LocalLayouts`].
    pub layout: u32,
}

/// All objects. 0 is the unknown one, 1 the unknown frame.
#[derive(Debug)]
pub(crate) struct Objects {
    list: Vec<RawObject>,
    /// By object.
    usage: Vec<Usage>,
    numbers: FastMap<ObjectKey, u32>,
    /// Blocks by the first node of their callers and the allocator's call.
    by_callers: FastMap<(u32, CodePlace), u32>,
    /// By object, the nodes of its callers, where several contexts have one object.
    callers: FastMap<u32, Vec<u32>>,
    pub elements: Elements,
    /// By object, the bytes of an element, where offsets in elements are asked for.
    pub spans: ElementSpans,
    /// Whether an object could not be made.
    pub objects_full: bool,
}

impl Objects {
    pub const UNKNOWN_FRAME: u32 = 1;
    /// What there is no room for.
    pub const OTHER: u32 = 2;

    pub fn new() -> Self {
        let mut objects = Objects {
            list: Vec::new(),
            usage: Vec::new(),
            numbers: FastMap::default(),
            by_callers: FastMap::default(),
            callers: FastMap::default(),
            elements: Elements::new(),
            spans: ElementSpans::default(),
            objects_full: false,
        };
        objects.get_or_add(ObjectKey::Unknown, Where::Unknown);
        objects.get_or_add(ObjectKey::UnknownFrame, Where::Stack);
        objects.get_or_add(ObjectKey::Other, Where::Unknown);
        objects
    }

    /// The number of the object with this key, made if it is new.
    pub fn get_or_add(&mut self, key: ObjectKey, place: Where) -> u32 {
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        if self.list.len() as u32 >= MAX_OBJECTS {
            self.objects_full = true;
            return Self::OTHER;
        }
        let number = self.list.len() as u32;
        self.numbers.insert(key.clone(), number);
        self.usage.push(Usage::default());
        self.list.push(RawObject {
            key,
            place,
            name: String::new(),
            element_bytes: 0,
            layout: None,
            elements: Vec::new(),
        });
        number
    }

    /// The number of the object with this key, if there is one.
    #[inline]
    pub fn number(&self, key: &ObjectKey) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    /// The number of the blocks that this call allocates. `node` is the innermost context, and
    /// `callers` are the calls that led there, if they are known: equal calls have one object.
    pub fn add_heap(&mut self, node: u32, call: CodePlace, callers: Option<Callers>) -> u32 {
        let key = ObjectKey::Heap { node, call };
        let Some(Callers { node, first }) = callers else {
            return self.get_or_add(key, Where::Heap);
        };
        if let Some(&number) = self.by_callers.get(&(first, call)) {
            self.numbers.insert(key, number);
            let nodes = self.callers.entry(number).or_default();
            if !nodes.contains(&node) {
                nodes.push(node);
            }
            return number;
        }
        let number = self.get_or_add(key, Where::Heap);
        if number != Self::OTHER {
            self.by_callers.insert((first, call), number);
        }
        number
    }

    /// The nodes of a heap object's callers, where contexts beside that of its key have it.
    pub fn other_callers(&self, object: u32) -> &[u32] {
        self.callers.get(&object).map_or(&[], Vec::as_slice)
    }

    /// The number of the chunk of an object's blocks that begins at an offset.
    pub fn chunk(&mut self, object: u32, start: u64) -> u32 {
        match start {
            0 => object,
            _ => {
                let key = ObjectKey::Chunk { object, start };
                let chunk = self.get_or_add(key, self.place(object));
                if let Some(span) = self.spans.get(object).filter(|_| chunk != Self::OTHER) {
                    self.spans.agree(chunk, span.into());
                }
                chunk
            }
        }
    }

    /// The object that a chunk is of, and the chunk's offset in its blocks; 0 for whole objects.
    pub fn start_of(&self, chunk: u32) -> (u32, u64) {
        match self.get(chunk).key {
            ObjectKey::Chunk { object, start } => (object, start),
            _ => (chunk, 0),
        }
    }

    pub fn get(&self, object: u32) -> &RawObject {
        &self.list[object as usize]
    }

    pub fn get_mut(&mut self, object: u32) -> &mut RawObject {
        &mut self.list[object as usize]
    }

    /// The memory of an object over the run.
    pub fn usage(&self, object: u32) -> &Usage {
        &self.usage[object as usize]
    }

    /// The frames that this object is have variables at the places of a layout.
    pub fn set_layout(&mut self, object: u32, layout: u32) {
        self.usage[object as usize].layout = layout;
    }

    /// The object is one block of this size all the time.
    pub fn set_fixed(&mut self, object: u32, bytes: u64) {
        let usage = &mut self.usage[object as usize];
        (usage.peak, usage.blocks, usage.longest) = (bytes, 1, bytes);
    }

    #[inline]
    pub fn place(&self, object: u32) -> Where {
        self.list[object as usize].place
    }

    /// A block or a frame of the object begins.
    #[inline]
    pub fn begin(&mut self, object: u32, bytes: u64) {
        let usage = &mut self.usage[object as usize];
        usage.live = usage.live.saturating_add(bytes);
        usage.peak = usage.peak.max(usage.live);
        usage.blocks = usage.blocks.saturating_add(1);
        usage.longest = usage.longest.max(bytes);
    }

    /// Bytes of the object end.
    #[inline]
    pub fn end(&mut self, object: u32, bytes: u64) {
        let usage = &mut self.usage[object as usize];
        usage.live = usage.live.saturating_sub(bytes);
    }

    /// Makes sure that the object has counters for `elements` elements, within the limit on all
    /// counters.
    pub fn reserve_elements(&mut self, object: u32, elements: u64) {
        let counters = &mut self.list[object as usize].elements;
        self.elements.reserve(counters, elements);
    }

    /// Counts an access to an element of an object; its number, or 0 if it has none.
    #[inline]
    pub fn count_element(&mut self, object: u32, index: u64) -> u32 {
        let counters = &mut self.list[object as usize].elements;
        let counter = usize::try_from(index)
            .ok()
            .and_then(|index| counters.get_mut(index));
        counter.map_or(0, |counter| self.elements.count(counter, object, index))
    }

    /// Calls `change` on the place of each object that has one.
    pub fn for_each_place(&mut self, mut change: impl FnMut(&mut CodePlace)) {
        for object in &mut self.list {
            if let ObjectKey::Frames(place)
            | ObjectKey::Heap { call: place, .. }
            | ObjectKey::Unnamed { call: place, .. } = &mut object.key
            {
                change(place);
            }
        }
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        let each = size_of::<RawObject>() + size_of::<Usage>();
        let numbers = self.numbers.allocation_size()
            + self.by_callers.allocation_size()
            + self.callers.allocation_size();
        (self.list.capacity() * each + numbers) as u64
            + self.elements.memory()
            + self.spans.memory()
    }
}
