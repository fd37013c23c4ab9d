//! A device with hooks does what all devices do, and a driver's device gives the records that the
//! interpreter gives.

use reuselens_cuda::{
    CudaFault, Device, HookWatch, HookedDevice, HookedDeviceOptions, HookedLaunch, Interpreter,
    KernelCounts,
};
use reuselens_cuda_driver::DriverDevice;
use reuselens_gpu_advisor::LaunchContext;
use reuselens_warp::WarpStream;

use crate::cases;
use crate::inside::{inside, interpreter};

/// Kernels, sites, lanes and kinds of all records. Addresses are the devices' own.
#[derive(Default)]
struct Summary(String);

impl HookWatch for Summary {
    fn end(&mut self, launch: &HookedLaunch<'_>, _: &LaunchContext) -> Result<(), CudaFault> {
        assert_eq!(launch.lost(), 0);
        let mut stream = launch.stream().unwrap();
        let stream = WarpStream::read(&mut stream).unwrap();
        let kernel = &launch.launch().kernel;
        for row in stream.launches[0].batches.iter().flat_map(|it| it.rows()) {
            let place = [row.site, row.phase, row.block, row.warp, row.mask];
            self.0 += &format!("{kernel} {place:?} {:?}; ", row.kind);
        }
        Ok(())
    }

    fn unseen(&mut self, _: &str, _: &LaunchContext, _: &str) {}
}

fn hooked<D: Device>(device: D) -> HookedDevice<D, Summary> {
    let options = HookedDeviceOptions {
        buffer_bytes: 1 << 20,
        ..HookedDeviceOptions::default()
    };
    HookedDevice::new(device, options, Summary::default())
}

#[test]
fn devices_with_hooks_do_what_devices_do() {
    type Hooked = HookedDevice<Interpreter<KernelCounts>, Summary>;
    for (_, case) in cases::all::<Hooked>() {
        case(&mut hooked(interpreter()));
    }
}

/// What the kernels of two cases write, as one line.
fn summary<D: Device>(device: D) -> String {
    let mut device = hooked(device);
    for (name, case) in cases::all::<HookedDevice<D, Summary>>() {
        let is_one = [
            "kernels_get_their_parameters",
            "blocks_of_a_cooperative_launch_meet",
        ];
        if is_one.contains(&name) {
            case(&mut device);
        }
    }
    device.into_parts().1.0
}

#[test]
fn drivers_give_the_records_of_the_interpreter() {
    let expected = summary(interpreter());
    assert!(expected.contains("reverse [") && expected.contains("meet ["));
    let printed = inside("hooked::records_of_a_driver", "").passes("hooks");
    assert!(printed.contains(&expected), "{printed}\n{expected}");
}

#[test]
#[ignore = "runs in a process with the stand-in, which another test starts"]
fn records_of_a_driver() {
    println!("{}", summary(DriverDevice::open(0).unwrap()));
}
