//! The threads of a run as a [`Hypergraph`]: an edge for the threads that share data
//! ([`Hypergraph::of`]), or for those that would share a memory request in one warp
//! ([`Hypergraph::of_requests`]).

use hashbrown::HashMap;

use crate::KernelRun;
use crate::mapping::Hypergraph;
use crate::transactions::{DataLayout, SECTOR, own_sites};

impl Hypergraph {
    /// The threads of a run's launch, numbered block by block, and the sectors that they share;
    /// with [`DataLayout::Moved`] without those of arrays that would be permuted with the threads.
    pub fn of(run: &KernelRun, layout: DataLayout) -> Hypergraph {
        from_touches(run, layout, |_| (0, 0))
    }

    /// The same threads, and an edge for each sector of each request: the threads that touch the
    /// sector when they come to the same instruction for the same time. In one warp they do so in
    /// lockstep and fetch it once, so that [`Hypergraph::copies`] of warps falls as their
    /// transactions do, where the sectors of [`Hypergraph::of`] are counted once however often a
    /// warp comes back to them.
    pub fn of_requests(run: &KernelRun, layout: DataLayout) -> Hypergraph {
        let mut times = Times::default();
        from_touches(run, layout, |touch| (touch.site, times.of(touch)))
    }
}

/// What a thread touches.
#[derive(Clone, Copy)]
struct Touch {
    block: u32,
    /// Which instruction of the block.
    at: usize,
    /// Which instruction of the kernel.
    site: u32,
    /// Within the block.
    thread: u16,
}

/// The touches of equal keys and sectors are an edge each.
fn from_touches(
    run: &KernelRun,
    layout: DataLayout,
    mut key: impl FnMut(Touch) -> (u32, u32),
) -> Hypergraph {
    let own = match layout {
        DataLayout::Moved => own_sites(run),
        DataLayout::Kept => Vec::new(),
    };
    let block_threads = run.block_threads();
    let mut users: Vec<((u64, u32, u32), u32)> = Vec::new();
    for block in run.blocks() {
        let (number, mut at) = (block.number, 0);
        block.visit(|found| {
            at += 1;
            if own.get(found.site as usize) == Some(&true) {
                return;
            }
            for (&item, &thread) in found.items.iter().zip(found.threads) {
                let (site, time) = key(Touch {
                    block: number,
                    at,
                    site: found.site,
                    thread,
                });
                let sector = run.address(item) / SECTOR;
                let user = number * block_threads + u32::from(thread);
                users.push(((sector, site, time), user));
            }
        });
    }
    users.sort_unstable();
    users.dedup();
    let vertices = run.launch().grid.count() as usize * block_threads as usize;
    let edges = users.chunk_by(|a, b| a.0 == b.0);
    Hypergraph::new(
        vertices,
        edges.map(|users| (users.iter().map(|user| user.1).collect(), 1)),
    )
}

/// How often the threads of a block have come to an instruction of the kernel.
#[derive(Default)]
struct Times {
    block: Option<u32>,
    /// How often, and at which instruction of the block that was last.
    counts: HashMap<(u32, u16), (u32, usize)>,
}

impl Times {
    /// Which time this is, from 0. All that a thread touches at once is of one time.
    fn of(&mut self, touch: Touch) -> u32 {
        if self.block.replace(touch.block) != Some(touch.block) {
            self.counts.clear();
        }
        let count = self.counts.entry((touch.site, touch.thread));
        let (time, last) = count
            .and_modify(|(time, last)| *time += u32::from(*last != touch.at))
            .or_insert((0, touch.at));
        *last = touch.at;
        *time
    }
}
