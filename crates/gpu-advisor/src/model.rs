//! [`GpuModel`]: the sizes of a GPU that the cache model, the occupancy and the advice on bypassing
//! need.
//!
//! Blocks, warps and shared memory of an SM: *CUDA C++ Programming Guide*, "Technical
//! Specifications per Compute Capability", and `cuda_occupancy.h` of the CUDA toolkit. The other
//! sources are named at each GPU. What NVIDIA does not publish (the ways of the caches) is a guess.

use std::fmt;
use std::str::FromStr;

use reuselens_units::{Bytes, counted};

/// What a store does to a line that the L1 cache holds. A store always goes to the L2 cache, too,
/// and never brings a line into the L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StorePolicy {
    /// The line stays, with the new value (since Volta).
    Update,
    /// The sectors are given up (Kepler to Pascal): the next load of them misses.
    Evict,
}

/// One cache: sets of `ways` lines, the least recently used line of a set replaced. A line has 128
/// bytes in four sectors of 32, which are fetched one by one. A hash of the line's number picks the
/// set, so that strides of a power of two use all sets, as in GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheShape {
    /// Bytes that it holds.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
}

/// A GPU, as far as the models of this crate know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GpuModel {
    /// What it is called in reports.
    pub name: &'static str,
    /// Streaming multiprocessors (SMs).
    pub sms: u32,
    /// The most blocks (CTAs) that an SM holds.
    pub blocks_per_sm: u32,
    /// The most warps that an SM holds.
    pub warps_per_sm: u32,
    /// Bytes of shared memory of an SM.
    pub shared_per_sm: u64,
    /// The most bytes of shared memory of a block, with those that are reserved.
    pub shared_per_block: u64,
    /// Bytes of shared memory that each block takes beside its own.
    pub shared_reserved: u64,
    /// Bytes of which the shared memory of a block is a multiple.
    pub shared_granularity: u64,
    /// The L1 cache of an SM.
    pub l1: CacheShape,
    /// The L2 cache, which all SMs share.
    pub l2: CacheShape,
    /// What stores do in the L1.
    pub stores: StorePolicy,
}

/// What a model with sizes of its own is called.
const OWN: &str = "own GPU";
/// The most SMs of a GPU with sizes of its own.
const MOST_SMS: u32 = 4096;
/// The most bytes of its caches, those of all SMs together: the cache model has 8 bytes for each
/// line of 128.
const MOST_CACHE: u64 = 16 << 30;

impl GpuModel {
    /// The GPUs that have a name, the newest first.
    pub const NAMED: [(&'static str, GpuModel); 6] = [
        ("blackwell", GpuModel::BLACKWELL),
        ("hopper", GpuModel::HOPPER),
        ("ada", GpuModel::ADA),
        ("ampere", GpuModel::AMPERE),
        ("pascal", GpuModel::PASCAL),
        ("kepler", GpuModel::KEPLER),
    ];

    /// Compute capability 9.0 (H100 SXM): 132 SMs, 50 MiB of L2 (*NVIDIA H100 Tensor Core GPU
    /// Architecture*, table 3). Of the 256 KiB that the L1 shares
    /// with shared memory, the model gives 192 KiB to the L1.
    pub const HOPPER: GpuModel = GpuModel {
        name: "compute capability 9.0",
        sms: 132,
        blocks_per_sm: 32,
        warps_per_sm: 64,
        shared_per_sm: 228 << 10,
        shared_per_block: 228 << 10,
        shared_reserved: 1 << 10,
        shared_granularity: 128,
        l1: CacheShape {
            bytes: 192 << 10,
            ways: 16,
        },
        l2: CacheShape {
            bytes: 50 << 20,
            ways: 16,
        },
        stores: StorePolicy::Update,
    };

    /// Compute capability 10.0 (B200): 148 SMs, as its driver reports them; 126 MiB of L2
    /// (*Blackwell Tuning Guide*, "Increased L2 Capacity"). Of the 256 KiB that the L1 shares with
    /// shared memory, the model gives 192 KiB to the L1.
    pub const BLACKWELL: GpuModel = GpuModel {
        name: "compute capability 10.0",
        sms: 148,
        l2: CacheShape {
            bytes: 126 << 20,
            ways: 16,
        },
        ..GpuModel::HOPPER
    };

    /// Compute capability 8.9 (RTX 4090): 128 SMs, 72 MiB of L2 (*NVIDIA Ada GPU Architecture*,
    /// appendix A). Of the 128 KiB that the L1 shares with shared memory, the model gives 96 KiB to
    /// the L1.
    pub const ADA: GpuModel = GpuModel {
        name: "compute capability 8.9",
        sms: 128,
        blocks_per_sm: 24,
        warps_per_sm: 48,
        shared_per_sm: 100 << 10,
        shared_per_block: 100 << 10,
        shared_reserved: 1 << 10,
        shared_granularity: 128,
        l1: CacheShape {
            bytes: 96 << 10,
            ways: 16,
        },
        l2: CacheShape {
            bytes: 72 << 20,
            ways: 16,
        },
        stores: StorePolicy::Update,
    };

    /// Compute capability 8.0 (A100): 108 SMs, 40 MiB of L2 (*NVIDIA A100 Tensor Core GPU
    /// Architecture*, table 4). Of the 192 KiB that the L1 shares with shared memory, the model
    /// gives 128 KiB to the L1.
    pub const AMPERE: GpuModel = GpuModel {
        name: "compute capability 8.0",
        sms: 108,
        blocks_per_sm: 32,
        warps_per_sm: 64,
        shared_per_sm: 164 << 10,
        shared_per_block: 164 << 10,
        shared_reserved: 1 << 10,
        shared_granularity: 128,
        l1: CacheShape {
            bytes: 128 << 10,
            ways: 16,
        },
        l2: CacheShape {
            bytes: 40 << 20,
            ways: 16,
        },
        stores: StorePolicy::Update,
    };

    /// Compute capability 6.0 (P100): 56 SMs, 24 KiB of L1, 4 MiB of L2 (*NVIDIA Tesla P100*, table
    /// 1).
    pub const PASCAL: GpuModel = GpuModel {
        name: "compute capability 6.0",
        sms: 56,
        blocks_per_sm: 32,
        warps_per_sm: 64,
        shared_per_sm: 64 << 10,
        shared_per_block: 48 << 10,
        shared_reserved: 0,
        shared_granularity: 256,
        l1: CacheShape {
            bytes: 24 << 10,
            ways: 16,
        },
        l2: CacheShape {
            bytes: 4 << 20,
            ways: 16,
        },
        stores: StorePolicy::Evict,
    };

    /// Compute capability 3.5 (K40): 15 SMs, 16 KiB of L1, 1.5 MiB of L2 (*NVIDIA's Next Generation
    /// CUDA Compute Architecture: Kepler GK110*).
    pub const KEPLER: GpuModel = GpuModel {
        name: "compute capability 3.5",
        sms: 15,
        blocks_per_sm: 16,
        warps_per_sm: 64,
        shared_per_sm: 48 << 10,
        shared_per_block: 48 << 10,
        shared_reserved: 0,
        shared_granularity: 256,
        l1: CacheShape {
            bytes: 16 << 10,
            ways: 4,
        },
        l2: CacheShape {
            bytes: 1536 << 10,
            ways: 16,
        },
        stores: StorePolicy::Evict,
    };

    /// Blocks of this many warps and bytes of shared memory that an SM holds at the same time, as
    /// `cudaOccupancyMaxActiveBlocksPerMultiprocessor` counts them. Registers, which can make them
    /// fewer, are not known here: PTX has no number of them. 1 at least.
    pub fn resident_blocks(&self, warps_per_block: u64, shared_bytes: u64) -> u32 {
        let by_warps = u64::from(self.warps_per_sm) / warps_per_block.max(1);
        let by_shared = self.blocks_by_shared(shared_bytes);
        let blocks = by_warps.min(by_shared).min(self.blocks_per_sm.into());
        (blocks as u32).max(1)
    }

    /// Blocks with these bytes of shared memory for which an SM has enough of it; 0 if a block has
    /// more than it may.
    pub(crate) fn blocks_by_shared(&self, shared_bytes: u64) -> u64 {
        let bytes = shared_bytes.saturating_add(self.shared_reserved);
        if bytes > self.shared_per_block {
            return 0;
        }
        match bytes.next_multiple_of(self.shared_granularity) {
            0 => u64::MAX,
            bytes => self.shared_per_sm / bytes,
        }
    }
}

impl Default for GpuModel {
    fn default() -> GpuModel {
        GpuModel::HOPPER
    }
}

/// What it is called; of a GPU with sizes of its own, also these.
impl fmt::Display for GpuModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if self.name == OWN {
            let (l1, l2) = (Bytes(self.l1.bytes), Bytes(self.l2.bytes));
            let sms = counted(self.sms.into(), "SM", "SMs");
            write!(f, " ({sms}, {l1} of L1, {l2} of L2)")?;
        }
        Ok(())
    }
}

/// Reads a name (`ampere`), or sizes (`l1=128K,l2=40M,sms=108`). Sizes that are missing are those
/// of the GPU that is named before them, or else of `hopper`: `ada,sms=76,l2=64M`. The sizes are
/// `l1` (of an SM), `l2`, `sms`, and for the occupancy `warps`, `blocks` and `shared` of an SM.
impl FromStr for GpuModel {
    type Err = String;

    fn from_str(text: &str) -> Result<GpuModel, String> {
        let mut model = GpuModel::default();
        for (at, part) in text.split(',').enumerate() {
            let part = part.trim();
            match (part.split_once('='), at) {
                (Some((key, value)), _) => model.set(key.trim(), value.trim())?,
                (None, 0) => model = named(part)?,
                (None, _) => return Err(format!("'{part}' is no size: write l1=…, l2=… or sms=…")),
            }
        }
        model.has_possible_caches().map(|()| model)
    }
}

fn named(name: &str) -> Result<GpuModel, String> {
    let found = GpuModel::NAMED.iter().find(|(known, _)| *known == name);
    found.map(|(_, model)| *model).ok_or_else(|| {
        let names = GpuModel::NAMED.map(|(name, _)| name).join(", ");
        format!("there is no model of '{name}': write one of {names}, or l1=…,l2=…,sms=…")
    })
}

impl GpuModel {
    /// Sets a size; the model is one of its own then.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let bytes = |least: u64| match value.parse::<Bytes>() {
            Ok(Bytes(bytes)) if (least..=MOST_CACHE).contains(&bytes) => Ok(bytes),
            Ok(bytes) => Err(format!(
                "{key}={value} is {bytes}: it is {} to {}",
                Bytes(least),
                Bytes(MOST_CACHE)
            )),
            Err(error) => Err(format!("{key}={value}: {error}")),
        };
        let number = || match value.parse::<u32>() {
            Ok(number) if (1..=MOST_SMS).contains(&number) => Ok(number),
            _ => Err(format!(
                "{key}={value}: it is a number from 1 to {MOST_SMS}"
            )),
        };
        match key {
            "l1" => self.l1.bytes = bytes(128)?,
            "l2" => self.l2.bytes = bytes(128)?,
            "shared" => {
                // A block without shared memory of its own must fit.
                let least = self
                    .shared_reserved
                    .next_multiple_of(self.shared_granularity);
                self.shared_per_sm = bytes(least)?;
                self.shared_per_block = self.shared_per_sm;
            }
            "sms" => self.sms = number()?,
            "warps" => self.warps_per_sm = number()?,
            "blocks" => self.blocks_per_sm = number()?,
            _ => {
                return Err(format!(
                    "'{key}' is no size of a GPU: write l1, l2, sms, warps, blocks or shared"
                ));
            }
        }
        self.name = OWN;
        Ok(())
    }

    /// Refuses caches that the cache model has no memory for.
    fn has_possible_caches(&self) -> Result<(), String> {
        let (l1, l2) = (self.l1.bytes, self.l2.bytes);
        // Each size is at most 2^34, and there are at most 2^12 SMs.
        let total = l1 * u64::from(self.sms) + l2;
        if total <= MOST_CACHE {
            return Ok(());
        }
        let sms = counted(self.sms.into(), "SM", "SMs");
        Err(format!(
            "{sms} with {} of L1 each and {} of L2 have {} of caches, more than the {} that can be \
             modelled: write smaller sizes, as in l1=128K,l2=40M,sms=108",
            Bytes(l1),
            Bytes(l2),
            Bytes(total),
            Bytes(MOST_CACHE)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_read_from_names_and_sizes() {
        let read = |text: &str| text.parse::<GpuModel>().unwrap();
        assert_eq!(read("ampere"), GpuModel::AMPERE);
        assert_eq!(read("hopper"), GpuModel::default());
        let own = read("l1=64K, l2=6M ,sms=40");
        assert_eq!(
            (own.l1.bytes, own.l2.bytes, own.sms),
            (64 << 10, 6 << 20, 40)
        );
        assert_eq!(own.warps_per_sm, GpuModel::HOPPER.warps_per_sm);
        assert_eq!(
            own.to_string(),
            "own GPU (40 SMs, 64 KiB of L1, 6 MiB of L2)"
        );
        let own = read("ada,sms=76,warps=32,blocks=16,shared=64K");
        assert_eq!((own.l2.bytes, own.sms), (72 << 20, 76));
        assert_eq!((own.warps_per_sm, own.blocks_per_sm), (32, 16));
        assert_eq!(
            (own.shared_per_sm, own.shared_per_block),
            (64 << 10, 64 << 10)
        );
        assert_eq!(GpuModel::ADA.to_string(), "compute capability 8.9");
    }

    #[test]
    fn models_that_cannot_be_are_refused() {
        for (text, why) in [
            ("", "there is no model of ''"),
            ("volta", "write one of blackwell, hopper, ada"),
            ("l3=4M", "'l3' is no size of a GPU"),
            ("l1=4", "l1=4 is 4 B: it is 128 B to 16 GiB"),
            ("l2=1T", "it is 128 B to 16 GiB"),
            ("l2=16G", "more than the 16 GiB that can be modelled: write"),
            (
                "sms=4096,l1=16G",
                "4,096 SMs with 16 GiB of L1 each and 50 MiB of L2",
            ),
            ("shared=0", "shared=0 is 0 B: it is 1 KiB to 16 GiB"),
            ("ampere,shared=1023", "it is 1 KiB to"),
            ("l2=x", "l2=x: "),
            ("sms=0", "it is a number from 1 to 4096"),
            ("sms=1,ada", "'ada' is no size"),
        ] {
            let error = text.parse::<GpuModel>().unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn smallest_shared_memory_and_largest_caches_are_taken() {
        for text in ["shared=1K", "pascal,shared=0"] {
            let model: GpuModel = text.parse().unwrap();
            assert!(model.blocks_by_shared(0) > 0, "{text}");
        }
        for text in ["sms=4096,l1=3M,l2=4G", "l1=15G,sms=1,l2=1G"] {
            assert!(text.parse::<GpuModel>().is_ok(), "{text}");
        }
    }

    /// Of each GPU, blocks of the most shared memory that its guide names fit, and no more.
    #[test]
    fn blocks_have_the_shared_memory_of_their_compute_capability() {
        for (name, most) in [
            ("blackwell", 227),
            ("hopper", 227),
            ("ada", 99),
            ("ampere", 163),
            ("pascal", 48),
            ("kepler", 48),
        ] {
            let model: GpuModel = name.parse().unwrap();
            assert_eq!(model.blocks_by_shared(most << 10), 1, "{name}");
            assert_eq!(model.blocks_by_shared((most + 1) << 10), 0, "{name}");
        }
    }
}
