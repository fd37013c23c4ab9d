/* Memset of all kinds: plain, asynchronous, of two and three dimensions, of parts, of nothing. */
#include "../check.h"
#include <cstring>

static void plain()
{
    unsigned char *device, host[1000];
    CHECK(cudaMalloc(&device, sizeof host));
    CHECK(cudaMemset(device, 0xab, sizeof host));
    CHECK(cudaMemset(device + 10, 0x1cd, 3)); /* Only the low byte counts. */
    CHECK(cudaMemset(device + 500, 7, 0));
    CHECK(cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 1000; i++)
        EXPECT(host[i] == (i >= 10 && i < 13 ? 0xcd : 0xab), "byte %d is %x", i, host[i]);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemsetAsync(device, 1, sizeof host, stream));
    CHECK(cudaMemsetAsync(device + 999, 2, 1, stream));
    CHECK(cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    EXPECT(host[0] == 1 && host[998] == 1 && host[999] == 2, "%d, %d, %d", host[0], host[998],
           host[999]);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(device));
}

static void two_dimensions()
{
    enum { WIDTH = 50, HEIGHT = 9 };
    unsigned char *device, host[HEIGHT][WIDTH];
    size_t pitch;
    CHECK(cudaMallocPitch(&device, &pitch, WIDTH, HEIGHT));
    CHECK(cudaMemset2D(device, pitch, 3, WIDTH, HEIGHT));
    CHECK(cudaMemset2DAsync(device + pitch + 2, pitch, 4, 5, 3, 0));
    CHECK(cudaMemcpy2D(host, WIDTH, device, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost));
    for (int i = 0; i < HEIGHT; i++)
        for (int j = 0; j < WIDTH; j++) {
            int expected = i >= 1 && i < 4 && j >= 2 && j < 7 ? 4 : 3;
            EXPECT(host[i][j] == expected, "row %d, column %d: %d", i, j, host[i][j]);
        }
    CHECK(cudaFree(device));
}

static void three_dimensions()
{
    enum { WIDTH = 20, HEIGHT = 6, DEPTH = 4 };
    unsigned char host[DEPTH][HEIGHT][WIDTH];
    cudaPitchedPtr device;
    CHECK(cudaMalloc3D(&device, make_cudaExtent(WIDTH, HEIGHT, DEPTH)));
    CHECK(cudaMemset3D(device, 5, make_cudaExtent(WIDTH, HEIGHT, DEPTH)));
    CHECK(cudaMemset3DAsync(device, 6, make_cudaExtent(3, 2, 2), 0));
    cudaMemcpy3DParms down = {};
    down.srcPtr = device;
    down.dstPtr = make_cudaPitchedPtr(host, WIDTH, WIDTH, HEIGHT);
    down.extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    down.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&down));
    for (int k = 0; k < DEPTH; k++)
        for (int i = 0; i < HEIGHT; i++)
            for (int j = 0; j < WIDTH; j++) {
                int expected = k < 2 && i < 2 && j < 3 ? 6 : 5;
                EXPECT(host[k][i][j] == expected, "cell %d, %d, %d: %d", k, i, j, host[k][i][j]);
            }
    CHECK(cudaFree(device.ptr));
}

int main()
{
    plain();
    two_dimensions();
    three_dimensions();
    EXPECT_ERROR(cudaMemset((void *)16, 0, 4), cudaErrorInvalidValue);
    printf("ok memset\n");
    return 0;
}
