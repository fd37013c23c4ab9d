// The nearest neighbours of places on a map, among many records.
//
// Arrays of floats, one for each record: `latitude`, `longitude`, and `distance`, which each query
// writes once and reads once. All are walked from end to end.
//
// The algorithm is exhaustive search, as in Rodinia's program of this name: all distances of a
// query, then the NEAREST least of them. Each of PARTS parts of the records finds its own, and the
// best of those are the result.
//
// Check: one pass over the records that keeps a sorted list; every index is equal.
#include <algorithm>
#include <utility>
#include <vector>

#include "options.h"

enum { QUERIES = 4, NEAREST = 10, PARTS = 64 };

using Neighbour = std::pair<float, long>;

struct Place {
    float latitude, longitude;
};

DEVICE_FUNCTIONS
static float distance_of(float latitude, float longitude, float to_latitude, float to_longitude)
{
    float up = latitude - to_latitude, across = longitude - to_longitude;
    return up * up + across * across;
}
DEVICE_FUNCTIONS_END

static Place query(const options &options, int which)
{
    auto index = static_cast<uint64_t>(which);
    return {static_cast<float>(90 * random_unit(options.seed + 2, 2 * index)),
            static_cast<float>(180 * random_unit(options.seed + 2, 2 * index + 1))};
}

static void find_distances(long n, const float *latitude, const float *longitude, Place from,
                           float *distance)
{
    PARALLEL_LOOP(, map(to : latitude[0 : n], longitude[0 : n]) map(from : distance[0 : n]))
    for (long i = 0; i < n; i++)
        distance[i] = distance_of(latitude[i], longitude[i], from.latitude, from.longitude);
}

// The nearest of the records from `begin` to `end`: a heap, whose first one is the farthest.
static void keep_nearest(const float *distance, long begin, long end, std::vector<Neighbour> &kept)
{
    for (long i = begin; i < end; i++) {
        Neighbour next{distance[i], i};
        if (kept.size() == NEAREST && !(next < kept.front()))
            continue;
        if (kept.size() == NEAREST) {
            std::pop_heap(kept.begin(), kept.end());
            kept.pop_back();
        }
        kept.push_back(next);
        std::push_heap(kept.begin(), kept.end());
    }
}

static std::vector<Neighbour> select(long n, const float *distance)
{
    std::vector<std::vector<Neighbour>> parts(PARTS);
    HOST_LOOP()
    for (int part = 0; part < PARTS; part++)
        keep_nearest(distance, n * part / PARTS, n * (part + 1) / PARTS, parts[part]);
    std::vector<Neighbour> all;
    for (const auto &part : parts)
        all.insert(all.end(), part.begin(), part.end());
    std::sort(all.begin(), all.end());
    all.resize(std::min<std::size_t>(all.size(), NEAREST));
    return all;
}

// The indices of the nearest records, by insertion into a sorted list.
static std::vector<long> reference(long n, const float *latitude, const float *longitude,
                                   Place from)
{
    std::vector<long> indices;
    std::vector<float> distances;
    for (long i = 0; i < n; i++) {
        float here = distance_of(latitude[i], longitude[i], from.latitude, from.longitude);
        std::size_t at = distances.size();
        while (at > 0 && distances[at - 1] > here)
            at--;
        if (at == NEAREST)
            continue;
        distances.insert(distances.begin() + static_cast<long>(at), here);
        indices.insert(indices.begin() + static_cast<long>(at), i);
        if (indices.size() > NEAREST) {
            distances.pop_back();
            indices.pop_back();
        }
    }
    return indices;
}

int main(int argc, char **argv)
{
    sizes sizes = {"nn", "records", 20000, 400000, 3 << 20, NEAREST, 500000000};
    options options = parse_options(argc, argv, sizes);
    long n = options.size;
    float *latitude = TIER_NEW(float, "latitude", n);
    float *longitude = TIER_NEW(float, "longitude", n);
    float *distance = TIER_NEW(float, "distance", n);
    HOST_LOOP()
    for (long i = 0; i < n; i++) {
        latitude[i] = static_cast<float>(90 * random_unit(options.seed, static_cast<uint64_t>(i)));
        longitude[i] =
            static_cast<float>(180 * random_unit(options.seed + 1, static_cast<uint64_t>(i)));
    }

    double checksum = 0;
    comparison comparison{};
    DEVICE_DATA(map(to : latitude[0 : n], longitude[0 : n]))
    {
        for (int which = 0; which < QUERIES; which++) {
            find_distances(n, latitude, longitude, query(options, which), distance);
            std::vector<Neighbour> nearest = select(n, distance);
            std::vector<long> expected;
            if (options.check)
                expected = reference(n, latitude, longitude, query(options, which));
            for (std::size_t i = 0; i < nearest.size(); i++) {
                checksum += nearest[i].first * static_cast<double>(1 + i);
                if (options.check)
                    compare(&comparison, &options, static_cast<double>(nearest[i].second),
                            static_cast<double>(expected.at(i)), 0);
            }
        }
    }
    return finish(&options, &comparison, checksum);
}
