//! Finds functions by name in the symbol tables of a program and its libraries ([`find`]), for
//! recordings of one function; and suggests similar names if there is none ([`NotFound`]).

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use addr2line::demangle_auto;
use object::{Object, ObjectSegment, ObjectSymbol, SymbolKind};
use reuselens_io::{path_of, read_object_file, text_of_bytes};

/// A function in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionPlace {
    /// The file's device.
    pub device: u64,
    /// The file's number on it.
    pub inode: u64,
    /// The function's first address in the file's own count.
    pub low: u64,
    /// The first address after it.
    pub high: u64,
}

/// Why a function was not found.
#[derive(Debug)]
pub struct NotFound {
    /// The program's own functions whose names look like it, the nearest first.
    pub near: Vec<String>,
    /// Functions of its libraries whose names look like it, the nearest first.
    pub libraries: Vec<String>,
    /// Some functions of the program itself.
    pub own: Vec<String>,
    /// Whether the program's own file has a table of symbols.
    pub stripped: bool,
}

impl NotFound {
    /// What to do about it. It names the program's functions that are near, and functions of the
    /// libraries only if nothing of the program is near.
    pub fn hint(&self) -> String {
        const INLINED: &str = "one that was put into its callers is not there: name the caller, or build with -fno-inline";
        let theirs = match &self.libraries[..] {
            [] => String::new(),
            names => format!("; in its libraries near it are: {}", names.join(", ")),
        };
        match (&self.near[..], &self.own[..]) {
            ([], _) if self.stripped => {
                format!("its table of symbols was taken away: build it without -s or strip{theirs}")
            }
            ([], []) => format!("`nm -C PROGRAM` lists those that there are{theirs} ({INLINED})"),
            ([], own) => format!(
                "it has {}, and others that `nm -C PROGRAM` lists{theirs} ({INLINED})",
                own.join(", ")
            ),
            (near, _) => format!("near it are: {} ({INLINED})", near.join(", ")),
        }
    }
}

/// How many names are suggested.
const SUGGESTIONS: usize = 3;

/// Names that are never suggested as the program's own: functions that compilers put into every
/// program, and `cfree`, which only old libraries define and the run time defines, too.
const EVERYWHERE: [&str; 4] = [
    "cfree",
    "deregister_tm_clones",
    "frame_dummy",
    "register_tm_clones",
];

/// Parts of the symbols of functions that `reuselens cc` links into a program, in lower case: these
/// are not suggested.
const RUN_TIME: [&str; 6] = [
    "reuselens_",
    "recordaccess",
    "recorddata",
    "recordnameddata",
    "recordpartialdata",
    "recordstatement",
];

/// The functions with this name in a program and the libraries that it is linked with. Copies that
/// the compiler has made (`name.constprop.0`), overloads, and Fortran's `name_` have the name, too.
pub fn find(program: &Path, name: &str) -> io::Result<Result<Vec<FunctionPlace>, NotFound>> {
    let mut found = Vec::new();
    let mut names = [BTreeSet::new(), BTreeSet::new()];
    let mut stripped = false;
    let files = files(program)?;
    for (index, path) in files.iter().enumerate() {
        let Ok((_, bytes)) = read_object_file(path) else {
            continue;
        };
        let Ok(file) = object::File::parse(&*bytes) else {
            continue;
        };
        if index == 0 {
            stripped = file.symbols().next().is_none();
        }
        let about = std::fs::metadata(path)?;
        for (low, high, symbol) in functions(&file) {
            if matches(&symbol, name) {
                let place = FunctionPlace {
                    device: about.dev(),
                    inode: about.ino(),
                    low,
                    high,
                };
                if !found.contains(&place) {
                    found.push(place);
                }
            } else if found.is_empty() && !is_run_time(&symbol) {
                names[index.min(1)].insert(plain(&symbol));
            }
        }
    }
    if !found.is_empty() {
        return Ok(Ok(found));
    }
    let [mine, theirs] = names;
    // Libraries have many names, some of which are always near, so theirs must be nearer.
    let most = name.len() / 3 + 1;
    Ok(Err(NotFound {
        near: near(&mine, name, most),
        libraries: near(&theirs, name, most / 2),
        // Functions that the run time wraps have the names of libraries' functions.
        own: mine
            .difference(&theirs)
            .filter(|name| is_own(name))
            .take(SUGGESTIONS)
            .cloned()
            .collect(),
        stripped,
    }))
}

/// The program's file and its libraries', as its loader finds them.
fn files(program: &Path) -> io::Result<Vec<PathBuf>> {
    let (_, bytes) = read_object_file(program)?;
    let mut files = vec![program.to_owned()];
    let Ok(file) = object::File::parse(&*bytes) else {
        return Ok(files);
    };
    let Some(loader) = interpreter(&file) else {
        return Ok(files);
    };
    // The loader lists what it would load, and runs nothing.
    let list = Command::new(loader)
        .arg("--list")
        .arg(std::fs::canonicalize(program)?)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    let text = list.map_or(String::new(), |list| {
        text_of_bytes(&list.stdout).into_owned()
    });
    let paths = text.lines().filter_map(|line| {
        let path = line.split_once("=>").map_or(line, |(_, path)| path).trim();
        let path = path.rsplit_once(" (").map_or(path, |(path, _)| path);
        path.starts_with('/').then(|| path_of(path))
    });
    files.extend(paths);
    Ok(files)
}

/// The path of the loader that a program names.
fn interpreter(file: &object::File<'_>) -> Option<PathBuf> {
    let section = object::Object::section_by_name(file, ".interp");
    let data = section.and_then(|section| object::ObjectSection::data(&section).ok())?;
    let text = data.split(|byte| *byte == 0).next()?;
    // A program without segments is none.
    file.segments().next().map(|segment| segment.size())?;
    Some(PathBuf::from(OsStr::from_bytes(text)))
}

/// Functions that are defined in a file: first address, first address after it, name.
fn functions(file: &object::File<'_>) -> Vec<(u64, u64, String)> {
    let all = file.symbols().chain(file.dynamic_symbols());
    let functions = all.filter(|s| s.is_definition() && s.kind() == SymbolKind::Text);
    functions
        .filter_map(|symbol| {
            let low = symbol.address();
            let name = text_of_bytes(symbol.name_bytes().ok()?);
            // Versions of library symbols follow an @.
            let name = name.split('@').next().unwrap_or(&name);
            Some((low, low + symbol.size().max(1), name.to_owned()))
        })
        .collect()
}

/// A symbol as people write it: without what compilers add, and without arguments.
fn plain(symbol: &str) -> String {
    let clear = demangle_auto(symbol.into(), None).into_owned();
    let clear = if clear == symbol {
        let base = symbol.split_once('.').map_or(symbol, |(base, _)| base);
        let fortran = base.split_once("_MOD_").map_or(base, |(_, name)| name);
        return fortran.to_owned();
    } else {
        clear
    };
    clear
        .split_once('(')
        .map_or(clear.as_str(), |(name, _)| name)
        .to_owned()
}

fn matches(symbol: &str, name: &str) -> bool {
    if symbol == name || symbol.strip_suffix('_') == Some(name) {
        return true;
    }
    let clear = demangle_auto(symbol.into(), None);
    clear == name || (!symbol.contains(".cold") && plain(symbol) == name)
}

/// Whether a symbol is of the run time that is linked into programs.
fn is_run_time(symbol: &str) -> bool {
    let symbol = symbol.to_lowercase();
    RUN_TIME.iter().any(|part| symbol.contains(part))
}

/// Whether a function with this name is probably one of the program's sources.
fn is_own(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('_') && !EVERYWHERE.contains(&name)
}

/// The names nearest to a name: at most `most` letters differ, or one contains the other. Names
/// that are probably in sources come before names of compilers and libraries.
fn near(names: &BTreeSet<String>, name: &str, most: usize) -> Vec<String> {
    let candidate = |known: &String| {
        let part = known.contains(name) || (known.len() > 3 && name.contains(known.as_str()));
        let last = known.rsplit("::").next().unwrap_or(known);
        let letters = distance(last, name).min(distance(known, name));
        let letters = if part { letters.min(most) } else { letters };
        (!known.is_empty() && letters <= most).then(|| (!is_own(known), letters, known.clone()))
    };
    let mut near: Vec<_> = names.iter().filter_map(candidate).collect();
    near.sort();
    let nearest = near.into_iter().take(SUGGESTIONS);
    nearest.map(|(_, _, name)| name).collect()
}

/// Letters to change, add or leave out (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = corner + usize::from(from != *to);
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_names_of_all_languages() {
        assert!(matches("solve", "solve"));
        assert!(matches("solve_", "solve"));
        assert!(matches("solve.constprop.0", "solve"));
        assert!(!matches("solve.cold", "solve") && !matches("solver", "solve"));
        assert!(matches("__grid_MOD_solve", "solve"));
        assert!(matches("_ZN4grid5solveEi", "grid::solve"));
        assert!(matches("_ZN4grid5solveEi", "grid::solve(int)"));
        assert!(!matches("_ZN4grid5solveEi", "solve"));
    }

    #[test]
    fn function_of_the_run_time_is_not_suggested() {
        for symbol in [
            "_ZN14reuselens_wire4gate4Gate1aE",
            "RecordAccess",
            "recorddata_",
        ] {
            assert!(is_run_time(symbol), "{symbol}");
        }
        assert!(!is_run_time("record") && !is_run_time("solve"));
    }

    #[test]
    fn similar_name_is_suggested() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let program = names(&["multiply", "multiply_tiled", "_multiply", "main", "fill"]);
        assert_eq!(near(&program, "multipy", 3), ["multiply", "_multiply"]);
        // Names of libraries must be nearer.
        assert!(near(&names(&["fopen", "nice"]), "nope", 1).is_empty());
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn function_of_this_program_is_found() {
        let program = std::env::current_exe().unwrap();
        assert!(find(&program, "main").unwrap().is_ok());
        let missing = find(&program, "mian").unwrap().unwrap_err();
        assert!(missing.near.contains(&"main".to_owned()), "{missing:?}");
        // In the library of C.
        assert!(find(&program, "getpid").unwrap().is_ok());
    }
}
