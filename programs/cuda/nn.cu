/* Nearest neighbours: which records of a map are nearest to a place.
 *
 * The split of the work is that of Rodinia's `nn`, written anew: the kernel works out the distance
 * of one record per thread, and the host chooses the nearest. A grid of two dimensions takes more
 * records than one of one dimension could on early devices.
 *
 * Arrays: `places` (records: latitude and longitude side by side, so that a warp reads 256 bytes in
 * two requests), `distances` (records). Nothing is reused. Only the last block diverges.
 *
 * Arguments: records (42764, as published), neighbours (10), seed (7).
 * Check: distances within 1e-6 on the host; the neighbours by a complete sort. */
#include "options.h"
#include <algorithm>
#include <vector>

enum { THREADS = 256, MOST_COLUMNS = 128 };

struct Place {
    float latitude, longitude;
};

__global__ void measure(const Place *places, float *distances, int records, float latitude,
                        float longitude)
{
    int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < records) {
        float north = latitude - places[i].latitude, east = longitude - places[i].longitude;
        distances[i] = sqrtf(north * north + east * east);
    }
}

static std::vector<float> distances_on_device(const std::vector<Place> &host, Place from)
{
    Place *places;
    float *distances;
    int records = (int)host.size(), blocks = (records + THREADS - 1) / THREADS;
    int columns = std::min<int>(blocks, MOST_COLUMNS), rows = (blocks + columns - 1) / columns;
    CHECK(cudaMalloc(&places, records * sizeof(Place)));
    CHECK(cudaMalloc(&distances, records * sizeof(float)));
    CHECK(cudaMemcpy(places, host.data(), records * sizeof(Place), cudaMemcpyHostToDevice));
    measure<<<dim3(columns, rows), THREADS>>>(places, distances, records, from.latitude,
                                              from.longitude);
    CHECK(cudaGetLastError());
    std::vector<float> result(records);
    CHECK(cudaMemcpy(result.data(), distances, records * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(places));
    CHECK(cudaFree(distances));
    return result;
}

/* The records with the least distances, nearest first: one pass for each. */
static std::vector<int> nearest(std::vector<float> distances, int count)
{
    std::vector<int> result;
    for (int k = 0; k < count; k++) {
        auto least = std::min_element(distances.begin(), distances.end());
        result.push_back((int)(least - distances.begin()));
        *least = INFINITY;
    }
    return result;
}

int main(int argc, char **argv)
{
    int records = (int)argument(argc, argv, 1, "the number of records", 1, 1 << 28, 42764);
    int count = (int)argument(argc, argv, 2, "the number of neighbours", 1, 1000, 10);
    long seed = argument(argc, argv, 3, "the seed", 0, 1L << 40, 7);
    count = std::min(count, records);
    std::vector<Place> places;
    for (int i = 0; i < records; i++)
        places.push_back({7 + 63 * random_unit(seed, i), 358 * random_unit(seed + 1, i)});
    const Place from = {30, 90};
    std::vector<float> distances = distances_on_device(places, from), expected(records);
    std::vector<std::pair<float, int>> order;
    for (int i = 0; i < records; i++) {
        double north = (double)from.latitude - places[i].latitude;
        double east = (double)from.longitude - places[i].longitude;
        expected[i] = (float)std::sqrt(north * north + east * east);
        order.push_back({distances[i], i});
    }
    expect_close("distances", distances.data(), expected.data(), records, 1e-6);
    std::sort(order.begin(), order.end());
    std::vector<int> found = nearest(distances, count);
    for (int k = 0; k < count; k++)
        EXPECT(found[k] == order[k].second, "neighbour %d is %d, expected %d", k, found[k],
               order[k].second);
    printf("ok nn: %d records, the nearest is %d at a distance of %.4f\n", records, found[0],
           distances[found[0]]);
    return 0;
}
