//! Drivers that fail in one way each: libraries in C, none of which has a GPU.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::Ordering;

use reuselens_cuda::{CudaFault, Device, KernelLaunch, Status};
use reuselens_cuda_driver::{DriverDevice, DriverError};
use reuselens_gpu_advisor::LaunchContext;
use tempfile::TempDir;

use crate::cases::PTX;

/// The functions of a driver that works, or seems to: name, what it takes, what it does before it
/// returns 0.
const FUNCTIONS: [(&str, &str, &str); 29] = [
    ("cuDriverGetVersion", "int *to", "*to = 12040;"),
    ("cuInit", "void", ""),
    (
        "cuGetErrorName",
        "int code, char **to",
        "*to = \"CUDA_ERROR_OF_A_TEST\";",
    ),
    (
        "cuGetErrorString",
        "int code, char **to",
        "*to = \"a test\";",
    ),
    ("cuDeviceGetCount", "int *to", "*to = 1;"),
    ("cuDeviceGet", "int *to, int number", "*to = number;"),
    ("cuDevicePrimaryCtxRetain", "long *to", "*to = 8;"),
    ("cuDevicePrimaryCtxRelease_v2", "void", ""),
    ("cuCtxSetCurrent", "void", ""),
    ("cuCtxSetLimit", "void", ""),
    ("cuCtxGetLimit", "long *to", "*to = 1024;"),
    (
        "cuMemGetInfo_v2",
        "long *free, long *all",
        "*free = 300; *all = 5000;",
    ),
    (
        "cuMemAlloc_v2",
        "long *to, long bytes",
        "static long at; *to = at += 4096;",
    ),
    ("cuMemFree_v2", "void", ""),
    ("cuMemcpyHtoD_v2", "void", ""),
    ("cuMemcpyDtoH_v2", "void", ""),
    ("cuMemcpyDtoD_v2", "void", ""),
    ("cuMemsetD8_v2", "void", ""),
    ("cuMemsetD16_v2", "void", ""),
    ("cuMemsetD32_v2", "void", ""),
    ("cuModuleLoadDataEx", "long *to", "*to = 16;"),
    ("cuModuleUnload", "void", ""),
    ("cuModuleGetFunction", "long *to", "*to = 24;"),
    ("cuModuleGetGlobal_v2", "long *to", "return 500;"),
    ("cuFuncGetAttribute", "int *to", "*to = 0;"),
    ("cuFuncSetAttribute", "void", ""),
    ("cuLaunchKernel", "void", ""),
    ("cuLaunchCooperativeKernel", "void", ""),
    ("cuStreamQuery", "void", ""),
];

/// A driver in a folder of its own.
struct Fake {
    folder: TempDir,
}

impl Fake {
    /// One whose functions of these names do something else; one that does nothing is missing.
    /// `None` after saying that there is no compiler of C.
    fn with(others: &[(&str, Option<&str>)]) -> Option<Fake> {
        if !reuselens_testing::has("cc") {
            return None;
        }
        let folder = TempDir::new().unwrap();
        let functions = FUNCTIONS.iter().filter_map(|&(own, takes, does)| {
            let other = others.iter().find(|(name, _)| *name == own);
            let does = other.map_or(Some(does), |(_, instead)| *instead)?;
            Some(format!("int {own}({takes}) {{ {does} return 0; }}\n"))
        });
        let source = folder.path().join("driver.c");
        let begin = "#include <stdio.h>\n".to_owned();
        std::fs::write(&source, begin + &functions.collect::<String>()).unwrap();
        let fake = Fake { folder };
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-w", "-o"]);
        let done = compile.arg(fake.library()).arg(source).status().unwrap();
        assert!(done.success());
        Some(fake)
    }

    fn library(&self) -> PathBuf {
        self.folder.path().join("libcuda.so.1")
    }

    fn open(&self, number: u32) -> Result<DriverDevice, DriverError> {
        DriverDevice::open_library(self.library().as_os_str(), number)
    }
}

/// Why a driver with a function that does something else gives no device.
fn refusal(name: &str, instead: Option<&str>, number: u32) -> Option<DriverError> {
    Some(Fake::with(&[(name, instead)])?.open(number).unwrap_err())
}

/// That a message has words.
fn says(message: &impl std::fmt::Display, words: &[&str]) {
    let message = message.to_string();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in {message:?}");
    }
}

#[test]
fn missing_drivers_are_named_with_what_to_do() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("libcuda.so.1");
    for content in [None, Some("no library")] {
        if let Some(content) = content {
            std::fs::write(&path, content).unwrap();
        }
        let error = DriverDevice::open_library(path.as_os_str(), 0).unwrap_err();
        assert!(matches!(error, DriverError::NoLibrary { .. }), "{error}");
        says(
            &error,
            &["no CUDA driver", "libcuda.so.1", "install", "nvidia-smi"],
        );
    }
    let zero = DriverDevice::open_library("a\0b".as_ref(), 0).unwrap_err();
    assert!(matches!(zero, DriverError::NoLibrary { .. }), "{zero}");
}

#[test]
fn drivers_that_are_too_old_are_refused() {
    let version = Some("*to = 10020;");
    let Some(error) = refusal("cuDriverGetVersion", version, 0) else {
        return;
    };
    says(&error, &["CUDA 10.2", "CUDA 11.0", "update the driver"]);
}

#[test]
fn drivers_without_a_function_are_refused_and_the_function_is_named() {
    for (function, ..) in FUNCTIONS {
        let Some(error) = refusal(function, None, 0) else {
            return;
        };
        assert_eq!(error, DriverError::Missing { function });
        says(&error, &[function, "update the driver"]);
    }
}

#[test]
fn drivers_that_do_not_start_say_what_they_return() {
    let starts = ["cuInit", "cuDeviceGetCount", "cuDevicePrimaryCtxRetain"];
    for function in starts {
        let Some(error) = refusal(function, Some("return 803;"), 0) else {
            return;
        };
        says(
            &error,
            &[function, "CUDA_ERROR_OF_A_TEST (a test)", "nvidia-smi"],
        );
    }
    let error = refusal("cuDriverGetVersion", Some("return 3;"), 0);
    says(&error.unwrap(), &["cuDriverGetVersion returns 3"]);
}

#[test]
fn gpus_that_there_are_not_are_counted() {
    for (count, number) in [("*to = 0;", 0), ("*to = 1;", 1), ("*to = 2;", u32::MAX)] {
        let Some(error) = refusal("cuDeviceGetCount", Some(count), number) else {
            return;
        };
        assert!(matches!(error, DriverError::NoDevice { .. }), "{error}");
        says(&error, &[&number.to_string(), "nvidia-smi -L"]);
    }
}

/// The fault of a device whose driver has a function that fails.
fn fault(
    name: &str,
    instead: &str,
    work: impl FnOnce(&mut DriverDevice) -> Result<(), CudaFault>,
) -> Option<CudaFault> {
    let fake = Fake::with(&[(name, Some(instead))])?;
    Some(work(&mut fake.open(0).unwrap()).unwrap_err())
}

#[test]
fn too_little_memory_is_told_with_what_is_left() {
    let work = |device: &mut DriverDevice| device.allocate(4000, 1).map(drop);
    let Some(fault) = fault("cuMemAlloc_v2", "return 2;", work) else {
        return;
    };
    assert_eq!(fault.status, Status::MEMORY_ALLOCATION);
    says(
        &fault.message,
        &["4000 bytes", "300 of 5000 bytes free", "nvidia-smi"],
    );
}

#[test]
fn a_gpu_that_is_lost_in_the_middle_stays_lost() {
    for (function, code) in [
        ("cuMemcpyHtoD_v2", 46),
        ("cuMemcpyDtoH_v2", 999),
        ("cuStreamQuery", 214),
    ] {
        let work = |device: &mut DriverDevice| {
            let block = device.allocate(8, 1)?;
            let module = device.load(PTX.as_bytes())?;
            let kernel = device.kernel(module, "outside")?.0;
            let launch = KernelLaunch {
                kernel,
                grid: [1; 3],
                block: [1; 3],
                ..KernelLaunch::default()
            };
            let calls = [
                device.write(block, &[1]),
                device.read_into(block, &mut [0]),
                device.launch(&launch, &LaunchContext::default()),
            ];
            let first = calls.into_iter().find_map(Result::err).unwrap();
            assert_eq!(
                device.fill(block, reuselens_cuda::FillValue::Byte(0), 1),
                Err(first.clone())
            );
            Err(first)
        };
        let Some(fault) = fault(function, &format!("return {code};"), work) else {
            return;
        };
        assert_eq!(fault.status, Status(code));
        let function = function.trim_end_matches("_v2");
        says(
            &fault.message,
            &[function, "CUDA_ERROR_OF_A_TEST", "start the program again"],
        );
    }
}

#[test]
fn ptx_that_a_driver_does_not_take_is_explained() {
    let work = |device: &mut DriverDevice| device.load(PTX.as_bytes()).map(drop);
    for (code, words) in [
        (222, ["one for CUDA 12.4", "newer driver"]),
        (218, [".target", "capability"]),
    ] {
        let Some(fault) = fault("cuModuleLoadDataEx", &format!("return {code};"), work) else {
            return;
        };
        assert_eq!(fault.status, Status(code));
        says(&fault.message, &words);
    }
}

#[test]
fn a_wait_for_a_kernel_that_never_ends_ends_by_the_flag() {
    let folder = TempDir::new().unwrap();
    let begun = folder.path().join("begun");
    let query = format!("fclose(fopen(\"{}\", \"w\")); return 600;", begun.display());
    // To give memory back would wait for the kernel.
    let others = [
        ("cuStreamQuery", Some(&*query)),
        ("cuMemFree_v2", Some("__builtin_trap();")),
        ("cuModuleUnload", Some("__builtin_trap();")),
    ];
    let Some(fake) = Fake::with(&others) else {
        return;
    };
    let mut device = fake.open(0).unwrap();
    device.allocate(8, 1).unwrap();
    let module = device.load(PTX.as_bytes()).unwrap();
    let launch = KernelLaunch {
        kernel: device.kernel(module, "outside").unwrap().0,
        grid: [1; 3],
        block: [1; 3],
        ..KernelLaunch::default()
    };
    let stop = device.stop();
    let waiting = std::thread::spawn(move || device.launch(&launch, &LaunchContext::default()));
    while !begun.exists() {
        std::thread::yield_now();
    }
    stop.store(true, Ordering::Relaxed);
    let fault = waiting.join().unwrap().unwrap_err();
    assert_eq!(fault.status, Status::TIMEOUT);
    says(&fault.message, &["outside", "not waited for"]);
}

#[test]
fn code_of_several_files_is_refused() {
    let Some(fake) = Fake::with(&[]) else {
        return;
    };
    let mut device = fake.open(0).unwrap();
    let fault = device.load(&linked([PTX, PTX])).unwrap_err();
    assert_eq!(fault.status, Status::NOT_SUPPORTED);
    says(&fault.message, &["2 files", "-rdc=true"]);
}

/// The fat binaries of a program that nvcc linked of files: machine code, then each file's PTX.
fn linked(files: [&str; 2]) -> Vec<u8> {
    const PTX_IMAGE: u16 = 1;
    const MACHINE_CODE: u16 = 2;
    let container = |kind: u16, content: &str| {
        let mut content = content.as_bytes().to_vec();
        content.resize(content.len().next_multiple_of(8), b' ');
        let mut head = [0; 64];
        head[..2].copy_from_slice(&kind.to_le_bytes());
        head[4..8].copy_from_slice(&64_u32.to_le_bytes());
        head[8..16].copy_from_slice(&(content.len() as u64).to_le_bytes());
        let mut container = 0xba55_ed50_u32.to_le_bytes().to_vec();
        container.extend([1, 0, 16, 0]);
        container.extend((64 + content.len() as u64).to_le_bytes());
        container.extend(head);
        container.extend(content);
        container
    };
    let files = files.map(|file| container(PTX_IMAGE, file)).concat();
    [container(MACHINE_CODE, "linked"), files].concat()
}
