/* Algorithms of Thrust, which is all headers: its kernels are compiled into the program. */
#include "../check.h"
#include <algorithm>
#include <numeric>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
#include <vector>

const int N = 6000;

struct Affine {
    __host__ __device__ int operator()(int x) const { return 2 * x + 1; }
};

struct IsEven {
    __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};

struct Square {
    __host__ __device__ double operator()(float x) const { return (double)x * x; }
};

typedef thrust::device_vector<int> Device;
typedef std::vector<int> Host;

static void equal(const char *what, const Device &device, const Host &expected)
{
    Host got(device.size());
    thrust::copy(device.begin(), device.end(), got.begin());
    EXPECT(got.size() == expected.size(), "%s: %zu elements", what, got.size());
    for (size_t i = 0; i < got.size(); i++)
        EXPECT(got[i] == expected[i], "%s: [%zu] is %d, expected %d", what, i, got[i], expected[i]);
}

static void elements(const Host &host)
{
    Device data(host), result(N);
    Host expected(N);
    thrust::transform(data.begin(), data.end(), result.begin(), Affine());
    std::transform(host.begin(), host.end(), expected.begin(), Affine());
    equal("transform", result, expected);
    thrust::fill(result.begin(), result.end(), 9);
    equal("fill", result, Host(N, 9));
    thrust::inclusive_scan(data.begin(), data.end(), result.begin());
    std::partial_sum(host.begin(), host.end(), expected.begin());
    equal("inclusive_scan", result, expected);
    thrust::exclusive_scan(data.begin(), data.end(), result.begin(), 5);
    std::exclusive_scan(host.begin(), host.end(), expected.begin(), 5);
    equal("exclusive_scan", result, expected);
    Device evens(N);
    evens.resize(thrust::copy_if(data.begin(), data.end(), evens.begin(), IsEven()) - evens.begin());
    expected.resize(std::copy_if(host.begin(), host.end(), expected.begin(), IsEven())
                    - expected.begin());
    equal("copy_if", evens, expected);
}

static void sums(const Host &host)
{
    Device data(host);
    long sum = thrust::reduce(data.begin(), data.end(), 0L, thrust::plus<long>());
    long expected = std::accumulate(host.begin(), host.end(), 0L);
    EXPECT(sum == expected, "reduce gives %ld, expected %ld", sum, expected);
    int most = *thrust::max_element(data.begin(), data.end());
    EXPECT(most == *std::max_element(host.begin(), host.end()), "max_element gives %d", most);
    long evens = thrust::count_if(data.begin(), data.end(), IsEven());
    EXPECT(evens == std::count_if(host.begin(), host.end(), IsEven()), "count_if gives %ld", evens);
    thrust::device_vector<float> floats(1000);
    thrust::sequence(floats.begin(), floats.end());
    double squares = thrust::transform_reduce(floats.begin(), floats.end(), Square(), 0.0,
                                              thrust::plus<double>());
    EXPECT(squares == 332833500.0, "transform_reduce gives %f", squares);
}

static void orders(Host host)
{
    Device data(host), places(N);
    thrust::sequence(places.begin(), places.end());
    Device keys(data);
    thrust::stable_sort_by_key(keys.begin(), keys.end(), places.begin());
    Host order(N);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return host[a] < host[b]; });
    equal("stable_sort_by_key", places, order);
    thrust::sort(data.begin(), data.end());
    std::sort(host.begin(), host.end());
    equal("sort", data, host);
    thrust::sort(keys.begin(), keys.end(), thrust::greater<int>());
    Host down(host.rbegin(), host.rend());
    equal("sort downwards", keys, down);
    bool is_there = thrust::binary_search(data.begin(), data.end(), host[N / 2]);
    EXPECT(is_there, "binary_search does not find what is there");
    data.resize(thrust::unique(data.begin(), data.end()) - data.begin());
    host.resize(std::unique(host.begin(), host.end()) - host.begin());
    equal("unique", data, host);
}

int main()
{
    Host host(N);
    for (int i = 0; i < N; i++)
        host[i] = (int)random_below(1, i, 5000);
    elements(host);
    sums(host);
    orders(host);
    printf("ok thrust\n");
    return 0;
}
