//! Local variables with a fixed place in the frames of their function, and which frames with such
//! variables are live on a stack.

use crate::hash::GOLDEN;

/// A variable in the frames of a function.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Local {
    /// How far below the canonical frame address its first byte is.
    pub below: u64,
    pub bytes: u64,
    pub object: u32,
    /// Bytes of an element; 0 = unknown.
    pub element_bytes: u64,
}

/// The variables in the frames of a function.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalLayout {
    /// The function's code: distances of its parts from where it is entered, modulo 2⁶⁴, and their
    /// bytes.
    pub code: Vec<(u64, u64)>,
    /// In the order of their addresses, disjoint; at least one.
    pub locals: Vec<Local>,
}

impl LocalLayout {
    /// Whether an instruction is one of the function, which is entered at `entry`.
    #[inline]
    pub fn has_code(&self, entry: u64, pc: u64) -> bool {
        let offset = pc.wrapping_sub(entry);
        let mut parts = self.code.iter();
        parts.any(|(start, bytes)| offset.wrapping_sub(*start) < *bytes)
    }

    /// How far below the canonical frame address the first variable begins.
    #[inline]
    pub fn depth(&self) -> u64 {
        self.locals.first().map_or(0, |local| local.below)
    }

    /// What is at an address in a frame with this canonical frame address: low and high end, and
    /// the variable; none for a gap between two, or after the last. `None` for an address before
    /// the first, where the frames of callees are too.
    pub fn find(&self, frame: u64, address: u64) -> Option<(u64, u64, Option<&Local>)> {
        let low = |local: &Local| frame.wrapping_sub(local.below);
        let after = self.locals.partition_point(|local| low(local) <= address);
        let local = self.locals[..after].last()?;
        let end = low(local).wrapping_add(local.bytes);
        if address < end {
            return Some((low(local), end, Some(local)));
        }
        Some((end, self.locals.get(after).map_or(frame, low), None))
    }
}

/// All layouts. 0 is that of functions without such variables.
#[derive(Debug)]
pub(crate) struct LocalLayouts(Vec<LocalLayout>);

impl Default for LocalLayouts {
    fn default() -> Self {
        LocalLayouts(vec![LocalLayout::default()])
    }
}

impl LocalLayouts {
    /// The number of a new layout.
    pub fn add(&mut self, layout: LocalLayout) -> u32 {
        self.0.push(layout);
        self.0.len() as u32 - 1
    }

    /// A layout by its number.
    #[inline]
    pub fn get(&self, number: u32) -> &LocalLayout {
        &self.0[number as usize]
    }
}

/// A frame with variables of its own that begins on top of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NewFrame {
    /// The number of those others: see [`LiveFrames`].
    pub outer: u32,
    pub layout: u32,
    /// Where its return address is.
    pub low: u64,
    /// Where its function was entered.
    pub entry: u64,
}

/// Numbers sets of live frames with variables, so that what was found out about an address holds
/// wherever the number is the same. Set 0 is empty.
///
/// Equal sets mostly have one number, and different sets always have different ones. A function
/// that is called again from the same place thus finds what its instructions remember still true.
/// The sets of late are known by a table of fixed size: deep recursion makes any number of them.
#[derive(Debug)]
pub(crate) struct LiveFrames {
    known: Box<[(NewFrame, u32)]>,
    last: u32,
}

/// log2 of the sets that are known.
const KNOWN_BITS: u32 = 12;

impl Default for LiveFrames {
    fn default() -> Self {
        LiveFrames {
            known: vec![(NewFrame::default(), 0); 1 << KNOWN_BITS].into(),
            last: 0,
        }
    }
}

impl LiveFrames {
    /// The number of a set with one frame more. Never 0.
    #[inline]
    pub fn number(&mut self, frame: NewFrame) -> u32 {
        let key = frame.low ^ frame.entry.rotate_left(24) ^ u64::from(frame.outer) << 40;
        let slot = key.wrapping_mul(GOLDEN) >> (64 - KNOWN_BITS);
        let known = &mut self.known[slot as usize];
        // A layout is never 0, so that an empty slot is equal to none.
        if known.0 != frame {
            self.last = self.last.wrapping_add(1).max(1);
            *known = (frame, self.last);
        }
        known.1
    }

    /// Memory held.
    pub fn memory(&self) -> u64 {
        size_of_val(&*self.known) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(locals: &[(u64, u64)]) -> LocalLayout {
        let local = |(object, &(below, bytes)): (u32, &(u64, u64))| Local {
            below,
            bytes,
            object,
            element_bytes: 0,
        };
        LocalLayout {
            code: vec![(0, 0x40), (0xffff_ffff_ffff_ff00, 0x10)],
            locals: (7..).zip(locals).map(local).collect(),
        }
    }

    #[test]
    fn an_address_is_in_a_variable_or_in_a_gap_after_one() {
        let layout = layout(&[(0x100, 0x40), (0x80, 0x20)]);
        let object = |address| {
            let (low, high, local) = layout.find(0x1000, address)?;
            Some((low, high, local.map_or(0, |local| local.object)))
        };
        assert_eq!(object(0xeff), None);
        assert_eq!(object(0xf00), Some((0xf00, 0xf40, 7)));
        assert_eq!(object(0xf40), Some((0xf40, 0xf80, 0)));
        assert_eq!(object(0xf9f), Some((0xf80, 0xfa0, 8)));
        assert_eq!(object(0xfff), Some((0xfa0, 0x1000, 0)));
    }

    #[test]
    fn code_may_be_in_parts_before_the_entry_too() {
        let layout = layout(&[]);
        for (pc, has) in [
            (0x1000, true),
            (0x103f, true),
            (0x1040, false),
            (0xf00, true),
            (0xf10, false),
        ] {
            assert_eq!(layout.has_code(0x1000, pc), has, "{pc:#x}");
        }
    }

    #[test]
    fn equal_sets_have_one_number_and_different_ones_do_not() {
        let mut live = LiveFrames::default();
        let frame = |outer, low| NewFrame {
            outer,
            layout: 1,
            low,
            entry: 0x400,
        };
        let first = live.number(frame(0, 0x1000));
        assert_eq!(live.number(frame(0, 0x1000)), first);
        let mut seen = vec![first];
        for low in 0..10_000 {
            seen.push(live.number(frame(first, low * 8)));
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10_001);
        assert!(!seen.contains(&0));
    }
}
