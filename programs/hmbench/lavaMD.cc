// Forces between particles that are close to each other, in a cube of boxes.
//
// Arrays: `particles` (position and charge), `forces` (three directions and the potential), both in
// the order of boxes; `neighbours` (up to 27 boxes for each, itself among them). The particles of a
// box are read with those of each of its neighbours.
//
// The algorithm is that of Rodinia's program of this name (Szafaryn, Gamblin, de Supinski and
// Skadron, "Experiences with achieving portability across heterogeneous architectures", 2011): the
// potential of a pair falls as exp(-ALPHA * distance^2), and pairs of boxes that do not touch are
// left out. A box has 32 particles here, not 100, so that more boxes fit into the same time.
//
// Check: each pair once, with the opposite force on the other particle; right to 1e-9.
#include <algorithm>

#include "options.h"

enum { PARTICLES = 32, MOST_NEIGHBOURS = 27 };

struct Particle {
    double x, y, z, charge;
};

struct Force {
    double x, y, z, potential;
};

struct Box {
    int count;
    int boxes[MOST_NEIGHBOURS];
};

DEVICE_FUNCTIONS
constexpr double ALPHA = 0.5;

// What a charge at a distance adds to the force on another particle, without the latter's charge.
static Force force_of(const Particle &on, const Particle &from)
{
    double x = on.x - from.x, y = on.y - from.y, z = on.z - from.z;
    double potential = from.charge * exp(-ALPHA * (x * x + y * y + z * z));
    double slope = 2 * ALPHA * potential;
    return {slope * x, slope * y, slope * z, potential};
}
DEVICE_FUNCTIONS_END

static void add_forces(long boxes, const Box *neighbours, const Particle *particles, Force *forces)
{
    PARALLEL_LOOP(, map(to : neighbours[0 : boxes], particles[0 : boxes * PARTICLES])
                        map(from : forces[0 : boxes * PARTICLES]))
    for (long box = 0; box < boxes; box++) {
        for (long on = box * PARTICLES; on < (box + 1) * PARTICLES; on++)
            forces[on] = Force{0, 0, 0, 0};
        for (int i = 0; i < neighbours[box].count; i++) {
            long other = neighbours[box].boxes[i];
            for (long on = box * PARTICLES; on < (box + 1) * PARTICLES; on++)
                for (long from = other * PARTICLES; from < (other + 1) * PARTICLES; from++) {
                    Force force = force_of(particles[on], particles[from]);
                    forces[on].x += force.x;
                    forces[on].y += force.y;
                    forces[on].z += force.z;
                    forces[on].potential += force.potential;
                }
        }
    }
}

// Boxes of size 1 in a cube of `side` boxes along each edge.
static void generate(const options &options, Box *neighbours, Particle *particles)
{
    long side = options.size, boxes = side * side * side;
    HOST_LOOP()
    for (long box = 0; box < boxes; box++) {
        long x = box % side, y = box / side % side, z = box / (side * side);
        neighbours[box].count = 0;
        for (long step = 0; step < MOST_NEIGHBOURS; step++) {
            long to_x = x + step % 3 - 1, to_y = y + step / 3 % 3 - 1, to_z = z + step / 9 - 1;
            if (to_x >= 0 && to_x < side && to_y >= 0 && to_y < side && to_z >= 0 && to_z < side)
                neighbours[box].boxes[neighbours[box].count++] =
                    static_cast<int>((to_z * side + to_y) * side + to_x);
        }
        for (long i = box * PARTICLES; i < (box + 1) * PARTICLES; i++) {
            auto unit = [&](int which) {
                return random_unit(options.seed, static_cast<uint64_t>(i * 4 + which));
            };
            particles[i] = {static_cast<double>(x) + unit(0), static_cast<double>(y) + unit(1),
                            static_cast<double>(z) + unit(2), 0.1 + 0.9 * unit(3)};
        }
    }
}

static void add_pair(const Particle *particles, Force *forces, long a, long b)
{
    const Particle &one = particles[a], &two = particles[b];
    double x = one.x - two.x, y = one.y - two.y, z = one.z - two.z;
    double decay = exp(-ALPHA * (x * x + y * y + z * z));
    forces[a].potential += two.charge * decay;
    if (a == b)
        return;
    forces[b].potential += one.charge * decay;
    double slope_a = 2 * ALPHA * two.charge * decay, slope_b = 2 * ALPHA * one.charge * decay;
    forces[a].x += slope_a * x;
    forces[a].y += slope_a * y;
    forces[a].z += slope_a * z;
    forces[b].x -= slope_b * x;
    forces[b].y -= slope_b * y;
    forces[b].z -= slope_b * z;
}

static comparison check(const options &options, const Box *neighbours, const Particle *particles,
                        const Force *forces)
{
    comparison comparison{};
    long boxes = options.size * options.size * options.size, count = boxes * PARTICLES;
    Force *expected = CHECK_NEW(Force, count);
    for (long box = 0; box < boxes; box++)
        for (int i = 0; i < neighbours[box].count; i++) {
            long other = neighbours[box].boxes[i];
            for (long a = box * PARTICLES; other >= box && a < (box + 1) * PARTICLES; a++)
                for (long b = std::max(a, other * PARTICLES); b < (other + 1) * PARTICLES; b++)
                    add_pair(particles, expected, a, b);
        }
    for (long i = 0; i < count; i++) {
        compare(&comparison, &options, forces[i].x, expected[i].x, 1e-9);
        compare(&comparison, &options, forces[i].y, expected[i].y, 1e-9);
        compare(&comparison, &options, forces[i].z, expected[i].z, 1e-9);
        compare(&comparison, &options, forces[i].potential, expected[i].potential, 1e-9);
    }
    free(expected);
    return comparison;
}

int main(int argc, char **argv)
{
    sizes sizes = {"lavaMD", "boxes along an edge", 4, 10, 25, 1, 200};
    options options = parse_options(argc, argv, sizes);
    long boxes = options.size * options.size * options.size, count = boxes * PARTICLES;
    Box *neighbours = TIER_NEW(Box, "neighbours", boxes);
    Particle *particles = TIER_NEW(Particle, "particles", count);
    Force *forces = TIER_NEW(Force, "forces", count);
    generate(options, neighbours, particles);
    add_forces(boxes, neighbours, particles, forces);

    double checksum = 0;
    for (long i = 0; i < count; i++)
        checksum += (forces[i].x + forces[i].y + forces[i].z) * static_cast<double>(1 + i % 3) +
                    forces[i].potential;
    comparison comparison{};
    if (options.check)
        comparison = check(options, neighbours, particles, forces);
    return finish(&options, &comparison, checksum);
}
