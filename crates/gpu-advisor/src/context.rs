//! [`LaunchContext`]: what the host side knows of a launch when it begins.

use std::sync::Arc;

use crate::tally::NO_OBJECT;

/// Addresses of the device that belong to one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRange {
    /// The first.
    pub start: u64,
    /// The first after it.
    pub end: u64,
    /// Number of the object in the run, as an index in `Ledger::objects`; never used twice. The
    /// allocations of one call path are one object.
    pub object: u32,
}

impl ObjectRange {
    /// Whether an address is one of these.
    #[inline(always)]
    pub(crate) fn holds(&self, address: u64) -> bool {
        self.start <= address && address < self.end
    }
}

/// What the host side knows of a launch when it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchContext {
    /// Number of the call path of the host that launches. 0: unknown.
    pub call_path: u32,
    /// The objects in the device's memory, by address; they do not overlap. The same list for as
    /// long as no memory is taken or freed.
    pub objects: Arc<[ObjectRange]>,
}

impl LaunchContext {
    /// The object that an address belongs to.
    pub fn object(&self, address: u64) -> Option<u32> {
        let object = self.range(address).object;
        (object != NO_OBJECT).then_some(object)
    }

    /// The addresses around one that belong to the same object; of [`NO_OBJECT`] between objects.
    pub(crate) fn range(&self, address: u64) -> ObjectRange {
        let after = self.objects.partition_point(|range| range.start <= address);
        match self.objects[..after].last() {
            Some(&range) if address < range.end => range,
            before => ObjectRange {
                start: before.map_or(0, |range| range.end),
                end: (self.objects.get(after)).map_or(u64::MAX, |range| range.start),
                object: NO_OBJECT,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_between_objects_belong_to_none() {
        let range = |start, end, object| ObjectRange { start, end, object };
        let context = LaunchContext {
            call_path: 0,
            objects: [range(16, 32, 4), range(32, 33, 2), range(64, 80, 9)].into(),
        };
        let found = [15, 16, 31, 32, 33, 63, 64, 79, 80].map(|address| context.object(address));
        let (a, b, c) = (Some(4), Some(2), Some(9));
        assert_eq!(found, [None, a, a, b, None, None, c, c, None]);
        let gaps = [0, 40, 90].map(|address| context.range(address));
        let (before, after) = (range(0, 16, NO_OBJECT), range(80, u64::MAX, NO_OBJECT));
        assert_eq!(gaps, [before, range(33, 64, NO_OBJECT), after]);
    }
}
