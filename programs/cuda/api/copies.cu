/* Copies of two and three dimensions, and pitch.
 *
 * Parts of matrices and of volumes move between host and device and on the device; bytes beside the
 * part stay as they are. */
#include "../check.h"
#include <cstring>

enum { WIDTH = 37, HEIGHT = 21, DEPTH = 5 };

__global__ void double_rows(char *rows, size_t pitch)
{
    float *row = (float *)(rows + blockIdx.x * pitch);
    row[threadIdx.x] *= 2;
}

__global__ void number_cells(cudaPitchedPtr volume)
{
    char *slice = (char *)volume.ptr + blockIdx.y * volume.pitch * HEIGHT;
    int *row = (int *)(slice + blockIdx.x * volume.pitch);
    row[threadIdx.x] = 10000 * blockIdx.y + 100 * blockIdx.x + threadIdx.x;
}

static void two_dimensions()
{
    static float in[HEIGHT][WIDTH], out[HEIGHT][WIDTH + 3];
    for (int i = 0; i < HEIGHT; i++)
        for (int j = 0; j < WIDTH; j++)
            in[i][j] = (float)(100 * i + j);
    for (auto &row : out)
        for (float &cell : row)
            cell = -1;
    char *device, *other;
    size_t pitch, other_pitch;
    CHECK(cudaMallocPitch(&device, &pitch, WIDTH * sizeof(float), HEIGHT));
    CHECK(cudaMallocPitch(&other, &other_pitch, 2 * WIDTH * sizeof(float), HEIGHT));
    EXPECT(pitch >= WIDTH * sizeof(float) && pitch % 16 == 0, "pitch %zu", pitch);
    CHECK(cudaMemcpy2D(device, pitch, in, sizeof in[0], sizeof in[0], HEIGHT,
                       cudaMemcpyHostToDevice));
    double_rows<<<HEIGHT, WIDTH>>>(device, pitch);
    CHECK(cudaMemcpy2DAsync(other, other_pitch, device, pitch, WIDTH * sizeof(float), HEIGHT,
                            cudaMemcpyDeviceToDevice, 0));
    /* Ten columns and three rows less, into rows that are longer. */
    CHECK(cudaMemcpy2D(out, sizeof out[0], other, other_pitch, (WIDTH - 10) * sizeof(float),
                       HEIGHT - 3, cudaMemcpyDeviceToHost));
    for (int i = 0; i < HEIGHT; i++)
        for (int j = 0; j < WIDTH + 3; j++) {
            float expected = i < HEIGHT - 3 && j < WIDTH - 10 ? 2 * in[i][j] : -1;
            EXPECT(out[i][j] == expected, "row %d, column %d: %g", i, j, out[i][j]);
        }
    /* A pitch that is smaller than the width is no pitch. */
    EXPECT_ERROR(cudaMemcpy2D(device, 16, in, sizeof in[0], sizeof in[0], HEIGHT,
                              cudaMemcpyHostToDevice),
                 cudaErrorInvalidPitchValue);
    CHECK(cudaFree(device));
    CHECK(cudaFree(other));
}

static void three_dimensions()
{
    static int out[DEPTH][HEIGHT][WIDTH], back[DEPTH][HEIGHT][WIDTH];
    cudaExtent all = make_cudaExtent(WIDTH * sizeof(int), HEIGHT, DEPTH);
    cudaPitchedPtr volume, copy;
    CHECK(cudaMalloc3D(&volume, all));
    CHECK(cudaMalloc3D(&copy, all));
    EXPECT(volume.xsize == WIDTH * sizeof(int) && volume.ysize == HEIGHT, "%zu x %zu", volume.xsize,
           volume.ysize);
    number_cells<<<dim3(HEIGHT, DEPTH), WIDTH>>>(volume);
    CHECK(cudaMemset3D(copy, 0, all));

    /* A part from the middle of one volume into another place of the other. */
    cudaMemcpy3DParms parts = {};
    parts.srcPtr = volume;
    parts.srcPos = make_cudaPos(4 * sizeof(int), 3, 1);
    parts.dstPtr = copy;
    parts.dstPos = make_cudaPos(8 * sizeof(int), 1, 2);
    parts.extent = make_cudaExtent(20 * sizeof(int), 10, 3);
    parts.kind = cudaMemcpyDeviceToDevice;
    CHECK(cudaMemcpy3D(&parts));

    cudaMemcpy3DParms down = {};
    down.srcPtr = copy;
    down.dstPtr = make_cudaPitchedPtr(out, sizeof out[0][0], WIDTH, HEIGHT);
    down.extent = all;
    down.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3DAsync(&down, 0));
    CHECK(cudaDeviceSynchronize());
    for (int k = 0; k < DEPTH; k++)
        for (int i = 0; i < HEIGHT; i++)
            for (int j = 0; j < WIDTH; j++) {
                bool inside = k >= 2 && i >= 1 && i < 11 && j >= 8 && j < 28;
                int expected = inside ? 10000 * (k - 1) + 100 * (i + 2) + j - 4 : 0;
                EXPECT(out[k][i][j] == expected, "cell %d, %d, %d: %d", k, i, j, out[k][i][j]);
            }

    cudaMemcpy3DParms up = {};
    up.srcPtr = make_cudaPitchedPtr(out, sizeof out[0][0], WIDTH, HEIGHT);
    up.dstPtr = volume;
    up.extent = all;
    up.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&up));
    down.srcPtr = volume;
    down.dstPtr.ptr = back;
    CHECK(cudaMemcpy3D(&down));
    EXPECT(!memcmp(out, back, sizeof out), "the volume is not what it was");
    CHECK(cudaFree(volume.ptr));
    CHECK(cudaFree(copy.ptr));
}

int main()
{
    two_dimensions();
    three_dimensions();
    printf("ok copies\n");
    return 0;
}
