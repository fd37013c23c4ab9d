"""Kernels in Python, compiled by Numba: a product of matrices by tiles, a reduction, a stencil.

Checks results against NumPy. `lineinfo=True` gives the report the lines of this file.
"""
import math
import threading

import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit(lineinfo=True)
def product(a, b, c):
    """The product of square matrices, by tiles in shared memory."""
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    row, column = cuda.threadIdx.y, cuda.threadIdx.x
    y, x = cuda.grid(2)[1], cuda.grid(2)[0]
    total = float32(0)
    for tile in range(a.shape[1] // TILE):
        tile_a[row, column] = a[y, tile * TILE + column]
        tile_b[row, column] = b[tile * TILE + row, x]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[row, k] * tile_b[k, column]
        cuda.syncthreads()
    c[y, x] = total


@cuda.jit(lineinfo=True)
def total_of(values, total):
    """The sum of an array: shuffles within warps, an atomic addition for each warp."""
    start, step = cuda.grid(1), cuda.gridsize(1)
    part = float32(0)
    for index in range(start, values.size, step):
        part += values[index]
    offset = 16
    while offset > 0:
        part += cuda.shfl_down_sync(0xFFFFFFFF, part, offset)
        offset //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(total, 0, part)


@cuda.jit(lineinfo=True)
def smooth(before, after):
    """The average of each element's four neighbours."""
    x, y = cuda.grid(2)
    if 0 < x < before.shape[1] - 1 and 0 < y < before.shape[0] - 1:
        after[y, x] = 0.25 * (
            before[y - 1, x] + before[y + 1, x] + before[y, x - 1] + before[y, x + 1]
        )


@cuda.jit(device=True)
def squared(value):
    return value * value


@cuda.jit(lineinfo=True)
def norms(points, lengths):
    """A device function, a function of `math`, and arrays of several columns."""
    index = cuda.grid(1)
    if index < lengths.size:
        lengths[index] = math.sqrt(squared(points[index, 0]) + squared(points[index, 1]))


@cuda.jit(lto=True)
def doubled(values):
    """Optimised when it is linked (`lto`)."""
    index = cuda.grid(1)
    if index < values.size:
        values[index] *= 2


@cuda.jit(lineinfo=True)
def shifted(values, after):
    """Blocks that wait for each other."""
    index = cuda.grid(1)
    values[index] = index
    cuda.cg.this_grid().sync()
    after[index] = values[(index + 100) % values.size]


def main():
    rng = np.random.default_rng(1)
    n = 64
    a, b = rng.random((2, n, n), dtype=np.float32)
    c = cuda.device_array((n, n), np.float32)
    product[(n // TILE, n // TILE), (TILE, TILE)](cuda.to_device(a), cuda.to_device(b), c)
    assert np.allclose(c.copy_to_host(), a @ b, rtol=1e-4)

    values = rng.random(10_000, dtype=np.float32)
    total = np.zeros(1, np.float32)
    total_of[8, 128](values, total)  # Arrays of the host are copied there and back.
    assert np.allclose(total[0], values.sum(), rtol=1e-4)

    before = rng.random((70, 90), dtype=np.float32)
    after = cuda.to_device(before)
    stream = cuda.stream()
    smooth[(6, 5), (16, 16), stream](cuda.to_device(before, stream), after)
    stream.synchronize()
    expected = before.copy()
    expected[1:-1, 1:-1] = 0.25 * (
        before[:-2, 1:-1] + before[2:, 1:-1] + before[1:-1, :-2] + before[1:-1, 2:]
    )
    assert np.allclose(after.copy_to_host(), expected)

    points = rng.random((500, 2), dtype=np.float32)
    lengths = cuda.pinned_array(500, np.float32)
    norms.forall(500)(points, lengths)
    assert np.allclose(lengths, np.hypot(points[:, 0], points[:, 1]))

    numbers = cuda.to_device(np.arange(100, dtype=np.float64))
    doubled.forall(100)(numbers)
    assert np.array_equal(numbers.copy_to_host(), 2 * np.arange(100.0))

    after = cuda.device_array(256, np.int32)
    shifted[4, 64](cuda.device_array(256, np.int32), after)
    assert np.array_equal(after.copy_to_host(), (np.arange(256) + 100) % 256)

    # Numba's own kernel, in which a part of a warp waits for lanes that go on to the end.
    largest = cuda.reduce(lambda a, b: a if a > b else b)
    for count in (1, 31, 33, 130, 2000):
        assert largest(values[:count]) == values[:count].max()

    # Threads that launch, allocate and copy at the same time, each with memory of its own.
    right = []

    def work():
        for _ in range(10):
            room = cuda.pinned_array(2000, np.float64)
            room[:] = 1
            on_device = cuda.to_device(room)
            doubled.forall(2000)(on_device)
            right.append((on_device.copy_to_host() == 2).all())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == 40 and all(right)
    print("ok numba")


if __name__ == "__main__":
    main()
