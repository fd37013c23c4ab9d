//! Prints warnings on standard error if no summary shows them.

use reuselens::profile::{Profile, Warning};
use reuselens::trace::Note;

use crate::output::Show;
use crate::say::tell;

/// The codes of warnings that nothing was recorded.
const NOTHING_RECORDED: [&str; 2] = ["never-entered", "no-accesses"];

impl Show {
    /// Prints the warnings of an incomplete result on standard error, where no summary shows them.
    pub fn warn(&self, profile: &Profile) {
        const CODES: [&str; 8] = [
            Warning::TRUNCATED,
            "interrupted",
            "went-on",
            "memory-limit",
            "sampled",
            "lost-events",
            "unrecorded-threads",
            "still-running",
        ];
        if !self.quiet && !self.standard_output_is_taken() {
            return;
        }
        for warning in &profile.warnings {
            let code = warning.code.as_str();
            if CODES.contains(&code) || NOTHING_RECORDED.contains(&code) {
                tell!("reuselens: warning: {}", warning.message);
            }
        }
    }
}

/// Prints on standard error that a recording is empty, if nothing else reports it.
pub fn of_nothing(notes: &[Note]) {
    for note in notes {
        if NOTHING_RECORDED.contains(&note.code.as_str()) {
            tell!("reuselens: warning: {}", note.message);
        }
    }
}
