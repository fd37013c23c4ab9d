// What the kernels of this folder share.
//
// They are the kernels that L. A. Garrido Platero, "A Memory Trace-Based Analysis for Data Sharing Degree in SIMT
// Architectures" (2013), analyses, written anew from its descriptions. Graphs are compressed rows: the
// neighbours of node n are targets[begins[n]] to targets[ends[n] - 1].
//
// Each kernel has a twin NAME_mapped, whose thread t does the work of thread map[t]: `reuselens simt map` makes
// that array. Loops are not unrolled, so that each access of the source is one instruction of the kernel.
#pragma once

__device__ static inline unsigned thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
