//! [`write_cuda_headers`]: headers of ours that clang gets in place of CUDA's.

use std::io;
use std::path::Path;

/// The option of clang's own compiler that says which version of CUDA the headers are: by it, it
/// chooses the functions that launch kernels.
pub const SDK_VERSION: &str = "-target-sdk-version=12.3";

/// The option of clang's own compiler for the device's side that lets arguments be undefined. Else
/// clang takes an argument for defined, and so drops the branch in
/// `if (leader) r = atomicAdd(…); r = __shfl_sync(mask, r, 0);`: all lanes would add.
pub const UNDEFINED_ARGUMENTS: &str = "-no-enable-noundef-analysis";

/// The header that clang includes before each source.
pub const FORCED_HEADER: &str = "reuselens_nvcc.h";

macro_rules! headers {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../include/cuda/", $name)))),*]
    };
}

/// The headers, each with its text.
const HEADERS: [(&str, &str); 26] = headers! {
    "cooperative_groups.h" "cooperative_groups/memcpy_async.h" "cooperative_groups/reduce.h"
    "crt/sm_70_rt.hpp" "cuComplex.h" "cuda.h" "cuda_fp16.h" "cuda_pipeline.h" "cuda_runtime.h"
    "cuda_runtime_api.h" "driver_types.h" "host_defines.h" "math_constants.h" "mma.h"
    "reuselens_device.h" "reuselens_host.h" "reuselens_libdevice.h" "reuselens_managed.h"
    "reuselens_math.h" "reuselens_nvcc.h" "reuselens_overloads.h" "reuselens_textures.h"
    "reuselens_warp.h" "texture_types.h" "vector_functions.h" "vector_types.h"
};

/// Headers of CUDA whose contents are in `cuda_runtime.h` here.
const FORWARDED: [&str; 22] = [
    "builtin_types.h",
    "channel_descriptor.h",
    "common_functions.h",
    "cudaProfiler.h",
    "cuda_device_runtime_api.h",
    "cuda_profiler_api.h",
    "cuda_texture_types.h",
    "device_atomic_functions.h",
    "device_double_functions.h",
    "device_functions.h",
    "device_launch_parameters.h",
    "driver_functions.h",
    "host_config.h",
    "math_functions.h",
    "sm_20_atomic_functions.h",
    "sm_20_intrinsics.h",
    "sm_30_intrinsics.h",
    "sm_35_intrinsics.h",
    "surface_indirect_functions.h",
    "surface_types.h",
    "texture_fetch_functions.h",
    "texture_indirect_functions.h",
];

/// Headers of CUDA that are missing here, each with what it belongs to.
const MISSING: [(&str, &str); 30] = [
    ("cuda/barrier", "libcu++"),
    ("cuda/pipeline", "libcu++"),
    ("cub/cub.cuh", "CUB"),
    ("cublas.h", "cuBLAS"),
    ("cublas_v2.h", "cuBLAS"),
    ("cuda_bf16.h", "the type of brain floats"),
    ("cuda_fp8.h", "the type of 8-bit floats"),
    ("cudnn.h", "cuDNN"),
    ("cufft.h", "cuFFT"),
    ("curand.h", "cuRAND"),
    ("curand_kernel.h", "cuRAND"),
    ("cusolverDn.h", "cuSOLVER"),
    ("cusparse.h", "cuSPARSE"),
    ("nvToolsExt.h", "NVTX"),
    ("nvml.h", "NVML"),
    ("nvrtc.h", "NVRTC"),
    ("thrust/copy.h", "Thrust"),
    ("thrust/device_ptr.h", "Thrust"),
    ("thrust/device_vector.h", "Thrust"),
    ("thrust/execution_policy.h", "Thrust"),
    ("thrust/fill.h", "Thrust"),
    ("thrust/functional.h", "Thrust"),
    ("thrust/generate.h", "Thrust"),
    ("thrust/host_vector.h", "Thrust"),
    ("thrust/iterator/counting_iterator.h", "Thrust"),
    ("thrust/reduce.h", "Thrust"),
    ("thrust/scan.h", "Thrust"),
    ("thrust/sequence.h", "Thrust"),
    ("thrust/sort.h", "Thrust"),
    ("thrust/transform.h", "Thrust"),
];

/// Writes all headers into a folder.
///
/// # Errors
/// If the folder cannot be written.
pub fn write_cuda_headers(folder: &Path) -> io::Result<()> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, text)
    };
    for (name, text) in HEADERS {
        write(name, text)?;
    }
    for name in FORWARDED {
        write(name, "#include \"cuda_runtime.h\"\n")?;
    }
    for (name, part) in MISSING {
        let text =
            format!("#error \"{name}: {part} is part of CUDA, and needs CUDA's own nvcc\"\n");
        write(name, &text)?;
    }
    Ok(())
}
