//! [`python_use`]: whether a program in Python imports a package that uses CUDA.
//!
//! Nothing is run. The script that the command names is read, and those of its own modules that are
//! beside it; what an installed package imports is not looked at, nor what is imported by a name
//! that is put together while the program runs.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::iter;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use reuselens_io::{open_regular_file, text_of_bytes};

use crate::command::named_files;

/// Packages whose kernels run here, as far as they do: a module is one of these or in one of these.
const PACKAGES: [&str; 6] = ["cuda", "cupy", "numba.cuda", "numba_cuda", "pycuda", "warp"];
/// The only option of Python of more than a letter whose next argument belongs to it.
const LONG_WITH_VALUE: &str = "--check-hash-based-pycs";
/// Files that are opened for a command in all, and bytes of each.
const MOST_FILES: usize = 256;
const MOST_BYTES: u64 = 4 << 20;

/// Where a program in Python imports a package that uses CUDA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PythonUse {
    /// The file, or what the command gives in place of one.
    pub file: String,
    /// The line, from 1 on.
    pub line: usize,
    /// The module that it imports.
    pub module: String,
}

/// What of a program Python runs.
enum Start {
    File(PathBuf),
    /// A module of the folder.
    Module(String),
    /// The program itself.
    Text(Vec<u8>),
}

/// What a Python that a command runs is called: its script without the ending, the folder of a
/// `__main__.py`, or the module; `None` if the command is no Python, or gives it neither.
pub fn python_name(program: &Path, arguments: &[OsString]) -> Option<OsString> {
    if !is_python(program) {
        return None;
    }
    match start_of_python(arguments)? {
        Start::File(path) if path.ends_with("__main__.py") => {
            path.parent()?.file_name().map(OsStr::to_owned)
        }
        Start::File(path) => path.file_stem().map(OsStr::to_owned),
        Start::Module(name) => Some(name.into()),
        Start::Text(_) => None,
    }
}

/// Where a program in Python that a command runs imports a package that uses CUDA; `None` if it
/// does not, as far as can be seen. The command is a Python (`python3.12 -m package`), a script
/// whose first line names one, or another program that has either among its arguments. Files of
/// Python among the arguments count too: `python3 -m pytest test_kernels.py`; and those that a
/// shell script or a makefile names, if the command is one (`sh run.sh`).
///
/// Cost: up to 256 files are opened in all, those among them that turn out to be no scripts, and
/// 4 MiB are read of each. For each module that they import, three names of files are looked up for
/// each part of its name. What comes after that many files is not looked at.
pub fn python_use(program: &Path, arguments: &[OsString]) -> Option<PythonUse> {
    let here = Path::new(".");
    let mut search = FileSearch::default();
    let Some(start) = search.start(program, arguments) else {
        return search.in_any(named_files(program, arguments).into_iter());
    };
    let found = match start {
        Start::File(path) => search.in_files(vec![path]),
        Start::Module(name) => search.in_files(files_of(here, &name)),
        Start::Text(text) => {
            let (found, waiting) = look("-c".to_owned(), &text, here);
            found.or_else(|| search.in_files(waiting))
        }
    };
    found.or_else(|| search.in_any(arguments.iter().map(PathBuf::from)))
}

/// What was looked at for a command.
#[derive(Default)]
struct FileSearch {
    /// The files that were looked through, or wait for that.
    seen: BTreeSet<PathBuf>,
    /// How many were opened.
    opened: usize,
}

impl FileSearch {
    /// Where the Python of a command begins: the command itself, or one of its arguments, is a
    /// Python or a script for one.
    fn start(&mut self, program: &Path, arguments: &[OsString]) -> Option<Start> {
        let among = arguments.iter().enumerate();
        let among = among.map(|(index, path)| (Path::new(path), &arguments[index + 1..]));
        for (path, rest) in iter::once((program, arguments)).chain(among) {
            if is_python(path) {
                return start_of_python(rest);
            }
            if self.is_python_script(path) {
                return Some(Start::File(path.to_owned()));
            }
        }
        None
    }

    /// Looks through those of some files that are Python by their names.
    fn in_any(&mut self, mut files: impl Iterator<Item = PathBuf>) -> Option<PythonUse> {
        files.find_map(|path| {
            let is_python = path.extension().is_some_and(|extension| extension == "py");
            is_python.then(|| self.in_files(vec![path])).flatten()
        })
    }

    /// Whether a file is a script that its first line gives to a Python.
    fn is_python_script(&mut self, path: &Path) -> bool {
        let text = self.contents(path, 256);
        let line = text.as_deref().and_then(|text| text.strip_prefix(b"#!"));
        let line = line.and_then(|text| text.split(|&byte| byte == b'\n').next());
        line.is_some_and(|line| {
            let mut words = line.split(u8::is_ascii_whitespace);
            words.any(|word| is_python(Path::new(OsStr::from_bytes(word))))
        })
    }

    /// Looks through files, and those of their own modules.
    fn in_files(&mut self, files: Vec<PathBuf>) -> Option<PythonUse> {
        // Modules are found from the folder of the script on, wherever the one is that imports
        // them.
        let folder = files.first()?.parent()?.to_owned();
        let mut waiting = VecDeque::new();
        self.add(files, &mut waiting);
        while let Some(path) = waiting.pop_front() {
            let Some(text) = self.contents(&path, MOST_BYTES) else {
                continue;
            };
            let (found, own) = look(path.display().to_string(), &text, &folder);
            if found.is_some() {
                return found;
            }
            self.add(own, &mut waiting);
        }
        None
    }

    /// Makes files that were not seen yet wait.
    fn add(&mut self, files: Vec<PathBuf>, waiting: &mut VecDeque<PathBuf>) {
        for path in files {
            if self.seen.len() < MOST_FILES && self.seen.insert(path.clone()) {
                waiting.push_back(path);
            }
        }
    }

    /// The first bytes of a file, unless too many were opened.
    fn contents(&mut self, path: &Path, most: u64) -> Option<Vec<u8>> {
        if self.opened == MOST_FILES {
            return None;
        }
        self.opened += 1;
        let (file, _) = open_regular_file(path).ok()?;
        let mut text = Vec::new();
        file.take(most).read_to_end(&mut text).ok()?;
        Some(text)
    }
}

/// Whether the name of a file is that of a Python: `python`, `python3`, `python3.12`.
fn is_python(path: &Path) -> bool {
    let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
    let version = name.strip_prefix(b"python");
    version.is_some_and(|version| {
        let mut version = version.iter();
        version.all(|byte| byte.is_ascii_digit() || *byte == b'.')
    })
}

/// What a Python with these arguments runs; `None` for one that reads its program from elsewhere.
fn start_of_python(arguments: &[OsString]) -> Option<Start> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.to_str().unwrap_or_default();
        if !text.starts_with('-') {
            let path = PathBuf::from(argument);
            let main = path.join("__main__.py");
            return Some(Start::File(if main.is_file() { main } else { path }));
        }
        if text == LONG_WITH_VALUE {
            arguments.next();
            continue;
        }
        // Letters may be one argument: `-Im module`, and the value may be in it too: `-mmodule`.
        let Some(letters) = text.strip_prefix('-').filter(|it| !it.starts_with('-')) else {
            continue;
        };
        let Some(at) = letters.find(['c', 'm', 'W', 'X']) else {
            continue;
        };
        let value = match &letters[at + 1..] {
            "" => arguments.next()?.clone(),
            value => OsString::from(value),
        };
        match letters.as_bytes()[at] {
            b'c' => return Some(Start::Text(value.as_bytes().to_vec())),
            b'm' => return Some(Start::Module(value.to_str()?.to_owned())),
            // The value is of a warning or of the implementation: `-Wignore::X`, `-X dev`.
            _ => {}
        }
    }
    None
}

/// The first import of a package that uses CUDA in a text, and the files of the program's own
/// modules in a folder that the text imports.
fn look(file: String, text: &[u8], folder: &Path) -> (Option<PythonUse>, Vec<PathBuf>) {
    let mut own = Vec::new();
    for (line, module) in imports(&text_of_bytes(text)) {
        let files = files_of(folder, &module);
        if !files.is_empty() {
            own.extend(files);
        } else if uses_cuda(&module) {
            return (Some(PythonUse { file, line, module }), own);
        }
    }
    (None, own)
}

fn uses_cuda(module: &str) -> bool {
    PACKAGES.iter().any(|package| {
        let rest = module.strip_prefix(package);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// The files of a module in a folder: its own, or as much of the way to it as there is.
fn files_of(folder: &Path, module: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut at = folder.to_owned();
    for name in module.split('.') {
        let file = at.join(format!("{name}.py"));
        at.push(name);
        let package = [at.join("__init__.py"), at.join("__main__.py"), file];
        files.extend(package.into_iter().filter(|path| path.is_file()));
    }
    files
}

/// The modules that a text imports, with the lines that do. Of `from a import b`, `b` may be a
/// module or not: it counts as one.
fn imports(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let text = without_strings(text);
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let mut statement = line.to_owned();
        // What is in brackets may go on for some lines.
        while statement.trim_start().starts_with("from ")
            && statement.contains('(')
            && !statement.contains(')')
            && let Some((_, more)) = lines.next()
        {
            statement.push(' ');
            statement.push_str(more);
        }
        for statement in statement.split(';') {
            let modules = modules_of(statement.trim());
            found.extend(modules.into_iter().map(|module| (index + 1, module)));
        }
    }
    found
}

/// The text with nothing in its strings and without its comments, in the same lines: an import in a
/// docstring is none.
fn without_strings(text: &str) -> String {
    let mut left = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let end = match letter {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '\'' | '"' => {
                let quote = &rest[..1];
                let long = quote.repeat(3);
                let quotes = if rest.starts_with(&long) {
                    &long
                } else {
                    quote
                };
                end_of_string(rest, quotes)
            }
            _ => {
                left.push(letter);
                rest = &rest[letter.len_utf8()..];
                continue;
            }
        };
        let lines = rest[..end].matches('\n').count();
        left.push_str(&"\n".repeat(lines));
        rest = &rest[end..];
    }
    left
}

/// Where a string that begins a text with these quotes ends; of one in single quotes at the end of
/// its line at the latest.
fn end_of_string(text: &str, quotes: &str) -> usize {
    let mut at = quotes.len();
    while let Some(letter) = text[at..].chars().next() {
        if text[at..].starts_with(quotes) {
            return at + quotes.len();
        }
        if letter == '\n' && quotes.len() == 1 {
            return at;
        }
        at += letter.len_utf8();
        if letter == '\\' {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    at
}

/// The modules that a statement imports.
fn modules_of(statement: &str) -> Vec<String> {
    // `try: import cupy` on one line.
    let statement = match statement.split_once(':') {
        Some((_, rest)) if statement.starts_with("try") => rest.trim(),
        _ => statement,
    };
    let names = |list: &str| -> Vec<String> {
        let list = list.trim_matches(|c: char| c.is_whitespace() || c == '(' || c == ')');
        let names = list.split(',').map(|name| {
            let name = name.split_whitespace().next().unwrap_or_default();
            name.trim_end_matches('\\').to_owned()
        });
        names.filter(|name| !name.is_empty()).collect()
    };
    if let Some(list) = statement.strip_prefix("import ") {
        return names(list);
    }
    let from = statement.strip_prefix("from ");
    let Some((package, list)) = from.and_then(|from| from.split_once(" import ")) else {
        return Vec::new();
    };
    // A dot stands for the package that the file is in, which is beside it.
    let package = package.trim().trim_start_matches('.');
    let within = |name: String| match package {
        "" => name,
        package => format!("{package}.{name}"),
    };
    let mut modules: Vec<String> = names(list).into_iter().map(within).collect();
    if modules.is_empty() && !package.is_empty() {
        modules.push(package.to_owned());
    }
    modules
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    fn modules(text: &str) -> Vec<String> {
        let found = imports(text).into_iter();
        found
            .map(|(line, module)| format!("{line} {module}"))
            .collect()
    }

    #[test]
    fn imports_of_all_forms_are_found_with_their_lines() {
        let text = "import os, numba.cuda as c  # import no\n\
            from numba import cuda\n    from cuda.core import (Device,\n  Stream)\n\
            try: import cupy\nimport a; import b\nfrom . import own\nfrom .x import y\n\
            x = 'import z'\nfrom q import *\n\
            \"\"\"one\nimport s\n'\"\n\"\"\"\ny = 'a\\'; import t'\nimport u\n\
            z = 'no end\nimport v # 'import w'\n";
        assert_eq!(
            modules(text),
            [
                "1 os",
                "1 numba.cuda",
                "2 numba.cuda",
                "3 cuda.core.Device",
                "3 cuda.core.Stream",
                "5 cupy",
                "6 a",
                "6 b",
                "7 own",
                "8 x.y",
                "10 q.*",
                "16 u",
                "18 v"
            ]
        );
    }

    #[test]
    fn arguments_of_python_that_begin_its_program_are_found() {
        let found = |arguments: &[&str]| match start_of_python(&words(arguments)) {
            None => "nothing".to_owned(),
            Some(Start::File(path)) => format!("file {}", path.display()),
            Some(Start::Module(name)) => format!("module {name}"),
            Some(Start::Text(text)) => format!("text {}", text_of_bytes(&text)),
        };
        assert_eq!(found(&["x.py", "-m", "y"]), "file x.py");
        assert_eq!(found(&["-X", "dev", "-u", "x.py"]), "file x.py");
        assert_eq!(found(&["-Im", "a.b", "x"]), "module a.b");
        assert_eq!(found(&["-Wignore::cmd", "x.py"]), "file x.py");
        assert_eq!(found(&["-Ximporttime", "-uW", "once", "x.py"]), "file x.py");
        assert_eq!(
            found(&["--check-hash-based-pycs", "always", "x.py"]),
            "file x.py"
        );
        assert_eq!(found(&["-c", "import cupy"]), "text import cupy");
        assert_eq!(found(&["-cimport cupy"]), "text import cupy");
        assert_eq!(found(&["--version"]), "nothing");
        assert_eq!(found(&[]), "nothing");
    }

    #[test]
    fn programs_that_import_cuda_are_told_from_those_that_do_not() {
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
        write("kernels.py", "import numpy\nfrom numba import cuda\n");
        write("main.py", "import kernels\nimport main\n");
        write(
            "plain.py",
            "import numpy, warpx, cudax\nfrom numba import njit\n",
        );
        write("tool", "#!/usr/bin/env python3\nimport cupy\n");
        write("warp.py", "");
        write("own.py", "import warp\n");
        let use_of =
            |program: &str, arguments: &[&str]| python_use(Path::new(program), &words(arguments));
        let text = |name: &str| path(name).to_str().unwrap().to_owned();
        let found = use_of("/usr/bin/python3.11", &[&text("main.py")]).unwrap();
        let expected = (text("kernels.py"), 2, "numba.cuda".to_owned());
        assert_eq!((found.file, found.line, found.module), expected);
        assert_eq!(use_of("python3", &[&text("plain.py")]), None);
        // A module of the program itself that has the name of a package.
        assert_eq!(use_of("python3", &[&text("own.py")]), None);
        assert_eq!(use_of(&text("tool"), &[]).unwrap().module, "cupy");
        let starter = use_of("timeout", &["5", "python3", &text("main.py")]);
        assert_eq!(starter.unwrap().line, 2);
        let tests = use_of("python3", &["-m", "pytest", "-q", &text("kernels.py")]);
        assert_eq!(tests.unwrap().module, "numba.cuda");
        assert_eq!(use_of("cat", &[&text("main.py")]), None);
        assert_eq!(
            use_of("python3", &["-c", "import cuda.core"]).unwrap().file,
            "-c"
        );
        assert_eq!(use_of("python3", &["/nonexistent.py"]), None);
        // A script of a shell that names one, and one that names another.
        write(
            "run.sh",
            &format!("set -e\npython3 '{}' 5\n", text("main.py")),
        );
        write("plain.sh", &format!("python3 {}\n", text("plain.py")));
        assert_eq!(use_of("sh", &[&text("run.sh")]).unwrap().line, 2);
        assert_eq!(use_of(&text("run.sh"), &[]).unwrap().line, 2);
        assert_eq!(use_of("sh", &[&text("plain.sh")]), None);
        assert_eq!(use_of("cat", &[&text("run.sh")]), None);
    }

    #[test]
    fn python_is_called_by_what_it_runs() {
        let folder = TempDir::new().unwrap();
        let package = folder.path().join("package");
        std::fs::create_dir(&package).unwrap();
        std::fs::write(package.join("__main__.py"), "").unwrap();
        let package = package.to_str().unwrap();
        for (program, arguments, expected) in [
            (
                "/usr/bin/python3",
                &["-u", "a/kernels.py", "b.py"][..],
                Some("kernels"),
            ),
            ("python", &["-m", "pack.tool", "x"], Some("pack.tool")),
            ("python3.12", &[package], Some("package")),
            ("python3", &["-c", "import cupy"], None),
            ("python3", &[], None),
            ("./kernels.py", &["x"], None),
        ] {
            let found = python_name(Path::new(program), &words(arguments));
            assert_eq!(
                found.as_deref(),
                expected.map(OsStr::new),
                "{program} {arguments:?}"
            );
        }
    }

    #[test]
    fn long_commands_and_many_files_are_looked_at_up_to_a_bound() {
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name);
        let main: String = (0..2 * MOST_FILES)
            .map(|index| format!("import m{index}\n"))
            .collect();
        std::fs::write(path("main.py"), main).unwrap();
        for index in 0..2 * MOST_FILES {
            std::fs::write(path(&format!("m{index}.py")), "").unwrap();
        }
        let use_of = |arguments: &[OsString]| python_use(Path::new("starter"), arguments);
        let main = path("main.py").into_os_string();
        let command = ["python3".into(), main.clone()];
        let cuda_in = |index: usize, text: &str| {
            std::fs::write(path(&format!("m{index}.py")), text).unwrap();
        };
        cuda_in(MOST_FILES, "import cupy");
        assert_eq!(use_of(&command), None);
        cuda_in(10, "import cupy");
        assert_eq!(use_of(&command).unwrap().module, "cupy");
        // Each argument may be the Python.
        let mut many = vec![OsString::from("none"); 200_000];
        assert_eq!(use_of(&many), None);
        many.extend(["python3".into(), "-cimport cupy".into()]);
        assert_eq!(use_of(&many).unwrap().file, "-c");
    }
}
