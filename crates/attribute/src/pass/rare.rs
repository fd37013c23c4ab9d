//! Rows that are neither plain accesses nor calls.

use reuselens_trace::Kind;

use super::rows::Rows;
use super::{Access, Pass};
use crate::attributor::ProcessState;
use crate::objects::{ObjectKey, Where};
use crate::shared::Shared;

/// A range operation on more than 64 GiB is taken for damage: each of its items is counted, so one
/// row must not cost more.
const MAX_RANGE: u64 = 1 << 36;

impl Pass<'_> {
    pub(super) fn rare<const PLAIN: bool>(&mut self, rows: Rows<'_>, row: usize) {
        let (kind, pc, address) = (rows.kinds[row], rows.pcs[row], rows.addrs[row]);
        if kind == Kind::Statement {
            self.shared.lacks_statements = false;
            return self.touched.begin();
        }
        let Some(number) = rows.operand(row, 1) else {
            return self.malformed();
        };
        match kind {
            Kind::RangeLoad | Kind::RangeStore => {
                self.range::<PLAIN>(Access {
                    kind,
                    pc,
                    address,
                    size: number,
                });
            }
            Kind::Alloc => self.allocated(pc, address, number),
            Kind::Free => {
                let objects = &mut self.shared.objects;
                let ended = |low, high, object| objects.end(object, high - low);
                self.process.space.free(address, number, ended);
            }
            Kind::Named => self.named::<PLAIN>(pc, address, number),
            Kind::PartialData => {
                let ProcessState { entries, space, .. } = &mut *self.process;
                entries.add(number, address, space, &self.shared.structures);
            }
            Kind::Data => self.data(rows, row, number),
            _ => {}
        }
    }

    fn range<const PLAIN: bool>(&mut self, access: Access) {
        let mut access = access;
        if access.size > MAX_RANGE {
            self.shared.warnings.once(
                "range-too-long",
                "a range operation is said to cover more than 64 GiB; only its first byte counts",
                "the trace is damaged; record it again",
            );
            access.size = 1;
        }
        if access.size > 0 {
            self.access::<PLAIN>(access, None);
        }
    }

    fn allocated(&mut self, pc: u64, low: u64, bytes: u64) {
        let Shared { objects, .. } = &mut *self.shared;
        let call = self.process.mappings.place(pc);
        let key = ObjectKey::Heap {
            node: self.stack.node(),
            call,
        };
        let object = objects.get_or_add(key, Where::Heap);
        let high = low.saturating_add(bytes);
        self.process
            .space
            .allocate(low, high, object, |low, high, old| {
                objects.end(old, high - low)
            });
        objects.begin(object, high - low);
        if objects.objects_full {
            self.shared.warnings.once(
                "objects-not-told-apart",
                "the program has more than 16 million data objects; the rest counts as one",
                "",
            );
        }
    }

    #[cold]
    pub(super) fn malformed(&mut self) {
        self.shared.warnings.once(
            "malformed-rows",
            "rows of the trace lack the numbers that must follow them; those rows were left out",
            "the trace is damaged; record it again",
        );
    }
}
