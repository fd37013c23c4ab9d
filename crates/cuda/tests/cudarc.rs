//! A Rust program that loads the driver's library while it runs, by the crate `cudarc`.
//!
//! Needs that crate among those that Cargo has downloaded.

use std::process::Command;

use reuselens_cuda::{CudaUse, cuda_use};
use tempfile::TempDir;

use crate::common::{launches_one_kernel, programs};

#[test]
fn program_on_cudarc_runs() {
    let folder = TempDir::new().unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--locked", "--manifest-path"])
        .arg(programs().join("cudarc/Cargo.toml"))
        .arg("--target-dir")
        .arg(folder.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&built.stderr);
    if errors.contains("--offline") || errors.contains("no matching package") {
        reuselens_testing::skip("the crate cudarc is not downloaded");
        return;
    }
    assert!(built.status.success(), "{errors}");
    let program = folder.path().join("debug/scale");
    assert_eq!(cuda_use(&program), Some(CudaUse::Shared));
    launches_one_kernel(&program);
}
