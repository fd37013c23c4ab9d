/* A program that uses the driver's interface, without the runtime.
 *
 * Argument: the PTX of driver.cu. The functions are linked, and found by
 * `cuGetProcAddress` of a library that is loaded while the program runs, as other languages do.
 * Checks: results of launches by pointers and by a buffer, of a variable, copies, fills, streams,
 * events, contexts, libraries and links, and the errors that the driver documents. */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(call) expect(__LINE__, #call, (call), CUDA_SUCCESS)
#define EXPECT_ERROR(call, error) expect(__LINE__, #call, (call), (error))
#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "driver.c:%d: not so: %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

enum { N = 1000, THREADS = 128 };

static void expect(int line, const char *call, CUresult got, CUresult wanted)
{
    if (got == wanted)
        return;
    fprintf(stderr, "driver.c:%d: %s gives %d, expected %d\n", line, call, (int)got, (int)wanted);
    exit(1);
}

/* What a program does before it has a context. */
static CUdevice start(void)
{
    int count, version, threads;
    char name[64];
    CUdevice device;
    size_t bytes;
    CUdeviceptr none;
    EXPECT_ERROR(cuMemAlloc(&none, 4), CUDA_ERROR_NOT_INITIALIZED);
    CHECK(cuInit(0));
    EXPECT_ERROR(cuMemAlloc(&none, 4), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuDriverGetVersion(&version));
    EXPECT(version >= 13000);
    CHECK(cuDeviceGetCount(&count));
    EXPECT(count >= 1);
    EXPECT_ERROR(cuDeviceGet(&device, count), CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    EXPECT(strlen(name) > 0);
    CHECK(cuDeviceTotalMem(&bytes, device));
    EXPECT(bytes > 1 << 20);
    CHECK(cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device));
    EXPECT(threads >= THREADS);
    return device;
}

static void launches(CUmodule module)
{
    CUfunction scale;
    EXPECT_ERROR(cuModuleGetFunction(&scale, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    CHECK(cuModuleGetFunction(&scale, module, "scale"));
    float host[N], factor = 3;
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    CUdeviceptr data, variable;
    size_t bytes;
    CHECK(cuMemAlloc(&data, sizeof host));
    CHECK(cuMemcpyHtoD(data, host, sizeof host));
    CHECK(cuModuleGetGlobal(&variable, &bytes, module, "offset"));
    EXPECT(bytes == sizeof(float));
    EXPECT_ERROR(cuModuleGetGlobal(&variable, &bytes, module, "nothing"), CUDA_ERROR_NOT_FOUND);
    CHECK(cuModuleGetGlobal(&variable, &bytes, module, "offset"));
    float one = 1;
    CHECK(cuMemcpyHtoD(variable, &one, sizeof one));
    int n = N;
    void *parameters[] = {&data, &factor, &n};
    CHECK(cuLaunchKernel(scale, (N + THREADS - 1) / THREADS, 1, 1, THREADS, 1, 1, 0, NULL,
                         parameters, NULL));
    CHECK(cuCtxSynchronize());
    /* The same, with the parameters as they lie in memory. */
    struct {
        CUdeviceptr data;
        float factor;
        int n;
    } packed = {data, 2, N};
    size_t size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CHECK(cuLaunchKernel(scale, (N + THREADS - 1) / THREADS, 1, 1, THREADS, 1, 1, 0, NULL, NULL,
                         extra));
    /* A buffer with too few parameters, or too many. */
    size_t wrong[] = {0, sizeof packed - 1, sizeof packed + 16};
    for (int i = 0; i < 3; i++) {
        size = wrong[i];
        EXPECT_ERROR(cuLaunchKernel(scale, 1, 1, 1, THREADS, 1, 1, 0, NULL, NULL, extra),
                     CUDA_ERROR_INVALID_VALUE);
    }
    CHECK(cuMemcpyDtoH(host, data, sizeof host));
    for (int i = 0; i < N; i++)
        EXPECT(host[i] == 2 * (3 * (float)i + 1) + 1);
    EXPECT_ERROR(cuLaunchKernel(scale, 1, 1, 1, 5000, 1, 1, 0, NULL, parameters, NULL),
                 CUDA_ERROR_INVALID_VALUE);
    int threads;
    CHECK(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, scale));
    EXPECT(threads >= THREADS);
    CHECK(cuMemFree(data));
    EXPECT_ERROR(cuMemFree(data), CUDA_ERROR_INVALID_VALUE);
}

static void streams(void)
{
    CUstream stream;
    CUevent before, after;
    CUdeviceptr data;
    unsigned host[N];
    float time;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&before, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&after, CU_EVENT_DEFAULT));
    CHECK(cuMemAllocAsync(&data, sizeof host, stream));
    CHECK(cuEventRecord(before, stream));
    CHECK(cuMemsetD32Async(data, 0x12345678, N, stream));
    CHECK(cuMemsetD16Async(data, 0xabcd, 2, stream));
    CHECK(cuMemsetD8Async(data + 4, 0xef, 1, stream));
    CHECK(cuMemcpyDtoHAsync(host, data, sizeof host, stream));
    CHECK(cuEventRecord(after, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuEventElapsedTime(&time, before, after));
    EXPECT(time >= 0);
    EXPECT(host[0] == 0xabcdabcd && host[1] == 0x123456ef && host[N - 1] == 0x12345678);
    CHECK(cuMemFreeAsync(data, stream));
    CHECK(cuEventDestroy(before));
    CHECK(cuEventDestroy(after));
    CHECK(cuStreamDestroy(stream));
    EXPECT_ERROR(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
}

static void rows(void)
{
    char host[4][10], back[4][10];
    CUdeviceptr data;
    size_t pitch;
    for (int i = 0; i < 40; i++)
        host[i / 10][i % 10] = (char)i;
    CHECK(cuMemAllocPitch(&data, &pitch, 10, 4, 4));
    CUDA_MEMCPY2D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    copy.srcPitch = 10;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = data;
    copy.dstPitch = pitch;
    copy.WidthInBytes = 10;
    copy.Height = 4;
    CHECK(cuMemcpy2D(&copy));
    for (int row = 0; row < 4; row++)
        CHECK(cuMemcpyDtoH(back[row], data + row * pitch, 10));
    EXPECT(memcmp(host, back, sizeof host) == 0);
    /* Sizes whose products are small numbers again. */
    copy.dstY = (size_t)1 << 60;
    EXPECT_ERROR(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
    copy.dstY = 0;
    copy.dstPitch = (size_t)1 << 63;
    EXPECT_ERROR(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
    EXPECT_ERROR(cuMemsetD32(data, 0, ((size_t)1 << 62) + 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT_ERROR(cuMemsetD2D8(data, (size_t)1 << 63, 0, 10, 3), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemFree(data));
}

/* Two layers of two rows each, out of the middle of larger ones; by a call and by a graph. */
static void layers(void)
{
    unsigned char host[3][4][8], back[2][2][4];
    for (int i = 0; i < 96; i++)
        ((unsigned char *)host)[i] = (unsigned char)i;
    CUdeviceptr data;
    CHECK(cuMemAlloc(&data, sizeof host));
    CHECK(cuMemcpyHtoD(data, host, sizeof host));
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = data;
    copy.srcPitch = 8;
    copy.srcHeight = 4;
    copy.srcXInBytes = 3;
    copy.srcY = 1;
    copy.srcZ = 1;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = back;
    copy.WidthInBytes = 4;
    copy.Height = 2;
    copy.Depth = 2;
    CUgraph graph;
    CUgraphNode node;
    CUgraphExec ready;
    CUcontext context;
    CHECK(cuCtxGetCurrent(&context));
    CHECK(cuGraphCreate(&graph, 0));
    CHECK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context));
    CHECK(cuGraphInstantiate(&ready, graph, 0));
    for (int way = 0; way < 2; way++) {
        memset(back, 0, sizeof back);
        if (way == 0)
            CHECK(cuMemcpy3D(&copy));
        else
            CHECK(cuGraphLaunch(ready, NULL));
        for (int i = 0; i < 16; i++)
            EXPECT(((unsigned char *)back)[i] == host[1 + i / 8][1 + i / 4 % 2][3 + i % 4]);
    }
    copy.srcZ = (size_t)1 << 60;
    EXPECT_ERROR(cuMemcpy3D(&copy), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGraphExecDestroy(ready));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuMemFree(data));
}

static void contexts(CUdevice device)
{
    CUcontext primary, own, current;
    CHECK(cuDevicePrimaryCtxRetain(&primary, device));
    CHECK(cuCtxSetCurrent(primary));
    CHECK(cuCtxCreate(&own, NULL, 0, device));
    CHECK(cuCtxGetCurrent(&current));
    EXPECT(current == own);
    CHECK(cuCtxDestroy(own));
    CHECK(cuCtxGetCurrent(&current));
    EXPECT(current == primary);
    EXPECT_ERROR(cuCtxSetCurrent(own), CUDA_ERROR_INVALID_CONTEXT);
    // All that a part of a device needs is left out: an ordinary context.
    CUctxCreateParams parts = {0};
    CHECK(cuCtxCreate(&own, &parts, 0, device));
    CUdevice found;
    CHECK(cuCtxSetCurrent(primary));
    CHECK(cuCtxGetDevice_v2(&found, own));
    EXPECT(found == device);
    CHECK(cuCtxSynchronize_v2(own));
    CHECK(cuCtxDestroy(own));
    EXPECT_ERROR(cuCtxSynchronize_v2(own), CUDA_ERROR_INVALID_CONTEXT);
    CHECK(cuCtxSetCurrent(primary));
}

static char *contents(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        exit(2);
    char *text = calloc(1, 1 << 20);
    EXPECT(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

/* A fat binary whose head promises more than the file has. */
static void cut_module(void)
{
    const struct {
        unsigned magic;
        unsigned short version, head_bytes;
        unsigned long long bytes;
    } heads[] = {{0xBA55ED50, 1, 16, 4096}, {0xBA55ED50, 1, 16, 1ull << 40}};
    CUmodule module;
    for (int i = 0; i < 2; i++) {
        int file = memfd_create("cut", 0);
        EXPECT(file >= 0 && write(file, &heads[i], 16) == 16);
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        EXPECT_ERROR(cuModuleLoad(&module, path), CUDA_ERROR_INVALID_IMAGE);
        close(file);
        EXPECT_ERROR(cuModuleLoadData(&module, &heads[1]), CUDA_ERROR_INVALID_IMAGE);
    }
}

/* What a module has goes with it. */
static void unloaded_module(const char *path)
{
    size_t before, loaded, after, all;
    CUmodule module;
    CUfunction scale;
    CHECK(cuMemGetInfo(&before, &all));
    CHECK(cuModuleLoad(&module, path));
    CHECK(cuMemGetInfo(&loaded, &all));
    EXPECT(loaded < before);
    CHECK(cuModuleGetFunction(&scale, module, "scale"));
    CHECK(cuModuleUnload(module));
    CHECK(cuMemGetInfo(&after, &all));
    EXPECT(after == before);
    CUdeviceptr data = 0;
    float factor = 1;
    int n = 0;
    void *parameters[] = {&data, &factor, &n};
    EXPECT_ERROR(cuLaunchKernel(scale, 1, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL),
                 CUDA_ERROR_INVALID_HANDLE);
    EXPECT_ERROR(cuModuleGetFunction(&scale, module, "scale"), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_ERROR(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

/* Memory of a pool that the program makes. */
static void pools(void)
{
    CUmemPoolProps properties;
    memset(&properties, 0, sizeof properties);
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemoryPool pool, own;
    CUdeviceptr data;
    cuuint64_t used = 0;
    CHECK(cuMemPoolCreate(&pool, &properties));
    CHECK(cuMemAllocFromPoolAsync(&data, 3000, pool, NULL));
    CHECK(cuMemsetD8(data, 1, 3000));
    CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    EXPECT(used >= 3000);
    CHECK(cuMemFreeAsync(data, NULL));
    CHECK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    EXPECT(used == 0);
    CHECK(cuDeviceGetDefaultMemPool(&own, 0));
    EXPECT(own != pool);
    CHECK(cuMemPoolDestroy(pool));
    EXPECT_ERROR(cuMemPoolDestroy(own), CUDA_ERROR_INVALID_VALUE);
}

/* Kernels by libraries: the same as those of modules, found without a context. */
static void library(const char *text)
{
    CUcontext current;
    CHECK(cuCtxPopCurrent(&current));
    CUlibrary library;
    CUkernel kernel;
    CUmodule module;
    CUfunction function;
    CHECK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    CHECK(cuLibraryGetKernel(&kernel, library, "scale"));
    int threads;
    CHECK(cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
    EXPECT(threads >= THREADS);
    CHECK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 16, kernel, 0));
    CHECK(cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
    EXPECT(threads == 1 << 16);
    EXPECT_ERROR(cuKernelGetAttribute(&threads, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 1),
                 CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuCtxPushCurrent(current));
    const char *name;
    CHECK(cuKernelGetName(&name, kernel));
    EXPECT(strcmp(name, "scale") == 0);
    CHECK(cuKernelGetFunction(&function, kernel));
    CHECK(cuFuncGetName(&name, function));
    EXPECT(strcmp(name, "scale") == 0);
    CHECK(cuLibraryGetModule(&module, library));
    CUmodule its;
    CHECK(cuFuncGetModule(&its, function));
    EXPECT(its == module);
    CUlibrary of;
    CHECK(cuKernelGetLibrary(&of, kernel));
    EXPECT(of == library);
    size_t offset, bytes;
    CHECK(cuKernelGetParamInfo(kernel, 2, &offset, &bytes));
    EXPECT(offset == 12 && bytes == 4);
    EXPECT_ERROR(cuKernelGetParamInfo(kernel, 3, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
    int blocks;
    CHECK(cuOccupancyMaxPotentialBlockSize(&blocks, &threads, function, NULL, 0, 0));
    EXPECT(threads == 1024 && blocks >= 2);
    CHECK(cuOccupancyMaxPotentialBlockSize(&blocks, &threads, function, NULL, 100 << 10, 96));
    EXPECT(threads == 96 && blocks >= 1);
    CHECK(cuLibraryUnload(library));
    EXPECT_ERROR(cuLibraryGetKernel(&kernel, library, "scale"), CUDA_ERROR_INVALID_HANDLE);
    CUdevice device;
    unsigned long long id;
    CHECK(cuCtxGetDevice(&device));
    CHECK(cuCtxGetId(NULL, &id));
    CUcontext context;
    CHECK(cuStreamGetCtx(NULL, &context));
    EXPECT(context == current);
}

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

/* Two pieces of PTX that are linked: a kernel, and the function that it calls. */
static void links(const char *text)
{
    const char *caller = HEAD ".extern .func (.param .b32 r) twice (.param .b32 a);\n"
                              ".visible .entry both(.param .u64 p) {\n"
                              ".reg .b64 %d<3>; .reg .b32 %r<3>;\n"
                              "ld.param.u64 %d1, [p]; ld.u32 %r1, [%d1];\n"
                              "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1;\n"
                              "call.uni (y), twice, (x); ld.param.b32 %r2, [y]; }\n"
                              "st.u32 [%d1], %r2; ret; }\n";
    const char *callee = HEAD ".visible .func (.param .b32 r) twice (.param .b32 a) {\n"
                              ".reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.u32 %r2, %r1, %r1;\n"
                              "st.param.b32 [r], %r2; ret; }\n";
    char info[64] = "before", errors[64] = "before";
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                              CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {info, (void *)sizeof info, errors, (void *)sizeof errors};
    CUlinkState link;
    CHECK(cuLinkCreate(4, options, values, &link));
    CHECK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)caller, strlen(caller) + 1, "caller", 0,
                        NULL, NULL));
    CHECK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)callee, strlen(callee), "callee", 0, NULL,
                        NULL));
    /* What kernels need that launch kernels; these need none. */
    CHECK(cuLinkAddData(link, CU_JIT_INPUT_LIBRARY, (void *)"!<arch>\n", 8, "libcudadevrt.a", 0, NULL,
                        NULL));
    void *image;
    size_t bytes;
    CHECK(cuLinkComplete(link, &image, &bytes));
    EXPECT(info[0] == 0 && errors[0] == 0 && values[1] == NULL && values[3] == NULL);
    CUmodule module;
    CUfunction both;
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuLinkDestroy(link));
    CHECK(cuModuleGetFunction(&both, module, "both"));
    CUdeviceptr data;
    int value = 21;
    CHECK(cuMemAlloc(&data, sizeof value));
    CHECK(cuMemcpyHtoD(data, &value, sizeof value));
    void *parameters[] = {&data};
    CHECK(cuLaunchKernel(both, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    CHECK(cuMemcpyDtoH(&value, data, sizeof value));
    EXPECT(value == 42);
    CHECK(cuMemFree(data));
    CHECK(cuModuleUnload(module));
    EXPECT_ERROR(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
    /* One piece, kept by the program: an image that can be linked again. */
    CHECK(cuLinkCreate(0, NULL, NULL, &link));
    EXPECT_ERROR(cuLinkComplete(link, &image, &bytes), CUDA_ERROR_INVALID_VALUE);
    CHECK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)text, strlen(text), "one", 0, NULL, NULL));
    CHECK(cuLinkComplete(link, &image, &bytes));
    CUlinkState next;
    CHECK(cuLinkCreate(0, NULL, NULL, &next));
    CHECK(cuLinkAddData(next, CU_JIT_INPUT_CUBIN, image, bytes, "kept", 0, NULL, NULL));
    CHECK(cuLinkComplete(next, &image, &bytes));
    CHECK(cuModuleLoadData(&module, image));
    CHECK(cuModuleGetFunction(&both, module, "scale"));
    CHECK(cuModuleUnload(module));
    CHECK(cuLinkDestroy(next));
    CHECK(cuLinkDestroy(link));
    /* What is no PTX, and PTX that is wrong, with a log that is too short for its text. */
    values[3] = (void *)8;
    CHECK(cuLinkCreate(4, options, values, &link));
    EXPECT_ERROR(cuLinkAddData(link, CU_JIT_INPUT_OBJECT, (void *)"nothing that is known", 21, "object", 0,
                               NULL, NULL),
                 CUDA_ERROR_INVALID_IMAGE);
    EXPECT_ERROR(cuLinkAddFile(link, CU_JIT_INPUT_PTX, "/nonexistent.ptx", 0, NULL, NULL),
                 CUDA_ERROR_FILE_NOT_FOUND);
    CHECK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)HEAD ".visible .entry wrong( {", sizeof HEAD + 23, "wrong", 0,
                        NULL, NULL));
    EXPECT_ERROR(cuLinkComplete(link, &image, &bytes), CUDA_ERROR_INVALID_PTX);
    EXPECT(strlen(errors) == 7 && values[3] == (void *)7);
    CHECK(cuLinkDestroy(link));
}

/* Machine code, as a compiler gives it: the head of an ELF file for sm_90. */
static void machine_code(void)
{
    unsigned char head[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, 0x41, 8};
    head[16] = 2;
    head[18] = 190;
    head[49] = 90;
    CUmodule module;
    EXPECT_ERROR(cuModuleLoadData(&module, head), CUDA_ERROR_INVALID_IMAGE);
}

/* What is known of addresses: of the device's, of pinned ones, and of the program's own. */
static void addresses(void)
{
    CUdeviceptr data, other, begin;
    size_t bytes;
    CHECK(cuMemAlloc(&data, 1000));
    CHECK(cuMemAlloc(&other, 1000));
    CHECK(cuMemGetAddressRange(&begin, &bytes, data + 999));
    EXPECT(begin == data && bytes == 1000);
    EXPECT_ERROR(cuMemGetAddressRange(&begin, &bytes, (CUdeviceptr)&bytes), CUDA_ERROR_NOT_FOUND);
    char *pinned;
    CHECK(cuMemAllocHost((void **)&pinned, 5000));
    CHECK(cuMemGetAddressRange(&begin, &bytes, (CUdeviceptr)pinned + 10));
    EXPECT(begin == (CUdeviceptr)pinned && bytes == 5000);
    CUpointer_attribute wanted[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
        CU_POINTER_ATTRIBUTE_BUFFER_ID};
    unsigned type, is_managed;
    int ordinal;
    unsigned long long numbers[2];
    void *places[] = {&type, &is_managed, &ordinal, &bytes, &numbers[0]};
    CHECK(cuPointerGetAttributes(5, wanted, places, data + 1));
    EXPECT(type == CU_MEMORYTYPE_DEVICE && !is_managed && ordinal == 0 && bytes == 1000);
    places[4] = &numbers[1];
    CHECK(cuPointerGetAttributes(5, wanted, places, other));
    EXPECT(numbers[0] != numbers[1]);
    CHECK(cuPointerGetAttributes(5, wanted, places, (CUdeviceptr)pinned));
    EXPECT(type == CU_MEMORYTYPE_HOST && bytes == 5000);
    CHECK(cuPointerGetAttributes(5, wanted, places, (CUdeviceptr)&bytes));
    EXPECT(type == 0 && ordinal == -2 && bytes == 0 && numbers[1] == 0);
    EXPECT_ERROR(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&bytes),
                 CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemFreeHost(pinned));
    CHECK(cuMemFree(data));
    CHECK(cuMemFree(other));
}

/* The way of programs that are not linked with the driver's library. */
static void by_name(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    EXPECT(library != NULL);
    CUresult (*find)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *) =
        dlsym(library, "cuGetProcAddress_v2");
    EXPECT(find != NULL);
    void *found;
    CUdriverProcAddressQueryResult how;
    CHECK(find("cuInit", &found, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &how));
    EXPECT(how == CU_GET_PROC_ADDRESS_SUCCESS && found == (void *)cuInit);
    CHECK(find("cuMemAlloc", &found, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &how));
    EXPECT(found == (void *)cuMemAlloc);
    /* Functions whose arguments have changed: name, version that asks, symbol. */
    const struct {
        const char *name;
        int version;
        const char *symbol;
    } versions[] = {
        {"cuCtxCreate", 11000, "cuCtxCreate_v2"},
        {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
        {"cuCtxCreate", 13000, "cuCtxCreate_v4"},
        {"cuCtxSynchronize", 2000, "cuCtxSynchronize"},
        {"cuCtxSynchronize", 12090, "cuCtxSynchronize"},
        {"cuCtxSynchronize", 13000, "cuCtxSynchronize_v2"},
        {"cuCtxGetDevice", 2000, "cuCtxGetDevice"},
        {"cuCtxGetDevice", 13000, "cuCtxGetDevice_v2"},
        {"cuMemAdvise", 8000, "cuMemAdvise"},
        {"cuMemAdvise", 12020, "cuMemAdvise_v2"},
        {"cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"},
        {"cuGetProcAddress", 11030, "cuGetProcAddress"},
        {"cuMemFree", 12000, "cuMemFree_v2"},
    };
    for (unsigned i = 0; i < sizeof versions / sizeof *versions; i++) {
        const char *symbol = versions[i].symbol;
        CHECK(find(versions[i].name, &found, versions[i].version, CU_GET_PROC_ADDRESS_DEFAULT, &how));
        if (found == NULL || found != dlsym(library, symbol)) {
            fprintf(stderr, "%s of version %d is not %s\n", versions[i].name, versions[i].version,
                    symbol);
            exit(1);
        }
    }
    EXPECT_ERROR(find("cuNothing", &found, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &how),
                 CUDA_ERROR_NOT_FOUND);
    EXPECT(how == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND && found == NULL);
    const char *name;
    CHECK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &name));
    EXPECT(strcmp(name, "CUDA_ERROR_ILLEGAL_ADDRESS") == 0);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    CUdevice device = start();
    contexts(device);
    CUmodule module, bad;
    EXPECT_ERROR(cuModuleLoad(&module, "/nonexistent.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    EXPECT_ERROR(cuModuleLoadData(&bad, "this is no device code of any kind, and longer than the "
                                        "head of its containers"),
                 CUDA_ERROR_INVALID_IMAGE);
    EXPECT_ERROR(cuModuleLoadData(&bad, ".version 7.0\n.target sm_70\n.address_size 64\n"
                                        ".visible .entry wrong( { this is no PTX }\n"),
                 CUDA_ERROR_INVALID_PTX);
    cut_module();
    machine_code();
    unloaded_module(argv[1]);
    char *text = contents(argv[1]);
    library(text);
    links(text);
    CHECK(cuModuleLoadData(&module, text));
    free(text);
    launches(module);
    streams();
    rows();
    layers();
    pools();
    addresses();
    by_name();
    CHECK(cuModuleUnload(module));
    CHECK(cuDevicePrimaryCtxRelease(device));
    printf("ok driver\n");
    return 0;
}
