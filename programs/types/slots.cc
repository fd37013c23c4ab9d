// Objects of a class and of one derived from it in the slots of a pool, which takes its memory with
// operator new. Prints how often each field is accessed.
#include <cstdio>
#include <new>
#include <vector>

#define APART __attribute__((noinline))

namespace shapes {

static unsigned long ids, areas, sides;

struct Shape {
    long id;
    double area;
    APART explicit Shape(long id) : id(id), area(0) { ids++; areas++; }
    APART long next_id() const { ids++; return id + 1; }
};

struct Square : Shape {
    double side;
    APART Square(long id, double side) : Shape(id), side(side) { sides++; }
    APART void measure()
    {
        double own = side;
        sides++;
        area = own * own;
        areas++;
    }
};

template <class T> class Pool {
    char *slots;
    unsigned long used = 0;

public:
    explicit Pool(unsigned long count) : slots(static_cast<char *>(grab(count * sizeof(T)))) {}
    template <class... A> T *make(A... arguments)
    {
        return new (slots + used++ * sizeof(T)) T(arguments...);
    }
    APART static void *grab(unsigned long bytes) { return ::operator new(bytes); }
};

} // namespace shapes

int main()
{
    const long count = 4000;
    shapes::Pool<shapes::Square> pool(count);
    std::vector<shapes::Square *> all;
    long sum = 0;
    for (long id = 0; id < count; id++)
        all.push_back(pool.make(id, 0.5 * id));
    for (int round = 0; round < 4; round++)
        for (shapes::Square *square : all) {
            square->measure();
            sum += square->next_id();
        }
    std::printf("expect id accesses %lu\nexpect area accesses %lu\n", shapes::ids, shapes::areas);
    std::printf("expect side accesses %lu\n%ld\n", shapes::sides, sum);
}
