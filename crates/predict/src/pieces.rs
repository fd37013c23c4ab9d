//! [`split`]: cuts the objects of a predicted profile into chunks, as a profile of that size has.
//!
//! An object of the largest run that has become larger than a chunk would be planned undivided, or
//! in chunks that have become larger. How accesses are distributed within such a part is not known:
//! they are taken as even.

use reuselens_locality::FineHistogram;
use reuselens_profile::{Cell, ChunkLimits, Object, ObjectKind, ObjectPart, Profile};
use reuselens_units::Distance;

use crate::rounding::Rounding;

/// Splits the rows of a profile's objects where a profile of their size has borders of chunks.
/// Returns, for each row that was added, the one that it is of. Nothing is split without placement
/// data.
pub(crate) fn split(profile: &mut Profile) -> Vec<usize> {
    let Some(data) = profile.method.placement else {
        return Vec::new();
    };
    let limits = data.chunk_limits();
    // By row, its pieces and the share of each: the row itself, then those that are added.
    let mut rows: Vec<Vec<(u32, f64)>> = (0..profile.objects.len() as u32)
        .map(|row| vec![(row, 1.0)])
        .collect();
    let mut added = Vec::new();
    for (row, pieces) in rows.iter_mut().enumerate() {
        let Some(parts) = parts(&profile.objects[row], limits) else {
            continue;
        };
        let whole = profile.objects[row].clone();
        let bytes = parts
            .iter()
            .map(|part| part.end - part.start)
            .sum::<u64>()
            .max(1);
        for (at, part) in parts.into_iter().enumerate() {
            let share = (part.end - part.start) as f64 / bytes as f64;
            let object = Object {
                bytes: (whole.bytes as f64 * share).round() as u64,
                part: Some(part),
                ..whole.clone()
            };
            if at == 0 {
                profile.objects[row] = object;
                pieces[0].1 = share;
            } else {
                pieces.push((profile.objects.len() as u32, share));
                profile.objects.push(object);
                added.push(row);
            }
        }
    }
    let mut rounding = Rounding::default();
    let cells = std::mem::take(&mut profile.cells);
    let split = cells.into_iter().flat_map(|cell| {
        let pieces = &rows[cell.object as usize];
        pieces_of(cell, pieces, &mut rounding)
    });
    profile.cells = split.filter(|cell| !cell.histogram.is_empty()).collect();
    profile
        .cells
        .sort_by_key(|cell| (cell.site, cell.object, cell.context, cell.thread));
    added
}

/// The parts that a row is cut into; `None` if it stays. Of objects without chunks, only those of
/// one block are cut.
fn parts(object: &Object, limits: ChunkLimits) -> Option<Vec<ObjectPart>> {
    if !matches!(object.kind, ObjectKind::Heap | ObjectKind::Static) {
        return None;
    }
    let is_one = object.kind == ObjectKind::Static || object.blocks <= 1;
    let part = object.part.or_else(|| {
        is_one.then_some(ObjectPart {
            start: 0,
            end: object.bytes,
            chunk: object.bytes,
            longest: object.bytes,
        })
    })?;
    let mut chunk = limits.bytes;
    while part.longest.div_ceil(chunk) > limits.most {
        chunk = chunk.saturating_mul(2);
    }
    let inner = (part.start / chunk + 1..).map(|at| at.saturating_mul(chunk));
    let inner = inner.take_while(|border| *border < part.end);
    let starts: Vec<u64> = std::iter::once(part.start).chain(inner).collect();
    if starts.len() < 2 && object.part.is_none() {
        return None;
    }
    let ends = starts[1..].iter().copied().chain([part.end]);
    let cut = starts.iter().zip(ends).map(|(&start, end)| ObjectPart {
        start,
        end,
        chunk,
        longest: part.longest,
    });
    Some(cut.collect())
}

/// The cells of the pieces of a row, which are objects and their shares of its accesses.
fn pieces_of(cell: Cell, pieces: &[(u32, f64)], rounding: &mut Rounding) -> Vec<Cell> {
    if pieces.len() == 1 {
        return vec![cell];
    }
    let mut parts = vec![FineHistogram::new(); pieces.len()];
    let cold = (Distance::COLD, cell.histogram.cold());
    let middle = |(low, high, count): (u64, u64, u64)| (Distance::new(low.midpoint(high)), count);
    for (distance, count) in cell.histogram.iter().map(middle).chain([cold]) {
        for (part, (_, share)) in parts.iter_mut().zip(pieces) {
            part.add(distance, rounding.whole(count as f64 * share));
        }
    }
    let of = |(&(object, _), histogram)| Cell {
        object,
        histogram,
        ..cell.clone()
    };
    pieces.iter().zip(parts).map(of).collect()
}
