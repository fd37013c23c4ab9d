//! The slow path of a table's lines: reads any line, quoted fields and new words among them, and
//! finds what is wrong with it. `fast_line` is the fast path, and gives up on lines that it does
//! not know.

use crate::csv::columns::{Role, word};
use crate::csv::reader::{Access, TableLines};
use crate::csv::{Fields, kinds};
use crate::lines::{self, Bad, shown};
use crate::number;

/// What a line is.
pub(super) enum Found {
    Access(Access),
    /// Nothing is on it.
    Empty,
    /// Another thread begins with it.
    OtherThread,
}

impl TableLines {
    /// What the line at `at` is, and where the next one begins.
    ///
    /// # Errors
    /// What is wrong with the line.
    #[cold]
    #[inline(never)]
    pub(super) fn slow_line(&mut self, text: &[u8], at: usize) -> Result<(Found, usize), Bad> {
        let (line, next) = lines::line(text, at)?;
        if line.trim_ascii().is_empty() {
            return Ok((Found::Empty, next));
        }
        let found = self.read(line).map_err(|what| Bad { at, what })?;
        Ok((found, next))
    }

    fn read(&mut self, line: &[u8]) -> Result<Found, String> {
        let mut access = Access::default();
        let mut same_thread = true;
        let mut fields = Fields::new(line, self.layout.delimiter, &mut self.scratch);
        for (place, &role) in self.layout.plan.iter().enumerate() {
            let Some(field) = fields.next() else {
                return Err(self.too_short(place));
            };
            let field = field?;
            let Some(role) = role else { continue };
            match role {
                Role::Address => access.place = number_of(role, field)?,
                Role::Id if field.is_empty() => return Err("the id is empty".to_owned()),
                Role::Id => access.place = self.names.id(field),
                Role::Size => access.size = number_of(role, field)?,
                Role::Pc => access.pc = number_of(role, field)?.wrapping_add(1),
                Role::Thread => same_thread = self.threads.is_present(field),
                Role::Kind => access.kind = self.kinds.read(field).ok_or_else(|| unknown(field))?,
            }
        }
        if same_thread {
            Ok(Found::Access(access))
        } else {
            Ok(Found::OtherThread)
        }
    }

    fn too_short(&self, fields: usize) -> String {
        let needed = self.layout.plan.len();
        let role = self.layout.plan[needed - 1].map_or("", word);
        format!(
            "the line has {fields} of the columns (is it separated otherwise than the header?); \
             column {needed} holds the {role}"
        )
    }
}

fn number_of(role: Role, field: &[u8]) -> Result<u64, String> {
    number::number(field).ok_or_else(|| {
        format!(
            "the {} '{}' is no number of 64 bits, decimal or hexadecimal after 0x",
            word(role),
            shown(field)
        )
    })
}

fn unknown(field: &[u8]) -> String {
    format!(
        "'{}' is no kind of access that is known ({}); `--format csv:kind=` reads all as loads",
        shown(field),
        kinds::understood()
    )
}
