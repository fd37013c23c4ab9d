/* Forces and potentials between particles in boxes: each box with itself and its neighbours.
 *
 * The algorithm is that of Rodinia's `lavaMD` (Szafaryn and others, 2013), written anew. A block of
 * 128 threads has one box of 100 particles. It keeps its own particles in shared memory and loads
 * those of one neighbour after the other beside them. Every thread adds up the forces of the
 * neighbour's particles on one of its own. 28 threads of every block have no particle.
 *
 * Arrays: `boxes` (box: how many neighbours, and which), `particles` (position and the sum of its
 * squares as `w`), `charges`, `forces` (x, y, z, and the potential as `w`); doubles.
 *
 * Arguments: boxes in each direction (3), seed (7). Published size: 10.
 * Check: all pairs of neighbours on the host, each from scratch; within 1e-9 of the greatest. */
#include "options.h"
#include <vector>

enum { PARTICLES = 100, THREADS = 128, NEIGHBOURS = 27 };
constexpr double ALPHA = 0.5;

struct alignas(16) Vector {
    double x, y, z, w;
};

struct Box {
    int count, neighbours[NEIGHBOURS]; /* The box itself is the first. */
};

__global__ void interact(const Box *boxes, const Vector *particles, const double *charges,
                         Vector *forces)
{
    __shared__ Vector mine[PARTICLES], others[PARTICLES];
    __shared__ double other_charges[PARTICLES];
    const Box &box = boxes[blockIdx.x];
    for (int i = threadIdx.x; i < PARTICLES; i += THREADS)
        mine[i] = particles[blockIdx.x * PARTICLES + i];
    __syncthreads();
    for (int k = 0; k < box.count; k++) {
        int first = box.neighbours[k] * PARTICLES;
        for (int i = threadIdx.x; i < PARTICLES; i += THREADS) {
            others[i] = particles[first + i];
            other_charges[i] = charges[first + i];
        }
        __syncthreads();
        for (int i = threadIdx.x; i < PARTICLES; i += THREADS) {
            Vector a = mine[i], sum = forces[blockIdx.x * PARTICLES + i];
            for (int j = 0; j < PARTICLES; j++) {
                Vector b = others[j];
                double apart = a.w + b.w - 2 * (a.x * b.x + a.y * b.y + a.z * b.z);
                double potential = exp(-2 * ALPHA * ALPHA * apart), force = 2 * potential;
                sum.w += other_charges[j] * potential;
                sum.x += other_charges[j] * force * (a.x - b.x);
                sum.y += other_charges[j] * force * (a.y - b.y);
                sum.z += other_charges[j] * force * (a.z - b.z);
            }
            forces[blockIdx.x * PARTICLES + i] = sum;
        }
        __syncthreads();
    }
}

static std::vector<Box> make_boxes(int side)
{
    std::vector<Box> boxes;
    for (int i = 0; i < side * side * side; i++) {
        int z = i / (side * side), y = i / side % side, x = i % side;
        Box box = {1, {i}};
        for (int k = 0; k < 27; k++) {
            int zz = z + k / 9 - 1, yy = y + k / 3 % 3 - 1, xx = x + k % 3 - 1;
            bool inside = xx >= 0 && xx < side && yy >= 0 && yy < side && zz >= 0 && zz < side;
            if (k != 13 && inside)
                box.neighbours[box.count++] = (zz * side + yy) * side + xx;
        }
        boxes.push_back(box);
    }
    return boxes;
}

static std::vector<Vector> on_device(const std::vector<Box> &host_boxes,
                                          const std::vector<Vector> &host_particles,
                                          const std::vector<double> &host_charges)
{
    std::vector<Vector> result(host_particles.size());
    size_t bytes = result.size() * sizeof result[0];
    Box *boxes = upload(host_boxes);
    Vector *particles = upload(host_particles), *forces;
    double *charges = upload(host_charges);
    CHECK(cudaMalloc(&forces, bytes));
    CHECK(cudaMemset(forces, 0, bytes));
    interact<<<(int)host_boxes.size(), THREADS>>>(boxes, particles, charges, forces);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(result.data(), forces, bytes, cudaMemcpyDeviceToHost));
    for (void *memory : {(void *)boxes, (void *)particles, (void *)forces, (void *)charges})
        CHECK(cudaFree(memory));
    return result;
}

static std::vector<double> on_host(int side, const std::vector<Vector> &particles,
                                   const std::vector<double> &charges)
{
    std::vector<double> result;
    int boxes = side * side * side;
    for (int a = 0; a < boxes * PARTICLES; a++) {
        double sum[4] = {};
        int box = a / PARTICLES;
        for (int other = 0; other < boxes; other++) {
            if (std::abs(box / (side * side) - other / (side * side)) > 1 ||
                std::abs(box / side % side - other / side % side) > 1 ||
                std::abs(box % side - other % side) > 1)
                continue;
            for (int b = other * PARTICLES; b < (other + 1) * PARTICLES; b++) {
                double x = particles[a].x - particles[b].x, y = particles[a].y - particles[b].y;
                double z = particles[a].z - particles[b].z;
                double v = charges[b] * std::exp(-2 * ALPHA * ALPHA * (x * x + y * y + z * z));
                sum[0] += 2 * v * x;
                sum[1] += 2 * v * y;
                sum[2] += 2 * v * z;
                sum[3] += v;
            }
        }
        result.insert(result.end(), sum, sum + 4);
    }
    return result;
}

int main(int argc, char **argv)
{
    int side = (int)argument(argc, argv, 1, "the number of boxes", 1, 100, 3);
    long seed = argument(argc, argv, 2, "the seed", 0, 1L << 40, 7);
    std::vector<Box> boxes = make_boxes(side);
    std::vector<Vector> particles;
    std::vector<double> charges;
    for (int i = 0; i < (int)boxes.size() * PARTICLES; i++) {
        int box = i / PARTICLES;
        Vector p = {};
        p.x = box % side + random_unit((uint64_t)seed, 3 * i);
        p.y = box / side % side + random_unit((uint64_t)seed, 3 * i + 1);
        p.z = box / (side * side) + random_unit((uint64_t)seed, 3 * i + 2);
        p.w = p.x * p.x + p.y * p.y + p.z * p.z;
        particles.push_back(p);
        charges.push_back(random_unit((uint64_t)seed + 1, i));
    }
    std::vector<Vector> forces = on_device(boxes, particles, charges);
    std::vector<double> got, expected = on_host(side, particles, charges);
    double potential = 0;
    for (const Vector &force : forces) {
        got.insert(got.end(), {force.x, force.y, force.z, force.w});
        potential += force.w;
    }
    expect_close("forces", got.data(), expected.data(), (long)expected.size(), 1e-9);
    printf("ok lavaMD: %zu boxes, %zu particles, potential %.6g\n", boxes.size(), particles.size(),
           potential);
    return 0;
}
