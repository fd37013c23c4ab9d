//! [`why_not_run`]: what an executable file is that the kernel refuses to execute (`ENOEXEC`), for
//! the message. Of such files only scripts without a first line `#!` are programs: a shell runs
//! them (POSIX, `execvp`). Handed any other file, a shell takes its bytes for commands.

use std::io::Read;
use std::path::Path;

use crate::open_regular_file;

const ELF: &[u8] = b"\x7fELF";
/// Bytes of a file that are looked at.
const LOOKED_AT: u64 = 4096;
/// Bytes in which a script has no zero before the end of its first line: bash's rule.
const FIRST_LINE: usize = 80;

/// First bytes of files that are no programs, what such a file is, and what to do with it.
const MAGICS: [(&[u8], &str, &str); 15] = [
    (b"\xcf\xfa\xed\xfe", MACH_O, OTHER_SYSTEM),
    (b"\xce\xfa\xed\xfe", MACH_O, OTHER_SYSTEM),
    (b"\xfe\xed\xfa\xcf", MACH_O, OTHER_SYSTEM),
    (b"\xfe\xed\xfa\xce", MACH_O, OTHER_SYSTEM),
    (
        b"PK\x03\x04",
        "a Java archive (.jar) or another zip file",
        "put what runs it before its name, as in: java -jar FILE",
    ),
    (
        b"\0asm",
        "a WebAssembly module",
        "put what runs it before its name, as in: wasmtime FILE",
    ),
    (b"dex\n", "a program for Android", OTHER_SYSTEM),
    (b"!<arch>\n", "a static library", LINK),
    (b"BC\xc0\xde", "LLVM bitcode", "compile and link it first"),
    (b"\x1f\x8b", COMPRESSED, UNPACK),
    (b"BZh", COMPRESSED, UNPACK),
    (b"\xfd7zXZ\0", COMPRESSED, UNPACK),
    (b"\x28\xb5\x2f\xfd", COMPRESSED, UNPACK),
    (b"7z\xbc\xaf\x27\x1c", COMPRESSED, UNPACK),
    (b"%PDF-", "a PDF document", "name a program"),
];
const MACH_O: &str = "a program for macOS (Mach-O)";
const COMPRESSED: &str = "a compressed file";
const UNPACK: &str = "unpack it first";
const LINK: &str = "link it to a program first";
const OTHER_SYSTEM: &str = "build it for Linux on x86-64";

/// What to do with a program for another processor.
const OTHER_MACHINE: &str = "on its own machine valgrind's lackey or DynamoRIO's drmemtrace record \
    its trace, and `reuselens analyze TRACE` analyses that here (docs/limits.md, Other machines)";

/// Processors by their number in the header of an ELF file (`e_machine`).
const PROCESSORS: [(u16, &str); 21] = [
    (2, "SPARC"),
    (I386, "32-bit x86 (i386)"),
    (4, "Motorola 68000"),
    (8, "MIPS"),
    (15, "PA-RISC"),
    (20, "32-bit PowerPC"),
    (21, "64-bit PowerPC"),
    (22, "IBM Z (s390x)"),
    (40, "32-bit Arm"),
    (42, "SuperH"),
    (43, "64-bit SPARC"),
    (50, "Itanium"),
    (83, "AVR"),
    (94, "Xtensa"),
    (164, "Hexagon"),
    (183, "AArch64 (64-bit Arm)"),
    (190, "GPUs of NVIDIA"),
    (224, "GPUs of AMD"),
    (243, "RISC-V"),
    (247, "BPF"),
    (258, "LoongArch"),
];
const I386: u16 = 3;
const X86_64: u16 = 62;

/// Why the kernel does not execute the executable file at `path`, and what to do instead, as in "it
/// is a program for …". None if it is the text of a script, which a shell runs, or if the file
/// cannot be read.
///
/// Cost: reads up to 4 KiB.
pub fn why_not_run(path: &Path) -> Option<String> {
    why_bytes_do_not_run(&first_bytes(path)?)
}

/// The processor that the ELF file at `path` is for, if it is not x86-64 with addresses of 64 bits.
///
/// Cost: reads up to 4 KiB.
pub fn other_processor(path: &Path) -> Option<String> {
    let elf = ElfStart::of(&first_bytes(path)?)?;
    match elf.machine {
        X86_64 if elf.is_64_bit => None,
        X86_64 => Some("x86-64 with 32-bit addresses (x32)".to_owned()),
        _ => Some(elf.processor()),
    }
}

/// The bytes of a file that are looked at, if it can be read.
fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    let (file, _) = open_regular_file(path).ok()?;
    let mut bytes = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn why_bytes_do_not_run(bytes: &[u8]) -> Option<String> {
    if bytes.is_empty() {
        return Some("it is empty, so there is nothing to run; build or copy it again".to_owned());
    }
    if bytes.starts_with(b"#!") {
        return Some(
            "its first line (#!) names an interpreter that the system does not execute; name \
             another one there, or put it before the script's name"
                .to_owned(),
        );
    }
    if bytes.starts_with(ELF) {
        return Some(of_elf(bytes));
    }
    if let Some(version) = java_class(bytes) {
        return Some(format!(
            "it is a Java class (version {version}); put what runs it before its name: java NAME"
        ));
    }
    if bytes.starts_with(b"\xca\xfe\xba\xbe") {
        return Some(format!("it is {MACH_O}; {OTHER_SYSTEM}"));
    }
    let magic = MAGICS.iter().find(|(magic, ..)| bytes.starts_with(magic));
    if let Some((_, what, remedy)) = magic {
        return Some(format!("it is {what}; {remedy}"));
    }
    // Scripts that are programs for Windows too begin with these letters.
    match (is_text(bytes), bytes.starts_with(b"MZ")) {
        (true, _) => None,
        (false, true) => Some(format!("it is a program for Windows (PE); {OTHER_SYSTEM}")),
        (false, false) => Some(
            "it is neither a program that the system knows nor the text of a script; put what runs \
             it before its name"
                .to_owned(),
        ),
    }
}

/// Whether bash takes a file that begins so for a script, where it has no `#!`.
fn is_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(FIRST_LINE)];
    let line = start.split(|&byte| byte == b'\n').next();
    line.is_some_and(|line| !line.contains(&0))
}

/// The version of a Java class file. Archives of Mach-O files have the same first bytes, then a
/// number of parts, which is smaller than any version of a class.
fn java_class(bytes: &[u8]) -> Option<u16> {
    const FIRST_VERSION: u16 = 45;
    let [0xca, 0xfe, 0xba, 0xbe, _, _, high, low, ..] = bytes else {
        return None;
    };
    let version = u16::from_be_bytes([*high, *low]);
    (version >= FIRST_VERSION).then_some(version)
}

/// What the first 20 bytes of an ELF file say.
struct ElfStart {
    is_64_bit: bool,
    kind: u16,
    machine: u16,
}

impl ElfStart {
    fn of(bytes: &[u8]) -> Option<ElfStart> {
        let is_big = bytes.get(5) == Some(&2);
        let half = |at: usize| -> Option<u16> {
            let bytes = *bytes.get(at..)?.first_chunk()?;
            Some(if is_big {
                u16::from_be_bytes(bytes)
            } else {
                u16::from_le_bytes(bytes)
            })
        };
        let start = ElfStart {
            is_64_bit: bytes.get(4) == Some(&2),
            kind: half(16)?,
            machine: half(18)?,
        };
        bytes.starts_with(ELF).then_some(start)
    }

    fn processor(&self) -> String {
        let number = self.machine;
        let known = PROCESSORS.iter().find(|(known, _)| *known == number);
        known.map_or_else(
            || format!("another processor (ELF machine {number})"),
            |(_, name)| (*name).to_owned(),
        )
    }
}

/// Of an ELF file: which processor it is for, or what it is if it is for x86-64.
fn of_elf(bytes: &[u8]) -> String {
    /// Kinds of files (`e_type`).
    const RELOCATABLE: u16 = 1;
    const CORE: u16 = 4;
    const DAMAGED: &str =
        "the system does not execute it: it is cut off or damaged; build or copy it again";
    let Some(elf) = ElfStart::of(bytes) else {
        return DAMAGED.to_owned();
    };
    match (elf.machine, elf.kind) {
        (I386, _) => "it is not a 64-bit program for x86 processors; build it without -m32, with \
                      the compiler or `reuselens cc`"
            .to_owned(),
        (X86_64, _) if !elf.is_64_bit => {
            "it is a program for x86-64 with 32-bit addresses (x32), which this system does not \
             execute; build it with -m64"
                .to_owned()
        }
        (X86_64, RELOCATABLE) => format!("it is an object file; {LINK}"),
        (X86_64, CORE) => "it is a core dump; name the program that left it".to_owned(),
        (X86_64, _) => DAMAGED.to_owned(),
        _ => format!(
            "it is a program for {}, and this machine is {}; {OTHER_MACHINE}",
            elf.processor(),
            std::env::consts::ARCH.replace('_', "-")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first 20 bytes of an ELF file: class, order of bytes, kind, machine.
    fn elf(class: u8, order: u8, kind: u16, machine: u16) -> Vec<u8> {
        let half = |number: u16| {
            if order == 2 {
                number.to_be_bytes()
            } else {
                number.to_le_bytes()
            }
        };
        let start = [0x7f, b'E', b'L', b'F', class, order, 1];
        [&start[..], &[0; 9], &half(kind), &half(machine)].concat()
    }

    #[test]
    fn programs_for_other_processors_are_named_in_both_byte_orders() {
        for (class, order, machine, name) in [
            (2, 1, 183, "AArch64"),
            (1, 1, 40, "32-bit Arm"),
            (2, 1, 243, "RISC-V"),
            (2, 2, 22, "s390x"),
            (2, 2, 21, "64-bit PowerPC"),
            (1, 2, 8, "MIPS"),
            (2, 1, 0xfffe, "ELF machine 65534"),
        ] {
            let why = why_bytes_do_not_run(&elf(class, order, 2, machine)).unwrap();
            assert!(
                why.contains("is a program for") && why.contains(name),
                "{why}: {name}"
            );
            assert!(why.contains("reuselens analyze TRACE"), "{why}");
        }
    }

    #[test]
    fn files_for_this_processor_that_are_no_programs_are_named() {
        let x86_64 = |kind| why_bytes_do_not_run(&elf(2, 1, kind, X86_64)).unwrap();
        assert!(x86_64(1).contains("object file"));
        assert!(x86_64(4).contains("core dump"));
        assert!(x86_64(2).contains("cut off or damaged"));
        let cut = &elf(2, 1, 2, X86_64)[..17];
        assert!(why_bytes_do_not_run(cut).unwrap().contains("cut off"));
        let x32 = why_bytes_do_not_run(&elf(1, 1, 2, X86_64)).unwrap();
        assert!(x32.contains("x32"), "{x32}");
        let narrow = why_bytes_do_not_run(&elf(1, 1, 2, I386)).unwrap();
        assert!(narrow.contains("not a 64-bit program"), "{narrow}");
    }

    #[test]
    fn only_text_is_left_to_a_shell() {
        for (bytes, what) in [
            (&b""[..], "empty"),
            (b"MZ\x90\0\x03\0\0\0", "Windows"),
            (b"\xcf\xfa\xed\xfe\x07\0\0\x01", "macOS"),
            (b"\xca\xfe\xba\xbe\0\0\0\x02\x01\0\0\x07", "macOS"),
            (
                b"\xca\xfe\xba\xbe\0\0\0\x41\0\x1d",
                "Java class (version 65)",
            ),
            (b"PK\x03\x04xxxx\n", "java -jar"),
            (b"\0asm\x01\0\0\0", "WebAssembly"),
            (b"!<arch>\n/  ", "static library"),
            (b"#!/opt/arm/python\nprint()\n", "interpreter"),
            (b"GIF89a\0\0", "neither"),
            (b"\xff\xfee\0c\0h\0o\0", "neither"),
        ] {
            let why = why_bytes_do_not_run(bytes).unwrap();
            assert!(why.contains(what), "{bytes:?}: {why}");
        }
        let late_zero = [&[b'#'; 80][..], b"\0"].concat();
        for text in [
            &b"echo hello\n"[..],
            b"MZqFpD='\n\0\0\0",
            b"true # \xc3\xa9\n",
            b"# a comment\n\0",
            &late_zero,
        ] {
            assert_eq!(why_bytes_do_not_run(text), None, "{text:?}");
        }
    }
}
