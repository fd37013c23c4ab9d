// Work for Java's compiler and its threads: methods that are called often enough to be compiled, exceptions, locks, memory
// that is collected, null pointers that the processor finds (SIGSEGV).
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

public class Work {
    static int collatz(long n) {
        int steps = 0;
        for (; n != 1; steps++)
            n = (n & 1) == 0 ? n / 2 : 3 * n + 1;
        return steps;
    }

    static int lengthOf(String text) {
        try {
            return text.length();
        } catch (NullPointerException none) {
            return -1;
        }
    }

    static long work(int thread) {
        Map<Integer, String> map = new HashMap<>();
        long sum = 0;
        for (int i = 1; i <= 4000; i++) {
            sum += collatz(i + thread);
            map.put(i % 97, "n" + i);
            sum += lengthOf(i % 100 == 0 ? null : map.get(i % 97));
            byte[] some = new byte[i % 1000 + 1];
            sum += some.length;
        }
        return sum;
    }

    public static void main(String[] words) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        AtomicLong tasks = new AtomicLong();
        List<Future<Long>> results = new ArrayList<>();
        for (int thread = 0; thread < 8; thread++) {
            int number = thread;
            results.add(pool.submit(() -> {
                tasks.incrementAndGet();
                return work(number);
            }));
        }
        long sum = 0;
        for (Future<Long> result : results)
            sum = sum * 31 + result.get();
        pool.shutdown();
        System.out.println(pool.awaitTermination(60, TimeUnit.SECONDS) + " " + tasks + " " + sum);
    }
}
