/* Arrays, textures of arrays and of memory, filters, address modes, layers, and surfaces. */
#include "../check.h"
#include <cmath>
#include <vector>

static const int W = 20, H = 12, D = 5;

static float texel(int x, int y, int z)
{
    return (float)((x * 7 + y * 31 + z * 101) % 97) / 8;
}

static std::vector<float> texels(int depth)
{
    std::vector<float> all;
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                all.push_back(texel(x, y, z));
    return all;
}

__device__ float2 place(int i)
{
    return make_float2(i * 0.37f - 2.0f, (i % 17) * 0.81f - 1.0f);
}

static float2 host_place(int i)
{
    return make_float2(i * 0.37f - 2.0f, (i % 17) * 0.81f - 1.0f);
}

__global__ void read_2d(cudaTextureObject_t texture, float2 scale, float *out)
{
    int i = (int)threadIdx.x;
    float2 at = place(i);
    out[i] = tex2D<float>(texture, at.x * scale.x, at.y * scale.y);
}

__global__ void read_3d(cudaTextureObject_t texture, float *out)
{
    int i = (int)threadIdx.x;
    float2 at = place(i);
    out[i] = tex3D<float>(texture, at.x, at.y, i % 6 + 0.25f);
}

__global__ void read_layers(cudaTextureObject_t texture, float *out)
{
    int i = (int)threadIdx.x;
    out[i] = tex2DLayered<float>(texture, i % W + 0.5f, i % H + 0.5f, i % D);
}

__global__ void read_bytes(cudaTextureObject_t texture, cudaTextureObject_t unit, uchar4 *out,
                           float4 *share)
{
    int i = (int)threadIdx.x;
    out[i] = tex1Dfetch<uchar4>(texture, i - 2);
    share[i] = tex2D<float4>(unit, i + 0.5f, 0.5f);
}

__global__ void gather(cudaTextureObject_t texture, float4 *out)
{
    out[threadIdx.x] = tex2Dgather<float4>(texture, threadIdx.x % 8 + 2.0f, 3.0f, 0);
}

__global__ void change(cudaSurfaceObject_t surface)
{
    int x = (int)threadIdx.x, y = (int)threadIdx.y;
    float value;
    surf2Dread(&value, surface, x * 4, y, cudaBoundaryModeClamp);
    surf2Dwrite(value + 1, surface, x * 4, y, cudaBoundaryModeZero);
}

static cudaTextureDesc described(cudaTextureAddressMode mode, cudaTextureFilterMode filter,
                                 bool unit)
{
    cudaTextureDesc desc = {};
    desc.addressMode[0] = desc.addressMode[1] = desc.addressMode[2] = mode;
    desc.filterMode = filter;
    desc.normalizedCoords = unit;
    desc.borderColor[0] = 3.5f;
    return desc;
}

static cudaResourceDesc of_array(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

static int inside(int index, int size, cudaTextureAddressMode mode)
{
    if (index >= 0 && index < size)
        return index;
    if (mode == cudaAddressModeClamp)
        return index < 0 ? 0 : size - 1;
    if (mode == cudaAddressModeBorder)
        return -1;
    int along = mode == cudaAddressModeWrap ? size : 2 * size;
    int rest = ((index % along) + along) % along;
    return rest < size ? rest : 2 * size - 1 - rest;
}

static double expected(double x, double y, double z, cudaTextureAddressMode mode, bool mixes,
                       int depth)
{
    double at[3] = {x, y, z}, sum = 0;
    int size[3] = {W, H, depth}, directions = depth > 1 ? 3 : 2;
    for (int corner = 0; corner < (mixes ? 1 << directions : 1); corner++) {
        int index[3] = {0, 0, 0};
        double weight = 1;
        bool border = false;
        for (int d = 0; d < directions; d++) {
            double from = mixes ? at[d] - 0.5 : at[d];
            double share = std::round((from - std::floor(from)) * 256) / 256;
            int step = corner >> d & 1;
            if (mixes)
                weight *= step ? share : 1 - share;
            index[d] = inside((int)std::floor(from) + step, size[d], mode);
            border |= index[d] < 0;
        }
        sum += weight * (border ? 3.5 : texel(index[0], index[1], index[2]));
    }
    return sum;
}

static float *results(int bytes)
{
    float *out;
    CHECK(cudaMallocManaged(&out, bytes));
    return out;
}

static void two_directions(cudaArray_t array, float *out)
{
    for (int mode = 0; mode < 4; mode++)
        for (int filter = 0; filter < 2; filter++) {
            auto how = (cudaTextureAddressMode)mode;
            bool unit = how == cudaAddressModeWrap || how == cudaAddressModeMirror;
            cudaTextureDesc desc = described(how, (cudaTextureFilterMode)filter, unit);
            cudaResourceDesc resource = of_array(array);
            cudaTextureObject_t texture;
            CHECK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
            float2 scale = unit ? make_float2(1.0f / W, 1.0f / H) : make_float2(1, 1);
            read_2d<<<1, 64>>>(texture, scale, out);
            CHECK(cudaDeviceSynchronize());
            int wrong = 0;
            for (int i = 0; i < 64; i++) {
                float2 at = host_place(i);
                double x = unit ? (double)(at.x * scale.x) * W : at.x;
                double y = unit ? (double)(at.y * scale.y) * H : at.y;
                /* A step of a weight is 1/256, and texels are up to 12. */
                wrong += std::fabs(out[i] - expected(x, y, 0, how, filter, 1)) > 0.06;
            }
            EXPECT(wrong == 0, "mode %d, filter %d: %d wrong", mode, filter, wrong);
            CHECK(cudaDestroyTextureObject(texture));
        }
}

static void three_directions(float *out)
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    std::vector<float> all = texels(D);
    for (unsigned flags : {0u, (unsigned)cudaArrayLayered}) {
        cudaArray_t array;
        CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(W, H, D), flags));
        cudaMemcpy3DParms copy = {};
        copy.srcPtr = make_cudaPitchedPtr(all.data(), W * sizeof(float), W, H);
        copy.dstArray = array;
        copy.extent = make_cudaExtent(W, H, D);
        copy.kind = cudaMemcpyHostToDevice;
        CHECK(cudaMemcpy3D(&copy));
        cudaTextureFilterMode filter = flags ? cudaFilterModePoint : cudaFilterModeLinear;
        cudaTextureDesc desc = described(cudaAddressModeClamp, filter, false);
        cudaResourceDesc resource = of_array(array);
        cudaTextureObject_t texture;
        CHECK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
        if (flags)
            read_layers<<<1, 64>>>(texture, out);
        else
            read_3d<<<1, 64>>>(texture, out);
        CHECK(cudaDeviceSynchronize());
        int wrong = 0;
        for (int i = 0; i < 64; i++) {
            float2 at = host_place(i);
            double z = i % 6 + 0.25, right = texel(i % W, i % H, i % D);
            if (!flags)
                right = expected(at.x, at.y, z, cudaAddressModeClamp, true, D);
            wrong += std::fabs(out[i] - right) > 0.09;
        }
        EXPECT(wrong == 0, "flags %u: %d wrong", flags, wrong);
        std::vector<float> back(W * H * D);
        copy = {};
        copy.srcArray = array;
        copy.dstPtr = make_cudaPitchedPtr(back.data(), W * sizeof(float), W, H);
        copy.extent = make_cudaExtent(W, H, D);
        copy.kind = cudaMemcpyDeviceToHost;
        CHECK(cudaMemcpy3D(&copy));
        EXPECT(back == all, "the array does not give back what it got");
        CHECK(cudaDestroyTextureObject(texture));
        CHECK(cudaFreeArray(array));
    }
}

static void memory(float *out)
{
    uchar4 *bytes;
    size_t pitch;
    CHECK(cudaMallocPitch(&bytes, &pitch, 64 * 4, 2));
    std::vector<unsigned char> host(64 * 4);
    for (int i = 0; i < 256; i++)
        host[i] = (unsigned char)(255 - i);
    CHECK(cudaMemcpy(bytes, host.data(), 256, cudaMemcpyHostToDevice));
    cudaResourceDesc linear = {}, rows = {};
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = bytes;
    linear.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    linear.res.linear.sizeInBytes = 60 * 4;
    rows.resType = cudaResourceTypePitch2D;
    rows.res.pitch2D.devPtr = bytes;
    rows.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
    rows.res.pitch2D.width = 64;
    rows.res.pitch2D.height = 2;
    rows.res.pitch2D.pitchInBytes = pitch;
    cudaTextureDesc plain = described(cudaAddressModeClamp, cudaFilterModePoint, false);
    cudaTextureDesc unit = plain;
    unit.readMode = cudaReadModeNormalizedFloat;
    cudaTextureObject_t texture, shares;
    CHECK(cudaCreateTextureObject(&texture, &linear, &plain, nullptr));
    CHECK(cudaCreateTextureObject(&shares, &rows, &unit, nullptr));
    uchar4 *found = (uchar4 *)out;
    float4 *share = (float4 *)(out + 64);
    read_bytes<<<1, 64>>>(texture, shares, found, share);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) {
        int from = i - 2 >= 0 && i - 2 < 60 ? 255 - 4 * (i - 2) : 0;
        EXPECT(found[i].x == from, "element %d: %d instead of %d", i, found[i].x, from);
        EXPECT(share[i].y == (254 - 4 * i) / 255.0f, "share %d: %g", i, share[i].y);
    }
    cudaTextureDesc again;
    cudaResourceDesc of;
    CHECK(cudaGetTextureObjectTextureDesc(&again, shares));
    CHECK(cudaGetTextureObjectResourceDesc(&of, shares));
    EXPECT(again.readMode == cudaReadModeNormalizedFloat && of.res.pitch2D.devPtr == bytes,
           "a texture forgets what it is of");
    unit.filterMode = plain.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t none;
    EXPECT_ERROR(cudaCreateTextureObject(&none, &rows, &plain, nullptr),
                 cudaErrorInvalidFilterSetting);
    CHECK(cudaDestroyTextureObject(texture));
    CHECK(cudaDestroyTextureObject(shares));
    CHECK(cudaFree(bytes));
}

static void surfaces(cudaArray_t array)
{
    cudaResourceDesc resource = of_array(array);
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    change<<<1, dim3(W + 2, H + 1)>>>(surface);
    CHECK(cudaDeviceSynchronize());
    std::vector<float> back(W * H);
    CHECK(cudaMemcpy2DFromArray(back.data(), W * 4, array, 0, 0, W * 4, H, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < W * H; i++)
        wrong += back[i] != texel(i % W, i / W, 0) + 1;
    EXPECT(wrong == 0, "%d elements of the surface are wrong", wrong);
    CHECK(cudaDestroySurfaceObject(surface));
}

int main()
{
    float *out = results(4096);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>(), about;
    EXPECT(format.x == 32 && format.y == 0 && format.f == cudaChannelFormatKindFloat,
           "a wrong format");
    cudaArray_t array, other;
    unsigned flags = cudaArraySurfaceLoadStore | cudaArrayTextureGather;
    CHECK(cudaMallocArray(&array, &format, W, H, flags));
    CHECK(cudaMallocArray(&other, &format, W, H));
    std::vector<float> all = texels(1);
    CHECK(cudaMemcpy2DToArray(other, 0, 0, all.data(), W * 4, W * 4, H, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy2DArrayToArray(array, 0, 0, other, 0, 0, W * 4, H, cudaMemcpyDeviceToDevice));
    cudaMemcpyKind to_device = cudaMemcpyHostToDevice;
    EXPECT_ERROR(cudaMemcpy2DToArray(array, 8, 0, all.data(), W * 4, W * 4, H, to_device),
                 cudaErrorInvalidValue);
    cudaExtent extent;
    unsigned known;
    CHECK(cudaArrayGetInfo(&about, &extent, &known, array));
    EXPECT(about.x == 32 && extent.width == W && extent.height == H && known == flags,
           "wrong info");

    two_directions(array, out);
    cudaResourceDesc resource = of_array(array);
    cudaTextureDesc desc = described(cudaAddressModeClamp, cudaFilterModePoint, false);
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
    gather<<<1, 8>>>(texture, (float4 *)out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; i++)
        EXPECT(out[4 * i] == texel(i + 1, 3, 0) && out[4 * i + 1] == texel(i + 2, 3, 0)
                   && out[4 * i + 2] == texel(i + 2, 2, 0) && out[4 * i + 3] == texel(i + 1, 2, 0),
               "gathered %d: %g %g %g %g", i, out[4 * i], out[4 * i + 1], out[4 * i + 2],
               out[4 * i + 3]);
    CHECK(cudaDestroyTextureObject(texture));
    three_directions(out);
    memory(out);
    surfaces(array);
    CHECK(cudaFreeArray(array));
    CHECK(cudaFreeArray(other));
    printf("ok textures\n");
    return 0;
}
