// Strings in a map, a vector, virtual calls, and an exception in every thousandth round.
// usage: cpp [ROUNDS]      default: 20000

#include <cstdlib>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

struct Adds {
    virtual long apply(long x) { return x + 1; }
    virtual ~Adds() {}
};

struct Doubles : Adds {
    long apply(long x) override
    {
        if (x % 1000 == 999)
            throw std::runtime_error("x");
        return x * 2;
    }
};

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? std::atoi(argv[1]) : 20000;
    std::map<std::string, long> sums;
    std::vector<long> all;
    Adds *step = argc > 5 ? new Adds : new Doubles;
    long applied = 0, total = 0;
    for (int i = 0; i < rounds; i++) {
        sums["k" + std::to_string(i % 997)] += i;
        all.push_back(i);
        try {
            applied += step->apply(i);
        } catch (std::exception &) {
            applied--;
        }
    }
    for (auto &pair : sums)
        total += pair.second;
    std::cout << total << " " << applied << " " << all.size() << "\n";
    delete step;
}
