/* Records in a buffer of bytes that a wrapper of realloc enlarges. Prints how often fields are
   accessed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS 6000
#define ROUNDS 5
#define APART __attribute__((noinline))

struct record {
    long id;
    float weight;
    short kind, flags;
    double value;
};

struct buffer {
    char *bytes;
    size_t used, room;
};

static unsigned long ids, weights, kinds, values;

APART static void *enlarge(void *old, size_t bytes)
{
    void *new = realloc(old, bytes);
    if (!new)
        abort();
    return new;
}

APART static void append(struct buffer *buffer, long id)
{
    if (buffer->used == buffer->room) {
        buffer->room = buffer->room ? 2 * buffer->room : 8 * sizeof(struct record);
        buffer->bytes = enlarge(buffer->bytes, buffer->room);
    }
    struct record *record = (struct record *)(buffer->bytes + buffer->used);
    buffer->used += sizeof *record;
    record->id = id;
    ids++;
    record->weight = id * 0.5f;
    weights++;
    record->kind = id % 7;
    kinds++;
    record->value = id * 0.25;
    values++;
}

APART static double sum_of(const struct record *records, long count, int kind)
{
    double sum = 0;
    for (long i = 0; i < count; i++) {
        kinds++;
        if (records[i].kind == kind) {
            sum += records[i].value;
            values++;
        }
    }
    return sum;
}

int main(void)
{
    struct buffer buffer = {0};
    for (long id = 0; id < RECORDS; id++)
        append(&buffer, id);
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++)
        sum += sum_of((struct record *)buffer.bytes, RECORDS, round);
    /* The other fields also have the accesses of realloc, which copies words of 8 bytes and more. */
    printf("expect kind accesses %lu\n", kinds);
    printf("at least: id %lu, weight %lu, value %lu\n%g\n", ids, weights, values, sum);
    return 0;
}
