// Work for D's compiler, and a program of threads, memory that is collected, an error that is caught.
import core.memory, core.stdc.stdio, core.thread;

__gshared size_t[4] sums;

void work(int number) {
    foreach (i; 0 .. 3000)
        sums[number] += new int[](i % 50 + number).length;
}

void main() {
    Thread[] threads;
    foreach (number; 0 .. 4) {
        auto start = (int mine) => new Thread(() => work(mine));
        threads ~= start(number).start();
    }
    foreach (thread; threads)
        thread.join();
    GC.collect();
    foreach (sum; sums)
        printf("%zu\n", sum);
    try { int[] none; printf("%d\n", none[sums[0]]); } catch (Error error) { printf("caught\n"); }
}
