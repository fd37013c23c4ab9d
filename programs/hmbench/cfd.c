/* Flow of a gas: the Euler equations on an unstructured mesh, by finite volumes.
 *
 * Arrays, of doubles unless said otherwise, by cell: `state` and `before` (density, momentum in
 * three directions, energy; now and before the step), `flux` (their change), `normals` (of four
 * faces), `neighbours` (four indices), `step` (the length of the time step). `state` is accessed
 * through `neighbours`; the others are walked from end to end.
 *
 * The algorithm is that of Corrigan, Camelli, Loehner and Wallin, "Running unstructured grid based
 * CFD solvers on modern graphics hardware" (2011), on which Rodinia's cfd is based: Runge and
 * Kutta's method in three stages, and fluxes across faces. The flux here is Rusanov's (1961): the
 * mean of both sides, and as much diffusion as the fastest wave needs. The mesh is generated: a
 * torus of quadrilaterals, whose cells are numbered at random within windows.
 *
 * Check: the same steps serially over the torus in its natural order, without indices of
 * neighbours; a value is right to 1e-9. */
#include "options.h"

enum { FACES = 4, VARIABLES = 5, STAGES = 3, STEPS = 6, WINDOW = 512 };
enum { DENSITY, MOMENTUM, ENERGY = 4 };

#define GAMMA 1.4
#define COURANT 0.4

struct mesh {
    long width, height, cells;
    double *state, *before, *flux, *normals, *step;
    int *neighbours;
};

DEVICE_FUNCTIONS
static double pressure_of(const double *cell)
{
    double squares = 0;
    for (int axis = 0; axis < 3; axis++)
        squares += cell[MOMENTUM + axis] * cell[MOMENTUM + axis];
    return (GAMMA - 1) * (cell[ENERGY] - 0.5 * squares / cell[DENSITY]);
}

/* The fastest wave in a cell: the speed of the gas and of sound in it. */
static double speed_of(const double *cell)
{
    double squares = 0;
    for (int axis = 0; axis < 3; axis++)
        squares += cell[MOMENTUM + axis] * cell[MOMENTUM + axis];
    return sqrt(squares) / cell[DENSITY] + sqrt(GAMMA * pressure_of(cell) / cell[DENSITY]);
}

/* Takes what flows out of `cell` to `other` through a face from `flux`. */
static void add_face(const double *cell, const double *other, const double *normal, double *flux)
{
    const double *sides[2] = {cell, other};
    double fastest = fmax(speed_of(cell), speed_of(other));
    for (int variable = 0; variable < VARIABLES; variable++)
        flux[variable] += 0.5 * fastest * (other[variable] - cell[variable]);
    for (int side = 0; side < 2; side++) {
        const double *at = sides[side];
        double pressure = pressure_of(at), through = 0;
        for (int axis = 0; axis < 3; axis++)
            through += at[MOMENTUM + axis] * normal[axis] / at[DENSITY];
        flux[DENSITY] -= 0.5 * through * at[DENSITY];
        for (int axis = 0; axis < 3; axis++)
            flux[MOMENTUM + axis] -=
                0.5 * (through * at[MOMENTUM + axis] + pressure * normal[axis]);
        flux[ENERGY] -= 0.5 * through * (at[ENERGY] + pressure);
    }
}
DEVICE_FUNCTIONS_END

/* Where the four neighbours of a place on the torus are, and the normals of the faces to them. */
static long beside(long width, long height, long place, int face)
{
    long x = place % width, y = place / width;
    long to_x = face == 0 ? x + 1 : face == 1 ? x + width - 1 : x;
    long to_y = face == 2 ? y + 1 : face == 3 ? y + height - 1 : y;
    return to_y % height * width + to_x % width;
}

static const double NORMALS[FACES][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}};

/* Gas at rest, and a denser part of it with some noise, in a wind along x and z. */
static void first_state(uint64_t seed, long place, long cells, double *cell)
{
    double noise = 0.05 * random_unit(seed, (uint64_t)place);
    int is_dense = place > cells / 3 && place < cells / 2;
    double density = 1 + noise + (is_dense ? 0.5 : 0), pressure = is_dense ? 1.5 : 1;
    double velocity[3] = {0.3, 0, 0.1}, squares = 0;
    cell[DENSITY] = density;
    for (int axis = 0; axis < 3; axis++) {
        cell[MOMENTUM + axis] = density * velocity[axis];
        squares += velocity[axis] * velocity[axis];
    }
    cell[ENERGY] = pressure / (GAMMA - 1) + 0.5 * density * squares;
}

/* The number of the cell at each place: the places of a window are shuffled. */
static int *number_cells(long cells, uint64_t seed)
{
    int *number = CHECK_NEW(int, cells);
    for (long place = 0; place < cells; place++)
        number[place] = (int)place;
    for (long place = 0; place < cells; place++) {
        long end = (place / WINDOW + 1) * WINDOW;
        long left = (end < cells ? end : cells) - place;
        long other = place + (long)random_below(seed + 1, (uint64_t)place, (uint64_t)left);
        int kept = number[place];
        number[place] = number[other];
        number[other] = kept;
    }
    return number;
}

static struct mesh generate(const struct options *options, const int *number)
{
    long cells = options->size;
    struct mesh mesh = {.cells = cells, .width = cells, .height = 1};
    for (long width = 1; width * width <= cells; width++)
        if (cells % width == 0) {
            mesh.width = width;
            mesh.height = cells / width;
        }
    mesh.state = TIER_NEW(double, "state", cells * VARIABLES);
    mesh.before = TIER_NEW(double, "before", cells * VARIABLES);
    mesh.flux = TIER_NEW(double, "flux", cells * VARIABLES);
    mesh.normals = TIER_NEW(double, "normals", cells * FACES * 3);
    mesh.step = TIER_NEW(double, "step", cells);
    mesh.neighbours = TIER_NEW(int, "neighbours", cells * FACES);
    HOST_LOOP()
    for (long place = 0; place < cells; place++) {
        long cell = number[place];
        first_state(options->seed, place, cells, &mesh.state[cell * VARIABLES]);
        for (int face = 0; face < FACES; face++) {
            long other = beside(mesh.width, mesh.height, place, face);
            mesh.neighbours[cell * FACES + face] = number[other];
            for (int axis = 0; axis < 3; axis++)
                mesh.normals[(cell * FACES + face) * 3 + axis] = NORMALS[face][axis];
        }
    }
    return mesh;
}

/* Keeps the state, and finds how long a step each cell bears. */
static void begin_step(struct mesh mesh)
{
    long cells = mesh.cells;
    double *state = mesh.state, *before = mesh.before, *step = mesh.step;
    PARALLEL_LOOP(, map(to : state[0 : cells * VARIABLES])
                        map(from : before[0 : cells * VARIABLES], step[0 : cells]))
    for (long cell = 0; cell < cells; cell++) {
        for (int variable = 0; variable < VARIABLES; variable++)
            before[cell * VARIABLES + variable] = state[cell * VARIABLES + variable];
        step[cell] = COURANT / (FACES * speed_of(&state[cell * VARIABLES]));
    }
}

static void find_flux(struct mesh mesh)
{
    long cells = mesh.cells;
    double *state = mesh.state, *flux = mesh.flux, *normals = mesh.normals;
    int *neighbours = mesh.neighbours;
    PARALLEL_LOOP(, map(to : state[0 : cells * VARIABLES], normals[0 : cells * FACES * 3])
                        map(to : neighbours[0 : cells * FACES])
                            map(from : flux[0 : cells * VARIABLES]))
    for (long cell = 0; cell < cells; cell++) {
        double sum[VARIABLES] = {0};
        for (int face = 0; face < FACES; face++) {
            long other = neighbours[cell * FACES + face];
            add_face(&state[cell * VARIABLES], &state[other * VARIABLES],
                     &normals[(cell * FACES + face) * 3], sum);
        }
        for (int variable = 0; variable < VARIABLES; variable++)
            flux[cell * VARIABLES + variable] = sum[variable];
    }
}

static void apply_flux(struct mesh mesh, int stage)
{
    long cells = mesh.cells;
    double *state = mesh.state, *before = mesh.before, *flux = mesh.flux, *step = mesh.step;
    PARALLEL_LOOP(, map(to : before[0 : cells * VARIABLES], flux[0 : cells * VARIABLES])
                        map(to : step[0 : cells]) map(from : state[0 : cells * VARIABLES]))
    for (long cell = 0; cell < cells; cell++) {
        double factor = step[cell] / (STAGES - stage);
        for (int variable = 0; variable < VARIABLES; variable++)
            state[cell * VARIABLES + variable] =
                before[cell * VARIABLES + variable] + factor * flux[cell * VARIABLES + variable];
    }
}

/* One step of the reference, over the torus in its natural order. */
static void reference_step(const struct mesh *mesh, double (*state)[VARIABLES],
                           double (*before)[VARIABLES], double (*flux)[VARIABLES])
{
    memcpy(before, state, sizeof(*state) * (size_t)mesh->cells);
    for (int stage = 0; stage < STAGES; stage++) {
        memset(flux, 0, sizeof(*flux) * (size_t)mesh->cells);
        for (long place = 0; place < mesh->cells; place++)
            for (int face = 0; face < FACES; face++)
                add_face(state[place], state[beside(mesh->width, mesh->height, place, face)],
                         NORMALS[face], flux[place]);
        for (long place = 0; place < mesh->cells; place++) {
            double factor = COURANT / (FACES * speed_of(before[place])) / (STAGES - stage);
            for (int variable = 0; variable < VARIABLES; variable++)
                state[place][variable] = before[place][variable] + factor * flux[place][variable];
        }
    }
}

static struct comparison check(const struct options *options, const struct mesh *mesh,
                               const int *number)
{
    struct comparison comparison = {0};
    typedef double values[VARIABLES];
    values *state = CHECK_NEW(values, mesh->cells);
    values *before = CHECK_NEW(values, mesh->cells);
    values *flux = CHECK_NEW(values, mesh->cells);
    for (long place = 0; place < mesh->cells; place++)
        first_state(options->seed, place, mesh->cells, state[place]);
    for (int step = 0; step < STEPS; step++)
        reference_step(mesh, state, before, flux);
    for (long place = 0; place < mesh->cells; place++)
        for (int variable = 0; variable < VARIABLES; variable++)
            compare(&comparison, options, mesh->state[number[place] * VARIABLES + variable],
                    state[place][variable], 1e-9);
    free(state);
    free(before);
    free(flux);
    return comparison;
}

int main(int argc, char **argv)
{
    struct sizes sizes = {"cfd", "cells", 2048, 24576, 196608, 16, 10000000};
    struct options options = parse_options(argc, argv, sizes);
    int *number = number_cells(options.size, options.seed);
    struct mesh mesh = generate(&options, number);
    double *state = mesh.state, *before = mesh.before, *flux = mesh.flux;
    double *normals = mesh.normals, *step = mesh.step;
    int *neighbours = mesh.neighbours;
    long cells = mesh.cells;
    (void)before, (void)flux, (void)normals, (void)step, (void)neighbours;
    DEVICE_DATA(map(tofrom : state[0 : cells * VARIABLES])
                    map(to : normals[0 : cells * FACES * 3], neighbours[0 : cells * FACES])
                        map(alloc : before[0 : cells * VARIABLES], flux[0 : cells * VARIABLES])
                            map(alloc : step[0 : cells]))
    {
        for (int count = 0; count < STEPS; count++) {
            begin_step(mesh);
            for (int stage = 0; stage < STAGES; stage++) {
                find_flux(mesh);
                apply_flux(mesh, stage);
            }
        }
    }

    double checksum = 0;
    for (long i = 0; i < cells * VARIABLES; i++)
        checksum += state[i] * (double)(1 + i % 3);
    struct comparison comparison = {0};
    if (options.check)
        comparison = check(&options, &mesh, number);
    free(number);
    return finish(&options, &comparison, checksum);
}
