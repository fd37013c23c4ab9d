/* Memory by tier, for the programs of HMBench.
 *
 * A program allocates each of its arrays once, under a name:
 *
 *     double *in = TIER_NEW(double, "in", n);
 *
 * The command line decides where an array is: `--fast in,out` takes those two from
 * `omp_high_bw_mem_alloc`, `--large table` takes that one from `omp_large_cap_mem_alloc`; others,
 * and all of them without these options, come from the C library. So the program is unchanged for
 * each placement. A run time that has no such memory gives ordinary memory; an OpenMP before 5.0
 * has no allocators, and all arrays come from the C library.
 *
 * `tier_free_all` frees all arrays, each with the function that fits. */
#ifndef HMBENCH_TIERS_H
#define HMBENCH_TIERS_H

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* gcc has omp_alloc from 11 on, but says 4.5 of itself. */
#if defined(_OPENMP) && (_OPENMP >= 201811 || (!defined(__clang__) && __GNUC__ >= 11))
#define TIERS_HAVE_OMP_ALLOC 1
#else
#define TIERS_HAVE_OMP_ALLOC 0
#endif

enum tier { TIER_DEFAULT, TIER_FAST, TIER_LARGE };

enum { TIERS_MAX_ARRAYS = 32, TIERS_ALIGNMENT = 64 };

struct tier_array {
    const char *name;
    void *data;
    size_t bytes;
    enum tier tier;
};

/* All arrays of the program, and the names that the command line gave, separated by commas. */
static struct {
    struct tier_array arrays[TIERS_MAX_ARRAYS];
    int count;
    const char *fast;
    const char *large;
} tiers;

/* Whether `name` is one of the names in `list`, which are separated by commas. */
static inline int tier_lists(const char *list, const char *name)
{
    size_t length = strlen(name);
    while (list != NULL && *list != '\0') {
        size_t word = strcspn(list, ",");
        if (word == length && strncmp(list, name, word) == 0)
            return 1;
        list += word + (list[word] == ',');
    }
    return 0;
}

static inline enum tier tier_of(const char *name)
{
    if (!TIERS_HAVE_OMP_ALLOC)
        return TIER_DEFAULT;
    if (tier_lists(tiers.fast, name))
        return TIER_FAST;
    return tier_lists(tiers.large, name) ? TIER_LARGE : TIER_DEFAULT;
}

static inline size_t tier_rounded(size_t bytes)
{
    return (bytes + TIERS_ALIGNMENT - 1) / TIERS_ALIGNMENT * TIERS_ALIGNMENT;
}

/* Memory of a tier that is not the default, or NULL. */
static inline void *tier_omp_alloc(enum tier tier, size_t bytes)
{
#if TIERS_HAVE_OMP_ALLOC
    if (tier == TIER_FAST)
        return omp_alloc(bytes, omp_high_bw_mem_alloc);
    if (tier == TIER_LARGE)
        return omp_alloc(bytes, omp_large_cap_mem_alloc);
#endif
    (void)tier, (void)bytes;
    return NULL;
}

/* Keeps an array that was allocated; ends the program with status 2 if it was not. */
static inline void *tier_keep(const char *name, size_t bytes, enum tier tier, void *data)
{
    if (data == NULL || tiers.count == TIERS_MAX_ARRAYS) {
        fprintf(stderr, "no memory for %s (%zu bytes)\n", name, bytes);
        exit(2);
    }
    struct tier_array array = {name, data, bytes, tier};
    tiers.arrays[tiers.count++] = array;
    return data;
}

/* An array of `count` elements, uninitialised. The C library is called on the line of the program
 * itself, so that each array has an allocation site of its own. */
#define TIER_NEW(type, name, count)                                                                \
    ((type *)tier_keep(name, sizeof(type) * (size_t)(count), tier_of(name),                        \
                       tier_of(name) == TIER_DEFAULT                                               \
                           ? aligned_alloc(TIERS_ALIGNMENT,                                        \
                                           tier_rounded(sizeof(type) * (size_t)(count)))           \
                           : tier_omp_alloc(tier_of(name), sizeof(type) * (size_t)(count))))

/* Bytes of all arrays: the footprint of the program, without its stack and its check. */
static inline size_t tier_bytes(void)
{
    size_t sum = 0;
    for (int i = 0; i < tiers.count; i++)
        sum += tiers.arrays[i].bytes;
    return sum;
}

/* The first name in `list` that no array has, or NULL. */
static inline const char *tier_unknown(const char *list)
{
    while (list != NULL && *list != '\0') {
        size_t word = strcspn(list, ",");
        int found = 0;
        for (int i = 0; i < tiers.count; i++)
            found |= strlen(tiers.arrays[i].name) == word &&
                     strncmp(tiers.arrays[i].name, list, word) == 0;
        if (!found)
            return list;
        list += word + (list[word] == ',');
    }
    return NULL;
}

static inline void tier_free_all(void)
{
    for (int i = 0; i < tiers.count; i++) {
#if TIERS_HAVE_OMP_ALLOC
        if (tiers.arrays[i].tier == TIER_FAST)
            omp_free(tiers.arrays[i].data, omp_high_bw_mem_alloc);
        else if (tiers.arrays[i].tier == TIER_LARGE)
            omp_free(tiers.arrays[i].data, omp_large_cap_mem_alloc);
        else
#endif
            free(tiers.arrays[i].data);
    }
    tiers.count = 0;
}

#endif
