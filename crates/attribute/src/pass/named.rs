//! Data structures that the program named itself, and the accesses that it tells of.

use reuselens_trace::Kind;

use super::rows::Rows;
use super::{Access, Pass};
use crate::attributor::ProcessState;
use crate::objects::{ObjectKey, Where};
use crate::structures::owner;

impl Pass<'_> {
    pub(super) fn named<const PLAIN: bool>(&mut self, pc: u64, address: u64, base: u64) {
        if self.process.instrumented {
            return self.shared.warnings.once(
                "record-access-ignored",
                "RecordAccess ignored because compiler instrumentation is present: it sees the same accesses",
                "",
            );
        }
        let ProcessState { entries, space, .. } = &mut *self.process;
        let entered = entries.enter(base, space, &self.shared.structures);
        let element = entered.and_then(|(_, structure)| structure.element(address));
        let (Some((number, structure)), Some((start, size))) = (entered, element) else {
            let access = Access {
                kind: Kind::Named,
                pc,
                address,
                size: 1,
            };
            return self.access::<PLAIN>(access, None);
        };
        let access = Access {
            kind: Kind::Named,
            pc,
            address: start,
            size,
        };
        self.access::<PLAIN>(access, Some((structure.object, number)));
    }

    #[cold]
    pub(super) fn data(&mut self, rows: Rows<'_>, row: usize, bytes: u64) {
        let operands = (rows.operand(row, 2), rows.operand(row, 3));
        let (Some(element), Some(length)) = operands else {
            return self.malformed();
        };
        let Some(name) = text(rows, row + 4, length) else {
            return self.malformed();
        };
        let base = rows.addrs[row];
        if bytes == 0 {
            return;
        }
        let place = self.place_of(base);
        let key = ObjectKey::Named {
            process: self.process.id,
            name,
            element,
            place,
        };
        let object = self.shared.objects.get_or_add(key, place);
        self.shared.objects.begin(object, bytes);
        self.shared.objects.get_mut(object).element_bytes = element;
        let bytes = bytes.min(u64::MAX - base);
        let number = self.shared.structure(base, bytes, element, object);
        self.process.entries.forget(base);
        if let Some(structure) = self.shared.structures.get(number) {
            self.process
                .space
                .name(base, base + bytes, owner(number, structure));
        }
        if place == Where::Stack {
            self.process.named_on_stack = true;
            self.moved();
        }
    }
}

/// A text of `length` bytes in operand rows from `row` on.
fn text(rows: Rows<'_>, row: usize, length: u64) -> Option<String> {
    let length = usize::try_from(length).ok()?;
    let last = row.checked_add(length.div_ceil(8))?;
    let operands = rows.kinds.get(row..last)?;
    if operands.iter().any(|kind| *kind != Kind::Operand) {
        return None;
    }
    let mut bytes: Vec<u8> = rows.addrs[row..last]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    bytes.truncate(length);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
