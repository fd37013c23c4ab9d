//! Streams of kernels with known access patterns, without running a kernel: for tests and
//! measurements.
//!
//! A [`Kernel`] says what one thread accesses; threads of a warp are put in lockstep here, as an
//! interpreter would.

mod kernels;

pub use kernels::Kernel;

use std::convert::Infallible;

use reuselens_trace::TraceError;
use reuselens_warp::{
    Extent, KernelSite, LANES, Launch, Space, WarpAccess, WarpBatch, WarpKind, WarpSink,
};

use crate::graph::Graph;
use crate::run::{InstructionCursor, in_lockstep};

/// One access of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadAccess {
    /// Which instruction of the kernel.
    pub site: u32,
    /// Where.
    pub address: u64,
    /// Which memory.
    pub space: Space,
    /// Load, store or atomic.
    pub kind: WarpKind,
    /// How many bytes.
    pub bytes: u8,
}

/// Hands the stream of `kernel` over `graph` to `sink`: a thread for each node (or element), in
/// blocks of `threads` threads.
///
/// # Errors
/// Those of the sink.
pub fn stream(
    kernel: Kernel,
    graph: &Graph,
    threads: u32,
    sink: &mut dyn WarpSink,
) -> Result<(), TraceError> {
    let count = kernel.threads(graph);
    let blocks = count.div_ceil(threads);
    sink.launch(&Launch {
        kernel: kernel.name().to_owned(),
        grid: Extent::line(blocks),
        block: Extent::line(threads),
        used: None,
        arrays: [].into(),
        sites: kernel.sites().iter().map(site).collect(),
    })?;
    let mut batch = WarpBatch::new();
    for warp in 0..blocks * threads.div_ceil(LANES as u32) {
        let (block, warp) = (
            warp / threads.div_ceil(LANES as u32),
            warp % threads.div_ceil(LANES as u32),
        );
        let first = block * threads + warp * LANES as u32;
        let end = count.min((block + 1) * threads).min(first + LANES as u32);
        self::warp(kernel, graph, block, warp, first..end, &mut batch);
        if batch.is_full() {
            sink.batch(&batch)?;
            batch.clear();
        }
    }
    sink.batch(&batch)
}

fn site(text: &&str) -> KernelSite {
    KernelSite {
        text: (*text).to_owned(),
        ..KernelSite::default()
    }
}

/// Adds the records of one warp.
fn warp(
    kernel: Kernel,
    graph: &Graph,
    block: u32,
    warp: u32,
    threads: std::ops::Range<u32>,
    batch: &mut WarpBatch,
) {
    let (mut accesses, mut ends) = (Vec::new(), vec![0]);
    for thread in threads {
        kernel.thread(graph, thread, &mut |access| accesses.push(access));
        ends.push(accesses.len());
    }
    let place = |at: usize| (0, accesses[at].site);
    let cursor = |ends: &[usize]| InstructionCursor {
        next: ends[0],
        end: ends[1],
        place,
    };
    let mut heads: Vec<_> = ends.windows(2).map(cursor).collect();
    let mut position = 0;
    let Ok(()) = in_lockstep(&mut heads, |(_, site), heads, issued| {
        position += 1;
        let access_of = |lane: usize| accesses[heads[lane].next];
        let ThreadAccess {
            space, kind, bytes, ..
        } = access_of(issued[0]);
        let (mut mask, mut addresses) = (0, [0; LANES]);
        for &lane in issued {
            mask |= 1 << lane;
            addresses[lane] = access_of(lane).address;
        }
        batch.push(&WarpAccess {
            site,
            phase: 0,
            position,
            block,
            warp,
            mask,
            space,
            kind,
            bytes,
            addresses,
        });
        Ok::<(), Infallible>(())
    });
}
