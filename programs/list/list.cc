// Walk the same numbers in three containers.
//
// usage: list [ordered|shuffled|vector] [N] [WALKS]      default: ordered 50000 100
//
//   ordered   a linked list whose nodes follow each other in memory, as they do when a list is
//             built in one go: two or so nodes share a cache line and are visited together.
//   shuffled  the same list after its nodes have been linked in random order, as a list looks
//             after a long life: the neighbour on the cache line comes at some other time.
//   vector    no links: the numbers side by side, eight to a line.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace {

struct Node {
    Node *next;
    std::int64_t value;
};

// A small generator of our own: the same numbers with every library.
std::uint64_t random_bits()
{
    static std::uint64_t state = 12345;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

// Allocates the nodes in order, each on its own as lists do, then links them in the order asked for.
Node *build(std::size_t n, bool shuffle)
{
    std::vector<Node *> nodes(n);
    for (std::size_t i = 0; i < n; i++)
        nodes[i] = new Node{nullptr, static_cast<std::int64_t>(i)};
    if (shuffle)
        for (std::size_t i = n - 1; i > 0; i--)
            std::swap(nodes[i], nodes[random_bits() % (i + 1)]);
    for (std::size_t i = 0; i + 1 < n; i++)
        nodes[i]->next = nodes[i + 1];
    return nodes[0];
}

void destroy(Node *head)
{
    while (head != nullptr) {
        Node *next = head->next;
        delete head;
        head = next;
    }
}

std::int64_t walk_list(const Node *head)
{
    std::int64_t sum = 0;
    for (const Node *node = head; node != nullptr; node = node->next)
        sum += node->value;
    return sum;
}

std::int64_t walk_vector(const std::vector<std::int64_t> &values)
{
    std::int64_t sum = 0;
    for (std::int64_t value : values)
        sum += value;
    return sum;
}

std::int64_t run_list(std::size_t n, int walks, bool shuffle)
{
    Node *head = build(n, shuffle);
    std::int64_t sum = 0;
    for (int i = 0; i < walks; i++)
        sum += walk_list(head);
    destroy(head);
    return sum;
}

std::int64_t run_vector(std::size_t n, int walks)
{
    std::vector<std::int64_t> values(n);
    for (std::size_t i = 0; i < n; i++)
        values[i] = static_cast<std::int64_t>(i);
    std::int64_t sum = 0;
    for (int i = 0; i < walks; i++)
        sum += walk_vector(values);
    return sum;
}

} // namespace

int main(int argc, char **argv)
{
    const char *variant = argc > 1 ? argv[1] : "ordered";
    long n = argc > 2 ? std::atol(argv[2]) : 50000;
    int walks = argc > 3 ? std::atoi(argv[3]) : 100;
    bool vector = std::strcmp(variant, "vector") == 0;
    bool shuffled = std::strcmp(variant, "shuffled") == 0;
    bool known = vector || shuffled || std::strcmp(variant, "ordered") == 0;
    if (!known || n < 1 || walks < 1) {
        std::fprintf(stderr, "usage: list [ordered|shuffled|vector] [N] [WALKS]\n");
        return 2;
    }
    std::size_t size = static_cast<std::size_t>(n);
    std::int64_t sum = vector ? run_vector(size, walks) : run_list(size, walks, shuffled);
    std::printf("list %s %ld %d: sum %lld\n", variant, n, walks, static_cast<long long>(sum));
    return 0;
}
