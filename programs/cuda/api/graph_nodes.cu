/* Graphs made node by node, with the dependencies that the program says, and memory that a captured
 * graph takes.
 *
 * Nodes are added in another order than they run in. Work of nodes is changed in the graph and in
 * what was made ready of it. What a graph takes and frees is there again at its next launch. */
#include "../check.h"
#include <cstring>

enum { N = 1024 };

__global__ void scale(const float *in, float *out, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = factor * in[i];
}

static int host_runs;

static void CUDART_CB count_run(void *argument)
{
    ++*(int *)argument;
}

static cudaKernelNodeParams launch(void **arguments)
{
    cudaKernelNodeParams params;
    memset(&params, 0, sizeof params);
    params.func = (void *)scale;
    params.gridDim = dim3(N / 256);
    params.blockDim = dim3(256);
    params.kernelParams = arguments;
    return params;
}

#if CUDART_VERSION >= 13000
static cudaError_t depend(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to)
{
    return cudaGraphAddDependencies(graph, &from, &to, nullptr, 1);
}
static cudaError_t before(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count)
{
    return cudaGraphNodeGetDependencies(node, nodes, nullptr, count);
}
static cudaError_t info(cudaStream_t stream, cudaStreamCaptureStatus *status, cudaGraph_t *graph,
                        const cudaGraphNode_t **nodes, size_t *count)
{
    unsigned long long number;
    return cudaStreamGetCaptureInfo(stream, status, &number, graph, nodes, nullptr, count);
}
#else
static cudaError_t depend(cudaGraph_t graph, cudaGraphNode_t from, cudaGraphNode_t to)
{
    return cudaGraphAddDependencies(graph, &from, &to, 1);
}
static cudaError_t before(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count)
{
    return cudaGraphNodeGetDependencies(node, nodes, count);
}
static cudaError_t info(cudaStream_t stream, cudaStreamCaptureStatus *status, cudaGraph_t *graph,
                        const cudaGraphNode_t **nodes, size_t *count)
{
    unsigned long long number;
    return cudaStreamGetCaptureInfo_v2(stream, status, &number, graph, nodes, count);
}
#endif

static void run(cudaGraphExec_t ready, cudaStream_t stream)
{
    CHECK(cudaGraphLaunch(ready, stream));
    CHECK(cudaStreamSynchronize(stream));
}

static void by_hand(cudaStream_t stream)
{
    float in[N], out[N], *a, *b, factor = 3;
    CHECK(cudaMalloc(&a, sizeof in));
    CHECK(cudaMalloc(&b, sizeof in));
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    cudaGraph_t graph;
    cudaGraphNode_t host, back, kernel, copy, fill, none;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaHostNodeParams call = {count_run, &host_runs};
    CHECK(cudaGraphAddHostNode(&host, graph, nullptr, 0, &call));
    CHECK(cudaGraphAddMemcpyNode1D(&back, graph, nullptr, 0, out, b, sizeof out,
                                   cudaMemcpyDeviceToHost));
    void *arguments[] = {&a, &b, &factor};
    cudaKernelNodeParams params = launch(arguments);
    CHECK(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &params));
    CHECK(cudaGraphAddEmptyNode(&none, graph, nullptr, 0));
    cudaMemcpy3DParms parms;
    memset(&parms, 0, sizeof parms);
    parms.srcPtr = make_cudaPitchedPtr(in, sizeof in, N, 1);
    parms.dstPtr = make_cudaPitchedPtr(a, sizeof in, N, 1);
    parms.extent = make_cudaExtent(sizeof in, 1, 1);
    parms.kind = cudaMemcpyHostToDevice;
    CHECK(cudaGraphAddMemcpyNode(&copy, graph, &none, 1, &parms));
    /* The first element is written after the copy. */
    cudaMemsetParams one;
    memset(&one, 0, sizeof one);
    one.dst = a;
    one.value = 0x3f800000; /* 1.0f */
    one.elementSize = 4;
    one.width = 1;
    one.height = 1;
    CHECK(cudaGraphAddMemsetNode(&fill, graph, &copy, 1, &one));
    CHECK(depend(graph, fill, kernel));
    CHECK(depend(graph, kernel, back));
    CHECK(depend(graph, back, host));
    EXPECT_ERROR(depend(graph, kernel, kernel), cudaErrorInvalidValue);
    EXPECT_ERROR(depend(graph, back, host), cudaErrorInvalidValue);
    cudaGraphNode_t nodes[8];
    size_t count = 8;
    CHECK(cudaGraphGetNodes(graph, nodes, &count));
    EXPECT(count == 6 && nodes[0] == host && nodes[6] == nullptr, "%zu nodes", count);
    count = 8;
    CHECK(cudaGraphGetRootNodes(graph, nodes, &count));
    EXPECT(count == 1 && nodes[0] == none, "%zu roots", count);
    count = 8;
    CHECK(before(back, nodes, &count));
    EXPECT(count == 1 && nodes[0] == kernel, "%zu dependencies", count);
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(fill, &type));
    EXPECT(type == cudaGraphNodeTypeMemset, "type %d", (int)type);
    EXPECT_ERROR(cudaGraphAddEmptyNode(&none, graph, (cudaGraphNode_t *)&stream, 1),
                 cudaErrorInvalidValue);

    cudaGraphExec_t ready, copied;
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    run(ready, stream);
    for (int i = 0; i < N; i++)
        EXPECT(out[i] == 3 * (i ? (float)i : 1), "%d: %g", i, out[i]);
    EXPECT(host_runs == 1, "%d calls", host_runs);

    /* Another factor for what is ready; then for the graph, and what is ready of a copy. */
    factor = 5;
    CHECK(cudaGraphExecKernelNodeSetParams(ready, kernel, &params));
    EXPECT_ERROR(cudaGraphExecKernelNodeSetParams(ready, fill, &params), cudaErrorInvalidValue);
    run(ready, stream);
    EXPECT(out[7] == 35, "%g", out[7]);
    factor = 7;
    CHECK(cudaGraphKernelNodeSetParams(kernel, &params));
    cudaGraph_t copy_of;
    CHECK(cudaGraphClone(&copy_of, graph));
    cudaGraphNode_t there;
    CHECK(cudaGraphNodeFindInClone(&there, kernel, copy_of));
    EXPECT(there != kernel, "a copy has the nodes of the original");
    cudaGraph_t unrelated;
    CHECK(cudaGraphCreate(&unrelated, 0));
    CHECK(cudaGraphAddEmptyNode(&there, unrelated, nullptr, 0));
    EXPECT_ERROR(cudaGraphNodeFindInClone(&there, host, unrelated), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGraphNodeFindInClone(&there, there, copy_of), cudaErrorInvalidValue);
    CHECK(cudaGraphDestroy(unrelated));
    CHECK(cudaGraphNodeFindInClone(&there, kernel, copy_of));
    CHECK(cudaGraphInstantiate(&copied, copy_of, 0));
    run(copied, stream);
    EXPECT(out[7] == 49, "%g", out[7]);
    cudaGraphExecUpdateResultInfo result;
    CHECK(cudaGraphExecUpdate(ready, copy_of, &result));
    run(ready, stream);
    EXPECT(out[7] == 49 && host_runs == 4, "%g, %d calls", out[7], host_runs);
    CHECK(cudaGraphDestroyNode(there));
    EXPECT_ERROR(cudaGraphExecUpdate(ready, copy_of, &result), cudaErrorGraphExecUpdateFailure);

    /* A graph as a node, after one that doubles the input. */
    cudaGraph_t outer;
    cudaGraphNode_t twice, child;
    CHECK(cudaGraphCreate(&outer, 0));
    CHECK(cudaGraphAddChildGraphNode(&child, outer, nullptr, 0, graph));
    factor = 2;
    void *back_again[] = {&b, &a, &factor};
    params = launch(back_again);
    CHECK(cudaGraphAddKernelNode(&twice, outer, &child, 1, &params));
    cudaGraphExec_t both;
    CHECK(cudaGraphInstantiate(&both, outer, 0));
    run(both, stream);
    CHECK(cudaMemcpy(in, a, sizeof in, cudaMemcpyDeviceToHost));
    EXPECT(in[7] == 2 * 49, "%g", in[7]);

    /* Nodes that wait for each other. */
    cudaGraph_t circle;
    cudaGraphNode_t left, right;
    cudaGraphExec_t never;
    CHECK(cudaGraphCreate(&circle, 0));
    CHECK(cudaGraphAddEmptyNode(&left, circle, nullptr, 0));
    CHECK(cudaGraphAddEmptyNode(&right, circle, &left, 1));
    CHECK(depend(circle, right, left));
    EXPECT_ERROR(cudaGraphInstantiate(&never, circle, 0), cudaErrorInvalidValue);
    for (cudaGraph_t each : {graph, copy_of, outer, circle})
        CHECK(cudaGraphDestroy(each));
    for (cudaGraphExec_t each : {ready, copied, both})
        CHECK(cudaGraphExecDestroy(each));
    EXPECT(cudaGraphNodeGetType(kernel, &type) != cudaSuccess, "a node outlives its graph");
    (void)cudaGetLastError();
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
}

/* An object that a graph and what was made ready of it hold. */
static void objects(cudaStream_t stream)
{
    int ended = 0;
    cudaUserObject_t object;
    CHECK(cudaUserObjectCreate(&object, &ended, count_run, 1, cudaUserObjectNoDestructorSync));
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t ready;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
    CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    CHECK(cudaUserObjectRetain(object, 2));
    CHECK(cudaUserObjectRelease(object, 2));
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    run(ready, stream);
    EXPECT(ended == 0, "%d ends", ended);
    CHECK(cudaGraphExecDestroy(ready));
    EXPECT(ended == 1, "%d ends", ended);
    EXPECT(cudaUserObjectRelease(object, 1) != cudaSuccess, "an object outlives its holders");
    (void)cudaGetLastError();
}

/* Memory that a stream takes while it is captured. */
static void captured_memory(cudaStream_t stream)
{
    float in[N], out[N], *a, *b;
    size_t before, during, after, all;
    for (int i = 0; i < N; i++)
        in[i] = (float)i;
    CHECK(cudaMemGetInfo(&before, &all));
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    EXPECT(mode == cudaStreamCaptureModeGlobal, "mode %d", (int)mode);
    cudaStreamCaptureStatus status;
    cudaGraph_t captured;
    const cudaGraphNode_t *last;
    size_t lasts = 7;
    CHECK(info(stream, &status, &captured, &last, &lasts));
    EXPECT(status == cudaStreamCaptureStatusNone && lasts == 7, "status %d", (int)status);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(info(stream, &status, &captured, &last, &lasts));
    EXPECT(status == cudaStreamCaptureStatusActive && lasts == 0, "%zu nodes", lasts);
    CHECK(cudaMallocAsync(&a, sizeof in, stream));
    CHECK(info(stream, &status, &captured, &last, &lasts));
    EXPECT(lasts == 1, "%zu nodes", lasts);
    cudaGraphNode_t first = last[0];
    CHECK(cudaMallocAsync(&b, sizeof in, stream));
    CHECK(cudaMemcpyAsync(a, in, sizeof in, cudaMemcpyHostToDevice, stream));
    scale<<<N / 256, 256, 0, stream>>>(a, b, 4);
    CHECK(cudaMemcpyAsync(out, b, sizeof out, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(a, stream));
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    EXPECT(graph == captured, "the graph is another than during the capture");
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(first, &type));
    EXPECT(type == cudaGraphNodeTypeMemAlloc, "type %d", (int)type);
    size_t count;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    EXPECT(count == 6, "%zu nodes", count);
    cudaGraphExec_t ready;
    cudaGraphInstantiateParams how;
    memset(&how, 0, sizeof how);
    how.result_out = cudaGraphInstantiateError;
    CHECK(cudaGraphInstantiateWithParams(&ready, graph, &how));
    EXPECT(how.result_out == cudaGraphInstantiateSuccess, "result %d", (int)how.result_out);
    CHECK(cudaGraphDestroy(graph));
    for (int round = 1; round <= 3; round++) {
        in[9] = (float)round;
        CHECK(cudaGraphLaunch(ready, stream));
        CHECK(cudaFreeAsync(b, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT(out[9] == 4 * (float)round && out[8] == 32, "%g, %g", out[9], out[8]);
    }
    CHECK(cudaMemGetInfo(&during, &all));
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaMemGetInfo(&after, &all));
    EXPECT(during < after && after == before, "%zu, %zu, %zu bytes free", before, during, after);
}

/* A graph that takes memory, fills it with `value` and copies it to `out`. */
static cudaGraph_t filling(cudaStream_t stream, int *out, int value)
{
    int *memory;
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&memory, N * sizeof *out, stream));
    CHECK(cudaMemsetAsync(memory, value, N * sizeof *out, stream));
    CHECK(cudaMemcpyAsync(out, memory, N * sizeof *out, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

/* A graph that has another as a node has the memory of that too. */
static void memory_of_a_child(cudaStream_t stream)
{
    int out[N], *other;
    size_t before, after, all;
    CHECK(cudaMemGetInfo(&before, &all));
    cudaGraph_t inner = filling(stream, out, 1), outer;
    cudaGraphNode_t node;
    cudaGraphExec_t ready;
    CHECK(cudaGraphCreate(&outer, 0));
    CHECK(cudaGraphAddChildGraphNode(&node, outer, nullptr, 0, inner));
    CHECK(cudaGraphDestroy(inner));
    /* Would have the address of memory that the graph has given back. */
    CHECK(cudaMalloc(&other, N * sizeof *out));
    CHECK(cudaMemset(other, 5, N * sizeof *out));
    CHECK(cudaGraphInstantiate(&ready, outer, 0));
    CHECK(cudaGraphDestroy(outer));
    run(ready, stream);
    EXPECT(out[7] == 0x01010101, "%x", out[7]);
    CHECK(cudaMemcpy(out, other, sizeof out, cudaMemcpyDeviceToHost));
    EXPECT(out[7] == 0x05050505, "%x", out[7]);
    CHECK(cudaFree(other));
    CHECK(cudaGraphExecDestroy(ready));
    CHECK(cudaMemGetInfo(&after, &all));
    EXPECT(after == before, "%zu and %zu bytes free", before, after);
}

/* What is ready takes the memory of the graph that it is updated by, in place of its own. */
static void memory_after_updates(cudaStream_t stream)
{
    int out[N];
    size_t during, after, all;
    cudaGraph_t graph = filling(stream, out, 1);
    cudaGraphExec_t ready;
    CHECK(cudaGraphInstantiate(&ready, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaMemGetInfo(&during, &all));
    for (int round = 2; round < 5; round++) {
        graph = filling(stream, out, round);
        cudaGraphExecUpdateResultInfo result;
        CHECK(cudaGraphExecUpdate(ready, graph, &result));
        CHECK(cudaGraphDestroy(graph));
        run(ready, stream);
        EXPECT(out[7] == round * 0x01010101, "%x", out[7]);
    }
    CHECK(cudaMemGetInfo(&after, &all));
    EXPECT(after == during, "%zu and %zu bytes free", during, after);
    CHECK(cudaGraphExecDestroy(ready));
}

/* A reset takes the memory of graphs, whose end then leaves alone what has its address now. */
static void graphs_after_a_reset()
{
    int out[N], *other;
    size_t before, after, all;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaGraph_t graph = filling(stream, out, 1);
    CHECK(cudaDeviceReset());
    CHECK(cudaMemGetInfo(&before, &all));
    CHECK(cudaMalloc(&other, N * sizeof *out));
    CHECK(cudaMemset(other, 5, N * sizeof *out));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaMemcpy(out, other, sizeof out, cudaMemcpyDeviceToHost));
    EXPECT(out[7] == 0x05050505, "%x", out[7]);
    CHECK(cudaFree(other));
    CHECK(cudaMemGetInfo(&after, &all));
    EXPECT(after == before, "%zu and %zu bytes free", before, after);
}

int main()
{
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    by_hand(stream);
    objects(stream);
    captured_memory(stream);
    memory_of_a_child(stream);
    memory_after_updates(stream);
    CHECK(cudaStreamDestroy(stream));
    graphs_after_a_reset();
    printf("ok graph_nodes\n");
    return 0;
}
