//! Parses the choice of columns in `--format csv:address=COLUMN,size=COLUMN,…`.
//!
//! Used by `lib.rs`, when the user names the format, and by `columns`.

use crate::block_requests::Unit;
use crate::csv::columns::{Role, UNDERSTOOD, word};

/// A column that was chosen for a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// By its name, or by its number from 1.
    Named(String),
    /// There is none.
    None,
}

/// What was chosen; everything else is found in the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    columns: Vec<(Role, Column)>,
    pub(super) delimiter: Option<u8>,
    /// Bytes of a unit of addresses.
    pub(super) unit: Option<u64>,
    /// Whether the first line holds names.
    pub(super) header: bool,
}

impl Default for Choice {
    fn default() -> Choice {
        Choice {
            columns: Vec::new(),
            delimiter: None,
            unit: None,
            header: true,
        }
    }
}

impl Choice {
    /// Reads `address=COLUMN,size=COLUMN,…`.
    ///
    /// # Errors
    /// What cannot be understood, in words, with what can.
    pub(super) fn read(text: &str) -> Result<Choice, String> {
        let mut choice = Choice::default();
        let mut chosen = Vec::new();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let Some((what, value)) = part.split_once('=') else {
                return Err(misunderstood(part));
            };
            let (what, value) = (what.trim(), value.trim());
            let name = match what {
                "delimiter" | "header" | "unit" => what,
                _ => word(role(what, part)?),
            };
            if chosen.contains(&name) {
                return Err(format!("{name} is chosen twice"));
            }
            chosen.push(name);
            match what {
                "delimiter" => choice.delimiter = Some(delimiter(value)?),
                "header" => choice.header = header(value)?,
                "unit" => choice.unit = Some(Unit::read(value)?.bytes()),
                _ => choice.columns.push((role(what, part)?, column(value))),
            }
        }
        Ok(choice)
    }

    /// What was chosen for a role.
    pub(super) fn column(&self, role: Role) -> Option<&Column> {
        let mut chosen = self.columns.iter();
        chosen
            .find(|(other, _)| *other == role)
            .map(|(_, column)| column)
    }

    /// Whether ids were chosen and addresses were not.
    pub(super) fn prefers_ids(&self) -> bool {
        let chosen = |role| matches!(self.column(role), Some(Column::Named(_)));
        chosen(Role::Id) && !chosen(Role::Address)
    }
}

fn role(what: &str, part: &str) -> Result<Role, String> {
    let found = UNDERSTOOD.iter().find(|(_, names)| names.contains(&what));
    found
        .map(|&(role, _)| role)
        .ok_or_else(|| misunderstood(part))
}

fn column(value: &str) -> Column {
    if value.is_empty() {
        Column::None
    } else {
        Column::Named(value.to_owned())
    }
}

fn delimiter(value: &str) -> Result<u8, String> {
    match value {
        "comma" => Ok(b','),
        "semicolon" | ";" => Ok(b';'),
        "tab" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ => Err(format!(
            "'{}' is no delimiter; say delimiter=comma, semicolon, tab or space",
            value.escape_debug()
        )),
    }
}

fn header(value: &str) -> Result<bool, String> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(format!(
            "header is yes or no, not '{}'",
            value.escape_debug()
        )),
    }
}

fn misunderstood(part: &str) -> String {
    format!(
        "'{}' is no choice of columns; say for instance `--format csv:address=COLUMN,size=COLUMN` \
         (also id, kind, pc, thread, delimiter=tab, header=no, unit=512), with names of columns or their \
         numbers from 1",
        part.escape_debug()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn column_choices_are_parsed() {
        let choice = Choice::read("addr=where, size=3,kind=,delimiter=tab,header=no").unwrap();
        let named = |name: &str| Column::Named(name.to_owned());
        assert_eq!(choice.column(Role::Address), Some(&named("where")));
        assert_eq!(choice.column(Role::Size), Some(&named("3")));
        assert_eq!(choice.column(Role::Kind), Some(&Column::None));
        assert_eq!(choice.column(Role::Pc), None);
        assert_eq!((choice.delimiter, choice.header), (Some(b'\t'), false));
        let spaces = Choice::read("id=2,delimiter=space").unwrap();
        assert_eq!(spaces.delimiter, Some(b' '));
        assert_eq!(Choice::read("address=2,unit=512").unwrap().unit, Some(512));
        assert_eq!(Choice::read(""), Ok(Choice::default()));
        for twice in ["address=a,addr=b", "header=no,header=yes", "kind=,kind=1"] {
            let said = Choice::read(twice).unwrap_err();
            assert!(said.ends_with("is chosen twice"), "{said}");
        }
        for wrong in [
            "addr",
            "colour=3",
            "delimiter=x",
            "header=perhaps",
            "unit=0",
            "unit=x",
        ] {
            assert!(Choice::read(wrong).is_err(), "{wrong}");
        }
    }
}
