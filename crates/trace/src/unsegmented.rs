//! A source that is read in one go, in the place of one that can be cut.

use reuselens_units::{Accesses, Bytes};

use crate::{AnySegment, Block, ItemProjection, Projection, Segmented, Source, Step, TraceError};

/// What another source delivers. It has no segments.
pub struct Unsegmented<S>(pub S);

impl<S: Source> Source for Unsegmented<S> {
    fn next(&mut self, block: &mut Block) -> Result<Step, TraceError> {
        self.0.next(block)
    }

    fn has_addresses(&self) -> bool {
        self.0.has_addresses()
    }

    fn is_of_one_thread(&self) -> bool {
        self.0.is_of_one_thread()
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.0.progress()
    }

    fn memory(&self) -> Bytes {
        self.0.memory()
    }

    fn read_ahead_within(&mut self, most: Bytes) {
        self.0.read_ahead_within(most);
    }

    fn project(&mut self, projection: Projection) -> bool {
        self.0.project(projection)
    }
}

impl<S: Source> Segmented for Unsegmented<S> {
    fn segments(
        &mut self,
        _projection: ItemProjection,
        _most: usize,
        _shortest: Accesses,
    ) -> Result<Vec<AnySegment>, TraceError> {
        Ok(Vec::new())
    }
}
