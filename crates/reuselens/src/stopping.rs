//! Analyses that end before their trace does: why, and what the reader of the report is told.

use reuselens_hugepages::OutOfMemory;
use reuselens_profile::{Outcome, Warning, signal_name};
use reuselens_trace::TraceError;
use reuselens_units::{Bytes, counted};

use crate::Error;
use crate::attribution::Attribution;

/// Why a pass ended before the source did.
pub(crate) enum EarlyEnd {
    /// It would take more memory than it may.
    LimitReached {
        needed: Bytes,
        limit: Bytes,
    },
    /// The system has no more memory to give.
    Refused(OutOfMemory),
    Broken(TraceError),
    /// By this signal.
    Asked(i32),
}

/// What a profile of a trace that breaks off is called.
pub(crate) const CUT_OFF: &str = "the trace is cut off or damaged";

/// What a profile is called whose analysis had to stop.
const OUT_OF_MEMORY: &str = "the analysis reached its memory limit";

/// The same, where the system has set the limit.
const REFUSED: &str = "the system refused the analysis memory";

/// A limit on memory below which hardly any profile with names fits.
const SMALL: u64 = 16 << 20;

impl EarlyEnd {
    /// Why a source that fails is not read on; `begun` says whether there was anything to analyse.
    ///
    /// # Errors
    /// The source's, if what was read is no part of a trace, or nothing.
    pub fn because(error: TraceError, begun: bool) -> Result<EarlyEnd, Error> {
        match error {
            TraceError::Stopped { signal } if begun => Ok(EarlyEnd::Asked(signal)),
            error if error.is_partial() && begun => Ok(EarlyEnd::Broken(error)),
            error => Err(error.into()),
        }
    }

    /// Says so in the profile: it ended after so many accesses.
    pub fn note(self, accesses: u64, attribution: &mut Attribution) {
        let accesses = counted(accesses, "access", "accesses");
        let (warning, reason) = match self {
            EarlyEnd::LimitReached { needed, limit } => {
                let message = format!(
                    "the analysis stopped after {accesses}: it would soon hold {needed}, more than the {limit} it may have"
                );
                let hint = match (limit.get(), attribution.ids) {
                    (..SMALL, false) => {
                        "names and the reader alone take a few MiB: raise --memory-limit to 16M, or leave names out (--by program)"
                    }
                    (..SMALL, true) => {
                        "the reader alone takes a few MiB: raise --memory-limit to 16M"
                    }
                    (_, false) => "raise --memory-limit, or take a larger --granularity",
                    (_, true) => {
                        "raise --memory-limit, or leave --engine out: then a sample keeps to it"
                    }
                };
                (
                    warning("memory-limit", message, hint),
                    OUT_OF_MEMORY.to_owned(),
                )
            }
            EarlyEnd::Refused(OutOfMemory { bytes }) => {
                let bytes = Bytes(bytes as u64);
                let message = format!(
                    "the analysis stopped after {accesses}: the system refused {bytes} of memory"
                );
                let hint = "allow more address space (ulimit -v) or memory, or set a --memory-limit below that; a larger --granularity needs less";
                (warning("memory-limit", message, hint), REFUSED.to_owned())
            }
            EarlyEnd::Broken(error) => (truncated(&error), CUT_OFF.to_owned()),
            EarlyEnd::Asked(signal) => {
                let signal = signal_name(signal);
                let message = format!(
                    "{signal} stopped the analysis after {accesses}; what is shown is everything before that"
                );
                let hint = "analyse the trace again for all of it";
                let reason = format!("{signal} stopped the analysis");
                (warning("interrupted", message, hint), reason)
            }
        };
        attribution.warnings.push(warning);
        attribution.outcome = Some(Outcome::Incomplete(reason));
    }
}

fn warning(code: &str, message: String, hint: &str) -> Warning {
    Warning {
        code: code.to_owned(),
        message,
        hint: hint.to_owned(),
    }
}

/// The warning about a trace that breaks off.
pub(crate) fn truncated(error: &TraceError) -> Warning {
    let hint = match error.line() {
        // Text is written or converted by people; one line of it can be mended.
        Some(line) => format!(
            "mend {line} of the file, or name the right format (--format NAME, see reuselens formats); what is shown is \
             everything before that line"
        ),
        None => "copy it again, or record it again; what is shown is everything before that point"
            .to_owned(),
    };
    Warning {
        code: Warning::TRUNCATED.to_owned(),
        message: error.to_string(),
        hint,
    }
}
