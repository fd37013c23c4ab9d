// Work for Mono: code that is compiled while it runs, threads, memory that is collected, a null pointer (SIGSEGV), exceptions.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;

class Work {
    static int Collatz(long n) {
        int steps = 0;
        for (; n != 1; steps++) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        return steps;
    }

    static int LengthOf(string text) {
        try { return text.Length; } catch (NullReferenceException) { return -1; }
    }

    static void Main() {
        var sums = new long[4];
        var threads = new List<Thread>();
        for (int number = 0; number < 4; number++) {
            int mine = number;
            threads.Add(new Thread(() => {
                var names = new Dictionary<string, byte[]>();
                for (int i = 1; i < 2000; i++) {
                    names["k" + i % 97] = new byte[i];
                    sums[mine] += Collatz(i + mine) + LengthOf(i % 100 == 0 ? null : "abc");
                }
            }));
        }
        threads.ForEach(thread => thread.Start());
        threads.ForEach(thread => thread.Join());
        GC.Collect();
        Console.WriteLine(string.Join(" ", sums));
        Console.WriteLine(Enumerable.Range(1, 1000).Where(i => i % 7 == 0).Select(i => i * i).Sum());
    }
}
