//! What a device does whose driver fails in one way.

use std::ffi::OsStr;
use std::sync::atomic::Ordering;

use reuselens_cuda::{CudaFault, Device, FillValue, KernelLaunch, Status};
use reuselens_cuda_driver::{DriverDevice, DriverError};
use reuselens_gpu_advisor::LaunchContext;
use tempfile::TempDir;

use crate::cases::PTX;
use crate::fake::{FUNCTIONS, Fake};

impl Fake {
    fn open(&self, number: u32) -> Result<DriverDevice, DriverError> {
        open(self.library().as_os_str(), number)
    }
}

/// Opens one of these drivers, or what is no library.
fn open(library: &OsStr, number: u32) -> Result<DriverDevice, DriverError> {
    // SAFETY: the functions above have the types of a driver's, and access only what they are
    // given. Of what is no library, nothing runs.
    unsafe { DriverDevice::open_library(library, number) }
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
        let error = open(path.as_os_str(), 0).unwrap_err();
        assert!(matches!(error, DriverError::NoLibrary { .. }), "{error}");
        says(
            &error,
            &["no CUDA driver", "libcuda.so.1", "install", "nvidia-smi"],
        );
    }
    let zero = open("a\0b".as_ref(), 0).unwrap_err();
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
fn open_rejects_missing_gpu() {
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
fn out_of_memory_names_bytes_that_are_left() {
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
                device.fill(block, FillValue::Byte(0), 1),
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
fn log_of_the_compiler_is_part_of_the_message() {
    // As drivers do, it replaces the size of the log by the bytes that it wrote.
    let instead = "if (n != 2 || options[0] != 5 || options[1] != 6) return 1; \
        char *log = values[0]; long room = (long)values[1]; \
        memset(log, 'x', room); strcpy(log, \"line 3: no such register\"); \
        values[1] = (void *)strlen(log); return 218;";
    let work = |device: &mut DriverDevice| device.load(PTX.as_bytes()).map(drop);
    let Some(fault) = fault("cuModuleLoadDataEx", instead, work) else {
        return;
    };
    says(&fault.message, &["line 3: no such register; PTX runs"]);
}

#[test]
fn modules_that_are_refused_after_loading_are_unloaded() {
    let others = [
        ("cuModuleLoadDataEx", Some("*to = 16; counted++;")),
        ("cuModuleUnload", Some("counted--;")),
        ("cuMemGetInfo_v2", Some("*free = counted; *all = 9;")),
        (
            "cuModuleGetGlobal_v2",
            Some("static int found; if (found++) return 1; to[0] = 4096; *bytes = 4;"),
        ),
    ];
    let Some(fake) = Fake::with(&others) else {
        return;
    };
    let mut device = fake.open(0).unwrap();
    let fault = device.load(PTX.as_bytes()).unwrap_err();
    says(&fault.message, &["cuModuleGetGlobal returns"]);
    assert_eq!(device.memory().0, 0, "modules that are loaded");
    // The variable that was found before the error.
    let read = device.read_into(4096, &mut [0]);
    assert_eq!(read.unwrap_err().status, Status::INVALID_VALUE);
}

#[test]
fn late_errors_belong_to_the_call_that_began_the_work() {
    type Work = fn(&mut DriverDevice) -> Result<(), CudaFault>;
    /// A call, the function that fails later than it returns, and how often it succeeds before.
    const CALLS: [(&str, u32, Work); 6] = [
        ("cuMemsetD8", 0, |device| device.allocate(64, 1).map(drop)),
        ("cuMemsetD8", 1, |device| {
            let block = device.allocate(64, 1)?;
            device.fill(block, FillValue::Byte(1), 2)
        }),
        ("cuMemsetD16", 0, |device| {
            let block = device.allocate(64, 1)?;
            device.fill(block, FillValue::Half(1), 2)
        }),
        ("cuMemsetD32", 0, |device| {
            let block = device.allocate(64, 1)?;
            device.fill(block, FillValue::Word(1), 2)
        }),
        ("cuMemcpyDtoD", 0, |device| {
            let block = device.allocate(64, 1)?;
            device.copy(block, block + 32, 32)
        }),
        ("cuMemcpyHtoD", 0, |device| {
            let block = device.allocate(64, 1)?;
            device.write(block, &[1, 2])
        }),
    ];
    for (call, before, work) in CALLS {
        let begins = format!("counted += 1 << 8; if (counted >> 8 > {before}) counted |= 1;");
        let function = format!("{call}_v2");
        let others = [
            (&*function, Some(&*begins)),
            ("cuStreamSynchronize", Some("if (counted & 1) return 700;")),
        ];
        let Some(fake) = Fake::with(&others) else {
            return;
        };
        let fault = work(&mut fake.open(0).unwrap()).unwrap_err();
        assert_eq!(fault.status, Status::ILLEGAL_ADDRESS, "{call}");
        says(&fault.message, &[&format!("{call} returns")]);
    }
}

#[test]
fn launches_restore_the_stack_that_others_set() {
    let others = [
        ("cuLaunchKernel", Some("counted = stack;")),
        ("cuMemGetInfo_v2", Some("*free = stack; *all = counted;")),
    ];
    let Some(fake) = Fake::with(&others) else {
        return;
    };
    let mut devices = [0; 2].map(|gpu| fake.open(gpu).unwrap());
    let launches = devices.each_mut().map(|device| {
        let module = device.load(PTX.as_bytes()).unwrap();
        KernelLaunch {
            kernel: device.kernel(module, "outside").unwrap().0,
            grid: [1; 3],
            block: [1; 3],
            ..KernelLaunch::default()
        }
    });
    for (number, stack_bytes) in [
        (0, Some(4096)),
        (1, Some(8192)),
        (0, Some(4096)),
        (1, None),
        (0, Some(1024)),
        (0, None),
    ] {
        let launch = KernelLaunch {
            stack_bytes,
            ..launches[number].clone()
        };
        devices[number]
            .launch(&launch, &LaunchContext::default())
            .unwrap();
        let of_the_launch = stack_bytes.unwrap_or(1024);
        assert_eq!(devices[number].memory(), (1024, of_the_launch));
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

/// Kinds of images of fat binaries.
const PTX_IMAGE: u16 = 1;
const MACHINE_CODE: u16 = 2;

/// The fat binaries of a program that nvcc linked of files: machine code, then each file's PTX.
fn linked(files: [&str; 2]) -> Vec<u8> {
    let files = files.map(|file| container(PTX_IMAGE, file)).concat();
    [container(MACHINE_CODE, "linked"), files].concat()
}

/// A fat binary with one image.
fn container(kind: u16, content: &str) -> Vec<u8> {
    let mut content = content.as_bytes().to_vec();
    content.resize(content.len().next_multiple_of(8), b' ');
    let mut head = [0; 64];
    head[..2].copy_from_slice(&kind.to_le_bytes());
    head[4..8].copy_from_slice(&64_u32.to_le_bytes());
    head[8..16].copy_from_slice(&(content.len() as u64).to_le_bytes());
    head[28..32].copy_from_slice(&90_u32.to_le_bytes());
    let mut container = 0xba55_ed50_u32.to_le_bytes().to_vec();
    container.extend([1, 0, 16, 0]);
    container.extend((64 + content.len() as u64).to_le_bytes());
    container.extend(head);
    container.extend(content);
    container
}

/// What a driver says of the parameters of a kernel: a pointer and a number.
const PARAMS: &str = "int cuFuncGetParamInfo(long f, long n, long *at, long *bytes) {\
    if (n > 1) return 1; *at = 8 * n; *bytes = n ? 4 : 8; return 0; }";

#[test]
fn machine_code_runs_with_the_parameters_that_the_driver_reports() {
    let attribute = Some("*to = 70;");
    let Some(fake) = Fake::with_more(&[("cuFuncGetAttribute", attribute)], PARAMS) else {
        return;
    };
    let mut device = fake.open(0).unwrap();
    let module = device.load(&container(MACHINE_CODE, "code")).unwrap();
    let (kernel, info) = device.kernel(module, "k").unwrap();
    assert_eq!((info.param_bytes, info.architecture), (12, 70));
    assert_eq!(info.params, [(0, 8), (8, 4)]);
    let launch = |bytes| KernelLaunch {
        kernel,
        grid: [1; 3],
        block: [1; 3],
        params: vec![0; bytes],
        ..KernelLaunch::default()
    };
    let context = LaunchContext::default();
    assert_eq!(device.launch(&launch(12), &context), Ok(()));
    let status = device.launch(&launch(8), &context).unwrap_err().status;
    assert_eq!(status, Status::INVALID_CONFIGURATION);
}

#[test]
fn machine_code_without_known_parameters_is_refused_by_name() {
    let Some(fake) = Fake::with(&[]) else {
        return;
    };
    let mut device = fake.open(0).unwrap();
    let module = device.load(&container(MACHINE_CODE, "code")).unwrap();
    let fault = device.kernel(module, "k").unwrap_err();
    assert_eq!(fault.status, Status::NOT_SUPPORTED);
    let words = [
        "kernel k",
        "machine code",
        "CUDA 12.4",
        "update the driver",
        "-gencode",
    ];
    says(&fault.message, &words);
}
