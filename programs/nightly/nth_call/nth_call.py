#!/usr/bin/env python3
"""Lets the N-th call of a system call fail, for every N, and looks at how the command ends.

  nth_call.py                        all N of all commands and faults
  nth_call.py --some 40 --seed WORD  40 of them, drawn by the word
  nth_call.py --only record          those whose name has this in it

RL and PR name the programs [target/debug/reuselens, target/debug/presponse]. It ends with 1 if a
command ended in another way than README.md beside this file allows.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
RL = os.environ.get("RL", str(TARGET / "debug/reuselens"))
PR = os.environ.get("PR", str(TARGET / "debug/presponse"))

# Name of a fault: the system calls, and what is injected there.
FAULTS = {
    "no-memory": ("mmap,mremap", "error=ENOMEM"),
    "disk-full": ("write,pwrite64,writev,copy_file_range,fallocate", "error=ENOSPC"),
    "interrupted": (
        "read,pread64,write,pwrite64,open,openat,wait4,waitid,poll,ppoll,fsync,fdatasync,ftruncate,flock,"
        "copy_file_range,nanosleep,clock_nanosleep,getrandom,accept4,connect,recvfrom,sendto",
        "error=EINTR",
    ),
    "disk-broken": ("fsync,fdatasync", "error=EIO"),
}
# How Rust's start of a thread ends where there is no memory: this project has no say there.
OF_RUST = ("failed to allocate an alternative stack", "failed to set up alternative stack guard page")
# How long a command may take before it hangs.
PATIENCE = 60

PROGRAM = """
#include <stdlib.h>
int main(void) {
    int *a = malloc(1 << 16), sum = 0;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 1 << 14; i++) sum += a[i]++;
    return sum & 1;
}
"""
GRAPH = "0 1\n1 2\n2 3\n3 4\n4 0\n1 3\n"


def run(words, folder, log=None, calls=None, fault=None, nth=None, follow=False):
    """Runs a command, under strace where calls are named; what it said and its status."""
    if calls:
        options = ["-qq", "-o", str(log), "-e", f"trace={calls}", "-e", "signal=none"]
        if follow:
            options.append("-f")
        if fault:
            options += ["-e", f"inject={calls}:{fault}:when={nth}"]
        words = ["strace", *options, *words]
    process = subprocess.Popen(
        words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True)
    try:
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return None, "", "it hangs"


def numbers(log, calls):
    """For each of these calls, the numbers of those that can fail: from the first in `main` on, as
    far as one thread makes them, because strace counts each thread by itself. Rust's start begins
    with the only poll."""
    counts, before = {}, None
    for line in Path(log).read_text(errors="replace").splitlines():
        found = re.match(r"(?:(\d+)\s+)?(\w+)\(", line)
        if not found:
            continue
        if found[2] == "poll" and before is None:
            before = {name: count for (_, name), count in counts.items()}
        counts[found[1], found[2]] = counts.get((found[1], found[2]), 0) + 1

    def most(call):
        return max((count for (_, name), count in counts.items() if name == call), default=0)

    return {call: range((before or {}).get(call, 0) + 1, most(call) + 1) for call in calls.split(",")}


def similar(found, expected):
    """Whether it is the same up to what differs between two runs of one program: the loader reads a
    few words more or less."""
    if not isinstance(found, dict) or not isinstance(expected, dict):
        return found == expected

    def total(histogram):
        return histogram["cold"] + sum(count for _, _, count in histogram["counts"])

    return abs(total(found) - total(expected)) < total(expected) / 1000


class Command:
    """A command of reuselens that writes files."""

    def __init__(self, name, words, outputs, follow=True, is_recording=False):
        self.name, self.words, self.outputs = name, words, outputs
        self.follow, self.is_recording = follow, is_recording
        self.expected = {}

    def prepare(self, inputs):
        """What it writes without a fault."""
        with tempfile.TemporaryDirectory() as folder:
            copy(inputs, folder)
            status, _, error = run([RL, *self.words], folder)
            assert status == 0, f"{self.name} without a fault: {status}, {error}"
            self.expected = {name: content(Path(folder) / name) for name in self.outputs}

    def count(self, inputs, calls):
        """Which of these calls of it can fail."""
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as log:
            copy(inputs, folder)
            run([RL, *self.words], folder, log.name, f"{calls},poll", follow=self.follow)
            return numbers(log.name, calls)

    def attempt(self, inputs, fault, call, nth):
        """What is wrong with how it ends; nothing if all is well."""
        injected = FAULTS[fault][1]
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as log:
            copy(inputs, folder)
            before = set(os.listdir(folder))
            status, out, error = run(
                [RL, *self.words], folder, log.name, call, injected, nth, self.follow)
            injected = Path(log.name).read_text(errors="replace")
            is_silenced = re.search(r"write\(2, .*INJECTED", injected) is not None
            wrong = self.ending(status, error, is_silenced)
            if wrong is None and fault == "interrupted" and (status != 0 or "warning" in out + error):
                wrong = f"a call that a signal interrupts is not made again: it ends with {status}"
            if wrong is None:
                wrong = self.files(Path(folder), before, status, out + error)
            return wrong and f"{wrong}; it said: {error.strip()[-300:]!r}"

    def ending(self, status, error, is_silenced):
        if any(text in error for text in OF_RUST):
            return None
        if status is None:
            return "it hangs"
        if "panicked at" in error:
            return "it panics"
        if status not in (0, 1, 4):
            return f"it ends with {status}"
        if status == 1 and "reuselens: " not in error and not is_silenced:
            return "it fails without a word"
        return None

    def files(self, folder, before, status, said):
        for name in self.outputs:
            path = folder / name
            if not path.exists():
                if status == 0:
                    return f"it succeeds, and {name} is missing"
                continue
            found = content(path)
            is_complete = found is not None and similar(found, self.expected[name])
            if found is None or not is_complete and "warning" not in said and not warns(path):
                return f"{name} is not what it should be, without a warning: {shortened(found)}, not {shortened(self.expected[name])}"
        allowed = {f"{name}.partial" for name in self.outputs} if self.is_recording else set()
        left = set(os.listdir(folder)) - before - set(self.outputs) - allowed
        if left:
            return f"it leaves {sorted(left)}"
        for name in allowed & set(os.listdir(folder)):
            status, _, error = run([RL, "analyze", "-q", "-f", "-o", "again", name], folder)
            if status not in (0, 1, 4) or "panicked" in error:
                return f"analyze of {name} ends with {status}: {error}"
        return None


def copy(inputs, folder):
    for path in Path(inputs).iterdir():
        shutil.copy2(path, folder)


def content(path):
    """What a file says: of a trace the accesses and distances in it, of a page nothing."""
    if path.suffix == ".rltrace":
        with tempfile.TemporaryDirectory() as folder:
            words = [RL, "analyze", "-q", "--by", "program", "--json", "-", "-o", "t", str(path)]
            status, out, _ = run(words, folder)
            return status == 0 and json.loads(out)["histogram"] or None
    if path.suffix == ".json":
        try:
            return json.loads(path.read_text())["histogram"]
        except (ValueError, KeyError):
            return None
    if path.suffix == ".html":
        return path.read_text().rstrip().endswith("</html>") or None
    if path.suffix == ".rlprof":
        status, out, _ = run([RL, "report", str(path), "--json", "-"], path.parent)
        return status in (0, 4) and json.loads(out)["histogram"] or None
    return path.read_bytes()


def shortened(found):
    return repr(found)[:120]


def warns(path):
    """Whether a profile says itself that it is not complete, and so do its page and its trace."""
    profile = path if path.suffix == ".json" else path.with_suffix(".json")
    try:
        return bool(json.loads(profile.read_text())["warnings"])
    except (OSError, ValueError, KeyError):
        return False


class Service:
    """`presponse serve`, killed at a call, or with a disk that refuses."""

    name = "serve"
    BATCHES = 6

    def words(self, graph):
        return [PR, "serve", *graph, "--state", "state", "--socket", "socket", "--snapshot-every", "3"]

    def prepare(self, inputs):
        pass

    def count(self, inputs, calls):
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as log:
            copy(inputs, folder)
            options = ["-f", "-qq", "-o", log.name, "-e", "signal=none"]
            if calls:
                options += ["-e", f"trace={calls},poll"]
            acknowledged, _, listened, error = self.serve(folder, options)
            assert listened and len(acknowledged) == self.BATCHES, f"serve without a fault: {error}"
            if calls:
                return numbers(log.name, calls)
            counts = {}
            for line in Path(log.name).read_text(errors="replace").splitlines():
                thread = line.split(" ", 1)[0]
                counts[thread] = counts.get(thread, 0) + ("(" in line)
            return {"all": range(1, max(counts.values()) + 1)}

    def attempt(self, inputs, fault, call, nth):
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as log:
            copy(inputs, folder)
            options = ["-f", "-qq", "-o", log.name, "-e", "signal=none"]
            if fault == "killed":
                options += ["-e", f"inject=all:signal=KILL:when={nth}"]
            else:
                options += ["-e", f"trace={call}", "-e", f"inject={call}:{FAULTS[fault][1]}:when={nth}"]
            acknowledged, asked, listened, error = self.serve(folder, options)
            if "panicked at" in error:
                return f"it panics: {error}"
            if fault == "interrupted" and len(acknowledged) != self.BATCHES:
                return f"a call that a signal interrupts is not made again: {acknowledged}, {error[-300:]!r}"
            wrong = self.restart(Path(folder), acknowledged, asked, listened)
            return wrong and f"{wrong}; acknowledged {acknowledged}, listened {listened}, it said: {error[-300:]!r}"

    def serve(self, folder, options):
        """Starts it, sends batches, ends it. Returns the edges that it acknowledged, the one that it was
        asked for without an answer, whether it listened, and what it said."""
        words = ["strace", *options, *self.words(["graph.txt"])]
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said,
                start_new_session=True)
            listened = listens(process)
            acknowledged, asked = [], None
            if listened:
                client = Client(folder)
                for number in range(1, self.BATCHES + 1):
                    asked = (number, number + 10)
                    reply = client.ask(f"apply 1\n+ {asked[0]} {asked[1]}\n")
                    if reply is None:
                        break
                    if reply.get("ok"):
                        acknowledged.append(asked)
                    asked = None
                client.close()
            stop(process)
            said.seek(0)
            return acknowledged, asked, listened, said.read().decode(errors="replace")

    def restart(self, folder, acknowledged, asked, listened):
        had_lock = (folder / "state/lock").exists()
        graph = [] if had_lock else ["graph.txt"]
        for _ in range(2):
            with tempfile.TemporaryFile() as said:
                process = subprocess.Popen(
                    self.words(graph), cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=said, start_new_session=True)
                if listens(process):
                    return self.compare(folder, process, acknowledged, asked)
                status = stop(process)
                said.seek(0)
                error = said.read().decode(errors="replace")
            if "panicked" in error or "presponse: " not in error or status not in (1, 2):
                return f"a start after it ends with {status}: {error}"
            if listened:
                return f"a start after it is refused: {error}"
            # Nothing was served yet: the message says that the graph is to be named again.
            graph = ["graph.txt"]
        return f"a start with the graph is refused too: {error}"

    def compare(self, folder, process, acknowledged, asked):
        edges = {tuple(map(int, line.split())) for line in GRAPH.splitlines()}
        client = Client(folder)
        totals = client.ask("totals\n")
        found = set()
        if totals:
            for vertex in range(0, 20):
                reply = client.ask(f"neighbors {vertex}\n") or {}
                for other in reply.get("neighbors") or []:
                    found.add((min(vertex, other), max(vertex, other)))
        client.close()
        stop(process)
        if not totals:
            return "a start after it does not answer"
        # A batch without an answer may be there or not.
        possible = [acknowledged] if asked is None else [acknowledged, [*acknowledged, asked]]
        kept = next((kept for kept in possible if len(kept) == totals["batch"]), None)
        if kept is None:
            return f"a start after it has batch {totals['batch']}"
        wanted = {(min(edge), max(edge)) for edge in edges} | set(kept)
        if found != wanted:
            return f"a start after it has wrong edges: {sorted(found ^ wanted)}"
        return None


class Client:
    """A connection to the service in a folder."""

    def __init__(self, folder):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        here = os.open(folder, os.O_PATH)
        try:
            # A path of a socket is short.
            self.socket.connect(f"/proc/self/fd/{here}/socket")
            self.input = self.socket.makefile()
        except OSError:
            self.input = None
        finally:
            os.close(here)

    def ask(self, text):
        """The reply; none if the service has gone."""
        try:
            self.socket.sendall(text.encode())
            return json.loads(self.input.readline())
        except (OSError, ValueError, AttributeError):
            return None

    def close(self):
        self.socket.close()


def listens(process):
    """Waits until the service says that it listens; false if it ends before."""
    for line in process.stdout:
        if line.startswith(b"Listening at"):
            return True
    return False


def stop(process):
    """Asks a process to end, and its status."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            pass
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def commands():
    profile = ["-q", "-f", "--json", "out.json", "-o", "out"]
    files = ["out.json", "out.rlprof", "out.html"]
    return [
        Command("analyze", ["analyze", *profile, "t.rltrace"], files),
        Command("convert-text", ["convert", "-q", "-f", "t.rltrace", "out.txt"], ["out.txt"]),
        Command("convert-native", ["convert", "-q", "-f", "t.rltrace", "out.rltrace"], ["out.rltrace"]),
        # strace cannot follow the child of a command that traces it itself.
        Command("record", ["record", "-q", "-f", "-o", "out.rltrace", "--", "./program"], ["out.rltrace"],
                follow=False, is_recording=True),
        Command("profile", ["profile", *profile, "--", "./program"], files, follow=False),
    ]


def faults_of(command):
    if isinstance(command, Service):
        return ["killed", "disk-full", "interrupted", "disk-broken"]
    return ["no-memory", "disk-full", "interrupted"]


def make_inputs(folder):
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-O1", "program.c", "-o", "program"], cwd=folder, check=True)
    (folder / "graph.txt").write_text(GRAPH)
    status, _, error = run([RL, "record", "-q", "-o", "t.rltrace", "--", "./program"], folder)
    assert status == 0, error


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--some", type=int, help="how many attempts are drawn; without it, all are made")
    parser.add_argument("--seed", default="", help="what they are drawn by")
    parser.add_argument("--only", default="", help="only commands and faults with this in their name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as inputs, ThreadPoolExecutor(options.jobs) as pool:
        make_inputs(Path(inputs))
        attempts, prepared = [], []
        kinds = [(command, fault) for command in [*commands(), Service()] for fault in faults_of(command)]
        kinds = [kind for kind in kinds if options.only in f"{kind[0].name} {kind[1]}"]
        list(pool.map(lambda command: command.prepare(inputs), {kind[0] for kind in kinds}))
        counted = pool.map(
            lambda kind: kind[0].count(inputs, FAULTS[kind[1]][0] if kind[1] in FAULTS else None), kinds)
        for (command, fault), count in zip(kinds, counted):
            which = ", ".join(f"{call} {len(found)}" for call, found in count.items() if found)
            prepared.append(f"{command.name} {fault}: {which}")
            attempts += [(command, fault, call, nth) for call, found in count.items() for nth in found]
        print("\n".join(prepared), flush=True)
        if options.some is not None and options.some < len(attempts):
            attempts = random.Random(options.seed).sample(attempts, options.some)

        def attempt(what):
            command, fault, call, nth = what
            return f"{command.name} {fault} {call} {nth}", command.attempt(inputs, fault, call, nth)

        wrong = 0
        for name, why in pool.map(attempt, attempts):
            if why:
                wrong += 1
                print(f"{name}: {why}", flush=True)
    seconds = time.monotonic() - started
    print(f"{len(attempts)} attempts, {wrong} ended wrongly; {seconds:.0f} s, drawn by {options.seed!r}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
