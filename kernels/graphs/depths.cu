// Depths of a breadth-first search, found level by level and repaired level by level.
#include "graphs.h"

// A search in progress. The vertices of a level are in one of two queues, those of the next level
// are put into the other one.
struct Search {
  unsigned level;
  // Vertices in the queues of even and of odd levels.
  unsigned counts[2];
  // Blocks that have ended.
  unsigned ended;
  // Vertices that lost their depth.
  unsigned lost;
  unsigned unused;
  // Ids of neighbours that were read.
  u64 scanned;
};

// The last block of a launch makes the next level the current one: a level is one launch.
__device__ static inline void end_level(Search *search) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicAdd(&search->ended, 1u) != gridDim.x - 1) return;
  search->ended = 0;
  search->counts[search->level & 1] = 0;
  search->level += 1;
}

// Takes the vertices of the current level, and gives their neighbours that are deeper than the next
// level the depth of the next level. A queue has room for `room` vertices: each vertex is put into
// it once, since its depth falls once in a level.
extern "C" __global__ void depths_expand(const unsigned *begins, const unsigned *degrees,
                                         const unsigned *ids, unsigned *depths, unsigned *queues,
                                         unsigned room, Search *search, unsigned shift) {
  unsigned level = search->level, below = level + 1;
  unsigned count = search->counts[level & 1];
  const unsigned *now = queues + (u64)(level & 1) * room;
  unsigned *next = queues + (u64)(below & 1) * room;
  Team at = team(shift);
  for (unsigned i = at.first; i < count; i += at.step) {
    unsigned v = now[i];
    // It was reached by a shorter path since it was queued.
    if (depths[v] != level) continue;
    unsigned degree = degrees[v];
    const unsigned *list = ids + begins[v];
    for (unsigned k = at.lane; k < degree; k += at.lanes) {
      unsigned w = list[k];
      if (depths[w] > below && atomicMin(&depths[w], below) > below) {
        next[atomicAdd(&search->counts[below & 1], 1u)] = w;
      }
    }
    if (at.lane == 0) atomicAdd(&search->scanned, (u64)degree);
  }
  end_level(search);
}

// Takes the vertices of the current level that lost an edge from the level above, or a neighbour
// there. Those without another neighbour there lose their depth, and their neighbours of the next
// level are put into its queue. Depths of the level above are final. `stamps` are the numbers of
// the batches in which vertices were queued here, so that each is queued once.
extern "C" __global__ void depths_lose(const unsigned *in_begins, const unsigned *in_degrees,
                                       const unsigned *in_ids, const unsigned *begins,
                                       const unsigned *degrees, const unsigned *ids, unsigned *depths,
                                       unsigned *stamps, unsigned stamp, unsigned *queues, unsigned room,
                                       unsigned *lost, Search *search) {
  unsigned level = search->level, below = level + 1;
  unsigned count = search->counts[level & 1];
  const unsigned *now = queues + (u64)(level & 1) * room;
  unsigned *next = queues + (u64)(below & 1) * room;
  for (unsigned i = thread(); i < count; i += threads()) {
    unsigned v = now[i];
    if (depths[v] != level) continue;
    unsigned degree = in_degrees[v], k = 0;
    const unsigned *list = in_ids + in_begins[v];
    while (k < degree && depths[list[k]] != level - 1) k++;
    u64 scanned = k < degree ? k + 1 : k;
    // A vertex may be queued by the host too, so another thread may be here with it.
    if (k == degree && atomicCAS(&depths[v], level, UNREACHED) == level) {
      lost[atomicAdd(&search->lost, 1u)] = v;
      degree = degrees[v];
      list = ids + begins[v];
      for (k = 0; k < degree; k++) {
        unsigned w = list[k];
        if (depths[w] == below && atomicExch(&stamps[w], stamp) != stamp) {
          next[atomicAdd(&search->counts[below & 1], 1u)] = w;
        }
      }
      scanned += degree;
    }
    atomicAdd(&search->scanned, scanned);
  }
  end_level(search);
}

// Gives each listed vertex the least depth that its neighbours offer, if that is less than its own,
// and keeps the offers. Neighbours may get theirs at the same time: all of these depths are lengths
// of paths, and depths_expand lowers what is too long.
extern "C" __global__ void depths_offer(const unsigned *in_begins, const unsigned *in_degrees,
                                        const unsigned *in_ids, unsigned *depths,
                                        const unsigned *vertices, unsigned count, unsigned *offers,
                                        Search *search, unsigned shift) {
  Team at = team(shift);
  for (unsigned i = at.first; i < count; i += at.step) {
    unsigned v = vertices[i], degree = in_degrees[v], best = UNREACHED;
    const unsigned *list = in_ids + in_begins[v];
    for (unsigned k = at.lane; k < degree; k += at.lanes) best = min(best, depths[list[k]]);
    if (best != UNREACHED) {
      atomicMin(&offers[i], best + 1);
      atomicMin(&depths[v], best + 1);
    }
    if (at.lane == 0) atomicAdd(&search->scanned, (u64)degree);
  }
}
