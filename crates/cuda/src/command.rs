//! [`command_use`]: whether, and how, a command reaches CUDA: by its program, by a library of it,
//! or by a program that a script or another program starts.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection, ReadCache};
use reuselens_io::open_regular_file;

use crate::program::{CudaUse, cuda_use, library_use};

/// Libraries of a program that are looked at.
const MOST_LIBRARIES: usize = 256;
/// Words of scripts and arguments that are looked at.
const MOST_WORDS: usize = 10_000;
/// Bytes of a script that are read.
const MOST_BYTES: u64 = 1 << 20;
/// Where libraries are beside the folders that a program or the environment names.
const FOLDERS: [&str; 4] = [
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
];
/// Programs that run those which their arguments name.
const STARTERS: [&str; 15] = [
    "bash", "dash", "env", "ksh", "mpiexec", "mpirun", "nice", "numactl", "sh", "srun", "stdbuf",
    "taskset", "time", "timeout", "zsh",
];
/// Programs that run what a makefile names.
const MAKERS: [&str; 2] = ["gmake", "make"];
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// How a command reaches CUDA; `None` if it does not, as far as can be seen. A program that loads
/// its library while it runs, or builds the name of what it starts, cannot be seen.
///
/// Cost: of the program and its libraries, section headers are read; of those with device code,
/// symbols. Where the program is a script or runs others, also of each file that it names.
pub fn command_use(program: &Path, arguments: &[OsString]) -> Option<CudaUse> {
    let of_file = |path: &Path| cuda_use(path).or_else(|| use_of_libraries(path));
    of_file(program).or_else(|| {
        let named = named_files(program, arguments);
        let mut uses = named.iter().filter_map(|path| of_file(path));
        uses.find(|found| matches!(found, CudaUse::Shared | CudaUse::Static))
    })
}

/// How a library that a program is linked with reaches CUDA, where it has device code.
fn use_of_libraries(program: &Path) -> Option<CudaUse> {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![program.to_owned()];
    while let Some(path) = waiting.pop() {
        for library in libraries(&path).unwrap_or_default() {
            if seen.len() < MOST_LIBRARIES && seen.insert(library.clone()) {
                if let Some(found) = library_use(&library) {
                    return Some(found);
                }
                waiting.push(library);
            }
        }
    }
    None
}

/// The libraries that a file names, as far as they are found.
fn libraries(path: &Path) -> Option<Vec<PathBuf>> {
    const NEEDED: u64 = 1;
    const OLD_PATH: u64 = 15;
    const PATH: u64 = 29;
    let (file, _) = open_regular_file(path).ok()?;
    let file = ReadCache::new(file);
    let object = object::File::parse(&file).ok()?;
    let names = object.section_by_name(".dynstr")?.data().ok()?;
    let entries = object.section_by_name(".dynamic")?.data().ok()?;
    let entries = entries.as_chunks::<16>().0.iter().map(|entry| {
        let half = |at: usize| u64::from_le_bytes(*entry[at..].first_chunk().expect("8 bytes"));
        (half(0), half(8))
    });
    let text = |at: u64| {
        let name = names.get(usize::try_from(at).ok()?..)?;
        Some(OsStr::from_bytes(name.split(|&byte| byte == 0).next()?))
    };
    let origin = path.canonicalize().ok()?.parent()?.to_owned();
    let mut folders = Vec::new();
    for (_, at) in entries
        .clone()
        .filter(|entry| matches!(entry.0, OLD_PATH | PATH))
    {
        let list = std::env::split_paths(text(at)?);
        folders.extend(list.map(|folder| from_origin(&folder, &origin)));
    }
    if let Some(list) = std::env::var_os("LD_LIBRARY_PATH") {
        folders.extend(std::env::split_paths(&list));
    }
    folders.extend(FOLDERS.map(PathBuf::from));
    let needed = entries.filter(|entry| entry.0 == NEEDED);
    let found = needed.filter_map(|(_, at)| {
        let name = text(at)?;
        let mut places = folders.iter().map(|folder| folder.join(name));
        places.find(|place| place.is_file())
    });
    Some(found.collect())
}

/// A folder that may be named from that of its file on.
fn from_origin(folder: &Path, origin: &Path) -> PathBuf {
    for name in ["$ORIGIN", "${ORIGIN}"] {
        if let Ok(rest) = folder.strip_prefix(name) {
            return origin.join(rest);
        }
    }
    folder.to_owned()
}

/// The files that a script, or the arguments of a program that runs others, name.
pub fn named_files(program: &Path, arguments: &[OsString]) -> Vec<PathBuf> {
    let name = program
        .file_name()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    let (starts, makes) = (STARTERS.contains(&name), MAKERS.contains(&name));
    let here = PathBuf::from(".");
    let mut folders = vec![here.clone()];
    let mut texts = Vec::new();
    let mut add = |path: &Path| {
        if let Some(text) = script(path) {
            folders.extend(path.parent().map(Path::to_owned));
            texts.push(text);
        }
    };
    add(program);
    if starts || makes {
        arguments
            .iter()
            .for_each(|argument| add(Path::new(argument)));
    }
    if makes {
        // `make -C FOLDER` names its folder among the arguments.
        let others = arguments.iter().map(PathBuf::from);
        for folder in std::iter::once(here).chain(others) {
            for makefile in MAKEFILES.map(|name| folder.join(name)) {
                if let Some(text) = contents(&makefile) {
                    texts.push(text);
                    folders.push(folder.clone());
                }
            }
        }
    }
    if starts {
        texts.extend(
            arguments
                .iter()
                .map(|argument| argument.as_bytes().to_vec()),
        );
    }
    let words = texts.iter().flat_map(|text| words(text));
    let words: BTreeSet<&OsStr> = words.take(MOST_WORDS).collect();
    let places = words
        .iter()
        .flat_map(|word| folders.iter().map(move |folder| folder.join(word)));
    places.filter(|place| place.is_file()).collect()
}

/// The words of a text, of which some may name files.
fn words(text: &[u8]) -> impl Iterator<Item = &OsStr> {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"'\"`;&|()<>=$,\\".contains(byte);
    let words = text.split(ends).filter(|word| !word.is_empty());
    words.map(OsStr::from_bytes)
}

/// The text of a script; `None` for anything else.
fn script(path: &Path) -> Option<Vec<u8>> {
    let is_shell = path.extension().is_some_and(|extension| extension == "sh");
    contents(path).filter(|text| text.starts_with(b"#!") || is_shell)
}

/// The first bytes of a file.
fn contents(path: &Path) -> Option<Vec<u8>> {
    let (file, _) = open_regular_file(path).ok()?;
    let mut text = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_from_their_file_on() {
        let origin = Path::new("/a/b");
        assert_eq!(
            from_origin(Path::new("$ORIGIN/../c"), origin),
            Path::new("/a/b/../c")
        );
        assert_eq!(
            from_origin(Path::new("${ORIGIN}"), origin),
            Path::new("/a/b")
        );
        assert_eq!(from_origin(Path::new("/d"), origin), Path::new("/d"));
    }

    #[test]
    fn words_end_at_what_shells_end_them_by() {
        let found: Vec<_> = words(b"cd x&& ./run \"$A\"/b 'c d';out=e>f").collect();
        let expected = ["cd", "x", "./run", "A", "/b", "c", "d", "out", "e", "f"];
        assert_eq!(found, expected.map(OsStr::new));
    }

    #[test]
    fn programs_of_no_cuda_are_not_taken_for_it() {
        let shell = Path::new("/bin/sh");
        let arguments = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(
            command_use(shell, &arguments(&["-c", "/bin/true && /bin/ls"])),
            None
        );
        assert_eq!(command_use(Path::new("/nonexistent"), &[]), None);
    }
}
