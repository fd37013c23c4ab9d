/* Nodes that an arena carves from memory without a type. Prints how often each field is
   accessed. With -DMIXED=N, strings of N numbers are carved from the same arena; with -DLINKS, nodes
   are freed and found again by a link in their first bytes. */
#include <stdio.h>
#include <stdlib.h>

#define NODES 5000
#define ROUNDS 7
#define APART __attribute__((noinline))

struct node {
    struct node *next;
    long key;
    int marks[2];
};

static char *arena;
static size_t used;
static unsigned long nexts, keys, marks;
static void **free_nodes;

static void *carve(size_t bytes)
{
    void *carved = arena + used;
    used += bytes;
    return carved;
}

#ifdef LINKS
APART static void give_back(void *node)
{
    void **link = node;
    *link = free_nodes;
    nexts++;
    free_nodes = link;
}
#endif

APART static struct node *push(struct node *list, long key)
{
    struct node *node;
    if (free_nodes) {
        node = (struct node *)free_nodes;
        free_nodes = *free_nodes;
        nexts++;
    } else {
        node = carve(sizeof *node);
    }
    node->next = list;
    nexts++;
    node->key = key;
    keys++;
    node->marks[key & 1] = 1;
    marks++;
    return node;
}

APART static long walk(struct node *list)
{
    long sum = 0;
    for (struct node *node = list; node; node = node->next) {
        sum += node->key;
        keys++;
        nexts++;
    }
    return sum;
}

#if MIXED
APART static long add_numbers(int count)
{
    int *numbers = carve(count * sizeof *numbers);
    long sum = 0;
    for (int i = 0; i < count; i++)
        numbers[i] = i;
    for (int i = 0; i < count; i++)
        sum += numbers[i];
    return sum;
}
#endif

int main(void)
{
    arena = malloc(1 << 20);
    long sum = 0;
    struct node *list = NULL;
#ifdef LINKS
    for (long key = 0; key < 100; key++)
        give_back(push(NULL, key));
#endif
    for (long key = 0; key < NODES; key++) {
        list = push(list, key);
#if MIXED
        if (key % 10 == 0)
            sum += add_numbers(MIXED);
#endif
    }
    for (int round = 0; round < ROUNDS; round++)
        sum += walk(list);
    printf("expect next accesses %lu\nexpect key accesses %lu\n", nexts, keys);
    printf("expect marks accesses %lu\n%ld\n", marks, sum);
    return 0;
}
