//! The names that reports give to sites, objects, contexts and threads: [`names`] has one for each
//! index of a profile's table.

mod contexts;
mod known;

use std::collections::{HashMap, HashSet};

use self::known::known;
use crate::{Dimension, Frame, Object, Profile, Site};

/// The name of each index of the table that a dimension groups by.
pub(crate) fn names(profile: &Profile, by: Dimension) -> Vec<String> {
    match by {
        Dimension::Program => vec!["program".to_owned()],
        Dimension::Thread => profile
            .threads
            .iter()
            .map(|thread| known(&thread.name, "(unknown thread)").to_owned())
            .collect(),
        Dimension::Function => profile.sites.iter().map(function).collect(),
        Dimension::Line => {
            let paths = ShortPaths::new(profile);
            profile
                .sites
                .iter()
                .map(|site| line(site, &paths))
                .collect()
        }
        Dimension::Object => profile
            .objects
            .iter()
            .map(|each| object(each).to_owned())
            .collect(),
        // See `Profile::element_groups`.
        Dimension::Element | Dimension::Path => Vec::new(),
        Dimension::Context => contexts::contexts(&profile.contexts),
        Dimension::Instruction => {
            let paths = ShortPaths::new(profile);
            profile
                .sites
                .iter()
                .map(|site| instruction(site, &paths))
                .collect()
        }
    }
}

/// The name of a signal, `SIGSEGV`; with its number if it has no name.
pub fn signal_name(signal: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let number = usize::try_from(signal).ok();
    let name = number.and_then(|number| NAMES.get(number.checked_sub(1)?));
    name.map_or_else(|| format!("signal {signal}"), |name| format!("SIG{name}"))
}

/// `module+0x12ab (file:line)` of an instruction with paths; the file without its folder.
pub(crate) fn path_site(site: &crate::PathSite) -> String {
    let module = known(&site.module, "(unknown module)");
    let Frame { file, line, .. } = &site.frame;
    match file.rsplit('/').next().filter(|_| *line > 0) {
        Some(file) => format!("{module}+{:#x} ({file}:{line})", site.offset),
        None => format!("{module}+{:#x}", site.offset),
    }
}

/// The one name of all code of the dynamic loader, which is not the program's. `None` for all other
/// code.
fn loader(site: &Site) -> Option<String> {
    // Not musl's `ld-musl-`: that file is the C library too, so `memcpy` and `malloc` are in it.
    const LOADERS: [&str; 2] = ["ld-linux", "ld64.so"];
    let is_loader = LOADERS.iter().any(|name| site.module.starts_with(name));
    is_loader.then(|| format!("dynamic loader ({})", site.module))
}

fn function(site: &Site) -> String {
    if let Some(loader) = loader(site) {
        return loader;
    }
    match (site.symbol(), site.module.as_str()) {
        ("", "") => "(unknown function)".to_owned(),
        ("", module) => format!("{module} (unknown function)"),
        (name, _) => name.to_owned(),
    }
}

/// The name of an object.
pub(crate) fn object(object: &Object) -> &str {
    match object.name.as_str() {
        "" => "(unknown object)",
        name => name,
    }
}

/// `file:line` of the innermost frame; where there are no lines, what is known in their place: the
/// function and its library, or the library alone.
fn line(site: &Site, paths: &ShortPaths) -> String {
    if let Some(loader) = loader(site) {
        return loader;
    }
    match site.frames.first() {
        Some(Frame { file, line, .. }) if !file.is_empty() && *line > 0 => {
            format!("{}:{line}", paths.shorten(file))
        }
        Some(Frame { file, .. }) if !file.is_empty() => {
            format!("{} (unknown line)", paths.shorten(file))
        }
        _ => match (site.symbol(), &*site.module) {
            ("", "") => "(unknown line)".to_owned(),
            ("", module) => format!("{module} (unknown line)"),
            (function, "") => format!("{function} (unknown line)"),
            // A function that is named by its file and address.
            (function, module) if is_in(function, module) => format!("{function} (unknown line)"),
            (function, module) => format!("{function} in {module} (unknown line)"),
        },
    }
}

/// Whether a function's name begins with its file's, as in `gzip!fn@4295`.
fn is_in(function: &str, module: &str) -> bool {
    let rest = function.strip_prefix(module);
    rest.is_some_and(|rest| rest.starts_with('!'))
}

/// `module+0x12ab (file:line)`.
fn instruction(site: &Site, paths: &ShortPaths) -> String {
    if *site == Site::default() {
        return "(unknown instruction)".to_owned();
    }
    let module = known(&site.module, "(unknown module)");
    let frame = site.frames.first();
    let place = match frame {
        Some(frame) if !frame.file.is_empty() => format!("({})", line(site, paths)),
        Some(frame) if !site.symbol().is_empty() => format!("({})", frame.function),
        _ => "(unknown line)".to_owned(),
    };
    format!("{module}+{:#x} {place}", site.offset)
}

impl Profile {
    /// The name that reports give to each entry of the table that a dimension groups by, by the
    /// entry's index. Empty for elements and paths, which have no table.
    pub fn entry_names(&self, by: Dimension) -> Vec<String> {
        names(self, by)
    }
}

/// Paths of source files, each as its shortest end that no other file of the profile has.
pub struct ShortPaths<'a> {
    short: HashMap<&'a str, String>,
}

impl<'a> ShortPaths<'a> {
    /// The files of a profile's sites, and of the scopes that carry reuses. Cost: linear in both.
    pub fn new(profile: &'a Profile) -> Self {
        let scopes = profile.causes.iter().flat_map(|causes| &causes.scopes);
        let frames = profile.sites.iter().flat_map(|site| &site.frames);
        let frames = frames.chain(scopes.map(|scope| &scope.frame));
        let files: HashSet<&str> = frames.map(|frame| frame.file.as_str()).collect();
        // How many files have this end of components.
        let mut ends = HashMap::new();
        for end in files.iter().flat_map(|file| ends_of(file)) {
            *ends.entry(end).or_insert(0) += 1;
        }
        let shortest = |file: &str| ends_of(file).find(|end| ends.get(end) == Some(&1));
        let short = |file: &'a str| (file, shortest(file).unwrap_or_else(|| file.to_owned()));
        ShortPaths {
            short: files.iter().copied().map(short).collect(),
        }
    }

    /// The short form of a path; the path itself if it is none of those.
    pub fn shorten<'b>(&'b self, file: &'b str) -> &'b str {
        self.short.get(file).map_or(file, String::as_str)
    }
}

/// The ends of a path in complete components, shortest first; the last is the path.
fn ends_of(file: &str) -> impl Iterator<Item = String> {
    let parts: Vec<&str> = file
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    (1..=parts.len()).map(move |len| parts[parts.len() - len..].join("/"))
}

#[cfg(test)]
mod tests {
    use super::contexts::contexts;
    use super::*;
    use crate::{Context, testing};

    #[test]
    fn source_paths_are_shortened_to_unique_ends() {
        let mut profile = testing::profile();
        let files = ["/home/p/src/a.c", "/home/p/lib/a.c", "/home/p/b.c", "a.c"];
        profile.sites = files
            .iter()
            .map(|file| testing::site("f", file, 3))
            .collect();
        let names = names(&profile, Dimension::Line);
        assert_eq!(names, ["src/a.c:3", "lib/a.c:3", "b.c:3", "a.c:3"]);
    }

    #[test]
    fn dynamic_loader_is_one_row() {
        let mut profile = testing::profile();
        let site = |module: &str, function: &str| Site {
            module: module.into(),
            ..testing::site(function, "", 0)
        };
        profile.sites = vec![
            site("ld-linux-x86-64.so.2", "do_lookup_x+0x12"),
            site("ld-linux-x86-64.so.2", "_dl_relocate_object+0x9"),
            site("prog", "do_lookup_x+0x12"),
        ];
        let loader = "dynamic loader (ld-linux-x86-64.so.2)";
        for by in [Dimension::Function, Dimension::Line] {
            let names = names(&profile, by);
            assert_eq!(names[..2], [loader, loader], "{by}");
            assert!(names[2].starts_with("do_lookup_x"), "{by}");
        }
        let apart = names(&profile, Dimension::Instruction);
        assert_ne!(apart[0], apart[1]);
    }

    /// musl's loader and its C library are one file.
    #[test]
    fn functions_of_musl_keep_their_names() {
        let mut profile = testing::profile();
        let site = |function: &str| Site {
            module: "ld-musl-x86_64.so.1".into(),
            ..testing::site(function, "", 0)
        };
        profile.sites = vec![site("memcpy+0x12"), site("ld-musl-x86_64.so.1!memcpy")];
        assert_eq!(
            names(&profile, Dimension::Function),
            ["memcpy", "ld-musl-x86_64.so.1!memcpy"]
        );
        assert_eq!(
            names(&profile, Dimension::Line),
            [
                "memcpy in ld-musl-x86_64.so.1 (unknown line)",
                "ld-musl-x86_64.so.1!memcpy (unknown line)"
            ]
        );
    }

    #[test]
    fn unknown_sites_and_objects_have_names() {
        let mut profile = testing::profile();
        let half = Site {
            offset: 0x12ab,
            frames: vec![Frame {
                file: "a.c".into(),
                ..Frame::default()
            }],
            ..Site::default()
        };
        profile.sites = vec![Site::default(), half];
        assert_eq!(
            names(&profile, Dimension::Line),
            ["(unknown line)", "a.c (unknown line)"]
        );
        assert_eq!(
            names(&profile, Dimension::Function),
            ["(unknown function)", "(unknown function)"]
        );
        let instructions = names(&profile, Dimension::Instruction);
        assert_eq!(instructions[0], "(unknown instruction)");
        assert_eq!(
            instructions[1],
            "(unknown module)+0x12ab (a.c (unknown line))"
        );
    }

    #[test]
    fn line_names_fall_back_to_function_or_library() {
        let mut profile = testing::profile();
        let site = |function: &str| Site {
            module: "libz.so".into(),
            offset: 0x12ab,
            ..testing::site(function, "", 0)
        };
        profile.sites = vec![site("crc+0x1f"), site("libz.so+0x12ab"), site("")];
        let library = "libz.so (unknown line)";
        assert_eq!(
            names(&profile, Dimension::Line),
            ["crc in libz.so (unknown line)", library, library]
        );
        let library = "libz.so (unknown function)";
        assert_eq!(
            names(&profile, Dimension::Function),
            ["crc", library, library]
        );
        assert_eq!(
            names(&profile, Dimension::Instruction),
            [
                "libz.so+0x12ab (crc+0x1f)",
                "libz.so+0x12ab (unknown line)",
                "libz.so+0x12ab (unknown line)"
            ]
        );
    }

    #[test]
    fn signals_have_names() {
        let names = [1, 2, 9, 11, 15, 31, 0, 32, -3].map(signal_name);
        let known = [
            "SIGHUP", "SIGINT", "SIGKILL", "SIGSEGV", "SIGTERM", "SIGSYS",
        ];
        assert_eq!(names[..6], known);
        assert_eq!(names[6..], ["signal 0", "signal 32", "signal -3"]);
    }

    #[test]
    fn deep_recursion_is_cut_in_the_middle() {
        let mut tree = vec![Context::default()];
        for depth in 0..1000 {
            let function = if depth < 500 { "even" } else { "odd" }.to_owned();
            tree.push(Context {
                parent: depth,
                function,
                ..Context::default()
            });
        }
        let names = contexts(&tree);
        let name = &names[1000];
        assert!(name.starts_with("even > even") && name.ends_with("odd > odd"));
        assert!(name.contains(" > (968 more) > "), "{name}");
        assert_eq!(names[0], "(root)");
        assert_eq!(names[2], "even > even");
        assert_eq!(names[32], ["even"; 32].join(" > "));
        assert!(names[33].contains(" > (1 more) > "), "{}", names[33]);
        tree[1].parent = 900;
        assert_eq!(contexts(&tree)[1..3], ["even", "even > even"]);
        assert!(contexts(&[]).is_empty());
    }

    /// The path to each of many contexts is not gone through from end to end: that would take hours
    /// here.
    #[test]
    fn context_names_of_a_chain_take_linear_time() {
        let call = |parent| Context {
            parent,
            function: "f".to_owned(),
            ..Context::default()
        };
        let tree: Vec<Context> = (0..200_000_u32)
            .map(|node| call(node.saturating_sub(1)))
            .collect();
        let names = contexts(&tree);
        assert!(names[199_999].contains(" > (199967 more) > "));
    }
}
