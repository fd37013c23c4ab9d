//! [`Tracker`]: the reuse distances of one stream of requests, by element and by line.

use reuselens_warp::WarpKind;

use super::grain::{Clock, Grain, LineItems, Reused};
use super::recency::{ItemCounts, ItemSize};
use super::table::LineTable;
use super::{ReuseCounts, ReuseSums};
use crate::count_bits;
use crate::request::{UNIT_SHIFT, count_sectors, sector_mask};

/// What a request accesses in one line of 128 bytes, as it is kept until its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptPart {
    /// Number of the line: address / 128.
    pub line: u64,
    /// A bit for each unit of 4 bytes.
    pub units: u32,
    /// A bit for each element that several lanes access.
    pub repeated: u32,
    /// Elements accessed, summed over lanes.
    pub accesses: u32,
    /// Number of the data object.
    pub object: u32,
}

/// Where a stream counts: by element and by line.
#[derive(Debug)]
pub(crate) struct ReuseTargets<'c> {
    pub elements: &'c mut ReuseCounts,
    pub lines: &'c mut ReuseCounts,
}

/// Is shown what the parts of requests reuse.
pub(crate) trait SeeReuse {
    /// Takes a part, and the number of its line in the stream.
    fn see(&mut self, part: &KeptPart, number: u32, sums: &ReuseSums);
}

/// Looks at nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unseen;

impl SeeReuse for Unseen {
    #[inline(always)]
    fn see(&mut self, _: &KeptPart, _: u32, _: &ReuseSums) {}
}

/// Reuse distances of one stream of requests: a warp's or a block's.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    lines: LineTable,
    /// By the line's number.
    states: Vec<LineState>,
    clock: Clock,
    by_element: Grain,
    by_line: Grain,
    last: Option<LastRequest>,
}

/// What is known of one line of 128 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct LineState {
    elements: LineItems,
    lines: LineItems,
    /// Sectors that were loaded and not written since.
    loaded: u8,
}

/// The last request, if it accessed one line: most requests do.
#[derive(Clone, Copy, Debug)]
struct LastRequest {
    line: u64,
    units: u32,
    /// The line's number.
    number: u32,
    elements: u32,
    lines: u32,
}

impl Tracker {
    /// For elements and lines of these sizes, as log2 of their bytes.
    pub fn new(element_shift: u32, line_shift: u32) -> Tracker {
        Tracker {
            lines: LineTable::new(),
            states: Vec::new(),
            clock: Clock::new(),
            by_element: Grain::new(ItemSize::Element, element_shift - UNIT_SHIFT),
            by_line: Grain::new(ItemSize::Line, line_shift - UNIT_SHIFT),
            last: None,
        }
    }

    /// Counts the accesses of a request, and shows each part with what it reuses.
    ///
    /// Inlined where requests of warps and of blocks are counted, as the former need no sums.
    #[inline(always)]
    pub fn request(
        &mut self,
        kind: WarpKind,
        parts: &[KeptPart],
        counts: ReuseTargets<'_>,
        seen: &mut impl SeeReuse,
    ) {
        if let [part] = parts {
            // Warps of a block often load one line one after the other: nothing is between.
            let (number, sums) = match self.last {
                Some(last) if last.line == part.line && last.units == part.units => {
                    (last.number, self.repeat(kind, part, counts, last))
                }
                _ => self.single(kind, part, counts),
            };
            seen.see(part, number, &sums);
            return;
        }
        self.last = None;
        self.clock.begin();
        for part in parts {
            let number = self.number(part.line);
            let sums = self.part(kind, part, number, counts.elements, counts.lines);
            seen.see(part, number, &sums);
        }
        self.end();
    }

    /// A request that accesses one line.
    #[inline(always)]
    fn single(
        &mut self,
        kind: WarpKind,
        part: &KeptPart,
        counts: ReuseTargets<'_>,
    ) -> (u32, ReuseSums) {
        self.clock.begin();
        let number = self.number(part.line);
        let sums = self.part(kind, part, number, counts.elements, counts.lines);
        let items = self.clock.items();
        self.last = Some(LastRequest {
            line: part.line,
            units: part.units,
            number,
            elements: items.of(ItemSize::Element),
            lines: items.of(ItemSize::Line),
        });
        self.end();
        (number, sums)
    }

    /// The number of a line, which has a state then.
    #[inline(always)]
    fn number(&mut self, line: u64) -> u32 {
        let (number, is_new) = self.lines.number(line);
        if is_new {
            self.states.push(LineState::default());
        }
        number
    }

    /// What a request accesses of one line.
    #[inline(always)]
    fn part(
        &mut self,
        kind: WarpKind,
        part: &KeptPart,
        number: u32,
        elements: &mut ReuseCounts,
        lines: &mut ReuseCounts,
    ) -> ReuseSums {
        let state = &mut self.states[number as usize];
        let clock = &mut self.clock;
        let (units, repeated) = (part.units, part.repeated);
        let mut by_element =
            self.by_element
                .access(clock, &mut state.elements, units, repeated, kind, elements);
        by_element.add_repeats(part, kind, elements);
        let by_line = self
            .by_line
            .access(clock, &mut state.lines, units, 0, kind, lines);
        let (sectors, reused_sectors) = state.load_sectors(kind, units);
        sums(part, &by_element, &by_line, sectors, reused_sectors)
    }

    /// A request that accesses the same as the last one. What is left as it is: times, as nothing
    /// is between the two, and distances, which are the other items of the last request.
    #[inline(always)]
    fn repeat(
        &mut self,
        kind: WarpKind,
        part: &KeptPart,
        counts: ReuseTargets<'_>,
        last: LastRequest,
    ) -> ReuseSums {
        let state = &mut self.states[last.number as usize];
        let mut by_element = state.elements.repeat(
            self.by_element.items(part.units),
            last.elements,
            kind,
            counts.elements,
        );
        by_element.add_repeats(part, kind, counts.elements);
        let items = self.by_line.items(part.units);
        let by_line = state.lines.repeat(items, last.lines, kind, counts.lines);
        let (sectors, reused_sectors) = state.load_sectors(kind, part.units);
        sums(part, &by_element, &by_line, sectors, reused_sectors)
    }

    /// Ends a request.
    #[inline(always)]
    fn end(&mut self) {
        if self.clock.end() {
            self.renumber();
        }
    }

    #[cold]
    fn renumber(&mut self) {
        let numbers = self.clock.renumber();
        let states = self.states.iter_mut();
        let times = states.flat_map(|state| [&mut state.elements.time, &mut state.lines.time]);
        let times = times
            .chain(self.by_element.times())
            .chain(self.by_line.times());
        for time in times {
            // Times without items are old ones, which may be beyond the numbers.
            if let Some(&number) = numbers.get(*time as usize) {
                *time = number;
            }
        }
    }

    /// Distinct lines of 128 bytes.
    pub fn lines(&self) -> usize {
        self.states.len()
    }

    /// Ends the stream: counts its items, and forgets them.
    pub fn finish(&mut self, counts: ReuseTargets<'_>) {
        let ReuseTargets { elements, lines } = counts;
        for state in &self.states {
            elements.streaming += u64::from(count_bits(state.elements.once));
            lines.streaming += u64::from(count_bits(state.lines.once));
        }
        let total: ItemCounts = self.clock.total();
        elements.items += u64::from(total.of(ItemSize::Element));
        lines.items += u64::from(total.of(ItemSize::Line));
        self.lines.clear();
        self.states.clear();
        self.clock.clear();
        self.by_element.clear();
        self.by_line.clear();
        self.last = None;
    }
}

impl LineState {
    /// Loads or writes sectors. Returns which they are, and which of them were loaded before.
    #[inline(always)]
    fn load_sectors(&mut self, kind: WarpKind, units: u32) -> (u8, u8) {
        let sectors = sector_mask(units) as u8;
        let reused = self.loaded & sectors;
        match kind {
            WarpKind::Load => self.loaded |= sectors,
            WarpKind::Store | WarpKind::Atomic => self.loaded &= !sectors,
        }
        (sectors, reused)
    }
}

impl Reused {
    /// Adds the accesses to elements that a lower lane of the request accesses, too.
    #[inline(always)]
    fn add_repeats(&mut self, part: &KeptPart, kind: WarpKind, counts: &mut ReuseCounts) {
        let repeats = u64::from(part.accesses) - self.items;
        if repeats > 0 {
            counts.add(kind, Some(0), repeats);
            self.reuses += repeats;
        }
    }
}

#[inline(always)]
fn sums(
    part: &KeptPart,
    by_element: &Reused,
    by_line: &Reused,
    sectors: u8,
    reused_sectors: u8,
) -> ReuseSums {
    ReuseSums {
        loads: by_line.items,
        reuses: by_line.reuses,
        distance_sum: by_line.distance_sum,
        element_loads: part.accesses.into(),
        element_reuses: by_element.reuses,
        sectors: count_sectors(sectors.into()).into(),
        reused_sectors: count_sectors(reused_sectors.into()).into(),
    }
}
