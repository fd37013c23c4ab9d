"""CuPy: a kernel in C++, one of elements, one that reduces, and arrays.

Checks results against NumPy. `options=("-lineinfo",)` gives the report the lines of a kernel's own
source, which CuPy keeps in memory.
"""
import cupy
import numpy as np

SOURCE = r"""
constexpr int TILE = 16;

extern "C" __global__ void product(const float *a, const float *b, float *c, int n)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int row = threadIdx.y, column = threadIdx.x;
    int y = blockIdx.y * TILE + row, x = blockIdx.x * TILE + column;
    float total = 0;
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
"""


def main():
    rng = np.random.default_rng(1)
    n = 64
    a, b = rng.random((2, n, n), dtype=np.float32)
    product = cupy.RawKernel(SOURCE, "product", options=("-lineinfo",))
    c = cupy.zeros((n, n), np.float32)
    product((n // 16, n // 16), (16, 16), (cupy.asarray(a), cupy.asarray(b), c, np.int32(n)))
    assert np.allclose(cupy.asnumpy(c), a @ b, rtol=1e-4)

    distance = cupy.ElementwiseKernel(
        "float32 x, float32 y", "float32 z", "z = (x - y) * (x - y)", "distance"
    )
    assert np.allclose(cupy.asnumpy(distance(cupy.asarray(a), cupy.asarray(b))), (a - b) ** 2)

    norm = cupy.ReductionKernel(
        "float32 x", "float32 y", "x * x", "a + b", "y = sqrt(a)", "0", "row_norm"
    )
    assert np.allclose(cupy.asnumpy(norm(cupy.asarray(a), axis=1)), np.linalg.norm(a, axis=1))

    values = cupy.asarray(rng.random(1000))
    with cupy.cuda.Stream() as stream:
        before = cupy.asnumpy(values)
        after = (values[:-2] + values[1:-1] + values[2:]) / 3
        stream.synchronize()
    expected = (before[:-2] + before[1:-1] + before[2:]) / 3
    assert np.allclose(cupy.asnumpy(after), expected)
    assert np.allclose(float(values.sum()), before.sum())
    assert np.allclose(cupy.asnumpy(cupy.where(values > 0.5, values, 0)), before * (before > 0.5))
    assert np.array_equal(cupy.asnumpy(cupy.cumsum(values > 0.5)), np.cumsum(before > 0.5))
    assert np.array_equal(cupy.asnumpy(cupy.sort(values)), np.sort(before))
    print("ok cupy")


if __name__ == "__main__":
    main()
