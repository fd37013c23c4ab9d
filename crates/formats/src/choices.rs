//! What can be chosen after the name of a format: `csv:address=COLUMN`, `vscsi:unit=512`.
//!
//! Used by `lib.rs`, when the user names a format.

use reuselens_io::Input;
use reuselens_trace::TraceError;

use crate::block_requests::Unit;
use crate::{AnySource, csv, oraclegeneral, unknown, unsegmented, vscsi};

/// A format that can be read in more than one way.
pub(crate) struct Choices {
    /// Its name.
    pub(crate) format: &'static str,
    /// What is wrong with a choice, if it is not understood.
    pub(crate) check: fn(&str) -> Result<(), String>,
    /// Opens a trace with a choice.
    pub(crate) open: fn(Input, &str) -> Result<AnySource, TraceError>,
}

static CHOICES: [Choices; 3] = [
    Choices {
        format: csv::NAME,
        check: csv::check,
        open: |input, columns| unsegmented(csv::Reader::with(input, columns)),
    },
    Choices {
        format: oraclegeneral::NAME,
        check: |choice| Unit::chosen(oraclegeneral::NAME, choice).map(drop),
        open: |input, choice| {
            let unit = unit(&input, oraclegeneral::NAME, choice)?;
            Ok(Box::new(oraclegeneral::Reader::of_blocks(input, unit)?))
        },
    },
    Choices {
        format: vscsi::NAME,
        check: |choice| Unit::chosen(vscsi::NAME, choice).map(drop),
        open: |input, choice| {
            let unit = unit(&input, vscsi::NAME, choice)?;
            Ok(Box::new(vscsi::Reader::of_blocks(input, unit)?))
        },
    },
];

fn unit(input: &Input, format: &str, choice: &str) -> Result<Unit, TraceError> {
    Unit::chosen(format, choice).map_err(|what| unknown(input, what))
}

/// The format and the choice in `FORMAT:CHOICE`; `None` if it is the name of a format alone, or of
/// one that leaves nothing to choose.
pub(crate) fn choice(name: &str) -> Option<(&'static Choices, &str)> {
    let (format, choice) = name.split_once(':')?;
    let choices = CHOICES.iter().find(|it| it.format == format)?;
    Some((choices, choice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_name;

    #[test]
    fn only_some_formats_leave_a_choice() {
        for name in ["csv:address=1", "vscsi:unit=512", "oraclegeneral:unit=1"] {
            let (choices, chosen) = choice(name).unwrap();
            assert_eq!(format!("{}:{chosen}", choices.format), name);
            assert_eq!(check_name(name), Ok(()));
        }
        for name in ["vscsi", "u64:unit=512", "msr:unit=512", ":unit=512"] {
            assert!(choice(name).is_none(), "{name}");
        }
        for (name, said) in [
            ("vscsi:unit=0", "'0' is no unit"),
            ("oraclegeneral:unit=many", "'many' is no unit"),
            ("oraclegeneral:unit=18446744073709551616", "is no unit"),
            ("vscsi:", "`--format vscsi:unit=512`"),
            ("vscsi:address=1", "`--format vscsi:unit=512`"),
            ("u64:unit=512", "no format is called 'u64:unit=512'"),
        ] {
            let wrong = check_name(name).unwrap_err();
            assert!(wrong.contains(said), "{name}: {wrong}");
        }
    }
}
