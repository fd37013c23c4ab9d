/* Random numbers of cuRAND's functions for kernels, which are all headers. The host has the same
 * functions of some generators, and so knows what the device must draw. */
#include "../check.h"
#include <cmath>
#include <curand_kernel.h>

enum { THREADS = 256, DRAWS = 16 };

template <class State> struct Drawn {
    float uniform[THREADS * DRAWS], normal[THREADS * DRAWS];
};

template <class State>
__global__ void draw(State *states, Drawn<State> *drawn)
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    State state;
    curand_init(1234ULL, thread, 0, &state);
    for (int i = 0; i < DRAWS; i++) {
        drawn->uniform[thread * DRAWS + i] = curand_uniform(&state);
        drawn->normal[thread * DRAWS + i] = curand_normal(&state);
    }
    states[thread] = state;
}

/* Mean and variance have to be those of the distribution, within five standard errors. */
static void fits(const char *name, const float *drawn, double mean, double variance)
{
    const int count = THREADS * DRAWS;
    double sum = 0, squares = 0;
    for (int i = 0; i < count; i++)
        sum += drawn[i];
    for (int i = 0; i < count; i++)
        squares += (drawn[i] - sum / count) * (drawn[i] - sum / count);
    EXPECT(std::fabs(sum / count - mean) < 5 * std::sqrt(variance / count), "%s: the mean is %f",
           name, sum / count);
    EXPECT(std::fabs(squares / count / variance - 1) < 0.12, "%s: the variance is %f", name,
           squares / count);
}

template <class State> static void generator(const char *name)
{
    State *states;
    Drawn<State> *device, *host = new Drawn<State>;
    CHECK(cudaMalloc(&states, THREADS * sizeof *states));
    CHECK(cudaMalloc(&device, sizeof *device));
    draw<<<THREADS / 64, 64>>>(states, device);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, device, sizeof *host, cudaMemcpyDeviceToHost));
    fits(name, host->uniform, 0.5, 1.0 / 12);
    fits(name, host->normal, 0, 1);
    for (int i = 0; i < THREADS * DRAWS; i++)
        EXPECT(host->uniform[i] > 0 && host->uniform[i] <= 1, "%s draws %f", name, host->uniform[i]);
    delete host;
    CHECK(cudaFree(states));
    CHECK(cudaFree(device));
}

__global__ void known(unsigned *drawn)
{
    curandStatePhilox4_32_10_t state;
    curand_init(0ULL, 0, 0, &state);
    uint4 four = curand4(&state);
    drawn[0] = four.x;
    drawn[1] = four.y;
    drawn[2] = four.z;
    drawn[3] = four.w;
}

int main()
{
    /* Philox 4x32 with ten rounds, counter and key 0: Salmon and others, 2011, known answers. */
    const unsigned expected[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    unsigned *device, host[4];
    CHECK(cudaMalloc(&device, sizeof host));
    known<<<1, 1>>>(device);
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 4; i++)
        EXPECT(host[i] == expected[i], "[%d] is %#x, expected %#x", i, host[i], expected[i]);
    CHECK(cudaFree(device));
    generator<curandStatePhilox4_32_10_t>("Philox");
    generator<curandStateXORWOW_t>("XORWOW");
    printf("ok curand\n");
    return 0;
}
