#!/usr/bin/env python3
"""Runs the fuzz targets by turns, each for a while. Ends with 1 if one of them finds something.

  cargo build --release --features libfuzzer && ./turns.py --each 5   all targets, 5 seconds each
  ./turns.py --each 600 --write native csv   these two, and adds the time to HOURS.md
  ./turns.py --jobs 2 --seed WORD            two at a time; WORD draws what libFuzzer tries
  ./turns.py --keep                          copies the best of found/ into corpus/

found/TARGET/ gets the inputs that reach further code, and crash-…, timeout-…, oom-… and slow-unit-….
"""

import argparse
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
BINARY = TARGET / "x86_64-unknown-linux-gnu/release/fuzz"
TARGETS = sorted(path.stem for path in (HERE / "src/targets").glob("*.rs"))
# What a target's corpus may have: inputs, and bytes of one of them.
MOST_INPUTS, MOST_BYTES = 60, 4096
# Seconds after which an input hangs, and after which it is slow.
HANGS, SLOW = 60, 10
# Up to which size an input is printed.
PRINTED = 1024
# The inputs that libFuzzer writes because it dislikes them.
ARTIFACT = re.compile(r"(crash|timeout|oom|leak|slow-unit)-[0-9a-f]{40}")
HOURS = threading.Lock()


@dataclass
class Turn:
    """What one run of a target did: `failed` is what it said, if it found something."""

    seconds: float
    executions: int
    failed: str | None


def run(name, temporary, options):
    """Runs a target to its end; its exit status and what it said."""
    ended = subprocess.run(
        [BINARY, *options], cwd=HERE, env={**os.environ, "FUZZ_TARGET": name, "TMPDIR": temporary},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    return ended.returncode, ended.stderr


def folders(name):
    found, corpus = HERE / "found" / name, HERE / "corpus" / name
    found.mkdir(parents=True, exist_ok=True)
    corpus.mkdir(parents=True, exist_ok=True)
    return found, corpus


def artifacts(found):
    return {path for path in found.iterdir() if ARTIFACT.fullmatch(path.name)}


def show(path):
    """An input that was found: where it is, and itself if it is short."""
    content = path.read_bytes()
    shown = f"{path.relative_to(HERE)}, {len(content)} bytes"
    if len(content) <= PRINTED:
        shown += f", base64: {base64.b64encode(content).decode()}"
    return shown


def turn(name, seconds, seed):
    """Runs one target for a while. An input that is slow or leaves unfinished files fails too."""
    found, corpus = folders(name)
    before = artifacts(found)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="reuselens-turn-") as temporary:
        status, said = run(name, temporary, [
            f"-max_total_time={seconds}", f"-seed={seed}", f"-timeout={HANGS}", f"-report_slow_units={SLOW}",
            "-rss_limit_mb=2048", "-print_final_stats=1", f"-artifact_prefix={found}/", str(found), str(corpus)])
        left = [path.name for path in Path(temporary).rglob("*partial*")]
    executed = re.search(r"number_of_executed_units: +(\d+)", said)
    executions = int(executed[1]) if executed else 0
    new = sorted(artifacts(found) - before)
    reasons = [show(path) for path in new]
    if left:
        reasons.append(f"unfinished files: {' '.join(left[:5])}")
    if status != 0:
        reasons.append(f"exit status {status}; the end of what it said:\n{said[-3000:]}")
    elif executions == 0:
        reasons.append(f"nothing was executed:\n{said[-3000:]}")
    return Turn(time.monotonic() - begun, executions, "\n".join(reasons) or None)


def keep(name):
    """Replaces what was kept of a target by the smallest inputs that together reach all code."""
    found, corpus = folders(name)
    with tempfile.TemporaryDirectory() as merged, tempfile.TemporaryDirectory() as temporary:
        said = run(name, temporary, [
            "-merge=1", f"-timeout={HANGS}", f"-artifact_prefix={temporary}/", merged, str(corpus), str(found)])[1]
        inputs = sorted(Path(merged).iterdir(), key=lambda path: (path.stat().st_size, path.name))
        inputs = [path for path in inputs if path.stat().st_size <= MOST_BYTES]
        if not inputs:
            return f"{name}: nothing merged: {said[-500:]}"
        for path in corpus.iterdir():
            if re.fullmatch(r"[0-9a-f]{16}", path.name):
                path.unlink()
        # Of all sizes, so that what only a long input reaches is kept too.
        step = max(1.0, len(inputs) / MOST_INPUTS)
        chosen = [inputs[int(at * step)] for at in range(min(MOST_INPUTS, len(inputs)))]
        for path in chosen:
            content = path.read_bytes()
            shutil.copyfile(path, corpus / hashlib.sha256(content).hexdigest()[:16])
        return f"{name}: {len(chosen)} of {len(inputs)} inputs kept"


def write(name, ran):
    """Adds a turn to the table of HOURS.md."""
    path = HERE / "HOURS.md"
    rows = {target: (0, 0) for target in TARGETS}
    head, table = path.read_text().split("|---|--:|--:|\n")
    for target, seconds, executions in re.findall(r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \|$", table, re.M):
        rows[target] = int(seconds.replace(",", "")), int(executions.replace(",", ""))
    seconds, executions = rows[name]
    rows[name] = seconds + round(ran.seconds), executions + ran.executions
    lines = [f"| {target} | {rows[target][0]:,} | {rows[target][1]:,} |\n" for target in TARGETS]
    path.write_text(head + "|---|--:|--:|\n" + "".join(lines))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help="which targets; without them, all")
    parser.add_argument("--each", type=int, default=5, help="seconds for each")
    parser.add_argument("--rounds", type=int, default=1, help="how often each has its turn")
    parser.add_argument("--jobs", type=int, default=1, help="how many run at the same time")
    parser.add_argument("--seed", help="a word that draws what libFuzzer tries; without it, the clock does")
    parser.add_argument("--write", action="store_true", help="add the time to HOURS.md")
    parser.add_argument("--keep", action="store_true", help="fuzz nothing, and copy inputs into the corpus")
    options = parser.parse_args()
    unknown = set(options.targets) - set(TARGETS)
    if unknown:
        parser.error(f"no such target: {', '.join(sorted(unknown))}; there are {' '.join(TARGETS)}")
    return options


def fuzz(name, options, number):
    """One turn of a target, which it prints; whether it found nothing."""
    # 0 is libFuzzer's word for the clock.
    word = f"{options.seed} {name} {number}".encode()
    seed = int(hashlib.sha256(word).hexdigest()[:7], 16) + 1 if options.seed else 0
    ran = turn(name, options.each, seed)
    # One write to the output, so that two jobs do not mix their lines.
    said = f"{name}: {ran.executions:,} executions in {ran.seconds:.0f} s"
    if ran.failed:
        said += f": FAILED (seed {seed})\n{ran.failed}"
    with HOURS:
        if options.write:
            write(name, ran)
        print(said, flush=True)
    return ran.failed is None


def main():
    options = arguments()
    if not BINARY.exists():
        print(f"{BINARY} is missing: type `cargo build --release --features libfuzzer` in {HERE}", file=sys.stderr)
        return 2
    names = options.targets or TARGETS
    with ThreadPoolExecutor(options.jobs) as pool:
        if options.keep:
            for line in pool.map(keep, names):
                print(line, flush=True)
            return 0
        turns = [(name, number) for number in range(options.rounds) for name in names]
        fine = list(pool.map(lambda at: fuzz(at[0], options, at[1]), turns))
    failed = sorted({name for (name, _), passed in zip(turns, fine) if not passed})
    if failed:
        print(f"{len(failed)} of {len(names)} targets failed: {' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
