//! The programs of `programs/cuda`, compiled by nvcc and by clang, under `profile`: each checks its
//! own results.
//!
//! Needs nvcc (`NVCC` says which) or clang 19.

use std::process::Command;

use crate::common::{Done, Place, has, source};

/// The ten applications, each with small sizes.
const APPLICATIONS: [(&str, &[&str]); 10] = [
    ("backprop", &["512"]),
    ("bfs", &["6000", "6"]),
    ("bicg", &["96", "96"]),
    ("hotspot", &["64", "6"]),
    ("lavaMD", &["2"]),
    ("nn", &["5000"]),
    ("nw", &["64"]),
    ("srad_v2", &["64", "2"]),
    ("syr2k", &["48", "48"]),
    ("syrk", &["48", "48"]),
];

fn nvcc() -> Option<String> {
    let nvcc = std::env::var("NVCC").unwrap_or_else(|_| "nvcc".to_owned());
    has(&nvcc).then_some(nvcc)
}

/// Builds a program by clang with headers of ours.
fn by_clang(place: &Place, path: &str, program: &str, flags: &[&str]) {
    let file = source(path);
    let mut command = place.command(&["nvcc", "-O2", "-lineinfo", "-o", program, &file]);
    let command = command.args(flags).env("REUSELENS_NVCC", "clang-19");
    Done::of(command).succeeds();
}

/// Profiles a program, which must find its results right.
#[track_caller]
fn is_right(place: &Place, program: &str, arguments: &[&str]) -> Done {
    let path = format!("./{program}");
    let words = ["profile", "-f", "-o", program, "--", &path];
    let done = place.run(&[&words[..], arguments].concat()).succeeds();
    assert!(
        done.out.contains("\nok ") || done.out.starts_with("ok "),
        "{done:?}"
    );
    done
}

#[test]
fn applications_of_nvcc_are_right_with_both_runtimes() {
    let Some(nvcc) = nvcc() else { return };
    let place = Place::new();
    for (name, arguments) in APPLICATIONS {
        let object = format!("{name}.o");
        let file = source(&format!("cuda/{name}.cu"));
        let run = |words: &[&str]| {
            let mut command = Command::new(&nvcc);
            Done::of(command.current_dir(place.path("")).args(words)).succeeds()
        };
        run(&["-std=c++17", "-g", "-lineinfo", "-c", "-o", &object, &file]);
        for runtime in ["shared", "static"] {
            run(&["-cudart", runtime, "-o", name, &object]);
            let done = is_right(&place, name, arguments);
            if name == "bfs" {
                names_line_path_and_array(&place, &done);
            }
        }
    }
}

/// The report of `bfs` names the line that diverges with the calls from `main`, and the array that
/// is read badly with its allocations on both sides and its copy (figures 3.8 and 3.9 of the thesis
/// that the analyses are from).
fn names_line_path_and_array(place: &Place, done: &Done) {
    let has = |text: &str| assert!(done.out.contains(text), "'{text}' is not in: {}", done.out);
    has("bfs.cu:35");
    has("on visited (cudaMalloc, bfs.cu:76)");
    has("called by main (bfs.cu:116) › search (bfs.cu:82)");
    let run = place.json("bfs.rlgpu").0;
    let objects = run["objects"].as_array().unwrap();
    let name = |number: &serde_json::Value| {
        let object = &objects[number.as_u64().unwrap() as usize];
        object["name"].as_str().unwrap_or_default().to_owned()
    };
    let copies = run["copies"].as_array().unwrap();
    let copy = copies.iter().find(|copy| {
        copy["direction"] == "host to device" && name(&copy["to"]).starts_with("visited")
    });
    let copy = copy.unwrap_or_else(|| panic!("visited is copied from nowhere: {copies:#?}"));
    assert!(name(&copy["from"]).starts_with("mark"), "{copy:#?}");
    let path = &run["call_paths"][copy["call_path"].as_u64().unwrap() as usize];
    assert_eq!(path[0]["function"], "main");
}

#[test]
fn applications_of_clang_are_right() {
    if !has("clang-19") {
        return;
    }
    let place = Place::new();
    for (name, arguments) in APPLICATIONS {
        by_clang(&place, &format!("cuda/{name}.cu"), name, &[]);
        is_right(&place, name, arguments);
    }
}

/// Parts of CUDA that clang has no own way for.
#[test]
fn managed_variables_textures_matrices_and_pipelines_are_compiled_by_clang() {
    if !has("clang-19") {
        return;
    }
    let place = Place::new();
    for (name, flags) in [
        ("cubemaps", &[][..]),
        ("graph_nodes", &[]),
        ("managed", &[]),
        ("textures", &[]),
        ("pipeline", &["-arch", "sm_80"]),
        ("pipeline", &["-arch", "sm_70"]),
        ("tensor", &["-arch", "sm_80"]),
        ("tensor", &["-arch", "sm_75"]),
    ] {
        by_clang(&place, &format!("cuda/api/{name}.cu"), name, flags);
        is_right(&place, name, &[]);
    }
}

/// The address of a managed variable may be an argument of a kernel.
#[test]
fn addresses_of_managed_variables_reach_kernels_of_clang() {
    if !has("clang-19") {
        return;
    }
    let place = Place::new();
    let text = "#include <cstdio>\n\
        static __device__ __managed__ int values[3] = {1, 2, 3};\n\
        __global__ void add(int *to, int *from) { *to += *from; }\n\
        int main() {\n\
        values[1] += 10;\n\
        add<<<1, 1>>>(&values[2], values + 1);\n\
        if (cudaDeviceSynchronize()) return 1;\n\
        printf(\"ok %d %d %d\\n\", values[0], values[1], values[2]);\n\
        if (cudaFree(values) != cudaErrorInvalidValue) return 1;\n\
        }\n";
    place.write("values.cu", text);
    let mut command = place.command(&["nvcc", "-O2", "-o", "values", "values.cu"]);
    Done::of(command.env("REUSELENS_NVCC", "clang-19")).succeeds();
    is_right(&place, "values", &[]).prints(&["ok 1 12 15"]);
    // Without the runtime of `profile` there is no such variable.
    let alone = Done::of(&mut Command::new(place.path("values")));
    assert!(alone.code != 0, "{alone:?}");
}
