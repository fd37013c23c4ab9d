//! A program that has a GPU by its driver, under `profile`: that is how the crate `cuda-driver` is
//! tested where there is no GPU. The program is this binary, which runs one of the cases of that
//! crate.

#[path = "../../cuda-driver/tests/cases.rs"]
mod cases;

use reuselens_cuda_driver::DriverDevice;

use crate::common::Place;

/// The variable that names the case for the program.
const CASE: &str = "REUSELENS_DEVICE_CASE";

/// Runs a case under `profile`; its status and what was printed.
fn profile(case: &str) -> (Option<i32>, String) {
    let place = Place::new();
    let own = std::env::current_exe().unwrap();
    let mut profile = place.command(&["profile", "--cuda", "-o", "case", "--"]);
    let done = profile
        .arg(own)
        .args([
            "driver_device::case_under_profile",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(CASE, case)
        .output()
        .unwrap();
    let printed = [done.stdout, done.stderr].concat();
    (done.status.code(), String::from_utf8(printed).unwrap())
}

#[test]
fn devices_by_a_driver_do_under_profile_what_the_interpreter_does() {
    let cases = cases::all::<DriverDevice>();
    for (name, _) in cases {
        let (code, printed) = profile(name);
        assert_eq!(code, Some(0), "{name}: {printed}");
        assert!(printed.contains("1 passed"), "{name}: {printed}");
    }
    // A case that fails is a program that fails: the exit code of its tests is passed on.
    let (code, printed) = profile("no such case");
    assert_eq!(code, Some(101), "{printed}");
}

#[test]
#[ignore = "runs under `profile`, which another test starts"]
fn case_under_profile() {
    let wanted = std::env::var(CASE).unwrap();
    let cases = cases::all::<DriverDevice>();
    let found = cases.iter().find(|(name, _)| *name == wanted);
    let (_, case) = found.expect("a case of that name");
    case(&mut DriverDevice::open(0).unwrap());
}
