//! What the reader of the report must know, each once.

use reuselens_profile::Warning;
use reuselens_units::listed;

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

    /// Modules without line numbers, in one warning: an interpreter loads dozens of them. Each with
    /// whether rustc compiled it. `are_shared`: whether instructions count for their function.
    pub fn no_debug_information<'a>(
        &mut self,
        modules: impl Iterator<Item = (&'a str, bool)>,
        are_shared: bool,
    ) {
        let mut names: Vec<&str> = Vec::new();
        let (mut all_rust, mut any_rust) = (true, false);
        // What reuselens put into the program is nothing to compile again.
        let of_program = |(name, _): &(&str, bool)| !name.starts_with(OWN_LIBRARIES);
        for (name, is_rust) in modules.filter(of_program) {
            all_rust &= is_rust;
            any_rust |= is_rust;
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let message = match names.as_slice() {
            [] => return,
            [name] => format!(
                "{name} has no line numbers: its accesses show under its functions, or its name alone"
            ),
            names => format!(
                "{} have no line numbers: their accesses show under their functions, or their names alone",
                listed(names)
            ),
        };
        let (it, its) = match names.len() {
            1 => ("it", "its"),
            _ => ("them", "their"),
        };
        let instructions = if are_shared {
            format!("--no-contexts --by instruction lists {its} instructions")
        } else {
            format!("--by instruction lists {its} instructions")
        };
        let hint = match (all_rust, any_rust) {
            (true, _) => format!("build {it} with {CARGO}; {instructions}"),
            (false, true) => format!(
                "compile {it} with -g (Rust: with {CARGO}), or install {its} debug symbols (docs/unknown.md); {instructions}"
            ),
            (false, false) => format!(
                "compile {it} with -g, or install {its} debug symbols (docs/unknown.md); {instructions}"
            ),
        };
        self.once("no-debug-information", &message, &hint);
    }

    /// Statement mode was asked for, and the program marked none.
    pub fn no_statements(&mut self) {
        self.once(
            "no-statements",
            "no statement was marked and no source lines are known, so each access of an instruction counts, as with --names instruction",
            "compile with -g, so that source lines are statements; or mark where statements begin with RecordStatement (reuselens.h, reuselens.inc) and build with `reuselens cc`",
        );
    }
}

/// Beginning of the names of libraries that reuselens puts into programs.
const OWN_LIBRARIES: &str = "libreuselens-";

/// How Cargo is asked for debug information, which its release profile leaves out. With less
/// (`debug = 1`) there are lines and no types, so that fields of structures are not known.
const CARGO: &str =
    "debug = true below [profile.release] in Cargo.toml (or CARGO_PROFILE_RELEASE_DEBUG=true)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_libraries_need_no_debug_information() {
        let mut warnings = Warnings::default();
        warnings.no_debug_information([("libreuselens-cuda.so", false)].into_iter(), false);
        assert_eq!(warnings.0, []);
    }

    #[test]
    fn one_module_without_lines_reads_as_one() {
        let mut warnings = Warnings::default();
        warnings.no_debug_information([("prog", false), ("prog", false)].into_iter(), false);
        let [warning] = warnings.0.as_slice() else {
            panic!("{warnings:?}");
        };
        assert!(
            warning.message.starts_with("prog has no line numbers"),
            "{}",
            warning.message
        );
    }

    #[test]
    fn hint_leaves_contexts_out_where_instructions_share_a_site() {
        let mut warnings = Warnings::default();
        warnings.no_debug_information([("prog", false)].into_iter(), true);
        let hint = &warnings.0[0].hint;
        assert!(
            hint.ends_with("--no-contexts --by instruction lists its instructions"),
            "{hint}"
        );
    }

    #[test]
    fn programs_of_rust_are_built_by_cargo() {
        let hint = |modules: &[(&'static str, bool)]| {
            let mut warnings = Warnings::default();
            warnings.no_debug_information(modules.iter().copied(), false);
            warnings.0.remove(0).hint
        };
        let rust = hint(&[("prog", true)]);
        assert_eq!(
            rust,
            "build it with debug = true below [profile.release] in Cargo.toml (or CARGO_PROFILE_RELEASE_DEBUG=true); --by instruction lists its instructions"
        );
        let both = hint(&[("prog", true), ("libown.so", false)]);
        assert!(
            both.starts_with("compile them with -g (Rust: with debug = true below"),
            "{both}"
        );
        let neither = hint(&[("prog", false)]);
        assert!(
            neither.contains("-g, or") && !neither.contains("Rust"),
            "{neither}"
        );
    }
}
