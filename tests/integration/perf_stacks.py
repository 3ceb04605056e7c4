#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the calling contexts of a perf.data file in reuse-report's JSON with the stacks that perf itself prints.

usage: perf_stacks.py PERF_DATA REPORT_JSON PROGRAM

Compared are the functions of the program, sample by sample; the libraries that lie between are passed through by
both, but may have other names. Prints how many samples and contexts were equal; fails at the first difference."""
import collections
import json
import os
import re
import subprocess
import sys


def stacks_of_perf(path, program):
    text = subprocess.run(["perf", "script", "-i", path, "--no-inline", "-F", "comm,tid,ip,sym,dso"],
                          capture_output=True, text=True, check=True).stdout
    stacks = collections.Counter()
    for block in text.strip().split("\n\n"):
        frames = [re.fullmatch(r"\s*[0-9a-f]+ (.*) \((.*)\)", line) for line in block.split("\n")[1:]]
        stacks[tuple(frame[1] for frame in frames if frame and os.path.basename(frame[2]) == program)] += 1
    return stacks


def stacks_of_report(path, program):
    stacks = collections.Counter()
    for context in json.load(open(path))["contexts"]:
        names = tuple(frame["function"] for frame in context["frames"] if frame["module"] == program)
        stacks[names] += context["samples"]
    return stacks


def main():
    program = os.path.basename(sys.argv[3])
    theirs, ours = stacks_of_perf(sys.argv[1], program), stacks_of_report(sys.argv[2], program)
    for stack in sorted(theirs.keys() | ours.keys()):
        if theirs[stack] != ours[stack]:
            sys.exit(f"perf has {theirs[stack]} samples, we have {ours[stack]}, of {' < '.join(stack)}")
    print(f"{sum(ours.values())} samples, {len(ours)} contexts, {max(map(len, ours))} frames at most")


main()
