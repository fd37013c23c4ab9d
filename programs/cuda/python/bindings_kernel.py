"""The driver's interface and NVRTC by cuda.bindings, as in cuda-python's first example.

Checks results against NumPy.
"""
import numpy as np
from cuda.bindings import driver, nvrtc

SOURCE = rb"""
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = a * x[i] + y[i];
}
"""


def checked(result):
    status, *values = result
    if status.value:
        raise RuntimeError(status)
    return values[0] if len(values) == 1 else tuple(values)


def main():
    checked(driver.cuInit(0))
    device = checked(driver.cuDeviceGet(0))
    name = checked(driver.cuDeviceGetName(64, device))
    assert name.rstrip(b"\0")
    context = checked(driver.cuDevicePrimaryCtxRetain(device))
    checked(driver.cuCtxSetCurrent(context))
    major, minor = (
        checked(driver.cuDeviceGetAttribute(attribute, device))
        for attribute in (
            driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )

    program = checked(nvrtc.nvrtcCreateProgram(SOURCE, b"saxpy.cu", 0, [], []))
    options = [b"--gpu-architecture=sm_%d%d" % (major, minor), b"-lineinfo", b"--fmad=false"]
    checked(nvrtc.nvrtcCompileProgram(program, len(options), options))
    code = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcGetCUBIN(program, code))
    module = checked(driver.cuModuleLoadData(np.char.array(code)))
    saxpy = checked(driver.cuModuleGetFunction(module, b"saxpy"))

    n = 10_000
    x, y = np.random.default_rng(1).random((2, n), dtype=np.float32)
    out = np.zeros(n, np.float32)
    stream = checked(driver.cuStreamCreate(0))
    begin, end = (checked(driver.cuEventCreate(0)) for _ in range(2))
    on_device = [checked(driver.cuMemAlloc(x.nbytes)) for _ in range(3)]
    for to, array in zip(on_device, (x, y)):
        checked(driver.cuMemcpyHtoDAsync(to, array.ctypes.data, array.nbytes, stream))
    arguments = [
        np.array([2.5], np.float32),
        *(np.array([int(address)], np.uint64) for address in on_device),
        np.array([n], np.int32),
    ]
    addresses = np.array([argument.ctypes.data for argument in arguments], np.uint64)
    checked(driver.cuEventRecord(begin, stream))
    checked(
        driver.cuLaunchKernel(
            saxpy, (n + 255) // 256, 1, 1, 256, 1, 1, 0, stream, addresses.ctypes.data, 0
        )
    )
    checked(driver.cuEventRecord(end, stream))
    checked(driver.cuMemcpyDtoHAsync(out.ctypes.data, on_device[2], out.nbytes, stream))
    checked(driver.cuStreamSynchronize(stream))
    checked(driver.cuCtxSynchronize())
    assert checked(driver.cuEventElapsedTime(begin, end)) >= 0
    assert np.array_equal(out, np.float32(2.5) * x + y)

    for address in on_device:
        checked(driver.cuMemFree(address))
    checked(driver.cuStreamDestroy(stream))
    checked(driver.cuModuleUnload(module))
    checked(driver.cuDevicePrimaryCtxRelease(device))
    print("ok cuda.bindings")


if __name__ == "__main__":
    main()
