/* Graphs by stream capture, launched several times.
 *
 * Nothing of what a stream captures runs before the graph is launched. A second stream joins the
 * capture by an event. Launches read what the host buffer holds at that time. A call that a
 * capturing stream does not permit ends the capture with an error. */
#include "../check.h"

enum { N = 2048 };

__global__ void scale(const float *in, float *out, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = factor * in[i];
}

__global__ void add(const float *left, const float *right, float *sum)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    sum[i] = left[i] + right[i];
}

static int host_runs;

static void CUDART_CB count_run(void *argument)
{
    ++*(int *)argument;
}

struct Arrays {
    float *host_in, *host_out, *in, *twice, *thrice, *sum;
};

/* Captures: copy in; then, side by side, two kernels on two streams; their sum; copy out. */
static cudaGraph_t capture(const Arrays &a, cudaStream_t main_stream, cudaStream_t side)
{
    cudaEvent_t fork, join;
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(main_stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(a.in, a.host_in, N * sizeof(float), cudaMemcpyHostToDevice, main_stream));
    CHECK(cudaEventRecord(fork, main_stream));
    CHECK(cudaStreamWaitEvent(side, fork, 0));
    scale<<<N / 256, 256, 0, main_stream>>>(a.in, a.twice, 2);
    scale<<<N / 256, 256, 0, side>>>(a.in, a.thrice, 3);
    CHECK(cudaEventRecord(join, side));
    CHECK(cudaStreamWaitEvent(main_stream, join, 0));
    add<<<N / 256, 256, 0, main_stream>>>(a.twice, a.thrice, a.sum);
    CHECK(cudaMemcpyAsync(a.host_out, a.sum, N * sizeof(float), cudaMemcpyDeviceToHost,
                          main_stream));
    CHECK(cudaLaunchHostFunc(main_stream, count_run, &host_runs));
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(side, &status));
    EXPECT(status == cudaStreamCaptureStatusActive, "the second stream has the status %d",
           (int)status);
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(main_stream, &graph));
    CHECK(cudaStreamIsCapturing(main_stream, &status));
    EXPECT(status == cudaStreamCaptureStatusNone, "status %d after the capture", (int)status);
    CHECK(cudaEventDestroy(fork));
    CHECK(cudaEventDestroy(join));
    return graph;
}

static void launch_often(const Arrays &a, cudaGraph_t graph, cudaStream_t stream)
{
    size_t nodes, edges = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT(nodes == 6, "%zu nodes", nodes);
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
#else
    CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, &edges));
#endif
    EXPECT(edges == 6, "%zu edges", edges);
    cudaGraphExec_t run;
    CHECK(cudaGraphInstantiate(&run, graph, 0));
    CHECK(cudaGraphDestroy(graph)); /* The instance does not need it. */
    CHECK(cudaGraphUpload(run, stream));
    for (int round = 1; round <= 5; round++) {
        for (int i = 0; i < N; i++)
            a.host_in[i] = (float)(round * i % 1000);
        CHECK(cudaGraphLaunch(run, stream));
        CHECK(cudaStreamSynchronize(stream));
        EXPECT(host_runs == round, "the host function ran %d times, expected %d", host_runs, round);
        for (int i = 0; i < N; i++)
            EXPECT(a.host_out[i] == 5 * a.host_in[i], "round %d, %d: %g", round, i, a.host_out[i]);
    }
    CHECK(cudaGraphExecDestroy(run));
}

static void broken_capture(cudaStream_t stream)
{
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    EXPECT_ERROR(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    EXPECT_ERROR(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    EXPECT(!graph, "a broken capture gives a graph");
    EXPECT(cudaStreamEndCapture(stream, &graph) != cudaSuccess, "a stream ends a second capture");
    (void)cudaGetLastError();
    CHECK(cudaStreamSynchronize(stream)); /* The stream works on. */
}

int main()
{
    Arrays a;
    CHECK(cudaMallocHost(&a.host_in, N * sizeof(float)));
    CHECK(cudaMallocHost(&a.host_out, N * sizeof(float)));
    for (float **array : {&a.in, &a.twice, &a.thrice, &a.sum})
        CHECK(cudaMalloc(array, N * sizeof(float)));
    CHECK(cudaMemset(a.sum, 0, N * sizeof(float)));
    for (int i = 0; i < N; i++) {
        a.host_in[i] = 1;
        a.host_out[i] = -1;
    }
    cudaStream_t main_stream, side;
    CHECK(cudaStreamCreate(&main_stream));
    CHECK(cudaStreamCreate(&side));
    cudaGraph_t graph = capture(a, main_stream, side);
    CHECK(cudaDeviceSynchronize());
    float first;
    CHECK(cudaMemcpy(&first, a.sum, sizeof first, cudaMemcpyDeviceToHost));
    EXPECT(first == 0 && a.host_out[0] == -1 && host_runs == 0,
           "captured work ran: sum %g, out %g, %d host functions", first, a.host_out[0], host_runs);
    launch_often(a, graph, main_stream);
    broken_capture(main_stream);
    for (float *array : {a.in, a.twice, a.thrice, a.sum})
        CHECK(cudaFree(array));
    CHECK(cudaFreeHost(a.host_in));
    CHECK(cudaFreeHost(a.host_out));
    CHECK(cudaStreamDestroy(main_stream));
    CHECK(cudaStreamDestroy(side));
    printf("ok graphs\n");
    return 0;
}
