//! Tests that run in a process of their own, which finds the stand-in for CUDA's driver.
#![allow(dead_code, reason = "each binary of tests uses a part")]

use std::process::{Command, Output};

use reuselens_cuda::{CudaServer, Interpreter, KernelCount, KernelCounts, Refused};
use reuselens_ptx::Options;

/// The variable that names the case for the process.
pub const CASE: &str = "REUSELENS_DEVICE_CASE";
/// Bytes of the interpreter.
const MEMORY: u64 = 256 << 20;

/// The interpreter, as the processes have it.
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
pub fn done(kernels: &[KernelCount]) -> Vec<KernelCount> {
    let done = kernels.iter().filter(|kernel| kernel.launches > 0);
    done.cloned()
        .map(|kernel| KernelCount {
            failed: 0,
            ..kernel
        })
        .collect()
}
