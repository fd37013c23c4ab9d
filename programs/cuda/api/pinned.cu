/* Pinned and mapped host memory, and what a pointer says about itself.
 *
 * Kernels read and write host memory that `cudaHostAlloc` mapped, and memory of `malloc` that
 * `cudaHostRegister` mapped. */
#include "../check.h"

enum { N = 4096 };

__global__ void negate(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = -in[i];
}

static void expect_type(const void *pointer, cudaMemoryType type)
{
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, pointer));
    EXPECT(attributes.type == type, "type %d, expected %d", (int)attributes.type, (int)type);
    if (type == cudaMemoryTypeHost)
        EXPECT(attributes.hostPointer == pointer && attributes.devicePointer, "host %p, device %p",
               attributes.hostPointer, attributes.devicePointer);
    if (type == cudaMemoryTypeDevice)
        EXPECT(attributes.devicePointer == pointer && !attributes.hostPointer, "host %p, device %p",
               attributes.hostPointer, attributes.devicePointer);
}

static void copied()
{
    int *host, *in, *out;
    CHECK(cudaMallocHost(&host, N * sizeof *host));
    CHECK(cudaMalloc(&in, N * sizeof *in));
    CHECK(cudaMalloc(&out, N * sizeof *out));
    expect_type(host, cudaMemoryTypeHost);
    expect_type(in, cudaMemoryTypeDevice);
    expect_type(in + N / 2, cudaMemoryTypeDevice);
    for (int i = 0; i < N; i++)
        host[i] = i;
    CHECK(cudaMemcpyAsync(in, host, N * sizeof *host, cudaMemcpyHostToDevice, 0));
    negate<<<N / 256, 256>>>(in, out);
    CHECK(cudaMemcpyAsync(host, out, N * sizeof *host, cudaMemcpyDeviceToHost, 0));
    CHECK(cudaStreamSynchronize(0));
    for (int i = 0; i < N; i++)
        EXPECT(host[i] == -i, "host[%d] is %d", i, host[i]);
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
}

static void mapped()
{
    int *host, *device, *out;
    unsigned flags;
    CHECK(cudaHostAlloc(&host, N * sizeof *host, cudaHostAllocMapped | cudaHostAllocPortable));
    CHECK(cudaHostGetDevicePointer(&device, host, 0));
    CHECK(cudaHostGetFlags(&flags, host));
    EXPECT(flags & cudaHostAllocMapped, "flags %x", flags);
    CHECK(cudaHostAlloc(&out, N * sizeof *out, cudaHostAllocMapped));
    int *device_out;
    CHECK(cudaHostGetDevicePointer(&device_out, out, 0));
    for (int i = 0; i < N; i++)
        host[i] = 3 * i;
    negate<<<N / 256, 256>>>(device, device_out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        EXPECT(out[i] == -3 * i, "out[%d] is %d", i, out[i]);
    CHECK(cudaFreeHost(host));
    CHECK(cudaFreeHost(out));
}

static void registered()
{
    int *host = (int *)malloc(2 * N * sizeof *host), *device;
    for (int i = 0; i < 2 * N; i++)
        host[i] = i;
    expect_type(host, cudaMemoryTypeUnregistered);
    CHECK(cudaHostRegister(host, 2 * N * sizeof *host, cudaHostRegisterMapped));
    EXPECT_ERROR(cudaHostRegister(host, 2 * N * sizeof *host, cudaHostRegisterMapped),
                 cudaErrorHostMemoryAlreadyRegistered);
    CHECK(cudaHostGetDevicePointer(&device, host, 0));
    expect_type(host, cudaMemoryTypeHost);
    negate<<<N / 256, 256>>>(device, device + N);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        EXPECT(host[N + i] == -i, "host[%d] is %d", N + i, host[N + i]);
    CHECK(cudaHostUnregister(host));
    EXPECT_ERROR(cudaHostUnregister(host), cudaErrorHostMemoryNotRegistered);
    expect_type(host, cudaMemoryTypeUnregistered);
    free(host);
}

int main()
{
    copied();
    mapped();
    registered();
    printf("ok pinned\n");
    return 0;
}
