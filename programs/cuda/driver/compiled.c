/* A program that compiles and links device code while it runs: machine code that NVRTC and
 * nvJitLink are asked for is PTX. Argument: the path of a library that stands for both. */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "compiled.c:%d: not so: %s\n", __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

static const char *const CALLER = HEAD
    ".extern .func (.param .b32 r) seven ();\n"
    ".visible .entry kernel(.param .u64 p) {\n"
    ".reg .b64 %d<2>; .reg .b32 %r<2>; ld.param.u64 %d1, [p];\n"
    "{ .param .b32 y; call.uni (y), seven; ld.param.b32 %r1, [y]; }\n"
    "st.u32 [%d1], %r1; ret; }\n";
static const char *const CALLEE = HEAD
    ".visible .func (.param .b32 r) seven () {\n"
    ".reg .b32 %r<2>; mov.u32 %r1, 7; st.param.b32 [r], %r1; ret; }\n";

static void *library;

static void *find(const char *name)
{
    void *function = dlsym(library, name);
    EXPECT(function != NULL);
    return function;
}

/* Runs the kernel of an image, which stores 7. */
static void seven(const void *image)
{
    CUmodule module;
    CUfunction kernel;
    CUdeviceptr data;
    int value = 0;
    EXPECT(cuModuleLoadData(&module, image) == 0);
    EXPECT(cuModuleGetFunction(&kernel, module, "kernel") == 0);
    EXPECT(cuMemAlloc(&data, 4) == 0);
    void *parameters[] = {&data};
    EXPECT(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL) == 0);
    EXPECT(cuMemcpyDtoH(&value, data, 4) == 0);
    EXPECT(value == 7);
}

typedef int (*create_function)(void **, unsigned, const char **);

/* A fat binary of one image, PTX, whose bytes `bytes` says afterwards. */
static char *fat_binary(const char *text, size_t *bytes)
{
    enum { CONTAINER = 16, IMAGE = 64 };
    unsigned long long length = (strlen(text) + 8) / 8 * 8, all = IMAGE + length;
    *bytes = CONTAINER + all;
    char *binary = calloc(1, *bytes), *image = binary + CONTAINER;
    memcpy(binary, (unsigned[]){0xba55ed50, CONTAINER << 16 | 1}, 8);
    memcpy(binary + 8, &all, 8);
    memcpy(image, (unsigned[]){0x101 << 16 | 1, IMAGE}, 8);
    memcpy(image + 8, &length, 8);
    memcpy(image + 28, (unsigned[]){90}, 4);
    strcpy(image + IMAGE, text);
    return binary;
}

/* Links the caller with the callee, of which the latter may be code to be optimised (3, or 4 in a
 * fat binary). */
static void linked(const char *create, int kind, const char *option)
{
    int (*add)(void *, int, const void *, size_t, const char *) = find("nvJitLinkAddData");
    int (*complete)(void *) = find("nvJitLinkComplete");
    int (*size)(void *, size_t *) = find("nvJitLinkGetLinkedCubinSize");
    int (*text)(void *, void *) = find("nvJitLinkGetLinkedCubin");
    int (*destroy)(void **) = find("nvJitLinkDestroy");
    const char *options[] = {"-arch=sm_90", option};
    void *link;
    EXPECT(((create_function)find(create))(&link, option ? 2 : 1, options) == 0);
    EXPECT(add(link, 2, CALLER, strlen(CALLER) + 1, "caller") == 0);
    size_t bytes;
    char *binary = fat_binary(CALLEE, &bytes);
    if (kind == 4)
        EXPECT(add(link, kind, binary, bytes, "callee") == 0);
    else
        EXPECT(add(link, kind, CALLEE, strlen(CALLEE) + 1, "callee") == 0);
    free(binary);
    EXPECT(add(link, 6, "an archive", 10, "archive") == 8);
    EXPECT(size(link, &bytes) != 0);
    EXPECT(complete(link) == 0);
    EXPECT(size(link, &bytes) == 0 && bytes > strlen(CALLER));
    char *image = malloc(bytes);
    EXPECT(text(link, image) == 0);
    EXPECT(destroy(&link) == 0 && link == NULL);
    seven(image);
    /* Linked once more, as the machine code that it seems to be, a fat binary, and anything. */
    const int kinds[] = {1, 4, 10};
    for (int i = 0; i < 3; i++) {
        EXPECT(((create_function)find(create))(&link, 1, options) == 0);
        EXPECT(add(link, kinds[i], image, bytes, "linked") == 0);
        EXPECT(complete(link) == 0 && size(link, &bytes) == 0);
        image = realloc(image, bytes);
        EXPECT(text(link, image) == 0 && destroy(&link) == 0);
        seven(image);
    }
    free(image);
}

int main(int argc, char **argv)
{
    CUcontext context;
    if (argc < 2)
        return 2;
    EXPECT(cuInit(0) == 0);
    EXPECT(cuDevicePrimaryCtxRetain(&context, 0) == 0);
    EXPECT(cuCtxSetCurrent(context) == 0);
    library = dlopen(argv[1], RTLD_NOW);
    EXPECT(library != NULL);
    int (*size)(const void *, size_t *) = find("nvrtcGetCUBINSize");
    int (*text)(const void *, char *) = find("nvrtcGetCUBIN");
    size_t bytes;
    char room[64];
    EXPECT(size("PTX of a program", &bytes) == 0 && bytes == 17);
    EXPECT(text("PTX of a program", room) == 0 && strcmp(room, "PTX of a program") == 0);
    linked("nvJitLinkCreate", 2, NULL);
    linked("__nvJitLinkCreate_13_0", 2, NULL);
    linked("nvJitLinkCreate", 3, "-lto");
    linked("nvJitLinkCreate", 4, NULL);
    linked("nvJitLinkCreate", 4, "-lto");
    void *none;
    EXPECT(((create_function)find("nvJitLinkCreate"))(&none, 0, NULL) == 1);
    return 0;
}
