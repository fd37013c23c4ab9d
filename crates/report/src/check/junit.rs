//! [`check_junit`]: checked limits as a JUnit report, which most services for continuous
//! integration show.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{Checked, CheckedLimit, facts};
use crate::words;

/// The limits as JUnit's XML: a suite named as the profile's file, and in it a test for each limit,
/// named as the limit. A broken limit is a failure, and one that cannot be checked an error; what
/// is not sure, and warnings, are output. Ends with a line break.
pub fn check_junit(checked: &Checked<'_>) -> String {
    let (file, profile) = checked.profile;
    let mut suite = TestSuite::new(file);
    suite.add_property(("command", &*words::command(profile)));
    suite.add_test_cases(checked.limits.iter().map(|limit| test(checked, limit)));
    let warnings = checked.warnings();
    if !warnings.is_empty() {
        suite.set_system_err(warnings.join("\n"));
    }
    let mut report = Report::new("reuselens check");
    report.add_test_suite(suite);
    // It is made of text alone, so nothing can go wrong.
    let mut text = report.to_string().unwrap_or_default();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn test(checked: &Checked<'_>, limit: &CheckedLimit) -> TestCase {
    let message = checked.message(limit).unwrap_or_default();
    let failed = |kind: NonSuccessKind| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(message.as_str());
        status
    };
    let status = match limit.result() {
        "broken" => failed(NonSuccessKind::Failure),
        "unchecked" => failed(NonSuccessKind::Error),
        _ => TestCaseStatus::success(),
    };
    let mut test = TestCase::new(limit.limit.text.as_str(), status);
    test.set_classname("reuselens");
    if let Ok(verdict) = &limit.verdict {
        let doubt = limit.doubt().map(|doubt| format!("; {doubt}"));
        test.set_system_out(format!(
            "{}{}",
            facts(&limit.limit, verdict),
            doubt.unwrap_or_default()
        ));
    }
    test
}
