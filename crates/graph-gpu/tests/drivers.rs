//! The three answers by a driver: that of the stand-in, whose GPU is the interpreter.

#[path = "../../cuda-driver/tests/inside/mod.rs"]
mod inside;
#[allow(dead_code, reason = "equality.rs uses the other part")]
mod kept;
#[path = "../../incremental/tests/oracle/mod.rs"]
mod oracle;

use inside::{CASE, done, inside, interpreter};
use kept::{Seen, WAYS, stream};
use reuselens_cuda::Device;
use reuselens_cuda_driver::DriverDevice;
use reuselens_graph::EdgeKind;
use reuselens_graph::generate::{RmatShares, delaunay, rmat};

/// Batches of 1 to 100 changes of a mesh and of a directed graph with hubs. All answers are
/// compared after each.
fn streams<D: Device>(device: impl Fn() -> D) -> [Seen; 2] {
    const SIZES: [(usize, usize); 3] = [(1, 10), (10, 5), (100, 3)];
    let (mesh, kind) = (delaunay(300, 1).unwrap(), EdgeKind::Directed);
    let hubs = rmat(kind, 8, 1_000, RmatShares::default(), 1).unwrap();
    [
        stream(
            (EdgeKind::Undirected, &mesh, 300),
            0.5,
            &SIZES,
            WAYS[0],
            device(),
        ),
        stream((kind, &hubs, 256), 0.9, &SIZES, WAYS[1], device()),
    ]
}

#[test]
fn answers_by_a_driver_equal_those_of_the_interpreter() {
    let seen = streams(interpreter);
    let inside = inside("answers_inside_of_the_stand_in", &format!("{seen:?}"));
    inside.passes("streams");
    let counts = done(&inside.kernels);
    assert!(counts.iter().any(|kernel| kernel.name == "triangles_count"));
    assert!(inside.kernels.iter().all(|kernel| kernel.failed == 0));
}

#[test]
#[ignore = "runs in a process with the stand-in, which another test starts"]
fn answers_inside_of_the_stand_in() {
    let seen = streams(|| DriverDevice::open(0).unwrap());
    assert_eq!(format!("{seen:?}"), std::env::var(CASE).unwrap());
}
