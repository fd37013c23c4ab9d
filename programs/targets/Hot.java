// A loop that is compiled while it runs, exceptions by null pointers and bounds (signals of faults), threads under a lock.
public class Hot {
    static long shared;

    static int field(int[] array, int index) {
        return array[index];
    }

    public static void main(String[] arguments) throws Exception {
        long sum = 0;
        int[] array = new int[100];
        for (int index = 0; index < 40000; index++) {
            array[index % 100] += index;
            sum += field(array, (index * 7) % 100);
        }
        int caught = 0;
        for (int index = 0; index < 200; index++) {
            try {
                sum += field(index % 2 == 0 ? null : array, 1000);
            } catch (NullPointerException | ArrayIndexOutOfBoundsException exception) {
                caught++;
            }
        }
        Thread[] threads = new Thread[3];
        for (int index = 0; index < 3; index++) {
            threads[index] = new Thread(() -> {
                for (int turn = 0; turn < 500; turn++) {
                    synchronized (Hot.class) {
                        shared++;
                    }
                }
            });
            threads[index].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println(sum + " " + caught + " " + shared);
        System.exit(5);
    }
}
