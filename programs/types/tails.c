/* Structures whose data follow them: an array of unknown length, one that is declared with one
   element, and numbers behind a head. Blocks are of one size or of several. No field of the
   structures is where their data are. */
#include <stdio.h>
#include <stdlib.h>

#define BLOCKS 300
#define NUMBERS 60
#define ROUNDS 5
#define APART __attribute__((noinline))

struct vec {
    size_t len;
    long data[];
};

struct old {
    size_t len;
    long data[1];
};

struct head {
    size_t used, room;
};

APART static void *get(size_t bytes)
{
    void *got = malloc(bytes);
    if (!got)
        abort();
    return got;
}

APART static struct vec *new_vec(size_t len)
{
    struct vec *vec = get((1 + len) * sizeof(long));
    vec->len = len;
    for (size_t i = 0; i < len; i++)
        vec->data[i] = i;
    return vec;
}

APART static struct old *new_old(size_t len)
{
    struct old *old = get((1 + len) * sizeof(long));
    old->len = len;
    for (size_t i = 0; i < len; i++)
        old->data[i] = i;
    return old;
}

APART static struct head *new_head(size_t used)
{
    struct head *head = get((2 + used) * sizeof(long));
    head->used = head->room = used;
    for (size_t i = 0; i < used; i++)
        ((long *)(head + 1))[i] = i;
    return head;
}

APART static long sum_of(const struct vec *vec, const struct old *old, const struct head *head)
{
    long sum = 0;
    for (size_t i = 0; i < vec->len; i++)
        sum += vec->data[i];
    for (size_t i = 0; i < old->len; i++)
        sum += old->data[i];
    for (size_t i = 0; i < head->used; i++)
        sum += ((const long *)(head + 1))[i];
    return sum;
}

int main(void)
{
    struct vec *vecs[BLOCKS];
    struct old *olds[BLOCKS];
    struct head *heads[BLOCKS];
    long sum = 0;
    for (int i = 0; i < BLOCKS; i++) {
        size_t numbers = NUMBERS + VARIED * 2 * (i % 90);
        vecs[i] = new_vec(numbers);
        olds[i] = new_old(numbers);
        heads[i] = new_head(numbers);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < BLOCKS; i++)
            sum += sum_of(vecs[i], olds[i], heads[i]);
    printf("%ld\n", sum);
    return 0;
}
