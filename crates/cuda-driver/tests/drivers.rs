//! What only a driver does, on the stand-in.

use reuselens_cuda::{CudaFault, Device, KernelLaunch, Status};
use reuselens_cuda_driver::DriverDevice;
use reuselens_gpu_advisor::LaunchContext;

use crate::cases::PTX;
use crate::inside::{inside, interpreter};

/// A kernel that prints a line.
const PRINTS: &str = ".version 7.0\n.target sm_80\n.address_size 64\n\
    .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
    .global .align 1 .b8 text[7] = {104, 101, 108, 108, 111, 10, 0};\n\
    .visible .entry greet() {\n\
    .reg .b64 %d<3>; .reg .b32 %r<2>;\n\
    mov.u64 %d1, text; cvta.global.u64 %d1, %d1; mov.u64 %d2, 0;\n\
    { .param .b64 f; .param .b64 a; .param .b32 r;\n\
    st.param.b64 [f], %d1; st.param.b64 [a], %d2;\n\
    call.uni (r), vprintf, (f, a);\n\
    ld.param.b32 %r1, [r]; }\n\
    ret;\n}\n";

fn launch_one(device: &mut impl Device, ptx: &str, name: &str) -> Result<(), CudaFault> {
    let module = device.load(ptx.as_bytes())?;
    let launch = KernelLaunch {
        kernel: device.kernel(module, name)?.0,
        grid: [1; 3],
        block: [1; 3],
        ..KernelLaunch::default()
    };
    device.launch(&launch, &LaunchContext::default())
}

#[test]
fn what_kernels_print_is_printed_by_the_driver() {
    let mut device = interpreter();
    launch_one(&mut device, PRINTS, "greet").unwrap();
    assert_eq!(device.take_printed(), b"hello\n");
    let printed = inside("drivers::kernel_prints", "").passes("prints");
    assert!(printed.contains("hello\n"), "{printed}");
}

#[test]
#[ignore = "runs in a process with the stand-in, which another test starts"]
fn kernel_prints() {
    let mut device = DriverDevice::open(0).unwrap();
    launch_one(&mut device, PRINTS, "greet").unwrap();
    assert!(device.take_printed().is_empty());
}

#[test]
fn all_calls_after_a_bad_access_say_that_the_device_is_lost() {
    inside("drivers::device_is_lost", "").passes("lost");
}

#[test]
#[ignore = "runs in a process with the stand-in, which another test starts"]
fn device_is_lost() {
    let mut device = DriverDevice::open(0).unwrap();
    let block = device.allocate(64, 1).unwrap();
    let first = launch_one(&mut device, PTX, "outside").unwrap_err();
    assert!(
        first.message.contains("start the program again"),
        "{first:?}"
    );
    let faults = [
        device.read_into(block, &mut [0]).unwrap_err(),
        device.write(block, &[0]).unwrap_err(),
        device.copy(block, block + 8, 8).unwrap_err(),
        device.allocate(64, 1).unwrap_err(),
        device.free(block).unwrap_err(),
        device.load(PTX.as_bytes()).unwrap_err(),
        launch_one(&mut device, PTX, "outside").unwrap_err(),
    ];
    for fault in faults {
        assert_eq!(fault, first);
    }
}

#[test]
fn devices_work_on_any_thread_and_beside_others() {
    inside("drivers::two_devices", "").passes("two");
}

#[test]
#[ignore = "runs in a process with the stand-in, which another test starts"]
fn two_devices() {
    let mut one = DriverDevice::open(0).unwrap();
    let other = DriverDevice::open(0).unwrap();
    let block = one.allocate(64, 1).unwrap();
    one.write(block, &[7; 64]).unwrap();
    // Memory of one is none of the other.
    let status = other.read_into(block, &mut [0]).unwrap_err().status;
    assert_eq!(status, Status::INVALID_VALUE);
    drop(other);
    let read = std::thread::spawn(move || {
        let mut bytes = [0; 64];
        one.read_into(block, &mut bytes).unwrap();
        // A kernel of a module that has ended is none.
        let module = one.load(PTX.as_bytes()).unwrap();
        let kernel = one.kernel(module, "outside").unwrap().0;
        one.unload(module).unwrap();
        let launch = KernelLaunch {
            kernel,
            grid: [1; 3],
            block: [1; 3],
            ..KernelLaunch::default()
        };
        let fault = one.launch(&launch, &LaunchContext::default()).unwrap_err();
        assert_eq!(fault.status, Status::INVALID_FUNCTION);
        bytes
    });
    assert_eq!(read.join().unwrap(), [7; 64]);
}
