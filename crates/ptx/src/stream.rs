//! The stream of memory instructions, for whoever takes warp instructions: a file, or memory.

use reuselens_trace::TraceError;
use reuselens_trace::warp::{self, Extent, WarpBatch, WarpRow};

use crate::decode::Kernel;
use crate::machine::Launch;
use crate::sink::{BlockSink, Sink, Space, WarpAccess, WarpKind};

/// Hands what a kernel does to a [`warp::WarpSink`], block after block.
///
/// Memory: the records of the blocks that run at the same time, as long as blocks before them have not
/// ended.
#[derive(Debug)]
pub struct Stream<W> {
    out: W,
    error: Option<TraceError>,
}

impl<W: warp::WarpSink> Stream<W> {
    /// Hands to `out`.
    pub fn new(out: W) -> Stream<W> {
        Stream { out, error: None }
    }

    /// Says that a kernel is launched; to be called before each launch.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn launch(&mut self, kernel: &Kernel, launch: &Launch) -> Result<(), TraceError> {
        let extent = |[x, y, z]: [u32; 3]| Extent { x, y, z };
        let site = |site: &crate::Site| warp::Site {
            place: site
                .source
                .as_ref()
                .map_or_else(String::new, |(file, line)| format!("{file}:{line}")),
            text: format!("{} (PTX line {})", site.opcode, site.position.line),
        };
        self.out.launch(&warp::Launch {
            kernel: kernel.name().to_owned(),
            grid: extent(launch.grid),
            block: extent(launch.block),
            sites: kernel.sites().iter().map(site).collect(),
        })
    }

    /// Gives back what took the records.
    ///
    /// # Errors
    /// The first one of `out` while a kernel ran.
    pub fn finish(self) -> Result<W, TraceError> {
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.out),
        }
    }

    fn hand_over(&mut self, batches: &mut Batches) {
        for batch in &batches.full {
            if self.error.is_none() {
                self.error = self.out.batch(batch).err();
            }
        }
        batches.full.clear();
    }
}

/// The records of a block that have not been handed over.
#[derive(Debug, Default)]
pub struct Batches {
    full: Vec<WarpBatch>,
    last: WarpBatch,
}

impl BlockSink for Batches {
    #[inline(always)]
    fn accept(&mut self, access: &WarpAccess<'_>) {
        let mut row = WarpRow {
            site: access.site,
            position: access.position,
            block: access.block,
            warp: access.warp,
            mask: access.mask,
            space: match access.space {
                Space::Global => warp::Space::Global,
                Space::Shared => warp::Space::Shared,
                Space::Local => warp::Space::Local,
                Space::Const => warp::Space::Constant,
            },
            kind: match access.kind {
                WarpKind::Load => warp::WarpKind::Load,
                WarpKind::Store => warp::WarpKind::Store,
                WarpKind::Atomic => warp::WarpKind::Atomic,
            },
            bytes: access.bytes,
            addresses: access.addresses,
        };
        let mut active = [0; 32];
        if access.mask != u32::MAX {
            let mut count = 0;
            for (lane, &address) in access.addresses.iter().enumerate() {
                active[count] = address;
                count += (access.mask >> lane & 1) as usize;
            }
            row.addresses = &active[..count];
        }
        self.last.push_row(&row);
        if self.last.is_full() {
            self.full.push(std::mem::take(&mut self.last));
        }
    }
}

impl<W: warp::WarpSink> Sink for Stream<W> {
    type Block = Batches;

    fn open(&mut self, _: u32) -> Batches {
        Batches::default()
    }

    fn drain(&mut self, _: u32, sink: &mut Batches) {
        self.hand_over(sink);
    }

    fn close(&mut self, _: u32, mut sink: Batches) {
        if !sink.last.is_empty() {
            sink.full.push(std::mem::take(&mut sink.last));
        }
        self.hand_over(&mut sink);
    }
}
