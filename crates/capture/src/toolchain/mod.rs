//! `reuselens cc`, `c++`, `fortran`: runs the system's compiler ([`compile`]) with added flags, by
//! which the compiled program records its accesses.
//!
//! Objects are compiled with `-fsanitize=thread`, or, with `--llvm`, by LLVM 19 with our own pass.
//! Programs are linked with our run time instead of the compiler's. All other arguments are passed
//! on unchanged, so the commands can be used as `CC`, `CXX` and `FC` of existing builds.

mod arguments;
mod files;
mod llvm;
mod response;
mod rust;
mod target;
mod wrapped;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::CaptureError;
use arguments::{Arguments, CompilerPhase};
pub use files::RunTimeFiles;
use reuselens_io::command_error;
pub use rust::rust_flags;
use target::foreign_target;
use wrapped::wrap;

/// The language, and so the compiler, of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C, `gcc`.
    C,
    /// C++, `g++`.
    Cxx,
    /// Fortran, `gfortran`.
    Fortran,
}

impl Language {
    /// The compiler used unless another is named.
    pub const fn default_compiler(self) -> &'static str {
        match self {
            Language::C => "gcc",
            Language::Cxx => "g++",
            Language::Fortran => "gfortran",
        }
    }

    /// Environment variable that names another compiler.
    pub const fn variable(self) -> &'static str {
        match self {
            Language::C => "REUSELENS_CC",
            Language::Cxx => "REUSELENS_CXX",
            Language::Fortran => "REUSELENS_FC",
        }
    }

    /// The compiler that [`compile`] runs unless its arguments name another or ask for LLVM: the
    /// one that [`Self::variable`] names, else [`Self::default_compiler`].
    pub fn usual_compiler(self) -> OsString {
        std::env::var_os(self.variable()).unwrap_or_else(|| self.default_compiler().into())
    }
}

/// Runs the compiler as asked and waits for it.
///
/// # Errors
/// If the compiler cannot be run, our files cannot be written, or the arguments ask for something
/// that cannot be measured.
pub fn compile(language: Language, arguments: &[OsString]) -> Result<ExitStatus, CaptureError> {
    compile_announcing_pass(language, arguments, || ())
}

/// As [`compile`]; calls `before_pass` before the LLVM pass is compiled, which happens once and
/// takes a while.
///
/// # Errors
/// As [`compile`].
pub fn compile_announcing_pass(
    language: Language,
    arguments: &[OsString],
    before_pass: impl FnOnce(),
) -> Result<ExitStatus, CaptureError> {
    let files = RunTimeFiles::install()?;
    let arguments = Arguments::read(arguments);
    let mut command = command_of(language, &arguments, &files)?;
    if arguments.llvm {
        if arguments.compiler.is_some() {
            llvm::check(command.get_program())?;
        }
        if arguments.has_sources
            && arguments.phase != CompilerPhase::Neither
            && !arguments.names_only
        {
            llvm::install(&files, before_pass)?;
        }
    }
    command.status().map_err(|source| {
        let compiler = command.get_program().to_owned();
        let source = command_error(&compiler, source);
        if arguments.llvm && source.kind() == io::ErrorKind::NotFound {
            let reason = format!("there is no {}", compiler.display());
            return CaptureError::Llvm { reason };
        }
        CaptureError::Compiler { compiler, source }
    })
}

/// The command that [`compile`] runs.
///
/// # Errors
/// If the arguments ask for something that cannot be measured.
pub fn command(
    language: Language,
    arguments: &[OsString],
    files: &RunTimeFiles,
) -> Result<Command, CaptureError> {
    command_of(language, &Arguments::read(arguments), files)
}

fn command_of(
    language: Language,
    arguments: &Arguments,
    files: &RunTimeFiles,
) -> Result<Command, CaptureError> {
    let compiler = compiler(language, arguments);
    let clang = is_clang(&compiler);
    if arguments.phase != CompilerPhase::Neither
        && let Some(target) = foreign_target(&compiler, arguments.words())
    {
        return Err(CaptureError::OtherTarget { compiler, target });
    }
    if language == Language::Fortran && clang && !arguments.llvm {
        return Err(CaptureError::Unsupported(
            "flang has no -fsanitize=thread; use gfortran (the default of `reuselens fortran`), or --llvm",
        ));
    }
    let mut command = Command::new(&compiler);
    command.args(&arguments.passed_on);
    if arguments.phase == CompilerPhase::Neither {
        return Ok(command);
    }
    if arguments.has_sources {
        compile_flags(&mut command, language, arguments, clang, files);
    }
    if arguments.phase == CompilerPhase::Link {
        link_flags(&mut command, arguments, clang, files)?;
    }
    Ok(command)
}

/// The compiler that the arguments name, or the usual one. With `--llvm` the environment variables
/// are ignored, for they name other compilers than LLVM's.
fn compiler(language: Language, arguments: &Arguments) -> OsString {
    let named = arguments.compiler.clone();
    if arguments.llvm {
        return named.unwrap_or_else(|| language.llvm_compiler().into());
    }
    named.unwrap_or_else(|| language.usual_compiler())
}

fn is_clang(compiler: &OsStr) -> bool {
    Path::new(compiler).file_name().is_some_and(|name| {
        ["clang", "flang"]
            .iter()
            .any(|c| name.to_string_lossy().contains(c))
    })
}

fn compile_flags(
    command: &mut Command,
    language: Language,
    arguments: &Arguments,
    clang: bool,
    files: &RunTimeFiles,
) {
    if !arguments.has_debug_level {
        command.arg("-g");
    }
    let include = if language == Language::Fortran {
        "-I"
    } else {
        "-isystem"
    };
    command.arg(include).arg(files.include());
    if arguments.names_only {
        return;
    }
    if arguments.llvm {
        let mut plugin = OsString::from("-fpass-plugin=");
        plugin.push(files.pass());
        command.arg(plugin);
        if arguments.basic_blocks {
            command.env("REUSELENS_BASIC_BLOCKS", "1");
        }
        return;
    }
    command.arg("-fsanitize=thread");
    if clang {
        // Without this clang leaves out reads that are followed by a write of the same place.
        command.args(["-mllvm", "-tsan-instrument-read-before-write"]);
        return;
    }
    command.args(GCC_KEEPS_RANGES_AS_CALLS);
    if language != Language::Fortran {
        // gcc warns that its own run time cannot model fences; ours executes them.
        command.args(["-Wno-tsan", "-fno-builtin-memcpy", "-fno-builtin-memmove"]);
        command.arg("-fno-builtin-memset");
    }
}

/// gcc expands copies of known size without a hook, turns loops into such copies, and calls
/// `memcpy` for large assignments that it has called a hook for already. With these flags calls
/// stay calls, loops stay loops, and assignments never become calls.
const GCC_KEEPS_RANGES_AS_CALLS: [&str; 3] = [
    "-fno-tree-loop-distribute-patterns",
    "-mmemcpy-strategy=rep_8byte:-1:noalign",
    "-mmemset-strategy=rep_8byte:-1:noalign",
];

fn link_flags(
    command: &mut Command,
    arguments: &Arguments,
    clang: bool,
    files: &RunTimeFiles,
) -> Result<(), CaptureError> {
    if arguments.is_static {
        return Err(CaptureError::Unsupported(
            "a static program cannot be measured: the allocation functions of a static libc cannot be \
             replaced; leave -static out",
        ));
    }
    if !arguments.names_only && !arguments.llvm {
        keep_sanitizer_out(command, arguments, clang, files);
    }
    if arguments.is_shared {
        // The hooks are found in the program that loads the library.
        command.arg("-Wl,-z,undefs");
        wrap(command, arguments);
        return Ok(());
    }
    if arguments.has_language {
        command.args(["-x", "none"]);
    }
    let mut dynamic_list = OsString::from("-Wl,--dynamic-list=");
    dynamic_list.push(files.dynamic_list());
    command.arg(files.object()).arg(dynamic_list);
    wrap(command, arguments);
    Ok(())
}

/// Keeps the compiler's own run time out of the link, which `-fsanitize=thread` would add.
fn keep_sanitizer_out(
    command: &mut Command,
    arguments: &Arguments,
    clang: bool,
    files: &RunTimeFiles,
) {
    if clang {
        if arguments.has_sources {
            command.arg("-fno-sanitize-link-runtime");
        }
        return;
    }
    if !arguments.has_sources {
        // With -flto gcc adds the hooks at the link, and only if the flag is given there, too.
        command.arg("-fsanitize=thread");
    }
    command
        .arg("-static-libtsan")
        .arg("-B")
        .arg(files.empty_libraries());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(language: Language, text: &str) -> String {
        let arguments: Vec<OsString> = text.split_whitespace().map(OsString::from).collect();
        let files = RunTimeFiles::at("/rl".into());
        let command = command(language, &arguments, &files).unwrap();
        let words = command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn queries_pass_unchanged() {
        for query in [
            "--version",
            "-dumpmachine",
            "-v",
            "-print-search-dirs",
            "-E x.c",
            "-M x.c",
        ] {
            assert_eq!(line(Language::C, query), query);
        }
    }

    #[test]
    fn objects_get_hooks_and_programs_get_the_run_time() {
        let object = line(Language::C, "-O2 -c a.c -o a.o");
        assert!(object.starts_with("-O2 -c a.c -o a.o -g"), "{object}");
        assert!(object.contains("-fsanitize=thread") && !object.contains("reuselens.o"));
        let program = line(Language::C, "a.o -o a -lm");
        assert!(
            program.contains("reuselens.o") && program.contains("-static-libtsan"),
            "{program}"
        );
        assert!(program.contains("--wrap=memcpy"));
        // For -flto, where gcc compiles at the link.
        assert!(program.contains("-fsanitize=thread"), "{program}");
        let both = line(Language::Cxx, "-g3 a.cc -o a");
        assert!(
            both.contains("-fsanitize=thread") && both.contains("-static-libtsan"),
            "{both}"
        );
        assert!(!both.contains("-g "), "{both}");
    }

    #[test]
    fn input_language_does_not_reach_the_run_time() {
        for text in ["-x c - -o a", "-xc++ a.txt -o a"] {
            let program = line(Language::C, text);
            assert!(program.contains("-x none /rl/reuselens.o"), "{program}");
            assert!(program.contains("-g "), "{program}");
        }
        assert!(!line(Language::C, "a.c -o c").contains("-x none"));
    }

    #[test]
    fn libraries_and_partial_links_get_no_run_time() {
        for text in [
            "-shared a.o -o a.so",
            "-r a.o b.o -o c.o",
            "-shared -fPIC a.c -o a.so",
        ] {
            assert!(!line(Language::C, text).contains("reuselens.o"), "{text}");
        }
    }

    #[test]
    fn clang_keeps_its_own_run_time_out() {
        let program = line(Language::C, "--rl-compiler=clang-14 a.c -o a");
        assert!(program.contains("-fno-sanitize-link-runtime"), "{program}");
        assert!(
            program.contains("--wrap=memcpy") && !program.contains("rl-compiler"),
            "{program}"
        );
    }

    #[test]
    fn llvm_pass_replaces_the_hooks() {
        let object = line(Language::C, "--llvm -O2 -c a.c");
        assert_eq!(
            object,
            "-O2 -c a.c -g -isystem /rl/include -fpass-plugin=/rl/pass-19.so"
        );
        let program = line(Language::Fortran, "--llvm a.o -o a");
        assert!(
            program.contains("reuselens.o") && program.contains("--wrap=memcpy"),
            "{program}"
        );
        assert!(
            !program.contains("sanitize") && !program.contains("-B"),
            "{program}"
        );
        let names = line(Language::Cxx, "--llvm --rl-names a.cc -o a");
        assert!(!names.contains("plugin"), "{names}");
    }

    #[test]
    fn names_only_adds_no_hooks() {
        let program = line(Language::Fortran, "--rl-names adi.f -o adi");
        assert!(
            !program.contains("-fsanitize") && program.contains("reuselens.o"),
            "{program}"
        );
    }

    #[test]
    fn static_programs_are_refused() {
        let files = RunTimeFiles::at("/rl".into());
        let arguments = ["-static", "a.o"].map(OsString::from);
        assert!(command(Language::C, &arguments, &files).is_err());
    }
}
