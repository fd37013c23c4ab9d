// How often something happened at each address.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// Bytes of the instruction, how often it ran, loads, stores, and the same as of the moment the program itself began.
struct site {
    uint64_t address, bytes, ran, loads, stores, start, start_loads, start_stores;
};

enum { SLOTS = 1 << 21 };
static struct site sites[SLOTS];

static struct site *at(uint64_t address) {
    static uint64_t used;
    uint64_t slot = address * 0x9e3779b97f4a7c15u >> 43;
    while (sites[slot].ran && sites[slot].address != address) slot = (slot + 1) % SLOTS;
    if (!sites[slot].ran && ++used > SLOTS / 2) {
        fprintf(stderr, "too many instructions\n");
        exit(2);
    }
    sites[slot].address = address;
    return &sites[slot];
}

static void begins(void) {
    for (struct site *site = sites; site < sites + SLOTS; site++)
        site->start = site->ran, site->start_loads = site->loads, site->start_stores = site->stores;
}

static void print(FILE *to) {
    for (struct site *site = sites; site < sites + SLOTS; site++)
        if (site->ran)
            fprintf(to, "site %lx %lu %lu %lu %lu %lu %lu %lu\n", site->address, site->bytes, site->ran, site->loads,
                    site->stores, site->start, site->start_loads, site->start_stores);
}
