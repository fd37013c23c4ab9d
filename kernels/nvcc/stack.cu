// Memory that functions take while they run (`alloca`): of another size in each lane, in loops, in
// called functions, in recursion, and in functions called through pointers.

// Sums numbers that it keeps, in another order than that in which they were made.
__device__ __forceinline__ int shuffled_sum(int n, int seed) {
  int *kept = (int *)__builtin_alloca(n * sizeof(int));
  for (int k = 0; k < n; k++) kept[k] = seed * k;
  int sum = 0;
  for (int k = 0; k < n; k++) sum = sum * 3 + kept[(k * 7 + 1) % n];
  return sum;
}

// Memory of a kernel itself, which some lanes take, and some take more of in each round: a list
// whose last nodes are added up.
extern "C" __global__ void list(int n, const int *in, int *out) {
  struct Node {
    Node *next;
    int value;
  };
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Node *last = 0;
  int rounds = in[i] & 7;
  for (int k = 0; k < rounds; k++) {
    if ((in[i] >> k & 8) == 0) continue;
    Node *node = (Node *)__builtin_alloca(sizeof(Node) * (1 + (in[i] >> k & 1)));
    node->next = last;
    node->value = in[i] + k;
    last = node;
  }
  int sum = 0;
  for (; last; last = last->next) sum = sum * 5 + last->value;
  out[i] = sum;
}

// Calls that take more together than a stack has, and give it back one after the other.
extern "C" __global__ void often(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int sum = 0;
  for (int k = 0; k < 40; k++)
    if (in[i] >> (k & 15) & 1) sum += shuffled_sum(1 + (in[i] + k & 31), k);
  out[i] = sum;
}

// Each call takes memory, has calls inside of it take some, and reads its own again.
__device__ __noinline__ int down(int depth, int seed) {
  int n = 1 + (seed & 15);
  int *own = (int *)__builtin_alloca(n * sizeof(int));
  for (int k = 0; k < n; k++) own[k] = seed + k;
  int sum = depth > 0 ? down(depth - 1, seed * 3 + 1) : 0;
  sum += depth > 1 ? down(depth - 2, seed * 5 + 2) : 0;
  for (int k = 0; k < n; k++) sum = sum * 3 + own[(k * 7 + 1) % n];
  return sum;
}

extern "C" __global__ void deep(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int *own = (int *)__builtin_alloca((1 + (in[i] & 7)) * sizeof(int));
  for (int k = 0; k <= (in[i] & 7); k++) own[k] = in[i] - k;
  out[i] = down(in[i] >> 4 & 3, in[i]) + own[(in[i] >> 6 & 255) % (1 + (in[i] & 7))];
}

__device__ __noinline__ int first_of(int n, int seed) {
  int *kept = (int *)__builtin_alloca(n * sizeof(int));
  for (int k = 0; k < n; k++) kept[n - 1 - k] = seed + k;
  return kept[seed % n];
}

__device__ __noinline__ int sum_of(int n, int seed) { return shuffled_sum(n, seed); }

typedef int (*Chosen)(int, int);
__device__ Chosen chosen[2] = {sum_of, first_of};

extern "C" __global__ void pointers(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int sum = 0;
  for (int k = 0; k < 8; k++) sum = sum * 3 + chosen[(in[i] + k) & 1](1 + (in[i] >> k & 15), i + k);
  out[i] = sum;
}
