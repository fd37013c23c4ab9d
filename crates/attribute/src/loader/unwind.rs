//! Where registers point in the frames of functions, from the table that unwinding needs: what
//! compilers that tell the places of variables by registers (clang before 21) leave to it.
//!
//! Source: Linux Standard Base Core, section 10.6 (exception frames).

use std::borrow::Cow;
use std::collections::BTreeMap;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameOffset, LittleEndian, Register,
    UnwindContext, UnwindSection,
};
use object::{Object, ObjectSection};

const RBP: Register = Register(6);
const RSP: Register = Register(7);

/// The `.eh_frame` of a file.
#[derive(Debug, Default)]
pub(super) struct Unwind {
    data: Vec<u8>,
    bases: BaseAddresses,
    /// Functions by where they begin: where their entries are.
    entries: BTreeMap<u64, usize>,
}

impl Unwind {
    /// That of a file: empty without such a section. Cost: linear in its entries.
    pub fn of(file: &object::File) -> Unwind {
        let Some(section) = file.section_by_name(".eh_frame") else {
            return Unwind::default();
        };
        let address = |name| {
            let section = file.section_by_name(name);
            section.map_or(0, |found| found.address())
        };
        let bases = BaseAddresses::default()
            .set_eh_frame(section.address())
            .set_text(address(".text"))
            .set_got(address(".got"));
        let data = section
            .uncompressed_data()
            .map(Cow::into_owned)
            .unwrap_or_default();
        let mut unwind = Unwind {
            data,
            bases,
            entries: BTreeMap::new(),
        };
        let frames = unwind.frames();
        let mut all = frames.entries(&unwind.bases);
        let mut found = BTreeMap::new();
        while let Ok(Some(entry)) = all.next() {
            if let CieOrFde::Fde(partial) = entry
                && let Ok(function) = partial.parse(EhFrame::cie_from_offset)
            {
                found.insert(function.initial_address(), function.offset());
            }
        }
        unwind.entries = found;
        unwind
    }

    fn frames(&self) -> EhFrame<gimli::EndianSlice<'_, LittleEndian>> {
        let mut frames = EhFrame::new(&self.data, LittleEndian);
        frames.set_address_size(8);
        frames
    }

    /// How far the canonical frame address is above a register, and for how many bytes of the
    /// function whose first code this is. A rule that is more than that has no register.
    fn rules(&self, (low, high): (u64, u64)) -> Option<BTreeMap<(Option<Register>, i64), u64>> {
        let offset = EhFrameOffset(*self.entries.get(&low)?);
        let frames = self.frames();
        let function = frames
            .fde_from_offset(&self.bases, offset, EhFrame::cie_from_offset)
            .ok()?;
        let mut context = UnwindContext::new();
        let mut rows = function.rows(&frames, &self.bases, &mut context).ok()?;
        let mut rules = BTreeMap::new();
        while let Some(row) = rows.next_row().ok()? {
            let rule = match row.cfa() {
                CfaRule::RegisterAndOffset { register, offset } => (Some(*register), *offset),
                CfaRule::Expression(_) => (None, 0),
            };
            let end = row.end_address().min(high);
            *rules.entry(rule).or_insert(0) += end.saturating_sub(row.start_address());
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
