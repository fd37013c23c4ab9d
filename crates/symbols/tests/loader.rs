//! Names from real files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSymbol};
use reuselens_attribute::SymbolSource;
use reuselens_io::{text_of, text_of_bytes};
use reuselens_symbols::Loader;
use reuselens_testing::has;
use reuselens_trace::Module;
use reuselens_units::Bytes;

const PROGRAM: &str = "\
struct node { struct node *next; long value; };
static double table[4][64];
struct node pool[10];
static int count;
__thread int own;
static inline __attribute__((always_inline)) double twice(double x) {
    return count + 2 * x;
}
__attribute__((noinline)) double use(int i) {
    return twice(table[1][i]) + pool[i].value;
}
int main(int argc, char **argv) {
    static long calls[3];
    calls[argc % 3]++;
    table[argc % 4][0] = argc;
    count += argc;
    return (int)use(argc) + own + (int)calls[0];
}
";

/// The program, built with these flags; `None` (and a word about it) without a C compiler.
fn build(directory: &Path, flags: &[&str]) -> Option<PathBuf> {
    if !has("cc") {
        return None;
    }
    let (source, binary) = (directory.join("small.c"), directory.join("small"));
    std::fs::write(&source, PROGRAM).unwrap();
    let mut command = Command::new("cc");
    let command = command.args(flags).args(["-O1", "-o"]).arg(&binary);
    assert!(
        command.arg(&source).status().unwrap().success(),
        "cc {flags:?}"
    );
    Some(binary)
}

fn module(path: &Path) -> Module {
    Module {
        path: path.to_str().unwrap().into(),
        ..Module::default()
    }
}

/// The first address and the size of a symbol.
fn symbol(path: &Path, name: &str) -> (u64, u64) {
    let bytes = std::fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let found = file
        .symbols()
        .find(|symbol| symbol.name() == Ok(name))
        .unwrap();
    (found.address(), found.size())
}

#[test]
fn a_c_program_names_its_statics_lines_and_inlined_calls() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = build(directory.path(), &["-g"]) else {
        return;
    };
    let (module, mut loader) = (module(&binary), Loader::new());
    let statics = loader.statics(&module);
    let mut elements = |name: &str| {
        let found = statics.iter().find(|symbol| symbol.name.starts_with(name));
        let found = found.unwrap_or_else(|| panic!("{name} in {statics:?}"));
        let variable = loader.variable(&module, found.low);
        assert!(variable.file.ends_with("small.c"), "{variable:?}");
        (found.high - found.low, variable.element_bytes)
    };
    assert_eq!(elements("table"), (4 * 64 * 8, 8));
    assert_eq!(elements("pool"), (160, 16));
    assert_eq!(elements("count"), (4, 4));
    assert_eq!(elements("calls"), (24, 8), "static in a function");
    assert!(
        !statics.iter().any(|symbol| symbol.name == "own"),
        "thread-local"
    );

    let (low, size) = symbol(&binary, "use");
    let all: Vec<_> = (low..low + size)
        .map(|address| loader.frames(&module, address))
        .collect();
    assert!(
        all.iter()
            .all(|frames| frames.last().is_some_and(|frame| frame.function == "use"))
    );
    let inlined = all
        .iter()
        .find(|frames| frames.len() == 2)
        .expect("a call that was inlined");
    assert_eq!(
        (inlined[0].function.as_str(), inlined[0].line),
        ("twice", 7)
    );
    assert_eq!(inlined[1].line, 10);
    assert!(inlined[0].file.ends_with("small.c"));
    let function = loader.function(&module, low + size / 2).unwrap();
    assert_eq!(function.name, "use");
    assert!(loader.warnings().is_empty());
}

/// Whichever way it is read, and also if the file is gone before that has ended.
#[test]
fn a_file_that_is_read_ahead_has_the_same_names() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = build(directory.path(), &["-g"]) else {
        return;
    };
    let module = module(&binary);
    let (low, size) = symbol(&binary, "use");
    let names = |loader: &mut Loader| {
        let statics = loader.statics(&module);
        let lows = statics.iter().map(|symbol| symbol.low);
        let variables: Vec<_> = lows.map(|low| loader.variable(&module, low)).collect();
        let code = low..low + size;
        let frames: Vec<_> = code.map(|place| loader.frames(&module, place)).collect();
        (variables, frames, loader.function(&module, low))
    };
    let expected = names(&mut Loader::new());
    assert!(
        expected
            .0
            .iter()
            .any(|variable| variable.element_bytes == 16)
    );
    assert_eq!(
        names(&mut Loader::reading_ahead(true, Bytes(64 << 20))),
        expected
    );
    let mut loader = Loader::reading_ahead(true, Bytes(64 << 20));
    loader.statics(&module);
    std::fs::remove_file(&binary).unwrap();
    assert_eq!(names(&mut loader), expected);
}

#[test]
fn a_program_that_is_gone_or_another_names_its_lines_if_it_was_there_when_it_ran() {
    for replaced in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let Some(binary) = build(directory.path(), &["-g"]) else {
            return;
        };
        let (module, mut loader) = (module(&binary), Loader::new());
        let (low, _) = symbol(&binary, "use");
        let table = loader.statics(&module);
        let table = table.iter().find(|symbol| symbol.name == "table").unwrap();
        std::fs::remove_file(&binary).unwrap();
        if replaced {
            std::fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
        }
        let frames = loader.frames(&module, low + 2);
        let last = frames.last().unwrap();
        assert_eq!(last.function, "use");
        assert!(last.file.ends_with("small.c") && last.line > 0, "{last:?}");
        assert!(
            loader
                .variable(&module, table.low)
                .file
                .ends_with("small.c")
        );
    }
}

#[test]
fn without_debug_information_there_are_symbols() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = build(directory.path(), &["-g0"]) else {
        return;
    };
    let (module, mut loader) = (module(&binary), Loader::new());
    let (low, _) = symbol(&binary, "use");
    let frames = loader.frames(&module, low + 2);
    assert_eq!(
        (frames.len(), frames[0].function.as_str(), frames[0].line),
        (1, "use+0x2", 0)
    );
    assert_eq!(loader.function(&module, low + 2).unwrap().name, "use");
    let table = loader
        .statics(&module)
        .into_iter()
        .find(|symbol| symbol.name == "table")
        .unwrap();
    assert_eq!(loader.variable(&module, table.low), Default::default());
}

/// Debug symbols in a file of their own, as packages have them.
#[test]
fn loader_reads_debug_files_beside_stripped_programs() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = build(directory.path(), &["-g", "-Wl,--build-id"]) else {
        return;
    };
    let (use_, _) = symbol(&binary, "use");
    let whole = Loader::new().frames(&module(&binary), use_ + 2);
    let run = |tool: &str, words: &[&str]| {
        let done = Command::new(tool)
            .args(words)
            .current_dir(directory.path())
            .status();
        done.is_ok_and(|status| status.success())
    };
    std::fs::create_dir(directory.path().join(".debug")).unwrap();
    let separate = ".debug/small.debug";
    let link = format!("--add-gnu-debuglink={separate}");
    if !has("objcopy") {
        return;
    }
    assert!(run("objcopy", &["--only-keep-debug", "small", separate]));
    assert!(run("strip", &["small"]) && run("objcopy", &[&link, "small"]));
    let mut loader = Loader::new();
    assert_eq!(loader.frames(&module(&binary), use_ + 2), whole);
    assert!(whole.iter().any(|frame| frame.line > 0), "{whole:?}");
    let statics = loader.statics(&module(&binary));
    let table = statics
        .iter()
        .find(|symbol| symbol.name == "table")
        .unwrap();
    assert!(loader.variable(&module(&binary), table.low).element_bytes > 0);
    // One of another build says nothing, and without any the sections do.
    let other = directory.path().join(separate);
    std::fs::write(&other, "no program").unwrap();
    let mut loader = Loader::new();
    let statics = loader.statics(&module(&binary));
    let around = |symbol: &&reuselens_attribute::StaticSymbol| {
        (symbol.low..symbol.high).contains(&table.low)
    };
    let around = statics.iter().find(around).unwrap();
    assert!(around.name.starts_with("unnamed "), "{around:?}");
    assert!(
        loader
            .function(&module(&binary), use_ + 2)
            .is_none_or(|found| found.name != "use")
    );
}

/// A trace may name any file: pipes and devices without end are not waited for.
#[test]
fn only_regular_files_that_are_programs_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    // Sparse: to read all of it would take its bytes as memory.
    let large = folder.path().join("large");
    let file = std::fs::File::create(&large).unwrap();
    file.set_len(1 << 40).unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "root:x:0:0\n").unwrap();
    for (path, why) in [
        (pipe.as_path(), "no regular file"),
        (Path::new("/dev/zero"), "no regular file"),
        (folder.path(), "no regular file"),
        (&large, "more than 4 GiB"),
        (&text, "no program or library"),
    ] {
        let mut loader = Loader::new();
        assert!(loader.statics(&module(path)).is_empty());
        assert!(loader.frames(&module(path), 0x1000).is_empty());
        let warnings = loader.warnings();
        let [warning] = &warnings[..] else {
            panic!("{warnings:?}")
        };
        assert_eq!(warning.code, "module-not-read");
        let named = path.to_str().unwrap();
        assert!(
            warning.message.contains(why) && warning.message.contains(named),
            "{warning:?}"
        );
    }
}

#[test]
fn files_that_name_nothing_share_one_warning() {
    let folder = tempfile::tempdir().unwrap();
    let mut loader = Loader::new();
    for name in ["a.so", "b.so", "c.so", "d.so"] {
        loader.statics(&module(&folder.path().join(name)));
    }
    let warnings = loader.warnings();
    let [warning] = &warnings[..] else {
        panic!("{warnings:?}")
    };
    assert_eq!(warning.code, "module-not-read");
    let message = &warning.message;
    assert!(
        message.starts_with("a.so, b.so, c.so and 1 more name nothing: cannot read"),
        "{message}"
    );
}

#[test]
fn another_build_of_the_file_names_nothing_and_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = build(directory.path(), &["-g", "-Wl,--build-id"]) else {
        return;
    };
    let mut loader = Loader::new();
    let other = Module {
        build_id: vec![1, 2, 3],
        ..module(&binary)
    };
    assert!(loader.statics(&other).is_empty());
    assert!(loader.frames(&other, 0x1000).is_empty());
    let gone = module(&directory.path().join("gone"));
    assert_eq!(loader.function(&gone, 0), None);
    let garbage = directory.path().join("garbage");
    std::fs::write(&garbage, "no program").unwrap();
    assert_eq!(loader.variable(&module(&garbage), 0), Default::default());
    let messages: Vec<_> = loader
        .warnings()
        .into_iter()
        .map(|warning| warning.message)
        .collect();
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert!(
        messages[0].contains("changed since it was recorded"),
        "{}",
        messages[0]
    );
    assert!(messages[1].contains("cannot read"), "{}", messages[1]);
}

const FORTRAN_PROGRAM: &str = "\
module grid
  real(8) :: a(50, 50)
contains
  subroutine relax()
    a = a * 0.5d0
  end subroutine
end module
subroutine outside(x)
  real(8) :: x
  x = x + 1
end subroutine
program small
  use grid
  call relax()
  call outside(a(2, 2))
end program
";

/// A Fortran program, built; `None` (and a word about it) without a compiler.
fn build_fortran(directory: &Path, program: &str) -> Option<PathBuf> {
    if !has("gfortran") {
        return None;
    }
    let (source, binary) = (directory.join("grid.f90"), directory.join("grid"));
    std::fs::write(&source, program).unwrap();
    let mut command = Command::new("gfortran");
    let command = command.arg("-g").arg("-J").arg(directory);
    let status = command.arg("-o").arg(&binary).arg(&source).status();
    assert!(status.unwrap().success());
    Some(binary)
}

#[test]
fn fortran_names_are_those_of_the_source() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = build_fortran(directory.path(), FORTRAN_PROGRAM) else {
        return;
    };
    let (module, mut loader) = (module(&binary), Loader::new());
    for (name, shown) in [("__grid_MOD_relax", "grid::relax"), ("outside_", "outside")] {
        let (low, size) = symbol(&binary, name);
        assert_eq!(
            loader.function(&module, low + size / 2).unwrap().name,
            shown
        );
    }
    let (low, size) = symbol(&binary, "__grid_MOD_a");
    assert_eq!(
        (size, loader.variable(&module, low).element_bytes),
        (20_000, 8)
    );
    assert!(loader.variable(&module, low).file.ends_with("grid.f90"));
    let statics = loader.statics(&module);
    assert!(
        statics.iter().any(|symbol| symbol.name == "grid::a"),
        "{statics:?}"
    );
}

const COMMON_PROGRAM: &str = "
subroutine first
  double precision a(100), b(50), s
  common /grid/ a, b, s
  common /shared/ w(40)
  common x(10)
  a(1) = b(1) + s + w(3) + x(2)
end subroutine
program p
  double precision a(100), b(50), s
  common /grid/ a, b, s
  common /shared/ u(20), v(20)
  common x(10)
  b(2) = 1
  call first
  print *, a(1), u(3), v(3), x(2)
end program
";

/// Members of a block are objects, unless two units see different members in it.
#[test]
fn members_of_common_blocks_have_their_names() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = build_fortran(directory.path(), COMMON_PROGRAM) else {
        return;
    };
    let (module, mut loader) = (module(&binary), Loader::new());
    let statics = loader.statics(&module);
    let sizes: Vec<_> = [
        "/grid/ a", "/grid/ b", "/grid/ s", "// x", "shared_", "grid_",
    ]
    .iter()
    .map(|name| {
        let found = statics.iter().find(|symbol| symbol.name == *name);
        found.map(|symbol| symbol.high - symbol.low)
    })
    .collect();
    let bytes = [800, 400, 8, 40, 160].map(Some);
    assert_eq!(sizes, [&bytes[..], &[None]].concat(), "{statics:?}");
    let (low, _) = symbol(&binary, "grid_");
    assert_eq!(loader.variable(&module, low + 800).element_bytes, 8);
}

/// A table to find again.
static FIND_ME: [u64; 12] = [7; 12];

#[test]
fn this_test_finds_itself() {
    let path = std::env::current_exe().unwrap();
    let (module, mut loader) = (module(&path), Loader::new());
    let statics = loader.statics(&module);
    let found = statics
        .iter()
        .find(|symbol| symbol.name.ends_with("FIND_ME"));
    let found = found.unwrap_or_else(|| panic!("among {} statics", statics.len()));
    assert_eq!(
        found.high - found.low,
        std::mem::size_of_val(std::hint::black_box(&FIND_ME)) as u64
    );
    assert!(
        found.name.starts_with(concat!(module_path!(), "::")),
        "demangled: {}",
        found.name
    );
    let variable = loader.variable(&module, found.low);
    // An optimized build of this project says nothing of types and variables.
    if cfg!(debug_assertions) {
        assert_eq!(variable.element_bytes, 8);
        assert!(variable.file.ends_with("loader.rs"), "{}", variable.file);
    }

    let own = middle_of_this(&path);
    let function = loader.function(&module, own).unwrap();
    assert!(
        function.name.contains("middle_of_this"),
        "{}",
        function.name
    );
    let frames = loader.frames(&module, own);
    let outermost = frames.last().unwrap();
    assert!(
        outermost.file.ends_with("loader.rs") && outermost.line > 100,
        "{outermost:?}"
    );
}

/// An address in the middle of this very function.
#[inline(never)]
fn middle_of_this(path: &Path) -> u64 {
    let bytes = std::fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let own = |name: &str| name.contains("middle_of_this") && !name.contains("closure");
    let mut symbols = file.symbols().filter(|symbol| symbol.name().is_ok_and(own));
    let found = symbols.next().expect("this function");
    found.address() + found.size() / 2
}

/// What is before the distance of `main+0x1f`.
fn function_of(loader: &mut Loader, module: &Module, address: u64) -> String {
    let frames = loader.frames(module, address);
    let name = frames.last().map(|frame| frame.function.clone());
    let name = name.unwrap_or_default();
    name.split_once("+0x")
        .map_or(name.clone(), |(name, _)| name.to_owned())
}

#[test]
fn functions_without_lines_have_one_name_each() {
    let directory = tempfile::tempdir().unwrap();
    for flags in [&["-g0"][..], &["-g0", "-s"]] {
        let Some(binary) = build(directory.path(), flags) else {
            return;
        };
        let (module, mut loader) = (module(&binary), Loader::new());
        let functions = loader.functions_without_lines(&module);
        assert!(functions.len() > 2, "{flags:?}: {functions:?}");
        assert!(functions.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        for (low, high) in functions {
            let first = function_of(&mut loader, &module, low);
            for address in low..high {
                assert_eq!(
                    function_of(&mut loader, &module, address),
                    first,
                    "{address:#x}"
                );
            }
        }
    }
}

#[test]
fn no_function_is_without_lines_where_there_is_debug_information() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = build(directory.path(), &["-g"]) else {
        return;
    };
    let functions = Loader::new().functions_without_lines(&module(&binary));
    assert_eq!(functions, []);
}

/// Two sources that differ only in one letter, which stands for a byte that is no UTF-8, and a
/// header with a function that is inlined into both.
const LATIN_HEADER: &str = "\
static inline __attribute__((always_inline)) double twice(double x) { return 2 * x; }
";
const LATIN_SOURCE: &str = "\
#include \"latin.h\"
struct node_QQQ { struct node_QQQ *next; long value_QQQ; };
struct node_QQQ pool_QQQ[10];
double table_QQQ[64];
__attribute__((noinline)) double use_QQQ(int i) {
    return twice(table_QQQ[i]) + pool_QQQ[i % 10].value_QQQ;
}
";
const LATIN_MAIN: &str = "\
double use_AAA(int); double use_OOO(int);
int main(int argc, char **argv) { return (int)(use_AAA(argc) + use_OOO(argc)); }
";

/// The program of these sources: `AAA` and `OOO` in its names are three bytes 0xe4 and 0xf6, as
/// compilers write the letters of names and paths in Latin-1.
fn build_latin(directory: &Path, flags: &[&str]) -> Option<PathBuf> {
    if !has("cc") {
        return None;
    }
    std::fs::write(directory.join("latin.h"), LATIN_HEADER).unwrap();
    std::fs::write(directory.join("main.c"), LATIN_MAIN).unwrap();
    for letters in ["AAA", "OOO"] {
        let source = LATIN_SOURCE.replace("QQQ", letters);
        std::fs::write(directory.join(format!("{letters}.c")), source).unwrap();
    }
    let mut command = Command::new("cc");
    let command = command.current_dir(directory).args(flags);
    let command = command.args(["-O1", "-gz=none", "-o", "latin", "AAA.c", "OOO.c", "main.c"]);
    assert!(command.status().unwrap().success(), "cc {flags:?}");
    let binary = directory.join("latin");
    let mut bytes = std::fs::read(&binary).unwrap();
    for at in 0..bytes.len() - 3 {
        match &bytes[at..at + 3] {
            b"AAA" => bytes[at..at + 3].fill(0xe4),
            b"OOO" => bytes[at..at + 3].fill(0xf6),
            _ => {}
        }
    }
    std::fs::write(&binary, bytes).unwrap();
    Some(binary)
}

/// The texts of the two names of the program.
const LATIN_NAMES: [&str; 2] = ["\u{efe4}\u{efe4}\u{efe4}", "\u{eff6}\u{eff6}\u{eff6}"];

#[test]
fn names_that_differ_in_bytes_that_are_no_utf8_stay_different() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = build_latin(directory.path(), &["-g"]) else {
        return;
    };
    let (module, mut loader) = (module(&binary), Loader::new());
    let statics = loader.statics(&module);
    for letters in LATIN_NAMES {
        let low = |name: &str| {
            let wanted = name.replace("QQQ", letters);
            let found = statics.iter().find(|symbol| symbol.name == wanted);
            found
                .unwrap_or_else(|| panic!("{wanted:?} in {statics:?}"))
                .low
        };
        let file = format!("{letters}.c");
        let table = loader.variable(&module, low("table_QQQ"));
        assert_eq!((&table.file, table.element_bytes), (&file, 8));
        let pool = loader.variable(&module, low("pool_QQQ"));
        let layout = pool.layout.expect("a structure");
        assert_eq!(layout.name, format!("node_{letters}"));
        assert_eq!(layout.fields[1].name, format!("value_{letters}"));
    }
    let functions = code_of(&binary, b"use_");
    assert_eq!(functions.len(), LATIN_NAMES.len());
    for ((name, (low, high)), letters) in functions.into_iter().zip(LATIN_NAMES) {
        let expected = format!("use_{letters}");
        assert_eq!(name, expected);
        let mut inlined = 0;
        for address in low..high {
            let frames = loader.frames(&module, address);
            let last = frames.last().unwrap();
            assert_eq!(last.function, expected, "{address:#x}");
            assert!(last.file.ends_with(&format!("/{letters}.c")), "{last:?}");
            if frames.len() == 2 {
                assert_eq!(frames[0].function, "twice");
                assert!(frames[0].file.ends_with("/latin.h"), "{frames:?}");
                inlined += 1;
            }
        }
        assert!(inlined > 0, "a call that was inlined");
        let function = loader.function(&module, low).unwrap();
        assert_eq!((&function.name, &function.symbol), (&expected, &expected));
    }
}

#[test]
fn symbols_that_are_no_utf8_name_their_code() {
    let directory = tempfile::tempdir().unwrap();
    let Some(binary) = build_latin(directory.path(), &["-g0"]) else {
        return;
    };
    let (module, mut loader) = (module(&binary), Loader::new());
    let parts = loader.functions_without_lines(&module);
    let functions = code_of(&binary, b"use_");
    assert_eq!(functions.len(), LATIN_NAMES.len());
    for ((_, (low, high)), letters) in functions.into_iter().zip(LATIN_NAMES) {
        assert!(parts.contains(&(low, high)), "{parts:x?}");
        for address in low..high {
            let frames = loader.frames(&module, address);
            let expected = format!("use_{letters}+{:#x}", address - low);
            assert_eq!(frames[0].function, expected);
            let function = loader.function(&module, address).unwrap();
            assert_eq!(function.name, format!("use_{letters}"));
        }
    }
}

/// The functions of a file whose symbols begin so, in the order of their names.
fn code_of(path: &Path, start: &[u8]) -> Vec<(String, (u64, u64))> {
    let bytes = std::fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbols = file.symbols().filter_map(|symbol| {
        let name = symbol
            .name_bytes()
            .ok()
            .filter(|it| it.starts_with(start))?;
        let code = (symbol.address(), symbol.address() + symbol.size());
        Some((text_of_bytes(name).into_owned(), code))
    });
    let mut found: Vec<_> = symbols.collect();
    found.sort();
    found
}

#[test]
fn variables_have_types_whatever_the_path_of_their_program_is() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join(OsStr::from_bytes(b"h\xf6rt"));
    std::fs::create_dir(&folder).unwrap();
    let Some(binary) = build(&folder, &["-g"]) else {
        return;
    };
    let module = Module {
        path: text_of(&binary),
        ..Module::default()
    };
    let mut loader = Loader::new();
    let pool = loader.statics(&module);
    let pool = pool.iter().find(|symbol| symbol.name == "pool").unwrap();
    let variable = loader.variable(&module, pool.low);
    assert!(variable.file.ends_with("small.c"), "{variable:?}");
    assert_eq!(variable.layout.expect("a structure").name, "node");
    assert!(loader.warnings().is_empty());
}
