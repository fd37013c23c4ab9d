//! [`GpuDepths`]: depths of a breadth-first search on a device.
//!
//! A batch is repaired in three steps. The ends of deleted edges from one level to the next lose
//! their depth if no neighbour of the level above is left, level by level (Ramalingam and Reps,
//! 1996). Then they, and the ends of inserted edges that are shorter ways, take the least depth
//! that a neighbour offers. Then depths are lowered from there, level by level again, so each
//! vertex is expanded once. If most vertices lose their depth, all are computed again.

use reuselens_cuda::{Device, DeviceArray, Gpu, Params};
use reuselens_graph::{Delta, Edge, EdgeKind, VertexId};
use reuselens_incremental::{Choice, Policy, UNREACHED, Work};

use crate::answer::{AnswerArrays, GpuAnswer};
use crate::error::GpuError;
use crate::graph::GpuState;

/// Words of the kernels' `Search`, and places in it.
const SEARCH_WORDS: u64 = 8;
const LEVEL: u64 = 0;
const COUNTS: u64 = 1;
const LOST: u64 = 4;
const SCANNED: u64 = 6;

/// Depths from a root, kept by kernels on a device. They are those of
/// [`StaticDepths`](reuselens_incremental::StaticDepths), [`UNREACHED`] without a path.
///
/// Takes 40 bytes per vertex of the device's memory, and 4 of the host's.
pub type GpuDepths<D> = GpuAnswer<D, DepthArrays>;

/// What the kernels of depths work on.
pub struct DepthArrays {
    root: VertexId,
    depths: DeviceArray<u32>,
    /// The number of the batch in which a vertex was queued to lose its depth.
    stamps: DeviceArray<u32>,
    stamp: u32,
    /// Two queues, each with room for twice the vertices.
    queues: DeviceArray<u32>,
    /// Vertices whose depths are found again, and what they are offered.
    vertices: DeviceArray<u32>,
    offers: DeviceArray<u32>,
    search: DeviceArray<u32>,
}

/// A vertex with the level at which it is queued, in this order.
type Seed = (u32, VertexId);

/// The kernels that take a level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LevelKernel {
    Expand,
    Lose,
}

impl AnswerArrays for DepthArrays {
    type Value = u32;

    fn repair<D: Device>(
        &mut self,
        state: &mut GpuState<D>,
        delta: &Delta,
        values: &mut Vec<u32>,
    ) -> Result<Work, GpuError> {
        let known = values.len() as u32;
        self.grow(&mut state.gpu, known, state.vertices)?;
        let mut before = values.clone();
        before.resize(state.vertices as usize, UNREACHED);
        let mut seeds = Vec::new();
        if self.root >= known && self.root < state.vertices {
            before[self.root as usize] = 0;
            state.gpu.write(&self.depths, u64::from(self.root), &[0])?;
            seeds.push((0, self.root));
        }
        let losses = losses(state.kind, delta, &before);
        let gains = gains(state.kind, delta, &before);
        if losses.is_empty() && gains.is_empty() && seeds.is_empty() {
            *values = before;
            return Ok(Work::default());
        }
        self.begin(&mut state.gpu)?;
        let reached = before.iter().filter(|depth| **depth != UNREACHED).count();
        let lost = match state.policy {
            Policy::Predict => self.lose(state, &losses, reached as u32 / 2)?,
            Policy::Repair => self.lose(state, &losses, u32::MAX)?,
            Policy::Recompute => None,
        };
        let (choice, found) = match lost {
            Some(lost) => {
                seeds.extend(self.offer(state, lost, &gains, &before)?);
                seeds.sort_unstable();
                seeds.dedup();
                let (_, found) = self.levels(state, LevelKernel::Expand, &seeds, u32::MAX)?;
                (Choice::Repaired, found)
            }
            None => (Choice::Recomputed, self.compute(state)?),
        };
        *values = self.read(state)?;
        let pairs = before.iter().zip(values.iter());
        let gone = pairs.filter(|(before, now)| **now == UNREACHED && before != now);
        Ok(Work {
            choice,
            scanned: self.scanned(&state.gpu)?,
            affected: found + gone.count() as u64,
            predicted: 0,
        })
    }

    fn addresses(&self) -> Vec<u64> {
        let arrays = [
            &self.depths,
            &self.stamps,
            &self.queues,
            &self.vertices,
            &self.offers,
            &self.search,
        ];
        arrays.map(DeviceArray::address).to_vec()
    }
}

/// Ends of deleted edges from one level to the next, each with its level.
fn losses(kind: EdgeKind, delta: &Delta, depths: &[u32]) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (from, to) in directions(kind, &delta.deleted) {
        let (from, depth) = (depths[from as usize], depths[to as usize]);
        if from != UNREACHED && depth == from + 1 {
            seeds.push((depth, to));
        }
    }
    seeds.sort_unstable();
    seeds.dedup();
    seeds
}

/// Ends of inserted edges that are shorter ways.
fn gains(kind: EdgeKind, delta: &Delta, depths: &[u32]) -> Vec<VertexId> {
    let mut vertices = Vec::new();
    for (from, to) in directions(kind, &delta.inserted) {
        let (from, depth) = (depths[from as usize], depths[to as usize]);
        if from != UNREACHED && from + 1 < depth {
            vertices.push(to);
        }
    }
    vertices.sort_unstable();
    vertices.dedup();
    vertices
}

/// Edges as depths follow them.
fn directions(kind: EdgeKind, edges: &[Edge]) -> impl Iterator<Item = (VertexId, VertexId)> {
    edges.iter().flat_map(move |edge| {
        let back = (kind == EdgeKind::Undirected).then_some((edge.to, edge.from));
        [Some((edge.from, edge.to)), back].into_iter().flatten()
    })
}

impl DepthArrays {
    /// Puts the depths from `root` on the device, and returns them too.
    pub fn new<D: Device>(
        state: &mut GpuState<D>,
        root: VertexId,
    ) -> Result<(Self, Vec<u32>), GpuError> {
        let gpu = &mut state.gpu;
        let mut new = Self {
            root,
            depths: gpu.array(1)?,
            stamps: gpu.array(1)?,
            stamp: 0,
            queues: gpu.array(1)?,
            vertices: gpu.array(1)?,
            offers: gpu.array(1)?,
            search: gpu.array(SEARCH_WORDS)?,
        };
        new.grow(gpu, 0, state.vertices)?;
        new.compute(state)?;
        let depths = new.read(state)?;
        Ok((new, depths))
    }

    fn grow<D: Device>(
        &mut self,
        gpu: &mut Gpu<D>,
        known: u32,
        vertices: u32,
    ) -> Result<(), GpuError> {
        let (known, vertices) = (u64::from(known), u64::from(vertices));
        gpu.grow(&mut self.depths, vertices)?;
        gpu.fill(&self.depths, known..vertices, 0xff)?;
        gpu.grow(&mut self.stamps, vertices)?;
        gpu.grow(&mut self.queues, 4 * vertices)?;
        gpu.grow(&mut self.vertices, 2 * vertices)?;
        Ok(gpu.grow(&mut self.offers, 2 * vertices)?)
    }

    /// Clears what the kernels count.
    fn begin<D: Device>(&self, gpu: &mut Gpu<D>) -> Result<(), GpuError> {
        Ok(gpu.fill(&self.search, 0..SEARCH_WORDS, 0)?)
    }

    /// Computes all depths. Returns the number of vertices that were reached.
    fn compute<D: Device>(&self, state: &mut GpuState<D>) -> Result<u64, GpuError> {
        let root = self.root;
        let vertices = u64::from(state.vertices);
        state.gpu.fill(&self.depths, 0..vertices, 0xff)?;
        self.begin(&mut state.gpu)?;
        if root >= state.vertices {
            return Ok(0);
        }
        state.gpu.write(&self.depths, u64::from(root), &[0])?;
        let found = self.levels(state, LevelKernel::Expand, &[(0, root)], u32::MAX)?;
        Ok(found.1)
    }

    /// Takes the depths of vertices that have no neighbour above any more. Returns their number, or
    /// nothing if it gave up because there were more than `limit`.
    fn lose<D: Device>(
        &mut self,
        state: &mut GpuState<D>,
        seeds: &[Seed],
        limit: u32,
    ) -> Result<Option<u32>, GpuError> {
        if self.stamp == u32::MAX {
            let vertices = u64::from(state.vertices);
            state.gpu.fill(&self.stamps, 0..vertices, 0)?;
            self.stamp = 0;
        }
        self.stamp += 1;
        let (lost, _) = self.levels(state, LevelKernel::Lose, seeds, limit)?;
        Ok((lost <= limit).then_some(lost))
    }

    /// Offers depths to the first `lost` of the listed vertices, and to `gains`. Returns those that
    /// took one, with their new levels.
    fn offer<D: Device>(
        &mut self,
        state: &mut GpuState<D>,
        lost: u32,
        gains: &[VertexId],
        before: &[u32],
    ) -> Result<Vec<Seed>, GpuError> {
        let count = u64::from(lost) + gains.len() as u64;
        if count == 0 {
            return Ok(Vec::new());
        }
        let gpu = &mut state.gpu;
        let mut vertices = gpu.read(&self.vertices, 0..u64::from(lost))?;
        vertices.extend(gains);
        gpu.write(&self.vertices, u64::from(lost), gains)?;
        gpu.fill(&self.offers, 0..count, 0xff)?;
        let into = state.in_lists();
        let params = Params::default()
            .arrays(into.arrays())
            .array(&self.depths)
            .array(&self.vertices)
            .word(count as u32)
            .array(&self.offers)
            .array(&self.search)
            .word(into.shift());
        let threads = count << into.shift();
        state.gpu.launch("depths_offer", threads, params)?;
        let offers = state.gpu.read(&self.offers, 0..count)?;
        let taken = offers.into_iter().zip(vertices).enumerate();
        let taken = taken.filter(|(at, (offer, vertex))| {
            let is_lost = (*at as u64) < u64::from(lost);
            *offer < UNREACHED && (is_lost || *offer < before[*vertex as usize])
        });
        Ok(taken.map(|(_, seed)| seed).collect())
    }

    /// Runs a kernel level by level, from the seeds, which are sorted, on; ends early once more
    /// than `limit` vertices have lost their depth. Returns the number of these, and of all
    /// vertices that were taken.
    fn levels<D: Device>(
        &self,
        state: &mut GpuState<D>,
        pass: LevelKernel,
        mut seeds: &[Seed],
        limit: u32,
    ) -> Result<(u32, u64), GpuError> {
        let (mut level, mut count, mut lost, mut taken) = (0, 0_u32, 0, 0);
        loop {
            if count == 0 {
                let Some(&(next, _)) = seeds.first() else {
                    return Ok((lost, taken));
                };
                level = next;
                state.gpu.write(&self.search, LEVEL, &[level])?;
            }
            let fresh = seeds.partition_point(|(at, _)| *at == level);
            if fresh > 0 {
                let (now, later) = seeds.split_at(fresh);
                let now: Vec<u32> = now.iter().map(|(_, vertex)| *vertex).collect();
                let queue = u64::from(level & 1) * self.room();
                let end = queue + u64::from(count);
                state.gpu.write(&self.queues, end, &now)?;
                count += fresh as u32;
                let place = COUNTS + u64::from(level & 1);
                state.gpu.write(&self.search, place, &[count])?;
                seeds = later;
            }
            taken += u64::from(count);
            self.launch(state, pass, count)?;
            level += 1;
            let words = state.gpu.read(&self.search, 0..SEARCH_WORDS)?;
            count = words[(COUNTS + u64::from(level & 1)) as usize];
            lost = words[LOST as usize];
            if lost > limit {
                return Ok((lost, taken));
            }
        }
    }

    fn launch<D: Device>(
        &self,
        state: &mut GpuState<D>,
        pass: LevelKernel,
        count: u32,
    ) -> Result<(), GpuError> {
        let out = &state.out;
        let room = self.room() as u32;
        match pass {
            LevelKernel::Expand => {
                let params = Params::default()
                    .arrays(out.arrays())
                    .array(&self.depths)
                    .array(&self.queues)
                    .word(room)
                    .array(&self.search)
                    .word(out.shift());
                let threads = u64::from(count) << out.shift();
                Ok(state.gpu.launch("depths_expand", threads, params)?)
            }
            LevelKernel::Lose => {
                let params = Params::default()
                    .arrays(state.in_lists().arrays())
                    .arrays(out.arrays())
                    .array(&self.depths)
                    .array(&self.stamps)
                    .word(self.stamp)
                    .array(&self.queues)
                    .word(room)
                    .array(&self.vertices)
                    .array(&self.search);
                Ok(state.gpu.launch("depths_lose", u64::from(count), params)?)
            }
        }
    }

    /// The vertices that a queue has room for.
    fn room(&self) -> u64 {
        self.queues.room() / 2
    }

    /// Ids of neighbours that the kernels read.
    fn scanned<D: Device>(&self, gpu: &Gpu<D>) -> Result<u64, GpuError> {
        let words = gpu.read(&self.search, SCANNED..SCANNED + 2)?;
        Ok(u64::from(words[0]) | u64::from(words[1]) << 32)
    }

    fn read<D: Device>(&self, state: &GpuState<D>) -> Result<Vec<u32>, GpuError> {
        let vertices = u64::from(state.vertices);
        Ok(state.gpu.read(&self.depths, 0..vertices)?)
    }
}
