// Changes lists of neighbours. A list that a batch changes is written anew, after all others, so
// the list before the batch stays readable until the lists are compacted.
#include "graphs.h"

// Writes list i, of vertices[i], to its new place. inserted[begin..end] are its new ids and
// deleted[begin..end] those that are gone, both ascending, with the ends in *_ends[i].
extern "C" __global__ void lists_merge(const unsigned *begins, const unsigned *degrees, unsigned *ids,
                                       const unsigned *vertices, unsigned count, const unsigned *places,
                                       const unsigned *inserted, const unsigned *inserted_ends,
                                       const unsigned *deleted, const unsigned *deleted_ends,
                                       unsigned shift) {
  Team at = team(shift);
  for (unsigned i = at.first; i < count; i += at.step) {
    unsigned v = vertices[i], degree = degrees[v];
    const unsigned *old = ids + begins[v];
    unsigned *list = ids + places[i];
    unsigned first = i == 0 ? 0 : inserted_ends[i - 1], news = inserted_ends[i] - first;
    const unsigned *inserts = inserted + first;
    first = i == 0 ? 0 : deleted_ends[i - 1];
    unsigned losses = deleted_ends[i] - first;
    const unsigned *deletes = deleted + first;
    // An id's new place is its old one, less the deleted ids before it, plus the inserted ones.
    for (unsigned k = at.lane; k < degree; k += at.lanes) {
      unsigned id = old[k], gone = below(deletes, losses, id);
      if (gone < losses && deletes[gone] == id) continue;
      list[k - gone + below(inserts, news, id)] = id;
    }
    for (unsigned k = at.lane; k < news; k += at.lanes) {
      unsigned id = inserts[k];
      list[k + below(old, degree, id) - below(deletes, losses, id)] = id;
    }
  }
}

// Makes the new lists the current ones, and keeps where the old ones are.
extern "C" __global__ void lists_replace(unsigned *begins, unsigned *degrees, const unsigned *vertices,
                                         unsigned count, const unsigned *places,
                                         const unsigned *inserted_ends, const unsigned *deleted_ends,
                                         unsigned *old_begins, unsigned *old_degrees) {
  for (unsigned i = thread(); i < count; i += threads()) {
    unsigned v = vertices[i], degree = degrees[v];
    unsigned news = inserted_ends[i] - (i == 0 ? 0 : inserted_ends[i - 1]);
    unsigned losses = deleted_ends[i] - (i == 0 ? 0 : deleted_ends[i - 1]);
    old_begins[i] = begins[v];
    old_degrees[i] = degree;
    begins[v] = places[i];
    degrees[v] = degree + news - losses;
  }
}

// Copies all lists into other memory, each to its new place.
extern "C" __global__ void lists_compact(const unsigned *begins, const unsigned *degrees,
                                         const unsigned *ids, unsigned vertices, const unsigned *places,
                                         unsigned *to, unsigned shift) {
  Team at = team(shift);
  for (unsigned v = at.first; v < vertices; v += at.step) {
    for (unsigned k = at.lane; k < degrees[v]; k += at.lanes) to[places[v] + k] = ids[begins[v] + k];
  }
}
