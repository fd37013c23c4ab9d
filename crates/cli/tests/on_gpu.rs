//! `profile --device cuda`: programs whose kernels run by CUDA's driver, with hooks. The driver is
//! the stand-in, whose GPU is the interpreter, so the report must be that of `profile` without a
//! GPU.

#[path = "../../cuda-driver/tests/fake/mod.rs"]
mod fake;

use std::process::Command;

use reuselens_cuda::{CudaServer, Interpreter, KernelCounts};
use serde_json::Value;

use crate::common::{Done, Place, has, source};
use fake::Fake;

/// Builds a program of `programs/cuda` by clang.
fn by_clang(place: &Place, path: &str, program: &str, flags: &[&str]) {
    let file = source(path);
    let mut command = place.command(&["nvcc", "-O2", "-g", "-lineinfo", "-o", program, &file]);
    Done::of(command.args(flags).env("REUSELENS_NVCC", "clang-19")).succeeds();
}

/// Runs a command whose driver is the stand-in; what it did, and the kernels that the driver ran.
fn with_driver(command: &mut Command) -> (Done, usize) {
    let interpreter = Interpreter::new(4 << 30, Default::default(), KernelCounts::default());
    let server = CudaServer::start(interpreter).unwrap();
    let done = Done::of(command.envs(server.environment()));
    let (refused, _, interpreter) = server.finish();
    assert!(refused.missing.is_empty(), "{refused:?} {done:?}");
    (done, interpreter.into_watch().kernels().len())
}

/// Profiles a program without a GPU, and by a driver; both runs as JSON.
fn both(place: &Place, program: &str, arguments: &[&str]) -> [Value; 2] {
    let path = format!("./{program}");
    let words = |output, more: &[&'static str]| {
        let words = [&["profile", "-f", "-o", output], more].concat();
        [words, vec!["--", &path], arguments.to_vec()].concat()
    };
    place.run(&words("plain", &[])).succeeds();
    let mut command = place.command(&words("gpu", &["--device", "cuda"]));
    let (done, kernels) = with_driver(&mut command);
    done.succeeds();
    assert!(kernels > 0, "the driver ran no kernel");
    ["plain.rlgpu", "gpu.rlgpu"].map(|run| place.json(run).0)
}

/// That two runs are equal, part by part.
#[track_caller]
fn assert_equal(program: &str, [plain, gpu]: &[Value; 2]) {
    assert_eq!(
        paths_that_differ(plain, gpu, String::new()),
        [""; 0],
        "{program}"
    );
}

/// Where two values differ, up to some places.
fn paths_that_differ(one: &Value, other: &Value, at: String) -> Vec<String> {
    let mut found = Vec::new();
    match (one, other) {
        (Value::Object(one), Value::Object(other)) if one.keys().eq(other.keys()) => {
            for (key, value) in one {
                found.extend(paths_that_differ(value, &other[key], format!("{at}.{key}")));
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                found.extend(paths_that_differ(one, other, format!("{at}[{index}]")));
            }
        }
        _ if one == other => {}
        _ => found.push(format!("{at}: {one} and {other}")),
    }
    found.truncate(20);
    found
}

#[test]
fn programs_by_a_driver_have_the_report_of_the_interpreter() {
    if !has("clang-19") {
        return;
    }
    let place = Place::new();
    for (name, arguments) in [
        ("syrk", &["48", "48"][..]),
        ("backprop", &["512"]),
        ("hotspot", &["64", "6"]),
        ("nw", &["64"]),
        ("api/streams", &[]),
        ("api/warps", &[]),
    ] {
        let program = name.rsplit('/').next().unwrap();
        by_clang(&place, &format!("cuda/{name}.cu"), program, &[]);
        assert_equal(program, &both(&place, program, arguments));
    }
}

/// Adds 1 to 1,024 numbers.
const PROGRAM: &str = r#"
#include <cstdio>
__global__ void add(int *data) { data[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
int main()
{
    int *data;
    if (cudaMalloc(&data, 4096)) return 3;
    add<<<8, 128>>>(data);
    if (cudaDeviceSynchronize()) return 4;
    printf("done\n");
}
"#;

/// A folder with the program, or `None` after saying that there is no compiler.
fn program() -> Option<Place> {
    if !has("clang-19") {
        return None;
    }
    let place = Place::new();
    place.write("add.cu", PROGRAM);
    let mut command = place.command(&["nvcc", "-O2", "-o", "add", "add.cu"]);
    Done::of(command.env("REUSELENS_NVCC", "clang-19")).succeeds();
    Some(place)
}

/// Profiles the program with a driver that fails in one way.
fn with_fake(place: &Place, device: &str, others: &[(&str, Option<&str>)]) -> Option<Done> {
    // Blocks of up to as many threads.
    let attribute = ("cuFuncGetAttribute", Some("*to = 1024;"));
    let fake = Fake::with(&[others, &[attribute]].concat())?;
    let words = ["profile", "--device", device, "-fo", "run", "--", "./add"];
    let mut command = place.command(&words);
    Some(Done::of(command.env("LD_LIBRARY_PATH", fake.folder())))
}

/// What is in the folder of the program without it.
fn written(place: &Place) -> Vec<String> {
    let own = ["add", "add.cu"];
    let mut files = place.files();
    files.retain(|file| !own.contains(&file.as_str()));
    files
}

#[test]
fn drivers_that_give_no_gpu_are_one_message_and_nothing_is_run() {
    let Some(place) = program() else { return };
    for (function, instead, words) in [
        ("cuDriverGetVersion", Some("*to = 10020;"), "CUDA 10.2"),
        ("cuInit", Some("return 100;"), "cuInit returns"),
        ("cuMemAlloc_v2", None, "no function cuMemAlloc_v2"),
        ("cuDeviceGetCount", Some("*to = 0;"), "no GPU number 0"),
    ] {
        let Some(done) = with_fake(&place, "cuda", &[(function, instead)]) else {
            return;
        };
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.out.is_empty(), "{done:?}");
        assert_eq!(done.err.trim().lines().count(), 1, "{done:?}");
        for word in [words, "--device"] {
            assert!(done.err.contains(word), "{word:?} is not in {done:?}");
        }
        assert_eq!(written(&place), [""; 0]);
        // The interpreter runs the kernels where there is no GPU.
        let done = with_fake(&place, "auto", &[(function, instead)]).unwrap();
        done.succeeds().prints(&["done"]);
        for file in written(&place) {
            std::fs::remove_file(place.path(&file)).unwrap();
        }
    }
}

#[test]
fn gpus_that_are_lost_in_the_middle_are_one_message_and_nothing_is_written() {
    let Some(place) = program() else { return };
    for code in [46, 214, 999] {
        let query = format!("return {code};");
        let Some(done) = with_fake(&place, "cuda", &[("cuStreamQuery", Some(&query))]) else {
            return;
        };
        assert_ne!(done.code, 0, "{done:?}");
        for word in [
            "CUDA_ERROR_OF_A_TEST",
            "start the program again",
            "--device",
        ] {
            assert!(done.err.contains(word), "{word:?} is not in {done:?}");
        }
        assert_eq!(
            done.err.matches("CUDA_ERROR_OF_A_TEST").count(),
            1,
            "{done:?}"
        );
        assert_eq!(written(&place), [""; 0]);
    }
}

#[test]
fn gpus_with_too_little_memory_are_one_message_each() {
    let Some(place) = program() else { return };
    let Some(done) = with_fake(&place, "cuda", &[("cuMemAlloc_v2", Some("return 2;"))]) else {
        return;
    };
    // The program gets CUDA's error.
    assert_eq!(done.code, 3, "{done:?}");
    for word in ["4096 bytes", "300 of 5000 bytes free", "nvidia-smi"] {
        assert!(done.err.contains(word), "{word:?} is not in {done:?}");
    }
    // Enough for the program, and not for records.
    let alloc = "static long at; if (bytes > 1 << 20) return 2; *to = at += 1 << 20;";
    let variable = "*to = 1L << 40; *bytes = 40;";
    let others = [
        ("cuMemAlloc_v2", Some(alloc)),
        ("cuModuleGetGlobal_v2", Some(variable)),
    ];
    let done = with_fake(&place, "cuda", &others).unwrap();
    assert_eq!(done.code, 0, "{done:?}");
    for word in [
        "nothing is known of 1 launch of add",
        "memory for its records",
    ] {
        assert!(done.err.contains(word), "{word:?} is not in {done:?}");
    }
    let run = place.json("run.rlgpu").0;
    assert_eq!(run["unseen"][0]["kernel"], "add");
    assert!(run["kernels"].as_array().unwrap().is_empty());
}
