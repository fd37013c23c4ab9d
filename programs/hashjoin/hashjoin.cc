// A hash join of two tables: which customers placed which orders?
//
// usage: hashjoin [chained|partitioned] [CUSTOMERS] [ORDERS]      default: chained 100000 500000
//
//   chained      one hash table over all customers; every order looks up its customer in it, each
//                time somewhere else in the table.
//   partitioned  first deal customers and orders out into 64 partitions by their key, then join
//                partition by partition: more passes over the data, but each look-up now falls
//                into a table that is 64 times smaller.
//
// Both print the same number of matches and the same sum.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct Row {
    std::uint32_t key;
    std::uint32_t payload;
};

struct Result {
    std::uint64_t matches = 0;
    std::uint64_t sum = 0;
};

constexpr unsigned PARTITION_BITS = 6;
constexpr std::uint32_t PARTITIONS = 1u << PARTITION_BITS;
constexpr std::uint32_t NONE = 0xffffffffu;

// Spreads keys evenly; the top bits are the best.
std::uint32_t mix(std::uint32_t key)
{
    return key * 2654435769u;
}

std::uint32_t partition_of(std::uint32_t key)
{
    return mix(key) >> (32 - PARTITION_BITS);
}

// A hash table of chains, all of it in two arrays: the first row of each bucket, and for each row
// the next one in its bucket.
class Table {
public:
    // `skip` bits of the hash are the same for all rows and say nothing.
    Table(const Row *rows, std::size_t count, unsigned skip) : rows_(rows), skip_(skip)
    {
        while ((std::size_t{1} << bits_) < count)
            bits_++;
        heads_.assign(std::size_t{1} << bits_, NONE);
        next_.resize(count);
        for (std::uint32_t i = 0; i < count; i++) {
            std::uint32_t &head = heads_[bucket(rows[i].key)];
            next_[i] = head;
            head = i;
        }
    }

    void probe(const Row &order, Result &result) const
    {
        for (std::uint32_t i = heads_[bucket(order.key)]; i != NONE; i = next_[i])
            if (rows_[i].key == order.key) {
                result.matches++;
                result.sum += std::uint64_t{rows_[i].payload} * order.payload;
            }
    }

private:
    std::uint32_t bucket(std::uint32_t key) const
    {
        return (mix(key) << skip_) >> (32 - bits_);
    }

    const Row *rows_;
    unsigned skip_;
    unsigned bits_ = 1;
    std::vector<std::uint32_t> heads_;
    std::vector<std::uint32_t> next_;
};

Result join_chained(const std::vector<Row> &customers, const std::vector<Row> &orders)
{
    Result result;
    Table table(customers.data(), customers.size(), 0);
    for (const Row &order : orders)
        table.probe(order, result);
    return result;
}

// Rows dealt out by partition: those of partition p are at starts[p] .. starts[p + 1].
struct Partitioned {
    std::vector<Row> rows;
    std::vector<std::size_t> starts;
};

Partitioned deal(const std::vector<Row> &rows)
{
    Partitioned dealt{std::vector<Row>(rows.size()), std::vector<std::size_t>(PARTITIONS + 1)};
    for (const Row &row : rows)
        dealt.starts[partition_of(row.key) + 1]++;
    for (std::uint32_t p = 0; p < PARTITIONS; p++)
        dealt.starts[p + 1] += dealt.starts[p];
    std::vector<std::size_t> place(dealt.starts.begin(), dealt.starts.end() - 1);
    for (const Row &row : rows)
        dealt.rows[place[partition_of(row.key)]++] = row;
    return dealt;
}

Result join_partitioned(const std::vector<Row> &customers, const std::vector<Row> &orders)
{
    Result result;
    Partitioned left = deal(customers), right = deal(orders);
    for (std::uint32_t p = 0; p < PARTITIONS; p++) {
        std::size_t first = left.starts[p], count = left.starts[p + 1] - first;
        Table table(left.rows.data() + first, count, PARTITION_BITS);
        for (std::size_t i = right.starts[p]; i < right.starts[p + 1]; i++)
            table.probe(right.rows[i], result);
    }
    return result;
}

// A small generator of our own: the same numbers with every library.
std::uint32_t random_bits()
{
    static std::uint64_t state = 2001;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state >> 33);
}

} // namespace

int main(int argc, char **argv)
{
    const char *variant = argc > 1 ? argv[1] : "chained";
    long customers_wanted = argc > 2 ? std::atol(argv[2]) : 100000;
    long orders_wanted = argc > 3 ? std::atol(argv[3]) : 500000;
    bool partitioned = std::strcmp(variant, "partitioned") == 0;
    bool known = partitioned || std::strcmp(variant, "chained") == 0;
    if (!known || customers_wanted < 1 || orders_wanted < 0 || customers_wanted > 100000000) {
        std::fprintf(stderr, "usage: hashjoin [chained|partitioned] [CUSTOMERS] [ORDERS]\n");
        return 2;
    }
    std::vector<Row> customers, orders;
    for (std::uint32_t i = 0; i < customers_wanted; i++)
        customers.push_back({i, i % 97});
    for (long i = 0; i < orders_wanted; i++)
        orders.push_back({random_bits() % static_cast<std::uint32_t>(customers_wanted),
                          static_cast<std::uint32_t>(i % 89)});
    Result result = partitioned ? join_partitioned(customers, orders)
                                : join_chained(customers, orders);
    std::printf("hashjoin %s %ld %ld: %llu matches, sum %llu\n", variant, customers_wanted,
                orders_wanted, static_cast<unsigned long long>(result.matches),
                static_cast<unsigned long long>(result.sum));
    return 0;
}
