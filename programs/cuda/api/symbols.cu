/* Symbols: `__constant__` and `__device__` variables, copied to and from, their address and size.
 *
 * Covers initial values, offsets, a variable that kernels write, a `static` one, one in a
 * namespace, and host variables, which are no symbols. */
#include "../check.h"

__constant__ float coefficients[16];
__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ int table[64];
__device__ unsigned long long counter = 40;
static __device__ double hidden = 1.5;
namespace inner {
__device__ int deep[2] = {-1, -2};
}
static int on_host[4];

__global__ void evaluate(float x)
{
    float value = 0;
    for (int i = 15; i >= 0; i--)
        value = value * x + coefficients[i];
    table[threadIdx.x] = (int)value + primes[threadIdx.x % 8];
    atomicAdd(&counter, 1ULL);
    if (threadIdx.x == 0) {
        hidden *= 2;
        inner::deep[1] = 12;
    }
}

int main()
{
    float given[16];
    for (int i = 0; i < 16; i++)
        given[i] = (float)i;
    CHECK(cudaMemcpyToSymbol(coefficients, given, sizeof given));
    /* Two values in the middle, by an offset in bytes. */
    float two[2] = {100, 200};
    CHECK(cudaMemcpyToSymbol(coefficients, two, sizeof two, 4 * sizeof(float)));
    evaluate<<<1, 64>>>(1.0f);
    CHECK(cudaGetLastError());
    int result[64];
    CHECK(cudaMemcpyFromSymbol(result, table, sizeof result));
    const int expected[8] = {2, 3, 5, 7, 11, 13, 17, 19}, sum = 120 - 4 - 5 + 300;
    for (int i = 0; i < 64; i++)
        EXPECT(result[i] == sum + expected[i % 8], "table[%d] is %d", i, result[i]);

    unsigned long long count;
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count, 0, cudaMemcpyDeviceToHost));
    EXPECT(count == 104, "counter is %llu", count);
    double value;
    CHECK(cudaMemcpyFromSymbol(&value, hidden, sizeof value));
    EXPECT(value == 3.0, "hidden is %g", value);
    int deep[2];
    CHECK(cudaMemcpyFromSymbol(deep, inner::deep, sizeof deep));
    EXPECT(deep[0] == -1 && deep[1] == 12, "deep is %d, %d", deep[0], deep[1]);
    int one;
    CHECK(cudaMemcpyFromSymbol(&one, primes, sizeof one, 7 * sizeof one));
    EXPECT(one == 19, "the last prime is %d", one);

    void *address;
    size_t size;
    CHECK(cudaGetSymbolSize(&size, coefficients));
    EXPECT(size == sizeof given, "coefficients has %zu bytes", size);
    CHECK(cudaGetSymbolAddress(&address, table));
    CHECK(cudaGetSymbolSize(&size, table));
    EXPECT(size == sizeof result, "table has %zu bytes", size);
    CHECK(cudaMemset(address, 0, size));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    one = 77;
    CHECK(cudaMemcpyToSymbolAsync(table, &one, sizeof one, 63 * sizeof one, cudaMemcpyHostToDevice,
                                  stream));
    CHECK(cudaMemcpyFromSymbolAsync(result, table, sizeof result, 0, cudaMemcpyDeviceToHost,
                                    stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(result[0] == 0 && result[62] == 0 && result[63] == 77, "%d, %d, %d", result[0],
           result[62], result[63]);
    /* The address is one of device memory for any other copy, too. */
    CHECK(cudaMemcpy(result, (int *)address + 63, sizeof one, cudaMemcpyDeviceToHost));
    EXPECT(result[0] == 77, "by address: %d", result[0]);
    CHECK(cudaStreamDestroy(stream));

    EXPECT_ERROR(cudaMemcpyToSymbol(on_host, given, sizeof on_host), cudaErrorInvalidSymbol);
    EXPECT_ERROR(cudaGetSymbolAddress(&address, on_host), cudaErrorInvalidSymbol);
    EXPECT_ERROR(cudaMemcpyToSymbol(table, given, sizeof given, 250), cudaErrorInvalidValue);
    printf("ok symbols\n");
    return 0;
}
