//! The page about packages of others has those of `Cargo.lock`.

use crate::third_party::{PAGE, listed, locked};
use crate::{Finding, Workspace};

/// What this check is called.
pub const NAME: &str = "third_party";
/// Why there is such a rule.
pub const WHY: &str = "licences of others ask that their notices go with the program";

const LOCK: &str = "Cargo.lock";

/// Finds packages that are not on the page, and those on it that are none any more.
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let Some(lock) = workspace.get(LOCK) else {
        return Vec::new();
    };
    let (locked, listed) = (
        locked(lock),
        listed(workspace.get(PAGE).unwrap_or_default()),
    );
    let finding = |what: String| Finding {
        file: PAGE.to_owned(),
        line: 0,
        what,
        why: WHY,
        fix: "cargo xtask third-party".to_owned(),
    };
    let missing = locked
        .difference(&listed)
        .map(|name| format!("{name} is missing"));
    // Packages whose licences are listed have an item more, which is in the table too.
    let gone = listed
        .difference(&locked)
        .map(|name| format!("{name} is not in {LOCK}"));
    missing.chain(gone).map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_and_old_packages_are_found() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.1\"\nsource = \"x\"\n";
        let page = "| `a 1.0` | MIT | MIT |\n";
        let found = check(&Workspace::of(&[(LOCK, lock), (PAGE, page)]));
        let what: Vec<&str> = found.iter().map(|finding| &*finding.what).collect();
        assert_eq!(what, ["a 1.1 is missing", "a 1.0 is not in Cargo.lock"]);
        let page = "| `a 1.1` | MIT | MIT |\n";
        assert!(check(&Workspace::of(&[(LOCK, lock), (PAGE, page)])).is_empty());
    }
}
