/* Algorithms of CUB for the device and for blocks, which are all headers. */
#include "../check.h"
#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>
#include <vector>

const int N = 5000, BLOCK = 128;

/* Calls a function of CUB twice: for the size of its memory, and with that memory. */
template <class Call> static void twice(Call call)
{
    size_t bytes = 0;
    void *memory = nullptr;
    CHECK(call(nullptr, bytes));
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(call(memory, bytes));
    CHECK(cudaFree(memory));
}

static std::vector<int> read(const int *device, int count)
{
    std::vector<int> host(count);
    CHECK(cudaMemcpy(host.data(), device, count * sizeof(int), cudaMemcpyDeviceToHost));
    return host;
}

static void equal(const char *what, const std::vector<int> &got, const std::vector<int> &expected)
{
    EXPECT(got == expected, "%s is wrong", what);
}

static void sums(const std::vector<int> &host, const int *in, int *out)
{
    twice([&](void *memory, size_t &bytes) {
        return cub::DeviceReduce::Sum(memory, bytes, in, out, N);
    });
    equal("Sum", read(out, 1), {std::accumulate(host.begin(), host.end(), 0)});
    twice([&](void *memory, size_t &bytes) {
        return cub::DeviceReduce::Max(memory, bytes, in, out, N);
    });
    equal("Max", read(out, 1), {*std::max_element(host.begin(), host.end())});
    std::vector<int> expected(N);
    twice([&](void *memory, size_t &bytes) {
        return cub::DeviceScan::ExclusiveSum(memory, bytes, in, out, N);
    });
    std::exclusive_scan(host.begin(), host.end(), expected.begin(), 0);
    equal("ExclusiveSum", read(out, N), expected);
}

static void orders(std::vector<int> host, const int *in, int *out)
{
    twice([&](void *memory, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeys(memory, bytes, in, out, N);
    });
    int *count;
    CHECK(cudaMalloc(&count, sizeof *count));
    std::vector<int> bins(10), unique;
    int *histogram;
    CHECK(cudaMalloc(&histogram, 10 * sizeof(int)));
    for (int value : host)
        bins[value / 100]++;
    twice([&](void *memory, size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(memory, bytes, in, histogram, 11, 0, 1000, N);
    });
    equal("HistogramEven", read(histogram, 10), bins);
    twice([&](void *memory, size_t &bytes) {
        return cub::DeviceSelect::Unique(memory, bytes, in, out, count, N);
    });
    std::unique_copy(host.begin(), host.end(), std::back_inserter(unique));
    equal("the number of Unique", read(count, 1), {(int)unique.size()});
    equal("Unique", read(out, (int)unique.size()), unique);
    twice([&](void *memory, size_t &bytes) {
        return cub::DeviceRadixSort::SortKeysDescending(memory, bytes, in, out, N);
    });
    std::sort(host.rbegin(), host.rend());
    equal("SortKeysDescending", read(out, N), host);
    CHECK(cudaFree(count));
    CHECK(cudaFree(histogram));
}

__global__ void blocks(const int *in, int *sums, int *prefixes)
{
    typedef cub::BlockReduce<int, BLOCK> Reduce;
    typedef cub::BlockScan<int, BLOCK> Scan;
    __shared__ union {
        typename Reduce::TempStorage reduce;
        typename Scan::TempStorage scan;
    } memory;
    int at = blockIdx.x * BLOCK + threadIdx.x, prefix;
    int sum = Reduce(memory.reduce).Sum(in[at]);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
    __syncthreads();
    Scan(memory.scan).InclusiveSum(in[at], prefix);
    prefixes[at] = prefix;
}

static void in_blocks(const std::vector<int> &host, const int *in, int *out)
{
    const int count = N / BLOCK;
    int *sums;
    CHECK(cudaMalloc(&sums, count * sizeof(int)));
    blocks<<<count, BLOCK>>>(in, sums, out);
    CHECK(cudaGetLastError());
    std::vector<int> expected, prefixes(count * BLOCK);
    for (int block = 0; block < count; block++) {
        auto begin = host.begin() + block * BLOCK;
        expected.push_back(std::accumulate(begin, begin + BLOCK, 0));
        std::partial_sum(begin, begin + BLOCK, prefixes.begin() + block * BLOCK);
    }
    equal("BlockReduce", read(sums, count), expected);
    equal("BlockScan", read(out, count * BLOCK), prefixes);
    CHECK(cudaFree(sums));
}

int main()
{
    std::vector<int> host(N);
    for (int i = 0; i < N; i++)
        host[i] = (int)random_below(2, i, 1000);
    int *in, *out;
    CHECK(cudaMalloc(&in, N * sizeof(int)));
    CHECK(cudaMalloc(&out, N * sizeof(int)));
    CHECK(cudaMemcpy(in, host.data(), N * sizeof(int), cudaMemcpyHostToDevice));
    sums(host, in, out);
    orders(host, in, out);
    in_blocks(host, in, out);
    printf("ok cub\n");
    return 0;
}
