//! Puts the records of several threads into the order in which the threads synchronised: cuts
//! unread parts of blocks at their marks, and sorts the pieces by the marks' stamps ([`cut`] for
//! blocks that are being written, [`cut_remains`] for what dead processes left).
//!
//! A thread marks its block just before it lets others go on (an atomic store, a system call, the
//! release of a lock) and just after it waited. The events before a mark happened before the mark's
//! stamp. A thread that goes on because of another makes its own next mark later. So the order of
//! the pieces by the stamps of their ends agrees with every synchronisation. Between threads that
//! do not synchronise, the order is a guess.

use std::sync::atomic::Ordering;

use reuselens_wire::{BLOCK_BYTES, BLOCK_HEADER_BYTES, MARKS_MOST, RECORD_BYTES};

use super::{Consumer, raw_of};
use crate::segment::{RawBlock, Segment};

/// An unread part of a block, from byte `from` up to byte `to`, that was written between two time
/// stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unread {
    pub block: u32,
    pub from: usize,
    pub to: usize,
    pub begin: u64,
    pub end: u64,
}

/// A piece of an unread part, between two marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MarkedPart {
    /// When it was done at the latest.
    end: u64,
    /// Number of its part.
    part: usize,
    begin: u64,
    from: usize,
    to: usize,
}

/// Where the records after the last mark of an unread part begin, and a time before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    pub from: usize,
    pub begin: u64,
}

/// What a process left in a slot's block when it ended.
pub(super) struct Remains {
    pub raw: RawBlock,
    /// Stamps, and how many of the records were written by then.
    pub marks: Vec<(u64, usize)>,
}

impl Consumer {
    /// What other threads had written when a block was published by the slot `by`, at `end`. It
    /// counts as read.
    pub(super) fn others(&mut self, block: u32, by: usize, end: u64) -> Vec<Unread> {
        let mut parts = Vec::new();
        let Some(header) = self.segment.block(block) else {
            return parts;
        };
        let filled = header.others_filled.load(Ordering::Relaxed) as usize;
        for (index, other) in header.others.iter().enumerate().take(filled) {
            let writing = other.block.load(Ordering::Relaxed);
            let used = other.used_bytes.load(Ordering::Relaxed) as usize;
            let read = &mut self.read[index];
            // As many blocks were published as were taken: the other block is still being written,
            // or waits in the queue, so it has not been used again since.
            let is_next = other.published.load(Ordering::Relaxed) == read.blocks;
            let Some(theirs) = self
                .segment
                .block(writing)
                .filter(|_| index != by && is_next)
            else {
                continue;
            };
            let part = Unread {
                block: writing,
                from: read.part_bytes,
                to: before(&self.segment, writing, used.min(BLOCK_BYTES), end),
                begin: read
                    .part_stamp
                    .max(theirs.first_stamp.load(Ordering::Relaxed)),
                end,
            };
            read.part_stamp = end;
            if part.to > part.from {
                read.part_bytes = part.to;
                parts.push(part);
            }
        }
        parts
    }
}

/// The marks of a block: stamps, and how many bytes were used by then. Both ascend, whatever the
/// program wrote there.
fn marks(segment: &Segment, block: u32) -> impl Iterator<Item = (u64, usize)> + '_ {
    let header = segment.block(block);
    let count = header.map_or(0, |header| header.marks.load(Ordering::Acquire) as usize);
    let marks = segment.marks(block).into_iter().flatten();
    let mut last = (0, BLOCK_HEADER_BYTES);
    marks.take(count.min(MARKS_MOST)).map(move |mark| {
        let stamp = mark.stamp.load(Ordering::Relaxed);
        let used = mark.used_bytes.load(Ordering::Relaxed) as usize;
        last = (last.0.max(stamp), last.1.max(used));
        last
    })
}

/// The marks of a block in records after byte `from`, up to `to`.
pub(super) fn marked_records(
    segment: &Segment,
    block: u32,
    from: usize,
    to: usize,
) -> Vec<(u64, usize)> {
    // A program that writes over its cursor can leave less than has been read.
    let to = to.max(from);
    let records = |at: usize| at.clamp(from, to).saturating_sub(from) / RECORD_BYTES;
    let marks = marks(segment, block);
    marks.map(|(stamp, at)| (stamp, records(at))).collect()
}

/// How many of the first `used` bytes of a block were written before the stamp `end`: up to the
/// first mark with a later stamp.
pub(super) fn before(segment: &Segment, block: u32, used: usize, end: u64) -> usize {
    let later = marks(segment, block).find(|(stamp, _)| *stamp > end);
    later.map_or(used, |(_, at)| at.min(used))
}

/// Appends the pieces of an unread part that end with marks. Returns what follows the last one.
fn split(
    number: usize,
    part: &Unread,
    marks: impl IntoIterator<Item = (u64, usize)>,
    into: &mut Vec<MarkedPart>,
) -> Tail {
    let (mut from, mut begin) = (part.from, part.begin);
    for (stamp, at) in marks {
        let (stamp, to) = (stamp.min(part.end), at.min(part.to));
        if to > from {
            into.push(MarkedPart {
                end: stamp.max(begin),
                part: number,
                begin,
                from,
                to,
            });
            from = to;
        }
        // Of several marks at one place, the last is that after which the thread went on.
        begin = begin.max(stamp);
    }
    Tail { from, begin }
}

/// As [`split`], with what follows the last mark as the last piece.
fn split_all(
    number: usize,
    part: &Unread,
    marks: impl IntoIterator<Item = (u64, usize)>,
    into: &mut Vec<MarkedPart>,
) {
    let tail = split(number, part, marks, into);
    if part.to > tail.from {
        into.push(MarkedPart {
            end: part.end.max(tail.begin),
            part: number,
            begin: tail.begin,
            from: tail.from,
            to: part.to,
        });
    }
}

/// Sorts pieces by their stamps, of equal stamps those of earlier unread parts first, and joins
/// those of one thread that nothing separates.
fn in_order(mut pieces: Vec<MarkedPart>) -> Vec<MarkedPart> {
    pieces.sort_by_key(|piece| (piece.end, piece.part));
    pieces.dedup_by(|next, piece| {
        let joined = next.part == piece.part && next.begin == piece.end;
        if joined {
            (piece.to, piece.end) = (next.to, next.end);
        }
        joined
    });
    pieces
}

/// Cuts unread parts at their marks and appends the pieces in the order of their stamps. The piece
/// after the last mark of the last part is later than all others and is not appended: returns where
/// it begins. The piece after the last mark of another part has the stamp of that part's end.
///
/// Cost: linear in the bytes, and the sorting of the pieces.
pub(super) fn cut(segment: &Segment, parts: &[Unread], into: &mut Vec<RawBlock>) -> Tail {
    let mut pieces = Vec::new();
    let mut rest = Tail { from: 0, begin: 0 };
    for (number, part) in parts.iter().enumerate() {
        let marks = marks(segment, part.block);
        if number + 1 == parts.len() {
            rest = split(number, part, marks, &mut pieces);
        } else {
            split_all(number, part, marks, &mut pieces);
        }
    }
    for piece in in_order(pieces) {
        let block = parts[piece.part].block;
        let Some(header) = segment.block(block) else {
            continue;
        };
        let mut raw = RawBlock {
            first_stamp: piece.begin,
            last_stamp: piece.end,
            ..raw_of(header)
        };
        segment.copy_records(block, piece.from, piece.to, &mut raw.records);
        into.push(raw);
    }
    rest
}

/// What ended processes left, in the order of the marks; where these give no order, blocks that
/// began earlier come first. What follows the last mark of a thread comes after all marks, for no
/// later time is known.
pub(super) fn cut_remains(mut remains: Vec<Remains>) -> Vec<RawBlock> {
    remains.retain(|left| !left.raw.records.is_empty());
    remains.sort_by_key(|left| left.raw.first_stamp);
    if remains.len() < 2 {
        return remains.into_iter().map(|left| left.raw).collect();
    }
    let last = |left: &Remains| left.marks.last().map_or(0, |mark| mark.0);
    let stamps = remains
        .iter()
        .map(|left| last(left).max(left.raw.first_stamp));
    let end = stamps.max().unwrap_or_default();
    let mut pieces = Vec::new();
    for (number, left) in remains.iter().enumerate() {
        let part = Unread {
            block: 0,
            from: 0,
            to: left.raw.records.len(),
            begin: left.raw.first_stamp,
            end,
        };
        split_all(number, &part, left.marks.iter().copied(), &mut pieces);
    }
    let raw = |piece: MarkedPart| {
        let left = &remains[piece.part].raw;
        RawBlock {
            first_stamp: piece.begin,
            last_stamp: piece.end,
            records: left.records[piece.from..piece.to].to_vec(),
            ..*left
        }
    };
    in_order(pieces).into_iter().map(raw).collect()
}

#[cfg(test)]
mod tests;
