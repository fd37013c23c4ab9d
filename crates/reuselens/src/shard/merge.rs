//! Two neighbouring parts as one.

use reuselens_profile::Profile;

use super::part::{Part, missing_pieces, name};
use super::{Known, PartError, SegmentCounts};

/// Two parts of one analysis that are neighbours, in either order, as one. Associative: parts may
/// be merged as a chain or as any tree.
///
/// Cost: three accesses per distinct item, and the histograms.
///
/// # Errors
/// If the parts are of different traces, made with different options or versions, have a piece in
/// common, or are no neighbours. The error names both.
pub fn merge(one: Part, other: Part) -> Result<Part, PartError> {
    let (before, behind) = if one.head.first <= other.head.first {
        (one, other)
    } else {
        (other, one)
    };
    check(&before, &behind)?;
    let mut head = before.head;
    let mut known = Known::default();
    let (mut waiting, moves) = (before.waiting, &behind.head.moves);
    waiting.move_cells(moves);
    head.cells.renumber(|cell| moves.now(cell));
    head.moves.then(moves);
    let mut segment = SegmentCounts::from_waiting(waiting);
    segment.absorb(behind.waiting, &mut known);
    head.count(known);
    head.last = behind.head.last;
    head.behind = behind.head.behind;
    head.accesses += behind.head.accesses;
    head.histogram.merge(&behind.head.histogram);
    head.cells.merge(behind.head.cells);
    head.elements.merge(behind.head.elements);
    Ok(Part {
        head,
        waiting: segment.into_waiting(),
        ending: behind.ending,
    })
}

/// Any number of parts, in any order, as few as they can be: neighbours merged, ascending.
///
/// # Errors
/// Those of [`merge`], but that parts are no neighbours is none; [`PartError::Nothing`] without
/// any.
pub fn merge_all(mut parts: Vec<Part>) -> Result<Vec<Part>, PartError> {
    parts.sort_by_key(|part| part.head.first);
    let mut merged: Vec<Part> = Vec::new();
    for part in parts {
        let Some(last) = merged.pop() else {
            merged.push(part);
            continue;
        };
        check_origin(&last, &part)?;
        if part.head.first > last.head.last.saturating_add(1) {
            merged.extend([last, part]);
        } else {
            merged.push(merge(last, part)?);
        }
    }
    if merged.is_empty() {
        return Err(PartError::Nothing);
    }
    Ok(merged)
}

/// The profile of the whole trace from all of its parts, in any order.
///
/// # Errors
/// Those of [`merge_all`], and [`PartError::Missing`] if they are not all.
pub fn finish(parts: Vec<Part>) -> Result<Profile, PartError> {
    let mut merged = merge_all(parts)?;
    if let [one, other, ..] = &merged[..] {
        return Err(missing_pieces(
            one.head.last + 1..=other.head.first - 1,
            one.head.of,
        ));
    }
    merged.pop().ok_or(PartError::Nothing)?.finish()
}

/// Whether `before` ends where `behind` begins.
fn check(before: &Part, behind: &Part) -> Result<(), PartError> {
    check_origin(before, behind)?;
    let (one, other) = (&before.head, &behind.head);
    if other.first <= one.last {
        return Err(PartError::Twice {
            piece: name(other.first..=other.first, other.of),
            one: before.name(),
            other: behind.name(),
        });
    }
    if other.first != one.last + 1 {
        return Err(missing_pieces(one.last + 1..=other.first - 1, one.of));
    }
    if other.before != one.behind {
        return Err(PartError::Misfit {
            one: before.name(),
            other: behind.name(),
        });
    }
    Ok(())
}

/// Whether two parts are of one trace, measured in one way.
fn check_origin(before: &Part, behind: &Part) -> Result<(), PartError> {
    let (one, other) = (&before.head, &behind.head);
    let names = (before.name(), behind.name());
    if one.trace != other.trace {
        let is = |trace: &super::TraceIdentity| {
            format!(
                "{} bytes, checksums {:08x} {:08x}",
                trace.bytes, trace.head, trace.tail
            )
        };
        return Err(PartError::OtherTrace {
            one: names.0,
            other: names.1,
            one_is: is(&one.trace),
            other_is: is(&other.trace),
        });
    }
    let is = |head: &super::part::Head| {
        format!(
            "{}, {} pieces, reuselens {}",
            head.options, head.of, head.version
        )
    };
    let (one_is, other_is) = (is(one), is(other));
    if one_is != other_is {
        return Err(PartError::OtherWay {
            one: names.0,
            other: names.1,
            one_is,
            other_is,
        });
    }
    Ok(())
}
