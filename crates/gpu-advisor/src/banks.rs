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

use reuselens_warp::WarpKind;

use crate::ratio;

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
    /// Passes that the requests need.
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

    /// Adds the requests of another.
    pub fn merge(&mut self, other: &BankCounts) {
        self.requests += other.requests;
        self.lanes += other.lanes;
        self.bytes += other.bytes;
        self.wavefronts += other.wavefronts;
        self.ideal_wavefronts += other.ideal_wavefronts;
    }
}

/// The bank conflicts of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankReport {
    /// Of loads.
    pub loads: BankCounts,
    /// Of stores.
    pub stores: BankCounts,
    /// Of atomic operations; that they repeat while lanes collide is not counted.
    pub atomics: BankCounts,
}

impl BankReport {
    /// Loads, stores and atomic operations together.
    pub fn all(&self) -> BankCounts {
        let mut all = self.loads;
        all.merge(&self.stores);
        all.merge(&self.atomics);
        all
    }

    pub(crate) fn of(&mut self, kind: WarpKind) -> &mut BankCounts {
        match kind {
            WarpKind::Load => &mut self.loads,
            WarpKind::Store => &mut self.stores,
            WarpKind::Atomic => &mut self.atomics,
        }
    }

    /// Adds the requests of another.
    pub fn merge(&mut self, other: &BankReport) {
        self.loads.merge(&other.loads);
        self.stores.merge(&other.stores);
        self.atomics.merge(&other.atomics);
    }
}

/// Wavefronts that a request needs, and the fewest that one of its lanes and size can need.
///
/// `addresses` are those of the active lanes of `mask`, lowest first.
#[inline]
pub fn wavefronts(mask: u32, bytes: u8, addresses: &[u64]) -> (u32, u32) {
    match bytes {
        0..=4 => {
            let quick = quick_wavefronts(bytes, addresses);
            (quick.unwrap_or_else(|| passes(bytes, addresses)), 1)
        }
        5..=8 => in_parts(mask, 16, bytes, addresses),
        _ => in_parts(mask, 8, bytes, addresses),
    }
}

/// 1 if all lanes use the same word or each a bank of its own, in one word each; else unknown.
#[inline]
fn quick_wavefronts(bytes: u8, addresses: &[u64]) -> Option<u32> {
    let first = addresses.first()? >> 2;
    let (mut same, mut banks, mut straddles) = (true, 0u32, 0);
    for &address in addresses {
        same &= address >> 2 == first;
        banks |= 1 << (address >> 2 & 31);
        straddles |= (address ^ (address + u64::from(bytes.max(1)) - 1)) >> 2;
    }
    let distinct = banks.count_ones() as usize == addresses.len();
    (straddles == 0 && (same || distinct)).then_some(1)
}

#[cold]
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

/// The most distinct words in one bank. Accesses are of up to 255 bytes: 65 words.
fn passes(bytes: u8, addresses: &[u64]) -> u32 {
    let mut words = WordsByBank::new();
    for &address in addresses {
        let last = address.saturating_add(u64::from(bytes.max(1)) - 1) >> 2;
        for word in address >> 2..=last {
            words.add(word);
        }
    }
    words.most()
}

/// Distinct words of each bank. A bank has at most one word of each 128 bytes, so an access of
/// 255 bytes adds up to three to it.
struct WordsByBank {
    counts: [u8; BANKS],
    words: [[u64; 3 * 32]; BANKS],
}

impl WordsByBank {
    fn new() -> WordsByBank {
        WordsByBank {
            counts: [0; BANKS],
            words: [[0; 3 * 32]; BANKS],
        }
    }

    fn add(&mut self, word: u64) {
        let bank = (word % BANKS as u64) as usize;
        let count = usize::from(self.counts[bank]);
        let words = &mut self.words[bank];
        if !words[..count].contains(&word) {
            words[count] = word;
            self.counts[bank] += 1;
        }
    }

    fn most(&self) -> u32 {
        self.counts.iter().copied().max().unwrap_or(0).into()
    }
}
