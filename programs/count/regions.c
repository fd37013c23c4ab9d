/* Regions, and functions that call themselves: how often each array is touched where.
 *
 * Each call of `touch` reads and writes `count` elements. */
#include <reuselens.h>
#include <stdio.h>

volatile long outside[1000], outer[1000], inner[1000], worked[1000];

__attribute__((noinline)) void touch(volatile long *array, int count) {
    for (int i = 0; i < count; i++)
        array[i]++;
}

__attribute__((noinline)) int work(int depth) {
    touch(worked, 100);
    return depth == 0 ? 0 : work(depth - 1) + 1;
}

int main(void) {
    touch(outside, 1000);
    reuselens_region_begin("outer");
    touch(outer, 500);
    reuselens_region_begin("inner");
    touch(inner, 250);
    reuselens_region_end();
    touch(outer, 100);
    reuselens_region_end();
    touch(outside, 1000);
    reuselens_region_begin("inner");
    touch(inner, 50);
    reuselens_region_end();
    int depth = work(3);
    touch(outside, 10);
    printf("%d %ld %ld %ld %ld\n", depth, outside[0], outer[0], inner[0], worked[0]);
    return 0;
}
