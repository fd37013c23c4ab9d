//! The options of nvcc: their names, and what they mean here.

use super::options::NvccPhase;

/// What an option means. Values go where the text says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing: it is done anyway, or does not matter here.
    Ignored,
    /// The same, of an option with a value.
    IgnoredValue,
    /// The value is the output.
    Output,
    /// The value is the folder of outputs.
    OutputFolder,
    /// How far the compiler goes.
    Phase(NvccPhase),
    /// This goes to both sides.
    Common(&'static str),
    /// To both sides, the value right after the option.
    CommonValue(&'static str),
    /// To both sides, the value as a word of its own.
    CommonPair(&'static str),
    /// To both sides, each part of the value after the option.
    CommonList(&'static str),
    /// This goes to the host's compiler.
    Host(&'static str),
    /// To the host's compiler, the value right after the option.
    HostValue(&'static str),
    /// The parts of the value go to the host's compiler.
    HostList,
    /// This goes to the device's compiler.
    Device(&'static str),
    /// Whether the device adds and multiplies at once.
    Contraction,
    /// Rules for make beside a compilation.
    Dependency(&'static str),
    /// The same, with a value.
    DependencyPair(&'static str),
    /// The parts of the value go to the linker.
    Linker,
    /// A folder of libraries.
    LibraryPath,
    /// Names of libraries.
    Library,
    /// Make a shared library.
    Shared,
    /// Debug information.
    Debug,
    /// The device's architecture.
    Architecture,
    /// What the inputs are.
    Language,
    /// The bits of a pointer.
    Machine,
    /// Warps of a block that use the L1: an option of ours.
    Bypass,
    /// Print the steps.
    Verbose,
    /// Only print them.
    DryRun,
    /// Print the version.
    Version,
    /// Unknown options go to the host's compiler.
    Forward,
    /// The value is a file with more options.
    OptionsFile,
    /// Not served, for this reason.
    Refused(&'static str),
}

impl Meaning {
    /// Whether the next word is its value if there is none yet.
    pub fn takes_value(self) -> bool {
        matches!(
            self,
            Meaning::IgnoredValue
                | Meaning::Output
                | Meaning::OutputFolder
                | Meaning::CommonValue(_)
                | Meaning::CommonPair(_)
                | Meaning::CommonList(_)
                | Meaning::HostValue(_)
                | Meaning::HostList
                | Meaning::Contraction
                | Meaning::DependencyPair(_)
                | Meaning::Linker
                | Meaning::LibraryPath
                | Meaning::Library
                | Meaning::Architecture
                | Meaning::Language
                | Meaning::Machine
                | Meaning::OptionsFile
                | Meaning::Bypass
        )
    }
}

/// Libraries of CUDA that are linked as the runtime of ours.
pub const OWN_LIBRARIES: [&str; 5] = ["cudart", "cudart_static", "cudadevrt", "cuda", "culibos"];

/// How the names of libraries of machine code begin.
pub const MACHINE_CODE: [&str; 14] = [
    "cublas", "cudnn", "cufft", "cufile", "cupti", "curand", "cusolver", "cusparse", "cutensor",
    "npp", "nvblas", "nvjpeg", "nvrtc", "nccl",
];

/// The option of ours that lets loads pass the L1 by, without its dashes.
pub const BYPASS: &str = "rl-bypass";

/// Why pointers of another size are refused.
pub const BITS: &str = "only programs of 64 bits are made";
const LINKED: &str = "linking device code of several objects needs CUDA's own nvcc";
const IMAGES: &str = "machine code for GPUs is made by CUDA's own nvcc only; -ptx makes PTX";

/// Names without their dashes, and what they mean. nvcc takes long names with one dash or two.
const OPTIONS: &[(&[&str], Meaning)] = {
    use Meaning::*;
    &[
        (&[BYPASS], Bypass),
        (&["o", "output-file"], Output),
        (&["odir", "output-directory"], OutputFolder),
        (
            &["c", "compile", "dc", "device-c", "dw", "device-w"],
            Phase(NvccPhase::Object),
        ),
        (&["dlink", "device-link"], Phase(NvccPhase::DeviceLink)),
        (&["link"], Phase(NvccPhase::Link)),
        (&["ptx"], Phase(NvccPhase::Ptx)),
        (&["E", "preprocess"], Phase(NvccPhase::Preprocess)),
        (
            &[
                "M",
                "generate-dependencies",
                "MM",
                "generate-nonsystem-dependencies",
            ],
            Phase(NvccPhase::Dependencies),
        ),
        (
            &[
                "MD",
                "generate-dependencies-with-compile",
                "MMD",
                "generate-nonsystem-dependencies-with-compile",
            ],
            Dependency("-MMD"),
        ),
        (&["MP", "generate-dependency-targets"], Dependency("-MP")),
        (&["MF", "dependency-output"], DependencyPair("-MF")),
        (&["MT", "dependency-target-name"], DependencyPair("-MT")),
        (&["I", "include-path"], CommonList("-I")),
        (&["isystem", "system-include"], CommonPair("-isystem")),
        (&["include", "pre-include"], CommonPair("-include")),
        (&["D", "define-macro"], CommonValue("-D")),
        (&["U", "undefine-macro"], CommonValue("-U")),
        (&["std"], CommonValue("-std=")),
        (&["O", "optimize"], HostValue("-O")),
        (&["g", "debug"], Debug),
        (&["G", "device-debug"], Debug),
        (&["w", "disable-warnings"], Common("-w")),
        (&["pg", "profile"], Host("-pg")),
        (&["Xcompiler", "compiler-options"], HostList),
        (&["Xlinker", "linker-options"], Linker),
        (&["L", "library-path"], LibraryPath),
        (&["l", "library"], Library),
        (&["shared"], Shared),
        (
            &[
                "arch",
                "gpu-architecture",
                "gencode",
                "generate-code",
                "code",
                "gpu-code",
            ],
            Architecture,
        ),
        (&["x"], Language),
        (&["m", "machine"], Machine),
        (&["m64"], Ignored),
        (&["m32"], Refused(BITS)),
        (
            &["use_fast_math", "use-fast-math"],
            Device("-fgpu-approx-transcendentals"),
        ),
        (&["fmad"], Contraction),
        (&["v", "verbose"], Verbose),
        (&["dryrun", "dry-run"], DryRun),
        (&["V", "version"], Version),
        (&["optf", "options-file"], OptionsFile),
        (
            &[
                "forward-unknown-to-host-compiler",
                "forward-unknown-opts",
                "forward-unknown-to-host-linker",
            ],
            Forward,
        ),
        (
            &[
                "lineinfo",
                "generate-line-info",
                "expt-extended-lambda",
                "extended-lambda",
                "expt-relaxed-constexpr",
                "keep",
                "save-temps",
                "res-usage",
                "resource-usage",
                "restrict",
                "extra-device-vectorization",
                "src-in-ptx",
                "no-compress",
                "no-align-double",
                "objtemp",
                "allow-unsupported-compiler",
                "display-error-number",
                "no-display-error-number",
                "no-host-device-initializer-list",
                "no-host-device-move-forward",
                "ewp",
                "noeh",
            ],
            Ignored,
        ),
        (
            &[
                "cudart",
                "cudadevrt",
                "ccbin",
                "compiler-bindir",
                "allow-expensive-optimizations",
                "maxrregcount",
                "Xptxas",
                "ptxas-options",
                "Xcudafe",
                "cudafe-options",
                "Xfatbin",
                "fatbin-options",
                "Xnvlink",
                "nvlink-options",
                "Xarchive",
                "archive-options",
                "keep-dir",
                "keep-device-functions",
                "t",
                "threads",
                "split-compile",
                "ftz",
                "prec-div",
                "prec-sqrt",
                "rdc",
                "relocatable-device-code",
                "default-stream",
                "diag-suppress",
                "diag-warn",
                "diag-error",
                "Werror",
                "Wext-lambda-captures-this",
                "compress-mode",
                "idp",
                "input-drive-prefix",
                "static-global-template-stub",
                "device-entity-has-hidden-visibility",
            ],
            IgnoredValue,
        ),
        (&["nvlink", "dlto", "dlink-time-opt"], Refused(LINKED)),
        (&["cubin", "fatbin", "ltoir", "optix-ir"], Refused(IMAGES)),
        (
            &["lib"],
            Refused("make objects with -c, and a library of them with ar"),
        ),
        (
            &["run"],
            Refused("run the program by `reuselens profile -- ./program`"),
        ),
    ]
};

/// Options whose value may follow without a space.
const JOINED: [&str; 10] = ["MF", "MT", "I", "D", "U", "L", "l", "O", "o", "x"];

/// The meaning of a word that begins with a dash, and the value that it has in itself.
pub fn find(word: &[u8]) -> Option<(Meaning, Option<Vec<u8>>)> {
    let long = word.strip_prefix(b"--").or(word.strip_prefix(b"-"))?;
    let equals = long.iter().position(|&byte| byte == b'=');
    let (name, value) = match equals {
        Some(at) => (&long[..at], Some(long[at + 1..].to_vec())),
        None => (long, None),
    };
    let named = |name: &[u8]| {
        OPTIONS
            .iter()
            .find(|(names, _)| names.iter().any(|known| known.as_bytes() == name))
            .map(|(_, meaning)| *meaning)
    };
    // A definition has an equals sign of its own: -DNAME=VALUE, but --define-macro=NAME=VALUE.
    if let Some(meaning) = named(name) {
        // Options without a value may be switched on by one.
        let is_on = |value: &Vec<u8>| value == b"true";
        let fits = meaning.takes_value() || value.as_ref().is_none_or(is_on);
        return fits.then_some((meaning, value));
    }
    if word.starts_with(b"--") {
        return None;
    }
    // Warnings of nvcc and of its host compiler do not matter.
    if long.starts_with(b"W") && !long.starts_with(b"Wl,") {
        return Some((Meaning::Ignored, None));
    }
    let prefix = JOINED
        .iter()
        .find(|name| long.starts_with(name.as_bytes()))?;
    let meaning = named(prefix.as_bytes())?;
    Some((meaning, Some(long[prefix.len()..].to_vec())))
}
