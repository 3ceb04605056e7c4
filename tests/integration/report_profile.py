# SPDX-License-Identifier: BSD-3-Clause
"""Writes commands for profile_script: a profile of report_program, as a sampling run would make it.

usage: report_profile.py PROGRAM [SEED] > COMMANDS

The program sweeps a matrix of 8 MB again and again while it uses 32 KiB of weights, an access to
each in turn. So 7/8 of the accesses are reused two accesses later; the rest come back after a whole
sweep (matrix: 2 M accesses) or after the weights (8192 accesses), which some watches see. One burst
in four tells other line sizes as well. Addresses of code come from objdump, of data from nm.
"""
import random
import re
import subprocess
import sys

program = sys.argv[1]
random.seed(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
BIAS = 0x555555554000
BURSTS = 4000
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


def probes(ip, what, wide):
    """The 1024 probes of one instruction: of 8 bytes that follow one another."""
    sizes = {"": 64, "half/": 32, "twice/": 128, "four/": 256} if wide else {"": 64}
    near, late = [], []
    for name, size in sizes.items():
        lines = 8192 // size
        near.append(f"{name}1:2={1024 - lines}")
        for k in range(8):  # at the burst's end each line has 4096 to 2048 accesses behind it
            time = 2176 + 256 * k
            late.append(f"{name}open:{time * 8 // size - 1}:{time}={lines // 8}")
    where = f"path=1 {what}"
    print(f"probes {ip:#x} reuse_ip={ip:#x} {where} {' '.join(near)}")
    print(f"probes {ip:#x} {where} {' '.join(late)}")


MATRIX, WEIGHTS = "kind=1 reference=1", f"kind=2 reference=1 place={symbols['weights']:#x}"
for i in range(BURSTS):
    thread = 2 if i % 4 == 0 else 1
    probes(matrix_ip, MATRIX, i // 4 % 4 == 0)
    probes(weights_ip, WEIGHTS, i // 4 % 4 == 0)
    print(f"burst {thread} 2 loop={matrix_ip:#x}")
    # As in a real loop, each burst has a reading of the access rate.
    print(f"rate {thread} {matrix_ip:#x} {int(PER_NS * 1e6 * random.gauss(1, 0.02))} 1000000")
    if i % 8 < 7:
        continue
    on_matrix = i % 16 == 15
    ip = matrix_ip if on_matrix else weights_ip
    time = 2176 + 256 * random.randrange(8)
    what = f"ip={ip:#x} loop={matrix_ip:#x} burst={i + 1} flags=1 ahead={time} lines_ahead={time // 8}"
    if on_matrix:
        address = 0x7FFFF0000000 + random.randrange(1000000) * 8
        what += f" {MATRIX} size=8000000 address={address:#x}"
        watched = int(2000000 / PER_NS * random.uniform(0.98, 1.02))
    else:
        what += f" kind=2 reference=1 address={symbols['weights'] + random.randrange(4096) * 8:#x}"
        watched = int(8192 / PER_NS * random.uniform(0.98, 1.02))
    mode = random.choice((1, 2))
    if on_matrix and random.random() < 0.2:
        what += f" watch={mode} end=3:{int(watched * random.uniform(0.1, 0.9))}:0"
    else:
        what += f" watch={mode} end=1:{watched}:{ip + 4:#x}"
    print(f"sample {thread} {2 if on_matrix else 3} {what}")
print("totals 1 3000000000 30000000 0=5 6=3 markers=100 foreseen=97 stops=12 bridged=11\ntotals 2 1000000000 10000000")
print("note 1 engine pmu was passed over: no hardware counters")
print("finish")
