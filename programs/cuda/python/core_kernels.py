"""Kernels in C++ that cuda.core compiles while the program runs: a product of matrices by tiles, a
reduction, a stencil, two files that are linked, and a graph.

Checks results against NumPy. The option `lineinfo` gives the report the lines of the source, whose
name `ProgramOptions` has.
"""
import numpy as np
from cuda.core import (
    Device,
    LaunchConfig,
    LegacyPinnedMemoryResource,
    Linker,
    LinkerOptions,
    Program,
    ProgramOptions,
    launch,
)

SOURCE = r"""
constexpr int TILE = 16;

template <typename T>
__global__ void product(const T *a, const T *b, T *c, int n)
{
    __shared__ T tile_a[TILE][TILE], tile_b[TILE][TILE];
    int row = threadIdx.y, column = threadIdx.x;
    int y = blockIdx.y * TILE + row, x = blockIdx.x * TILE + column;
    T total = 0;
    for (int tile = 0; tile < n / TILE; tile++) {
        tile_a[row][column] = a[y * n + tile * TILE + column];
        tile_b[row][column] = b[(tile * TILE + row) * n + x];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            total += tile_a[row][k] * tile_b[k][column];
        __syncthreads();
    }
    c[y * n + x] = total;
}

extern "C" __global__ void sum(const float *values, float *total, int n)
{
    float part = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        part += values[i];
    for (int offset = 16; offset > 0; offset /= 2)
        part += __shfl_down_sync(~0u, part, offset);
    if (threadIdx.x % 32 == 0)
        atomicAdd(total, part);
}

extern "C" __global__ void smooth(const float *before, float *after, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1)
        after[i] = (before[i - 1] + before[i] + before[i + 1]) / 3;
}
"""
CALLER = r"""
extern __device__ float squared(float);
extern "C" __global__ void squares(float *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] = squared(values[i]);
}
"""
CALLEE = "__device__ float squared(float value) { return value * value; }"


def main():
    device = Device()
    device.set_current()
    stream = device.create_stream()
    pinned = LegacyPinnedMemoryResource()
    arch = f"sm_{device.arch}"
    rng = np.random.default_rng(1)

    def to_device(array):
        buffer = device.allocate(array.nbytes, stream=stream)
        staging = pinned.allocate(array.nbytes, stream=stream)
        np.from_dlpack(staging).view(array.dtype)[:] = array.ravel()
        staging.copy_to(buffer, stream=stream)
        return buffer

    def to_host(buffer, dtype, count):
        staging = pinned.allocate(buffer.size, stream=stream)
        buffer.copy_to(staging, stream=stream)
        stream.sync()
        return np.from_dlpack(staging).view(dtype)[:count].copy()

    options = ProgramOptions(arch=arch, std="c++17", lineinfo=True, name="core_kernels.cu")
    program = Program(SOURCE, code_type="c++", options=options)
    module = program.compile("cubin", name_expressions=("product<float>", "product<double>"))

    n = 64
    a, b = rng.random((2, n, n), dtype=np.float32)
    c = device.allocate(a.nbytes, stream=stream)
    config = LaunchConfig(grid=(n // 16, n // 16), block=(16, 16))
    launch(stream, config, module.get_kernel("product<float>"),
           to_device(a), to_device(b), c, np.int32(n))
    assert np.allclose(to_host(c, np.float32, n * n).reshape(n, n), a @ b, rtol=1e-4)

    values = rng.random(10_000, dtype=np.float32)
    total = to_device(np.zeros(1, np.float32))
    launch(stream, LaunchConfig(grid=8, block=128), module.get_kernel("sum"),
           to_device(values), total, np.int32(values.size))
    assert np.allclose(to_host(total, np.float32, 1), values.sum(), rtol=1e-4)

    after = to_device(values)
    launch(stream, LaunchConfig(grid=79, block=128), module.get_kernel("smooth"),
           to_device(values), after, np.int32(values.size))
    expected = values.copy()
    expected[1:-1] = (values[:-2] + values[1:-1] + values[2:]) / 3
    assert np.allclose(to_host(after, np.float32, values.size), expected)

    parts = [
        Program(text, "c++", ProgramOptions(arch=arch, relocatable_device_code=True)).compile("ptx")
        for text in (CALLER, CALLEE)
    ]
    linked = Linker(*parts, options=LinkerOptions(arch=arch)).link("cubin")
    squares = to_device(values)
    launch(stream, LaunchConfig(grid=79, block=128), linked.get_kernel("squares"),
           squares, np.int32(values.size))
    assert np.allclose(to_host(squares, np.float32, values.size), values**2)


    # A graph of two launches, run twice.
    squares = to_device(values)
    builder = device.create_graph_builder().begin_building()
    for _ in range(2):
        launch(builder, LaunchConfig(grid=79, block=128), linked.get_kernel("squares"),
               squares, np.int32(values.size))
    graph = builder.end_building().complete()
    graph.launch(stream)
    graph.launch(stream)
    assert np.allclose(to_host(squares, np.float32, values.size), values**16, atol=1e-6)
    stream.close()
    print("ok cuda.core")


if __name__ == "__main__":
    main()
