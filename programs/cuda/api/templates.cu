/* Kernels that are templates, take functors and large structures, or are local to a file.
 *
 * The host instantiates one kernel for several types, sizes and functors; each has to be the right
 * one. */
#include "../check.h"

struct Square {
    template <class T> __device__ T operator()(T x) const { return x * x; }
};

template <class T> struct Axpy {
    T factor;
    const T *other;
    __device__ T operator()(T x, int i) const { return factor * x + other[i]; }
};

template <class First, class Second> struct Chain {
    First first;
    Second second;
    template <class T> __device__ T operator()(T x) const { return second(first(x)); }
};

template <class T, class Functor> __global__ void apply(T *data, int count, Functor functor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] = functor(data[i]);
}

template <class T, class Functor> __global__ void apply_indexed(T *data, int count, Functor functor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] = functor(data[i], i);
}

/* Sums up blocks of THREADS elements in shared memory whose size is known when it is compiled. */
template <class T, int THREADS> __global__ void block_sums(const T *data, T *sums)
{
    __shared__ T partial[THREADS];
    partial[threadIdx.x] = data[blockIdx.x * THREADS + threadIdx.x];
    for (int step = THREADS / 2; step > 0; step /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < step)
            partial[threadIdx.x] += partial[threadIdx.x + step];
    }
    if (threadIdx.x == 0)
        sums[blockIdx.x] = partial[0];
}

struct Large {
    char tag;
    double values[100];
    short last;
};

namespace {
__global__ void sum_large(Large large, double *sum)
{
    double all = large.tag + large.last;
    for (double value : large.values)
        all += value;
    *sum = all;
}
} // namespace

/* Overloaded: the address needs a type to choose one. */
__global__ void overloaded(int *out) { *out = 1; }
__global__ void overloaded(float *out) { *out = 2; }

template <class T> static void for_type()
{
    enum { N = 256 };
    T host[N], other[N], sums[N / 64], *data, *device_other, *device_sums;
    for (int i = 0; i < N; i++) {
        host[i] = (T)(i % 5);
        other[i] = (T)(i % 7);
    }
    CHECK(cudaMalloc(&data, sizeof host));
    CHECK(cudaMalloc(&device_other, sizeof host));
    CHECK(cudaMalloc(&device_sums, sizeof sums));
    CHECK(cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_other, other, sizeof host, cudaMemcpyHostToDevice));
    apply<<<4, 64>>>(data, N, Square{});
    apply<<<4, 64>>>(data, N, Chain<Square, Square>{});
    apply_indexed<<<4, 64>>>(data, N, Axpy<T>{(T)3, device_other});
    block_sums<T, 64><<<N / 64, 64>>>(data, device_sums);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(sums, device_sums, sizeof sums, cudaMemcpyDeviceToHost));
    for (int block = 0; block < N / 64; block++) {
        T sum = 0;
        for (int i = 64 * block; i < 64 * block + 64; i++) {
            T x = (T)(i % 5), x2 = (T)(x * x), x4 = (T)(x2 * x2), expected = (T)(x4 * x4);
            expected = (T)(3 * expected + other[i]);
            EXPECT(host[i] == expected, "%zu bytes: [%d] is %g, expected %g", sizeof(T), i,
                   (double)host[i], (double)expected);
            sum = (T)(sum + expected);
        }
        /* All sums are whole numbers below 2^24, which floats hold exactly. */
        EXPECT(sums[block] == sum, "block %d: sum %g, expected %g", block, (double)sums[block],
               (double)sum);
    }
    CHECK(cudaFree(data));
    CHECK(cudaFree(device_other));
    CHECK(cudaFree(device_sums));
}

int main()
{
    for_type<long long>();
    for_type<unsigned>();
    for_type<float>();
    for_type<double>();

    Large large = {'a', {}, -300};
    double expected = 'a' - 300, sum, *device;
    for (int i = 0; i < 100; i++)
        expected += large.values[i] = i * 0.25;
    CHECK(cudaMalloc(&device, sizeof *device));
    sum_large<<<1, 1>>>(large, device);
    CHECK(cudaMemcpy(&sum, device, sizeof sum, cudaMemcpyDeviceToHost));
    EXPECT(sum == expected, "sum %g, expected %g", sum, expected);

    int whole;
    float real;
    overloaded<<<1, 1>>>((int *)device);
    CHECK(cudaMemcpy(&whole, device, sizeof whole, cudaMemcpyDeviceToHost));
    void (*kernel)(float *) = overloaded;
    kernel<<<1, 1>>>((float *)device);
    CHECK(cudaMemcpy(&real, device, sizeof real, cudaMemcpyDeviceToHost));
    EXPECT(whole == 1 && real == 2, "%d and %g", whole, real);
    CHECK(cudaFree(device));
    printf("ok templates\n");
    return 0;
}
