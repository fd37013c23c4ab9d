//! [`Mapping`]: a permutation of the threads of a launch, and the run that it makes of another run
//! ([`Mapping::apply`]).

use std::sync::Arc;

use crate::run::{
    BlockStream, BlockWriter, InstructionCursor, PhaseSite, StreamStore, in_lockstep,
};
use crate::{KernelRun, SimtError};

/// How far a mapping goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappingDepth {
    /// Threads are clustered into warps.
    Threads,
    /// And warps into blocks.
    Warps,
    /// And blocks are put in order.
    Blocks,
}

/// Which thread does whose work: `TIdx = f(threadIdx)`, for all threads of a launch, numbered block
/// by block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    threads: Vec<u32>,
    block: usize,
}

impl Mapping {
    /// Thread `n` of the re-mapped launch does what thread `threads[n]` did before; blocks of
    /// `block` threads.
    ///
    /// # Errors
    /// [`SimtError::Unfit`] if it is no permutation of whole blocks.
    pub fn new(threads: Vec<u32>, block: usize) -> Result<Mapping, SimtError> {
        let mut seen = vec![false; threads.len()];
        let all = threads.iter().all(|&thread| {
            let seen = seen.get_mut(thread as usize);
            seen.is_some_and(|seen| !std::mem::replace(seen, true))
        });
        if !all || block == 0 || !threads.len().is_multiple_of(block) {
            return Err(SimtError::Unfit(
                "a mapping should hold each thread of whole blocks once".to_owned(),
            ));
        }
        Ok(Mapping { threads, block })
    }

    /// Nothing moves.
    pub fn identity(run: &KernelRun) -> Result<Mapping, SimtError> {
        let block = run.block_threads();
        let threads = run.threads();
        let threads = u32::try_from(threads).map_err(|_| SimtError::TooLarge {
            what: "threads to map",
            found: threads,
            limit: u32::MAX.into(),
            hint: "run the kernel on smaller data",
        })?;
        Mapping::new((0..threads).collect(), block as usize)
    }

    /// Whose work each thread does.
    pub fn threads(&self) -> &[u32] {
        &self.threads
    }

    /// Whose work each thread does, as a kernel loads it: little-endian 32-bit numbers.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.threads
            .iter()
            .flat_map(|thread| thread.to_le_bytes())
            .collect()
    }

    /// The run with threads in their new places: each does what it did, and blocks go in lockstep
    /// by phases and sites.
    ///
    /// # Errors
    /// [`SimtError::Unfit`] if it is a mapping of another number of threads.
    pub fn apply(&self, run: &KernelRun) -> Result<KernelRun, SimtError> {
        let steps = ThreadSteps::of(run, self.threads.len())?;
        let mut blocks = Vec::new();
        for (number, members) in self.threads.chunks(self.block).enumerate() {
            let block = steps.block(number as u32, members)?;
            if !block.is_empty() {
                blocks.push(block);
            }
        }
        Ok(KernelRun {
            launch: run.launch.clone(),
            blocks,
            items: Arc::clone(&run.items),
            grain: run.grain,
            is_last: run.is_last,
            uses_shared: run.uses_shared,
            class: run.class,
            loaded: None,
            file: None,
        })
    }
}

/// What each thread does, in order.
struct ThreadSteps {
    /// Where each thread's steps begin; one more than there are threads.
    threads: Vec<usize>,
    /// Phase and site, and where its items begin; one more than there are steps.
    steps: Vec<(PhaseSite, u32)>,
    items: Vec<u32>,
}

impl ThreadSteps {
    fn of(run: &KernelRun, threads: usize) -> Result<ThreadSteps, SimtError> {
        let mut list: Vec<Vec<(PhaseSite, u32, bool)>> = vec![Vec::new(); threads];
        let mut is_outside = false;
        for block in run.blocks() {
            block.visit(|found| {
                let place = (found.phase, found.site);
                let mut before = None;
                for (&item, &thread) in found.items.iter().zip(found.threads) {
                    let home = block.number as usize * run.block_threads() as usize;
                    match list.get_mut(home + usize::from(thread)) {
                        Some(own) => own.push((place, item, before != Some(thread))),
                        None => is_outside = true,
                    }
                    before = Some(thread);
                }
            });
        }
        if is_outside {
            let what = "the mapping is of fewer threads than the run has";
            return Err(SimtError::Unfit(what.to_owned()));
        }
        let mut all = ThreadSteps {
            threads: vec![0],
            steps: Vec::new(),
            items: Vec::new(),
        };
        for own in list {
            for (place, item, first) in own {
                if first {
                    all.steps.push((place, all.items.len() as u32));
                }
                all.items.push(item);
            }
            all.threads.push(all.steps.len());
        }
        all.steps
            .push(((u32::MAX, u32::MAX), all.items.len() as u32));
        Ok(all)
    }

    fn block(&self, number: u32, members: &[u32]) -> Result<BlockStream, SimtError> {
        let place = |at: usize| self.steps[at].0;
        let cursor = |&thread: &u32| InstructionCursor {
            next: self.threads[thread as usize],
            end: self.threads[thread as usize + 1],
            place,
        };
        let mut heads: Vec<_> = members.iter().map(cursor).collect();
        let mut store = StreamStore::unlimited();
        let mut block = BlockWriter::new(number, &mut store);
        in_lockstep(&mut heads, |place, heads, issued| {
            for &thread in issued {
                let at = heads[thread].next;
                let items = self.steps[at].1 as usize..self.steps[at + 1].1 as usize;
                for &item in &self.items[items] {
                    block.touch(thread as u16, item);
                }
            }
            block.end(place)
        })?;
        Ok(block.finish()?)
    }
}
