//! Loops over lanes, compiled for any processor, for AVX2 and for AVX-512.

use super::{Registers, Slots};

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

/// A set of instructions. A value other than `Portable` is proof that the processor has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// What every processor has.
    pub const PORTABLE: Isa = Isa(Level::Portable);

    /// All sets that this processor has, the best one last.
    pub fn available() -> Vec<Isa> {
        #[allow(unused_mut, reason = "elsewhere there is one only")]
        let mut found = vec![Isa::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        {
            use std::is_x86_feature_detected as has;
            if has!("avx2")
                && has!("fma")
                && has!("bmi1")
                && has!("bmi2")
                && has!("lzcnt")
                && has!("popcnt")
            {
                found.push(Isa(Level::Avx2));
                if has!("avx512f")
                    && has!("avx512bw")
                    && has!("avx512dq")
                    && has!("avx512vl")
                    && has!("avx512cd")
                {
                    found.push(Isa(Level::Avx512));
                }
            }
        }
        found
    }

    /// The best one.
    pub fn best() -> Isa {
        Isa::available().pop().unwrap_or(Isa::PORTABLE)
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self.0 {
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "AVX-512",
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
        Picked(match isa.0 {
            Level::Portable => self.portable,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => self.avx2,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => self.avx512,
        })
    }
}

fn portable<O: LaneOp>(registers: &mut Registers, slots: &Slots, mask: u32) {
    O::run(registers, slots, mask);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn avx2<O: LaneOp>(registers: &mut Registers, slots: &Slots, mask: u32) {
    O::run(registers, slots, mask);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,bmi1,bmi2,lzcnt,popcnt"
)]
fn avx512<O: LaneOp>(registers: &mut Registers, slots: &Slots, mask: u32) {
    O::run(registers, slots, mask);
}

/// Runs a generic function compiled for a set of instructions: `$body` for each.
macro_rules! with_isa {
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$generic:ident: $bound:path>($isa:ident, $($argument:ident: $type:ty),*) -> $result:ty = $here:path) => {
        $(#[$doc])*
        $vis fn $name<$generic: $bound>($isa: Isa, $($argument: $type),*) -> $result {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            fn avx512<$generic: $bound>($($argument: $type),*) -> $result {
                $here($($argument),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2<$generic: $bound>($($argument: $type),*) -> $result {
                $here($($argument),*)
            }
            match $isa.0 {
                Level::Portable => $here($($argument),*),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: there is such an `Isa` only where the processor was seen to have the set.
                Level::Avx2 => unsafe { avx2::<$generic>($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Level::Avx512 => unsafe { avx512::<$generic>($($argument),*) },
            }
        }
    };
}

with_isa! {
    /// Lets a warp go on, with the code for that set of instructions.
    pub fn run_warp<B: crate::sink::BlockSink>(isa, block: &mut crate::machine::BlockRun<'_, B>, warp: usize, quantum: u64) -> Result<crate::machine::Pause, crate::machine::StoppedWarp> = crate::machine::run_warp
}
