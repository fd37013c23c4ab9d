/* `printf` in a kernel.
 *
 * The text arrives on standard output at a synchronisation, in the order of each thread's calls.
 * The value is the number of arguments, not of letters. */
#include "../check.h"
#include "capture.h"
#include <cstring>
#include <string>

__global__ void formats(int *values)
{
    long long big = -1234567890123;
    values[0] = printf("no arguments\n");
    values[1] = printf("%d %i %u %x %X %o|\n", -5, 6, 7u, 255, 255, 8);
    values[2] = printf("%lld %llx %ld %hd|\n", big, 0xfedcba9876543210ull, 77l, (short)-3);
    values[3] = printf("%f %.2f %e %g %G|\n", 1.5f, 2.345, 12345.678, 0.0001, 1e-10);
    values[4] = printf("%5d|%-5d|%05d|%+d|% d|%#x|\n", 42, 42, 42, 42, 42, 42);
    values[5] = printf("%s and %10s and %c%c %%|\n", "text", "right", 'o', 'k');
    const char *empty = "";
    values[6] = printf("[%s]%.3s\n", empty, "abcdef");
}

static const char expected[] = "no arguments\n"
                               "-5 6 7 ff FF 10|\n"
                               "-1234567890123 fedcba9876543210 77 -3|\n"
                               "1.500000 2.35 1.234568e+04 0.0001 1E-10|\n"
                               "   42|42   |00042|+42| 42|0x2a|\n"
                               "text and      right and ok %|\n"
                               "[]abc\n";

__global__ void every_thread()
{
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    printf("<%d:first>\n", thread);
    if (thread % 3 == 0)
        printf("<%d:second %g>\n", thread, thread / 3.0);
}

static void one_thread()
{
    int *values, host[7];
    CHECK(cudaMalloc(&values, sizeof host));
    Captured output(1);
    formats<<<1, 1>>>(values);
    cudaError_t error = cudaDeviceSynchronize();
    std::string text = output.end();
    CHECK(error);
    EXPECT(text == expected, "printed:\n%sexpected:\n%s", text.c_str(), expected);
    CHECK(cudaMemcpy(host, values, sizeof host, cudaMemcpyDeviceToHost));
    const int arguments[7] = {0, 6, 4, 5, 6, 4, 2};
    for (int i = 0; i < 7; i++)
        EXPECT(host[i] == arguments[i], "call %d gives %d, expected %d", i, host[i], arguments[i]);
    CHECK(cudaFree(values));
}

static void many_threads()
{
    enum { BLOCKS = 3, THREADS = 70, ALL = BLOCKS * THREADS };
    Captured output(1);
    every_thread<<<BLOCKS, THREADS>>>();
    cudaError_t error = cudaDeviceSynchronize();
    std::string text = output.end();
    CHECK(error);
    size_t lines = 0;
    for (char c : text)
        lines += c == '\n';
    EXPECT(lines == ALL + ALL / 3, "%zu lines of %d threads", lines, ALL);
    for (int thread = 0; thread < ALL; thread++) {
        std::string first = "<" + std::to_string(thread) + ":first>\n";
        std::string second = "<" + std::to_string(thread) + ":second " +
                             std::to_string(thread / 3) + ">\n";
        size_t at = text.find(first), then = text.find(second);
        EXPECT(at != std::string::npos, "%s is missing", first.c_str());
        if (thread % 3 == 0)
            EXPECT(then != std::string::npos && at < then, "%s is missing or early",
                   second.c_str());
        else
            EXPECT(then == std::string::npos, "%s is there", second.c_str());
    }
}

int main()
{
    size_t bytes;
    CHECK(cudaDeviceGetLimit(&bytes, cudaLimitPrintfFifoSize));
    EXPECT(bytes > 0, "no buffer for printf");
    CHECK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 2 << 20));
    one_thread();
    many_threads();
    printf("ok printf\n");
    return 0;
}
