/* Managed memory: one pointer for host and device.
 *
 * A list of nodes that the host links is summed up by a kernel; a `__managed__` variable is used on
 * both sides; advice and prefetches leave the contents as they are. */
#include "../check.h"
#include <cstring>

enum { N = 10000 };

struct Node {
    int value;
    Node *next;
};

__managed__ int total;
__managed__ float weights[4] = {1, 2, 4, 8};

__global__ void sum_list(const Node *node)
{
    for (; node; node = node->next)
        total += node->value;
}

__global__ void square(int *data, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] *= data[i];
}

__global__ void scale_weights()
{
    weights[threadIdx.x] *= 3;
}

static void advise_and_prefetch(int *data)
{
    int device, concurrent;
    CHECK(cudaGetDevice(&device));
    CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device));
    if (!concurrent)
        return; /* Prefetches and most advice are not available on such a device. */
#if CUDART_VERSION >= 13000
    cudaMemLocation on_device = {cudaMemLocationTypeDevice, device};
    cudaMemLocation on_host = {cudaMemLocationTypeHost, 0};
    CHECK(cudaMemAdvise(data, N * sizeof *data, cudaMemAdviseSetPreferredLocation, on_device));
    CHECK(cudaMemPrefetchAsync(data, N * sizeof *data, on_device, 0, 0));
    CHECK(cudaMemPrefetchAsync(data, N * sizeof *data, on_host, 0, 0));
#else
    CHECK(cudaMemAdvise(data, N * sizeof *data, cudaMemAdviseSetPreferredLocation, device));
    CHECK(cudaMemPrefetchAsync(data, N * sizeof *data, device, 0));
    CHECK(cudaMemPrefetchAsync(data, N * sizeof *data, cudaCpuDeviceId, 0));
#endif
    CHECK(cudaDeviceSynchronize());
}

int main()
{
    int *data;
    CHECK(cudaMallocManaged(&data, N * sizeof *data));
    for (int i = 0; i < N; i++)
        data[i] = i % 100;
    advise_and_prefetch(data);
    square<<<(N + 127) / 128, 128>>>(data, N);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++)
        EXPECT(data[i] == (i % 100) * (i % 100), "data[%d] is %d", i, data[i]);

    Node *head = nullptr;
    int expected = 0;
    for (int i = 1; i <= 50; i++) {
        Node *node;
        CHECK(cudaMallocManaged(&node, sizeof *node, cudaMemAttachGlobal));
        *node = {i, head};
        head = node;
        expected += i;
    }
    total = 0;
    sum_list<<<1, 1>>>(head);
    CHECK(cudaDeviceSynchronize());
    EXPECT(total == expected, "the list has the sum %d, expected %d", total, expected);
    while (head) {
        Node *next = head->next;
        CHECK(cudaFree(head));
        head = next;
    }

    scale_weights<<<1, 4>>>();
    CHECK(cudaDeviceSynchronize());
    EXPECT(weights[0] == 3 && weights[3] == 24, "%g and %g", weights[0], weights[3]);

    /* Copies take managed memory on either side. */
    int *plain, copy[100];
    CHECK(cudaMalloc(&plain, sizeof copy));
    CHECK(cudaMemcpy(plain, data, sizeof copy, cudaMemcpyDefault));
    CHECK(cudaMemset(data, 0, sizeof copy));
    CHECK(cudaDeviceSynchronize());
    EXPECT(data[99] == 0 && data[100] == 0 && data[199] == 99 * 99, "memset is wrong");
    CHECK(cudaMemcpy(copy, plain, sizeof copy, cudaMemcpyDeviceToHost));
    EXPECT(copy[99] == 99 * 99, "the copy is %d", copy[99]);

    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, data));
    EXPECT(attributes.type == cudaMemoryTypeManaged, "type %d", (int)attributes.type);
    CHECK(cudaFree(plain));
    CHECK(cudaFree(data));
    printf("ok managed\n");
    return 0;
}
