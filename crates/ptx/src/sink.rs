//! What a caller sees of a kernel while it runs: a [`LaunchSink`] gives each block a [`BlockSink`],
//! which gets a [`WarpAccess`] for each memory instruction of each warp, and a [`Calculation`] for
//! each arithmetic operation if that was asked for.
//!
//! Two sinks are here: [`Ignore`], and [`Count`], which counts accesses and sectors.

/// The memory that an access goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Space {
    /// Memory of the device, constants of the module with it.
    Global,
    /// Memory of a block; addresses count from its beginning.
    Shared,
    /// Memory of a thread; addresses count from its beginning.
    Local,
    /// Constants.
    Const,
    /// The kernel's parameters; addresses count from the first one.
    Param,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum WarpKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads, changes and writes.
    Atomic,
}

/// A memory instruction, as one warp executed it once.
///
/// Loads of a kernel's parameters are among them, as PTX has them. A generic access that goes to
/// several spaces is one record for each.
#[derive(Clone, Copy, Debug)]
pub struct WarpAccess<'a> {
    /// Which instruction: index into [`Kernel::sites`](crate::Kernel::sites).
    pub site: u32,
    /// Which barriers it is after: whatever has to be done before this access because of barriers
    /// is in an earlier phase. 0 until the warp has passed one.
    pub phase: u32,
    /// Number of this memory instruction among those of its warp in the phase, from 1.
    pub position: u64,
    /// Number of the block, x fastest.
    pub block: u32,
    /// Number of the warp in its block.
    pub warp: u32,
    /// Which lanes take part.
    pub mask: u32,
    /// Where.
    pub space: Space,
    /// What.
    pub kind: WarpKind,
    /// Bytes that each lane accesses, all elements of a vector together.
    pub bytes: u8,
    /// Of the lanes of the mask; the others are left over from before.
    pub addresses: &'a [u64; 32],
}

/// An arithmetic operation, as one warp executed it once: operator and operands.
#[derive(Clone, Copy, Debug)]
pub struct Calculation<'a> {
    /// Which instruction: index into [`Kernel::calculations`](crate::Kernel::calculations).
    pub instruction: u32,
    /// Number of the block, x fastest.
    pub block: u32,
    /// Number of the warp in its block.
    pub warp: u32,
    /// Which lanes take part.
    pub mask: u32,
    /// The sources, in the order of PTX; three at most.
    pub operands: &'a [OperandValues<'a>],
}

/// What a source of a calculation is in each lane; lanes that do not take part have what is left
/// over from before.
#[derive(Clone, Copy, Debug)]
pub enum OperandValues<'a> {
    /// Types of up to 32 bits, in the low bits.
    Narrow(&'a [u32; 32]),
    /// Types of 64 bits.
    Wide(&'a [u64; 32]),
    /// A predicate: a bit for each lane.
    Predicate(u32),
}

impl OperandValues<'_> {
    /// The bits of a lane.
    ///
    /// # Panics
    /// If there is no such lane.
    pub fn bits(&self, lane: usize) -> u64 {
        match self {
            OperandValues::Narrow(values) => values[lane].into(),
            OperandValues::Wide(values) => values[lane],
            OperandValues::Predicate(lanes) => u64::from(lanes >> lane & 1),
        }
    }
}

/// Looks at the memory instructions of one block, on the thread that runs it.
///
/// The interpreter is compiled anew for each: what a sink does not look at is not made.
pub trait BlockSink: Send {
    /// Takes a record.
    fn accept(&mut self, access: &WarpAccess<'_>);
    /// Takes a calculation; called only for kernels that were decoded with
    /// [`Options::arithmetic`](crate::Options::arithmetic).
    fn calculate(&mut self, calculation: &Calculation<'_>);
    /// The block has ended. Work that needs all its records is best done here: threads do it side
    /// by side, while [`LaunchSink::close`] takes one block after the other.
    fn finish(&mut self);
}

/// Looks at launches: gives each block its own sink, and takes them back in the order of the
/// blocks, whatever thread ran them and whenever they ended.
pub trait LaunchSink {
    /// The sink of a block.
    type Block: BlockSink;
    /// For a block that is about to run.
    fn open(&mut self, block: u32) -> Self::Block;
    /// Of a block that is running and the next to be taken back: what it has collected so far may
    /// be taken. A sink that collects nothing does nothing.
    fn drain(&mut self, block: u32, sink: &mut Self::Block);
    /// Of a block that has ended and is finished ([`BlockSink::finish`]), in order.
    fn close(&mut self, block: u32, sink: Self::Block);
}

/// A sink that ignores all accesses.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignore;

impl BlockSink for Ignore {
    #[inline(always)]
    fn accept(&mut self, _: &WarpAccess<'_>) {}

    fn calculate(&mut self, _: &Calculation<'_>) {}

    fn finish(&mut self) {}
}

impl LaunchSink for Ignore {
    type Block = Ignore;

    fn open(&mut self, _: u32) -> Ignore {
        Ignore
    }

    fn drain(&mut self, _: u32, _: &mut Ignore) {}

    fn close(&mut self, _: u32, _: Ignore) {}
}

/// Two that look at the same blocks.
impl<A: BlockSink, B: BlockSink> BlockSink for (A, B) {
    #[inline(always)]
    fn accept(&mut self, access: &WarpAccess<'_>) {
        self.0.accept(access);
        self.1.accept(access);
    }

    fn calculate(&mut self, calculation: &Calculation<'_>) {
        self.0.calculate(calculation);
        self.1.calculate(calculation);
    }

    fn finish(&mut self) {
        self.0.finish();
        self.1.finish();
    }
}

impl<A: LaunchSink, B: LaunchSink> LaunchSink for (A, B) {
    type Block = (A::Block, B::Block);

    fn open(&mut self, block: u32) -> Self::Block {
        (self.0.open(block), self.1.open(block))
    }

    fn drain(&mut self, block: u32, sink: &mut Self::Block) {
        self.0.drain(block, &mut sink.0);
        self.1.drain(block, &mut sink.1);
    }

    fn close(&mut self, block: u32, sink: Self::Block) {
        self.0.close(block, sink.0);
        self.1.close(block, sink.1);
    }
}

/// Counts, without loads of parameters: the same few of each thread, which no GPU fetches from its
/// memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Memory instructions of warps.
    pub instructions: u64,
    /// Of those, the ones of global memory.
    pub requests: u64,
    /// Accesses of threads.
    pub accesses: u64,
    /// Bytes of all those.
    pub bytes: u64,
    /// Distinct sectors of 32 bytes of global memory, summed over the instructions.
    pub sectors: u64,
}

/// Bytes that a GPU moves at least.
const SECTOR_BITS: u32 = 5;

impl BlockSink for Count {
    #[inline(always)]
    fn accept(&mut self, access: &WarpAccess<'_>) {
        if access.space == Space::Param {
            return;
        }
        let lanes = u64::from(access.mask.count_ones());
        self.instructions += 1;
        self.accesses += lanes;
        self.bytes += lanes * u64::from(access.bytes);
        if access.space == Space::Global {
            self.requests += 1;
            self.sectors += sectors(access);
        }
    }

    fn calculate(&mut self, _: &Calculation<'_>) {}

    fn finish(&mut self) {}
}

/// Distinct sectors of an access: the changes of sector from lane to lane if addresses ascend, else
/// counted by sorting.
#[inline(always)]
fn sectors(access: &WarpAccess<'_>) -> u64 {
    let addresses = access.addresses;
    if access.mask == u32::MAX {
        let (mut changes, mut falls) = (0u32, 0u32);
        for lane in 1..32 {
            let (before, now) = (
                addresses[lane - 1] >> SECTOR_BITS,
                addresses[lane] >> SECTOR_BITS,
            );
            changes += u32::from(before != now);
            falls += u32::from(before > now);
        }
        let straddles =
            (addresses[0] ^ (addresses[0] + u64::from(access.bytes) - 1)) >> SECTOR_BITS != 0;
        if falls == 0 && !straddles {
            return u64::from(changes) + 1;
        }
    }
    scattered(access)
}

#[cold]
#[inline(never)]
fn scattered(access: &WarpAccess<'_>) -> u64 {
    let mut found = [0; 64];
    let mut count = 0;
    for lane in (0..32).filter(|lane| access.mask >> lane & 1 != 0) {
        let first = access.addresses[lane];
        for address in [first, first + u64::from(access.bytes).max(1) - 1] {
            found[count] = address >> SECTOR_BITS;
            count += 1;
        }
    }
    let found = &mut found[..count];
    found.sort_unstable();
    found.chunk_by(|a, b| a == b).count() as u64
}

impl LaunchSink for Count {
    type Block = Count;

    fn open(&mut self, _: u32) -> Count {
        Count::default()
    }

    /// Counts are summed when the block has ended.
    fn drain(&mut self, _: u32, _: &mut Count) {}

    fn close(&mut self, _: u32, block: Count) {
        *self += block;
    }
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.instructions += other.instructions;
        self.requests += other.requests;
        self.accesses += other.accesses;
        self.bytes += other.bytes;
        self.sectors += other.sectors;
    }
}
