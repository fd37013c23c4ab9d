/* Cube maps: faces by directions, layers, filters within a face and across edges, surfaces of
 * faces. */
#include "../check.h"
#include <cmath>
#include <vector>

static const int N = 8, LAYERS = 3;

static float texel(int plane, int x, int y)
{
    return (float)((x * 7 + y * 31 + plane * 101) % 97) / 8;
}

/* A direction on the device and on the host: of all faces. */
__host__ __device__ static float3 direction(int i)
{
    return make_float3((i * 37 % 101 - 50) * 0.173f + 0.011f, (i * 53 % 89 - 44) * 0.219f + 0.0137f,
                       (i * 29 % 97 - 48) * 0.191f + 0.017f);
}

__global__ void read(cudaTextureObject_t texture, float *out)
{
    int i = (int)threadIdx.x;
    float3 d = direction(i);
    out[i] = texCubemap<float>(texture, d.x, d.y, d.z);
}

__global__ void read_layers(cudaTextureObject_t texture, float *out)
{
    int i = (int)threadIdx.x;
    float3 d = direction(i);
    out[i] = texCubemapLayered<float>(texture, d.x, d.y, d.z, i % LAYERS);
}

__global__ void read_level(cudaTextureObject_t texture, float *out)
{
    int i = (int)threadIdx.x;
    float3 d = direction(i);
    out[i] = texCubemapLod<float>(texture, d.x, d.y, d.z, 0.0f);
}

/* Each face becomes the next one, and is ten larger. */
__global__ void turn(cudaSurfaceObject_t from, cudaSurfaceObject_t to)
{
    int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x;
    float value = surfCubemapread<float>(from, x * 4, y, face);
    surfCubemapwrite(value + 10, to, x * 4, y, (face + 1) % 6);
}

/* The table of the programming guide. */
static int face_of(float3 d, float *s, float *t)
{
    float x = fabsf(d.x), y = fabsf(d.y), z = fabsf(d.z), m = fmaxf(x, fmaxf(y, z));
    int face = m == x ? (d.x < 0) : m == y ? 2 + (d.y < 0) : 4 + (d.z < 0);
    float across[6] = {-d.z, d.z, d.x, d.x, d.x, -d.x};
    float down[6] = {-d.y, -d.y, d.z, -d.z, -d.y, -d.y};
    *s = (across[face] / m + 1) / 2;
    *t = (down[face] / m + 1) / 2;
    return face;
}

static float clamped(int plane, int x, int y)
{
    x = x < 0 ? 0 : x >= N ? N - 1 : x;
    y = y < 0 ? 0 : y >= N ? N - 1 : y;
    return texel(plane, x, y);
}

static float nearest(float3 d, int layer)
{
    float s, t;
    int face = face_of(d, &s, &t);
    return clamped(layer * 6 + face, (int)floorf(s * N), (int)floorf(t * N));
}

static float mixed(float3 d)
{
    float s, t;
    int face = face_of(d, &s, &t);
    float x = s * N - 0.5f, y = t * N - 0.5f;
    int i = (int)floorf(x), j = (int)floorf(y);
    float a = x - i, b = y - j;
    return (1 - b) * ((1 - a) * clamped(face, i, j) + a * clamped(face, i + 1, j)) +
           b * ((1 - a) * clamped(face, i, j + 1) + a * clamped(face, i + 1, j + 1));
}

static cudaArray_t array_of(int planes, unsigned flags)
{
    std::vector<float> all;
    for (int plane = 0; plane < planes; plane++)
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++)
                all.push_back(texel(plane, x, y));
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(N, N, planes), flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(all.data(), N * 4, N, N);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(N, N, planes);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureFilterMode filter, int seamless)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc how = {};
    how.filterMode = filter;
    how.normalizedCoords = 1;
    how.seamlessCubemap = seamless;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    return texture;
}

int main()
{
    const int COUNT = 256;
    float *out, host[COUNT];
    CHECK(cudaMalloc(&out, sizeof host));
    cudaArray_t cube = array_of(6, cudaArrayCubemap | cudaArraySurfaceLoadStore);
    cudaTextureObject_t point = texture_of(cube, cudaFilterModePoint, 0);
    read<<<1, COUNT>>>(point, out);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        EXPECT(host[i] == nearest(direction(i), 0), "%d: %g", i, host[i]);
    read_level<<<1, COUNT>>>(point, out);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        EXPECT(host[i] == nearest(direction(i), 0), "%d: %g", i, host[i]);

    cudaTextureObject_t linear = texture_of(cube, cudaFilterModeLinear, 0);
    read<<<1, COUNT>>>(linear, out);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        EXPECT(fabsf(host[i] - mixed(direction(i))) < 0.1f, "%d: %g", i, host[i]);
    float within[COUNT];
    memcpy(within, host, sizeof host);
    cudaTextureObject_t seamless = texture_of(cube, cudaFilterModeLinear, 1);
    read<<<1, COUNT>>>(seamless, out);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    int across = 0;
    for (int i = 0; i < COUNT; i++) {
        float s, t;
        face_of(direction(i), &s, &t);
        float least = fminf(fminf(s, 1 - s), fminf(t, 1 - t)) * N;
        EXPECT(least < 0.51f || host[i] == within[i], "%d: %g", i, host[i]);
        across += host[i] != within[i];
    }
    EXPECT(across > 10, "%d", across);

    cudaArray_t layers = array_of(6 * LAYERS, cudaArrayCubemap | cudaArrayLayered);
    read_layers<<<1, COUNT>>>(texture_of(layers, cudaFilterModePoint, 0), out);
    CHECK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < COUNT; i++)
        EXPECT(host[i] == nearest(direction(i), i % LAYERS), "%d: %g", i, host[i]);

    cudaArray_t turned = array_of(6, cudaArrayCubemap | cudaArraySurfaceLoadStore);
    cudaSurfaceObject_t from, to;
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = cube;
    CHECK(cudaCreateSurfaceObject(&from, &resource));
    resource.res.array.array = turned;
    CHECK(cudaCreateSurfaceObject(&to, &resource));
    turn<<<6, dim3(N, N)>>>(from, to);
    CHECK(cudaDeviceSynchronize());
    std::vector<float> all(6 * N * N);
    cudaMemcpy3DParms back = {};
    back.srcArray = turned;
    back.dstPtr = make_cudaPitchedPtr(all.data(), N * 4, N, N);
    back.extent = make_cudaExtent(N, N, 6);
    back.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&back));
    for (int face = 0; face < 6; face++)
        for (int i = 0; i < N * N; i++) {
            float found = all[((face + 1) % 6) * N * N + i];
            EXPECT(found == texel(face, i % N, i / N) + 10, "%d %d: %g", face, i, found);
        }

    cudaExtent extent;
    unsigned flags;
    CHECK(cudaArrayGetInfo(nullptr, &extent, &flags, layers));
    EXPECT(extent.depth == 6 * LAYERS, "%zu", extent.depth);
    EXPECT(flags == (cudaArrayCubemap | cudaArrayLayered), "%u", flags);
    /* Faces are squares, and six in each layer. */
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t wrong;
    EXPECT_ERROR(cudaMalloc3DArray(&wrong, &format, make_cudaExtent(N, N + 1, 6), cudaArrayCubemap),
                 cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMalloc3DArray(&wrong, &format, make_cudaExtent(N, N, 12), cudaArrayCubemap),
                 cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMalloc3DArray(&wrong, &format, make_cudaExtent(N, N, 8),
                                   cudaArrayCubemap | cudaArrayLayered),
                 cudaErrorInvalidValue);
    printf("ok cubemaps\n");
    return 0;
}
