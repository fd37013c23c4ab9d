//! [`Unread`]: a module whose file gives no names, with the cause; and warnings about such modules.

use reuselens_attribute::known_names::file_name;
use reuselens_profile::Warning;
use reuselens_trace::Module;
use reuselens_units::listed;

/// A module whose file gives no names.
pub(super) struct Unread {
    name: String,
    cause: String,
    /// The cause without the file's path: what modules that share a warning have in common.
    kind: String,
}

impl Unread {
    pub(super) fn new(module: &Module, cause: String) -> Self {
        Unread {
            name: file_name(&module.path).to_owned(),
            kind: cause.replace(&module.path, ""),
            cause,
        }
    }
}

/// A warning for each kind of cause, in the order in which these turned up; its message gives the
/// cause of its first module.
pub(super) fn warnings(unread: &[Unread]) -> Vec<Warning> {
    let mut groups: Vec<(&Unread, Vec<&str>)> = Vec::new();
    for module in unread {
        match groups
            .iter_mut()
            .find(|(first, _)| first.kind == module.kind)
        {
            Some((_, names)) => names.push(&module.name),
            None => groups.push((module, vec![&module.name])),
        }
    }
    groups
        .iter()
        .map(|(first, names)| warning(&first.cause, names))
        .collect()
}

fn warning(cause: &str, names: &[&str]) -> Warning {
    let message = match names {
        [name] => format!("{name} names nothing: {cause}"),
        names => format!("{} name nothing: {cause}, for instance", listed(names)),
    };
    Warning {
        code: "module-not-read".into(),
        message,
        hint: "keep the program and its libraries as they ran until the report is made".into(),
    }
}
