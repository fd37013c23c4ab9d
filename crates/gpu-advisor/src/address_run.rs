//! [`AddressRun`]: whether the addresses of a request are equally far from one another, as those of
//! most requests are. Such requests are looked at once, and not lane by lane.

use reuselens_simd::{Level, entry_point};

/// Whether addresses are a run: each has the same distance from the one before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddressRun {
    pub is_affine: bool,
    /// From the first address to the second; 0 of one address.
    pub stride: u64,
}

impl AddressRun {
    #[inline(always)]
    pub fn of(level: Level, addresses: &[u64]) -> AddressRun {
        let [first, second, ..] = *addresses else {
            return AddressRun {
                is_affine: true,
                stride: 0,
            };
        };
        let stride = second.wrapping_sub(first);
        AddressRun {
            is_affine: is_run(level, addresses, stride),
            stride,
        }
    }
}

entry_point! {
    fn is_run(level, addresses: &[u64], stride: u64) -> bool {
        V4(_) => is_run_here(addresses, stride),
        V3(_) => is_run_here(addresses, stride),
        _ => is_run_here(addresses, stride),
    }
}

#[inline(always)]
fn is_run_here(addresses: &[u64], stride: u64) -> bool {
    // Most warps are full: a loop of fixed length becomes vector instructions without a rest.
    match <&[u64; 32]>::try_from(addresses) {
        Ok(all) => differences(all, stride) == 0,
        Err(_) => differences(addresses, stride) == 0,
    }
}

/// Has a bit that is set if the addresses are not those of a run. Without branches, and with no sum
/// that goes from lane to lane, so that the compiler makes vector instructions of it.
#[inline(always)]
fn differences(addresses: &[u64], stride: u64) -> u64 {
    let pairs = addresses.iter().zip(&addresses[1..]);
    pairs.fold(0, |bits, (one, next)| {
        bits | (next.wrapping_sub(*one) ^ stride)
    })
}
