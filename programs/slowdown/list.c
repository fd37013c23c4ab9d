/* A linked list in shuffled order, walked again and again.
 * usage: list [NODES] [ROUNDS]      default: 50000 100 */

#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *next;
    long value;
    long pad[6];
};

static struct node *make(int n)
{
    struct node **all = malloc(n * sizeof *all);
    for (int i = 0; i < n; i++) {
        all[i] = malloc(sizeof **all);
        all[i]->value = i;
    }
    unsigned long seed = 12345;
    for (int i = n - 1; i > 0; i--) {
        seed = seed * 6364136223846793005UL + 1442695040888963407UL;
        int j = (seed >> 33) % (i + 1);
        struct node *other = all[i];
        all[i] = all[j];
        all[j] = other;
    }
    for (int i = 0; i < n; i++)
        all[i]->next = i + 1 < n ? all[i + 1] : NULL;
    struct node *head = all[0];
    free(all);
    return head;
}

__attribute__((noinline)) static long walk(struct node *at)
{
    long sum = 0;
    for (; at; at = at->next) {
        if (at->value & 1)
            sum += at->value;
        else
            sum ^= at->value;
        at->pad[0] = sum;
    }
    return sum;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 50000, rounds = argc > 2 ? atoi(argv[2]) : 100;
    struct node *head = make(n);
    long sum = 0;
    for (int i = 0; i < rounds; i++)
        sum += walk(head);
    printf("%ld\n", sum);
    while (head) {
        struct node *next = head->next;
        free(head);
        head = next;
    }
    return 0;
}
