// Arrays, textures and surfaces: types, and the host's functions.
#ifndef REUSELENS_TEXTURE_TYPES_H
#define REUSELENS_TEXTURE_TYPES_H
// By this name programs ask whether CUDA's header is there.
#define __TEXTURE_TYPES_H__
#include "driver_types.h"

enum cudaChannelFormatKind {
  cudaChannelFormatKindSigned = 0,
  cudaChannelFormatKindUnsigned = 1,
  cudaChannelFormatKindFloat = 2,
  cudaChannelFormatKindNone = 3
};
struct cudaChannelFormatDesc {
  int x, y, z, w;
  cudaChannelFormatKind f;
};
typedef struct cudaMipmappedArray *cudaMipmappedArray_t;
enum cudaResourceType {
  cudaResourceTypeArray = 0,
  cudaResourceTypeMipmappedArray = 1,
  cudaResourceTypeLinear = 2,
  cudaResourceTypePitch2D = 3
};
struct cudaResourceDesc {
  cudaResourceType resType;
  union {
    struct { cudaArray_t array; } array;
    struct { cudaMipmappedArray_t mipmap; } mipmap;
    struct { void *devPtr; cudaChannelFormatDesc desc; size_t sizeInBytes; } linear;
    struct { void *devPtr; cudaChannelFormatDesc desc; size_t width, height, pitchInBytes; } pitch2D;
    struct { int reserved[32]; } reserved;
  } res;
  unsigned flags;
};
struct cudaResourceViewDesc;
enum cudaTextureAddressMode {
  cudaAddressModeWrap = 0,
  cudaAddressModeClamp = 1,
  cudaAddressModeMirror = 2,
  cudaAddressModeBorder = 3
};
enum cudaTextureFilterMode {
  cudaFilterModePoint = 0,
  cudaFilterModeLinear = 1
};
enum cudaTextureReadMode {
  cudaReadModeElementType = 0,
  cudaReadModeNormalizedFloat = 1
};
enum cudaSurfaceBoundaryMode {
  cudaBoundaryModeZero = 0,
  cudaBoundaryModeClamp = 1,
  cudaBoundaryModeTrap = 2
};
struct cudaTextureDesc {
  cudaTextureAddressMode addressMode[3];
  cudaTextureFilterMode filterMode;
  cudaTextureReadMode readMode;
  int sRGB;
  float borderColor[4];
  int normalizedCoords;
  unsigned maxAnisotropy;
  cudaTextureFilterMode mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  int disableTrilinearOptimization, seamlessCubemap;
};
#define cudaArrayDefault 0x00
#define cudaArrayLayered 0x01
#define cudaArraySurfaceLoadStore 0x02
#define cudaArrayCubemap 0x04
#define cudaArrayTextureGather 0x08

extern "C" {
cudaChannelFormatDesc cudaCreateChannelDesc(int, int, int, int, cudaChannelFormatKind);
cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc *, cudaArray_const_t);
cudaError_t cudaMallocArray(cudaArray_t *, const cudaChannelFormatDesc *, size_t, size_t = 0, unsigned = 0);
cudaError_t cudaMalloc3DArray(cudaArray_t *, const cudaChannelFormatDesc *, cudaExtent, unsigned = 0);
cudaError_t cudaFreeArray(cudaArray_t);
cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc *, cudaExtent *, unsigned *, cudaArray_t);
cudaError_t cudaMemcpyToArray(cudaArray_t, size_t, size_t, const void *, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpyFromArray(void *, cudaArray_const_t, size_t, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpy2DToArray(cudaArray_t, size_t, size_t, const void *, size_t, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t, size_t, size_t, const void *, size_t, size_t, size_t, cudaMemcpyKind, cudaStream_t = 0);
cudaError_t cudaMemcpy2DFromArray(void *, size_t, cudaArray_const_t, size_t, size_t, size_t, size_t, cudaMemcpyKind);
cudaError_t cudaMemcpy2DFromArrayAsync(void *, size_t, cudaArray_const_t, size_t, size_t, size_t, size_t, cudaMemcpyKind, cudaStream_t = 0);
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t, size_t, size_t, cudaArray_const_t, size_t, size_t, size_t, size_t, cudaMemcpyKind = cudaMemcpyDeviceToDevice);
cudaError_t cudaCreateTextureObject(cudaTextureObject_t *, const cudaResourceDesc *, const cudaTextureDesc *, const cudaResourceViewDesc *);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t);
cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc *, cudaTextureObject_t);
cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc *, cudaTextureObject_t);
cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *, const cudaResourceDesc *);
cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t);
}

// What a texel of a type is: bits of each channel, and their kind.
template <class T> struct reuselens_channels;
#define REUSELENS_CHANNELS(type, bits, kind)                                                       \
  template <> struct reuselens_channels<type##1> { enum { count = 1, size = bits, form = kind }; }; \
  template <> struct reuselens_channels<type##2> { enum { count = 2, size = bits, form = kind }; }; \
  template <> struct reuselens_channels<type##4> { enum { count = 4, size = bits, form = kind }; };
#define REUSELENS_CHANNEL(type, bits, kind)                                                        \
  template <> struct reuselens_channels<type> { enum { count = 1, size = bits, form = kind }; };
REUSELENS_CHANNELS(char, 8, cudaChannelFormatKindSigned)
REUSELENS_CHANNELS(uchar, 8, cudaChannelFormatKindUnsigned)
REUSELENS_CHANNELS(short, 16, cudaChannelFormatKindSigned)
REUSELENS_CHANNELS(ushort, 16, cudaChannelFormatKindUnsigned)
REUSELENS_CHANNELS(int, 32, cudaChannelFormatKindSigned)
REUSELENS_CHANNELS(uint, 32, cudaChannelFormatKindUnsigned)
REUSELENS_CHANNELS(float, 32, cudaChannelFormatKindFloat)
REUSELENS_CHANNEL(char, 8, cudaChannelFormatKindSigned)
REUSELENS_CHANNEL(signed char, 8, cudaChannelFormatKindSigned)
REUSELENS_CHANNEL(unsigned char, 8, cudaChannelFormatKindUnsigned)
REUSELENS_CHANNEL(short, 16, cudaChannelFormatKindSigned)
REUSELENS_CHANNEL(unsigned short, 16, cudaChannelFormatKindUnsigned)
REUSELENS_CHANNEL(int, 32, cudaChannelFormatKindSigned)
REUSELENS_CHANNEL(unsigned, 32, cudaChannelFormatKindUnsigned)
REUSELENS_CHANNEL(float, 32, cudaChannelFormatKindFloat)
template <class T> static inline cudaChannelFormatDesc cudaCreateChannelDesc() {
  typedef reuselens_channels<T> texel;
  int bits = texel::size;
  return {bits, texel::count > 1 ? bits : 0, texel::count > 2 ? bits : 0, texel::count > 2 ? bits : 0,
          (cudaChannelFormatKind)texel::form};
}
static inline cudaError_t cudaCreateTextureObject(cudaTextureObject_t *to, const cudaResourceDesc *resource, const cudaTextureDesc *texture) {
  return cudaCreateTextureObject(to, resource, texture, 0);
}
#endif
