//! What the reader of the report must know, each once.

use reuselens_locality::Warning;

/// Warnings, each code and message once.
#[derive(Debug, Default)]
pub(crate) struct Warnings(pub Vec<Warning>);

impl Warnings {
    #[cold]
    pub fn once(&mut self, code: &str, message: &str, hint: &str) {
        if !self
            .0
            .iter()
            .any(|old| old.code == code && old.message == message)
        {
            self.0.push(Warning {
                code: code.into(),
                message: message.into(),
                hint: hint.into(),
            });
        }
    }

    /// Statement mode was asked for, and the program marked none.
    pub fn no_statements(&mut self) {
        self.once(
            "no-statements",
            "no statement was marked, so each access of an instruction counts, as with --names instruction",
            "mark where statements begin with RecordStatement (reuselens.h, reuselens.inc) and build with `reuselens cc`, or leave --names statement out",
        );
    }
}
