//! [`ReferenceBlock`]: a block whose reuse is known, for blocks that reuse in the same way.

use crate::ReuseSums;
use crate::history::WarpHistory;
use crate::reuse::ReuseReport;
use crate::tally::Tally;

/// A block that was analysed, and what it reuses.
///
/// Most blocks of a regular kernel do the same to other addresses: request for request, the same
/// bytes of other lines. If no two lines of one block are the same line in the other, all reuse
/// distances are equal, and so are all their sums. To find that out costs a tenth of counting
/// again.
///
/// Memory: that of the block's records, and 4 bytes for each line of a record.
#[derive(Debug, Default)]
pub(crate) struct ReferenceBlock {
    warps: Vec<WarpHistory>,
    /// By warp: the number of each part's line in the block.
    pub numbers: Vec<Vec<u32>>,
    known: Option<KnownReuse>,
    /// For each line, how far its counterpart is from it; only used by `equals`.
    shifts: Vec<u64>,
    groups: Vec<ShiftedLines>,
}

/// What a block reuses.
#[derive(Debug, Default)]
struct KnownReuse {
    /// Distinct lines.
    lines: usize,
    total: ReuseReport,
    sites: Vec<(u32, ReuseSums)>,
    objects: Vec<(u32, ReuseSums)>,
}

/// Lines of the reference that have counterparts at the same distance.
#[derive(Clone, Copy, Debug)]
struct ShiftedLines {
    shift: u64,
    first: u64,
    last: u64,
}

/// More groups of lines than this are not looked at.
const MOST_GROUPS: usize = 16;
/// No line is that far from another.
const NO_SHIFT: u64 = 1 << 62;

impl ReferenceBlock {
    /// Makes room for the numbers of the lines of a block.
    pub fn prepare(&mut self, warps: usize) {
        self.known = None;
        self.numbers.iter_mut().for_each(Vec::clear);
        if self.numbers.len() < warps {
            self.numbers.resize_with(warps, Vec::new);
        }
    }

    /// Takes the requests of the block that was counted into `tally`, and leaves empty lists. It
    /// has `lines` distinct lines, whose numbers are in `numbers`.
    pub fn set(&mut self, warps: &mut Vec<WarpHistory>, lines: usize, tally: &Tally) {
        std::mem::swap(&mut self.warps, warps);
        let sites = (0..).zip(tally.sites.0.iter().map(|site| site.counts.reuse));
        let objects = tally.objects.entries.iter();
        let objects = objects.map(|object| (object.object, object.counts.reuse));
        let has_loads = |(_, sums): &(u32, ReuseSums)| sums.loads > 0;
        self.known = Some(KnownReuse {
            lines,
            total: tally.reuse.clone(),
            sites: sites.filter(has_loads).collect(),
            objects: objects.filter(has_loads).collect(),
        });
    }

    /// If a block has the same reuse as this one, counts it. Returns whether it does.
    pub fn count(&mut self, warps: &[WarpHistory], tally: &mut Tally) -> bool {
        let Some(known) = self.known.take() else {
            return false;
        };
        let is_equal = self.equals(warps, known.lines);
        if is_equal {
            tally.reuse.merge(&known.total);
            for (site, sums) in &known.sites {
                tally.sites.of(*site).counts.reuse.merge(sums);
            }
            for (object, sums) in &known.objects {
                tally.objects.of(*object).counts.reuse.merge(sums);
            }
        }
        self.known = Some(known);
        is_equal
    }

    /// Whether each line has one counterpart, and no two lines have the same.
    fn equals(&mut self, warps: &[WarpHistory], lines: usize) -> bool {
        self.shifts.clear();
        self.shifts.resize(lines, NO_SHIFT);
        self.groups.clear();
        let (shorter, longer) = if warps.len() < self.warps.len() {
            (warps, &self.warps[..])
        } else {
            (&self.warps[..], warps)
        };
        let rest = &longer[shorter.len()..];
        let pairs = warps.iter().zip(&self.warps);
        rest.iter().all(|warp| warp.requests.is_empty())
            && pairs
                .clone()
                .all(|(warp, known)| warp.requests == known.requests)
            && pairs.zip(&self.numbers).all(|((warp, known), numbers)| {
                shift_lines(warp, known, numbers, &mut self.shifts, &mut self.groups)
            })
            && are_apart(&self.groups)
    }
}

/// Finds out how far the lines of a warp are from those of the reference. Returns whether the warps
/// are equal apart from that, and each line is always equally far.
fn shift_lines(
    warp: &WarpHistory,
    known: &WarpHistory,
    numbers: &[u32],
    shifts: &mut [u64],
    groups: &mut Vec<ShiftedLines>,
) -> bool {
    let parts = warp.parts.iter().zip(&known.parts).zip(numbers);
    for ((part, known), &number) in parts {
        let is_same = (part.units ^ known.units)
            | (part.repeated ^ known.repeated)
            | (part.accesses ^ known.accesses)
            | (part.object ^ known.object);
        let shift = part.line.wrapping_sub(known.line);
        let expected = &mut shifts[number as usize];
        if is_same == 0 && *expected == shift {
            continue;
        }
        if is_same != 0 || *expected != NO_SHIFT {
            return false;
        }
        *expected = shift;
        if let Some(group) = groups.iter_mut().find(|group| group.shift == shift) {
            group.first = group.first.min(known.line);
            group.last = group.last.max(known.line);
            continue;
        }
        if groups.len() == MOST_GROUPS {
            return false;
        }
        groups.push(ShiftedLines {
            shift,
            first: known.line,
            last: known.line,
        });
    }
    true
}

/// Whether no two groups have counterparts in the same range of lines, so that no two lines have
/// the same counterpart.
fn are_apart(groups: &[ShiftedLines]) -> bool {
    // Lines are below 2^57, so sums that are counterparts do not overflow.
    let ranges = groups.iter().map(|group| {
        let to = |line: u64| line.wrapping_add(group.shift);
        (to(group.first), to(group.last))
    });
    ranges.clone().enumerate().all(|(number, (first, last))| {
        let mut before = ranges.clone().take(number);
        before.all(|(low, high)| last < low || high < first)
    })
}
