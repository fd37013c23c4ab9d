/* Nests of loops, each with an array of its own that takes 48 KB. A comment says which array's
 * reuse is carried by the loop, or by the function, of its line. */
#include <stdio.h>
#define N 6000
double calls[N], breaks[N], whiles[N], dos[N], gotos[N];
double nests[20][30][10], passes[N], recursion[N], errors[N];
volatile int size = N, rounds = 6;

__attribute__((noinline)) static double sum(double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i];
    return s;
}
__attribute__((noinline)) static double of_calls(int n, int times)
{
    double s = 0;
    for (int r = 0; r < times; r++) // loop: calls
        s += sum(calls + (r & 1), n - 1);
    return s;
}
__attribute__((noinline)) static double of_breaks(int n, int times)
{
    double s = 0;
    for (int r = 0; r < times; r++) { // loop: breaks
        for (int i = 0; i < n; i++) {
            if (breaks[i] > 1e9)
                break;
            if (breaks[i] < 0)
                continue;
            s += breaks[i];
        }
        if (s < -1) // loop: breaks
            break;
    }
    return s;
}
__attribute__((noinline)) static double of_whiles(int n, int times)
{
    double s = 0;
    while (times-- > 0) { // loop: whiles
        int i = 0;
        while (i < n)
            s += whiles[i++];
    }
    return s;
}
__attribute__((noinline)) static double of_dos(int n, int times)
{
    double s = 0;
    do {
        int i = 0;
        do
            s += dos[i++];
        while (i < n);
    } while (--times > 0); // loop: dos
    return s;
}
__attribute__((noinline)) static double of_nests(int n, int times)
{
    double s = 0;
    for (int r = 0; r < times; r++) // loop: nests
        for (int i = 0; i < 20; i++)
            for (int j = 0; j < 30; j++)
                for (int k = 0; k < n; k++)
                    s += nests[i][j][k];
    return s;
}
__attribute__((noinline)) static double of_passes(int n)
{ // function: passes
    double s = 0;
    for (int i = 0; i < n; i++)
        s += passes[i];
    for (int i = 0; i < n; i++)
        s *= passes[i] + 1;
    return s;
}
__attribute__((noinline)) static double of_recursion(int n, int depth)
{ // function: recursion
    double s = 0;
    for (int i = 0; i < n; i++)
        s += recursion[i] * depth;
    if (depth > 0)
        s += of_recursion(n, depth - 1) * 0.5;
    return s;
}
__attribute__((noinline)) static double of_errors(int n, int times)
{
    double s = 0;
    for (int r = 0; r < times; r++) { // loop: errors
        for (int i = 0; i < n; i++) {
            if (__builtin_expect(i % 1000 == 999, 0))
                fprintf(stderr, "%d\n", i);
            s += errors[i];
        }
    }
    return s;
}
int main(void)
{
    int n = size, times = rounds;
    double s = of_calls(n, times) + of_breaks(n, times) + of_whiles(n, times) + of_dos(n, times);
    s += of_nests(n / 600, times) + of_passes(n) + of_recursion(n, times) + of_errors(n, times);
    printf("%g\n", s);
    return 0;
}
