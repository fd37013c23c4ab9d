// Calls that only the run decides: tables of functions, pointers, virtual functions; and functions
// that call themselves.

typedef int (*Step)(int, int *);

__device__ __noinline__ int square(int x, int *calls) {
  calls[0] += 1;
  return x * x;
}

__device__ __noinline__ int collatz_steps(int x, int *calls) {
  unsigned steps = 0;
  for (unsigned y = x & 1023; y > 1; y = y & 1 ? 3 * y + 1 : y >> 1) steps++;
  calls[1] += 1;
  return steps;
}

__device__ __noinline__ int reversed(int x, int *calls) {
  unsigned char digits[4];
  for (int k = 0; k < 4; k++) digits[k] = (unsigned)x >> 8 * k;
  int r = 0;
  for (int k = 0; k < 4; k++) r = r << 8 | digits[(k + (x & 3)) & 3];
  if (x < 0) return r;
  calls[2] += 1;
  return -r;
}

__device__ Step steps[3] = {square, collatz_steps, reversed};

// Each lane goes through two functions of the table, and counts calls in its own memory.
extern "C" __global__ void table(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int calls[3] = {0, 0, 0};
  int x = in[i];
  x = steps[(unsigned)x % 3](x, calls);
  x = steps[(unsigned)(x + i) % 3](x, calls);
  out[i] = x * 64 + calls[0] * 16 + calls[1] * 4 + calls[2];
}

// A pointer that some lanes do not call through.
extern "C" __global__ void pointer(int n, const int *in, int *out, int which) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int calls[3] = {0, 0, 0};
  Step step = which ? square : reversed;
  int x = in[i];
  if (x & 1) x = step(x, calls);
  out[i] = x + calls[0] - calls[2];
}

struct Shape {
  __device__ virtual int area(int scale) const = 0;
  __device__ virtual int corners() const { return 0; }
};

struct Square : Shape {
  int side;
  __device__ Square(int side) : side(side) {}
  __device__ int area(int scale) const override { return side * side * scale; }
  __device__ int corners() const override { return 4; }
};

struct Disc : Shape {
  int radius;
  __device__ Disc(int radius) : radius(radius) {}
  __device__ int area(int scale) const override { return 3 * radius * radius * scale; }
};

// Shapes that hold others: a virtual function that calls virtual functions.
struct Pair : Shape {
  const Shape *first, *second;
  __device__ Pair(const Shape *first, const Shape *second) : first(first), second(second) {}
  __device__ int area(int scale) const override {
    int one = first->area(scale);
    return one + second->area(scale + 1);
  }
  __device__ int corners() const override { return first->corners() + second->corners(); }
};

extern "C" __global__ void shapes(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = in[i] & 255;
  Square square(x);
  Disc disc(x + 1);
  Pair pair(&square, &disc), nested(&pair, &square);
  const Shape *all[4] = {&square, &disc, &pair, &nested};
  const Shape *shape = all[(unsigned)in[i] >> 8 & 3];
  out[i] = shape->area(i & 7) * 16 + shape->corners();
}

__device__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

// The depth of the recursion is another one in each lane.
extern "C" __global__ void recursion(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = ackermann((unsigned)in[i] % 3, (unsigned)in[i] >> 4 & 7);
}

struct Node {
  int value, left, right;
};

__device__ __noinline__ int tree_sum(const Node *nodes, int at, int odd);

__device__ __noinline__ int tree_of_even(const Node *nodes, int at) {
  if (at < 0) return 0;
  return tree_sum(nodes, at, 0);
}

// The values of a tree, those of odd depth twice; two functions that call each other.
__device__ __noinline__ int tree_sum(const Node *nodes, int at, int odd) {
  const Node &node = nodes[at];
  int total = odd ? 2 * node.value : node.value;
  if (odd) return total + tree_of_even(nodes, node.left) + tree_of_even(nodes, node.right);
  if (node.left >= 0) total += tree_sum(nodes, node.left, 1);
  if (node.right >= 0) total += tree_sum(nodes, node.right, 1);
  return total;
}

extern "C" __global__ void trees(int n, const Node *nodes, const int *roots, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tree_sum(nodes, roots[i], 0);
}
