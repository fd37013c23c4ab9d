//! Tokens and words of shapes to rows.

use crate::decode_rows::{SITE, Streams};
use crate::encode::ENOUGH_ROWS;
use crate::templates::{
    AGAIN, MOST_SHAPE_ROWS, MOST_SHAPE_WORDS, NEW, Nexts, OTHER, Plan, START, Trails, Word, Words,
    follow,
};
use crate::{MAX_SHAPED_ROWS, MAX_SHAPED_WORDS, processor::Processor};
use items::{Eight, Left, NO_EIGHT};
use reuselens_io::varint::{Cursor, Damage, END, unzigzag};
use reuselens_trace::{Columns, ItemProjection};
use reuselens_trace::{SHAPE_ROWS_MOST, SHAPE_WORDS_MOST, ShapeRow};
use row_group::{GROUP, GROUPS, Group, NO_GROUP, fill};

pub(super) mod items;
mod repeats;
mod row_group;

/// Columns must be that much longer than the rows that are wanted.
pub(super) const SLACK: usize = SHAPE_ROWS_MOST + GROUPS * GROUP;
/// The most rows of shapes that a writer's chunk has.
const MOST_ROWS: usize = ENOUGH_ROWS as usize + MAX_SHAPED_ROWS;

/// A note: where its shape's rows are, and its words.
#[derive(Clone, Copy, Default)]
struct Note {
    first_group: u32,
    first_eight: u32,
    first_word: u32,
    /// How many rows are in groups: all, or, where touches are made, the accesses that count if
    /// none but plain rows are there.
    rows: u16,
    left: Left,
    /// Whether they may be left out where they come again.
    can_fold: bool,
}

/// A shape in the chunk: all that a note needs of it, in half a line of a cache.
#[derive(Clone, Copy, Default)]
#[repr(align(32))]
struct Site {
    nexts: Nexts,
    /// A note of it, but for where its words are: here those are among those of all shapes.
    note: Note,
    words: u16,
    rows: u16,
}

/// What the head of a block says of it.
#[derive(Clone, Copy)]
pub(super) struct Notes {
    pub(super) notes: usize,
    /// How many rows they stand for.
    pub(super) rows: usize,
}

/// What the notes of a chunk have shown so far. What a forged chunk can cost is bounded by what
/// writers put into one ([`MOST_SHAPE_ROWS`], [`MOST_SHAPE_WORDS`]) and into a block: 110 MiB at
/// most, 180 where touches are made, for each thread that decodes.
pub(super) struct ShapeDecoder {
    sites: Vec<Site>,
    words: Words,
    /// Those of all sites, and [`GROUPS`] more.
    groups: Vec<Group>,
    /// The accesses of those of which touches are made, and one more.
    eights: Vec<Eight>,
    /// The notes of a block, their words, and what those are.
    notes: Vec<Note>,
    plan: Plan,
    values: Vec<u64>,
    trails: Trails,
    /// What is expected of each trail.
    lasts: Vec<u64>,
    /// Those of a shape, and its words.
    described: Vec<ShapeRow>,
    own_words: Vec<Word>,
    /// Rows of the chunk so far.
    rows: usize,
    /// Groups of the chunk, if all rows were in some.
    all_groups: usize,
    /// If touches are made of rows: of which.
    projection: Option<ItemProjection>,
    /// The numbers of the shapes that are templates of the chunk, by their first group, and how
    /// many they are.
    known: Vec<u32>,
    templates: u32,
    /// Addresses of those that come again.
    numbers: Vec<u64>,
}

impl ShapeDecoder {
    pub(super) fn new(projection: Option<ItemProjection>) -> ShapeDecoder {
        ShapeDecoder {
            sites: vec![Site::default()],
            words: Words::new(),
            groups: vec![NO_GROUP; GROUPS],
            eights: vec![NO_EIGHT],
            notes: Vec::new(),
            plan: Plan::default(),
            values: Vec::new(),
            trails: Trails::default(),
            lasts: Vec::new(),
            described: Vec::new(),
            own_words: Vec::new(),
            rows: 0,
            all_groups: 0,
            projection,
            known: Vec::new(),
            templates: 0,
            numbers: Vec::new(),
        }
    }

    /// Forgets everything: a chunk begins.
    pub(super) fn clear(&mut self) {
        self.sites.truncate(1);
        self.sites[START] = Site::default();
        self.words.clear();
        self.groups.truncate(GROUPS);
        self.eights.truncate(1);
        self.trails.clear();
        self.lasts.clear();
        (self.rows, self.all_groups) = (0, 0);
        // Other shapes have these groups now.
        self.known.clear();
        self.templates = 0;
    }

    /// Fills the columns of a block with the rows of its notes. The columns are longer by
    /// [`SLACK`].
    #[inline(always)]
    pub(super) fn block_here(
        &mut self,
        squeeze: impl Processor,
        streams: &mut Streams<'_>,
        notes: Notes,
        columns: &mut Columns<'_>,
    ) -> Result<(), Damage> {
        self.read(squeeze, streams, notes)?;
        let mut at = 0;
        for note in &self.notes {
            let first = note.first_group as usize;
            let words = self.values[note.first_word as usize..].first_chunk();
            let few: Option<&[Group; GROUPS]> = self.groups[first..].first_chunk();
            let (Some(words), Some(few)) = (words, few) else {
                return Err(ROWS);
            };
            fill(few, words, at, columns);
            let rows = usize::from(note.rows);
            if rows > GROUPS * GROUP {
                let others = &self.groups[first + GROUPS..first + rows.div_ceil(GROUP)];
                fill(others, words, at + GROUPS * GROUP, columns);
            }
            at += rows;
        }
        Ok(())
    }

    /// Reads the notes of a block, and their words.
    #[inline(always)]
    fn read(
        &mut self,
        squeeze: impl Processor,
        streams: &mut Streams<'_>,
        Notes { notes, rows }: Notes,
    ) -> Result<(), Damage> {
        self.rows += rows;
        if self.rows > MOST_ROWS {
            return Err(Damage(
                "a chunk has more rows than any writer puts into one",
            ));
        }
        self.notes(streams, notes, rows)?;
        self.values(squeeze, &mut streams.addrs)
    }

    /// Reads the tokens of a block that has `rows` rows. Which words its notes have is in `plan`
    /// then.
    #[inline(always)]
    fn notes(
        &mut self,
        streams: &mut Streams<'_>,
        notes: usize,
        rows: usize,
    ) -> Result<(), Damage> {
        // Every word has at least one byte, and every note a row.
        let most = streams.addrs.left().min(MAX_SHAPED_WORDS);
        if notes > rows {
            return Err(ROWS);
        }
        let bits = streams.tokens.some(notes.div_ceil(8))?;
        let (mut plan, mut all) = (
            std::mem::take(&mut self.plan),
            std::mem::take(&mut self.notes),
        );
        plan.clear();
        all.resize(notes, Note::default());
        let (mut before, mut found) = (START, 0);
        for (place, note) in all.iter_mut().enumerate() {
            let is_zero = (bits[place / 8] >> (place % 8)) & 1 == 0;
            let next = self.sites[before].nexts[0];
            before = if is_zero && next != 0 {
                next
            } else {
                let token = match is_zero {
                    true => AGAIN,
                    false => streams.tokens.number()?,
                };
                self.number(token, before, &mut streams.described)?
            } as usize;
            let site = &self.sites[before];
            found += usize::from(site.rows);
            *note = site.note;
            note.first_word = plan.len() as u32;
            let (first, count) = (site.note.first_word as usize, usize::from(site.words));
            plan.push(&self.words, first, count, most).ok_or(END)?;
        }
        (self.plan, self.notes) = (plan, all);
        match found == rows {
            true if self.plan.len() <= most => Ok(()),
            true => Err(END),
            false => Err(ROWS),
        }
    }

    /// Reads the words of a block.
    #[inline(always)]
    fn values(&mut self, squeeze: impl Processor, addrs: &mut Cursor<'_>) -> Result<(), Damage> {
        let trails = self.plan.trails();
        at_least(&mut self.values, trails.len() + SHAPE_WORDS_MOST);
        addrs.numbers(squeeze, &mut self.values[..trails.len()])?;
        let lasts = self.lasts.as_mut_slice();
        for (trail, value) in trails.iter().zip(&mut self.values) {
            let last = &mut lasts[*trail as usize];
            *last = last.wrapping_add(unzigzag(*value));
            *value = *last;
        }
        Ok(())
    }

    /// The number of the shape that a token stands for.
    #[inline(always)]
    fn number(
        &mut self,
        token: u64,
        before: usize,
        described: &mut Cursor<'_>,
    ) -> Result<u32, Damage> {
        let nexts = self.sites[before].nexts;
        if token == AGAIN && nexts[0] != 0 {
            return Ok(nexts[0]);
        }
        let number = match token {
            NEW => self.describe(described)?,
            OTHER => nexts[1],
            AGAIN => 0,
            token => u32::try_from(token - OTHER).unwrap_or(0),
        };
        if number == 0 || number as usize >= self.sites.len() {
            return Err(SITE);
        }
        follow(&mut self.sites[before].nexts, number);
        Ok(number)
    }

    #[cold]
    #[inline(never)]
    fn describe(&mut self, from: &mut Cursor<'_>) -> Result<u32, Damage> {
        let words = self.trails.get(from, &mut self.described)?;
        let rows = self.described.len();
        self.all_groups += rows.div_ceil(GROUP);
        if self.all_groups > MOST_SHAPE_ROWS || self.words.len() + words > MOST_SHAPE_WORDS {
            return Err(Damage(
                "a chunk has more sites than any writer puts into one",
            ));
        }
        self.own_words.clear();
        self.trails
            .words_of(&self.described, words, &mut self.own_words);
        let first_word = self.words.add(&self.own_words);
        for row in &mut self.described {
            // From here on a word is the address that its trail has, which is that of its first
            // row.
            let word = row.word.map(|word| &self.own_words[usize::from(word)]);
            let first = word.map_or(0, |word| word.displacement);
            row.displacement = row.displacement.wrapping_sub(first);
        }
        self.lasts.resize(self.trails.len(), 0);
        let can_fold = Note::folds(&self.described);
        let projection = self.projection.as_ref();
        let (left, first_eight) = projection.map_or((Left::All, 0), |projection| {
            items::enter(&mut self.eights, &mut self.described, projection)
        });
        let groups = self.groups.len() - GROUPS;
        self.sites.push(Site {
            note: Note {
                first_word: first_word as u32,
                first_group: groups as u32,
                first_eight,
                rows: self.described.len() as u16,
                left,
                can_fold,
            },
            words: words as u16,
            rows: rows as u16,
            ..Site::default()
        });
        self.groups.truncate(groups);
        self.groups
            .extend(self.described.chunks(GROUP).map(Group::of));
        self.groups.resize(self.groups.len() + GROUPS, NO_GROUP);
        Ok(self.sites.len() as u32 - 1)
    }
}

/// Makes it that long, if it is not.
fn at_least(values: &mut Vec<u64>, count: usize) {
    if values.len() < count {
        values.resize(count, 0);
    }
}

const ROWS: Damage = Damage("a block has other rows than it claims");

#[cfg(test)]
mod tests;
