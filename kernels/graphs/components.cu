// Components: a forest whose roots are the smallest vertices of their trees. Roots are hooked below
// smaller ones without locks (Jaiganesh and Burtscher, "A High-Performance Connected Components
// Implementation for GPUs", HPDC 2018). The edge that hooked a root is kept: these edges are a
// spanning forest, and only deletions of them can cut a component.
#include "graphs.h"

// No edge.
#define NONE 0xffffffffffffffffull

// What the host reads after a launch.
struct Tally {
  // Edges of the forest that were cut.
  unsigned cuts;
  // Vertices whose lists were read.
  unsigned searched;
  // Ids of neighbours that were read.
  u64 scanned;
};

// The root of a tree. Halves the path: other threads see an ancestor in any case.
__device__ static inline unsigned root(unsigned *parents, unsigned v) {
  volatile unsigned *seen = parents;
  unsigned parent = seen[v];
  while (parent != v) {
    unsigned above = seen[parent];
    if (above != parent) seen[v] = above;
    v = parent;
    parent = above;
  }
  return v;
}

// Joins the trees of both ends, and keeps the edge if it did so.
__device__ static inline void unite(unsigned *parents, u64 *trees, unsigned u, unsigned v) {
  unsigned a = root(parents, u), b = root(parents, v);
  while (a != b) {
    unsigned high = max(a, b), low = min(a, b);
    unsigned seen = atomicCAS(&parents[high], high, low);
    if (seen == high) {
      trees[high] = edge_key(u, v);
      return;
    }
    a = root(parents, seen);
    b = root(parents, low);
  }
}

// Makes each vertex from `first` on a tree of its own.
extern "C" __global__ void components_begin(unsigned first, unsigned vertices, unsigned *parents,
                                            unsigned *labels, u64 *trees) {
  for (unsigned v = first + thread(); v < vertices; v += threads()) {
    parents[v] = v;
    labels[v] = v;
    trees[v] = NONE;
  }
}

// Joins the ends of all edges in the lists.
extern "C" __global__ void components_join(const unsigned *begins, const unsigned *degrees,
                                           const unsigned *ids, unsigned vertices, unsigned *parents,
                                           u64 *trees, unsigned shift) {
  Team at = team(shift);
  for (unsigned v = at.first; v < vertices; v += at.step) {
    unsigned degree = degrees[v];
    const unsigned *list = ids + begins[v];
    for (unsigned k = at.lane; k < degree && list[k] < v; k += at.lanes) unite(parents, trees, v, list[k]);
  }
}

// Joins the ends of listed edges.
extern "C" __global__ void components_insert(const unsigned *edges, unsigned count, unsigned *parents,
                                             u64 *trees) {
  for (unsigned i = thread(); i < count; i += threads()) {
    unite(parents, trees, edges[2 * (u64)i], edges[2 * (u64)i + 1]);
  }
}

// Takes deleted edges out of the forest, and marks the components that had them.
extern "C" __global__ void components_cut(unsigned vertices, const unsigned *labels, u64 *trees,
                                          const unsigned *deleted, unsigned count, unsigned *broken,
                                          Tally *tally) {
  for (unsigned v = thread(); v < vertices; v += threads()) {
    u64 edge = trees[v];
    if (edge == NONE || !has_edge(deleted, count, edge)) continue;
    trees[v] = NONE;
    broken[labels[v]] = 1;
    atomicAdd(&tally->cuts, 1u);
  }
}

// Takes broken trees apart. What is left of their edges is in `kept`.
extern "C" __global__ void components_part(unsigned vertices, const unsigned *labels,
                                           const unsigned *broken, unsigned *parents, u64 *trees,
                                           u64 *kept, unsigned *sizes, u64 *largest) {
  for (unsigned v = thread(); v < vertices; v += threads()) {
    kept[v] = NONE;
    if (!broken[labels[v]]) continue;
    kept[v] = trees[v];
    trees[v] = NONE;
    parents[v] = v;
    sizes[v] = 0;
    largest[v] = 0;
  }
}

// Puts fragments of broken trees together, from their edges.
extern "C" __global__ void components_mend(unsigned vertices, const u64 *kept, unsigned *parents,
                                           u64 *trees) {
  for (unsigned v = thread(); v < vertices; v += threads()) {
    u64 edge = kept[v];
    if (edge != NONE) unite(parents, trees, (unsigned)(edge >> 32), (unsigned)edge);
  }
}

// Counts the vertices of each fragment.
extern "C" __global__ void components_count(unsigned vertices, const unsigned *labels,
                                            const unsigned *broken, unsigned *parents,
                                            unsigned *fragments, unsigned *sizes) {
  for (unsigned v = thread(); v < vertices; v += threads()) {
    if (!broken[labels[v]]) continue;
    fragments[v] = root(parents, v);
    atomicAdd(&sizes[fragments[v]], 1u);
  }
}

// Finds the largest fragment of each broken component: its size and its root.
extern "C" __global__ void components_largest(unsigned vertices, const unsigned *labels,
                                              const unsigned *broken, const unsigned *fragments,
                                              const unsigned *sizes, u64 *largest) {
  for (unsigned v = thread(); v < vertices; v += threads()) {
    if (!broken[labels[v]] || fragments[v] != v) continue;
    atomicMax(&largest[labels[v]], (u64)sizes[v] << 32 | v);
  }
}

// Joins fragments by the edges of all but the largest one. Each edge between two fragments has an
// end in one of those.
extern "C" __global__ void components_repair(const unsigned *begins, const unsigned *degrees,
                                             const unsigned *ids, unsigned vertices,
                                             const unsigned *labels, const unsigned *broken,
                                             const unsigned *fragments, const u64 *largest,
                                             unsigned *parents, u64 *trees, Tally *tally,
                                             unsigned shift) {
  Team at = team(shift);
  for (unsigned v = at.first; v < vertices; v += at.step) {
    unsigned label = labels[v];
    if (!broken[label] || fragments[v] == (unsigned)largest[label]) continue;
    unsigned degree = degrees[v];
    const unsigned *list = ids + begins[v];
    for (unsigned k = at.lane; k < degree; k += at.lanes) unite(parents, trees, v, list[k]);
    if (at.lane == 0) {
      atomicAdd(&tally->searched, 1u);
      atomicAdd(&tally->scanned, (u64)degree);
    }
  }
}

// Makes the roots the labels of all vertices, and shortens all paths to one step.
extern "C" __global__ void components_label(unsigned vertices, unsigned *parents, unsigned *labels,
                                            unsigned *broken) {
  for (unsigned v = thread(); v < vertices; v += threads()) {
    unsigned found = root(parents, v);
    parents[v] = found;
    labels[v] = found;
    broken[v] = 0;
  }
}
