// Triangles at each vertex: common neighbours of the ends of edges.
#include "graphs.h"

// Adds `change`, modulo 2^64, to the counts of all three vertices of each triangle that has one of
// the edges, which are sorted pairs. Edge i is between edges[2 i] and edges[2 i + 1], whose lists
// are those with the numbers slots[2 i] and slots[2 i + 1].
//
// A triangle with several of the edges is counted for the first of them. `is_all` says that these
// are all edges of the graph: then the first one is that of the two smallest vertices.
extern "C" __global__ void triangles_count(const unsigned *begins, const unsigned *degrees,
                                           const unsigned *ids, const unsigned *edges, unsigned count,
                                           const unsigned *slots, u64 change, unsigned is_all,
                                           u64 *triangles, u64 *scanned, unsigned shift) {
  Team at = team(shift);
  for (unsigned i = at.first; i < count; i += at.step) {
    unsigned u = edges[2 * (u64)i], v = edges[2 * (u64)i + 1];
    unsigned shorter = slots[2 * (u64)i], longer = slots[2 * (u64)i + 1];
    if (degrees[shorter] > degrees[longer]) {
      unsigned other = shorter;
      shorter = longer;
      longer = other;
    }
    const unsigned *some = ids + begins[shorter], *others = ids + begins[longer];
    unsigned degree = degrees[shorter], most = degrees[longer];
    u64 found = 0;
    for (unsigned k = at.lane; k < degree; k += at.lanes) {
      unsigned w = some[k];
      if (is_all && w <= v) continue;
      unsigned place = below(others, most, w);
      if (place == most || others[place] != w) continue;
      if (!is_all && (has_edge(edges, i, edge_key(u, w)) || has_edge(edges, i, edge_key(v, w)))) continue;
      found += change;
      atomicAdd(&triangles[w], change);
    }
    if (found != 0) {
      atomicAdd(&triangles[u], found);
      atomicAdd(&triangles[v], found);
    }
    if (at.lane == 0) atomicAdd(scanned, (u64)degree);
  }
}
