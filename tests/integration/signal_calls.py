#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""System calls in the handlers of SIGTRAP, out of a trace of strace -f: signal_calls.py TRACE

Prints "samples N median M armed N median M exchanged few": handlers that armed no debug register and the
median of their calls, those that armed one, and whether signal dispositions were looked at or changed more
often than once in 20 handlers. Two things do not count: reading a counter (24 bytes), which rdpmc does where
hardware counts; and reading the time, a system call only where the machine's clock source cannot be read
without one.
"""
import re
import statistics
import sys

inside, frames = {}, []
for line in open(sys.argv[1], errors="replace"):
    match = re.match(r"(\d+) +(.*)", line)
    if not match:
        continue
    thread, what = match.groups()
    if "--- SIGTRAP" in what:
        inside[thread] = []
    elif thread in inside and what.startswith("rt_sigreturn"):
        frames.append(inside.pop(thread))
    elif thread in inside and not re.match(r"(read\(.*, 24\)|clock_gettime\(CLOCK_MONOTONIC,|<\.\.\.|---)", what):
        inside[thread].append(what)

# The first samples open the registers and have the period changed each time.
frames = frames[len(frames) // 3:]
armed = [len(f) for f in frames if any("MODIFY_ATTRIBUTES" in call for call in f)]
samples = [len(f) for f in frames if not any("MODIFY_ATTRIBUTES" in call for call in f)]
exchanged = sum("rt_sigaction" in call for f in frames for call in f)
print("samples", len(samples), "median", int(statistics.median(samples or [99])),
      "armed", len(armed), "median", int(statistics.median(armed or [99])), "exchanged",
      "few" if exchanged <= 2 + len(frames) // 20 else exchanged)
