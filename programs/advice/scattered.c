/* A list through nodes in random order: pointer-chasing. */
#include <stdio.h>
#include <stdlib.h>

#define COUNT 20000

struct Node {
    long value;
    struct Node *next;
};

static struct Node *nodes[COUNT];

int main(void)
{
    unsigned at = 1;
    for (int i = 0; i < COUNT; i++) {
        nodes[i] = malloc(sizeof *nodes[i]);
        nodes[i]->value = i;
    }
    for (int i = COUNT - 1; i > 0; i--) {
        at = at * 1664525u + 1013904223u;
        int other = (at >> 8) % (i + 1);
        struct Node *node = nodes[i];
        nodes[i] = nodes[other];
        nodes[other] = node;
    }
    for (int i = 0; i < COUNT; i++)
        nodes[i]->next = i + 1 < COUNT ? nodes[i + 1] : NULL;
    long sum = 0;
    for (int round = 0; round < 20; round++)
        for (struct Node *node = nodes[0]; node; node = node->next)
            sum += node->value;
    printf("%ld\n", sum);
    return 0;
}
