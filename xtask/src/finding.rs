//! What a check found.

use std::fmt;

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, from the root of the project.
    pub file: String,
    /// The line, from 1; 0 if it is about the whole file.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// Why there is such a rule.
    pub why: &'static str,
    /// What to do.
    pub fix: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {}; {}; {}",
            self.file, self.line, self.what, self.why, self.fix
        )
    }
}
