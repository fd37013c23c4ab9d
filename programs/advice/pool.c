/* scattered.c with its nodes in one array, in the order of the list. */
#include <stdio.h>
#include <stdlib.h>

#define COUNT 20000

struct Node {
    long value;
    struct Node *next;
};

int main(void)
{
    struct Node *nodes = malloc(COUNT * sizeof *nodes);
    for (int i = 0; i < COUNT; i++) {
        nodes[i].value = i;
        nodes[i].next = i + 1 < COUNT ? &nodes[i + 1] : NULL;
    }
    long sum = 0;
    for (int round = 0; round < 20; round++)
        for (struct Node *node = nodes; node; node = node->next)
            sum += node->value;
    printf("%ld\n", sum);
    return 0;
}
