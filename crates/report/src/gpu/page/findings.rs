//! The section of the page with what to change.

use std::fmt::Write;

use reuselens_document::html::page;

use crate::advice::write_findings;
use crate::gpu::{GpuRun, STOPPED};

const EXPLAIN: &str = "The costliest first. The cost is what could be saved at most, and its share of all of its kind in \
this run.";

/// Appends the section.
pub(super) fn write(out: &mut String, run: &GpuRun) {
    page::card(out, "findings", "What to change", EXPLAIN, |out| {
        if run.is_stopped() {
            let _ = write!(out, "<p>{STOPPED}</p>");
        } else if run.findings.is_empty() {
            out.push_str("<p>No rule applied.</p>");
        }
        write_findings(out, &run.findings);
    });
}
