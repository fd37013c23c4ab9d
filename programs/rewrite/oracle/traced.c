// Adds up a trace of lackey (`valgrind -v -v --tool=lackey --trace-mem=yes`) by instruction, from standard input:
// `object BIAS PATH`, then `site ADDRESS BYTES RAN LOADS STORES` and the last three as of the moment the program itself
// began, whose first instruction is named by its address in the file (hexadecimal).
#include <string.h>

#include "table.h"

// A line of lackey is `I  ADDRESS,SIZE`, ` L ADDRESS,SIZE`, ` S ...` or ` M ...`, a load and a store.
int main(int argc, char **argv) {
    if (argc != 2) return 2;
    static char line[1 << 16], path[4096];
    struct site *now = at(0);
    uint64_t first = 0, in_file = strtoull(argv[1], 0, 16);
    int main_program = 1;
    while (fgets(line, sizeof line, stdin)) {
        unsigned long svma, avma;
        if (line[0] == 'I') {
            char *comma;
            uint64_t address = strtoull(line + 3, &comma, 16);
            if (address == first && first) begins(), first = 0;
            now = at(address);
            now->bytes = strtoull(comma + 1, 0, 10);
            now->ran++;
        } else if (line[0] == ' ') {
            now->loads += line[1] == 'L' || line[1] == 'M';
            now->stores += line[1] == 'S' || line[1] == 'M';
        } else if (sscanf(line, "--%*d-- Reading syms from %4095s", path) == 1) {
        } else if (sscanf(line, "--%*d--    svma 0x%lx, avma 0x%lx", &svma, &avma) == 2 && path[0]) {
            printf("object %lx %s\n", avma - svma, path);
            if (main_program) first = avma - svma + in_file;
            main_program = 0;
            path[0] = 0;
        }
    }
    print(stdout);
    return 0;
}
