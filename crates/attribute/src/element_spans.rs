//! Where in their elements accesses begin: the bytes of the elements of objects, and where the
//! objects begin.

use reuselens_profile::ElementUse;

use crate::ballots::ElementPlacement;
use crate::shadow::{Region, Versions};

/// Elements of more bytes have no offsets.
const MAX_ELEMENT: u64 = ElementUse::MOST_BYTES;

/// By object, the bytes of an element. A block of the heap of unknown type is one element, if all
/// blocks of its object have one size.
#[derive(Debug, Default)]
pub(crate) struct ElementSpans {
    list: Vec<u32>,
    /// Bytes of a block before the first element. Objects that are not here have none.
    starts: Vec<u32>,
}

/// The object has no element of known size, and gets none.
const NONE: u32 = u32::MAX;

impl ElementSpans {
    /// The bytes of an element of an object, if they are known.
    #[inline(always)]
    pub fn get(&self, object: u32) -> Option<u32> {
        let span = self.list.get(object as usize).copied().unwrap_or(0);
        (span != 0 && span != NONE).then_some(span)
    }

    /// Whether nothing was said of the object so far.
    #[inline]
    pub fn is_new(&self, object: u32) -> bool {
        self.list.get(object as usize).is_none_or(|span| *span == 0)
    }

    /// The object has elements of this size; 0 for an unknown size. What was said before must agree
    /// with it, or else the object has no elements.
    pub fn agree(&mut self, object: u32, bytes: u64) {
        let index = object as usize;
        if self.list.len() <= index {
            self.list.resize(index + 1, 0);
        }
        let span = match bytes {
            1..=MAX_ELEMENT => bytes as u32,
            _ => NONE,
        };
        let known = &mut self.list[index];
        *known = match *known {
            0 => span,
            known if known == span => known,
            _ => NONE,
        };
    }

    /// Bytes of an object's blocks before the first element.
    #[inline(always)]
    pub fn start(&self, object: u32) -> u64 {
        let start = self.starts.get(object as usize).copied();
        start.unwrap_or(0).into()
    }

    /// The object's elements are these from now on.
    pub fn set(&mut self, object: u32, elements: ElementPlacement) {
        let index = object as usize;
        let ElementPlacement { start, bytes } = elements;
        if start != self.start(object) as u32 {
            self.starts.resize(self.starts.len().max(index + 1), 0);
            self.starts[index] = start;
        }
        if self.list.len() <= index {
            self.list.resize(index + 1, 0);
        }
        self.list[index] = if bytes == 0 { NONE } else { bytes };
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        ((self.list.capacity() + self.starts.capacity()) * size_of::<u32>()) as u64
    }
}

/// Where an object begins.
#[derive(Clone, Copy, Debug, Default)]
struct ObjectExtent {
    low: u64,
    /// 0 = the extent is empty.
    bytes: u64,
    object: u32,
    version: u32,
    volatility: u8,
}

/// log2 of the extents that are remembered.
const KNOWN_BITS: u32 = 8;

/// Extents of objects that were accessed lately, by the slots of the instructions. What slots
/// remember does not do: their regions end where named memory begins.
#[derive(Clone, Debug)]
pub(crate) struct KnownExtents(Box<[ObjectExtent; 1 << KNOWN_BITS]>);

impl Default for KnownExtents {
    fn default() -> Self {
        KnownExtents(Box::new([ObjectExtent::default(); 1 << KNOWN_BITS]))
    }
}

impl KnownExtents {
    /// Where the object of an address begins, if the instruction of this slot accessed it lately
    /// and it is still there.
    #[inline(always)]
    pub fn recall(
        &self,
        slot: usize,
        object: u32,
        address: u64,
        versions: &Versions,
    ) -> Option<u64> {
        let extent = &self.0[slot % (1 << KNOWN_BITS)];
        let inside = address.wrapping_sub(extent.low) < extent.bytes;
        let true_yet = extent.version == versions[usize::from(extent.volatility & 3)];
        (inside && true_yet && extent.object == object).then_some(extent.low)
    }

    /// Remembers the extent of an object.
    pub fn remember(&mut self, slot: usize, region: &Region, versions: &Versions) {
        self.0[slot % (1 << KNOWN_BITS)] = ObjectExtent {
            low: region.low,
            bytes: region.high.saturating_sub(region.low),
            object: region.object,
            version: versions[region.volatility as usize],
            volatility: region.volatility as u8,
        };
    }
}
