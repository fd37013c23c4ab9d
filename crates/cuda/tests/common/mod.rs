//! What the tests with whole programs share.
#![allow(dead_code, reason = "each binary of tests uses a part")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use object::{Object, ObjectSymbol};
use reuselens_cuda::{Interpreter, KernelCount, KernelCounts, Refused, run};
use reuselens_gpu_advisor::Ledger;
use reuselens_ptx::Options;

/// The compiler, or `None` after saying that it is missing.
pub fn nvcc() -> Option<String> {
    let nvcc = std::env::var("NVCC").unwrap_or_else(|_| "nvcc".to_owned());
    reuselens_testing::has(&nvcc).then_some(nvcc)
}

/// The folder of a compiler: that of its path, or the first on `PATH` that has it.
pub fn folder_of(nvcc: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let mut folders = std::env::split_paths(&folders);
    let found = folders.find(|folder| folder.join(nvcc).is_file())?;
    found.join(nvcc).parent().map(Path::to_owned)
}

/// The compiler of CUDA 12, or `None` after saying that it is missing.
pub fn nvcc_12() -> Option<String> {
    let nvcc = std::env::var("NVCC12").unwrap_or_else(|_| "nvcc12".to_owned());
    reuselens_testing::has(&nvcc).then_some(nvcc)
}

/// The folder of the CUDA programs of this repository.
pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/cuda")
}

/// Compiles a program.
pub fn compile(nvcc: &str, source: &Path, program: &Path, flags: &[&str]) {
    let done = Command::new(nvcc)
        .args(["-std=c++17", "-lineinfo", "-o"])
        .arg(program)
        .arg(source)
        .args(flags)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{}: {errors}", source.display());
}

/// Runs a command that has to end well.
pub fn succeeds(command: &mut Command) {
    let done = command.output().unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {errors}");
}

/// C code that defines the functions that an object file uses and whose names begin in one of
/// these ways.
pub fn functions_named(path: &Path, begins: &[&str]) -> String {
    let data = std::fs::read(path).unwrap();
    let file = object::File::parse(&*data).unwrap();
    let symbols = file.symbols().filter(|symbol| symbol.is_undefined());
    let names = symbols.map(|symbol| symbol.name().unwrap().to_owned());
    names
        .filter(|name| begins.iter().any(|begin| name.starts_with(begin)))
        .map(|name| format!("void {name}(void) {{}}\n"))
        .collect()
}

/// What a program left.
pub struct Ran {
    pub ended: ExitStatus,
    pub refused: Refused,
    pub ledger: Ledger,
    pub kernels: Vec<KernelCount>,
}

/// Runs a program to its end.
pub fn run_program(program: &Path, arguments: &[&str]) -> Ran {
    let mut command = vec![OsString::from(program)];
    command.extend(arguments.iter().map(OsString::from));
    run_command(&command)
}

/// Runs a program with its arguments to its end.
pub fn run_command(command: &[OsString]) -> Ran {
    run_with(command, Options::default())
}

/// Runs a program with its arguments to its end, on a device with options.
pub fn run_with(command: &[OsString], options: Options) -> Ran {
    let device = Interpreter::new(1 << 30, options, KernelCounts::default());
    let mut running = run(command, device, true).unwrap();
    let ended = loop {
        if let Some(ended) = running.try_wait().unwrap() {
            break ended;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (refused, ledger, device) = running.finish();
    Ran {
        ended,
        refused,
        ledger,
        kernels: device.into_watch().kernels().to_vec(),
    }
}

/// Runs a program, which must end well, miss nothing, and launch one kernel once.
pub fn launches_one_kernel(program: &Path) {
    let Ran {
        ended,
        refused,
        kernels,
        ..
    } = run_program(program, &[]);
    assert!(ended.success(), "{ended} {refused:?}");
    assert!(refused.missing.is_empty(), "{refused:?}");
    assert_eq!((kernels.len(), kernels[0].launches), (1, 1));
}
