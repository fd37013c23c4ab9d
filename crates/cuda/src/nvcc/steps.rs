//! [`plan`]: what is to be done for a command line, step by step, when clang stands in for nvcc.
//!
//! Each CUDA source is compiled twice. The device's side becomes PTX, which is put into a fat
//! binary as nvcc makes them; the host's side embeds that, and registers it with the runtime when
//! the program starts.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use reuselens_ptx::plan::{FORCED_HEADER, SDK_VERSION, UNDEFINED_ARGUMENTS, from_ir};

use super::options::{InputKind, LinkItem, NvccCall, NvccPhase};

/// What the steps work with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClangTools {
    /// The compiler.
    pub clang: OsString,
    /// The folder of our headers.
    pub headers: PathBuf,
    /// The folder of the library that programs are linked to.
    pub libraries: PathBuf,
    /// A folder for what is made on the way.
    pub temporary: PathBuf,
    /// The description of files that clang is shown others in place of.
    pub overlay: Option<PathBuf>,
}

impl ClangTools {
    /// The linker's option for the folder of the library.
    pub fn library_option(&self) -> OsString {
        let mut option = OsString::from("-L");
        option.push(&self.libraries);
        option
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NvccStep {
    /// Run a program.
    Run(Vec<OsString>),
    /// Make copies in clang's intermediate code loads and stores of vectors, in its file.
    JoinCopies(PathBuf),
    /// Let the loads of all but the first warps of each block pass the L1 by, in a file of PTX.
    Bypass {
        /// The PTX.
        ptx: PathBuf,
        /// The warps that use the L1.
        warps: u32,
    },
    /// Put PTX into a fat binary.
    Pack {
        /// The PTX.
        ptx: PathBuf,
        /// The architecture that it is for.
        architecture: u32,
        /// The fat binary.
        to: PathBuf,
        /// The source, for messages.
        source: PathBuf,
    },
}

/// The oldest architecture that code is made for: older ones lack instructions of warps.
const OLDEST: u32 = 70;
/// The newest: that of the device that the interpreter claims to be.
const NEWEST: u32 = 90;

/// The steps for a call.
pub fn plan(call: &NvccCall, tools: &ClangTools) -> Vec<NvccStep> {
    let planner = Planner {
        call,
        tools,
        architecture: call.architecture.unwrap_or(NEWEST).clamp(OLDEST, NEWEST),
    };
    if call.phase == NvccPhase::DeviceLink {
        return vec![planner.device_link()];
    }
    let mut steps = Vec::new();
    for (index, (path, kind)) in call.inputs().enumerate() {
        planner.input(&mut steps, index, Path::new(path), kind);
    }
    if call.phase == NvccPhase::Link {
        steps.push(planner.link());
    }
    steps
}

struct Planner<'a> {
    call: &'a NvccCall,
    tools: &'a ClangTools,
    architecture: u32,
}

impl Planner<'_> {
    fn input(&self, steps: &mut Vec<NvccStep>, index: usize, path: &Path, kind: InputKind) {
        match (kind, self.call.phase) {
            (InputKind::Linked, _) | (_, NvccPhase::DeviceLink) => {}
            (InputKind::Cuda, NvccPhase::Ptx) => {
                self.device(steps, index, path, &self.output(path, "ptx"));
            }
            (_, NvccPhase::Ptx) => {}
            (_, NvccPhase::Preprocess) => steps.push(self.preprocess(path, kind, "-E")),
            (_, NvccPhase::Dependencies) => steps.push(self.preprocess(path, kind, "-MM")),
            (InputKind::Cuda, NvccPhase::Object | NvccPhase::Link) => {
                let (ptx, packed) = (self.made(index, "ptx"), self.made(index, "fatbin"));
                self.device(steps, index, path, &ptx);
                steps.push(NvccStep::Pack {
                    ptx,
                    architecture: self.architecture,
                    to: packed.clone(),
                    source: path.to_owned(),
                });
                steps.push(self.host(path, kind, Some(&packed), &self.object(index, path)));
            }
            (_, NvccPhase::Object | NvccPhase::Link) => {
                steps.push(self.host(path, kind, None, &self.object(index, path)));
            }
        }
    }

    /// Where the object of an input is.
    fn object(&self, index: usize, path: &Path) -> PathBuf {
        match self.call.phase {
            NvccPhase::Link => self.made(index, "o"),
            _ => self.output(path, "o"),
        }
    }

    /// An object with nothing in it: the device code of each object is linked already, or it would
    /// not have been made.
    fn device_link(&self) -> NvccStep {
        let output = self.call.output.clone();
        let mut words = self.clang();
        words.extend(["-x", "c", "-c", "-o"].map(OsString::from));
        words.push(output.unwrap_or_else(|| "a_dlink.o".into()).into());
        words.push("/dev/null".into());
        NvccStep::Run(words)
    }

    /// A file that is made of an input on the way.
    fn made(&self, index: usize, extension: &str) -> PathBuf {
        self.tools.temporary.join(format!("{index}.{extension}"))
    }

    /// The output of an input: `-o`, or by its name.
    fn output(&self, path: &Path, extension: &str) -> PathBuf {
        if let Some(output) = &self.call.output {
            return output.clone();
        }
        let name = path.file_name().unwrap_or(OsStr::new("a"));
        let name = Path::new(name).with_extension(extension);
        match &self.call.folder {
            Some(folder) => folder.join(name),
            None => name,
        }
    }

    fn clang(&self) -> Vec<OsString> {
        vec![self.tools.clang.clone()]
    }

    /// What both sides of a CUDA source get.
    fn cuda(&self) -> Vec<OsString> {
        let mut words = self.clang();
        words.extend(["-x", "cuda", "-nocudainc", "-nocudalib"].map(OsString::from));
        words.push(format!("--cuda-gpu-arch=sm_{}", self.architecture).into());
        words.extend(["-Xclang", SDK_VERSION].map(OsString::from));
        words.push("-Wno-unknown-cuda-version".into());
        // nvcc takes it in any version of C++.
        words.push("-Wno-register".into());
        words.extend(["-D__NVCC__", "-D__CUDACC_VER_MAJOR__=13"].map(OsString::from));
        words.extend(["-D__CUDACC_VER_MINOR__=0", "-D__CUDACC_VER_BUILD__=0"].map(OsString::from));
        words.extend(["-include", FORCED_HEADER].map(OsString::from));
        if let Some(overlay) = &self.tools.overlay {
            words.extend(["-ivfsoverlay".into(), overlay.into()]);
        }
        words
    }

    fn common(&self, words: &mut Vec<OsString>) {
        words.extend(self.call.common.iter().cloned());
        words.push("-isystem".into());
        words.push(self.tools.headers.clone().into());
    }

    /// A source becomes PTX by way of clang's intermediate code.
    fn device(&self, steps: &mut Vec<NvccStep>, index: usize, source: &Path, ptx: &Path) {
        let ir = self.made(index, "ll");
        let mut words = self.cuda();
        let version = if self.architecture > 86 { 78 } else { 70 };
        words.push(format!("--cuda-feature=+ptx{version}").into());
        words.extend(["--cuda-device-only", "-S", "-emit-llvm", "-O3"].map(OsString::from));
        words.push("-gline-tables-only".into());
        // Else clang takes an allocation that is only compared with null for one that succeeds.
        words.push("-fno-builtin-malloc".into());
        words.extend(["-Xclang", UNDEFINED_ARGUMENTS].map(OsString::from));
        words.extend(self.call.device.iter().cloned());
        self.common(&mut words);
        words.extend(["-o".into(), ir.clone().into(), source.into()]);
        steps.push(NvccStep::Run(words));
        steps.push(NvccStep::JoinCopies(ir.clone()));
        let mut words = self.clang();
        let last = self.call.device.iter().rev();
        let last = last.filter_map(|word| word.to_str()?.strip_prefix("-ffp-contract="));
        let contracts = last.take(1).all(|word| word != "off");
        words.extend(from_ir(contracts).map(OsString::from));
        words.push(format!("-march=sm_{}", self.architecture).into());
        words.extend(["-o".into(), ptx.into(), ir.into()]);
        steps.push(NvccStep::Run(words));
        steps.extend(self.call.bypass.map(|warps| NvccStep::Bypass {
            ptx: ptx.to_owned(),
            warps,
        }));
    }

    fn host(
        &self,
        source: &Path,
        kind: InputKind,
        packed: Option<&Path>,
        object: &Path,
    ) -> NvccStep {
        let mut words = self.side(kind);
        if let Some(packed) = packed {
            words.extend(["-Xclang", "-fcuda-include-gpubinary", "-Xclang"].map(OsString::from));
            words.push(packed.into());
        }
        words.extend(self.dependencies(source));
        words.extend(["-c".into(), "-o".into(), object.into(), source.into()]);
        NvccStep::Run(words)
    }

    /// The host's side of a source, up to what is done with it.
    fn side(&self, kind: InputKind) -> Vec<OsString> {
        let mut words = match kind {
            InputKind::Cuda => {
                let mut words = self.cuda();
                words.push("--cuda-host-only".into());
                words
            }
            InputKind::C => {
                // nvcc leaves C to gcc, which only warned of these up to its version 13.
                let warned = [
                    "implicit-function-declaration",
                    "implicit-int",
                    "int-conversion",
                ];
                let warned = warned.map(|it| format!("-Wno-error={it}").into());
                [self.clang(), vec!["-x".into(), "c".into()], warned.into()].concat()
            }
            _ => [self.clang(), vec!["-x".into(), "c++".into()]].concat(),
        };
        words.push(if self.call.debug { "-g" } else { "-g1" }.into());
        words.extend(self.call.host.iter().cloned());
        self.common(&mut words);
        words
    }

    /// Rules for make. Their names are those of the input, also where the object is temporary.
    fn dependencies(&self, source: &Path) -> Vec<OsString> {
        let mut words = self.call.dependencies.clone();
        let named = |option: &str| words.iter().any(|word| word == option);
        let (file, target) = (named("-MF"), named("-MT"));
        if !words.is_empty() && self.call.phase == NvccPhase::Link {
            if !file {
                words.extend(["-MF".into(), self.beside(source, "d").into()]);
            }
            if !target {
                words.extend(["-MT".into(), self.beside(source, "o").into()]);
            }
        }
        words
    }

    fn beside(&self, source: &Path, extension: &str) -> PathBuf {
        let name = source.file_name().unwrap_or(OsStr::new("a"));
        Path::new(name).with_extension(extension)
    }

    fn preprocess(&self, source: &Path, kind: InputKind, option: &str) -> NvccStep {
        let mut words = self.side(kind);
        words.push(option.into());
        words.extend(self.call.dependencies.iter().cloned());
        if let Some(output) = &self.call.output {
            words.extend(["-o".into(), output.into()]);
        }
        words.push(source.into());
        NvccStep::Run(words)
    }

    fn link(&self) -> NvccStep {
        let mut words = self.clang();
        if self.call.shared {
            words.push("-shared".into());
        }
        let output = self.call.output.clone();
        words.extend(["-o".into(), output.unwrap_or_else(|| "a.out".into()).into()]);
        words.extend(self.call.host.iter().cloned());
        let mut index = 0;
        for item in &self.call.items {
            match item {
                LinkItem::Option(option) => words.push(option.clone()),
                LinkItem::Input(path, kind) => {
                    words.push(match kind {
                        InputKind::Linked => path.clone(),
                        _ => self.object(index, Path::new(path)).into(),
                    });
                    index += 1;
                }
            }
        }
        // The program is one of CUDA also if it has no kernels.
        words.push(self.tools.libraries.join("uses.o").into());
        words.push(self.tools.library_option());
        // CMake reads the libraries of a program off this line.
        words.extend(["-lcudart", "-lstdc++", "-lm"].map(OsString::from));
        words.extend(["-ldl", "-lrt", "-lpthread"].map(OsString::from));
        NvccStep::Run(words)
    }
}
