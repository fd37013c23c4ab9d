//! [`LaunchContext`]: what the host side knows of a launch when it begins.

use std::sync::Arc;

/// Addresses of the device that belong to one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectRange {
    /// The first.
    pub start: u64,
    /// The first after it.
    pub end: u64,
    /// Number of the object in the run, as an index in `Ledger::objects`; never used twice. Blocks
    /// that one call path allocated are one object.
    pub object: u32,
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
        let after = self.objects.partition_point(|range| range.start <= address);
        let range = self.objects[..after].last()?;
        (address < range.end).then_some(range.object)
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
    }
}
