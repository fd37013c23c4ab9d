//! Which column of a table has which role (address, id, size, kind, pc, thread), by the names in
//! its header or by the user's choice: `TableLayout`.
//!
//! Used by `reader`, once for each table.
//!
//! A table has a column of addresses or one of ids; where it has both, addresses are taken, unless
//! the user chose a column of ids only.

use crate::csv::choice::{Choice, Column};
use crate::csv::{Fields, delimiter};
use crate::lines::shown;
use crate::number;

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Address,
    Id,
    Size,
    Kind,
    Pc,
    Thread,
}

/// Each role with the names of columns that mean it, the best first.
pub(super) const UNDERSTOOD: [(Role, &[&str]); 6] = [
    (
        Role::Address,
        &["address", "addr", "vaddr", "virtual_address"],
    ),
    (
        Role::Id,
        &[
            "id",
            "item",
            "key",
            "obj_id",
            "object_id",
            "obj",
            "object",
            "block",
            "block_id",
            "lba",
            "lbn",
            "page",
        ],
    ),
    (
        Role::Size,
        &[
            "size",
            "bytes",
            "length",
            "len",
            "obj_size",
            "object_size",
            "access_size",
        ],
    ),
    (
        Role::Kind,
        &[
            "kind",
            "op",
            "operation",
            "type",
            "rw",
            "r/w",
            "access_type",
        ],
    ),
    (
        Role::Pc,
        &["pc", "ip", "instruction_pointer", "program_counter"],
    ),
    (Role::Thread, &["thread", "tid", "thread_id"]),
];

/// How many columns, and how much of each name, a message shows.
const SHOWN: usize = 20;

/// How the lines of a table are made.
#[derive(Debug)]
pub(super) struct TableLayout {
    pub(super) delimiter: u8,
    /// The fields of a line, 0 if there is no header.
    pub(super) fields: usize,
    /// What to do with each field, up to the last that is needed; never empty.
    pub(super) plan: Vec<Option<Role>>,
}

impl TableLayout {
    /// The layout that a header shows, if it is clearly one: several columns, one of them the
    /// item's, and none of them called by a number.
    pub(super) fn detected(header: &[u8]) -> Option<TableLayout> {
        let delimiter = delimiter(header);
        let columns = names(header, delimiter).ok()?;
        let numbers = columns
            .iter()
            .any(|name| name.is_empty() || number::number(name.as_bytes()).is_some());
        if columns.len() < 2 || numbers {
            return None;
        }
        TableLayout::new(header, &Choice::default()).ok()
    }

    /// The layout of the table whose first line is `first`.
    ///
    /// # Errors
    /// What is missing, in words, with what there is.
    pub(super) fn new(first: &[u8], choice: &Choice) -> Result<TableLayout, String> {
        let delimiter = choice.delimiter.unwrap_or_else(|| delimiter(first));
        let names = if choice.header {
            names(first, delimiter)?
        } else {
            Vec::new()
        };
        let mut found = Vec::new();
        for (role, _) in UNDERSTOOD {
            if let Some(column @ Column::Named(_)) = choice.column(role) {
                found.push((role, chosen(column, &names, choice.header)?));
            }
        }
        // A column that the user chose has that role, whatever its name.
        let free = |found: &[(Role, usize)], at| found.iter().all(|&(_, column)| column != at);
        let choices = found.clone();
        for (role, known) in UNDERSTOOD {
            if choice.column(role).is_none() {
                let column = named(&names, known).filter(|&at| free(&choices, at));
                found.extend(column.map(|column| (role, column)));
            }
        }
        let place = |wanted| found.iter().any(|&(role, _)| role == wanted);
        if !place(Role::Address) && !place(Role::Id) {
            return Err(nothing(&names, choice.header));
        }
        let ids = !place(Role::Address) || choice.prefers_ids();
        let not = if ids && place(Role::Id) {
            Role::Address
        } else {
            Role::Id
        };
        found.retain(|&(role, _)| role != not);
        Ok(TableLayout {
            delimiter,
            fields: names.len(),
            plan: plan(&found)?,
        })
    }

    /// The number, from 1, of the column of a role; 0 if there is none.
    pub(super) fn number(&self, wanted: Role) -> usize {
        let place = self.plan.iter().position(|&role| role == Some(wanted));
        place.map_or(0, |place| place + 1)
    }

    /// Whether there are ids instead of addresses.
    pub(super) fn ids(&self) -> bool {
        self.plan.contains(&Some(Role::Id))
    }

    /// Whether a column says which thread an access is of.
    pub(super) fn has_threads(&self) -> bool {
        self.plan.contains(&Some(Role::Thread))
    }
}

fn plan(found: &[(Role, usize)]) -> Result<Vec<Option<Role>>, String> {
    let last = found.iter().map(|&(_, column)| column).max().unwrap_or(0);
    let mut plan = vec![None; last + 1];
    for &(role, column) in found {
        if let Some(other) = plan[column].replace(role) {
            let column = column + 1;
            return Err(format!(
                "column {column} cannot be both {} and {}",
                word(other),
                word(role)
            ));
        }
    }
    Ok(plan)
}

/// What a role is called in messages and choices.
pub(super) fn word(role: Role) -> &'static str {
    let found = UNDERSTOOD.iter().find(|(known, _)| *known == role);
    found.map_or("", |(_, names)| names[0])
}

/// The names of a header's columns.
pub(super) fn names(header: &[u8], delimiter: u8) -> Result<Vec<String>, String> {
    let mut scratch = Vec::new();
    let mut fields = Fields::new(header, delimiter, &mut scratch);
    let mut names = Vec::new();
    while let Some(field) = fields.next() {
        let field = field.map_err(|wrong| format!("the header cannot be read: {wrong}"))?;
        names.push(String::from_utf8_lossy(field).into_owned());
    }
    Ok(names)
}

/// Names are compared without case; space and `-` are `_`; a `#` before the first is none of it.
fn plain(name: &str) -> String {
    let name = name.trim_start_matches('#').trim();
    name.to_lowercase().replace([' ', '-'], "_")
}

/// Whether a column of that name has the items.
pub(crate) fn is_item(name: &str) -> bool {
    let items = [Role::Address, Role::Id];
    let mut known = UNDERSTOOD.iter().filter(|(role, _)| items.contains(role));
    known.any(|(_, names)| names.contains(&&*plain(name)))
}

fn named(names: &[String], known: &[&str]) -> Option<usize> {
    let place = |known: &&str| names.iter().position(|name| plain(name) == **known);
    known.iter().find_map(place)
}

fn chosen(column: &Column, names: &[String], header: bool) -> Result<usize, String> {
    let (name, number) = match column {
        Column::Named(name) => (name.clone(), name.parse::<usize>().ok()),
        Column::None => (String::new(), None),
    };
    if let Some(place) = names.iter().position(|other| plain(other) == plain(&name)) {
        return Ok(place);
    }
    let most = if header { names.len() } else { MOST_FIELDS };
    match number {
        Some(number) if (1..=most).contains(&number) => Ok(number - 1),
        _ if header => Err(format!(
            "there is no column '{}'; {}",
            shown(name.as_bytes()),
            listed(names)
        )),
        _ => Err(format!(
            "'{}' is no column number from 1 to {MOST_FIELDS}, and without a header there are no names",
            shown(name.as_bytes())
        )),
    }
}

/// The largest column number that is believed where there is no header.
const MOST_FIELDS: usize = 1 << 12;

/// The names of columns, in words.
pub(super) fn listed(names: &[String]) -> String {
    let mut text = String::from("its columns are");
    for (place, name) in names.iter().take(SHOWN).enumerate() {
        let comma = if place > 0 { "," } else { "" };
        text.push_str(&format!("{comma} '{}'", shown(name.as_bytes())));
    }
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} others", names.len() - SHOWN));
    }
    text
}

fn nothing(names: &[String], header: bool) -> String {
    let known = |wanted: Role| {
        let found = UNDERSTOOD.iter().find(|(role, _)| *role == wanted);
        found.map_or(String::new(), |(_, names)| names.join(", "))
    };
    let there = if header {
        listed(names)
    } else {
        "there is no header to find one in".to_owned()
    };
    format!(
        "no column of addresses or ids is known; {there}; understood are {} for addresses and {} for \
         ids; choose another with `--format csv:address=COLUMN` or `--format csv:id=COLUMN`",
        known(Role::Address),
        known(Role::Id)
    )
}
