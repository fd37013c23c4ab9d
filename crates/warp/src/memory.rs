//! [`WarpStream`]: a stream of warp instructions in memory. It is a sink for producers, and can be
//! read as a source any number of times ([`WarpStream::source`]).

use crate::{Collector, Launch, WarpBatch, WarpSink, WarpSource, WarpStep};
use reuselens_trace::TraceError;

/// One launch and its records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// The launch.
    pub launch: Launch,
    /// Its records, in the order in which they came.
    pub batches: Vec<WarpBatch>,
}

/// A stream in memory: 27 to 31 bytes a record and 8 for each access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarpStream {
    /// The launches, in order.
    pub launches: Vec<Recorded>,
}

impl WarpStream {
    /// No launches.
    pub fn new() -> WarpStream {
        WarpStream::default()
    }

    /// Reads all of `source`.
    ///
    /// # Errors
    /// Those of the source.
    pub fn read(source: &mut dyn WarpSource) -> Result<WarpStream, TraceError> {
        let mut stream = WarpStream::new();
        let mut batch = WarpBatch::new();
        loop {
            match source.next(&mut batch)? {
                WarpStep::Launch(launch) => stream.launch(&launch)?,
                WarpStep::Batch => stream.batch(&batch)?,
                WarpStep::End => return Ok(stream),
            }
        }
    }

    /// Number of records in all launches.
    pub fn records(&self) -> u64 {
        let batches = self.launches.iter().flat_map(|launch| &launch.batches);
        batches.map(|batch| batch.len() as u64).sum()
    }

    /// A source of this stream.
    pub fn source(&self) -> impl WarpSource + '_ {
        Replay {
            stream: self,
            launch: 0,
            batch: None,
        }
    }
}

impl WarpSink for WarpStream {
    fn launch(&mut self, launch: &Launch) -> Result<(), TraceError> {
        self.launches.push(Recorded {
            launch: launch.clone(),
            batches: Vec::new(),
        });
        Ok(())
    }

    /// Records before the first launch are dropped.
    fn batch(&mut self, batch: &WarpBatch) -> Result<(), TraceError> {
        if let Some(last) = self.launches.last_mut() {
            last.batches.push(batch.clone());
        }
        Ok(())
    }
}

impl Collector for WarpStream {
    type Piece = WarpBatch;

    fn take(&mut self, piece: &WarpBatch) -> Result<(), TraceError> {
        self.batch(piece)
    }
}

struct Replay<'a> {
    stream: &'a WarpStream,
    launch: usize,
    /// The batch that is next; `None` before the launch itself.
    batch: Option<usize>,
}

impl WarpSource for Replay<'_> {
    fn next(&mut self, batch: &mut WarpBatch) -> Result<WarpStep, TraceError> {
        while let Some(recorded) = self.stream.launches.get(self.launch) {
            let Some(at) = self.batch else {
                self.batch = Some(0);
                return Ok(WarpStep::Launch(recorded.launch.clone()));
            };
            if let Some(next) = recorded.batches.get(at) {
                self.batch = Some(at + 1);
                batch.clone_from(next);
                return Ok(WarpStep::Batch);
            }
            (self.launch, self.batch) = (self.launch + 1, None);
        }
        Ok(WarpStep::End)
    }

    fn describe(&self) -> String {
        "a stream in memory".to_owned()
    }
}
