//! Programs that tests compile.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use reuselens_testing::has;
use reuselens_trace::Module;

/// What builds programs in C++, without optimisation and with it.
pub const CPP_COMPILERS: [&str; 4] = [
    "g++ -O0 -g",
    "g++ -O2 -g",
    "clang++ -O0 -g",
    "clang++ -O2 -g",
];

/// A program of this source, built by a compiler with options; `None` without the compiler.
pub fn build(folder: &Path, source: (&str, &str), compiler: &[&str]) -> Option<PathBuf> {
    let [tool, options @ ..] = compiler else {
        return None;
    };
    if !has(tool) {
        return None;
    }
    let (name, content) = source;
    let (source, binary) = (folder.join(name), folder.join("program"));
    std::fs::write(&source, content).unwrap();
    let mut command = Command::new(tool);
    command.current_dir(folder).args(options).arg("-o");
    let status = command.arg(&binary).arg(&source).status().unwrap();
    assert!(status.success(), "{compiler:?}");
    Some(binary)
}

/// Builds a source by each of these compilers that there is, and calls a check with the program and
/// the compiler. Compilers are commands with options, `gcc -O2 -g`.
pub fn with_each(source: (&str, &str), compilers: &[&str], check: impl Fn(&Path, &str)) {
    for compiler in compilers {
        let folder = tempfile::tempdir().unwrap();
        let words: Vec<&str> = compiler.split(' ').collect();
        if let Some(binary) = build(folder.path(), source, &words) {
            check(&binary, compiler);
        }
    }
}

/// Calls a check with 200 versions of a program: up to 8 bytes of some of its sections are random.
/// Each version is written in the place of the program.
pub fn with_each_damage(binary: &Path, sections: &[&str], mut check: impl FnMut()) {
    let whole = std::fs::read(binary).unwrap();
    let places: Vec<(u64, u64)> = sections.iter().map(|name| section(&whole, name)).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for case in 0..200 {
        let mut bytes = whole.clone();
        for _ in 0..=case % 8 {
            let (start, length) = places[random(places.len() as u64) as usize];
            bytes[(start + random(length)) as usize] = random(256) as u8;
        }
        std::fs::write(binary, bytes).unwrap();
        check();
    }
}

/// The module of a file.
pub fn module(path: &Path) -> Module {
    Module {
        path: path.to_str().unwrap().into(),
        ..Module::default()
    }
}

/// The bytes of the functions whose symbols contain a name.
pub fn code(path: &Path, name: &str) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbols = file.symbols().filter(|symbol| {
        symbol.kind() == SymbolKind::Text && symbol.name().is_ok_and(|it| it.contains(name))
    });
    let code = symbols.flat_map(|symbol| symbol.address()..symbol.address() + symbol.size());
    code.collect()
}

/// Where a section is in a file: its place, and its bytes.
pub fn section(file: &[u8], name: &str) -> (u64, u64) {
    let file = object::File::parse(file).unwrap();
    let section = file.section_by_name(name).unwrap();
    section.file_range().unwrap()
}
