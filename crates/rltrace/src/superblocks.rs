//! Joins templates that often follow each other into one: a *superblock*, as compilers call
//! straight code made of several pieces.
//!
//! Capture makes a template for each piece of code without a way in or out: three or four accesses.
//! A reader takes as long over an execution of such a template as over one with five times as many
//! rows. `encode` hands the executions of each block to [`SuperblockBuilder::join`], and encodes
//! what [`SuperblockBuilder::joined`] returns: r.lua is read in 3.4 ns a row for 5.5, r.bunzip2 in
//! 4.2 for 5.7; files are 1 and 7 % larger.
//!
//! For each template, joined or not, the builder counts the two templates that follow it most
//! ([`Followers`]). A follower that came [`JOIN_AFTER`] times is joined, and the joined template
//! has followers of its own: as in the code of Welch (1984), whose numbers are those of strings.
//! Each chunk describes its templates anew, so old counts halve with each chunk, and a follower
//! that no longer comes makes room for another.
//!
//! *Invariant:* the operands of the joined executions, one after the other, are those of the
//! original ones. So only the list of executions changes, and gets shorter.

use crate::templates::is_plain;
use reuselens_trace::{Kind, OPERANDS_AT_ONCE, TemplateRow, Templates};

/// How often a template must have followed another to be joined with it.
const JOIN_AFTER: u32 = 256;
/// The most operands of a joined template: those that the encoder copies at once.
const MAX_JOINED_OPERANDS: usize = OPERANDS_AT_ONCE;
/// The most rows of a joined template.
const MAX_JOINED_ROWS: usize = 32;
/// Rows of all templates beyond which none is joined, and all are forgotten with the chunk. It
/// bounds memory: to some 10 MiB, with what one more chunk can describe.
const MAX_ROWS: usize = 1 << 17;
/// How many followers of a template are known.
const KNOWN_FOLLOWERS: usize = 2;

/// A template that followed another.
#[derive(Clone, Copy, Default)]
struct Follower {
    /// Its number in the source.
    template: u32,
    /// The number here of both joined; 0 if they are not.
    joined: u32,
    /// How often it followed lately; 0 if this is no follower. Halved when a template follows that
    /// is not known, and with each chunk.
    times: u32,
}

/// The known followers of a template.
#[derive(Clone, Copy, Default)]
struct Followers([Follower; KNOWN_FOLLOWERS]);

impl Followers {
    /// The follower with this number in the source.
    #[inline(always)]
    fn find(&mut self, template: u32) -> Option<&mut Follower> {
        let mut followers = self.0.iter_mut();
        followers.find(|follower| follower.template == template && follower.times > 0)
    }

    /// An unknown template followed: it halves the count of the rarest follower that is not joined,
    /// and takes its place if that leaves 0.
    #[inline(always)]
    fn replace_rarest(&mut self, template: u32) {
        let followers = self.0.iter_mut().filter(|follower| follower.joined == 0);
        if let Some(rarest) = followers.min_by_key(|follower| follower.times) {
            rarest.times /= 2;
            if rarest.times == 0 {
                (rarest.template, rarest.times) = (template, 1);
            }
        }
    }
}

/// Joins the templates of a source. Has numbers of its own for the source's templates and for those
/// that it joined.
pub(super) struct SuperblockBuilder {
    /// By a template's number in the source its number here; 0 if it is not known yet.
    numbers: Vec<u32>,
    /// The source's templates that were executed, and the joined ones. The first is none.
    templates: Templates,
    /// The followers of each template here.
    followers: Vec<Followers>,
    /// Rows of all templates here.
    rows: usize,
    /// The executions that [`Self::join`] made.
    executions: Vec<u32>,
}

impl SuperblockBuilder {
    pub(super) fn new() -> SuperblockBuilder {
        let mut builder = SuperblockBuilder {
            numbers: Vec::new(),
            templates: Templates::new(),
            followers: Vec::new(),
            rows: 0,
            executions: Vec::new(),
        };
        builder.clear();
        builder
    }

    /// Forgets all templates.
    fn clear(&mut self) {
        let none = TemplateRow {
            kind: Kind::Load,
            size: 0,
            pc: 0,
            operand: None,
            displacement: 0,
        };
        self.numbers.clear();
        self.followers.clear();
        self.templates = Templates::new();
        self.rows = 0;
        self.add(&[none]);
    }

    fn add(&mut self, rows: &[TemplateRow]) -> Option<u32> {
        let number = self.templates.add(rows)?;
        self.followers.push(Followers::default());
        self.rows += rows.len();
        Some(number)
    }

    /// The executions that [`Self::join`] made, and their templates.
    pub(super) fn joined(&self) -> (&[u32], &Templates) {
        (&self.executions, &self.templates)
    }

    /// A chunk was written, so no number that was given out is used any more. Forgets all templates
    /// if there are too many.
    pub(super) fn chunk_ended(&mut self) {
        if self.rows >= MAX_ROWS {
            return self.clear();
        }
        for follower in self.followers.iter_mut().flat_map(|all| &mut all.0) {
            follower.times /= 2;
            if follower.times == 0 {
                *follower = Follower::default();
            }
        }
    }

    /// Joins a block's executions of the templates of `source`; see [`Self::joined`]. `None` if one
    /// is of no template.
    pub(super) fn join(&mut self, executions: &[u32], source: &Templates) -> Option<()> {
        if self.numbers.len() < source.len() {
            self.numbers.resize(source.len(), 0);
        }
        self.executions.clear();
        let mut at = 0;
        while let Some(&template) = executions.get(at) {
            let mut number = match *self.numbers.get(template as usize)? {
                0 => self.enter(template, source)?,
                known => known,
            };
            at += 1;
            // As far as joined templates lead. The first follower that is not joined is counted,
            // and begins the next execution.
            while let Some(&next) = executions.get(at) {
                let followers = &mut self.followers[number as usize];
                let Some(follower) = followers.find(next) else {
                    followers.replace_rarest(next);
                    break;
                };
                follower.times = follower.times.saturating_add(1);
                if follower.joined == 0 {
                    if follower.times == JOIN_AFTER {
                        self.join_two(number, next, source);
                    }
                    break;
                }
                number = follower.joined;
                at += 1;
            }
            self.executions.push(number);
        }
        Some(())
    }

    /// Enters a template of the source.
    #[cold]
    #[inline(never)]
    fn enter(&mut self, template: u32, source: &Templates) -> Option<u32> {
        let number = self.add(source.rows(template))?;
        self.numbers[template as usize] = number;
        Some(number)
    }

    /// Joins template `number` and `next`, which is one of the source, if all their rows are plain
    /// and there are few.
    #[cold]
    #[inline(never)]
    fn join_two(&mut self, number: u32, next: u32, source: &Templates) {
        let operands = self.templates.operands(number);
        let (first, second) = (self.templates.rows(number), source.rows(next));
        let rows = first.len() + second.len();
        let fits = operands + source.operands(next) <= MAX_JOINED_OPERANDS
            && rows <= MAX_JOINED_ROWS
            && self.rows + rows <= MAX_ROWS
            && first.iter().chain(second).all(|row| is_plain(row.kind));
        if !fits {
            return;
        }
        let second = second.iter().map(|row| TemplateRow {
            operand: row.operand.map(|operand| operand + operands as u8),
            ..*row
        });
        let both: Vec<TemplateRow> = first.iter().copied().chain(second).collect();
        let Some(joined) = self.add(&both) else {
            return;
        };
        // A template's last operand is always one that a row has, so none is lost.
        debug_assert_eq!(
            self.templates.operands(joined),
            operands + source.operands(next)
        );
        if let Some(follower) = self.followers[number as usize].find(next) {
            follower.joined = joined;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Templates of these numbers of rows, with an operand for every two rows.
    fn source(rows: &[usize], kind: Kind) -> Templates {
        let mut templates = Templates::new();
        for (template, &rows) in (0..).zip(rows) {
            let row = |row: usize| TemplateRow {
                kind,
                size: 8,
                pc: 100 * template + row as u64,
                operand: Some(row as u8 / 2),
                displacement: row as u64,
            };
            let rows: Vec<TemplateRow> = (0..rows).map(row).collect();
            assert_eq!(templates.add(&rows), Some(template as u32));
        }
        templates
    }

    /// The program counters and operands of all rows of some executions, the operands counted
    /// through.
    fn rows(executions: &[u32], templates: &Templates) -> Vec<(u64, Option<usize>)> {
        let (mut all, mut operands) = (Vec::new(), 0);
        for &execution in executions {
            let operand =
                |row: &TemplateRow| row.operand.map(|operand| operands + usize::from(operand));
            all.extend(
                templates
                    .rows(execution)
                    .iter()
                    .map(|row| (row.pc, operand(row))),
            );
            operands += templates.operands(execution);
        }
        all
    }

    fn joined(builder: &mut SuperblockBuilder, executions: &[u32], source: &Templates) -> usize {
        builder.join(executions, source).unwrap();
        let (found, templates) = builder.joined();
        assert_eq!(rows(found, templates), rows(executions, source));
        found.len()
    }

    #[test]
    fn join_makes_one_of_a_repeated_sequence() {
        let source = source(&[3, 1, 4, 2, 5, 1], Kind::Load);
        let iteration = [0, 1, 2, 3, 2, 5];
        let executions: Vec<u32> = (0..600).map(|at| iteration[at % iteration.len()]).collect();
        let mut builder = SuperblockBuilder::new();
        assert_eq!(joined(&mut builder, &executions, &source), 600);
        for _ in 0..100 {
            joined(&mut builder, &executions, &source);
        }
        // At most eight operands of nine, of an iteration of six templates.
        assert!(joined(&mut builder, &executions, &source) <= 210);
        let seldom: Vec<u32> = (0..600).map(|at| (at * at % 7 % 6) as u32).collect();
        joined(&mut builder, &seldom, &source);
        // Blocks that end within an iteration.
        for end in 0..20 {
            joined(&mut builder, &executions[..end], &source);
        }
    }

    #[test]
    fn join_leaves_large_and_special_templates() {
        let executions: Vec<u32> = (0..600).map(|at| at % 2).collect();
        let cases = [
            (source(&[15; 2], Kind::Load), "operands"),
            (long(20), "rows"),
            (source(&[2; 2], Kind::Alloc), "allocations"),
            (source(&[2; 2], Kind::RangeLoad), "ranges"),
        ];
        for (source, what) in cases {
            let mut builder = SuperblockBuilder::new();
            for _ in 0..20 {
                assert_eq!(joined(&mut builder, &executions, &source), 600, "{what}");
            }
        }
    }

    /// Two templates of one operand each and `rows` rows.
    fn long(rows: usize) -> Templates {
        let mut templates = Templates::new();
        for _ in 0..2 {
            let row = |row: usize| TemplateRow {
                kind: Kind::Load,
                size: 8,
                pc: row as u64,
                operand: Some(0),
                displacement: row as u64,
            };
            let rows: Vec<TemplateRow> = (0..rows).map(row).collect();
            templates.add(&rows).unwrap();
        }
        templates
    }

    #[test]
    fn join_makes_one_of_two_small_templates() {
        let executions: Vec<u32> = (0..600).map(|at| at % 2).collect();
        let mut builder = SuperblockBuilder::new();
        let source = long(16);
        joined(&mut builder, &executions, &source);
        assert_eq!(joined(&mut builder, &executions, &source), 300);
    }

    #[test]
    fn followers_that_stop_make_room() {
        let mut source = source(&[2; 4], Kind::Load);
        let apart = TemplateRow {
            kind: Kind::Alloc,
            size: 0,
            pc: 9,
            operand: None,
            displacement: 0,
        };
        assert_eq!(source.add(&[apart]), Some(4));
        let iterations = |of: [u32; 3]| -> Vec<u32> { (0..900).map(|at| of[at % 3]).collect() };
        let mut builder = SuperblockBuilder::new();
        for other in [1, 2] {
            joined(&mut builder, &iterations([0, other, 4]), &source);
            assert_eq!(
                joined(&mut builder, &iterations([0, other, 4]), &source),
                600
            );
        }
        // Both followers are joined.
        joined(&mut builder, &iterations([0, 3, 4]), &source);
        assert_eq!(joined(&mut builder, &iterations([0, 3, 4]), &source), 900);
        (0..20).for_each(|_| builder.chunk_ended());
        joined(&mut builder, &iterations([0, 3, 4]), &source);
        assert_eq!(joined(&mut builder, &iterations([0, 3, 4]), &source), 600);
    }

    #[test]
    fn templates_are_forgotten_when_they_are_many() {
        let (templates, executions): (Vec<usize>, Vec<u32>) = (0..40_000).map(|at| (7, at)).unzip();
        let source = source(&templates, Kind::Store);
        let mut builder = SuperblockBuilder::new();
        joined(&mut builder, &executions, &source);
        assert!(builder.rows > MAX_ROWS);
        let iteration: Vec<u32> = (0..600).map(|at| at % 2).collect();
        for _ in 0..2 {
            assert_eq!(joined(&mut builder, &iteration, &source), 600, "it is full");
        }
        builder.chunk_ended();
        assert!(builder.rows == 1 && builder.templates.len() == 1);
        joined(&mut builder, &iteration, &source);
        assert_eq!(joined(&mut builder, &iteration, &source), 300);
    }

    #[test]
    fn join_refuses_a_template_that_does_not_exist() {
        let source = source(&[1], Kind::Load);
        let mut builder = SuperblockBuilder::new();
        assert_eq!(builder.join(&[0, 1], &source), None);
        assert_eq!(builder.join(&[0, 0], &source), Some(()));
    }
}
