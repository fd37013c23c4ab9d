//! [`CollectorSink`]: the sink that hands the memory instructions of a kernel to a [`Collector`] of
//! the crate `warp`, which is a trace file or a stream in memory.
//!
//! Records of a block are put into pieces on the thread that runs the block. The collector gets the
//! pieces in the order of blocks, whatever the number of threads.

use std::sync::Arc;

use reuselens_trace::TraceError;
use reuselens_warp::{self as warp, Collector, Extent, RecordPiece, WarpRow};

use crate::decode::Kernel;
use crate::machine::LaunchConfig;
use crate::names;
use crate::sink::{BlockSink, Calculation, LaunchSink, Space, WarpAccess, WarpKind};

/// Hands what a kernel does to a [`Collector`], block after block, in pieces that are made on the
/// thread that runs the block.
///
/// Memory: the records of the blocks that run at the same time, as long as blocks before them have
/// not ended.
#[derive(Debug)]
pub struct CollectorSink<W: Collector> {
    out: W,
    error: Option<TraceError>,
    /// Pieces without records, for the next blocks.
    spare: Vec<W::Piece>,
}

/// Pieces that are kept.
const SPARE: usize = 64;

impl<W: Collector> CollectorSink<W> {
    /// Hands to `out`.
    pub fn new(out: W) -> CollectorSink<W> {
        CollectorSink {
            out,
            error: None,
            spare: Vec::new(),
        }
    }

    /// Says that a kernel is launched; to be called before each launch.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn launch(&mut self, kernel: &Kernel, launch: &LaunchConfig) -> Result<(), TraceError> {
        self.out.launch(&launch_record(kernel, launch))
    }

    /// As [`launch`](Self::launch), for who goes on after an error: no record is handed to `out`
    /// then, and [`finish`](Self::finish) has the error.
    pub fn launch_or_stop(&mut self, kernel: &Kernel, launch: &LaunchConfig) {
        if self.error.is_none() {
            self.error = self.launch(kernel, launch).err();
        }
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

    fn hand_over(&mut self, pieces: &mut Pieces<W::Piece>) {
        for mut piece in pieces.full.drain(..) {
            if self.error.is_none() {
                self.error = self.out.take(&piece).err();
            }
            if self.spare.len() < SPARE {
                piece.clear();
                self.spare.push(piece);
            }
        }
    }
}

/// A launch as streams of warps have it. All launches of a kernel share its sites.
pub fn launch_record(kernel: &Kernel, launch: &LaunchConfig) -> warp::Launch {
    let extent = |[x, y, z]: [u32; 3]| Extent { x, y, z };
    warp::Launch {
        kernel: kernel.name().to_owned(),
        grid: extent(launch.grid),
        block: extent(launch.block),
        used: Some(warp::BlockUse {
            static_shared: kernel.shared_bytes(),
            dynamic_shared: launch.shared,
            has_exchange: kernel.has_exchange(),
        }),
        arrays: shared_arrays(kernel),
        sites: warp_sites(kernel),
    }
}

/// The sites of a kernel, whose texts are made once.
fn warp_sites(kernel: &Kernel) -> Arc<[warp::KernelSite]> {
    let site = |site: &crate::AccessSite| warp::KernelSite {
        place: site.line().to_string(),
        text: format!("{} (PTX line {})", site.opcode, site.position.line),
        calls: (site.source.as_ref()).map_or_else(Arc::default, |it| Arc::clone(&it.calls)),
    };
    let sites = kernel
        .warp_sites
        .get_or_init(|| kernel.sites().iter().map(site).collect());
    Arc::clone(sites)
}

/// The arrays in a kernel's shared memory, whose names are made once.
fn shared_arrays(kernel: &Kernel) -> Arc<[warp::SharedArray]> {
    let array = |array: &warp::SharedArray| warp::SharedArray {
        name: names::variable(&array.name),
        ..array.clone()
    };
    let arrays = kernel.warp_arrays.get_or_init(|| {
        let mut arrays: Vec<_> = kernel.shared_arrays.iter().map(array).collect();
        arrays.sort_by_key(|array| array.start);
        arrays.into()
    });
    Arc::clone(arrays)
}

/// The records of a block that have not been handed over.
#[derive(Debug, Default)]
pub struct Pieces<P> {
    full: Vec<P>,
    last: P,
}

impl<P: RecordPiece> BlockSink for Pieces<P> {
    #[inline(always)]
    fn accept(&mut self, access: &WarpAccess<'_>) {
        with_row(access, |row| self.last.add(row));
        if self.last.is_full() {
            self.full.push(std::mem::take(&mut self.last));
        }
    }

    fn calculate(&mut self, _: &Calculation<'_>) {}

    fn finish(&mut self) {
        let last = std::mem::take(&mut self.last);
        if !last.is_empty() {
            self.full.push(last);
        }
    }
}

/// Gives `take` a memory instruction as streams of warps have it: with the addresses of the active
/// lanes only.
#[inline(always)]
pub fn with_row<R>(access: &WarpAccess<'_>, take: impl FnOnce(&WarpRow<'_>) -> R) -> R {
    let mut row = WarpRow {
        site: access.site,
        phase: access.phase,
        position: access.position,
        block: access.block,
        warp: access.warp,
        mask: access.mask,
        space: match access.space {
            Space::Global => warp::Space::Global,
            Space::Shared => warp::Space::Shared,
            Space::Local => warp::Space::Local,
            Space::Const => warp::Space::Constant,
            Space::Param => warp::Space::Parameter,
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
    take(&row)
}

impl<W: Collector> LaunchSink for CollectorSink<W> {
    type Block = Pieces<W::Piece>;

    fn open(&mut self, _: u32) -> Pieces<W::Piece> {
        Pieces {
            full: Vec::new(),
            last: self.spare.pop().unwrap_or_default(),
        }
    }

    fn drain(&mut self, _: u32, pieces: &mut Pieces<W::Piece>) {
        self.hand_over(pieces);
    }

    fn close(&mut self, _: u32, mut pieces: Pieces<W::Piece>) {
        self.hand_over(&mut pieces);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Options, PtxModule};

    #[test]
    fn launches_of_a_kernel_share_the_texts_of_its_sites() {
        let text = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 a) {\n\
            .reg .b64 %x<2>;\nld.param.u64 %x1, [a];\nret; }\n";
        let mut device = Device::new();
        let module = device.load(PtxModule::parse(text).unwrap()).unwrap();
        let kernel = device.kernel(&module, "k", &Options::default()).unwrap();
        let launch = kernel.launch([1; 3], [32, 1, 1], 0, &[crate::Argument::Pointer(64)]);
        let launch = launch.unwrap();
        let [first, second] = [0, 1].map(|_| launch_record(&kernel, &launch).sites);
        assert_eq!(first[0].text, "ld.param.u64 (PTX line 6)");
        assert!(Arc::ptr_eq(&first, &second));
    }
}
