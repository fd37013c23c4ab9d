// Reads of textures, and reads and writes of surfaces, by the objects that stand for them.
#ifndef REUSELENS_TEXTURES_H
#define REUSELENS_TEXTURES_H
#include "texture_types.h"

// A texel has four channels, as words of its kind. `place` is for the coordinates in the brackets.
#define REUSELENS_TEXEL(name, opcode, place, parameters, kind, letter, type, ...)                  \
  REUSELENS_DEVICE void name(type(&v)[4], cudaTextureObject_t texture, parameters) {               \
    asm(opcode "." kind " {%0, %1, %2, %3}, [%4, " place ";"                                        \
        : "=" letter(v[0]), "=" letter(v[1]), "=" letter(v[2]), "=" letter(v[3])                   \
        : "l"(texture), __VA_ARGS__);                                                              \
  }
#define REUSELENS_WITH(...) __VA_ARGS__
// Of floats, of whole numbers, and of whole numbers without signs.
#define REUSELENS_TEXELS(name, opcode, coordinates, place, parameters, ...)                        \
  REUSELENS_TEXEL(name, opcode, place, REUSELENS_WITH(parameters), "f32." coordinates, "f", float, __VA_ARGS__) \
  REUSELENS_TEXEL(name, opcode, place, REUSELENS_WITH(parameters), "s32." coordinates, "r", int, __VA_ARGS__) \
  REUSELENS_TEXEL(name, opcode, place, REUSELENS_WITH(parameters), "u32." coordinates, "r", unsigned, __VA_ARGS__)
REUSELENS_TEXELS(reuselens_fetch, "tex.1d.v4", "s32", "{%5}]", int x, "r"(x))
REUSELENS_TEXELS(reuselens_read1, "tex.1d.v4", "f32", "{%5}]", float x, "f"(x))
REUSELENS_TEXELS(reuselens_read2, "tex.2d.v4", "f32", "{%5, %6}]", REUSELENS_WITH(float x, float y), "f"(x), "f"(y))
REUSELENS_TEXELS(reuselens_read3, "tex.3d.v4", "f32", "{%5, %6, %7, %7}]", REUSELENS_WITH(float x, float y, float z), "f"(x), "f"(y), "f"(z))
REUSELENS_TEXELS(reuselens_read1_layer, "tex.a1d.v4", "f32", "{%5, %6}]", REUSELENS_WITH(int layer, float x), "r"(layer), "f"(x))
REUSELENS_TEXELS(reuselens_read2_layer, "tex.a2d.v4", "f32", "{%5, %6, %7, %7}]", REUSELENS_WITH(int layer, float x, float y), "r"(layer), "f"(x), "f"(y))
REUSELENS_TEXELS(reuselens_cube, "tex.cube.v4", "f32", "{%5, %6, %7, %7}]", REUSELENS_WITH(float x, float y, float z), "f"(x), "f"(y), "f"(z))
REUSELENS_TEXELS(reuselens_cube_layer, "tex.acube.v4", "f32", "{%5, %6, %7, %8}]", REUSELENS_WITH(int layer, float x, float y, float z), "r"(layer), "f"(x), "f"(y), "f"(z))
REUSELENS_TEXELS(reuselens_level1, "tex.level.1d.v4", "f32", "{%5}], %6", REUSELENS_WITH(float x, float level), "f"(x), "f"(level))
REUSELENS_TEXELS(reuselens_level2, "tex.level.2d.v4", "f32", "{%5, %6}], %7", REUSELENS_WITH(float x, float y, float level), "f"(x), "f"(y), "f"(level))
REUSELENS_TEXELS(reuselens_level3, "tex.level.3d.v4", "f32", "{%5, %6, %7, %7}], %8", REUSELENS_WITH(float x, float y, float z, float level), "f"(x), "f"(y), "f"(z), "f"(level))
REUSELENS_TEXELS(reuselens_level_cube, "tex.level.cube.v4", "f32", "{%5, %6, %7, %7}], %8", REUSELENS_WITH(float x, float y, float z, float level), "f"(x), "f"(y), "f"(z), "f"(level))
REUSELENS_TEXELS(reuselens_gather0, "tld4.r.2d.v4", "f32", "{%5, %6}]", REUSELENS_WITH(float x, float y), "f"(x), "f"(y))
REUSELENS_TEXELS(reuselens_gather1, "tld4.g.2d.v4", "f32", "{%5, %6}]", REUSELENS_WITH(float x, float y), "f"(x), "f"(y))
REUSELENS_TEXELS(reuselens_gather2, "tld4.b.2d.v4", "f32", "{%5, %6}]", REUSELENS_WITH(float x, float y), "f"(x), "f"(y))
REUSELENS_TEXELS(reuselens_gather3, "tld4.a.2d.v4", "f32", "{%5, %6}]", REUSELENS_WITH(float x, float y), "f"(x), "f"(y))

// The words of a texel, and the texel of the words.
template <int form> struct reuselens_word { typedef int type; };
template <> struct reuselens_word<cudaChannelFormatKindFloat> { typedef float type; };
template <> struct reuselens_word<cudaChannelFormatKindUnsigned> { typedef unsigned type; };
template <class T, int count> struct reuselens_texel {
  template <class W> REUSELENS_DEVICE T of(const W *v) { return {(decltype(T::x))v[0], (decltype(T::x))v[1], (decltype(T::x))v[2], (decltype(T::x))v[3]}; }
};
template <class T> struct reuselens_texel<T, 2> {
  template <class W> REUSELENS_DEVICE T of(const W *v) { return {(decltype(T::x))v[0], (decltype(T::x))v[1]}; }
};
template <class T> struct reuselens_texel<T, 1> {
  template <class W> REUSELENS_DEVICE T of(const W *v) { return T{(decltype(T::x))v[0]}; }
};
#define REUSELENS_SCALAR_TEXEL(type)                                                               \
  template <> struct reuselens_texel<type, 1> {                                                    \
    template <class W> REUSELENS_DEVICE type of(const W *v) { return (type)v[0]; }                 \
  };
REUSELENS_SCALAR_TEXEL(char)
REUSELENS_SCALAR_TEXEL(signed char)
REUSELENS_SCALAR_TEXEL(unsigned char)
REUSELENS_SCALAR_TEXEL(short)
REUSELENS_SCALAR_TEXEL(unsigned short)
REUSELENS_SCALAR_TEXEL(int)
REUSELENS_SCALAR_TEXEL(unsigned)
REUSELENS_SCALAR_TEXEL(float)

#define REUSELENS_READ(name, function, parameters, ...)                                            \
  template <class T> REUSELENS_DEVICE T name(cudaTextureObject_t texture, parameters) {            \
    typename reuselens_word<reuselens_channels<T>::form>::type v[4];                               \
    function(v, texture, __VA_ARGS__);                                                             \
    return reuselens_texel<T, reuselens_channels<T>::count>::of(v);                                \
  }                                                                                                \
  template <class T> REUSELENS_DEVICE void name(T *to, cudaTextureObject_t texture, parameters) {  \
    *to = name<T>(texture, __VA_ARGS__);                                                           \
  }
REUSELENS_READ(tex1Dfetch, reuselens_fetch, int x, x)
REUSELENS_READ(tex1D, reuselens_read1, float x, x)
REUSELENS_READ(tex2D, reuselens_read2, REUSELENS_WITH(float x, float y), x, y)
REUSELENS_READ(tex3D, reuselens_read3, REUSELENS_WITH(float x, float y, float z), x, y, z)
REUSELENS_READ(tex1DLod, reuselens_level1, REUSELENS_WITH(float x, float level), x, level)
REUSELENS_READ(tex2DLod, reuselens_level2, REUSELENS_WITH(float x, float y, float level), x, y, level)
REUSELENS_READ(tex3DLod, reuselens_level3, REUSELENS_WITH(float x, float y, float z, float level), x, y, z, level)
REUSELENS_READ(texCubemap, reuselens_cube, REUSELENS_WITH(float x, float y, float z), x, y, z)
REUSELENS_READ(texCubemapLod, reuselens_level_cube, REUSELENS_WITH(float x, float y, float z, float level), x, y, z, level)
template <class T> REUSELENS_DEVICE T texCubemapLayered(cudaTextureObject_t texture, float x, float y, float z, int layer) {
  typename reuselens_word<reuselens_channels<T>::form>::type v[4];
  reuselens_cube_layer(v, texture, layer, x, y, z);
  return reuselens_texel<T, reuselens_channels<T>::count>::of(v);
}
template <class T> REUSELENS_DEVICE T tex1DLayered(cudaTextureObject_t texture, float x, int layer) {
  typename reuselens_word<reuselens_channels<T>::form>::type v[4];
  reuselens_read1_layer(v, texture, layer, x);
  return reuselens_texel<T, reuselens_channels<T>::count>::of(v);
}
template <class T> REUSELENS_DEVICE T tex2DLayered(cudaTextureObject_t texture, float x, float y, int layer) {
  typename reuselens_word<reuselens_channels<T>::form>::type v[4];
  reuselens_read2_layer(v, texture, layer, x, y);
  return reuselens_texel<T, reuselens_channels<T>::count>::of(v);
}
template <class T> REUSELENS_DEVICE T tex2Dgather(cudaTextureObject_t texture, float x, float y, int channel = 0) {
  typename reuselens_word<reuselens_channels<T>::form>::type v[4];
  switch (channel) {
  case 0: reuselens_gather0(v, texture, x, y); break;
  case 1: reuselens_gather1(v, texture, x, y); break;
  case 2: reuselens_gather2(v, texture, x, y); break;
  default: reuselens_gather3(v, texture, x, y);
  }
  return reuselens_texel<T, reuselens_channels<T>::count>::of(v);
}

// Elements of surfaces, by their size. Coordinates along a row are bytes. `how` says what happens
// to those outside; `place` names the coordinates.
#define REUSELENS_LOAD(space, how, place, ...)                                                     \
  if (sizeof(T) == 1) {                                                                            \
    unsigned short w;                                                                              \
    asm volatile("suld.b." space ".b8." how " %[a], [%[s], " place "];" : [a] "=h"(w) : [s] "l"(surface), __VA_ARGS__ : "memory"); \
    v[0] = w;                                                                                      \
  } else if (sizeof(T) == 2) {                                                                     \
    unsigned short w;                                                                              \
    asm volatile("suld.b." space ".b16." how " %[a], [%[s], " place "];" : [a] "=h"(w) : [s] "l"(surface), __VA_ARGS__ : "memory"); \
    v[0] = w;                                                                                      \
  } else if (sizeof(T) == 4)                                                                       \
    asm volatile("suld.b." space ".b32." how " %[a], [%[s], " place "];" : [a] "=r"(v[0]) : [s] "l"(surface), __VA_ARGS__ : "memory"); \
  else if (sizeof(T) == 8)                                                                         \
    asm volatile("suld.b." space ".v2.b32." how " {%[a], %[b]}, [%[s], " place "];" : [a] "=r"(v[0]), [b] "=r"(v[1]) : [s] "l"(surface), __VA_ARGS__ : "memory"); \
  else                                                                                             \
    asm volatile("suld.b." space ".v4.b32." how " {%[a], %[b], %[c], %[d]}, [%[s], " place "];" : [a] "=r"(v[0]), [b] "=r"(v[1]), [c] "=r"(v[2]), [d] "=r"(v[3]) : [s] "l"(surface), __VA_ARGS__ : "memory");
#define REUSELENS_STORE(space, how, place, ...)                                                    \
  if (sizeof(T) == 1)                                                                              \
    asm volatile("sust.b." space ".b8." how " [%[s], " place "], %[a];" : : [a] "h"((unsigned short)v[0]), [s] "l"(surface), __VA_ARGS__ : "memory"); \
  else if (sizeof(T) == 2)                                                                         \
    asm volatile("sust.b." space ".b16." how " [%[s], " place "], %[a];" : : [a] "h"((unsigned short)v[0]), [s] "l"(surface), __VA_ARGS__ : "memory"); \
  else if (sizeof(T) == 4)                                                                         \
    asm volatile("sust.b." space ".b32." how " [%[s], " place "], %[a];" : : [a] "r"(v[0]), [s] "l"(surface), __VA_ARGS__ : "memory"); \
  else if (sizeof(T) == 8)                                                                         \
    asm volatile("sust.b." space ".v2.b32." how " [%[s], " place "], {%[a], %[b]};" : : [a] "r"(v[0]), [b] "r"(v[1]), [s] "l"(surface), __VA_ARGS__ : "memory"); \
  else                                                                                             \
    asm volatile("sust.b." space ".v4.b32." how " [%[s], " place "], {%[a], %[b], %[c], %[d]};" : : [a] "r"(v[0]), [b] "r"(v[1]), [c] "r"(v[2]), [d] "r"(v[3]), [s] "l"(surface), __VA_ARGS__ : "memory");
#define REUSELENS_SURFACE(name, space, place, parameters, arguments, ...)                          \
  template <class T> REUSELENS_DEVICE T name##read(cudaSurfaceObject_t surface, parameters, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
    static_assert(sizeof(T) <= 16 && !(sizeof(T) & (sizeof(T) - 1)), "elements of surfaces have 1, 2, 4, 8 or 16 bytes"); \
    unsigned v[4];                                                                                 \
    T value;                                                                                       \
    if (mode == cudaBoundaryModeZero) { REUSELENS_LOAD(space, "zero", place, __VA_ARGS__) }        \
    else if (mode == cudaBoundaryModeClamp) { REUSELENS_LOAD(space, "clamp", place, __VA_ARGS__) } \
    else { REUSELENS_LOAD(space, "trap", place, __VA_ARGS__) }                                     \
    __builtin_memcpy(&value, v, sizeof value);                                                     \
    return value;                                                                                  \
  }                                                                                                \
  template <class T> REUSELENS_DEVICE void name##read(T *to, cudaSurfaceObject_t surface, parameters, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
    *to = name##read<T>(surface, arguments, mode);                                                 \
  }                                                                                                \
  template <class T> REUSELENS_DEVICE void name##write(T value, cudaSurfaceObject_t surface, parameters, cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) { \
    static_assert(sizeof(T) <= 16 && !(sizeof(T) & (sizeof(T) - 1)), "elements of surfaces have 1, 2, 4, 8 or 16 bytes"); \
    unsigned v[4] = {0};                                                                           \
    __builtin_memcpy(v, &value, sizeof value);                                                     \
    if (mode == cudaBoundaryModeZero) { REUSELENS_STORE(space, "zero", place, __VA_ARGS__) }       \
    else if (mode == cudaBoundaryModeClamp) { REUSELENS_STORE(space, "clamp", place, __VA_ARGS__) } \
    else { REUSELENS_STORE(space, "trap", place, __VA_ARGS__) }                                    \
  }
REUSELENS_SURFACE(surf1D, "1d", "{%[x]}", int x, x, [x] "r"(x))
REUSELENS_SURFACE(surf2D, "2d", "{%[x], %[y]}", REUSELENS_WITH(int x, int y), REUSELENS_WITH(x, y), [x] "r"(x), [y] "r"(y))
REUSELENS_SURFACE(surf3D, "3d", "{%[x], %[y], %[z], %[z]}", REUSELENS_WITH(int x, int y, int z), REUSELENS_WITH(x, y, z), [x] "r"(x), [y] "r"(y), [z] "r"(z))
REUSELENS_SURFACE(surf1DLayered, "a1d", "{%[l], %[x]}", REUSELENS_WITH(int x, int layer), REUSELENS_WITH(x, layer), [x] "r"(x), [l] "r"(layer))
REUSELENS_SURFACE(surf2DLayered, "a2d", "{%[l], %[x], %[y], %[y]}", REUSELENS_WITH(int x, int y, int layer), REUSELENS_WITH(x, y, layer), [x] "r"(x), [y] "r"(y), [l] "r"(layer))
// Faces of cube maps are layers, six for each layer of a map that has them.
REUSELENS_SURFACE(surfCubemap, "a2d", "{%[l], %[x], %[y], %[y]}", REUSELENS_WITH(int x, int y, int face), REUSELENS_WITH(x, y, face), [x] "r"(x), [y] "r"(y), [l] "r"(face))
REUSELENS_SURFACE(surfCubemapLayered, "a2d", "{%[l], %[x], %[y], %[y]}", REUSELENS_WITH(int x, int y, int face), REUSELENS_WITH(x, y, face), [x] "r"(x), [y] "r"(y), [l] "r"(face))
#endif
