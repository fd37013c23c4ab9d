//! Decodes a block of templates to rows and repeats: of each template only its first execution in
//! the chunk becomes rows.
//!
//! `decode` calls [`decode_templates_to_repeats`] if a consumer asked for
//! [`Projection::Repeats`](reuselens_trace::Projection::Repeats). The first execution makes its
//! rows a [`RepeatTemplate`]; each later one, in this block or another of the chunk, is a
//! [`Repeat`] of that with the addresses of its rows. Templates that may not be repeats
//! (`repeat_sink::can_repeat`) become rows every time.

use super::row_group::{GROUP_ROWS, MIN_GROUPS, RowGroup, fill};
use super::{COLUMN_SLACK, ROWS, TemplateDecoder, TemplateHead};
use crate::decode_rows::Streams;
use crate::processor::Processor;
#[cfg(target_arch = "x86_64")]
use crate::processor::{Avx2, Avx512};
use reuselens_io::varint::{Damage, Portable};
use reuselens_simd::entry_point;
use reuselens_trace::{Columns, MAX_TEMPLATE_OPERANDS, Repeat, RepeatOf, RepeatTemplate, Repeats};

/// In place of a repeat template's number: the template has not become one.
const NO_NUMBER: u32 = u32::MAX;

entry_point! {
    /// Decodes the executions of a block: first executions to rows, later ones to repeats. Returns
    /// the number of rows. The columns must be longer than all rows of the block by
    /// [`COLUMN_SLACK`].
    ///
    /// # Errors
    /// If the chunk is damaged. The columns and repeats have some of the executions then.
    pub(in super::super) fn decode_templates_to_repeats(
        level,
        decoder: &mut TemplateDecoder,
        streams: &mut Streams<'_>,
        head: TemplateHead,
        to: (&mut Columns<'_>, &mut Repeats),
    ) -> Result<usize, Damage> {
        Icelake(proof) => decoder.repeats_here(Avx512::with(proof), streams, head, to),
        V3(proof) => decoder.repeats_here(Avx2::with(proof), streams, head, to),
        _ => decoder.repeats_here(Portable, streams, head, to),
    }
}

impl TemplateDecoder {
    /// How many templates of the chunk have become repeat templates so far.
    pub(in super::super) fn repeat_templates(&self) -> u32 {
        self.repeat_templates
    }

    #[inline(always)]
    fn repeats_here(
        &mut self,
        squeeze: impl Processor,
        streams: &mut Streams<'_>,
        head: TemplateHead,
        (columns, repeats): (&mut Columns<'_>, &mut Repeats),
    ) -> Result<usize, Damage> {
        self.read(squeeze, streams, head)?;
        let numbers = self.groups.len().max(self.repeat_numbers.len());
        self.repeat_numbers.resize(numbers, NO_NUMBER);
        repeats.known = self.repeat_templates;
        // Addresses go through memory of the decoder, longer than what is in it. As a local value
        // its length is in a register; in `repeats` it would be stored for each execution.
        let mut addrs = std::mem::take(&mut self.repeat_addrs);
        let (mut at, mut used) = (0, 0);
        for execution in &self.executions {
            let first = execution.first_group as usize;
            let operands = self.values[execution.first_operand as usize..].first_chunk();
            let count = usize::from(execution.rows).div_ceil(GROUP_ROWS);
            let groups = self.groups.get(first..first + count.max(MIN_GROUPS));
            let number = self.repeat_numbers.get_mut(first);
            let (Some(operands), Some(groups), Some(number)) = (operands, groups, number) else {
                return Err(ROWS);
            };
            let rows = usize::from(execution.rows);
            if *number != NO_NUMBER {
                repeats.entries.push(Repeat {
                    before: at as u32,
                    rows: rows as u32,
                    what: RepeatOf::Template(*number),
                });
                // Whole groups are written, as into columns.
                if addrs.len() < used + COLUMN_SLACK {
                    addrs.resize((used + COLUMN_SLACK).next_power_of_two(), 0);
                }
                write_addrs(groups, operands, &mut addrs[used..]);
                used += rows;
                continue;
            }
            fill(groups, operands, at, columns);
            if execution.can_repeat {
                *number = self.repeat_templates;
                self.repeat_templates += 1;
                repeats.templates.push(RepeatTemplate {
                    first: at as u32,
                    rows: rows as u32,
                });
            }
            at += rows;
        }
        repeats.numbers.extend_from_slice(&addrs[..used]);
        self.repeat_addrs = addrs;
        repeats.rows += used as u64;
        Ok(at)
    }
}

/// Writes the addresses of some groups.
#[inline(always)]
fn write_addrs(groups: &[RowGroup], operands: &[u64; MAX_TEMPLATE_OPERANDS], into: &mut [u64]) {
    for (group, into) in groups.iter().zip(into.as_chunks_mut::<GROUP_ROWS>().0) {
        *into = group.addrs(operands);
    }
}
