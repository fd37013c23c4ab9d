//! Each case on the interpreter, and through the driver of the stand-in: what must hold holds on
//! both, and the kernels did the same.

use reuselens_cuda::{Interpreter, KernelCounts};
use reuselens_cuda_driver::DriverDevice;

use crate::cases;
use crate::inside::{CASE, done, inside, interpreter};

/// The test that is run in a process with the stand-in.
const INSIDE: &str = "equality::case_inside_of_the_stand_in";

#[test]
fn devices_are_equal() {
    for (name, case) in cases::all::<Interpreter<KernelCounts>>() {
        let mut device = interpreter();
        case(&mut device);
        let inside = inside(INSIDE, name);
        inside.passes(name);
        let watch = device.into_watch();
        assert_eq!(done(watch.kernels()), done(&inside.kernels), "{name}");
    }
}

#[test]
#[ignore = "runs in a process with the stand-in, which `devices_are_equal` starts"]
fn case_inside_of_the_stand_in() {
    let wanted = std::env::var(CASE).unwrap();
    let cases = cases::all::<DriverDevice>();
    let (_, case) = cases.iter().find(|(name, _)| *name == wanted).unwrap();
    case(&mut DriverDevice::open(0).unwrap());
}
