//! Accesses that kernels left out, since they were out of bounds or not aligned and the device goes
//! on after such.

use std::sync::Arc;

use reuselens_warp::DeviceCall;

/// The accesses of a line of a kernel that were left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOutAccesses {
    /// The line, as `file:line`; empty if that is not known.
    pub place: Arc<str>,
    /// The calls of device functions that lead there from the kernel.
    pub calls: Arc<[DeviceCall]>,
    /// Accesses of lanes.
    pub lanes: u64,
    /// What was wrong with the first of them, with kernel, block and thread, as a sentence.
    pub first: String,
}

/// Adds accesses to those of the same lines.
pub(crate) fn add(sum: &mut Vec<LeftOutAccesses>, more: &[LeftOutAccesses]) {
    for line in more {
        let same = |known: &&mut LeftOutAccesses| {
            (&known.place, &known.calls) == (&line.place, &line.calls)
        };
        match sum.iter_mut().find(same) {
            Some(known) => known.lanes += line.lanes,
            None => sum.push(line.clone()),
        }
    }
}
