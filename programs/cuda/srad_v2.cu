/* Takes speckles out of an image: diffusion that stops at edges (Yu and Acton, 2002).
 *
 * The two kernels are those of Rodinia's `srad_v2`, written anew, with blocks of 16 x 16 threads:
 *   gradients  differences to the four neighbours, and from them how well each pixel conducts;
 *   diffuse    new pixels, from the differences and the conduction here, to the south and the east.
 * Both load their pixels into shared memory, and branch at the sides of the block and of the image.
 * Before each pair, the host works out the noise from a part of the image, for which it copies it.
 *
 * Arrays: `image`, `north`, `south`, `west`, `east`, `conduction` (n x n floats).
 *
 * Arguments: n, a multiple of 16 (256), iterations (4), seed (7). Published size: 2048, 2.
 * Check: the same on the host; within 1e-5 of the greatest pixel. */
#include "options.h"
#include <algorithm>
#include <vector>

enum { BLOCK = 16 };
constexpr float LAMBDA = 0.5f;

/* How well a pixel conducts, from its differences to its neighbours and the noise. */
__host__ __device__ static float conducts(float pixel, float north, float south, float west,
                                          float east, float noise)
{
    float gradient = (north * north + south * south + west * west + east * east) / (pixel * pixel);
    float laplacian = (north + south + west + east) / pixel, base = 1 + 0.25f * laplacian;
    float q = (0.5f * gradient - laplacian * laplacian / 16) / (base * base);
    float c = 1 / (1 + (q - noise) / (noise * (1 + noise)));
    return c < 0 ? 0 : c > 1 ? 1 : c;
}

__global__ void gradients(int n, float noise, const float *image, float *north, float *south,
                          float *west, float *east, float *conduction)
{
    __shared__ float tile[BLOCK][BLOCK];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * BLOCK + y, column = blockIdx.x * BLOCK + x, at = row * n + column;
    tile[y][x] = image[at];
    __syncthreads();
    float here = tile[y][x], up, down, left, right;
    if (y > 0)
        up = tile[y - 1][x];
    else
        up = row > 0 ? image[at - n] : here;
    if (y < BLOCK - 1)
        down = tile[y + 1][x];
    else
        down = row < n - 1 ? image[at + n] : here;
    if (x > 0)
        left = tile[y][x - 1];
    else
        left = column > 0 ? image[at - 1] : here;
    if (x < BLOCK - 1)
        right = tile[y][x + 1];
    else
        right = column < n - 1 ? image[at + 1] : here;
    north[at] = up - here;
    south[at] = down - here;
    west[at] = left - here;
    east[at] = right - here;
    conduction[at] = conducts(here, up - here, down - here, left - here, right - here, noise);
}

__global__ void diffuse(int n, float *image, const float *north, const float *south,
                        const float *west, const float *east, const float *conduction)
{
    __shared__ float tile[BLOCK][BLOCK];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * BLOCK + y, column = blockIdx.x * BLOCK + x, at = row * n + column;
    tile[y][x] = conduction[at];
    __syncthreads();
    float here = tile[y][x], down, right;
    if (y < BLOCK - 1)
        down = tile[y + 1][x];
    else
        down = row < n - 1 ? conduction[at + n] : here;
    if (x < BLOCK - 1)
        right = tile[y][x + 1];
    else
        right = column < n - 1 ? conduction[at + 1] : here;
    float flow = here * north[at] + down * south[at] + here * west[at] + right * east[at];
    image[at] += 0.25f * LAMBDA * flow;
}

/* Variance over squared mean of the upper left part of the image. */
static float noise_of(int n, const std::vector<float> &image)
{
    double sum = 0, squares = 0;
    int side = std::min(n, 128);
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            double pixel = image[i * n + j];
            sum += pixel;
            squares += pixel * pixel;
        }
    double mean = sum / (side * side), variance = squares / (side * side) - mean * mean;
    return (float)(variance / (mean * mean));
}

static std::vector<float> on_device(int n, int iterations, std::vector<float> host)
{
    float *image, *north, *south, *west, *east, *conduction;
    size_t bytes = host.size() * sizeof(float);
    for (float **array : {&image, &north, &south, &west, &east, &conduction})
        CHECK(cudaMalloc(array, bytes));
    CHECK(cudaMemcpy(image, host.data(), bytes, cudaMemcpyHostToDevice));
    dim3 grid(n / BLOCK, n / BLOCK), block(BLOCK, BLOCK);
    for (int i = 0; i < iterations; i++) {
        float noise = noise_of(n, host);
        gradients<<<grid, block>>>(n, noise, image, north, south, west, east, conduction);
        diffuse<<<grid, block>>>(n, image, north, south, west, east, conduction);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(host.data(), image, bytes, cudaMemcpyDeviceToHost));
    }
    for (float *array : {image, north, south, west, east, conduction})
        CHECK(cudaFree(array));
    return host;
}

static std::vector<float> on_host(int n, int iterations, std::vector<float> image)
{
    std::vector<float> conduction(image.size()), flow(image.size());
    for (int iteration = 0; iteration < iterations; iteration++) {
        float noise = noise_of(n, image);
        auto at = [n](int i, int j) {
            return std::clamp(i, 0, n - 1) * n + std::clamp(j, 0, n - 1);
        };
        auto apart = [&](int i, int j, int down, int right) {
            return image[at(i + down, j + right)] - image[at(i, j)];
        };
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                conduction[at(i, j)] = conducts(image[at(i, j)], apart(i, j, -1, 0),
                                                apart(i, j, 1, 0), apart(i, j, 0, -1),
                                                apart(i, j, 0, 1), noise);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                flow[at(i, j)] = conduction[at(i, j)] * (apart(i, j, -1, 0) + apart(i, j, 0, -1)) +
                                 conduction[at(i + 1, j)] * apart(i, j, 1, 0) +
                                 conduction[at(i, j + 1)] * apart(i, j, 0, 1);
        for (int i = 0; i < n * n; i++)
            image[i] += 0.25f * LAMBDA * flow[i];
    }
    return image;
}

int main(int argc, char **argv)
{
    int n = (int)argument(argc, argv, 1, "the number of rows and columns", BLOCK, 16384, 256);
    int iterations = (int)argument(argc, argv, 2, "the number of iterations", 0, 10000, 4);
    long seed = argument(argc, argv, 3, "the seed", 0, 1L << 40, 7);
    EXPECT(n % BLOCK == 0, "the number of rows is no multiple of 16: %d", n);
    std::vector<float> image;
    /* A bright disc on a dark ground, with speckles. */
    for (int i = 0; i < n * n; i++) {
        int y = i / n - n / 2, x = i % n - n / 2;
        float plain = x * x + y * y < n * n / 9 ? 0.8f : 0.2f;
        image.push_back(std::exp(plain * (0.5f + random_unit((uint64_t)seed, i))));
    }
    std::vector<float> got = on_device(n, iterations, image);
    std::vector<float> expected = on_host(n, iterations, image);
    expect_close("image", got.data(), expected.data(), (long)n * n, 1e-5);
    printf("ok srad_v2: %d x %d pixels, %d iterations, noise %.5f before, %.5f after\n", n, n,
           iterations, noise_of(n, image), noise_of(n, got));
    return 0;
}
