// Lanes that part: branches, loops of different lengths, early ends, switches.

extern "C" __global__ void collatz(int n, const unsigned *in, unsigned *steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long x = in[i];
  unsigned count = 0;
  while (x > 1) {
    x = x & 1 ? 3 * x + 1 : x >> 1;
    count++;
  }
  steps[i] = count;
}

extern "C" __global__ void branches(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = in[i], r = 0;
  if (x < 0) {
    r = x % 3 == 0 ? -1 : -2;
    if (x < -100) return;
  } else if (x & 1) {
    for (int k = 0; k < (x & 15); k++) {
      if (k == 11) break;
      if (k % 3 == 1) continue;
      r += k * x;
    }
  } else {
    r = x * 7;
  }
  out[i] = r;
}

extern "C" __global__ void cases(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = in[i], r;
  switch (x & 15) {
    case 0: r = x + 1; break;
    case 1: r = x * 3; break;
    case 2: r = x - in[0]; break;
    case 3: r = x ^ 0x55; break;
    case 4: r = ~x; break;
    case 5: r = x * x; break;
    case 6: r = x / 7; break;
    case 7: r = 99;  // goes on into the next one
    case 8: r = x | 12345; break;
    case 9: r = x % 11; break;
    default: r = -x;
  }
  out[i] = r;
}

extern "C" __global__ void nested(int n, const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int total = 0;
  for (int a = 0; a < (in[i] & 7); a++)
    for (int b = a; b < (i & 7); b++)
      if ((a + b + i) % 3)
        total += a * 10 + b;
      else
        total -= in[(i + b) % n] & 3;
  out[i] = total;
}

extern "C" __global__ void binary_search(int n, int m, const int *sorted, const int *keys, int *place) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m) return;
  int low = 0, high = n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (sorted[middle] < keys[i]) low = middle + 1;
    else high = middle;
  }
  place[i] = low;
}
