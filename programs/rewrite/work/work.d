// Work for D's compiler, and a program of threads, memory that is collected, ranges, an error that is caught.
import std.algorithm, std.array, std.conv, std.parallelism, std.range, std.stdio;

ulong work(int n) {
    return iota(1, 500).map!(i => new int[](i % 50 + n).length + i.to!string.length).sum;
}

void main() {
    auto sums = taskPool.amap!work(iota(8).array);
    writeln(sums);
    try { int[] none; writeln(none[sums.length]); } catch (Error error) { writeln("caught"); }
}
