/* Breadth-first search: the least number of edges from node 0 to every node of a random graph.
 *
 * The algorithm is the level-synchronous one of Rodinia's `bfs` (Harish and Narayanan, 2007),
 * written anew. One thread has one node in both kernels:
 *   expand   nodes of the frontier give their neighbours a level;
 *   advance  nodes that were reached become the next frontier, and say that there is one.
 * The host launches both for every level until no node says so.
 *
 * Arrays: `first` (node: where its edges begin; one more than there are nodes), `edges` (edge: the
 * node it leads to), `level` (node: result, -1 if not reached), `frontier`, `reached`, `visited`
 * (node: a byte each). Accesses by `edges` are scattered, and only threads of the frontier work, so
 * both kernels diverge.
 *
 * Arguments: nodes (65536), edges per node on average (6), seed (7). Published size: 1 M nodes.
 * Check: a search with a queue on the host; every level is equal. */
#include "options.h"
#include <vector>

enum { THREADS = 256 };

struct Graph {
    std::vector<int> first, edges;
    int nodes() const { return (int)first.size() - 1; }
};

__global__ void expand(int nodes, const int *first, const int *edges, int *level, char *frontier,
                       char *reached, const char *visited)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || !frontier[node])
        return;
    frontier[node] = 0;
    for (int edge = first[node]; edge < first[node + 1]; edge++) {
        int neighbour = edges[edge];
        if (!visited[neighbour]) {
            level[neighbour] = level[node] + 1;
            reached[neighbour] = 1;
        }
    }
}

__global__ void advance(int nodes, char *frontier, char *reached, char *visited, int *more)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes || !reached[node])
        return;
    frontier[node] = 1;
    visited[node] = 1;
    reached[node] = 0;
    *more = 1;
}

/* Nodes with 0 to twice the average number of edges, to any node. */
static Graph generate(int nodes, int average, uint64_t seed)
{
    Graph graph;
    graph.first.push_back(0);
    for (int node = 0; node < nodes; node++)
        graph.first.push_back(graph.first.back() +
                              (int)random_below(seed, node, 2 * (uint32_t)average + 1));
    for (int edge = 0; edge < graph.first.back(); edge++)
        graph.edges.push_back((int)random_below(seed + 1, edge, (uint32_t)nodes));
    return graph;
}

/* Searches on the device. Returns the number of levels. */
static int search(const Graph &graph, std::vector<int> &level)
{
    int nodes = graph.nodes(), levels = 0, more, *device_more;
    std::vector<char> mark(nodes, 0);
    level.assign(nodes, -1);
    level[0] = 0;
    int *first = upload(graph.first), *edges = upload(graph.edges), *device_level = upload(level);
    char *reached = upload(mark);
    mark[0] = 1;
    char *frontier = upload(mark), *visited = upload(mark);
    CHECK(cudaMalloc(&device_more, sizeof *device_more));
    int blocks = (nodes + THREADS - 1) / THREADS;
    do {
        more = 0;
        CHECK(cudaMemcpy(device_more, &more, sizeof more, cudaMemcpyHostToDevice));
        expand<<<blocks, THREADS>>>(nodes, first, edges, device_level, frontier, reached, visited);
        advance<<<blocks, THREADS>>>(nodes, frontier, reached, visited, device_more);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpy(&more, device_more, sizeof more, cudaMemcpyDeviceToHost));
        levels++;
    } while (more);
    CHECK(cudaMemcpy(level.data(), device_level, nodes * sizeof(int), cudaMemcpyDeviceToHost));
    for (int *array : {first, edges, device_level, device_more})
        CHECK(cudaFree(array));
    for (char *array : {frontier, reached, visited})
        CHECK(cudaFree(array));
    return levels;
}

static std::vector<int> reference(const Graph &graph)
{
    std::vector<int> level(graph.nodes(), -1), queue{0};
    level[0] = 0;
    for (size_t i = 0; i < queue.size(); i++)
        for (int edge = graph.first[queue[i]]; edge < graph.first[queue[i] + 1]; edge++)
            if (int node = graph.edges[edge]; level[node] < 0) {
                level[node] = level[queue[i]] + 1;
                queue.push_back(node);
            }
    return level;
}

int main(int argc, char **argv)
{
    int nodes = (int)argument(argc, argv, 1, "the number of nodes", 1, 1 << 26, 65536);
    int average = (int)argument(argc, argv, 2, "the number of edges per node", 0, 64, 6);
    long seed = argument(argc, argv, 3, "the seed", 0, 1L << 40, 7);
    Graph graph = generate(nodes, average, (uint64_t)seed);
    std::vector<int> level, expected = reference(graph);
    int levels = search(graph, level), unreached = 0;
    for (int node = 0; node < nodes; node++) {
        EXPECT(level[node] == expected[node], "node %d has the level %d, expected %d", node,
               level[node], expected[node]);
        unreached += level[node] < 0;
    }
    printf("ok bfs: %d nodes, %zu edges, %d levels, %d nodes not reached\n", nodes,
           graph.edges.size(), levels, unreached);
    return 0;
}
