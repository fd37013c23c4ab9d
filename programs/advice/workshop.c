/* A program of many parts whose data are laid out well for a cache of 32 KiB: no rule applies.
 *
 * usage: workshop
 *
 * Each part has much more data than the cache, or uses what it has in pieces that fit: streams in
 * chunks, matrices in tiles, sweeps in tiles of time, sorted runs that are merged once, fields in
 * arrays of their own. Each part checks its result; the program prints one line for each. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- What all parts use ---------------------------------------------------------------------- */

/* Bytes of a piece that stays in the cache beside other pieces. */
#define PIECE 8192

static int wrong;

static void check(const char *part, int is_right, long result)
{
    printf("%-12s %ld%s\n", part, result, is_right ? "" : "  WRONG");
    wrong += !is_right;
}

static void *allocate(size_t bytes)
{
    void *block = malloc(bytes);
    if (!block) {
        fprintf(stderr, "workshop: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return block;
}

/* Random numbers that are the same everywhere. */
struct random {
    uint64_t state;
};

static uint32_t next_random(struct random *random)
{
    random->state = random->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random->state >> 33);
}

static uint32_t random_below(struct random *random, uint32_t bound)
{
    return (uint32_t)(((uint64_t)next_random(random) * bound) >> 31);
}

/* ---- Checksums: a table of 1 KiB --------------------------------------------------------------- */

static uint32_t crc_table[256];

static void crc_begin(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
        crc_table[byte] = value;
    }
}

static uint32_t crc(uint32_t value, const unsigned char *bytes, size_t count)
{
    value = ~value;
    for (size_t i = 0; i < count; i++)
        value = value >> 8 ^ crc_table[(value ^ bytes[i]) & 255];
    return ~value;
}

/* ---- A text in chunks: written, checked and counted while it is there ------------------------- */

#define WORDS 600
#define WORD_BYTES 12

struct words {
    char text[WORDS][WORD_BYTES];
    unsigned char length[WORDS];
};

static struct words words;

static void make_words(struct random *random)
{
    for (int word = 0; word < WORDS; word++) {
        int length = 3 + (int)random_below(random, WORD_BYTES - 4);
        for (int i = 0; i < length; i++)
            words.text[word][i] = (char)('a' + random_below(random, 26));
        words.length[word] = (unsigned char)length;
    }
}

/* Fills a chunk with words; the number of its bytes. */
static size_t write_chunk(char *chunk, struct random *random)
{
    size_t used = 0;
    for (;;) {
        uint32_t word = random_below(random, WORDS);
        if (used + words.length[word] + 1 > PIECE)
            return used;
        memcpy(chunk + used, words.text[word], words.length[word]);
        used += words.length[word];
        chunk[used++] = ' ';
    }
}

static long count_words(const char *chunk, size_t bytes)
{
    long count = 0;
    int inside = 0;
    for (size_t i = 0; i < bytes; i++) {
        int is_letter = chunk[i] >= 'a' && chunk[i] <= 'z';
        count += is_letter && !inside;
        inside = is_letter;
    }
    return count;
}

static void text_part(struct random *random)
{
    char *chunk = allocate(PIECE);
    long count = 0;
    uint32_t sum = 0, again = 0;
    make_words(random);
    for (int round = 0; round < 40; round++) {
        size_t bytes = write_chunk(chunk, random);
        count += count_words(chunk, bytes);
        sum = crc(sum, (unsigned char *)chunk, bytes);
        /* In two halves it is the same. */
        again = crc(again, (unsigned char *)chunk, bytes / 2);
        again = crc(again, (unsigned char *)chunk + bytes / 2, bytes - bytes / 2);
    }
    check("text", sum == again && count > 10000, count);
    free(chunk);
}

/* ---- Index: open addressing, keys apart from values ------------------------------------------- */

#define SLOTS 1024

struct index {
    uint32_t keys[SLOTS];
    uint32_t counts[SLOTS];
    int used;
};

static uint32_t hash(uint32_t key)
{
    key ^= key >> 16;
    key *= 0x7feb352du;
    key ^= key >> 15;
    return key;
}

static int find_slot(const struct index *index, uint32_t key)
{
    uint32_t slot = hash(key) % SLOTS;
    while (index->keys[slot] != 0 && index->keys[slot] != key)
        slot = (slot + 1) % SLOTS;
    return (int)slot;
}

static void count_key(struct index *index, uint32_t key)
{
    int slot = find_slot(index, key);
    if (index->keys[slot] == 0) {
        index->keys[slot] = key;
        index->used++;
    }
    index->counts[slot]++;
}

static void index_part(struct random *random)
{
    static struct index index;
    const int rounds = 60000;
    for (int i = 0; i < rounds; i++)
        count_key(&index, 1 + random_below(random, 700));
    long sum = 0;
    for (int slot = 0; slot < SLOTS; slot++)
        sum += index.counts[slot];
    check("index", sum == rounds && index.used <= 700, index.used);
}

/* ---- Sorting: runs that fit, then one merge of all of them ------------------------------------- */

#define RUN 1000
#define RUNS 48

static void sort_run(uint32_t *values, uint32_t *other, int count)
{
    for (int shift = 0; shift < 32; shift += 8) {
        int begins[257] = {0};
        for (int i = 0; i < count; i++)
            begins[(values[i] >> shift & 255) + 1]++;
        for (int digit = 0; digit < 256; digit++)
            begins[digit + 1] += begins[digit];
        for (int i = 0; i < count; i++)
            other[begins[values[i] >> shift & 255]++] = values[i];
        uint32_t *swap = values;
        values = other;
        other = swap;
    }
}

/* A heap of runs by their next values. */
struct merge {
    uint32_t heads[RUNS];
    int runs[RUNS];
    int at[RUNS];
    int count;
};

static void sift_down(struct merge *merge, int place)
{
    for (;;) {
        int child = 2 * place + 1;
        if (child >= merge->count)
            return;
        if (child + 1 < merge->count && merge->heads[child + 1] < merge->heads[child])
            child++;
        if (merge->heads[place] <= merge->heads[child])
            return;
        uint32_t head = merge->heads[place];
        merge->heads[place] = merge->heads[child];
        merge->heads[child] = head;
        int run = merge->runs[place];
        merge->runs[place] = merge->runs[child];
        merge->runs[child] = run;
        place = child;
    }
}

static uint32_t take_least(struct merge *merge, const uint32_t *values)
{
    uint32_t least = merge->heads[0];
    int run = merge->runs[0];
    if (++merge->at[run] < RUN) {
        merge->heads[0] = values[run * RUN + merge->at[run]];
    } else {
        merge->count--;
        merge->heads[0] = merge->heads[merge->count];
        merge->runs[0] = merge->runs[merge->count];
    }
    sift_down(merge, 0);
    return least;
}

static void sort_part(struct random *random)
{
    static uint32_t other[RUN];
    uint32_t *values = allocate(sizeof(uint32_t) * RUN * RUNS);
    struct merge merge = {.count = RUNS};
    uint64_t before = 0, after = 0;
    for (int run = 0; run < RUNS; run++) {
        uint32_t *begin = values + run * RUN;
        for (int i = 0; i < RUN; i++) {
            begin[i] = next_random(random);
            before += begin[i];
        }
        sort_run(begin, other, RUN);
        merge.heads[run] = begin[0];
        merge.runs[run] = run;
    }
    for (int place = RUNS / 2; place >= 0; place--)
        sift_down(&merge, place);
    uint32_t last = 0;
    int is_sorted = 1;
    while (merge.count > 0) {
        uint32_t value = take_least(&merge, values);
        is_sorted &= value >= last;
        last = value;
        after += value;
    }
    check("sort", is_sorted && before == after, (long)(after % 1000003));
    free(values);
}

/* ---- Matrices in tiles, with rows that are no power of two ------------------------------------- */

#define SIDE 100
#define TILE 25

static double left[SIDE][SIDE], right[SIDE][SIDE], product[SIDE][SIDE];

static void multiply_tile(int row, int column, int inner)
{
    for (int i = row; i < row + TILE; i++)
        for (int k = inner; k < inner + TILE; k++) {
            double factor = left[i][k];
            for (int j = column; j < column + TILE; j++)
                product[i][j] += factor * right[k][j];
        }
}

static void multiply(void)
{
    for (int row = 0; row < SIDE; row += TILE)
        for (int column = 0; column < SIDE; column += TILE)
            for (int inner = 0; inner < SIDE; inner += TILE)
                multiply_tile(row, column, inner);
}

static void swap_tile(double (*matrix)[SIDE], int row, int column)
{
    for (int i = row; i < row + TILE; i++)
        for (int j = column == row ? i + 1 : column; j < column + TILE; j++) {
            double value = matrix[i][j];
            matrix[i][j] = matrix[j][i];
            matrix[j][i] = value;
        }
}

static void transpose(double (*matrix)[SIDE])
{
    for (int row = 0; row < SIDE; row += TILE)
        for (int column = row; column < SIDE; column += TILE)
            swap_tile(matrix, row, column);
}

static void matrix_part(void)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            left[i][j] = (i + 2 * j) % 7;
            right[i][j] = i == j ? 2 : 0;
        }
    multiply();
    transpose(product);
    int is_right = 1;
    for (int i = 0; i < SIDE; i += 9)
        for (int j = 0; j < SIDE; j += 7)
            is_right &= product[j][i] == 2 * ((i + 2 * j) % 7);
    check("matrix", is_right, (long)product[3][4]);
}

/* ---- A rod that cools: tiles of space, and many steps of time in each -------------------------- */

#define CELLS 40000
#define STEPS 8
#define SPAN 800

static double rod[CELLS + 2 * STEPS];

/* Does all steps on a tile and what it needs on both sides; the tile's new values go to `result`. */
static void cool_tile(const double *begin, double *result)
{
    double now[SPAN + 2 * STEPS], next[SPAN + 2 * STEPS];
    const int width = SPAN + 2 * STEPS;
    memcpy(now, begin - STEPS, sizeof now);
    for (int step = 1; step <= STEPS; step++) {
        for (int i = step; i < width - step; i++)
            next[i] = 0.25 * now[i - 1] + 0.5 * now[i] + 0.25 * now[i + 1];
        memcpy(now + step, next + step, sizeof(double) * (size_t)(width - 2 * step));
    }
    memcpy(result, now + STEPS, sizeof(double) * SPAN);
}

static void rod_part(void)
{
    static double edge[STEPS], result[SPAN];
    double *cells = rod + STEPS;
    double before = 0, after = 0;
    /* The values come tile by tile: the next tile is there when one needs its border. */
    for (int i = 0; i < SPAN; i++)
        cells[i] = i % 16;
    for (int tile = 0; tile < CELLS; tile += SPAN) {
        for (int i = tile + SPAN; i < tile + 2 * SPAN && i < CELLS; i++)
            cells[i] = i % 16;
        double saved[STEPS];
        memcpy(saved, cells + tile + SPAN - STEPS, sizeof saved);
        double window[SPAN + 2 * STEPS];
        memcpy(window, edge, sizeof edge);
        memcpy(window + STEPS, cells + tile, sizeof(double) * (SPAN + STEPS));
        for (int i = 0; i < SPAN; i++)
            before += cells[tile + i];
        cool_tile(window + STEPS, result);
        memcpy(cells + tile, result, sizeof result);
        memcpy(edge, saved, sizeof edge);
        for (int i = 0; i < SPAN; i++)
            after += result[i];
    }
    double lost = before - after;
    check("rod", lost > 0 && lost < 200, (long)before);
}

/* ---- Particles: a field is an array, and blocks of them meet each other ------------------------ */

#define PARTICLES 1024
#define BLOCK 128

struct particles {
    double x[PARTICLES], y[PARTICLES];
    double pull_x[PARTICLES], pull_y[PARTICLES];
    double mass[PARTICLES];
};

static struct particles particles;

static void meet(int first, int second)
{
    struct particles *all = &particles;
    for (int i = first; i < first + BLOCK; i++) {
        double pull_x = 0, pull_y = 0;
        for (int j = second; j < second + BLOCK; j++) {
            double dx = all->x[j] - all->x[i], dy = all->y[j] - all->y[i];
            double pull = all->mass[j] / (1 + dx * dx + dy * dy);
            pull_x += pull * dx;
            pull_y += pull * dy;
        }
        all->pull_x[i] += pull_x * all->mass[i];
        all->pull_y[i] += pull_y * all->mass[i];
    }
}

static void particle_part(struct random *random)
{
    struct particles *all = &particles;
    for (int i = 0; i < PARTICLES; i++) {
        all->x[i] = random_below(random, 1000);
        all->y[i] = random_below(random, 1000);
        all->mass[i] = 1 + i % 3;
    }
    for (int first = 0; first < PARTICLES; first += BLOCK)
        for (int second = 0; second < PARTICLES; second += BLOCK)
            meet(first, second);
    double sum = 0, size = 0;
    for (int i = 0; i < PARTICLES; i++) {
        sum += all->pull_x[i] + all->pull_y[i];
        size += all->pull_x[i] > 0 ? all->pull_x[i] : -all->pull_x[i];
    }
    /* What pulls is pulled back. */
    check("particles", sum < 1e-6 * size && sum > -1e-6 * size, (long)size);
}

/* ---- Primes: a sieve of segments --------------------------------------------------------------- */

#define LIMIT 400000
#define SEGMENT 8000
#define ROOT 633

static int small_primes[120], small_count;

static void find_small_primes(void)
{
    static char is_composite[ROOT + 1];
    for (int number = 2; number <= ROOT; number++) {
        if (is_composite[number])
            continue;
        small_primes[small_count++] = number;
        for (int multiple = number * number; multiple <= ROOT; multiple += number)
            is_composite[multiple] = 1;
    }
}

static int primes_from(int begin, char *is_composite)
{
    int count = 0;
    memset(is_composite, 0, SEGMENT);
    for (int i = 0; i < small_count; i++) {
        int prime = small_primes[i];
        int first = (begin + prime - 1) / prime * prime;
        if (first < prime * prime)
            first = prime * prime;
        for (int multiple = first; multiple < begin + SEGMENT; multiple += prime)
            is_composite[multiple - begin] = 1;
    }
    for (int i = 0; i < SEGMENT; i++)
        count += !is_composite[i] && begin + i >= 2;
    return count;
}

static void prime_part(void)
{
    static char is_composite[SEGMENT];
    long count = 0;
    find_small_primes();
    for (int begin = 0; begin < LIMIT; begin += SEGMENT)
        count += primes_from(begin, is_composite);
    check("primes", count == 33860, count);
}

/* ---- Compression: pairs of a distance and a length, in windows that fit ------------------------ */

#define HASHES 2048
#define LEAST 4
#define MOST 250

/* Packs one piece: bytes as they are (0, byte), or a copy (length, distance as two bytes). */
static size_t pack(const unsigned char *in, size_t bytes, unsigned char *out)
{
    static uint16_t heads[HASHES];
    size_t at = 0, used = 0;
    memset(heads, 0, sizeof heads);
    while (at < bytes) {
        size_t length = 0, from = 0;
        if (at + LEAST <= bytes) {
            uint32_t four;
            memcpy(&four, in + at, 4);
            uint32_t slot = hash(four) % HASHES;
            from = heads[slot];
            heads[slot] = (uint16_t)at;
            while (from < at && at + length < bytes && length < MOST
                   && in[from + length] == in[at + length])
                length++;
        }
        if (length >= LEAST) {
            out[used++] = (unsigned char)length;
            out[used++] = (unsigned char)((at - from) & 255);
            out[used++] = (unsigned char)((at - from) >> 8);
            at += length;
        } else {
            out[used++] = 0;
            out[used++] = in[at++];
        }
    }
    return used;
}

static size_t unpack(const unsigned char *in, size_t bytes, unsigned char *out)
{
    size_t at = 0, used = 0;
    while (at < bytes) {
        size_t length = in[at++];
        if (length == 0) {
            out[used++] = in[at++];
            continue;
        }
        size_t distance = in[at] | (size_t)in[at + 1] << 8;
        at += 2;
        for (size_t i = 0; i < length; i++, used++)
            out[used] = out[used - distance];
    }
    return used;
}

static void pack_part(struct random *random)
{
    static unsigned char packed[2 * PIECE], again[PIECE];
    char *chunk = allocate(PIECE);
    long packed_bytes = 0;
    int is_right = 1;
    for (int round = 0; round < 12; round++) {
        size_t bytes = write_chunk(chunk, random);
        size_t used = pack((unsigned char *)chunk, bytes, packed);
        is_right &= unpack(packed, used, again) == bytes;
        is_right &= memcmp(chunk, again, bytes) == 0;
        packed_bytes += (long)used;
    }
    check("pack", is_right, packed_bytes);
    free(chunk);
}

/* ---- A map of roads: neighbours in rows, distances of 2 bytes ---------------------------------- */

#define STREETS 60
#define PLACES (STREETS * STREETS)

struct roads {
    uint16_t begins[PLACES + 1];
    uint16_t ends[4 * PLACES];
};

static struct roads roads;

static void build_roads(struct random *random)
{
    int count = 0;
    for (int place = 0; place < PLACES; place++) {
        int row = place / STREETS, column = place % STREETS;
        roads.begins[place] = (uint16_t)count;
        if (column > 0)
            roads.ends[count++] = (uint16_t)(place - 1);
        if (column + 1 < STREETS)
            roads.ends[count++] = (uint16_t)(place + 1);
        if (row > 0)
            roads.ends[count++] = (uint16_t)(place - STREETS);
        /* Some roads go one way. */
        if (row + 1 < STREETS && random_below(random, 8) > 0)
            roads.ends[count++] = (uint16_t)(place + STREETS);
    }
    roads.begins[PLACES] = (uint16_t)count;
}

static int search(int from, uint16_t *distances, uint16_t *queue)
{
    int first = 0, last = 0;
    memset(distances, 0xff, sizeof(uint16_t) * PLACES);
    distances[from] = 0;
    queue[last++] = (uint16_t)from;
    while (first < last) {
        int place = queue[first++];
        for (int road = roads.begins[place]; road < roads.begins[place + 1]; road++) {
            int next = roads.ends[road];
            if (distances[next] != 0xffff)
                continue;
            distances[next] = (uint16_t)(distances[place] + 1);
            queue[last++] = (uint16_t)next;
        }
    }
    return last;
}

static void road_part(struct random *random)
{
    static uint16_t distances[PLACES], queue[PLACES];
    build_roads(random);
    int reached = search(PLACES - 1, distances, queue);
    int farthest = distances[queue[reached - 1]];
    check("roads", reached == PLACES && farthest >= 2 * (STREETS - 1), farthest);
}

/* ---- Events in the order of their times: a heap that fits -------------------------------------- */

#define CUSTOMERS 500

struct events {
    uint32_t times[CUSTOMERS];
    uint16_t customers[CUSTOMERS];
    int count;
};

static void add_event(struct events *events, uint32_t time, int customer)
{
    int place = events->count++;
    while (place > 0 && events->times[(place - 1) / 2] > time) {
        events->times[place] = events->times[(place - 1) / 2];
        events->customers[place] = events->customers[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    events->times[place] = time;
    events->customers[place] = (uint16_t)customer;
}

static uint32_t next_event(struct events *events, int *customer)
{
    uint32_t least = events->times[0];
    *customer = events->customers[0];
    int last = --events->count, place = 0;
    for (;;) {
        int child = 2 * place + 1;
        if (child >= last)
            break;
        if (child + 1 < last && events->times[child + 1] < events->times[child])
            child++;
        if (events->times[last] <= events->times[child])
            break;
        events->times[place] = events->times[child];
        events->customers[place] = events->customers[child];
        place = child;
    }
    events->times[place] = events->times[last];
    events->customers[place] = events->customers[last];
    return least;
}

static void event_part(struct random *random)
{
    static struct events events;
    static uint16_t visits[CUSTOMERS];
    for (int customer = 0; customer < CUSTOMERS; customer++)
        add_event(&events, random_below(random, 1000), customer);
    uint32_t now = 0;
    int in_order = 1;
    for (int round = 0; round < 20000; round++) {
        int customer;
        uint32_t time = next_event(&events, &customer);
        in_order &= time >= now;
        now = time;
        visits[customer]++;
        add_event(&events, now + 1 + random_below(random, 1000), customer);
    }
    long sum = 0;
    for (int customer = 0; customer < CUSTOMERS; customer++)
        sum += visits[customer];
    check("events", in_order && sum == 20000 && events.count == CUSTOMERS, (long)now);
}

/* ---- Measurements: one pass over a long array finds all that is asked -------------------------- */

#define SAMPLES 100000
#define BUCKETS 512

struct summary {
    double sum, squares;
    uint32_t least, most;
    uint32_t buckets[BUCKETS];
};

static void summarise(struct summary *summary, const uint32_t *samples, int count)
{
    for (int i = 0; i < count; i++) {
        uint32_t sample = samples[i];
        summary->sum += sample;
        summary->squares += (double)sample * sample;
        summary->least = sample < summary->least ? sample : summary->least;
        summary->most = sample > summary->most ? sample : summary->most;
        summary->buckets[sample * BUCKETS / 100000]++;
    }
}

static uint32_t quantile(const struct summary *summary, double share)
{
    double below = 0;
    for (int bucket = 0; bucket < BUCKETS; bucket++) {
        below += summary->buckets[bucket];
        if (below >= share * SAMPLES)
            return (uint32_t)(bucket * (100000 / BUCKETS));
    }
    return 100000;
}

static void sample_part(struct random *random)
{
    static uint32_t samples[SAMPLES];
    static struct summary summary = {.least = UINT32_MAX};
    const int piece = PIECE / sizeof *samples;
    for (int begin = 0; begin < SAMPLES; begin += piece) {
        int count = SAMPLES - begin < piece ? SAMPLES - begin : piece;
        for (int i = begin; i < begin + count; i++)
            samples[i] = random_below(random, 100000);
        summarise(&summary, samples + begin, count);
    }
    double mean = summary.sum / SAMPLES;
    double variance = summary.squares / SAMPLES - mean * mean;
    uint32_t median = quantile(&summary, 0.5);
    int is_right = mean > 49000 && mean < 51000 && variance > 8.0e8 && variance < 8.7e8
        && median > 48000 && median < 52000 && summary.least < summary.most;
    check("samples", is_right, median);
}

/* ---- Expressions: compiled once, then run for pieces of columns -------------------------------- */

enum code { LOAD_A, LOAD_B, NUMBER, ADD, MULTIPLY, LESS };

struct step {
    unsigned char code;
    unsigned char number;
};

#define DEPTH 4
#define ROWS 256

/* Each step works on all rows of a piece, so that its code is looked at once for them. */
static int run_steps(const struct step *steps, int count, const int *a, const int *b,
                     int stack[DEPTH][ROWS])
{
    int top = 0;
    for (int at = 0; at < count; at++) {
        const struct step *step = &steps[at];
        int *above = stack[top], *one = top > 1 ? stack[top - 2] : NULL;
        const int *other = top > 0 ? stack[top - 1] : NULL;
        switch (step->code) {
        case LOAD_A:
            memcpy(above, a, sizeof *a * ROWS);
            break;
        case LOAD_B:
            memcpy(above, b, sizeof *b * ROWS);
            break;
        case NUMBER:
            for (int row = 0; row < ROWS; row++)
                above[row] = step->number;
            break;
        case ADD:
            for (int row = 0; row < ROWS; row++)
                one[row] += other[row];
            break;
        case MULTIPLY:
            for (int row = 0; row < ROWS; row++)
                one[row] *= other[row];
            break;
        case LESS:
            for (int row = 0; row < ROWS; row++)
                one[row] = one[row] < other[row];
            break;
        }
        top += step->code <= NUMBER ? 1 : -1;
    }
    return top;
}

static void expression_part(struct random *random)
{
    /* (a * 3 + b) < 200 */
    static const struct step steps[] = {
        {LOAD_A, 0}, {NUMBER, 3}, {MULTIPLY, 0}, {LOAD_B, 0}, {ADD, 0}, {NUMBER, 200}, {LESS, 0},
    };
    static int a[ROWS], b[ROWS], stack[DEPTH][ROWS];
    long found = 0, expected = 0;
    for (int piece = 0; piece < 100; piece++) {
        for (int row = 0; row < ROWS; row++) {
            a[row] = (int)random_below(random, 100);
            b[row] = (int)random_below(random, 100);
            expected += a[row] * 3 + b[row] < 200;
        }
        run_steps(steps, sizeof steps / sizeof *steps, a, b, stack);
        for (int row = 0; row < ROWS; row++)
            found += stack[0][row];
    }
    check("expressions", found == expected && found > 0, found);
}

/* ---- A picture: both directions of a blur in one pass, by rows that are kept ------------------- */

#define WIDTH 300
#define HEIGHT 300
#define KEPT 3

static unsigned char picture[HEIGHT][WIDTH], blurred[HEIGHT][WIDTH];

/* The sums of three neighbours in a row. */
static void blur_row(const unsigned char *row, uint16_t *sums)
{
    for (int x = 1; x + 1 < WIDTH; x++)
        sums[x] = (uint16_t)(row[x - 1] + row[x] + row[x + 1]);
}

static void paint_row(int y)
{
    for (int x = 0; x < WIDTH; x++)
        picture[y][x] = (unsigned char)((x / 10 + y / 10) % 2 ? 200 : 40);
}

static void picture_part(void)
{
    static uint16_t sums[KEPT][WIDTH];
    long total = 0;
    for (int y = 0; y < HEIGHT; y++) {
        paint_row(y);
        blur_row(picture[y], sums[y % KEPT]);
        if (y < 2)
            continue;
        for (int x = 1; x + 1 < WIDTH; x++) {
            int nine = sums[0][x] + sums[1][x] + sums[2][x];
            blurred[y - 1][x] = (unsigned char)(nine / 9);
            total += blurred[y - 1][x];
        }
    }
    long mean = total / ((WIDTH - 2) * (HEIGHT - 2));
    check("picture", mean >= 118 && mean <= 121 && blurred[5][5] == 40, mean);
}

/* ---- A tree without pointers: in the order of a search, several levels to a line --------------- */

#define KEYS 4095

static uint32_t tree[KEYS + 1];

/* Lays out numbers in the order of a heap: the children of `at` are `2 * at` and `2 * at + 1`. */
static uint32_t lay_out(uint32_t next, int at)
{
    if (at > KEYS)
        return next;
    next = lay_out(next, 2 * at);
    tree[at] = 3 * next++;
    return lay_out(next, 2 * at + 1);
}

static int is_in_tree(uint32_t key)
{
    int at = 1;
    while (at <= KEYS && tree[at] != key)
        at = 2 * at + (tree[at] < key);
    return at <= KEYS;
}

static void tree_part(struct random *random)
{
    long found = 0, expected = 0;
    lay_out(0, 1);
    for (int round = 0; round < 20000; round++) {
        uint32_t key = random_below(random, 3 * KEYS);
        found += is_in_tree(key);
        expected += key % 3 == 0;
    }
    check("tree", found == expected, found);
}

/* ---- Long numbers: digits in base 10^9 --------------------------------------------------------- */

#define DIGITS 300
#define BASE 1000000000u

static void multiply_long(uint32_t *digits, int *count, uint32_t factor)
{
    uint64_t carry = 0;
    for (int i = 0; i < *count; i++) {
        uint64_t value = (uint64_t)digits[i] * factor + carry;
        digits[i] = (uint32_t)(value % BASE);
        carry = value / BASE;
    }
    if (carry > 0)
        digits[(*count)++] = (uint32_t)carry;
}

static uint32_t divide_long(uint32_t *digits, int *count, uint32_t by)
{
    uint64_t rest = 0;
    for (int i = *count - 1; i >= 0; i--) {
        uint64_t value = rest * BASE + digits[i];
        digits[i] = (uint32_t)(value / by);
        rest = value % by;
    }
    while (*count > 1 && digits[*count - 1] == 0)
        (*count)--;
    return (uint32_t)rest;
}

static void number_part(void)
{
    static uint32_t digits[DIGITS];
    int count = 1;
    digits[0] = 1;
    for (uint32_t factor = 2; factor <= 800; factor++)
        multiply_long(digits, &count, factor);
    int most = count;
    uint32_t rest = 0;
    for (uint32_t factor = 800; factor >= 2; factor--)
        rest |= divide_long(digits, &count, factor);
    check("numbers", rest == 0 && count == 1 && digits[0] == 1, most);
}

int main(void)
{
    struct random random = {20};
    crc_begin();
    text_part(&random);
    index_part(&random);
    sort_part(&random);
    matrix_part();
    rod_part();
    particle_part(&random);
    prime_part();
    pack_part(&random);
    road_part(&random);
    event_part(&random);
    sample_part(&random);
    expression_part(&random);
    picture_part();
    tree_part(&random);
    number_part();
    return wrong != 0;
}
