//! [`Launch`]: one launch of a kernel, which a stream delivers before the records of its memory
//! instructions; with its grid and block sizes ([`Extent`]), what its blocks use ([`BlockUse`]) and
//! its instructions ([`KernelSite`]).

use std::sync::Arc;

/// Sizes in the three directions of a grid or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extent {
    /// Along x.
    pub x: u32,
    /// Along y.
    pub y: u32,
    /// Along z.
    pub z: u32,
}

impl Extent {
    /// `x` along x, one along y and z.
    pub const fn line(x: u32) -> Extent {
        Extent { x, y: 1, z: 1 }
    }

    /// The product of the three.
    pub const fn count(self) -> u64 {
        (self.x as u64)
            .saturating_mul(self.y as u64)
            .saturating_mul(self.z as u64)
    }
}

/// What a block of a launch uses beside memory of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockUse {
    /// Bytes of shared memory that the kernel declares.
    pub static_shared: u64,
    /// Bytes of shared memory that the launch adds.
    pub dynamic_shared: u64,
    /// Whether threads exchange data by barriers, shuffles, votes or the like: the work of two
    /// threads cannot change places then.
    pub has_exchange: bool,
}

impl BlockUse {
    /// Bytes of shared memory.
    pub const fn shared(self) -> u64 {
        self.static_shared.saturating_add(self.dynamic_shared)
    }
}

/// An array in the shared memory of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedArray {
    /// Its name in the source, without the function that it is in.
    pub name: String,
    /// Where it begins, from the beginning of the block's shared memory.
    pub start: u64,
    /// Bytes; `None` if the launch decides.
    pub bytes: Option<u64>,
}

impl SharedArray {
    /// Whether an address of shared memory is in it.
    pub fn holds(&self, address: u64) -> bool {
        let offset = address.checked_sub(self.start);
        offset.is_some_and(|offset| self.bytes.is_none_or(|bytes| offset < bytes))
    }
}

/// A memory instruction of a kernel's code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelSite {
    /// Its place in the source, as `file:line:column`, or empty if that is not known.
    pub place: String,
    /// The instruction as text, or its offset.
    pub text: String,
    /// The calls of device functions that lead there from the kernel, the outermost first. Empty if
    /// it is in the kernel itself, or not known.
    pub calls: Arc<[DeviceCall]>,
}

impl KernelSite {
    /// The instruction of PTX that its text names, and its line there: of
    /// `ld.global.u32 (PTX line 7)`, `ld.global.u32` and 7. None if it names no line.
    pub fn ptx(&self) -> Option<(&str, u32)> {
        let (opcode, line) = self.text.split_once(" (PTX line ")?;
        let line = line.split(|letter: char| !letter.is_ascii_digit()).next()?;
        Some((opcode, line.parse().ok()?))
    }
}

/// A call of a device function, on the way from a kernel to one of its instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceCall {
    /// The function that is called, mangled; empty if it is not known.
    pub function: String,
    /// Where it is called, as `file:line`; empty if that is not known.
    pub place: String,
    /// Whether the compiler put the function in the place of the call.
    pub is_inlined: bool,
}

/// One launch of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks.
    pub grid: Extent,
    /// Threads of a block.
    pub block: Extent,
    /// What a block uses; `None` if it is not known.
    pub used: Option<BlockUse>,
    /// The arrays in the shared memory of a block, by their addresses; empty if they are not known.
    /// They do not overlap: one whose bytes the launch decides is the last. Launches of one kernel
    /// share them where they can. A file has them only beside `used`: its writer refuses a launch
    /// that has arrays without it.
    pub arrays: Arc<[SharedArray]>,
    /// The kernel's memory instructions, in their order in the code. Empty if the code is not
    /// known: sites' numbers are still in the order of the code then. Launches of one kernel share
    /// them where they can.
    pub sites: Arc<[KernelSite]>,
}

/// The most arrays in shared memory of a kernel.
pub(crate) const MAX_ARRAYS: usize = 1 << 16;

/// The most sites of a kernel: their numbers are smaller than this.
pub(crate) const MAX_SITES: usize = 1 << 20;

impl Launch {
    /// Warps of a block; the last may not be full.
    pub const fn warps(&self) -> u64 {
        self.block.count().div_ceil(crate::LANES as u64)
    }

    /// Whether the arrays in shared memory are in the order of their addresses, and do not overlap.
    pub(crate) fn has_separate_arrays(&self) -> bool {
        self.arrays.windows(2).all(|pair| {
            let end = pair[0]
                .bytes
                .and_then(|bytes| pair[0].start.checked_add(bytes));
            end.is_some_and(|end| end <= pair[1].start)
        })
    }

    /// Whether the kernel may have a memory instruction with this number.
    pub fn has_site(&self, site: u32) -> bool {
        let known = if self.sites.is_empty() {
            MAX_SITES
        } else {
            self.sites.len()
        };
        (site as usize) < known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ptx_are_read_off_the_text() {
        for (text, ptx) in [
            ("ld.global.u32 (PTX line 7)", Some(("ld.global.u32", 7))),
            (
                "st.shared.u8 (PTX line 12 of a.ptx)",
                Some(("st.shared.u8", 12)),
            ),
            ("ld.global.u32 (PTX line x)", None),
            ("LDG.E", None),
            ("", None),
        ] {
            let site = KernelSite {
                text: text.to_owned(),
                ..KernelSite::default()
            };
            assert_eq!(site.ptx(), ptx, "{text}");
        }
    }
}
