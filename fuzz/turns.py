#!/usr/bin/env python3
"""Runs the fuzz targets by turns, each for a while. Ends with 1 if one of them finds something.

  cargo build --release && ./turns.py --each 5          all targets, 5 seconds each
  ./turns.py --each 600 --write native csv              these two, and adds the time to HOURS.md
  ./turns.py --keep                                     moves the best of found/ into corpus/

What is found lands in found/TARGET/: inputs that reach further code, and crash-…, timeout-…, oom-….
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target"))
TARGETS = sorted(path.stem for path in (HERE / "src/targets").glob("*.rs"))
# What a target's corpus may have: inputs, and bytes of one of them.
MOST_INPUTS, MOST_BYTES = 60, 4096


def command(binary, name, *options):
    return subprocess.Popen(
        [binary, *options], cwd=HERE, env={**os.environ, "FUZZ_TARGET": name},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")


def folders(name):
    found, corpus = HERE / "found" / name, HERE / "corpus" / name
    found.mkdir(parents=True, exist_ok=True)
    corpus.mkdir(parents=True, exist_ok=True)
    return str(found), str(corpus)


def turn(binary, name, seconds):
    """Runs one target; seconds, executions, and what it said if it failed."""
    found, corpus = folders(name)
    begun = time.monotonic()
    running = command(
        binary, name, f"-max_total_time={seconds}", "-timeout=60", "-rss_limit_mb=2048", "-print_final_stats=1",
        "-verbosity=1", f"-artifact_prefix={found}/", found, corpus)
    said = running.communicate()[1]
    executed = re.search(r"number_of_executed_units: +(\d+)", said)
    failed = said[-3000:] if running.returncode != 0 else None
    return time.monotonic() - begun, int(executed[1]) if executed else 0, failed


def keep(binary, name):
    """Replaces what was kept of a target by the smallest inputs that together reach all code."""
    found, corpus = folders(name)
    with tempfile.TemporaryDirectory() as merged:
        said = command(binary, name, "-merge=1", "-timeout=60", merged, corpus, found).communicate()[1]
        inputs = sorted(Path(merged).iterdir(), key=lambda path: (path.stat().st_size, path.name))
        inputs = [path for path in inputs if path.stat().st_size <= MOST_BYTES]
        if not inputs:
            return f"{name}: nothing merged: {said[-500:]}"
        for path in Path(corpus).iterdir():
            if re.fullmatch(r"[0-9a-f]{16}", path.name):
                path.unlink()
        # Of all sizes, so that what only a long input reaches is kept too.
        step = max(1.0, len(inputs) / MOST_INPUTS)
        chosen = [inputs[int(at * step)] for at in range(min(MOST_INPUTS, len(inputs)))]
        for path in chosen:
            content = path.read_bytes()
            shutil.copy(path, Path(corpus) / hashlib.sha256(content).hexdigest()[:16])
        return f"{name}: {len(chosen)} of {len(inputs)} inputs kept"


def write(ran):
    """Adds to the table of HOURS.md."""
    path = HERE / "HOURS.md"
    text = path.read_text()
    rows = {}
    for name, seconds, executions in re.findall(r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \|$", text, re.M):
        rows[name] = [int(seconds.replace(",", "")), int(executions.replace(",", ""))]
    for name in TARGETS:
        rows.setdefault(name, [0, 0])
    for name, (seconds, executions, _) in ran.items():
        rows[name][0] += round(seconds)
        rows[name][1] += executions
    table = [f"| {name} | {rows[name][0]:,} | {rows[name][1]:,} |" for name in TARGETS]
    head, rest = text.split("|---|--:|--:|\n")
    after = rest.split("\n\n", 1)
    after = "\n" + after[1] if len(after) > 1 else ""
    path.write_text(head + "|---|--:|--:|\n" + "\n".join(table) + "\n" + after)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help="which targets; without them, all")
    parser.add_argument("--each", type=int, default=5, help="seconds for each")
    parser.add_argument("--jobs", type=int, default=1, help="how many run at the same time")
    parser.add_argument("--profile", default="release", help="of which build the binary is")
    parser.add_argument("--write", action="store_true", help="add the time to HOURS.md")
    parser.add_argument("--keep", action="store_true", help="run nothing, and move inputs into the corpus")
    options = parser.parse_args()
    binary = str(TARGET / "x86_64-unknown-linux-gnu" / options.profile / "fuzz")
    names = options.targets or TARGETS
    unknown = set(names) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}; there are {' '.join(TARGETS)}")
    with ThreadPoolExecutor(options.jobs) as pool:
        if options.keep:
            for line in pool.map(lambda name: keep(binary, name), names):
                print(line)
            return 0

        def run(name):
            ran = turn(binary, name, options.each)
            if options.write and options.jobs == 1:
                write({name: ran})
            print(f"{name}: {ran[1]:,} executions in {ran[0]:.0f} s{', FAILED' if ran[2] else ''}", flush=True)
            return ran

        failed = [(name, ran[2]) for name, ran in zip(names, pool.map(run, names)) if ran[2]]
    for name, said in failed:
        print(f"\n== {name} failed; the input is in found/{name}\n{said}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
