//! An entry of a drmemtrace file, 12 bytes, and how the reader treats each type of entry.
//!
//! Used by the other files of drmemtrace.

use crate::records::{number, word};

/// Bytes of an entry.
pub(super) const LENGTH: usize = 12;

pub(super) const BUNDLE: u16 = 17;
pub(super) const THREAD: u16 = 22;
pub(super) const THREAD_EXIT: u16 = 23;
pub(super) const PID: u16 = 24;
pub(super) const HEADER: u16 = 25;
pub(super) const MARKER: u16 = 28;
/// What the size of a marker says if its address is the time at which a buffer began.
const TIMESTAMP: u16 = 2;
/// What it says if its address is the core on which a buffer began.
const CORE: u16 = 3;

/// What is done with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    /// A load (type 0) or a store (1).
    Data,
    /// An instruction: the accesses after it are its own.
    Instruction,
    /// Nothing: prefetches, flushes, markers, encodings, headers and footers are no accesses.
    Skipped,
    /// Something that takes more than a row.
    Special,
}

/// The class of each type; types from 50 on are not known.
const CLASSES: [Class; 64] = {
    let mut classes = [Class::Special; 64];
    let mut kind = 0;
    while kind < 50 {
        classes[kind] = match kind as u16 {
            0 | 1 => Class::Data,
            10..=16 | 29..=31 | 48 | 49 => Class::Instruction,
            BUNDLE | THREAD | THREAD_EXIT | PID => Class::Special,
            _ => Class::Skipped,
        };
        kind += 1;
    }
    classes
};

/// One entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) kind: u16,
    pub(super) size: u16,
    pub(super) addr: u64,
}

impl Entry {
    #[inline(always)]
    pub(super) fn of(bytes: &[u8; LENGTH]) -> Entry {
        Entry {
            kind: word(bytes, 0),
            size: word(bytes, 2),
            addr: number(bytes, 4),
        }
    }

    /// Whether it says when a buffer began.
    #[inline(always)]
    pub(super) fn is_stamp(self) -> bool {
        (self.kind, self.size) == (MARKER, TIMESTAMP)
    }

    /// The core on which a buffer began, if it says that. DynamoRIO's number for a core that it
    /// does not know is the largest.
    pub(super) fn core(self) -> Option<u64> {
        ((self.kind, self.size) == (MARKER, CORE)).then_some(self.addr)
    }

    /// What is done with it. Data accesses of 0 bytes, or of more than a row can say, are special.
    #[inline(always)]
    pub(super) fn class(self) -> Class {
        let class = CLASSES[usize::from(self.kind).min(CLASSES.len() - 1)];
        if class == Class::Data && !(1..=255).contains(&self.size) {
            Class::Special
        } else {
            class
        }
    }
}
