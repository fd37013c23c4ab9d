//! [`foreign_target`]: whether a compiler's arguments, or its name, ask for programs of another
//! processor or system than those that the run time is for.

use std::ffi::OsStr;
use std::path::Path;

/// Names that compilers end in after their target and a `-`, as in `aarch64-linux-gnu-gcc-13`.
const COMPILERS: [&str; 8] = [
    "gcc", "g++", "gfortran", "clang", "clang++", "flang", "cc", "c++",
];
/// First parts of the names of targets, as far as they are other processors.
const PROCESSORS: [&str; 23] = [
    "aarch64",
    "alpha",
    "arm",
    "avr",
    "hppa",
    "i386",
    "i486",
    "i586",
    "i686",
    "ia64",
    "loongarch",
    "m68k",
    "microblaze",
    "mips",
    "msp430",
    "nios2",
    "powerpc",
    "ppc",
    "riscv",
    "s390",
    "sparc",
    "wasm",
    "xtensa",
];
/// Parts of the names of targets for x86-64 that are other systems.
const SYSTEMS: [&str; 8] = [
    "mingw", "windows", "cygwin", "darwin", "apple", "android", "freebsd", "gnux32",
];
/// Options for programs of x86 processors that are not of 64 bits.
const NARROW: [&str; 3] = ["-m32", "-mx32", "-m16"];

/// The target of a compiler, as it names it, if the run time is not for that.
pub fn foreign_target<'a>(
    compiler: &OsStr,
    words: impl Iterator<Item = &'a OsStr>,
) -> Option<String> {
    let mut found = of_name(compiler);
    let mut is_target = false;
    for word in words {
        let text = word.to_string_lossy();
        let named = text.strip_prefix("--target=");
        let named = named.or_else(|| is_target.then_some(&*text));
        if let Some(target) = named {
            found = Some(target.to_owned());
        } else if NARROW.contains(&&*text) {
            found = Some(text.clone().into_owned());
        } else if text == "-m64" && found.as_deref().is_some_and(is_narrow) {
            found = None;
        }
        is_target = ["-target", "--target"].contains(&&*text);
    }
    found.filter(|target| is_foreign(target))
}

/// Whether a target is an x86 processor without its addresses of 64 bits.
fn is_narrow(target: &str) -> bool {
    NARROW.contains(&target) || (target.starts_with('i') && target.get(2..4) == Some("86"))
}

/// The target in a compiler's name.
fn of_name(compiler: &OsStr) -> Option<String> {
    let name = Path::new(compiler).file_name()?.to_string_lossy();
    let is_version = |part: &str| part.starts_with(|first: char| first.is_ascii_digit());
    let (start, last) = name.rsplit_once('-')?;
    let (target, compiler) = if is_version(last) {
        start.rsplit_once('-')?
    } else {
        (start, last)
    };
    COMPILERS.contains(&compiler).then(|| target.to_owned())
}

/// Whether a target is another processor or system than Linux on x86-64.
fn is_foreign(target: &str) -> bool {
    let processor = target.split('-').next().unwrap_or_default();
    NARROW.contains(&target)
        || PROCESSORS.iter().any(|name| processor.starts_with(name))
        || SYSTEMS.iter().any(|system| target.contains(system))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(line: &str) -> Option<String> {
        let mut words = line.split_whitespace().map(OsStr::new);
        let compiler = words.next().unwrap();
        foreign_target(compiler, words)
    }

    #[test]
    fn targets_of_other_processors_and_systems_are_found() {
        for (line, expected) in [
            ("aarch64-linux-gnu-gcc -O2 a.c", "aarch64-linux-gnu"),
            ("/opt/bin/arm-none-eabi-g++-12 a.cc", "arm-none-eabi"),
            ("riscv64-unknown-elf-gfortran a.f", "riscv64-unknown-elf"),
            ("x86_64-w64-mingw32-gcc a.c", "x86_64-w64-mingw32"),
            ("i686-linux-gnu-gcc a.c", "i686-linux-gnu"),
            ("clang --target=aarch64-linux-gnu a.c", "aarch64-linux-gnu"),
            ("clang -target armv7a-none-eabi a.c", "armv7a-none-eabi"),
            ("clang-19 --target=wasm32-wasi a.c", "wasm32-wasi"),
            ("gcc -m32 a.c", "-m32"),
            ("gcc -m64 -m32 a.c", "-m32"),
            ("x86_64-w64-mingw32-gcc -m64 a.c", "x86_64-w64-mingw32"),
            ("powerpc64-linux-gnu-gcc -m64 a.c", "powerpc64-linux-gnu"),
            ("clang --target=aarch64-apple -m64 a.c", "aarch64-apple"),
        ] {
            assert_eq!(target(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn native_compilers_have_no_foreign_target() {
        for line in [
            "gcc a.c",
            "gcc-13 -m32 -m64 a.c",
            "i686-linux-gnu-gcc -m64 a.c",
            "x86_64-linux-gnu-gcc-13 a.c",
            "clang --target=x86_64-pc-linux-gnu a.c",
            "clang -target x86_64-unknown-linux-musl a.c",
            "ccache-gcc a.c",
            "my-arm-gcc a.c",
            "mpicc a.c",
            "gcc -o -m32.o a.c",
        ] {
            assert_eq!(target(line), None, "{line}");
        }
    }
}
