// What the kernels of this folder share.
//
// Graphs are lists of neighbours: those of vertex v are ids[begins[v]] to
// ids[begins[v] + degrees[v] - 1], ascending. In an undirected graph each edge is in both lists.
//
// A team of 2^shift threads, up to 32, shares each piece of work: a vertex, a list or an edge.
// Loops take any number of blocks, so a launch may have fewer threads than there is work.
#pragma once

typedef unsigned long long u64;

// The depth of a vertex that no path leads to.
#define UNREACHED 0xffffffffu

__device__ static inline unsigned thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ static inline unsigned threads() { return gridDim.x * blockDim.x; }

// The first piece of work of this thread's team, the pieces between it and the next one, and the
// thread's place in its team.
struct Team {
  unsigned first, step, lane, lanes;
};

__device__ static inline Team team(unsigned shift) {
  Team team = {thread() >> shift, threads() >> shift, thread() & ((1u << shift) - 1), 1u << shift};
  return team;
}

// The number of ids in an ascending list that are below `id`.
__device__ static inline unsigned below(const unsigned *ids, unsigned count, unsigned id) {
  unsigned low = 0;
  while (count > 0) {
    unsigned half = count / 2;
    if (ids[low + half] < id) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low;
}

// An edge as one number, in the order of sorted edges.
__device__ static inline u64 edge_key(unsigned u, unsigned v) {
  return u < v ? (u64)u << 32 | v : (u64)v << 32 | u;
}

// Whether an edge is among the first `count` of a sorted list of pairs.
__device__ static inline bool has_edge(const unsigned *edges, unsigned count, u64 key) {
  unsigned low = 0, left = count;
  while (left > 0) {
    unsigned half = left / 2, at = low + half;
    if (((u64)edges[2 * (u64)at] << 32 | edges[2 * (u64)at + 1]) < key) {
      low = at + 1;
      left -= half + 1;
    } else {
      left = half;
    }
  }
  return low < count && ((u64)edges[2 * (u64)low] << 32 | edges[2 * (u64)low + 1]) == key;
}
