#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares the calling contexts of a perf.data file in reuse-report's JSON with the stacks that perf itself prints.

usage: perf_stacks.py PERF_DATA REPORT_JSON PROGRAM

Compared are the functions of the program, sample by sample; the libraries that lie between are passed through by
both, but may have other names. Stubs of the procedure linkage table are named for what they call by the report; perf
gives the first of them to the symbol before the table, which is _init. All count as one stub here. Prints how many
samples and contexts were equal; fails at the first difference."""
STUB = "(stub)"
import collections
import json
import os
import re
import subprocess
import sys


def output_of(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def init_bytes(program):
    """The size of _init in bytes: that of its section, as the symbol has none."""
    section = re.search(r" \.init +\S+ +\S+ +\S+ +(\S+)", output_of(["readelf", "-SW", program]))
    return int(section[1], 16)


def stacks_of_perf(path, program):
    text = output_of(["perf", "script", "-i", path, "--no-inline", "-F", "comm,tid,ip,sym,symoff,dso"])
    end_of_init, program = init_bytes(program), os.path.basename(program)

    def function(symbol):
        name, _, offset = symbol.partition("+0x")
        stub = name == "[unknown]" or name.endswith("@plt") or (name == "_init" and int(offset or "0", 16) >= end_of_init)
        return STUB if stub else name

    stacks = collections.Counter()
    for block in text.strip().split("\n\n"):
        frames = [re.fullmatch(r"\s*[0-9a-f]+ (.*) \((.*)\)", line) for line in block.split("\n")[1:]]
        stacks[tuple(function(frame[1]) for frame in frames if frame and os.path.basename(frame[2]) == program)] += 1
    return stacks


def stacks_of_report(path, program):
    stacks = collections.Counter()
    for context in json.load(open(path))["contexts"]:
        functions = [frame["function"] or STUB for frame in context["frames"] if frame["module"] == program]
        names = tuple(STUB if function.endswith("@plt") else function for function in functions)
        stacks[names] += context["samples"]
    return stacks


def main():
    theirs = stacks_of_perf(sys.argv[1], sys.argv[3])
    ours = stacks_of_report(sys.argv[2], os.path.basename(sys.argv[3]))
    for stack in sorted(theirs.keys() | ours.keys()):
        if theirs[stack] != ours[stack]:
            sys.exit(f"perf has {theirs[stack]} samples, we have {ours[stack]}, of {' < '.join(stack)}")
    print(f"{sum(ours.values())} samples, {len(ours)} contexts, {max(map(len, ours))} frames at most")


main()
