//! The fast path of a table's lines: plain numbers, and words for kinds that occurred before. It
//! returns `None` for any other line, which `slow_line` then reads.

use memchr::memchr;

use crate::csv::columns::Role;
use crate::csv::reader::{Access, TableLines};
use crate::lines::next_line;
use crate::names::is_free;
use crate::number::{either, find3};
use reuselens_trace::Kind;

/// The longest that a line is searched for its end in one go.
const NEAR: usize = 4 << 10;

impl TableLines {
    /// The access of the line at `at` and where the next line begins, if the line is an ordinary
    /// one of the present thread.
    #[inline(always)]
    pub(super) fn fast_line(&self, text: &[u8], mut at: usize) -> Option<(Access, usize)> {
        let mut access = Access::default();
        let delimiter = self.layout.delimiter;
        let (&last, others) = self.layout.plan.split_last()?;
        for &role in others {
            let end = self.field(role, text, at, &mut access)?;
            if *text.get(end)? != delimiter {
                return None;
            }
            at = end + 1;
        }
        let end = self.field(last, text, at, &mut access)?;
        if let Some(next) = next_line(text, end) {
            return Some((access, next));
        }
        if *text.get(end)? != delimiter {
            return None;
        }
        let near = &text[end..text.len().min(end + NEAR)];
        Some((access, end + memchr(b'\n', near)? + 1))
    }

    /// Takes the field at `at`; returns where it ends.
    #[inline(always)]
    fn field(
        &self,
        role: Option<Role>,
        text: &[u8],
        at: usize,
        access: &mut Access,
    ) -> Option<usize> {
        let Some(role) = role else {
            // A run of spaces is one delimiter, and the slow path knows that.
            let byte = *text.get(at)?;
            if byte == b'"' || (byte == b' ' && self.layout.delimiter == b' ') {
                return None;
            }
            return find3(text, at, [self.layout.delimiter, b'\n', b'"']);
        };
        if role == Role::Kind {
            let (kind, end) = self.kinds.fast_line(text, at, self.layout.delimiter)?;
            access.kind = kind;
            return Some(end);
        }
        let (value, end) = either(text, at)?;
        match role {
            Role::Address => access.place = value,
            Role::Id if is_free(value) => access.place = value,
            Role::Size => access.size = value,
            Role::Pc => access.pc = value.wrapping_add(1),
            Role::Thread if is_free(value) && self.threads.present == Some(value) => {}
            Role::Id | Role::Thread | Role::Kind => return None,
        }
        Some(end)
    }
}

impl Default for Access {
    /// A load of one byte by an unknown instruction.
    fn default() -> Access {
        Access {
            kind: Kind::Load,
            place: 0,
            size: 1,
            pc: 0,
        }
    }
}
