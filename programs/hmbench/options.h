/* What the programs of HMBench share: options, random inputs, and the check of the result.
 *
 * usage: PROGRAM [--size small|medium|large|N] [--threads N] [--seed N] [--no-check]
 *                [--fast NAME,...] [--large NAME,...] [--spoil]
 *
 * The default is `--size small --seed 1`, with as many threads as OMP_NUM_THREADS says. The result
 * is compared with that of a serial reference; `--no-check` leaves that out, so that a profile has
 * the program's own accesses only. `--fast` and `--large` are explained in tiers.h. `--spoil`
 * changes one value of the result before it is checked, so that the check must fail.
 *
 * A program prints one line, the same for any number of threads. Exit status: 0, 1 if the result is
 * wrong, 2 for wrong usage or too little memory. */
#ifndef HMBENCH_OPTIONS_H
#define HMBENCH_OPTIONS_H

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loops.h"
#include "tiers.h"

/* What `--size` means to a program: its three sizes, what they count, and the bounds. */
struct sizes {
    const char *program;
    const char *unit;
    long small, medium, large;
    long least, most;
};

struct options {
    struct sizes sizes;
    long size;
    uint64_t seed;
    int check;
    int spoil;
};

static inline void usage(const struct sizes *sizes, const char *fault)
{
    fprintf(stderr,
            "%s: %s\n"
            "usage: %s [--size small|medium|large|N] [--threads N] [--seed N] [--no-check]\n"
            "       [--fast NAME,...] [--large NAME,...] [--spoil]\n"
            "N of --size: %s, from %ld to %ld; small is %ld, medium %ld, large %ld\n",
            sizes->program, fault, sizes->program, sizes->unit, sizes->least, sizes->most,
            sizes->small, sizes->medium, sizes->large);
    exit(2);
}

/* A whole number from `least` to `most`, or the end of the program. */
static inline long number_of(const struct sizes *sizes, const char *text, long least, long most)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most)
        usage(sizes, "a number is wrong or out of range");
    return value;
}

static inline long size_of(const struct sizes *sizes, const char *text)
{
    if (strcmp(text, "small") == 0)
        return sizes->small;
    if (strcmp(text, "medium") == 0)
        return sizes->medium;
    if (strcmp(text, "large") == 0)
        return sizes->large;
    return number_of(sizes, text, sizes->least, sizes->most);
}

static inline struct options parse_options(int argc, char **argv, struct sizes sizes)
{
    struct options options = {sizes, sizes.small, 1, 1, 0};
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (strcmp(word, "--no-check") == 0) {
            options.check = 0;
            continue;
        }
        if (strcmp(word, "--spoil") == 0) {
            options.spoil = 1;
            continue;
        }
        const char *value = i + 1 < argc ? argv[++i] : NULL;
        if (value == NULL)
            usage(&sizes, "an option is unknown or lacks its value");
        else if (strcmp(word, "--size") == 0)
            options.size = size_of(&sizes, value);
        else if (strcmp(word, "--threads") == 0)
            omp_set_num_threads((int)number_of(&sizes, value, 1, 1024));
        else if (strcmp(word, "--seed") == 0)
            options.seed = (uint64_t)number_of(&sizes, value, 0, 1000000000);
        else if (strcmp(word, "--fast") == 0)
            tiers.fast = value;
        else if (strcmp(word, "--large") == 0)
            tiers.large = value;
        else
            usage(&sizes, "an option is unknown");
    }
    return options;
}

DEVICE_FUNCTIONS
/* The random number `index` of a seed (splitmix64 by Steele, Lea and Flood, 2014). Numbers depend
 * on nothing else, so threads can fill an array in any order. */
static inline uint64_t random_at(uint64_t seed, uint64_t index)
{
    uint64_t bits = (seed * 0x100000001b3u + index + 1) * 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

/* From 0 to below `bound`. */
static inline uint64_t random_below(uint64_t seed, uint64_t index, uint64_t bound)
{
    return random_at(seed, index) % bound;
}

/* From 0 to below 1. */
static inline double random_unit(uint64_t seed, uint64_t index)
{
    return (double)(random_at(seed, index) >> 11) * 0x1p-53;
}
DEVICE_FUNCTIONS_END

/* Memory of the check, which is no array of the program. */
static inline void *check_alloc(size_t bytes)
{
    void *data = calloc(bytes == 0 ? 1 : bytes, 1);
    if (data == NULL) {
        fprintf(stderr, "no memory for the check (%zu bytes)\n", bytes);
        exit(2);
    }
    return data;
}

#define CHECK_NEW(type, count) ((type *)check_alloc(sizeof(type) * (size_t)(count)))

/* How a result compares with the reference. */
struct comparison {
    size_t values, wrong, first;
    double found, expected;
};

/* Compares one value: right if it is off by `tolerance` at most, of the expected value or of 1,
 * whichever is more. A value that is no number is wrong. */
static inline void compare(struct comparison *comparison, const struct options *options,
                           double found, double expected, double tolerance)
{
    if (options->spoil && comparison->values == 0)
        found += 1 + fabs(found);
    double scale = fabs(expected) > 1 ? fabs(expected) : 1;
    if (!(fabs(found - expected) <= tolerance * scale)) {
        if (comparison->wrong++ == 0) {
            comparison->first = comparison->values;
            comparison->found = found;
            comparison->expected = expected;
        }
    }
    comparison->values++;
}

/* Prints the line of the program, frees its arrays, and returns the exit status. */
static inline int finish(const struct options *options, const struct comparison *comparison,
                         double checksum)
{
    const char *program = options->sizes.program;
    const char *lists[] = {tiers.fast, tiers.large};
    for (int i = 0; i < 2; i++)
        if (tier_unknown(lists[i]) != NULL) {
            fprintf(stderr, "%s: no array is named '%s'; there are", program,
                    tier_unknown(lists[i]));
            for (int j = 0; j < tiers.count; j++)
                fprintf(stderr, " %s", tiers.arrays[j].name);
            fprintf(stderr, "\n");
            return 2;
        }
    printf("%s %ld %s, seed %llu: footprint %zu bytes, checksum %.9g, ", program, options->size,
           options->sizes.unit, (unsigned long long)options->seed, tier_bytes(), checksum);
    if (!options->check)
        printf("not checked\n");
    else if (comparison->values > 0 && comparison->wrong == 0)
        printf("%zu values right\n", comparison->values);
    else
        printf("wrong\n");
    tier_free_all();
    if (options->check && (comparison->values == 0 || comparison->wrong > 0)) {
        fprintf(stderr, "%s: %zu of %zu values are wrong; value %zu is %.17g instead of %.17g\n",
                program, comparison->wrong, comparison->values, comparison->first,
                comparison->found, comparison->expected);
        return 1;
    }
    return 0;
}

#endif
