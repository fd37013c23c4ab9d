"""Work for Python and its compilers: a loop that runs often, objects that are collected, threads, exceptions, a child."""
import collections
import gc
import hashlib
import re
import subprocess
import threading


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


class Node:
    def __init__(self):
        self.itself = self
        self.some = list(range(20))


def work(thread, results):
    names = {}
    for i in range(1, 600):
        names["k%d" % (i % 97)] = Node()
        results[thread] += collatz(i + thread)


RESULTS = [0] * 4
THREADS = [threading.Thread(target=work, args=(thread, RESULTS)) for thread in range(4)]
for one in THREADS:
    one.start()
for one in THREADS:
    one.join()
gc.collect()
TEXT = " ".join("%d" % (i * 7919 % 1000) for i in range(5000))
print(RESULTS, collections.Counter(re.findall(r"\b\d*7\b", TEXT)).most_common(2))
print(hashlib.md5(TEXT.encode()).hexdigest())
try:
    [][3]
except IndexError as error:
    print(error)
print(subprocess.check_output(["echo", "child"]))
