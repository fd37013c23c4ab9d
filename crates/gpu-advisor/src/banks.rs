//! Bank conflicts: how many passes shared memory needs for a request.
//!
//! Shared memory has 32 banks; consecutive words of 4 bytes are in consecutive banks. In one pass
//! (a *wavefront*) each bank delivers one word, to all lanes that ask for it. So a request needs as
//! many wavefronts as distinct words in the bank where they are most. A request of 8 bytes a lane
//! is split into its two half warps, and one of 16 bytes into its four quarter warps; each part
//! with an active lane needs a wavefront of its own at least, which is the ideal.
//!
//! Source: CUDA C Programming Guide, *Compute Capability 5.x, Shared Memory*, for banks and words;
//! the same guide's *Compute Capability 2.x* for requests of 64 and 128 bits, which NVIDIA's forum
//! confirms for later devices (each part of 128 bytes is a transaction of its own).

use reuselens_simd::Level;

use crate::address_run::AddressRun;
use crate::{RequestSums, ratio};

/// Banks of shared memory.
pub const BANKS: usize = 32;

/// Sums over requests of shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankCounts {
    /// Requests.
    pub requests: u64,
    /// Active lanes of all requests.
    pub lanes: u64,
    /// Bytes that the lanes access, repeated ones included.
    pub bytes: u64,
    /// Passes that the requests need. That atomic operations repeat while lanes collide is not
    /// counted.
    pub wavefronts: u64,
    /// Passes that they would need without conflicts.
    pub ideal_wavefronts: u64,
}

impl BankCounts {
    /// Wavefronts above the ideal.
    pub fn conflicts(&self) -> u64 {
        self.wavefronts.saturating_sub(self.ideal_wavefronts)
    }

    /// Mean number of wavefronts of a request. 0 without requests.
    pub fn wavefronts_per_request(&self) -> f64 {
        ratio(self.wavefronts, self.requests)
    }
}

impl RequestSums for BankCounts {
    fn merge(&mut self, other: &BankCounts) {
        self.requests += other.requests;
        self.lanes += other.lanes;
        self.bytes += other.bytes;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
    }
}

/// Wavefronts that a request needs, and the fewest that one of its lanes and size can need.
///
/// `addresses` are those of the active lanes of `mask`, lowest first.
pub fn wavefronts(mask: u32, bytes: u8, addresses: &[u64]) -> (u32, u32) {
    wavefronts_at(Level::best(), mask, bytes, addresses)
}

/// As [`wavefronts`], for callers that know the level of the processor.
#[inline(always)]
pub(crate) fn wavefronts_at(level: Level, mask: u32, bytes: u8, addresses: &[u64]) -> (u32, u32) {
    match bytes {
        0..=4 => {
            let of_run = passes_of_run(level, bytes, addresses);
            (of_run.unwrap_or_else(|| passes(bytes, addresses)), 1)
        }
        5..=8 => in_parts(mask, 16, bytes, addresses),
        _ => in_parts(mask, 8, bytes, addresses),
    }
}

/// The most distinct words in one bank, if each lane accesses one word and all are equally far from
/// one another.
#[inline(always)]
fn passes_of_run(level: Level, bytes: u8, addresses: &[u64]) -> Option<u32> {
    let run = AddressRun::of(level, addresses);
    let first = *addresses.first()?;
    let in_one_word = first % 4 + u64::from(bytes.max(1)) <= 4;
    if !(run.is_affine && in_one_word) {
        return None;
    }
    if run.stride == 0 {
        return Some(1);
    }
    // Longer strides, and falling addresses, might come back to where they were.
    if !run.stride.is_multiple_of(4) || run.stride >= 1 << 32 {
        return None;
    }
    let words = run.stride / 4;
    let banks = BANKS as u32 >> words.trailing_zeros().min(BANKS.trailing_zeros());
    Some((addresses.len() as u32).div_ceil(banks))
}

fn in_parts(mask: u32, lanes: u32, bytes: u8, addresses: &[u64]) -> (u32, u32) {
    let (mut needed, mut ideal, mut rest) = (0, 0, addresses);
    for part in 0..32 / lanes {
        let active = mask >> (part * lanes) & ((1 << lanes) - 1);
        let (these, after) = rest.split_at(active.count_ones() as usize);
        rest = after;
        if active != 0 {
            needed += passes(bytes, these);
            ideal += 1;
        }
    }
    (needed, ideal)
}

/// The most distinct words in one bank.
fn passes(bytes: u8, addresses: &[u64]) -> u32 {
    if addresses.is_sorted() {
        passes_in_order(bytes, addresses)
    } else if bytes <= 16 {
        // 32 lanes of two words, 16 of three or 8 of five, if they are not aligned.
        passes_of_any::<64>(bytes, addresses)
    } else {
        // 8 lanes of 65 words.
        passes_of_any::<520>(bytes, addresses)
    }
}

/// The words of an access.
fn words(address: u64, bytes: u8) -> std::ops::RangeInclusive<u64> {
    address >> 2..=address.saturating_add(u64::from(bytes.max(1)) - 1) >> 2
}

/// Of ascending addresses: a word is new if it is above all before it.
fn passes_in_order(bytes: u8, addresses: &[u64]) -> u32 {
    let mut counts = [0u16; BANKS];
    let mut next = 0;
    for &address in addresses {
        let own = words(address, bytes);
        for word in next.max(*own.start())..=*own.end() {
            counts[(word % BANKS as u64) as usize] += 1;
        }
        next = own.end() + 1;
    }
    counts.into_iter().max().unwrap_or(0).into()
}

/// Of any addresses with up to `N` words: each bank has a list of its words.
fn passes_of_any<const N: usize>(bytes: u8, addresses: &[u64]) -> u32 {
    // Word number n is at n - 1, with the number of the next word of its bank; 0 ends a list.
    let (mut found, mut next) = ([0u64; N], [0u16; N]);
    let (mut lists, mut counts) = ([0u16; BANKS], [0u16; BANKS]);
    let mut number = 0;
    for word in addresses.iter().flat_map(|&address| words(address, bytes)) {
        let bank = (word % BANKS as u64) as usize;
        let mut at = lists[bank];
        while at != 0 && found[usize::from(at) - 1] != word {
            at = next[usize::from(at) - 1];
        }
        if at == 0 {
            (found[number], next[number]) = (word, lists[bank]);
            number += 1;
            lists[bank] = number as u16;
            counts[bank] += 1;
        }
    }
    counts.into_iter().max().unwrap_or(0).into()
}
