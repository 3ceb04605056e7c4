# SPDX-License-Identifier: BSD-3-Clause
"""Writes commands for profile_script: a profile of report_program, as a sampling run would make it.

usage: report_profile.py PROGRAM [SEED] > COMMANDS

The program sweeps a matrix of 8 MB again and again while it uses 32 KiB of weights. Each sample's
outcome is drawn so that the truth is known: 7/8 of the accesses are reused two accesses later; the
rest come back after a whole sweep (matrix: 2 M accesses) or after the weights (8192 accesses).
Addresses of code come from objdump, of data from nm.
"""
import random
import re
import subprocess
import sys

program = sys.argv[1]
random.seed(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
BIAS = 0x555555554000
SAMPLES = 4000
PER_NS = 0.4  # accesses per nanosecond of the only loop


def output(*command):
    return subprocess.check_output(command, text=True)


functions, name = {}, None
for line in output("objdump", "-d", "--no-show-raw-insn", program).splitlines():
    if match := re.match(r"[0-9a-f]+ <(.+)>:", line):
        name = match[1]
        functions[name] = []
    elif match := re.match(r" +([0-9a-f]+):\s+(.*)", line):
        functions[name].append((int(match[1], 16) + BIAS, match[2]))
symbols = {}
for line in output("nm", program).splitlines():
    fields = line.split()
    if len(fields) == 3:
        symbols[fields[2]] = int(fields[0], 16) + BIAS
build_id = re.search(r"Build ID: (\w+)", output("readelf", "-n", program))[1]


def return_address(caller, callee):
    """Address after the first call of callee in caller."""
    code = functions[caller]
    for i, (_, text) in enumerate(code):
        if "call" in text and re.search(rf"<{callee}(@plt)?>", text):
            return code[i + 1][0]
    raise SystemExit(f"{caller} does not call {callee}")


loads = [a for a, text in functions["dot"] if "(%r" in text and "nop" not in text and "lea" not in text]
matrix_ip, weights_ip = loads[0], loads[-1]
print("defaults")
print(f"run program {program}")
print("run command ./report_program 1")
print(f"module {build_id} {BIAS:#x} {BIAS + 0x10000:#x} {BIAS:#x} {program}")
print("thread 1001 first\nthread 1002 second")
print(f"context 0 {return_address('main', 'dot'):#x}")  # 1
print(f"context 1 {matrix_ip:#x}\ncontext 1 {weights_ip:#x}")  # 2, 3
print(f"context 0 {return_address('main', 'malloc'):#x}")  # 4
print("site 4 1\nsite_totals 1 1 8000000 8000000")
for thread in 1, 2:
    for _ in range(20):
        print(f"rate {thread} {matrix_ip:#x} {int(PER_NS * 1e6 * random.gauss(1, 0.02))} 1000000")
for i in range(SAMPLES):
    thread = 2 if i % 4 == 0 else 1
    on_matrix = i % 2 == 1
    ip = matrix_ip if on_matrix else weights_ip
    what = f"ip={ip:#x} loop={matrix_ip:#x}"
    if on_matrix:
        address = 0x7FFFF0000000 + random.randrange(1000000) * 8
        what += f" kind=1 reference=1 size=8000000 address={address:#x}"
        watched = int(2000000 / PER_NS * random.uniform(0.98, 1.02))
    else:
        what += f" kind=2 reference=1 address={symbols['weights'] + random.randrange(4096) * 8:#x}"
        watched = int(8192 / PER_NS * random.uniform(0.98, 1.02))
    if i % 16 < 14:
        what += f" reuse=2 reuse_ip={ip:#x}"
    else:
        mode = random.choice((1, 2))
        if on_matrix and random.random() < 0.2:
            what += f" watch={mode} end=3:{int(watched * random.uniform(0.1, 0.9))}:0"
        else:
            what += f" watch={mode} end=1:{watched}:{ip + 4:#x}"
    print(f"sample {thread} {2 if on_matrix else 3} {what}")
print("totals 1 3000000000 30000000 0=5 6=3\ntotals 2 1000000000 10000000")
print("note 1 engine pmu was passed over: no hardware counters")
print("finish")
