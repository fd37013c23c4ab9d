//! Decodes a block of rows: tokens and address differences (see `sites`) to rows.
//!
//! `decode` calls [`decode_rows`] with a [`RowSink`], which says what becomes of the rows: columns
//! of a block (`Columns`), columns without repeated iterations (`repeat_sink`), or item accesses
//! (`row_classifier`).
//!
//! Rows are decoded [`GROUP_ROWS`] at a time, in steps: the numbers of both streams are unpacked,
//! then each row's site is found and its address predicted, then the sink takes the group. The
//! loops of the steps are separate, so that a mispredicted branch of one does not delay another.
//! Runs in which both streams are zeros go to [`predicted_runs`], which decodes them in bulk.
//!
//! *Invariant:* between groups, `sites` and [`RowPosition`] are what the encoder's were between the
//! same rows.

use std::ops::Range;

use crate::encode::FULL_ROWS;
use crate::iterations::IterationAccesses;
use crate::processor::Processor;
#[cfg(target_arch = "x86_64")]
use crate::processor::{Avx2, Avx512};
use crate::sites::{AddressPredictor, NEW_SITE, START_SITE, SUCCESSOR};
use crate::{MAX_BLOCK_ROWS, predicted_runs};
use reuselens_io::varint::{Cursor, Damage, Portable, unzigzag};
use reuselens_simd::entry_point;
use reuselens_trace::{Columns, Kind};

/// Rows that are decoded together: as many as there are bytes in a word, so that one comparison
/// finds out whether all their tokens are 0.
pub(super) const GROUP_ROWS: usize = 8;

/// The most sites that a writer's chunk can have, one for each row: a chunk is written once it has
/// [`FULL_ROWS`] rows, and one last block may go beyond. It bounds the memory that a forged chunk
/// can cost: 240 MiB, and more while the list grows.
pub(super) const MAX_SITES: usize = FULL_ROWS as usize + MAX_BLOCK_ROWS;

/// What the decoder knows of a site. All of it is needed for each row, so it is in one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct SiteState {
    pub(super) predictor: AddressPredictor,
    pub(super) pc: u64,
    /// The site that followed it the last time; 0 for none.
    pub(super) successor: u32,
    pub(super) kind: Kind,
    pub(super) size: u8,
    /// What item accesses are made of its rows: see `row_classifier::classes`.
    pub(super) class: u8,
}

/// The site before the first row of every block.
const BEGIN: SiteState = SiteState {
    predictor: AddressPredictor::NONE,
    pc: 0,
    successor: START_SITE as u32,
    kind: Kind::Load,
    size: 0,
    class: 0,
};

/// The sites of a chunk so far, as its rows have left them.
pub(super) struct RowDecoder {
    pub(super) sites: Vec<SiteState>,
    /// The program counter of the site last described: others are stored relative to it.
    pc: u64,
    /// Memory for [`predicted_runs::write_iterations`].
    pub(super) steps: Vec<u64>,
    /// Memory for `iterations::extract`.
    pub(super) iteration: IterationAccesses,
    /// The class of each kind, by its number.
    classes: [u8; 16],
}

/// Where in a block the decoder is: the site and the step of the row before.
#[derive(Clone, Copy)]
pub(super) struct RowPosition {
    pub(super) site: usize,
    pub(super) step: u64,
}

/// The streams of a chunk that blocks are decoded from.
pub(super) struct Streams<'a> {
    /// Descriptions of sites and of templates.
    pub(super) descriptions: Cursor<'a>,
    pub(super) tokens: Cursor<'a>,
    pub(super) addrs: Cursor<'a>,
}

/// What becomes of decoded rows. Rows come in order.
pub(super) trait RowSink {
    /// A row: its place in the block and in its group, its site with the number, its address.
    fn put(&mut self, at: (usize, usize), site: (usize, &SiteState), addr: u64);

    /// The last `rows` rows, at most [`GROUP_ROWS`], are a complete group. Their sites are among
    /// these.
    fn end_group(&mut self, squeeze: impl Processor, rows: usize, sites: &[SiteState]);

    /// The block has no more rows.
    fn end_block(&mut self, squeeze: impl Processor, sites: &[SiteState]);

    /// The rows `range` are iterations of `length` rows each, all as predicted: each row is that of
    /// the iteration before at an address one step further. `position` is the last row before them,
    /// which ends an iteration. The implementation advances the predictors.
    fn iterations(
        &mut self,
        squeeze: impl Processor,
        rows: &mut RowDecoder,
        position: &mut RowPosition,
        length: usize,
        range: Range<usize>,
    ) -> Result<(), Damage>;
}

impl RowSink for Columns<'_> {
    #[inline(always)]
    fn put(&mut self, (at, _): (usize, usize), (_, site): (usize, &SiteState), addr: u64) {
        self.kinds[at] = site.kind;
        self.sizes[at] = site.size;
        self.pcs[at] = site.pc;
        self.addrs[at] = addr;
    }

    #[inline(always)]
    fn end_group(&mut self, _: impl Processor, _: usize, _: &[SiteState]) {}

    #[inline(always)]
    fn end_block(&mut self, _: impl Processor, _: &[SiteState]) {}

    fn iterations(
        &mut self,
        _: impl Processor,
        rows: &mut RowDecoder,
        position: &mut RowPosition,
        length: usize,
        range: Range<usize>,
    ) -> Result<(), Damage> {
        predicted_runs::write_iterations(rows, position.site, length, self, range);
        Ok(())
    }
}

entry_point! {
    /// Decodes the `count` rows of a block into `sink`.
    ///
    /// # Errors
    /// If a token names no site, or a stream ends too early. `sink` has some of the rows then.
    pub(super) fn decode_rows<S: RowSink>(
        level,
        rows: &mut RowDecoder,
        streams: &mut Streams<'_>,
        count: usize,
        sink: &mut S,
    ) -> Result<(), Damage> {
        Icelake(proof) => rows.block_here(Avx512::with(proof), streams, count, sink),
        V3(proof) => rows.block_here(Avx2::with(proof), streams, count, sink),
        _ => rows.block_here(Portable, streams, count, sink),
    }
}

impl RowDecoder {
    /// Knows no site. `classes` are those of the kinds, by number.
    pub(super) fn new(classes: [u8; 16]) -> RowDecoder {
        RowDecoder {
            sites: vec![BEGIN],
            pc: 0,
            steps: Vec::new(),
            iteration: IterationAccesses::default(),
            classes,
        }
    }

    /// Forgets all sites: a chunk begins.
    pub(super) fn clear(&mut self) {
        self.sites.clear();
        self.sites.push(BEGIN);
        self.pc = 0;
    }

    #[inline(always)]
    fn block_here(
        &mut self,
        squeeze: impl Processor,
        streams: &mut Streams<'_>,
        count: usize,
        sink: &mut impl RowSink,
    ) -> Result<(), Damage> {
        let mut position = RowPosition {
            site: START_SITE,
            step: 0,
        };
        let mut at = 0;
        while at + GROUP_ROWS <= count {
            let predicted = predicted_rows(streams, count - at);
            if predicted > GROUP_ROWS {
                let run = at..at + predicted;
                predicted_runs::decode_run(self, squeeze, &mut position, sink, run)?;
                streams.tokens.skip(predicted);
                streams.addrs.skip(predicted);
                at += predicted;
                continue;
            }
            self.group(squeeze, streams, &mut position, sink, at)?;
            at += GROUP_ROWS;
        }
        // The last rows, fewer than a group.
        let rest = count - at;
        let (mut tokens, mut differences) = ([0; GROUP_ROWS], [0; GROUP_ROWS]);
        streams.tokens.numbers(squeeze, &mut tokens[..rest])?;
        streams.addrs.numbers(squeeze, &mut differences[..rest])?;
        let numbers = GroupNumbers::<false, false>(&tokens, &differences);
        let descriptions = &mut streams.descriptions;
        self.write(
            squeeze,
            numbers,
            descriptions,
            &mut position,
            (sink, at, rest),
        )?;
        sink.end_block(squeeze, &self.sites);
        Ok(())
    }

    /// Decodes a whole group. In most groups all tokens are 0, and in many all differences: there
    /// is a loop for each of the four cases, without the work that zeros make needless.
    #[inline(always)]
    fn group(
        &mut self,
        squeeze: impl Processor,
        streams: &mut Streams<'_>,
        position: &mut RowPosition,
        sink: &mut impl RowSink,
        at: usize,
    ) -> Result<(), Damage> {
        let (mut tokens, mut differences) = ([0; GROUP_ROWS], [0; GROUP_ROWS]);
        let zero_tokens = streams.tokens.eight(squeeze, &mut tokens)?;
        let zero_differences = streams.addrs.eight(squeeze, &mut differences)?;
        let descriptions = &mut streams.descriptions;
        let (tokens, differences) = (&tokens, &differences);
        let to = (sink, at, GROUP_ROWS);
        match (zero_tokens, zero_differences) {
            (true, true) => {
                let numbers = GroupNumbers::<true, true>(tokens, differences);
                self.write(squeeze, numbers, descriptions, position, to)
            }
            (true, false) => {
                let numbers = GroupNumbers::<true, false>(tokens, differences);
                self.write(squeeze, numbers, descriptions, position, to)
            }
            (false, true) => {
                let numbers = GroupNumbers::<false, true>(tokens, differences);
                self.write(squeeze, numbers, descriptions, position, to)
            }
            (false, false) => {
                let numbers = GroupNumbers::<false, false>(tokens, differences);
                self.write(squeeze, numbers, descriptions, position, to)
            }
        }
    }

    /// Decodes up to [`GROUP_ROWS`] rows from their numbers.
    #[inline(always)]
    fn write<const ZERO_TOKENS: bool, const ZERO_DIFFERENCES: bool>(
        &mut self,
        squeeze: impl Processor,
        numbers: GroupNumbers<'_, ZERO_TOKENS, ZERO_DIFFERENCES>,
        descriptions: &mut Cursor<'_>,
        position: &mut RowPosition,
        (sink, at, rows): (&mut impl RowSink, usize, usize),
    ) -> Result<(), Damage> {
        let GroupNumbers(tokens, differences) = numbers;
        let RowPosition { mut site, mut step } = *position;
        // The successor of `site`: loaded one row ahead, before the sink stores anything.
        let mut successor = self.sites[site].successor as usize;
        let mut sites = self.sites.as_mut_slice();
        for row in 0..rows.min(GROUP_ROWS) {
            let token = if ZERO_TOKENS { SUCCESSOR } else { tokens[row] };
            // The site's number: the successor, or token − 1. It is 0 for a new site, and for a
            // successor that there is not. Selected by a mask, since tokens are unpredictable.
            let is_successor = u64::from(token == SUCCESSOR).wrapping_neg();
            let named = token.wrapping_sub(NEW_SITE) & !is_successor;
            let mut number = (successor as u64 & is_successor | named) as usize;
            if number == START_SITE || number >= sites.len() {
                number = self.describe_site(token, descriptions)?;
                sites = self.sites.as_mut_slice();
            }
            if !ZERO_TOKENS {
                sites[site].successor = number as u32;
            }
            // From here on the row's site is known; what is left is its address.
            let entry = &mut sites[number];
            step = if ZERO_DIFFERENCES {
                entry.predictor.advance_as_predicted(step)
            } else {
                entry.predictor.advance(unzigzag(differences[row]), step)
            };
            let addr = entry.predictor.last;
            successor = entry.successor as usize;
            sink.put((at + row, row), (number, entry), addr);
            site = number;
        }
        *position = RowPosition { site, step };
        sink.end_group(squeeze, rows, sites);
        Ok(())
    }

    /// The site of a row whose token is [`NEW_SITE`]: reads its description. An error for any other
    /// token, since that names no site.
    #[cold]
    #[inline(never)]
    fn describe_site(
        &mut self,
        token: u64,
        descriptions: &mut Cursor<'_>,
    ) -> Result<usize, Damage> {
        if token != NEW_SITE {
            return Err(NO_SUCH_SITE);
        }
        let kind = Kind::from_u8(descriptions.byte()?);
        let size = descriptions.byte()?;
        self.pc = self.pc.wrapping_add(descriptions.signed()?);
        let kind = kind.ok_or(Damage("a row is of a kind that this version does not know"))?;
        if self.sites.len() > MAX_SITES {
            return Err(Damage(
                "a chunk has more sites than any writer puts into one",
            ));
        }
        self.sites.push(SiteState {
            pc: self.pc,
            kind,
            size,
            class: self.classes[kind as usize % 16],
            ..BEGIN
        });
        Ok(self.sites.len() - 1)
    }

    /// Decodes rows whose tokens and differences are all 0, one by one.
    pub(super) fn decode_predicted(
        &mut self,
        squeeze: impl Processor,
        position: &mut RowPosition,
        sink: &mut impl RowSink,
        range: Range<usize>,
    ) -> Result<(), Damage> {
        let Range { mut start, end } = range;
        let sites = self.sites.as_mut_slice();
        while start < end {
            let rows = GROUP_ROWS.min(end - start);
            for row in 0..rows {
                let number = sites[position.site].successor as usize;
                if number == START_SITE {
                    return Err(NO_SUCH_SITE);
                }
                let entry = &mut sites[number];
                let step = entry.predictor.advance_as_predicted(position.step);
                let addr = entry.predictor.last;
                sink.put((start + row, row), (number, entry), addr);
                *position = RowPosition { site: number, step };
            }
            sink.end_group(squeeze, rows, sites);
            start += rows;
        }
        Ok(())
    }

    /// Advances the predictors of an iteration's sites by `times` iterations, and appends the step
    /// of each site to `steps`. `site` ends an iteration of `length` rows. *Requires* that each
    /// site repeats its last step, as after two iterations of a run of zeros.
    pub(super) fn advance_iterations(
        &mut self,
        mut site: usize,
        length: usize,
        times: usize,
        steps: &mut Vec<u64>,
    ) {
        for _ in 0..length {
            site = self.sites[site].successor as usize;
            let predictor = &mut self.sites[site].predictor;
            steps.push(predictor.step);
            predictor.repeat_step(times as u64);
        }
    }
}

/// The tokens and the differences of a group, and whether it is known that all are 0.
struct GroupNumbers<'a, const ZERO_TOKENS: bool, const ZERO_DIFFERENCES: bool>(
    &'a [u64; GROUP_ROWS],
    &'a [u64; GROUP_ROWS],
);

/// The number of rows, at most `rows`, for which both streams go on with zeros; 0 if they are few.
#[inline(always)]
fn predicted_rows(streams: &Streams<'_>, rows: usize) -> usize {
    let Streams { tokens, addrs, .. } = streams;
    if rows < 32 || !(tokens.begins_with_zeros() && addrs.begins_with_zeros()) {
        return 0;
    }
    addrs.zeros(tokens.zeros(rows))
}

pub(super) const NO_SUCH_SITE: Damage = Damage("a row names a site that is not there");
