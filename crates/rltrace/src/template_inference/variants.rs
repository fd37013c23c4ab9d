//! The shapes of a piece: what its addresses have to do with each other.
//!
//! When a piece comes for the third time, rows that went as far as each other since are put
//! together: they share a word, if they moved or lie near each other. When that does not hold, a
//! further shape is made, of parts of those groups: those that went as far as each other this time.
//! So it takes a few until what holds by chance is gone. The last has a word for each row.

use std::ops::Range;

use super::{MOST, Site};
use reuselens_trace::{Kind, ShapedBlock, Shapes};

/// The most shapes of a piece at a time.
const AT_ONCE: usize = 4;
/// The most that are made of it. The last fits anything.
const MOST_MADE: u8 = 8;
/// Addresses that did not move go together if they are nearer than this.
const NEAR: u64 = 1 << 20;
/// In place of a leader: the row's number is always the same.
const CONSTANT: u8 = MOST as u8;
/// A shape that fitted rarely, of so many times, is tried no more.
const TRIES: u32 = 16;

/// The addresses of a piece; what is behind them is 0.
pub(super) struct Addrs {
    all: [u64; 2 * MOST],
    rows: usize,
}

impl Addrs {
    /// Those of up to [`MOST`] rows.
    #[inline(always)]
    pub(super) fn of(addrs: &[u64]) -> Addrs {
        let mut all = [0; 2 * MOST];
        all[..addrs.len()].copy_from_slice(addrs);
        Addrs {
            all,
            rows: addrs.len(),
        }
    }

    #[inline(always)]
    fn get(&self, row: u8) -> u64 {
        self.all[usize::from(row) % (2 * MOST)]
    }
}

/// A shape of a piece.
#[derive(Clone, Copy)]
struct Variant {
    shape: u32,
    /// Where its rows are in `leaders` and `displacements`.
    first_row: u32,
    /// Where its words are in `firsts`, `lasts` and `steps`.
    first_word: u32,
    words: u8,
    /// How often it was tried, and how often that was in vain.
    tries: u32,
    misses: u32,
}

/// The shapes of one piece.
#[derive(Clone, Copy, Default)]
struct Own {
    variants: [u32; AT_ONCE],
    count: u8,
    made: u8,
}

/// The shapes of all.
#[derive(Default)]
pub(super) struct Variants {
    /// Of all pieces but the first, which is none.
    own: Vec<Own>,
    /// For each row of each piece: its address when the last shape was made, and its leader then.
    before: Vec<u64>,
    parts: Vec<u8>,
    variants: Vec<Variant>,
    /// For each row of each shape the row that has its word, and how far it is from that.
    leaders: Vec<u8>,
    displacements: Vec<u64>,
    /// For each word of each shape: the row that it is the address of, what it was last, and how
    /// far it went then.
    firsts: Vec<u8>,
    lasts: Vec<u64>,
    steps: Vec<u64>,
}

impl Variants {
    pub(super) fn clear(&mut self) {
        self.own.clear();
        self.before.clear();
        self.parts.clear();
        self.variants.clear();
        self.leaders.clear();
        self.displacements.clear();
        self.firsts.clear();
        self.lasts.clear();
        self.steps.clear();
    }

    /// Rows of all shapes.
    pub(super) fn rows(&self) -> usize {
        self.leaders.len()
    }

    /// Adds a piece.
    pub(super) fn enter(&mut self, addrs: &[u64]) {
        self.own.push(Own::default());
        self.before.extend_from_slice(addrs);
        self.parts.resize(self.before.len(), 0);
    }

    /// The shape of a piece that these addresses fit.
    #[inline(always)]
    pub(super) fn fitting(&mut self, path: u32, addrs: &Addrs) -> Option<u32> {
        let own = &mut self.own[path as usize - 1];
        let mut place = 0;
        while place < usize::from(own.count) {
            let number = own.variants[place % AT_ONCE];
            let variant = &mut self.variants[number as usize];
            let rows = variant.first_row as usize..variant.first_row as usize + addrs.rows;
            variant.tries += 1;
            if holds(
                &self.leaders[rows.clone()],
                &self.displacements[rows],
                addrs,
            ) {
                return Some(number);
            }
            variant.misses += 1;
            let rarely = variant.tries >= TRIES && variant.misses > variant.tries / 4 * 3;
            if variant.tries >= 2 * TRIES {
                (variant.tries, variant.misses) = (variant.tries / 2, variant.misses / 2);
            }
            if rarely && own.made < MOST_MADE {
                own.variants.copy_within(place + 1.., place);
                own.count -= 1;
            } else {
                place += 1;
            }
        }
        None
    }

    /// Appends a note; whether each of its words went as far as the last time.
    #[inline(always)]
    pub(super) fn note(
        &mut self,
        number: u32,
        rows: usize,
        addrs: &Addrs,
        out: &mut ShapedBlock,
    ) -> bool {
        let variant = &self.variants[number as usize];
        let own =
            variant.first_word as usize..variant.first_word as usize + usize::from(variant.words);
        let (lasts, steps) = (&mut self.lasts[own.clone()], &mut self.steps[own.clone()]);
        let mut words = [0; MOST];
        let mut odd = 0;
        let each = words.iter_mut().zip(&self.firsts[own.clone()]);
        for ((word, first), (last, before)) in each.zip(lasts.iter_mut().zip(steps)) {
            *word = addrs.get(*first);
            let step = word.wrapping_sub(*last);
            odd |= step ^ *before;
            (*last, *before) = (*word, step);
        }
        out.push(variant.shape, rows, &words[..own.len()]);
        odd == 0
    }

    /// Makes a further shape of a piece, which these addresses fit. `rows` are its places among
    /// those of all pieces.
    #[cold]
    #[inline(never)]
    pub(super) fn make(
        &mut self,
        (path, rows): (u32, &Range<usize>),
        sites: &[Site],
        addrs: &Addrs,
        shapes: &mut Shapes,
    ) -> Option<u32> {
        let own = &mut self.own[path as usize - 1];
        if usize::from(own.count) + 1 == AT_ONCE {
            own.made = MOST_MADE - 1;
        }
        let own = *own;
        let leaders = match own.made + 1 >= MOST_MADE {
            true => std::array::from_fn(|row| row as u8),
            false => self.groups(own.made == 0, rows, sites, addrs),
        };
        let leaders = &leaders[..addrs.rows];
        let number = self.add(leaders, sites, addrs, shapes)?;
        let own = &mut self.own[path as usize - 1];
        own.variants[usize::from(own.count) % AT_ONCE] = number;
        own.count += 1;
        own.made += 1;
        self.before[rows.clone()].copy_from_slice(&addrs.all[..addrs.rows]);
        self.parts[rows.clone()].copy_from_slice(leaders);
        Some(number)
    }

    /// For each row its leader: the first that was in its group, and went as far as it since.
    fn groups(
        &self,
        first_time: bool,
        rows: &Range<usize>,
        sites: &[Site],
        addrs: &Addrs,
    ) -> [u8; MOST] {
        let (before, parts) = (&self.before[rows.clone()], &self.parts[rows.clone()]);
        let step = |row: usize| addrs.all[row].wrapping_sub(before[row]);
        let mut leaders: [u8; MOST] = std::array::from_fn(|row| row as u8);
        for row in 0..addrs.rows {
            if is_number(sites[row].kind) {
                let constant = step(row) == 0 && (first_time || parts[row] == CONSTANT);
                leaders[row] = if constant { CONSTANT } else { row as u8 };
                continue;
            }
            let joins = |&leader: &usize| {
                let far = addrs.all[row].wrapping_sub(addrs.all[leader]);
                let near = step(row) != 0 || far.wrapping_add(NEAR) < 2 * NEAR;
                let together = if first_time {
                    near
                } else {
                    parts[row] == parts[leader]
                };
                usize::from(leaders[leader]) == leader
                    && !is_number(sites[leader].kind)
                    && step(row) == step(leader)
                    && together
            };
            let leader = (0..row).find(joins);
            leaders[row] = leader.unwrap_or(row) as u8;
        }
        leaders
    }

    /// Adds a shape.
    fn add(
        &mut self,
        leaders: &[u8],
        sites: &[Site],
        addrs: &Addrs,
        shapes: &mut Shapes,
    ) -> Option<u32> {
        let (first_row, first_word) = (self.leaders.len(), self.firsts.len());
        let mut words = [0_u8; MOST];
        let mut rows = [sites[0].row(None, 0); MOST];
        for (row, &leader) in leaders.iter().enumerate() {
            if usize::from(leader) == row {
                words[row] = (self.firsts.len() - first_word) as u8;
                self.firsts.push(leader);
            }
            let word = (leader != CONSTANT).then(|| words[usize::from(leader) % MOST]);
            let displacement = addrs.all[row].wrapping_sub(addrs.get(leader));
            rows[row] = sites[row].row(word, displacement);
            self.displacements.push(displacement);
        }
        self.leaders.extend_from_slice(leaders);
        self.lasts.resize(self.firsts.len(), 0);
        self.steps.resize(self.firsts.len(), 0);
        self.variants.push(Variant {
            shape: shapes.add(&rows[..leaders.len()])?,
            first_row: first_row as u32,
            first_word: first_word as u32,
            words: (self.firsts.len() - first_word) as u8,
            tries: 0,
            misses: 0,
        });
        Some(self.variants.len() as u32 - 1)
    }
}

/// Whether addresses are as the leaders say.
#[inline(always)]
fn holds(leaders: &[u8], displacements: &[u64], addrs: &Addrs) -> bool {
    let each = leaders.iter().zip(displacements).zip(&addrs.all);
    let odd = each.fold(0, |odd, ((leader, displacement), addr)| {
        odd | addrs.get(*leader).wrapping_add(*displacement) ^ addr
    });
    odd == 0
}

/// Whether what a row has is a number rather than an address.
fn is_number(kind: Kind) -> bool {
    matches!(kind, Kind::Operand | Kind::Statement | Kind::BasicBlock)
}
