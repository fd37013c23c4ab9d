//! [`LineTable`]: numbers for lines, from 0 in the order in which they come.

/// A hash table with open addressing. Emptying it costs the same for any number of lines.
#[derive(Clone, Debug)]
pub(super) struct LineTable {
    places: Vec<LinePlace>,
    /// 64 − log2 of the number of places.
    shift: u32,
    lines: u32,
    /// Places with another stamp are empty.
    stamp: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct LinePlace {
    line: u64,
    number: u32,
    stamp: u32,
}

/// log2 of the places of a new table.
const FIRST_BITS: u32 = 6;

impl LineTable {
    pub fn new() -> LineTable {
        LineTable {
            places: vec![LinePlace::default(); 1 << FIRST_BITS],
            shift: u64::BITS - FIRST_BITS,
            lines: 0,
            stamp: 1,
        }
    }

    pub fn clear(&mut self) {
        self.lines = 0;
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.places.fill(LinePlace::default());
            self.stamp = 1;
        }
    }

    /// The number of a line, and whether it is new.
    #[inline(always)]
    pub fn number(&mut self, line: u64) -> (u32, bool) {
        let place = self.place(line);
        let found = self.places[place];
        if found.stamp == self.stamp {
            return (found.number, false);
        }
        let number = self.lines;
        self.places[place] = LinePlace {
            line,
            number,
            stamp: self.stamp,
        };
        self.lines += 1;
        if self.lines as usize * 2 > self.places.len() {
            self.grow();
        }
        (number, true)
    }

    /// Where a line is, or the empty place where it belongs.
    #[inline(always)]
    fn place(&self, line: u64) -> usize {
        let last = self.places.len() - 1;
        let mut place = (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        loop {
            let found = &self.places[place & last];
            if found.stamp != self.stamp || found.line == line {
                return place & last;
            }
            place += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let doubled = vec![LinePlace::default(); self.places.len() * 2];
        let before = std::mem::replace(&mut self.places, doubled);
        self.shift -= 1;
        for found in before.into_iter().filter(|found| found.stamp == self.stamp) {
            let place = self.place(found.line);
            self.places[place] = found;
        }
    }
}
