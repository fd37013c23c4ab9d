//! Random launches for the tests, and a way to analyse them.

use reuselens_gpu_advisor::{
    Advisor, AdvisorOptions, InstructionCounts, KernelReport, LaunchContext, ObjectRange,
};
use reuselens_warp::{Extent, Launch, Space, WarpKind, WarpRow};

/// A generator of random numbers (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A record that owns its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub site: u32,
    pub phase: u32,
    pub position: u64,
    pub block: u32,
    pub warp: u32,
    pub mask: u32,
    pub space: Space,
    pub kind: WarpKind,
    pub bytes: u8,
    pub addresses: Vec<u64>,
}

impl Record {
    pub fn row(&self) -> WarpRow<'_> {
        WarpRow {
            site: self.site,
            phase: self.phase,
            position: self.position,
            block: self.block,
            warp: self.warp,
            mask: self.mask,
            space: self.space,
            kind: self.kind,
            bytes: self.bytes,
            addresses: &self.addresses,
        }
    }
}

/// A launch with its records: block after block, and in a block warp after warp, as the interpreter
/// delivers them.
pub struct RandomLaunch {
    pub launch: Launch,
    pub context: LaunchContext,
    pub records: Vec<Record>,
}

pub fn launch(blocks: u32, threads: u32) -> Launch {
    Launch {
        kernel: "kernel".to_owned(),
        grid: Extent::line(blocks),
        block: Extent::line(threads),
        used: None,
        arrays: [].into(),
        sites: [].into(),
    }
}

/// Some lines of memory from here.
const BASE: u64 = 0x7000_0000;

pub fn random_launch(random: &mut Random) -> RandomLaunch {
    let warps = 1 + random.below(3) as u32;
    let blocks = 1 + random.below(9) as u32;
    let lines = 1 + random.below(24);
    let are_alike = random.below(2) == 0;
    let has_barriers = random.below(2) == 0;
    let mut records = Vec::new();
    for block in 0..blocks {
        if are_alike && block > 0 && random.below(8) > 0 {
            records.extend(shifted_block(random, &records, block));
            continue;
        }
        for warp in 0..warps {
            let (mut phase, mut position) = (0, 0);
            for _ in 0..random.below(14) {
                if has_barriers && random.below(3) == 0 {
                    (phase, position) = (phase + 1 + random.below(2) as u32, 0);
                }
                position += 1 + random.below(2);
                records.push(Record {
                    phase,
                    ..random_record(random, block, warp, position, lines)
                });
            }
        }
    }
    let mut objects = Vec::new();
    let mut start = BASE + random.below(300);
    while start < BASE + 24 * 128 {
        let end = start + 1 + random.below(900);
        objects.push(ObjectRange {
            start,
            end,
            object: objects.len() as u32 * 7 + 3,
        });
        start = end + random.pick(&[0, 0, 40, 200]);
    }
    RandomLaunch {
        launch: launch(blocks, warps * 32),
        context: LaunchContext {
            call_path: 5,
            objects: objects.into(),
        },
        records,
    }
}

/// The block before one again, with the lines of each site elsewhere; often with one record
/// changed.
fn shifted_block(random: &mut Random, records: &[Record], block: u32) -> Vec<Record> {
    let of_before = records.iter().filter(|record| record.block == block - 1);
    let mut own: Vec<Record> = of_before.cloned().collect();
    let most = random.pick(&[1, 2, 40]);
    let shifts: [u64; 5] = std::array::from_fn(|_| 128 * random.below(most));
    let is_negative = random.below(3) == 0;
    for record in &mut own {
        record.block = block;
        for address in &mut record.addresses {
            let shift = shifts[record.site as usize];
            *address = if is_negative {
                *address - shift
            } else {
                *address + shift
            };
        }
    }
    if !own.is_empty() && random.below(3) == 0 {
        let at = random.below(own.len() as u64) as usize;
        let step = random.pick(&[4, 16, 128]);
        own[at].addresses.iter_mut().for_each(|at| *at += step);
    }
    own
}

fn random_record(random: &mut Random, block: u32, warp: u32, position: u64, lines: u64) -> Record {
    let bytes = random.pick(&[4, 4, 4, 8, 8, 16, 1, 2, 12]);
    let mask = match random.below(4) {
        0 => random.next() as u32 | 1,
        1 => 1 << random.below(32),
        _ => u32::MAX,
    };
    let step: u64 = random.pick(&[0, 1, 1, 1, 2, 5, 32, 33]);
    let align = u64::from(bytes) * random.pick(&[1, 1, 1, 4]);
    let mut base = BASE + random.below(lines * 128) / align * align;
    if random.below(12) == 0 {
        base += random.below(5);
    }
    let scatters = random.below(5) == 0;
    let falls = random.below(6) == 0;
    let address = |lane: u64, random: &mut Random| match (scatters, falls) {
        (true, _) => BASE + random.below(lines * 128) / u64::from(bytes) * u64::from(bytes),
        (_, true) => base + (31 - lane) * step * u64::from(bytes),
        _ => base + lane * step * u64::from(bytes),
    };
    let lanes = (0..32).filter(|lane| mask >> lane & 1 != 0);
    Record {
        site: random.below(5) as u32,
        phase: 0,
        position,
        block,
        warp,
        mask,
        space: random.pick(&[
            Space::Global,
            Space::Global,
            Space::Global,
            Space::Shared,
            Space::Local,
        ]),
        kind: random.pick(&[
            WarpKind::Load,
            WarpKind::Load,
            WarpKind::Store,
            WarpKind::Atomic,
        ]),
        bytes,
        addresses: lanes.map(|lane| address(lane, random)).collect(),
    }
}

/// Analyses one launch, block by block.
pub fn analyse(
    options: AdvisorOptions,
    launch: &Launch,
    context: &LaunchContext,
    records: &[Record],
) -> KernelReport {
    let mut advisor = Advisor::new(options);
    run(&mut advisor, launch, context, records);
    advisor.finish().remove(0)
}

/// Takes a launch into an advisor.
pub fn run(advisor: &mut Advisor, launch: &Launch, context: &LaunchContext, records: &[Record]) {
    advisor.begin(launch, context.clone());
    for block in 0..launch.grid.count() as u32 {
        let mut open = advisor.open().expect("a launch has begun");
        for record in records.iter().filter(|record| record.block == block) {
            open.record(&record.row());
        }
        advisor.close(open);
    }
    advisor.end(InstructionCounts::default());
}

/// A request of one warp with an address for each lane of the mask.
pub fn request(
    position: u64,
    kind: WarpKind,
    mask: u32,
    bytes: u8,
    address: impl Fn(u64) -> u64,
) -> Record {
    let lanes = (0..32).filter(|lane| mask >> lane & 1 != 0);
    Record {
        site: 0,
        phase: 0,
        position,
        block: 0,
        warp: 0,
        mask,
        space: Space::Global,
        kind,
        bytes,
        addresses: lanes.map(address).collect(),
    }
}
