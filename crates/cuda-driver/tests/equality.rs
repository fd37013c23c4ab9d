//! Each case on the interpreter, and through the driver of the stand-in: what must hold holds on
//! both, and the kernels did the same.

use std::process::{Command, Output};

use reuselens_cuda::{CudaServer, Interpreter, KernelCount, KernelCounts, Refused};
use reuselens_cuda_driver::DriverDevice;
use reuselens_ptx::Options;

use crate::cases;

/// The variable that names the case for a process that finds the stand-in.
const CASE: &str = "REUSELENS_DEVICE_CASE";
/// The test that is run in such a process.
const INSIDE: &str = "equality::case_inside_of_the_stand_in";
/// Bytes of the interpreter.
const MEMORY: u64 = 64 << 20;

pub fn interpreter() -> Interpreter<KernelCounts> {
    Interpreter::new(MEMORY, Options::default(), KernelCounts::default())
}

/// What a process with the stand-in left.
pub struct Inside {
    pub output: Output,
    pub refused: Refused,
    pub kernels: Vec<KernelCount>,
}

impl Inside {
    /// That the test ran and passed; its output.
    pub fn passes(&self, case: &str) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (printed, errors) = (text(&self.output.stdout), text(&self.output.stderr));
        let refused = &self.refused;
        assert!(
            self.output.status.success() && printed.contains("1 passed"),
            "{case}: {printed}{errors} {refused:?}"
        );
        assert!(refused.missing.is_empty(), "{case}: {refused:?}");
        printed
    }
}

/// Runs a test of this binary in a process that finds the stand-in.
pub fn inside(test: &str, case: &str) -> Inside {
    let server = CudaServer::start(interpreter()).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--ignored", "--nocapture"])
        .envs(server.environment())
        .env(CASE, case)
        .output()
        .unwrap();
    let (refused, _, device) = server.finish();
    Inside {
        output,
        refused,
        kernels: device.into_watch().kernels().to_vec(),
    }
}

/// What launches did that ended well. Those that are refused may not reach the interpreter.
fn done(kernels: &[KernelCount]) -> Vec<KernelCount> {
    let done = kernels.iter().filter(|kernel| kernel.launches > 0);
    done.cloned()
        .map(|kernel| KernelCount {
            failed: 0,
            ..kernel
        })
        .collect()
}

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
