/* The two products of a BiCG step: s = transposed(A) r, and q = A p.
 *
 * The kernels are those of PolyBench's `bicg` for GPUs, written anew:
 *   columns_kernel  a thread has a column of A; the threads of a warp read neighbours of a row (one
 *                   line of 128 bytes per request);
 *   rows_kernel     a thread has a row; the threads of a warp read a column (32 lines per request).
 * No thread diverges if the sizes are multiples of 256.
 *
 * Arrays: `matrix` (rows x columns floats), `r`, `q` (rows), `p`, `s` (columns).
 *
 * Arguments: rows (1024), columns (1024), seed (7). Published size: 4096 x 4096.
 * Check: both products on the host in double; within 2e-5 of the greatest. */
#include "options.h"
#include <vector>

enum { THREADS = 256 };

__global__ void columns_kernel(int rows, int columns, const float *matrix, const float *r, float *s)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < columns) {
        s[j] = 0;
        for (int i = 0; i < rows; i++)
            s[j] += r[i] * matrix[(size_t)i * columns + j];
    }
}

__global__ void rows_kernel(int rows, int columns, const float *matrix, const float *p, float *q)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        q[i] = 0;
        for (int j = 0; j < columns; j++)
            q[i] += matrix[(size_t)i * columns + j] * p[j];
    }
}

static std::vector<float> generate(size_t count, uint64_t seed)
{
    std::vector<float> values(count);
    for (size_t i = 0; i < count; i++)
        values[i] = random_unit(seed, i) - 0.25f;
    return values;
}

int main(int argc, char **argv)
{
    int rows = (int)argument(argc, argv, 1, "the number of rows", 1, 65536, 1024);
    int columns = (int)argument(argc, argv, 2, "the number of columns", 1, 65536, 1024);
    uint64_t seed = (uint64_t)argument(argc, argv, 3, "the seed", 0, 1L << 40, 7);
    std::vector<float> matrix = generate((size_t)rows * columns, seed);
    std::vector<float> r = generate(rows, seed + 1), p = generate(columns, seed + 2);
    std::vector<float> q(rows, -1.0f), s(columns, -1.0f);

    float *device_matrix = upload(matrix), *device_r = upload(r), *device_p = upload(p);
    float *device_q = upload(q), *device_s = upload(s);
    columns_kernel<<<(columns + THREADS - 1) / THREADS, THREADS>>>(rows, columns, device_matrix,
                                                                   device_r, device_s);
    rows_kernel<<<(rows + THREADS - 1) / THREADS, THREADS>>>(rows, columns, device_matrix, device_p,
                                                             device_q);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    download(s, device_s);
    download(q, device_q);
    for (float *array : {device_matrix, device_r, device_p, device_q, device_s})
        CHECK(cudaFree(array));

    std::vector<double> right_q(rows), right_s(columns);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            double element = matrix[(size_t)i * columns + j];
            right_s[j] += r[i] * element;
            right_q[i] += element * p[j];
        }
    std::vector<float> expected_q(right_q.begin(), right_q.end());
    std::vector<float> expected_s(right_s.begin(), right_s.end());
    expect_close("q", q.data(), expected_q.data(), rows, 2e-5);
    expect_close("s", s.data(), expected_s.data(), columns, 2e-5);
    printf("ok bicg: %d x %d, q[0] %.4f, s[0] %.4f\n", rows, columns, q[0], s[0]);
    return 0;
}
