#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Gives changed programs to the whole reuse-report: the profile names PLACE as a module, and what stands there is
changed. Debug information that crashes the library that reads it must cost one line and its names, not the report.

usage: programs.py SECONDS[/COUNT] REUSE_REPORT PROFILE PLACE PROGRAM...

Each PROGRAM as it is, then changed ones for SECONDS, COUNT at most. Seed: FUZZ_SEED, else the time. A program that breaks
the report is kept beside PLACE; the exit status is 1 then."""
import os
import random
import re
import subprocess
import sys
import time

LINES_MAX = 4


def changed(program):
    content = bytearray(program)
    for _ in range(random.choice((1, 2, 8, 40))):
        at = random.randrange(len(content))
        content[at:at + random.choice((1, 1, 4))] = bytes([random.choice((0, 1, 0x7f, 0x80, 0xff, random.randrange(256)))])
    return bytes(content[:random.randrange(1, len(content))] if random.randrange(8) == 0 else content)


def complaint(report, profile):
    """What is wrong with the report, and whether it had to be made again; (None, ...) if nothing is."""
    try:
        done = subprocess.run([report, "--objects", "--lines", "--top", "100", profile], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "does not end", False
    lines = done.stderr.decode(errors="replace").splitlines()
    again = sum("crashes its reader" in line for line in lines)
    ours = [line for line in lines if line.startswith("reuse-report: ")]
    if done.returncode != 0:
        return f"status {done.returncode}", again > 0
    if again > 2 or len(ours) > LINES_MAX or (len(lines) > len(ours) and not again):
        return "says " + repr(lines[:5]), again > 0
    if not re.search(rb"^== ", done.stdout, re.M):
        return "no report", again > 0
    return None, again > 0


def main():
    seconds, _, count = sys.argv[1].partition("/")
    report, profile, place = sys.argv[2:5]
    programs = [open(name, "rb").read() for name in sys.argv[5:]]
    seed = int(os.environ.get("FUZZ_SEED", time.time()))
    print(f"# FUZZ_SEED={seed}", flush=True)
    random.seed(seed)
    end, inputs, size, bad, again = time.monotonic() + float(seconds), 0, 0, 0, 0
    while inputs < len(programs) or (time.monotonic() < end and not (count and inputs >= int(count))):
        content = programs[inputs] if inputs < len(programs) else changed(random.choice(programs))
        with open(place, "wb") as file:
            file.write(content)
        wrong, crashed = complaint(report, profile)
        again += crashed
        if wrong:
            kept = f"{place}-bad-{bad}"
            os.replace(place, kept)
            print(f"failed: {kept}: {wrong}")
            bad += 1
        inputs += 1
        size += len(content)
    print(f"# changed programs, whole reports: {inputs} inputs, {size} bytes, {again} made again after a crash")
    return bad > 0


sys.exit(main())
