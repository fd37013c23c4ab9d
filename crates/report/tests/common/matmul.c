#include <pthread.h>

#define N 96
static double a[N][N], b[N][N], c[N][N];

static void fill(double m[N][N]) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            m[i][j] = i + j;
}

/* Rows from `low` to `high` of the product. */
static void multiply(int low, int high) {
    for (int i = low; i < high; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++) {
                double product = a[i][k] * b[k][j];
                c[i][j] += product;
            }
}

static double trace(void) {
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += c[i][i];
    return sum;
}
static void *worker(void *unused) { multiply(N / 2, N); return unused; }

int main(void) {
    fill(a); fill(b);
    pthread_t other;
    pthread_create(&other, 0, worker, 0);
    multiply(0, N / 2);
    return trace() < 0;
}
