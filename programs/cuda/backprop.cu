/* One step of training of a neural network: many inputs, 16 hidden units, one output.
 *
 * Network and split of the work are those of Rodinia's `backprop`, written anew. A block of 16 x 16
 * threads has 16 inputs (y) and all hidden units (x):
 *   forward  products of inputs and weights, summed up over the block's inputs by a tree in shared
 *            memory, half of whose threads stop at every step; one sum per block and unit;
 *   adjust   weights change by the units' errors and by the change of the step before.
 * Between them, the host adds the partial sums, works out the output and the errors, and adjusts
 * the weights of the output.
 *
 * Arrays: `input` (1 + inputs; element 0 is the bias), `weights` and `changes` ((1 + inputs) x 17,
 * column 0 is unused), `partial` (blocks x 16), `errors` (17).
 *
 * Arguments: inputs, a multiple of 16 (16384), seed (7). Published size: 65536.
 * Check: the same step on the host in double; weights and changes within 1e-5 of the greatest. */
#include "options.h"
#include <vector>

enum { UNITS = 16, ROWS = 16, WIDTH = UNITS + 1 };
constexpr float RATE = 0.3f, MOMENTUM = 0.3f, TARGET = 0.1f;

struct Network {
    int inputs;
    std::vector<float> input, weights, changes;   /* Inputs to hidden units. */
    std::vector<float> out_weights, out_changes;  /* Hidden units to the output. */
};

__global__ void forward(const float *input, const float *weights, float *partial)
{
    __shared__ float values[ROWS];
    __shared__ float products[ROWS][UNITS];
    int row = blockIdx.y * ROWS + threadIdx.y + 1, unit = threadIdx.x;
    if (unit == 0)
        values[threadIdx.y] = input[row];
    __syncthreads();
    products[threadIdx.y][unit] = weights[row * WIDTH + unit + 1] * values[threadIdx.y];
    for (int step = 1; step < ROWS; step *= 2) {
        __syncthreads();
        if (threadIdx.y % (2 * step) == 0)
            products[threadIdx.y][unit] += products[threadIdx.y + step][unit];
    }
    __syncthreads();
    if (unit == 0)
        partial[blockIdx.y * UNITS + threadIdx.y] = products[0][threadIdx.y];
}

__global__ void adjust(const float *input, const float *errors, float *weights, float *changes)
{
    int row = blockIdx.y * ROWS + threadIdx.y + 1, unit = threadIdx.x + 1, at = row * WIDTH + unit;
    float change = RATE * errors[unit] * input[row] + MOMENTUM * changes[at];
    weights[at] += change;
    changes[at] = change;
    /* Row 0 is the bias, whose input is 1. */
    if (threadIdx.y == 0 && blockIdx.y == 0) {
        change = RATE * errors[unit] + MOMENTUM * changes[unit];
        weights[unit] += change;
        changes[unit] = change;
    }
}

static Network generate(int inputs, uint64_t seed)
{
    Network net{inputs, {}, {}, {}, {}, {}};
    for (int i = 0; i <= inputs; i++)
        net.input.push_back(i ? random_unit(seed, i) : 1.0f);
    float scale = 2.0f / std::sqrt((float)inputs);
    for (int i = 0; i < (inputs + 1) * WIDTH; i++) {
        net.weights.push_back((random_unit(seed + 1, i) - 0.5f) * scale);
        net.changes.push_back((random_unit(seed + 2, i) - 0.5f) * scale * 0.1f);
    }
    for (int i = 0; i < WIDTH; i++) {
        net.out_weights.push_back(random_unit(seed + 3, i) - 0.5f);
        net.out_changes.push_back(0);
    }
    return net;
}

template <class T> static T squash(T x)
{
    return 1 / (1 + std::exp(-x));
}

/* From the sums of the hidden units to their errors; adjusts the weights of the output. `sums` and
 * `errors` have an element 0 that stands for the bias. Returns the output. */
template <class T> static T output_layer(Network &net, const T *sums, T *errors)
{
    T hidden[WIDTH], sum = 0;
    hidden[0] = 1;
    for (int unit = 1; unit < WIDTH; unit++)
        hidden[unit] = squash(sums[unit]);
    for (int unit = 0; unit < WIDTH; unit++)
        sum += hidden[unit] * net.out_weights[unit];
    T output = squash(sum), error = output * (1 - output) * (TARGET - output);
    errors[0] = 0;
    for (int unit = 1; unit < WIDTH; unit++)
        errors[unit] = hidden[unit] * (1 - hidden[unit]) * error * net.out_weights[unit];
    for (int unit = 0; unit < WIDTH; unit++) {
        float change = (float)(RATE * error * hidden[unit] + MOMENTUM * net.out_changes[unit]);
        net.out_weights[unit] += change;
        net.out_changes[unit] = change;
    }
    return output;
}

static float train_on_device(Network &net)
{
    float *input, *weights, *changes, *partial, *device_errors, sums[WIDTH] = {}, errors[WIDTH];
    size_t bytes = net.weights.size() * sizeof(float);
    int blocks = net.inputs / ROWS;
    std::vector<float> host_partial(blocks * UNITS);
    CHECK(cudaMalloc(&input, net.input.size() * sizeof(float)));
    CHECK(cudaMalloc(&weights, bytes));
    CHECK(cudaMalloc(&changes, bytes));
    CHECK(cudaMalloc(&partial, host_partial.size() * sizeof(float)));
    CHECK(cudaMalloc(&device_errors, sizeof errors));
    CHECK(cudaMemcpy(input, net.input.data(), net.input.size() * sizeof(float),
                     cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(weights, net.weights.data(), bytes, cudaMemcpyHostToDevice));
    dim3 grid(1, blocks), block(UNITS, ROWS);
    forward<<<grid, block>>>(input, weights, partial);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host_partial.data(), partial, host_partial.size() * sizeof(float),
                     cudaMemcpyDeviceToHost));
    for (int unit = 1; unit < WIDTH; unit++) {
        for (int part = 0; part < blocks; part++)
            sums[unit] += host_partial[part * UNITS + unit - 1];
        sums[unit] += net.weights[unit];
    }
    float output = output_layer(net, sums, errors);
    CHECK(cudaMemcpy(device_errors, errors, sizeof errors, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(changes, net.changes.data(), bytes, cudaMemcpyHostToDevice));
    adjust<<<grid, block>>>(input, device_errors, weights, changes);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(net.weights.data(), weights, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(net.changes.data(), changes, bytes, cudaMemcpyDeviceToHost));
    for (float *array : {input, weights, changes, partial, device_errors})
        CHECK(cudaFree(array));
    return output;
}

static double train_on_host(Network &net)
{
    double sums[WIDTH] = {}, errors[WIDTH];
    for (int row = 0; row <= net.inputs; row++)
        for (int unit = 1; unit < WIDTH; unit++)
            sums[unit] += (double)net.input[row] * net.weights[row * WIDTH + unit];
    double output = output_layer(net, sums, errors);
    for (int row = 0; row <= net.inputs; row++)
        for (int unit = 1; unit < WIDTH; unit++) {
            int at = row * WIDTH + unit;
            net.changes[at] = (float)(RATE * errors[unit] * net.input[row] +
                                      MOMENTUM * net.changes[at]);
            net.weights[at] += net.changes[at];
        }
    return output;
}

int main(int argc, char **argv)
{
    int inputs = (int)argument(argc, argv, 1, "the number of inputs", 16, 65535 * 16, 16384);
    long seed = argument(argc, argv, 2, "the seed", 0, 1L << 40, 7);
    EXPECT(inputs % ROWS == 0, "the number of inputs is no multiple of 16: %d", inputs);
    Network net = generate(inputs, (uint64_t)seed), expected = net;
    double output = train_on_device(net), right = train_on_host(expected);
    EXPECT(std::fabs(output - right) < 1e-5, "output %g, expected %g", output, right);
    long count = (long)net.weights.size();
    expect_close("weights", net.weights.data(), expected.weights.data(), count, 1e-5);
    expect_close("changes", net.changes.data(), expected.changes.data(), count, 1e-5);
    expect_close("out_weights", net.out_weights.data(), expected.out_weights.data(), WIDTH, 1e-5);
    printf("ok backprop: %d inputs, %d units, output %.4f\n", inputs, UNITS, output);
    return 0;
}
