// Follows an object through a video by a particle filter.
//
// Arrays: `video` (a byte for each pixel and frame); for each particle, `x` and `y` (where it takes
// the object to be), `next_x` and `next_y` (the same after the choice of particles), `weight` and
// `cumulated` (how likely it is, alone and with those before it). `cumulated`, `x` and `y` are
// accessed at random when particles are chosen.
//
// The algorithm is the particle filter of Gordon, Salmond and Smith, "Novel approach to
// nonlinear/non-Gaussian Bayesian state estimation" (1993), with systematic resampling, as in
// Rodinia's program of this name. The search in `cumulated` is by halves, not from its beginning.
//
// Check: the same serially, the choice by one pass over the particles. Weights are whole numbers,
// so that their sums are equal in any order: every particle of the last frame is equal, and the
// estimate of each frame is right to 1e-9.
#include <vector>

#include "options.h"

enum { SIDE = 128, FRAMES = 8, RADIUS = 4, PARTS = 64 };

DEVICE_FUNCTIONS
constexpr double WEIGHT_ONE = 1 << 30, DARK = 100, BRIGHT = 228, PI = 3.14159265358979323846;
DEVICE_FUNCTIONS_END

struct Point {
    double x, y;
};

// Where the object is in a frame: it moves by one pixel down and two across.
static Point object_at(int frame)
{
    return {SIDE / 4.0 + 2.0 * frame, SIDE / 3.0 + frame};
}

DEVICE_FUNCTIONS
// A random number with mean 0 and variance 1 (Box and Muller, 1958).
static double normal(uint64_t seed, uint64_t index)
{
    double radius = sqrt(-2 * log(1 - random_unit(seed, 2 * index)));
    return radius * cos(2 * PI * random_unit(seed, 2 * index + 1));
}

static bool is_in_disc(int i, int j)
{
    return i * i + j * j <= RADIUS * RADIUS;
}

// How likely it is that the object is at a place, as a whole number of at most WEIGHT_ONE + 1:
// pixels of the disc that are as bright as the object speak for it, darker ones against it.
static uint64_t weight_of(const uint8_t *frame, double x, double y)
{
    int pixels = 0;
    double likelihood = 0;
    for (int i = -RADIUS; i <= RADIUS; i++)
        for (int j = -RADIUS; j <= RADIUS; j++) {
            if (!is_in_disc(i, j))
                continue;
            int row = static_cast<int>(y + 0.5) + i, column = static_cast<int>(x + 0.5) + j;
            row = row < 0 ? 0 : row >= SIDE ? SIDE - 1 : row;
            column = column < 0 ? 0 : column >= SIDE ? SIDE - 1 : column;
            double pixel = frame[row * SIDE + column];
            likelihood -= (pixel - BRIGHT) * (pixel - BRIGHT) / (BRIGHT - DARK) / (BRIGHT - DARK);
            pixels++;
        }
    return static_cast<uint64_t>(WEIGHT_ONE * exp(8 * likelihood / pixels)) + 1;
}

// Where a particle is after it moved with the object, and at random.
static Point moved(uint64_t seed, int frame, long i, double x, double y)
{
    auto index = static_cast<uint64_t>(frame) * (uint64_t{1} << 40) + static_cast<uint64_t>(i);
    return {x + 2 + 2 * normal(seed + 1, index), y + 1 + normal(seed + 2, index)};
}
DEVICE_FUNCTIONS_END

static void make_video(const options &options, uint8_t *video)
{
    HOST_LOOP()
    for (int pixel = 0; pixel < FRAMES * SIDE * SIDE; pixel++) {
        Point at = object_at(pixel / (SIDE * SIDE));
        int across = pixel % SIDE - static_cast<int>(at.x);
        int down = pixel / SIDE % SIDE - static_cast<int>(at.y);
        double mean = is_in_disc(down, across) ? BRIGHT : DARK;
        double value = mean + 5 * normal(options.seed, static_cast<uint64_t>(pixel));
        video[pixel] = static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

struct Particles {
    long count;
    double *x, *y, *next_x, *next_y;
    uint64_t *weight, *cumulated;
};

static void move_and_weigh(uint64_t seed, int frame, const uint8_t *video, Particles particles)
{
    long n = particles.count;
    double *x = particles.x, *y = particles.y;
    uint64_t *weight = particles.weight;
    PARALLEL_LOOP(, map(to : video[0 : FRAMES * SIDE * SIDE])
                        map(tofrom : x[0 : n], y[0 : n]) map(from : weight[0 : n]))
    for (long i = 0; i < n; i++) {
        Point to = moved(seed, frame, i, x[i], y[i]);
        x[i] = to.x;
        y[i] = to.y;
        weight[i] = weight_of(&video[frame * SIDE * SIDE], to.x, to.y);
    }
}

// The mean place of all particles by their weights; fills `cumulated`. Each of PARTS parts of the
// particles first finds its own sum.
static Point estimate(Particles particles)
{
    long n = particles.count;
    std::vector<uint64_t> before(PARTS + 1);
    std::vector<Point> sums(PARTS);
    HOST_LOOP()
    for (int part = 0; part < PARTS; part++) {
        uint64_t sum = 0;
        Point mean{0, 0};
        for (long i = n * part / PARTS; i < n * (part + 1) / PARTS; i++) {
            auto weight = static_cast<double>(particles.weight[i]);
            sum += particles.weight[i];
            mean.x += particles.x[i] * weight;
            mean.y += particles.y[i] * weight;
        }
        before[part + 1] = sum;
        sums[part] = mean;
    }
    Point mean{0, 0};
    for (int part = 0; part < PARTS; part++) {
        before[part + 1] += before[part];
        mean.x += sums[part].x;
        mean.y += sums[part].y;
    }
    HOST_LOOP()
    for (int part = 0; part < PARTS; part++) {
        uint64_t sum = before[part];
        for (long i = n * part / PARTS; i < n * (part + 1) / PARTS; i++)
            particles.cumulated[i] = sum += particles.weight[i];
    }
    auto all = static_cast<double>(before[PARTS]);
    return {mean.x / all, mean.y / all};
}

DEVICE_FUNCTIONS
// What the choice number `i` of n falls on, in a total of weights.
static uint64_t ticket(uint64_t seed, int frame, long i, long n, uint64_t total)
{
    double offset = random_unit(seed + 3, static_cast<uint64_t>(frame));
    return static_cast<uint64_t>((static_cast<double>(i) + offset) / static_cast<double>(n) *
                                 static_cast<double>(total));
}
DEVICE_FUNCTIONS_END

// Takes as many copies of each particle as its weight is worth.
static void choose(uint64_t seed, int frame, Particles particles)
{
    long n = particles.count;
    double *x = particles.x, *y = particles.y, *next_x = particles.next_x,
           *next_y = particles.next_y;
    uint64_t *cumulated = particles.cumulated;
    PARALLEL_LOOP(, map(to : cumulated[0 : n], x[0 : n], y[0 : n])
                        map(from : next_x[0 : n], next_y[0 : n]))
    for (long i = 0; i < n; i++) {
        uint64_t wanted = ticket(seed, frame, i, n, cumulated[n - 1]);
        long low = 0, high = n - 1;
        while (low < high) {
            long middle = (low + high) / 2;
            if (cumulated[middle] > wanted)
                high = middle;
            else
                low = middle + 1;
        }
        next_x[i] = x[low];
        next_y[i] = y[low];
    }
}

static comparison check(const options &options, const uint8_t *video, const Particles &particles,
                        const std::vector<Point> &estimates)
{
    comparison comparison{};
    auto n = static_cast<std::size_t>(particles.count);
    std::vector<Point> places(n, object_at(0)), chosen(n);
    std::vector<uint64_t> weights(n);
    for (int frame = 0; frame < FRAMES; frame++) {
        Point sum{0, 0};
        uint64_t total = 0;
        for (std::size_t i = 0; i < n; i++) {
            places[i] = moved(options.seed, frame, static_cast<long>(i), places[i].x, places[i].y);
            weights[i] = weight_of(&video[frame * SIDE * SIDE], places[i].x, places[i].y);
            total += weights[i];
            sum.x += places[i].x * static_cast<double>(weights[i]);
            sum.y += places[i].y * static_cast<double>(weights[i]);
        }
        auto all = static_cast<double>(total);
        compare(&comparison, &options, estimates[frame].x, sum.x / all, 1e-9);
        compare(&comparison, &options, estimates[frame].y, sum.y / all, 1e-9);
        std::size_t from = 0;
        uint64_t passed = weights[0];
        for (std::size_t i = 0; i < n; i++) {
            uint64_t wanted = ticket(options.seed, frame, static_cast<long>(i),
                                     particles.count, total);
            while (passed <= wanted && from + 1 < n)
                passed += weights[++from];
            chosen[i] = places[from];
        }
        places.swap(chosen);
    }
    for (std::size_t i = 0; i < n; i++) {
        compare(&comparison, &options, particles.x[i], places[i].x, 0);
        compare(&comparison, &options, particles.y[i], places[i].y, 0);
    }
    return comparison;
}

int main(int argc, char **argv)
{
    sizes sizes = {"particlefilter", "particles", 2000, 20000, 786432, 1, 50000000};
    options options = parse_options(argc, argv, sizes);
    long n = options.size;
    uint8_t *video = TIER_NEW(uint8_t, "video", FRAMES * SIDE * SIDE);
    Particles particles{};
    particles.count = n;
    particles.x = TIER_NEW(double, "x", n);
    particles.y = TIER_NEW(double, "y", n);
    particles.next_x = TIER_NEW(double, "next_x", n);
    particles.next_y = TIER_NEW(double, "next_y", n);
    particles.weight = TIER_NEW(uint64_t, "weight", n);
    particles.cumulated = TIER_NEW(uint64_t, "cumulated", n);
    make_video(options, video);
    HOST_LOOP()
    for (long i = 0; i < n; i++) {
        particles.x[i] = object_at(0).x;
        particles.y[i] = object_at(0).y;
    }
    std::vector<Point> estimates;
    for (int frame = 0; frame < FRAMES; frame++) {
        move_and_weigh(options.seed, frame, video, particles);
        estimates.push_back(estimate(particles));
        choose(options.seed, frame, particles);
        std::swap(particles.x, particles.next_x);
        std::swap(particles.y, particles.next_y);
    }

    double checksum = 0;
    for (long i = 0; i < n; i++)
        checksum += (particles.x[i] + 2 * particles.y[i]) * static_cast<double>(1 + i % 3);
    comparison comparison{};
    if (options.check)
        comparison = check(options, video, particles, estimates);
    return finish(&options, &comparison, checksum);
}
