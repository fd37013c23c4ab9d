/* `malloc`, `free`, `new` and `delete` in kernels.
 *
 * Memory stays from one launch to the next, is aligned to 16 bytes, and is NULL when the heap has
 * no more. */
#include "../check.h"

enum { THREADS = 64 };

struct Node {
    int value;
    Node *next;
    __device__ Node(int value, Node *next) : value(value), next(next) {}
};

__global__ void allocate(int **parts)
{
    int count = 10 + (int)threadIdx.x;
    int *part = (int *)malloc(count * sizeof *part);
    for (int i = 0; part && i < count; i++)
        part[i] = 100 * (int)threadIdx.x + i;
    parts[threadIdx.x] = part;
}

__global__ void sum_and_free(int **parts, int *sums, int *aligned)
{
    int count = 10 + (int)threadIdx.x, sum = 0;
    int *part = parts[threadIdx.x];
    for (int i = 0; part && i < count; i++)
        sum += part[i];
    sums[threadIdx.x] = part ? sum : -1;
    aligned[threadIdx.x] = (unsigned long long)part % 16 == 0;
    free(part);
}

/* Each thread builds a list and takes it apart. */
__global__ void lists(int *sums)
{
    Node *head = nullptr;
    for (int i = 0; i < 20; i++)
        head = new Node((int)threadIdx.x + i, head);
    int sum = 0;
    while (head) {
        Node *next = head->next;
        sum += head->value;
        delete head;
        head = next;
    }
    sums[threadIdx.x] = sum;
}

/* More than the heap has, and memory that a freed piece gives back. */
__global__ void exhaust(int *result, size_t heap)
{
    void *too_much = malloc(2 * heap), *most = malloc(heap / 4 * 3);
    result[0] = too_much == nullptr && most != nullptr;
    free(too_much);
    free(most);
    result[1] = 1;
    for (int i = 0; i < 50; i++) {
        void *part = malloc(heap / 4);
        if (!part)
            result[1] = 0;
        free(part);
    }
    free(nullptr);
}

int main()
{
    size_t heap = 16 << 20, got;
    EXPECT_ERROR(cudaDeviceSetLimit(cudaLimitMallocHeapSize, (size_t)1 << 44),
                 cudaErrorMemoryAllocation);
    CHECK(cudaDeviceGetLimit(&got, cudaLimitMallocHeapSize));
    EXPECT(got == 8 << 20, "a heap of %zu bytes", got);
    CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, heap));
    CHECK(cudaDeviceGetLimit(&got, cudaLimitMallocHeapSize));
    EXPECT(got >= heap, "a heap of %zu bytes", got);
    int **parts, *sums, *aligned, host[THREADS], even[THREADS];
    CHECK(cudaMalloc(&parts, THREADS * sizeof *parts));
    CHECK(cudaMalloc(&sums, sizeof host));
    CHECK(cudaMalloc(&aligned, sizeof host));
    allocate<<<1, THREADS>>>(parts);
    sum_and_free<<<1, THREADS>>>(parts, sums, aligned);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(even, aligned, sizeof even, cudaMemcpyDeviceToHost));
    for (int t = 0; t < THREADS; t++) {
        int n = 10 + t;
        EXPECT(host[t] == n * 100 * t + n * (n - 1) / 2, "thread %d: sum %d", t, host[t]);
        EXPECT(even[t], "thread %d: not aligned to 16 bytes", t);
    }
    lists<<<1, THREADS>>>(sums);
    CHECK(cudaMemcpy(host, sums, sizeof host, cudaMemcpyDeviceToHost));
    for (int t = 0; t < THREADS; t++)
        EXPECT(host[t] == 20 * t + 190, "thread %d: the list has the sum %d", t, host[t]);
    exhaust<<<1, 1>>>(sums, got);
    CHECK(cudaMemcpy(host, sums, 2 * sizeof *host, cudaMemcpyDeviceToHost));
    EXPECT(host[0], "malloc gives more than the heap has, or not what it has");
    EXPECT(host[1], "malloc gives no memory although all was freed");
    /* The heap is there now. */
    EXPECT_ERROR(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 2 * heap), cudaErrorInvalidValue);
    CHECK(cudaDeviceGetLimit(&got, cudaLimitMallocHeapSize));
    EXPECT(got == heap, "a heap of %zu bytes", got);
    CHECK(cudaFree(parts));
    CHECK(cudaFree(sums));
    CHECK(cudaFree(aligned));
    printf("ok malloc\n");
    return 0;
}
