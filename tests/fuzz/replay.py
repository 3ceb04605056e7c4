#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Damages recordings (docs/replay.md) and repeats them with the whole program. Each must end in order: by itself, with
status 0 or 1, and with few lines, each of reuse's own. What does not is kept.

usage: replay.py SECONDS[/COUNT] REUSE_RUN FOLDER TAPE...

As many as SECONDS allow, COUNT at most. Seed: FUZZ_SEED, else the time."""
import glob
import os
import random
import re
import subprocess
import sys
import time

LINES_MAX = 3  # an option that is bad, a divergence, an end


def damaged(whole):
    """The beginning of a tape with some bytes changed, or with a piece of it elsewhere."""
    tape = bytearray(whole[:random.randrange(len(whole) // 8, len(whole) + 1)])
    for _ in range(random.choice((0, 1, 4, 64, 2000))):
        at = random.randrange(8, len(tape))
        tape[at] = random.choice((0, 255, tape[at] ^ 1 << random.randrange(8), random.randrange(256)))
    if random.randrange(3) == 0:
        start, to = random.randrange(8, len(tape)), random.randrange(8, len(tape))
        piece = tape[start:start + random.randrange(1, 200)]
        tape[to:to + random.choice((0, len(piece)))] = piece
    return bytes(tape)


def complaint(run, tape, profile):
    """What is wrong with how a tape was repeated; None if nothing is."""
    try:
        done = subprocess.run([run, "--replay", tape, "-o", profile], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "does not end"
    lines = done.stderr.decode(errors="replace").splitlines()
    if done.returncode not in (0, 1):
        return f"status {done.returncode}"
    if done.returncode == 1 and not lines:
        return "fails without a line"
    if len(lines) > LINES_MAX or any(not re.match(r"(libreuse|reuse-run): ", line) for line in lines):
        return "says " + repr(lines[:5])
    return None


def main():
    seconds, _, count = sys.argv[1].partition("/")
    run, folder, tapes = sys.argv[2], sys.argv[3], [open(name, "rb").read() for name in sys.argv[4:]]
    seed = int(os.environ.get("FUZZ_SEED", time.time()))
    print(f"# FUZZ_SEED={seed}", flush=True)
    random.seed(seed)
    end, inputs, size, bad = time.monotonic() + float(seconds), 0, 0, 0
    tape, profile = os.path.join(folder, "damaged.tape"), os.path.join(folder, "damaged.rprof")
    while time.monotonic() < end and not (count and inputs >= int(count)):
        bytes_ = damaged(random.choice(tapes))
        for name in glob.glob(os.path.join(folder, "damaged*.rprof")):
            os.unlink(name)
        with open(tape, "wb") as file:
            file.write(bytes_)
        inputs += 1
        size += len(bytes_)
        wrong = complaint(run, tape, profile)
        if wrong:
            bad += 1
            kept = os.path.join(folder, f"bad-{seed}-{inputs}.tape")
            os.replace(tape, kept)
            print(f"{kept}: {wrong}")
    print(f"# damaged recordings: {inputs} inputs, {size} bytes")
    return 1 if bad else 0


sys.exit(main())
