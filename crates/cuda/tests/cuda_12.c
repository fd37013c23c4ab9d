/* A program of CUDA 12, without its headers: what differs from CUDA 13 is declared here. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct dim3 {
    unsigned x, y, z;
};

/* cudaDeviceProp of CUDA 12 has 1032 bytes; what is read of it, by the offsets of its header. */
union properties {
    char name[256];
    unsigned char bytes[1032 + 64];
};

/* cudaPointerAttributes of CUDA 12, without the reserved words of CUDA 13. */
struct attributes {
    int type, device;
    void *device_pointer, *host_pointer;
    uint64_t after[8];
};

struct location {
    int type, id;
};

extern void **__cudaRegisterFatBinary(void *);
extern void __cudaRegisterFatBinaryEnd(void **);
extern void __cudaRegisterFunction(void **, const void *, char *, const char *, int, void *, void *,
                                   void *, void *, int *);
extern int cudaLaunchKernel(const void *, struct dim3, struct dim3, void **, size_t, void *);
extern int cudaMalloc(void **, size_t);
extern int cudaMemcpy(void *, const void *, size_t, int);
extern int cudaRuntimeGetVersion(int *);
extern int cudaDriverGetVersion(int *);
extern int cudaGetDeviceProperties_v2(void *, int);
extern int cudaPointerGetAttributes(struct attributes *, const void *);
extern int cudaMallocManaged(void **, size_t, unsigned);
extern int cudaMemPrefetchAsync(const void *, size_t, int, void *);
extern int cudaMemPrefetchAsync_v2(const void *, size_t, struct location, unsigned, void *);
extern int cudaEventCreate(void **);
extern int cudaEventRecord(void *, void *);
extern int cudaEventElapsedTime_v2(float *, void *, void *);
extern int cudaThreadSynchronize(void);
extern int cudaStreamCreate(void **);
extern int cudaStreamBeginCapture(void *, int);
extern int cudaStreamEndCapture(void *, void **);
extern int cudaMemsetAsync(void *, int, size_t, void *);
/* CUDA 13 has a place for the data of edges before the last one. */
extern int cudaGraphGetEdges(void *, void **, void **, size_t *);

static const char code[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                           ".visible .entry fill(.param .u64 to) {\n"
                           "  .reg .u64 %a, %b; .reg .u32 %t;\n"
                           "  ld.param.u64 %a, [to]; mov.u32 %t, %tid.x;\n"
                           "  mul.wide.u32 %b, %t, 4; add.u64 %a, %a, %b;\n"
                           "  st.global.u32 [%a], %t; ret;\n}\n";
static const struct {
    int magic, version;
    const void *code, *files;
} wrapper = {0x466243b1, 1, code, NULL};

static void fill(void)
{
}

#define EXPECT(what) \
    if (!(what)) \
    return printf("line %d: %s\n", __LINE__, #what), 1

static int word(const union properties *all, int at)
{
    int value;
    memcpy(&value, all->bytes + at, sizeof value);
    return value;
}

static int of_12(void)
{
    int runtime, driver;
    EXPECT(!cudaRuntimeGetVersion(&runtime) && runtime / 1000 == 12);
    EXPECT(!cudaDriverGetVersion(&driver) && driver >= runtime);
    union properties all;
    memset(&all, 0xee, sizeof all);
    EXPECT(!cudaGetDeviceProperties_v2(&all, 0));
    for (size_t at = 1032; at < sizeof all; at++)
        EXPECT(all.bytes[at] == 0xee);
    EXPECT(strstr(all.name, "reuselens") && word(&all, 308) == 32);
    EXPECT(word(&all, 348) > 0 && word(&all, 360) == 9 && word(&all, 388) == 132);
    EXPECT(word(&all, 576) == 1 && word(&all, 616) == 50 << 20 && word(&all, 712) == 32);

    void *managed, *event;
    EXPECT(!cudaMallocManaged(&managed, 100, 1));
    struct attributes about;
    memset(&about, 0xee, sizeof about);
    EXPECT(!cudaPointerGetAttributes(&about, managed));
    EXPECT(about.type == 3 && about.host_pointer == managed);
    for (int at = 0; at < 8; at++)
        EXPECT(about.after[at] == 0xeeeeeeeeeeeeeeee);
    struct location location = {1, 0};
    EXPECT(!cudaMemPrefetchAsync(managed, 100, 0, NULL));
    EXPECT(!cudaMemPrefetchAsync_v2(managed, 100, location, 0, NULL));
    float took = -1;
    EXPECT(!cudaEventCreate(&event) && !cudaEventRecord(event, NULL));
    EXPECT(!cudaEventElapsedTime_v2(&took, event, event) && took == 0);

    void *stream, *graph;
    size_t edges = 99;
    EXPECT(!cudaStreamCreate(&stream) && !cudaStreamBeginCapture(stream, 0));
    EXPECT(!cudaMemsetAsync(managed, 0, 50, stream) && !cudaMemsetAsync(managed, 1, 9, stream));
    EXPECT(!cudaStreamEndCapture(stream, &graph));
    EXPECT(!cudaGraphGetEdges(graph, NULL, NULL, &edges) && edges == 1);
    return 0;
}

int main(void)
{
    void **module = __cudaRegisterFatBinary((void *)&wrapper);
    __cudaRegisterFunction(module, (void *)fill, "fill", "fill", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(module);
    int words[32];
    void *memory;
    EXPECT(!cudaMalloc(&memory, sizeof words));
    void *arguments[] = {&memory};
    struct dim3 one = {1, 1, 1}, threads = {32, 1, 1};
    EXPECT(!cudaLaunchKernel((void *)fill, one, threads, arguments, 0, NULL));
    EXPECT(!cudaThreadSynchronize());
    EXPECT(!cudaMemcpy(words, memory, sizeof words, 2));
    for (int i = 0; i < 32; i++)
        EXPECT(words[i] == i);
    return of_12();
}
