/* Breadth-first search: how many edges each node of a random graph is away from node 0.
 *
 * Arrays: `first` and `edges`, the graph in compressed rows; `level`, the result; `active`,
 * `reached` and `visited`, a byte for each node: it is on the front, it will be on the next one, it
 * was on one. `edges` is read once and in pieces; `visited`, `level` and `reached` are accessed at
 * random.
 *
 * The algorithm is search by levels over all nodes (Harish and Narayanan, "Accelerating large graph
 * algorithms on the GPU using CUDA", 2007), as in Rodinia's program of this name.
 *
 * Check: search with a queue; every level is equal. */
#include "options.h"

enum { DEGREE = 6, UNREACHED = -1 };

struct graph {
    long nodes;
    uint32_t *first;
    uint32_t *edges;
};

/* Each node has from 1 to 2 * DEGREE - 1 edges, DEGREE of them in the mean. */
static struct graph generate(long nodes, uint64_t seed)
{
    struct graph graph = {nodes, TIER_NEW(uint32_t, "first", nodes + 1), NULL};
    graph.first[0] = 0;
    for (long i = 0; i < nodes; i++) {
        uint32_t degree = 1 + (uint32_t)random_below(seed, (uint64_t)i, 2 * DEGREE - 1);
        graph.first[i + 1] = graph.first[i] + degree;
    }
    long edges = graph.first[nodes];
    graph.edges = TIER_NEW(uint32_t, "edges", edges);
    HOST_LOOP()
    for (long i = 0; i < edges; i++)
        graph.edges[i] = (uint32_t)random_below(seed + 1, (uint64_t)i, (uint64_t)nodes);
    return graph;
}

/* The nodes of the front reach their neighbours. Threads that reach one node at the same time
 * write the same value. */
static void expand(struct graph graph, const uint8_t *active, const uint8_t *visited,
                   uint8_t *reached)
{
    long nodes = graph.nodes;
    const uint32_t *first = graph.first, *edges = graph.edges;
    PARALLEL_LOOP(, map(to : first[0 : nodes + 1], edges[0 : first[nodes]], active[0 : nodes])
                        map(to : visited[0 : nodes]) map(tofrom : reached[0 : nodes]))
    for (long node = 0; node < nodes; node++) {
        if (!active[node])
            continue;
        for (uint32_t edge = first[node]; edge < first[node + 1]; edge++) {
            uint32_t to = edges[edge];
            if (!visited[to]) {
#pragma omp atomic write
                reached[to] = 1;
            }
        }
    }
}

/* What was reached is the next front, `depth` edges away; returns how many nodes that are. */
static long advance(long nodes, int depth, uint8_t *active, uint8_t *visited, uint8_t *reached,
                    int *level)
{
    long front = 0;
    PARALLEL_LOOP(reduction(+ : front), map(tofrom : active[0 : nodes], visited[0 : nodes])
                                            map(tofrom : reached[0 : nodes], level[0 : nodes])
                                                map(tofrom : front))
    for (long node = 0; node < nodes; node++) {
        active[node] = reached[node];
        if (reached[node]) {
            visited[node] = 1;
            reached[node] = 0;
            level[node] = depth;
            front++;
        }
    }
    return front;
}

static struct comparison check(const struct options *options, struct graph graph, const int *level)
{
    struct comparison comparison = {0};
    int *expected = CHECK_NEW(int, graph.nodes);
    uint32_t *queue = CHECK_NEW(uint32_t, graph.nodes);
    for (long i = 1; i < graph.nodes; i++)
        expected[i] = UNREACHED;
    long taken = 0, queued = 1;
    while (taken < queued) {
        uint32_t node = queue[taken++];
        for (uint32_t edge = graph.first[node]; edge < graph.first[node + 1]; edge++) {
            uint32_t to = graph.edges[edge];
            if (expected[to] == UNREACHED) {
                expected[to] = expected[node] + 1;
                queue[queued++] = to;
            }
        }
    }
    for (long i = 0; i < graph.nodes; i++)
        compare(&comparison, options, level[i], expected[i], 0);
    free(expected);
    free(queue);
    return comparison;
}

int main(int argc, char **argv)
{
    struct sizes sizes = {"bfs", "nodes", 8192, 131072, 1 << 20, 1, 100000000};
    struct options options = parse_options(argc, argv, sizes);
    long nodes = options.size;
    struct graph graph = generate(nodes, options.seed);
    int *level = TIER_NEW(int, "level", nodes);
    uint8_t *active = TIER_NEW(uint8_t, "active", nodes);
    uint8_t *visited = TIER_NEW(uint8_t, "visited", nodes);
    uint8_t *reached = TIER_NEW(uint8_t, "reached", nodes);
    HOST_LOOP()
    for (long i = 0; i < nodes; i++) {
        level[i] = i == 0 ? 0 : UNREACHED;
        active[i] = visited[i] = i == 0;
        reached[i] = 0;
    }
    const uint32_t *first = graph.first, *edges = graph.edges;
    (void)first, (void)edges; /* Only the device needs them. */
    DEVICE_DATA(map(to : first[0 : nodes + 1], edges[0 : first[nodes]], active[0 : nodes])
                    map(to : visited[0 : nodes], reached[0 : nodes])
                        map(tofrom : level[0 : nodes]))
    {
        int depth = 0;
        do
            expand(graph, active, visited, reached);
        while (advance(nodes, ++depth, active, visited, reached, level) > 0);
    }

    double checksum = 0;
    for (long i = 0; i < nodes; i++)
        checksum += level[i] * (double)(1 + i % 3);
    struct comparison comparison = {0};
    if (options.check)
        comparison = check(&options, graph, level);
    return finish(&options, &comparison, checksum);
}
