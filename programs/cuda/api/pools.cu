/* Memory pools: the device's own and others, attributes, limits, access. */
#include "../check.h"

__global__ void fill(int *data, int value)
{
    data[threadIdx.x] = value + (int)threadIdx.x;
}

static uint64_t number(cudaMemPool_t pool, cudaMemPoolAttr which)
{
    uint64_t value = 99;
    CHECK(cudaMemPoolGetAttribute(pool, which, &value));
    return value;
}

static cudaMemPool_t made(size_t limit)
{
    cudaMemPoolProps properties = {};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.maxSize = limit;
    cudaMemPool_t pool;
    CHECK(cudaMemPoolCreate(&pool, &properties));
    return pool;
}

static void books(cudaStream_t stream)
{
    cudaMemPool_t pool = made(0);
    int *data, back[32];
    CHECK(cudaMallocFromPoolAsync(&data, 5000, pool, stream));
    fill<<<1, 32, 0, stream>>>(data, 7);
    CHECK(cudaMemcpyAsync(back, data, sizeof back, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(back[31] == 38, "memory of a pool holds %d", back[31]);
    EXPECT(number(pool, cudaMemPoolAttrUsedMemCurrent) >= 5000, "less is used than was taken");
    EXPECT(number(pool, cudaMemPoolAttrReservedMemCurrent) >= 5000, "less is reserved than used");
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolTrimTo(pool, 0));
    EXPECT(number(pool, cudaMemPoolAttrUsedMemCurrent) == 0, "freed memory is used");
    EXPECT(number(pool, cudaMemPoolAttrReservedMemCurrent) == 0, "trimmed memory is reserved");
    EXPECT(number(pool, cudaMemPoolAttrUsedMemHigh) >= 5000, "the most is forgotten");
    uint64_t none = 0, keep = 1 << 20;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &none));
    EXPECT(number(pool, cudaMemPoolAttrUsedMemHigh) == 0, "the most is not reset");
    EXPECT_ERROR(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &none),
                 cudaErrorInvalidValue);
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    EXPECT(number(pool, cudaMemPoolAttrReleaseThreshold) == keep, "the threshold is forgotten");
    int off = 0, state = 9;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &off));
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &state));
    EXPECT(state == 0, "a switch is %d", state);
    CHECK(cudaMemPoolDestroy(pool));
    EXPECT_ERROR(cudaMemPoolTrimTo(pool, 0), cudaErrorInvalidValue);
}

static void own_pools(cudaStream_t stream)
{
    cudaMemPool_t first, current, other = made(0);
    CHECK(cudaDeviceGetDefaultMemPool(&first, 0));
    CHECK(cudaDeviceGetMemPool(&current, 0));
    EXPECT(first == current, "the device does not begin with its own pool");
    uint64_t before = number(first, cudaMemPoolAttrUsedMemCurrent);
    void *data;
    CHECK(cudaMallocAsync(&data, 3000, stream));
    EXPECT(number(first, cudaMemPoolAttrUsedMemCurrent) >= before + 3000, "another pool is used");
    CHECK(cudaDeviceSetMemPool(0, other));
    CHECK(cudaDeviceGetMemPool(&current, 0));
    EXPECT(current == other, "the pool is not changed");
    void *more;
    CHECK(cudaMallocAsync(&more, 3000, stream));
    EXPECT(number(other, cudaMemPoolAttrUsedMemCurrent) >= 3000, "the new pool is not used");
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaFree(more));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(number(first, cudaMemPoolAttrUsedMemCurrent) == before, "the first pool is still used");
    EXPECT(number(other, cudaMemPoolAttrUsedMemCurrent) == 0, "the other pool is still used");
    EXPECT_ERROR(cudaMemPoolDestroy(first), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaDeviceGetDefaultMemPool(&first, 7), cudaErrorInvalidDevice);
    CHECK(cudaDeviceSetMemPool(0, first));
    CHECK(cudaMemPoolDestroy(other));
}

static void limits(cudaStream_t stream)
{
    cudaMemPool_t pool = made(64 << 20);
    void *data, *more = nullptr;
    CHECK(cudaMallocFromPoolAsync(&data, 48 << 20, pool, stream));
    EXPECT_ERROR(cudaMallocFromPoolAsync(&more, 48 << 20, pool, stream), cudaErrorMemoryAllocation);
    cudaMemLocation here = {};
    here.type = cudaMemLocationTypeDevice;
    cudaMemAccessFlags flags;
    CHECK(cudaMemPoolGetAccess(&flags, pool, &here));
    EXPECT(flags == cudaMemAccessFlagsProtReadWrite, "access %d", (int)flags);
    cudaMemAccessDesc access = {here, cudaMemAccessFlagsProtReadWrite};
    CHECK(cudaMemPoolSetAccess(pool, &access, 1));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemPoolDestroy(pool));
    EXPECT_ERROR(cudaMallocFromPoolAsync(&more, 64, pool, stream), cudaErrorInvalidValue);
}

/* The same, in a stream that is captured. */
static void limits_of_graphs(cudaStream_t stream)
{
    cudaMemPool_t pool = made(64 << 20), ended = made(0);
    CHECK(cudaMemPoolDestroy(ended));
    void *data = nullptr, *none = nullptr;
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT_ERROR(cudaMallocFromPoolAsync(&none, 64, ended, stream), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMallocFromPoolAsync(&none, 65 << 20, pool, stream),
                 cudaErrorMemoryAllocation);
    CHECK(cudaMallocFromPoolAsync(&none, 0, pool, stream));
    EXPECT(none == nullptr, "no bytes are at %p", none);
    CHECK(cudaMallocFromPoolAsync(&data, 64, pool, stream));
    CHECK(cudaFreeAsync(data, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    size_t count;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    EXPECT(count == 2, "%zu nodes", count);
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaMemPoolDestroy(pool));
}

int main()
{
    int supported = 0;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    EXPECT(supported == 1, "no pools");
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    books(stream);
    own_pools(stream);
    limits(stream);
    limits_of_graphs(stream);
    CHECK(cudaStreamDestroy(stream));
    printf("ok pools\n");
    return 0;
}
