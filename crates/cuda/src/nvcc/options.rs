//! [`NvccCall`]: what a command line of nvcc asks for. [`table`](super::table) knows the options.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::table::{self, Meaning};

/// How far the compiler goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NvccPhase {
    /// A program or a shared library.
    #[default]
    Link,
    /// Objects (`-c`).
    Object,
    /// An object of linked device code (`-dlink`).
    DeviceLink,
    /// PTX (`-ptx`).
    Ptx,
    /// Preprocessed source (`-E`).
    Preprocess,
    /// Rules for make (`-M`, `-MM`).
    Dependencies,
}

/// What an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// A source with code for the device.
    Cuda,
    /// C++.
    Cxx,
    /// C.
    C,
    /// An object or a library.
    Linked,
}

/// An input or an option of the linker; their order matters to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkItem {
    /// A file.
    Input(OsString, InputKind),
    /// An option, as the linker's driver takes it.
    Option(OsString),
}

/// A command line of nvcc.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NvccCall {
    /// How far the compiler goes.
    pub phase: NvccPhase,
    /// Inputs, and what is between them for the linker.
    pub items: Vec<LinkItem>,
    /// `-o`.
    pub output: Option<PathBuf>,
    /// `-odir`: the folder of objects without `-o`.
    pub folder: Option<PathBuf>,
    /// Options of both sides: the preprocessor's, the standard, debugging.
    pub common: Vec<OsString>,
    /// Options of the host's compiler, in its compilations and in the link.
    pub host: Vec<OsString>,
    /// Options of the device's compiler.
    pub device: Vec<OsString>,
    /// `-MD` and its like, for the host's compilations.
    pub dependencies: Vec<OsString>,
    /// The newest architecture that is asked for: 80 is `sm_80`.
    pub architecture: Option<u32>,
    /// `-shared`.
    pub shared: bool,
    /// `-g` or `-G`.
    pub debug: bool,
    /// `--rl-bypass`: the warps of a block whose loads use the L1.
    pub bypass: Option<u32>,
    /// Print the steps (`-v`, `--dryrun`).
    pub verbose: bool,
    /// And do none of them.
    pub dry_run: bool,
    /// `--version`.
    pub version: bool,
}

/// A command line that cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// Not an option of nvcc, or none that is known here.
    #[error("unknown option {0}; what is known: docs/commands/nvcc.md")]
    Unknown(String),
    /// Its value is missing.
    #[error("option {0} needs a value")]
    NoValue(String),
    /// An option whose work only CUDA's nvcc does.
    #[error("{option}: {reason}")]
    Refused {
        /// As it was given.
        option: String,
        /// Why.
        reason: &'static str,
    },
    /// A library that is machine code for GPUs.
    #[error(
        "{0} is a library of machine code for GPUs: a program that calls it cannot run without one"
    )]
    Library(String),
    /// There is nothing to compile.
    #[error("no input files; use it as nvcc: reuselens nvcc -o program program.cu")]
    NoInput,
    /// `-o` with several inputs that each have an output.
    #[error(
        "-o names one file, and {0} inputs are compiled: leave it out, or compile them one by one"
    )]
    SeveralOutputs(usize),
    /// A file of options (`-optf`).
    #[error("cannot read the options in {path}: {error}")]
    File {
        /// The file.
        path: String,
        /// Why.
        error: String,
    },
}

/// A word of the command line with an option, and what the words after it may give it.
struct Words<'a> {
    rest: std::slice::Iter<'a, OsString>,
}

impl NvccCall {
    /// Reads the arguments of nvcc. Files of options are read; no other file is.
    ///
    /// # Errors
    /// Unknown options, and those that cannot be served.
    pub fn read(arguments: &[OsString]) -> Result<NvccCall, OptionError> {
        let mut reader = OptionReader::default();
        reader.words(arguments, 0)?;
        reader.finish()
    }

    /// The inputs, each with what it is.
    pub fn inputs(&self) -> impl Iterator<Item = (&OsString, InputKind)> {
        self.items.iter().filter_map(|item| match item {
            LinkItem::Input(path, kind) => Some((path, *kind)),
            LinkItem::Option(_) => None,
        })
    }

    /// The sources with code for the device.
    pub fn sources(&self) -> Vec<&Path> {
        let sources = self.inputs().filter(|input| input.1 == InputKind::Cuda);
        sources.map(|input| Path::new(input.0)).collect()
    }

    /// The folders of `-I`.
    pub fn include_folders(&self) -> Vec<PathBuf> {
        let folder = |word: &OsString| {
            let folder = word.as_bytes().strip_prefix(b"-I")?;
            Some(PathBuf::from(OsStr::from_bytes(folder)))
        };
        self.common.iter().filter_map(folder).collect()
    }

    /// Whether the host's compiler is asked for OpenMP.
    pub fn uses_openmp(&self) -> bool {
        self.host.iter().any(|word| word == "-fopenmp")
    }
}

/// What is kept while reading.
#[derive(Default)]
struct OptionReader {
    call: NvccCall,
    /// `-x`: what the inputs from here on are.
    language: Option<InputKind>,
    /// Unknown options go to the host's compiler.
    forwards: bool,
    unknown: Vec<OsString>,
}

/// Files of options that name each other.
const MOST_FILES: usize = 8;

impl OptionReader {
    fn words(&mut self, arguments: &[OsString], depth: usize) -> Result<(), OptionError> {
        let mut words = Words {
            rest: arguments.iter(),
        };
        while let Some(word) = words.rest.next() {
            let text = word.to_string_lossy();
            if !text.starts_with('-') || text == "-" {
                let kind = self.language.unwrap_or_else(|| kind_of(word));
                self.call.items.push(LinkItem::Input(word.clone(), kind));
                continue;
            }
            let Some((meaning, value)) = table::find(word.as_bytes()) else {
                self.unknown.push(word.clone());
                continue;
            };
            let value = match (value, meaning.takes_value()) {
                (Some(value), _) => OsString::from_vec(value),
                (None, true) => {
                    let next = words.rest.next();
                    next.cloned()
                        .ok_or_else(|| OptionError::NoValue(text.clone().into_owned()))?
                }
                (None, false) => OsString::new(),
            };
            if meaning == Meaning::OptionsFile {
                self.file(&value, depth)?;
            } else {
                self.apply(meaning, &value, &text)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &OsStr, depth: usize) -> Result<(), OptionError> {
        let failed = |error: String| OptionError::File {
            path: path.to_string_lossy().into_owned(),
            error,
        };
        if depth >= MOST_FILES {
            return Err(failed(
                "files of options name each other too deeply".to_owned(),
            ));
        }
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        self.words(&quoted_words(&text), depth + 1)
    }

    fn apply(&mut self, meaning: Meaning, value: &OsStr, word: &str) -> Result<(), OptionError> {
        let call = &mut self.call;
        match meaning {
            Meaning::Output => call.output = Some(value.into()),
            Meaning::OutputFolder => call.folder = Some(value.into()),
            Meaning::Phase(phase) => call.phase = phase,
            Meaning::Shared => call.shared = true,
            Meaning::Debug => call.debug = true,
            Meaning::Verbose => call.verbose = true,
            Meaning::DryRun => (call.verbose, call.dry_run) = (true, true),
            Meaning::Version => call.version = true,
            Meaning::Forward => self.forwards = true,
            Meaning::Library => {
                for name in split(value, b",") {
                    self.library(&name)?;
                }
            }
            Meaning::Architecture => {
                let asked = newest_architecture(&value.to_string_lossy());
                call.architecture = call.architecture.max(asked);
            }
            Meaning::Language => {
                self.language = match value.to_str() {
                    Some("cu") => Some(InputKind::Cuda),
                    Some("c++") => Some(InputKind::Cxx),
                    Some("c") => Some(InputKind::C),
                    _ => return Err(OptionError::Unknown(format!("-x {}", value.display()))),
                };
            }
            Meaning::Bypass => {
                let warps = value.to_str().and_then(|text| text.parse().ok());
                let warps = warps.filter(|warps| (0..=64).contains(warps));
                call.bypass = Some(warps.ok_or_else(|| OptionError::Refused {
                    option: format!("{word} {}", value.display()),
                    reason: "write a number of warps from 0 to 64",
                })?);
            }
            Meaning::Machine if value.to_str().is_some_and(|bits| bits != "64") => {
                return Err(OptionError::Refused {
                    option: word.to_owned(),
                    reason: table::BITS,
                });
            }
            Meaning::Refused(reason) => {
                return Err(OptionError::Refused {
                    option: word.to_owned(),
                    reason,
                });
            }
            meaning => self.pass_on(meaning, value),
        }
        Ok(())
    }

    /// Options that clang or the linker gets, in its own words.
    fn pass_on(&mut self, meaning: Meaning, value: &OsStr) {
        let call = &mut self.call;
        let pair = |option: &str| [option.into(), value.to_owned()];
        match meaning {
            Meaning::Common(option) => call.common.push(option.into()),
            Meaning::CommonValue(option) => call.common.push(joined(option, value)),
            Meaning::CommonPair(option) => call.common.extend(pair(option)),
            Meaning::CommonList(option) => {
                let parts = split(value, b",").into_iter();
                call.common.extend(parts.map(|part| joined(option, &part)));
            }
            Meaning::Host(option) => call.host.push(option.into()),
            Meaning::HostValue(option) => call.host.push(joined(option, value)),
            Meaning::HostList => call.host.extend(split(value, b", ")),
            Meaning::Device(option) => call.device.push(option.into()),
            Meaning::Contraction => {
                let off = matches!(value.to_str(), Some("false" | "0"));
                let option = ["-ffp-contract=fast", "-ffp-contract=off"][usize::from(off)];
                call.device.push(option.into());
            }
            Meaning::Dependency(option) => call.dependencies.push(option.into()),
            Meaning::DependencyPair(option) => call.dependencies.extend(pair(option)),
            Meaning::Linker => {
                for part in split(value, b", ") {
                    let words = ["-Xlinker".into(), part];
                    call.items.extend(words.map(LinkItem::Option));
                }
            }
            Meaning::LibraryPath => call.items.push(LinkItem::Option(joined("-L", value))),
            _ => {}
        }
    }

    /// `-lNAME`. CUDA's own are linked as ours, or refused.
    fn library(&mut self, name: &OsStr) -> Result<(), OptionError> {
        let text = name.to_string_lossy();
        if table::OWN_LIBRARIES.contains(&text.as_ref()) {
            return Ok(());
        }
        let base = text.trim_end_matches("_static");
        if table::MACHINE_CODE
            .iter()
            .any(|known| base.starts_with(known))
        {
            return Err(OptionError::Library(format!("-l{text}")));
        }
        self.call.items.push(LinkItem::Option(joined("-l", name)));
        Ok(())
    }

    fn finish(mut self) -> Result<NvccCall, OptionError> {
        match self.unknown.first() {
            Some(word) if !self.forwards => {
                return Err(OptionError::Unknown(word.to_string_lossy().into_owned()));
            }
            _ => self.call.host.append(&mut self.unknown),
        }
        let call = self.call;
        if call.version {
            return Ok(call);
        }
        let compiled = call
            .inputs()
            .filter(|(_, kind)| *kind != InputKind::Linked)
            .count();
        match call.inputs().count() {
            0 => Err(OptionError::NoInput),
            _ if call.phase != NvccPhase::Link && call.output.is_some() && compiled > 1 => {
                Err(OptionError::SeveralOutputs(compiled))
            }
            _ => Ok(call),
        }
    }
}

/// What a file is by its name.
fn kind_of(path: &OsStr) -> InputKind {
    let extension = std::path::Path::new(path).extension();
    match extension.and_then(OsStr::to_str) {
        Some("cu") => InputKind::Cuda,
        Some("c") => InputKind::C,
        Some("cc" | "cpp" | "cxx" | "C" | "c++") => InputKind::Cxx,
        _ => InputKind::Linked,
    }
}

fn joined(option: &str, value: &OsStr) -> OsString {
    let mut joined = OsString::from(option);
    joined.push(value);
    joined
}

/// The parts of a list: one of `between` is between them, unless a backslash is before it.
fn split(value: &OsStr, between: &[u8]) -> Vec<OsString> {
    let mut parts = vec![Vec::new()];
    let mut bytes = value.as_bytes().iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => parts.last_mut().into_iter().for_each(|part| {
                part.extend(bytes.next());
            }),
            _ if between.contains(&byte) => parts.push(Vec::new()),
            byte => parts
                .last_mut()
                .into_iter()
                .for_each(|part| part.push(byte)),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts.into_iter().map(OsString::from_vec).collect()
}

/// The words of a file of options; quotes keep spaces.
fn quoted_words(text: &str) -> Vec<OsString> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in text.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from).collect()
}

/// The greatest number after `sm_` or `compute_`.
fn newest_architecture(text: &str) -> Option<u32> {
    let numbers = text.split("sm_").flat_map(|part| part.split("compute_"));
    let numbers = numbers.filter_map(|part| {
        let end = part.find(|c: char| !c.is_ascii_digit());
        part[..end.unwrap_or(part.len())].parse().ok()
    });
    numbers.max()
}
