/* Temperatures of a chip: heat flows between neighbouring cells, and power warms them.
 *
 * The model and the pyramid of blocks are those of Rodinia's `hotspot` (Huang and others, 2006),
 * written anew. A block of 16 x 16 threads loads a tile of cells into shared memory and makes
 * `STEPS` steps with it before it writes back; at every step one more ring of its threads has
 * neighbours that are out of date, and rests. Tiles overlap by those rings. The host launches one
 * kernel per `STEPS` steps, from one array of temperatures to the other.
 *
 * Arrays: `power` (read once per launch), `even`, `odd` (temperatures; n x n floats).
 *
 * Arguments: n (256), steps (20), seed (7). Published size: 512 to 1024, 60 steps and more.
 * Check: the steps one after the other on the host; within 1e-5 of the greatest temperature. */
#include "options.h"
#include <utility>
#include <vector>

enum { BLOCK = 16, STEPS = 2, INNER = BLOCK - 2 * STEPS };

/* What a step takes from the difference to each neighbour, to the air, and from the power. */
struct Flow {
    float vertical, horizontal, air, power, ambient;
};

__host__ __device__ static float next(const Flow &flow, float here, float north, float south,
                                      float west, float east, float power)
{
    return here + flow.power * power + flow.vertical * (north + south - 2 * here) +
           flow.horizontal * (west + east - 2 * here) + flow.air * (flow.ambient - here);
}

__global__ void pyramid(int n, int steps, Flow flow, const float *power, const float *from,
                        float *to)
{
    __shared__ float now[BLOCK][BLOCK], after[BLOCK][BLOCK], heat[BLOCK][BLOCK];
    int x = threadIdx.x, y = threadIdx.y;
    int row = (int)blockIdx.y * INNER + y - STEPS, column = (int)blockIdx.x * INNER + x - STEPS;
    bool inside = row >= 0 && row < n && column >= 0 && column < n;
    if (inside) {
        now[y][x] = from[row * n + column];
        heat[y][x] = power[row * n + column];
    }
    /* Neighbours within the chip; a cell at its edge is its own neighbour there. */
    int north = row > 0 ? y - 1 : y, south = row < n - 1 ? y + 1 : y;
    int west = column > 0 ? x - 1 : x, east = column < n - 1 ? x + 1 : x;
    __syncthreads();
    bool current = false;
    for (int step = 1; step <= steps; step++) {
        current = inside && x >= step && x < BLOCK - step && y >= step && y < BLOCK - step;
        if (current)
            after[y][x] = next(flow, now[y][x], now[north][x], now[south][x], now[y][west],
                               now[y][east], heat[y][x]);
        __syncthreads();
        if (step == steps)
            break;
        if (current)
            now[y][x] = after[y][x];
        __syncthreads();
    }
    /* With fewer steps than STEPS, more rings are up to date than this block has to write. */
    if (current && x >= STEPS && x < BLOCK - STEPS && y >= STEPS && y < BLOCK - STEPS)
        to[row * n + column] = after[y][x];
}

/* The constants of a chip of 16 x 16 x 0.5 mm of silicon, as the original has them. */
static Flow flow_of(int n)
{
    const float chip = 0.016f, thickness = 0.0005f, conductivity = 100, heat_capacity = 1.75e6f;
    float cell = chip / n, capacity = 0.5f * heat_capacity * thickness * cell * cell;
    float sideways = 1 / (2 * conductivity * thickness);
    float up = thickness / (conductivity * cell * cell);
    /* The step is bounded by the greatest change that a cell's temperature may make. */
    float slope = 3e6f / (0.5f * thickness * heat_capacity), step = 0.001f / slope;
    float scale = step / capacity;
    return {scale / sideways, scale / sideways, scale / up, scale, 80};
}

static std::vector<float> on_device(int n, int steps, const std::vector<float> &host_power,
                                    std::vector<float> temperature)
{
    float *power, *even, *odd;
    size_t bytes = (size_t)n * n * sizeof(float);
    CHECK(cudaMalloc(&power, bytes));
    CHECK(cudaMalloc(&even, bytes));
    CHECK(cudaMalloc(&odd, bytes));
    CHECK(cudaMemcpy(power, host_power.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(even, temperature.data(), bytes, cudaMemcpyHostToDevice));
    int blocks = (n + INNER - 1) / INNER;
    for (int done = 0; done < steps; done += STEPS) {
        int left = steps - done < STEPS ? steps - done : STEPS;
        pyramid<<<dim3(blocks, blocks), dim3(BLOCK, BLOCK)>>>(n, left, flow_of(n), power, even,
                                                              odd);
        CHECK(cudaGetLastError());
        std::swap(even, odd);
    }
    CHECK(cudaMemcpy(temperature.data(), even, bytes, cudaMemcpyDeviceToHost));
    for (float *array : {power, even, odd})
        CHECK(cudaFree(array));
    return temperature;
}

static std::vector<float> on_host(int n, int steps, const std::vector<float> &power,
                                  std::vector<float> now)
{
    Flow flow = flow_of(n);
    std::vector<float> after(now.size());
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                int at = i * n + j;
                after[at] = next(flow, now[at], now[i > 0 ? at - n : at],
                                 now[i < n - 1 ? at + n : at], now[j > 0 ? at - 1 : at],
                                 now[j < n - 1 ? at + 1 : at], power[at]);
            }
        std::swap(now, after);
    }
    return now;
}

int main(int argc, char **argv)
{
    int n = (int)argument(argc, argv, 1, "the number of rows and columns", 1, 16384, 256);
    int steps = (int)argument(argc, argv, 2, "the number of steps", 0, 100000, 20);
    long seed = argument(argc, argv, 3, "the seed", 0, 1L << 40, 7);
    std::vector<float> power, temperature;
    for (int i = 0; i < n * n; i++) {
        power.push_back(random_unit(seed, i) * 0.01f);
        temperature.push_back(320 + 20 * random_unit(seed + 1, i));
    }
    std::vector<float> got = on_device(n, steps, power, temperature);
    std::vector<float> expected = on_host(n, steps, power, temperature);
    expect_close("temperature", got.data(), expected.data(), (long)n * n, 1e-5);
    printf("ok hotspot: %d x %d cells, %d steps, %.2f degrees in the middle\n", n, n, steps,
           got[(size_t)n / 2 * n + n / 2]);
    return 0;
}
