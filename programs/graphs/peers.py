"""Runs a peer of presponse on a file of `presponse export`, and prints JSON.

    python3 peers.py FILE --peer networkit|velographx [--root ID] [--limit SECONDS]

The latency of a batch is the time in which the peer changes its graph and brings its answer up to
date. Reading the file and turning changes into the peer's own types is not counted. Each answer is
run by itself, on one thread, until its limit in seconds; sums of the answers are printed for those
that got through all batches.

A peer without a question leaves it out: NetworKit has no dynamic triangles, and VeloGraphX counts
triangles of the graph, not of each vertex.
"""

import argparse
import json
import sys
import time


class Graph:
    """A file: batches of (from, to, difference), with vertices numbered by first appearance."""

    def __init__(self, path):
        self.directed = False
        self.batches = []
        self.ids = {}
        self.vertices = 0
        with open(path, encoding="ascii") as lines:
            for line in lines:
                self.read(line)
        self.vertices = max(self.vertices, len(self.ids))

    def read(self, line):
        words = line.split()
        if words[:2] == ["#", "batch"]:
            self.batches.append([])
        elif words[:2] == ["#", "vertices"]:
            self.vertices = int(words[2])
        elif line.startswith("#"):
            self.directed = "directed:" in words
        else:
            start, end, _, difference = map(int, words)
            pair = self.number(start), self.number(end)
            self.batches[-1].append((*pair, difference))

    def number(self, name):
        return self.ids.setdefault(name, len(self.ids))


def timed(batches, prepare, apply, limit):
    """Latencies of `apply` in nanoseconds, and whether all batches were done."""
    latencies = []
    begun = time.perf_counter()
    for batch in batches:
        prepared = prepare(batch)
        start = time.perf_counter_ns()
        apply(prepared)
        latencies.append(time.perf_counter_ns() - start)
        if time.perf_counter() - begun > limit:
            break
    return latencies, len(latencies) == len(batches)


def networkit(graph, root, limit):
    import networkit as nk

    nk.setNumberOfThreads(1)
    kinds = {
        1: nk.dynamics.GraphEventType.EDGE_ADDITION,
        -1: nk.dynamics.GraphEventType.EDGE_REMOVAL,
    }

    def begin():
        start = nk.Graph(graph.vertices, directed=graph.directed)
        for u, v, _ in graph.batches[0]:
            start.addEdge(u, v)
        return start

    def prepare(batch):
        return batch, [nk.dynamics.GraphEvent(kinds[d], u, v, 1.0) for u, v, d in batch]

    def run(make, one_by_one):
        changing = begin()
        peer = make(changing)
        peer.run()

        def change(u, v, difference):
            (changing.addEdge if difference > 0 else changing.removeEdge)(u, v)

        def apply(prepared):
            batch, events = prepared
            for edge, event in zip(batch, events):
                change(*edge)
                if one_by_one:
                    peer.update(event)
            if not one_by_one:
                peer.updateBatch(events)

        return peer, *timed(graph.batches[1:], prepare, apply, limit)

    answers, totals = {}, {}
    peer, latencies, whole = run(lambda changing: nk.distance.DynBFS(changing, root), False)
    answers["depths"] = {"latency_ns": latencies}
    if whole:
        depths = [d for d in peer.getDistances() if d < graph.vertices]
        totals["reached"], totals["depth_sum"] = len(depths), int(sum(depths))
    if not graph.directed:
        # Its batches end in an exception where an edge comes and others go: it looks each change up
        # in the graph of the end of the batch. One change at a time is what its batches do inside.
        peer, latencies, whole = run(nk.components.DynConnectedComponents, True)
        answers["components"] = {"latency_ns": latencies}
        if whole:
            totals["components"] = peer.numberOfComponents()
    return nk.__version__, answers, totals


def velographx(graph, root, limit):
    import importlib.metadata

    import velographx as vg

    def fill(batch):
        filled = vg.UpdateBatch()
        for u, v, difference in batch:
            (filled.add if difference > 0 else filled.remove)(u, v)
        return filled

    def run(make):
        changing = vg.Graph(graph.vertices, directed=graph.directed)
        changing.apply(fill(graph.batches[0]))
        peer = make(changing)
        # The peer applies the batch to the graph, too.
        return peer, *timed(graph.batches[1:], fill, peer.apply, limit)

    answers, totals = {}, {}
    peer, latencies, whole = run(lambda changing: vg.IncrementalBFS(changing, root))
    answers["depths"] = {"latency_ns": latencies}
    if whole:
        depths = [d for d in peer.distances if d != peer.unreachable]
        totals["reached"], totals["depth_sum"] = len(depths), sum(depths)
    peer, latencies, whole = run(vg.IncrementalComponents)
    answers["components"] = {"latency_ns": latencies}
    if whole:
        totals["components"] = len({peer.component(v) for v in range(graph.vertices)})
    # In a directed graph it counts something else: a cycle of three arcs is none.
    if not graph.directed:
        peer, latencies, whole = run(vg.IncrementalTriangleCount)
        answers["triangles"] = {"latency_ns": latencies}
        if whole:
            totals["triangles"] = peer.value()
    return importlib.metadata.version("velographx"), answers, totals


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--peer", required=True, choices=["networkit", "velographx"])
    parser.add_argument("--root", type=int)
    parser.add_argument("--limit", type=float, default=60.0)
    options = parser.parse_args()
    graph = Graph(options.file)
    root = 0 if options.root is None else graph.number(options.root)
    graph.vertices = max(graph.vertices, len(graph.ids))
    run = {"networkit": networkit, "velographx": velographx}[options.peer]
    try:
        version, answers, totals = run(graph, root, options.limit)
    except ImportError as error:
        sys.exit(f"{error}; pip install {options.peer}")
    found = {"peer": options.peer, "version": version, "answers": answers, "totals": totals}
    json.dump(found, sys.stdout)
    print()


if __name__ == "__main__":
    main()
