"""Kernels in Python, compiled by Warp.

Checks results against NumPy.
"""
import numpy as np
import warp as wp


@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    index = wp.tid()
    y[index] = a * x[index] + y[index]


def main():
    wp.init()
    x, y = np.random.default_rng(1).random((2, 1000), dtype=np.float32)
    on_device = wp.array(y, dtype=float, device="cuda:0")
    wp.launch(saxpy, 1000, inputs=[2.0, wp.array(x, dtype=float, device="cuda:0"), on_device],
              device="cuda:0")
    assert np.allclose(on_device.numpy(), 2 * x + y)
    print("ok warp")


if __name__ == "__main__":
    main()
