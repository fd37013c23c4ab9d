//! The name of something that may have none.

/// `name`, or `unknown` if it is empty.
pub(super) fn known(name: &str, unknown: &str) -> String {
    if name.is_empty() {
        unknown.to_owned()
    } else {
        name.to_owned()
    }
}
