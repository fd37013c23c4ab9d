//! The name of something that may have none.

/// `name`, or `unknown` if it is empty.
pub(super) fn known<'a>(name: &'a str, unknown: &'a str) -> &'a str {
    if name.is_empty() { unknown } else { name }
}
