//! Managed variables of programs that clang compiled with our headers. What clang keeps of such a
//! variable on the host is an ordinary variable, at another address than the device's. It is in a
//! section that the program reports before its variables are registered.

use std::ops::Range;
use std::sync::Mutex;

use super::blocks;
use super::lock;
use super::modules;
use crate::status::Status;

struct Managed {
    /// The sections of the program and its libraries.
    sections: Vec<Range<usize>>,
    /// Registered, and not yet filled with the values of the device.
    waiting: Vec<usize>,
}

static MANAGED: Mutex<Managed> = Mutex::new(Managed {
    sections: Vec::new(),
    waiting: Vec::new(),
});

/// Called by the start-up code of our headers, before that of clang registers variables.
#[unsafe(no_mangle)]
pub extern "C" fn __cudaReuselensManaged(begin: usize, end: usize) {
    lock(&MANAGED).sections.push(begin..end);
}

/// Takes a variable that was registered for the first time, if it is managed.
pub fn registered(host: usize) {
    let mut managed = lock(&MANAGED);
    let is_managed = managed
        .sections
        .iter()
        .any(|section| section.contains(&host));
    if is_managed {
        managed.waiting.push(host);
    }
}

/// Gives the variables of a module that is now registered their first values, and makes them those
/// of the device whenever a kernel runs.
pub fn begin() {
    let waiting = std::mem::take(&mut lock(&MANAGED).waiting);
    for host in waiting {
        if place(host).is_err() {
            modules::report_missing("__managed__ variable");
        }
    }
}

fn place(host: usize) -> Result<(), Status> {
    let (device, bytes) = modules::variable(host)?;
    blocks::mirror_apart(host, device as usize, bytes as usize)
}

/// Parameters of a kernel with the addresses of the device where they are those of such variables.
/// What is behind pointers stays as it is.
pub fn translate(params: &mut [u8]) {
    if lock(&MANAGED).sections.is_empty() {
        return;
    }
    for word in params.chunks_exact_mut(8) {
        let address = usize::from_le_bytes(word.try_into().unwrap_or_default());
        if let Some(device) = blocks::apart_on_device(address) {
            word.copy_from_slice(&device.to_le_bytes());
        }
    }
}
