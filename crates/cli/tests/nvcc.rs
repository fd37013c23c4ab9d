//! `nvcc` where clang stands in for CUDA's own.
//!
//! Needs clang 19.

use std::process::Command;

use crate::common::{Done, Place, has};
use crate::cuda::PROGRAM;

/// A call of `reuselens nvcc` that takes clang, also where nvcc is installed.
fn by_clang(place: &Place, arguments: &[&str]) -> Done {
    let mut command = place.command(&[&["nvcc"], arguments].concat());
    Done::of(command.env("REUSELENS_NVCC", "clang-19"))
}

#[test]
fn program_is_built_by_make_without_cuda_and_runs() {
    if !has("clang-19") || !has("make") {
        return;
    }
    let place = Place::new();
    place.write(
        "scale.cu",
        PROGRAM.replace(
            "*= 3",
            "= expf(third() * logf(data[i])) * data[i] / data[i]",
        ),
    );
    place.write(
        "third.cuh",
        "__device__ inline float third() { return 1.0f; }\n",
    );
    let source = format!("#include \"third.cuh\"\n{}", place.text("scale.cu"));
    place.write("scale.cu", source.replace("third()", "(third() * 3 / 3)"));
    place.write(
        "print.cpp",
        "#include <cuda_runtime.h>\nint count() { int n = 0; return cudaGetDeviceCount(&n), n; }\n",
    );
    place.write(
        "Makefile",
        "NVCC = nvcc\nFLAGS = -O3 -gencode arch=compute_70,code=sm_70 --compiler-options -Wall\n\
         scale: scale.o print.o\n\t$(NVCC) -o $@ $^ -L/usr/local/cuda/lib64 -lcudart -lm\n\
         scale.o: scale.cu\n\t$(NVCC) $(FLAGS) -MMD -c $< -o $@\n\
         print.o: print.cpp\n\t$(NVCC) $(FLAGS) -c $< -o $@\n-include scale.d\n",
    );
    let nvcc = format!("NVCC={} nvcc", env!("CARGO_BIN_EXE_reuselens"));
    let mut make = Command::new("make");
    make.current_dir(place.path("")).arg(nvcc);
    Done::of(make.env("REUSELENS_NVCC", "clang-19")).succeeds();
    assert!(place.text("scale.d").contains("third.cuh"));
    assert!(!place.text("scale.d").contains("reuselens_"));
    let done = place.run(&["profile", "--", "./scale"]).succeeds();
    done.prints(&["no error, 4095", "scale.cu:8"]);
    // An error names the source's line.
    let done = place.run(&["profile", "-q", "--", "./scale", "far"]);
    done.ends_with(1).says(&["scale.cu:8", "out of bounds"]);
}

/// A loop that the compiler unrolls: its calls are in four places of the code, and in one line.
const UNROLLED: &str = r#"
__global__ void stride(float *p) { p[threadIdx.x * 8] *= 2; }
int main() {
  float *d, h[4];
  cudaMalloc(&d, 32 * 1024);
#pragma unroll
  for (int k = 0; k < 4; k++) {
    stride<<<1, 128>>>(d + k);
    cudaMemcpy(h, d, 16, cudaMemcpyDeviceToHost);
  }
}
"#;

#[test]
fn calls_of_an_unrolled_loop_are_one_call_path() {
    if !has("clang-19") {
        return;
    }
    let place = Place::new();
    place.write("unrolled.cu", UNROLLED);
    by_clang(&place, &["-O3", "-g", "-o", "unrolled", "unrolled.cu"]).succeeds();
    place.run(&["profile", "-q", "--", "./unrolled"]).succeeds();
    let run = place.json("unrolled.rlgpu").0;
    let lines = run["call_paths"].as_array().unwrap().iter();
    let lines = lines.filter(|path| {
        path[0]["place"]
            .as_str()
            .is_some_and(|it| it.ends_with(":8"))
    });
    assert_eq!(lines.count(), 4, "{run:#?}");
    assert_eq!(run["kernels"].as_array().unwrap().len(), 1);
    assert_eq!(run["kernels"][0]["launches"], 4);
    let copies = run["copies"].as_array().unwrap();
    assert_eq!((copies.len(), &copies[0]["count"]), (1, &4.into()));
    let findings = run["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .filter(|it| it["rule"] == "uncoalesced-access");
    let mut texts: Vec<String> = found.map(|it| it["evidence"].to_string()).collect();
    let all = texts.len();
    texts.dedup();
    assert!(all > 0 && texts.len() == all, "{findings:#?}");
}

#[test]
fn nvcc_without_cuda_names_what_it_lacks() {
    if !has("clang-19") {
        return;
    }
    let place = Place::new();
    let missing = "__device__ float outside(float);\n\
        __global__ void use(float *x) { *x = outside(*x) + j0f(*x); }\n";
    place.write("missing.cu", missing);
    let done = by_clang(&place, &["-c", "missing.cu"]).fails(1);
    done.says(&[
        "missing.cu",
        "j0f",
        "outside(float)",
        "need CUDA's own nvcc",
    ]);
    place.write("blas.cu", "#include <cublas_v2.h>\n");
    let done = by_clang(&place, &["-c", "blas.cu"]).fails(1);
    done.says(&["cublas_v2.h: cuBLAS is part of CUDA"]);
    place.write("thrust.cu", "#include <thrust/sort.h>\n");
    let done = by_clang(&place, &["-c", "thrust.cu"]).fails(1);
    done.says(&["thrust/sort.h: Thrust is part of CUDA", "own nvcc"]);
    let shape = "#include <mma.h>\nusing namespace nvcuda::wmma;\n\
        __global__ void k() { fragment<matrix_a, 4, 4, 4, __half, row_major> f; }\n";
    place.write("shape.cu", shape);
    let done = by_clang(&place, &["-c", "shape.cu"]).fails(1);
    done.says(&["other types and shapes need CUDA's own nvcc"]);
    by_clang(&place, &["blas.cu", "-lcublas"])
        .fails(1)
        .says(&["-lcublas"]);
    by_clang(&place, &["blas.cu", "-fwibble"])
        .fails(1)
        .says(&["unknown option -fwibble"]);
    let mut none = place.command(&["nvcc", "blas.cu"]);
    let none = none
        .env("PATH", place.path(""))
        .env_remove("REUSELENS_NVCC");
    if !std::path::Path::new("/usr/local/cuda/bin/nvcc").exists() {
        Done::of(none.env_remove("CUDA_HOME").env_remove("CUDA_PATH"))
            .fails(1)
            .says(&["apt-get install clang-19"]);
    }
}

/// Brackets of launches that a formatter took apart, in the source and in what it includes.
#[test]
fn launches_with_spaces_in_their_brackets_are_compiled() {
    if !has("clang-19") {
        return;
    }
    let place = Place::new();
    let apart = PROGRAM.replace("<<<", "<< <").replace(">>>", ">> >");
    assert_ne!(apart, PROGRAM);
    place.write("inner.cuh", &apart);
    place.write("scale.cu", "#include \"inner.cuh\"\n");
    by_clang(&place, &["-o", "scale", "scale.cu"]).succeeds();
    let done = place.run(&["profile", "--", "./scale"]).succeeds();
    // Lines are those of the file as it is.
    done.prints(&["no error, 12285", "inner.cuh:"]);
    place.write(
        "wrong.cu",
        apart.replace("int main", "nowhere x;\nint main"),
    );
    let done = by_clang(&place, &["-c", "wrong.cu"]);
    done.ends_with(1).says(&["wrong.cu:", "nowhere"]);
}

/// Objects of device code that is linked already can be linked once more, as CMake asks for it.
#[test]
fn device_code_of_separate_objects_is_linked() {
    if !has("clang-19") {
        return;
    }
    let place = Place::new();
    place.write("scale.cu", PROGRAM);
    for line in [
        "-dc scale.cu -o scale.o",
        "-dlink scale.o -o linked.o",
        "scale.o linked.o -o scale",
    ] {
        by_clang(&place, &line.split(' ').collect::<Vec<_>>()).succeeds();
    }
    place
        .run(&["profile", "--", "./scale"])
        .succeeds()
        .prints(&["no error, 12285"]);
}

/// A clang that does not find its OpenMP: the package is named before it says what it misses.
#[test]
fn missing_openmp_is_named_by_its_package() {
    let place = Place::new();
    let script = "#!/bin/sh\ncase \"$1\" in\n--version) echo 'clang version 19.1.0';;\n\
                  *) echo libomp.so;;\nesac\n";
    place.write("clang-here", script);
    let path = place.path("clang-here");
    let made = Command::new("chmod").arg("+x").arg(path).status();
    assert!(made.unwrap().success());
    place.write("scale.cu", PROGRAM);
    let mut command = place.command(&["nvcc", "scale.cu", "-Xcompiler", "-fopenmp"]);
    let done = Done::of(command.env("REUSELENS_NVCC", place.path("clang-here"))).fails(1);
    done.says(&["no library of OpenMP", "sudo apt-get install libomp-19-dev"]);
}

#[test]
fn cmake_takes_a_toolkit_of_ours_for_cuda() {
    if !has("clang-19") || !has("cmake") || !has("make") {
        return;
    }
    let place = Place::new();
    by_clang(&place, &["--rl-toolkit", "it is CUDA"]).succeeds();
    place.write("scale.cu", PROGRAM);
    place.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.18)\nproject(scale LANGUAGES CXX CUDA)\n\
         find_package(CUDAToolkit REQUIRED)\nadd_executable(scale scale.cu)\n\
         target_link_libraries(scale CUDA::cudart)\n",
    );
    let compiler = format!(
        "-DCMAKE_CUDA_COMPILER={}",
        place.path("it is CUDA/bin/nvcc").display()
    );
    for arguments in [&["-B", "build", &compiler][..], &["--build", "build"]] {
        let mut cmake = Command::new("cmake");
        cmake.args(arguments).current_dir(place.path(""));
        Done::of(cmake.env("REUSELENS_NVCC", "clang-19")).succeeds();
    }
    let done = place.run(&["profile", "--", "build/scale"]).succeeds();
    done.prints(&["no error, 12285", "scale.cu:7"]);
}
