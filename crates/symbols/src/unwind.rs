//! Where the canonical frame address of functions is, relative to registers, from the table that
//! unwinding needs. Compilers that give the places of variables relative to registers (clang before
//! 21) have it only there.

use std::collections::BTreeMap;
use std::ops::Range;

use gimli::{CfaRule, CieOrFde, EhFrame, EhFrameOffset, Register, UnwindContext, UnwindSection};

use super::exception_frames::ExceptionFrames;

const RBP: Register = Register(6);
const RSP: Register = Register(7);

/// The rules of a file for unwinding.
#[derive(Debug, Default)]
pub(super) struct Unwind {
    frames: Option<ExceptionFrames<'static>>,
    /// Functions by where they begin: where their entries are.
    entries: BTreeMap<u64, usize>,
}

/// Where the canonical frame address is in some code.
#[derive(Clone, Debug)]
pub(super) struct CfaRow {
    pub code: Range<u64>,
    /// What it is relative to; `None` for a rule that is more than that.
    pub register: Option<Register>,
    /// How far it is above the register.
    pub offset: i64,
}

impl Unwind {
    /// Those of a file: none without such a table. Cost: linear in its entries.
    pub fn of(file: &object::File) -> Unwind {
        let Some(frames) = ExceptionFrames::of(file) else {
            return Unwind::default();
        };
        let table = frames.table();
        let mut all = table.entries(&frames.bases);
        let mut entries = BTreeMap::new();
        while let Ok(Some(entry)) = all.next() {
            if let CieOrFde::Fde(partial) = entry
                && let Ok(function) = partial.parse(EhFrame::cie_from_offset)
            {
                entries.insert(function.initial_address(), function.offset());
            }
        }
        Unwind {
            frames: Some(frames.into_owned()),
            entries,
        }
    }

    /// Where the canonical frame address is in the code of a function that begins here. Empty if
    /// that is unknown.
    pub fn rows(&self, code: (u64, u64)) -> Vec<CfaRow> {
        self.try_rows(code).unwrap_or_default()
    }

    fn try_rows(&self, (low, high): (u64, u64)) -> Option<Vec<CfaRow>> {
        let offset = EhFrameOffset(*self.entries.get(&low)?);
        let frames = self.frames.as_ref()?;
        let (table, bases) = (frames.table(), &frames.bases);
        let function = table
            .fde_from_offset(bases, offset, EhFrame::cie_from_offset)
            .ok()?;
        let mut context = UnwindContext::new();
        let mut rows = function.rows(&table, bases, &mut context).ok()?;
        let mut found = Vec::new();
        while let Some(row) = rows.next_row().ok()? {
            let (register, offset) = match row.cfa() {
                CfaRule::RegisterAndOffset { register, offset } => (Some(*register), *offset),
                CfaRule::Expression(_) => (None, 0),
            };
            found.push(CfaRow {
                code: row.start_address()..row.end_address().min(high),
                register,
                offset,
            });
        }
        Some(found)
    }

    /// How far the canonical frame address is above a register, and for how many bytes of the
    /// function whose first code this is. A rule that is more than that has no register.
    fn rules(&self, code: (u64, u64)) -> Option<BTreeMap<(Option<Register>, i64), u64>> {
        let mut rules = BTreeMap::new();
        for row in self.try_rows(code)? {
            let bytes = row.code.end.saturating_sub(row.code.start);
            *rules.entry((row.register, row.offset)).or_insert(0) += bytes;
        }
        Some(rules)
    }

    /// How far the canonical frame address is above the frame pointer, where that is the same in
    /// all of the function whose first code this is.
    pub fn frame_pointer(&self, code: (u64, u64)) -> Option<i64> {
        let rules = self.rules(code)?;
        let others = rules.keys().filter(|(register, _)| *register != Some(RSP));
        let mut others = others.copied();
        match (others.next(), others.next()) {
            (Some((Some(RBP), offset)), None) => Some(offset),
            _ => None,
        }
    }

    /// How far the canonical frame address is above the stack pointer in most of the function whose
    /// first code this is: in the rest, its frame is being made or taken back.
    pub fn stack_pointer(&self, code: (u64, u64)) -> Option<i64> {
        let rules = self.rules(code)?;
        let all_by_it = rules.keys().all(|(register, _)| *register == Some(RSP));
        let (_, offset) = rules.iter().max_by_key(|(_, bytes)| **bytes)?.0;
        all_by_it.then_some(*offset)
    }
}
