//! [`Exec`]: a loop over the lanes of a warp, compiled three times: for any processor, for AVX2 and
//! for AVX-512. [`Isa`] is one of the three, and this processor has it.
//!
//! [`run_warp`] is the interpreter's loop, compiled in the same way.

use reuselens_simd::{Level, V3, V4, compiled_for, entry_point};

use super::{Registers, Slots};
use crate::machine::{self, BlockRun, Pause, StoppedWarp};
use crate::sink::BlockSink;

/// A loop over the lanes of an instruction's registers.
pub trait LaneOp {
    /// Does it. Inlined into functions that are compiled for each set of instructions.
    fn run(registers: &mut Registers, slots: &Slots, mask: u32);
}

type LaneFn = unsafe fn(&mut Registers, &Slots, u32);

/// The same loop three times.
#[derive(Clone, Copy, Debug)]
pub struct Exec {
    portable: LaneFn,
    avx2: LaneFn,
    avx512: LaneFn,
}

/// The loop for this processor.
#[derive(Clone, Copy, Debug)]
pub struct Picked(LaneFn);

impl Picked {
    /// Does it, for the lanes of the mask.
    #[inline(always)]
    pub fn run(self, registers: &mut Registers, slots: &Slots, mask: u32) {
        // SAFETY: a function compiled for a set of instructions is picked only where `Isa::best`
        // has seen that set, and has no other demand.
        unsafe { (self.0)(registers, slots, mask) }
    }
}

/// A set of instructions that this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Level);

impl Isa {
    /// What every processor has.
    pub const PORTABLE: Isa = Isa(Level::PORTABLE);

    /// All sets that this processor has and loops are compiled for, the best one last.
    pub fn available() -> Vec<Isa> {
        let best = Level::best();
        let compiled = [V3::of(best).map(V3::level), V4::of(best).map(V4::level)];
        let compiled = compiled.into_iter().flatten().map(Isa);
        std::iter::once(Isa::PORTABLE).chain(compiled).collect()
    }

    /// The best one.
    pub fn best() -> Isa {
        Isa::available().pop().unwrap_or(Isa::PORTABLE)
    }

    /// The level that it is.
    pub(crate) fn level(self) -> Level {
        self.0
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        if V4::of(self.0).is_some() {
            "AVX-512"
        } else if V3::of(self.0).is_some() {
            "AVX2"
        } else {
            "portable"
        }
    }
}

impl Exec {
    /// The loops of `O`.
    pub const fn of<O: LaneOp>() -> Exec {
        Exec {
            portable: portable::<O>,
            #[cfg(target_arch = "x86_64")]
            avx2: avx2::<O>,
            #[cfg(target_arch = "x86_64")]
            avx512: avx512::<O>,
            #[cfg(not(target_arch = "x86_64"))]
            avx2: portable::<O>,
            #[cfg(not(target_arch = "x86_64"))]
            avx512: portable::<O>,
        }
    }

    /// The one for that set.
    pub fn pick(self, isa: Isa) -> Picked {
        Picked(if V4::of(isa.0).is_some() {
            self.avx512
        } else if V3::of(isa.0).is_some() {
            self.avx2
        } else {
            self.portable
        })
    }
}

fn portable<O: LaneOp>(registers: &mut Registers, slots: &Slots, mask: u32) {
    O::run(registers, slots, mask);
}

#[cfg(target_arch = "x86_64")]
compiled_for! {
    V3: fn avx2<O: LaneOp>(registers: &mut Registers, slots: &Slots, mask: u32) {
        O::run(registers, slots, mask);
    }
}

#[cfg(target_arch = "x86_64")]
compiled_for! {
    V4: fn avx512<O: LaneOp>(registers: &mut Registers, slots: &Slots, mask: u32) {
        O::run(registers, slots, mask);
    }
}

entry_point! {
    /// Lets a warp go on until it pauses, with code for the instructions of `level`.
    pub fn run_warp<B: BlockSink>(
        level,
        block: &mut BlockRun<'_, B>,
        warp: usize,
        quantum: u64,
    ) -> Result<Pause, StoppedWarp> {
        V4(_) => machine::run_warp(block, warp, quantum),
        V3(_) => machine::run_warp(block, warp, quantum),
        _ => machine::run_warp(block, warp, quantum),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::{Lane, WARP};

    /// Triples a narrow register.
    struct Triple;

    impl LaneOp for Triple {
        fn run(registers: &mut Registers, slots: &Slots, mask: u32) {
            let tripled = registers.narrow[slots.a as usize].0.map(|value| 3 * value);
            u32::put(registers, slots.d, &tripled, mask);
        }
    }

    #[test]
    fn every_instruction_set_writes_the_same_lanes() {
        let mask = 0x8f0f_3355;
        for isa in Isa::available() {
            let mut registers = Registers::new(2, 0, 0);
            registers.narrow[0].0 = std::array::from_fn(|lane| lane as u32);
            let slots = Slots {
                d: 1,
                ..Slots::default()
            };
            Exec::of::<Triple>()
                .pick(isa)
                .run(&mut registers, &slots, mask);
            let expected: [u32; WARP] =
                std::array::from_fn(|lane| 3 * lane as u32 * (mask >> lane & 1));
            assert_eq!(registers.narrow[1].0, expected, "{}", isa.name());
        }
    }
}
