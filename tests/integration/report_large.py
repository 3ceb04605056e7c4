# SPDX-License-Identifier: BSD-3-Clause
"""Writes commands for profile_script: a profile of samples (half a million) at thousands of places.

usage: report_large.py PROGRAM [SAMPLES] > COMMANDS

PROGRAM is any large program with debug information; its instructions are the places.
"""
import random
import re
import subprocess
import sys

program = sys.argv[1]
random.seed(3)
SAMPLES = int(sys.argv[2]) if len(sys.argv) > 2 else 500_000
PLACES, THREADS, SITES = 6000, 8, 200
BIAS = 0x555555554000
code = []
for line in subprocess.check_output(("objdump", "-d", "--no-show-raw-insn", program), text=True).splitlines():
    if match := re.match(r" +([0-9a-f]+):\t", line):
        code.append(int(match[1], 16) + BIAS)
data = []
for line in subprocess.check_output(("nm", program), text=True).splitlines():
    if match := re.match(r"([0-9a-f]+) [bBdD] ", line):
        data.append(int(match[1], 16) + BIAS)
ips = sorted(random.sample(code, min(PLACES, len(code))))
print("defaults")
print(f"module - {BIAS:#x} {BIAS + 0x4000000:#x} {BIAS:#x} {program}")
for t in range(THREADS):
    print(f"thread {1000 + t} worker{t}")
for c in range(1, PLACES + 1):
    print(f"context {random.randrange(min(c, 2000))} {random.choice(ips):#x}")
for s in range(1, SITES + 1):
    print(f"site {random.randrange(1, PLACES)} 1\nsite_totals {s} 10 1000000 100000")
loops = random.sample(ips, 100)
for t in range(1, THREADS + 1):
    for loop in loops:
        print(f"rate {t} {loop:#x} {int(400000 * random.gauss(1, 0.03))} 1000000")
places = random.choices(range(len(ips)), weights=[1 / (i + 1) for i in range(len(ips))], k=SAMPLES)
for i, place in enumerate(places):
    ip, draw, what = ips[place], random.random(), random.random()
    if draw < 0.8:
        end = f"reuse={random.choice((1, 2, 5, 40, 300, 1500))} reuse_ip={random.choice(ips):#x}"
    elif draw < 0.95:
        end = f"watch={random.choice((1, 2))} end=1:{int(random.expovariate(1 / 3e6)) + 6000}:{random.choice(ips):#x}"
    else:
        end = f"watch=1 end={3 if draw < 0.99 else 2}:{int(random.expovariate(1 / 1e6)) + 6000}:{ip:#x}"
    if what < 0.5:
        thing = f"kind=1 reference={random.randrange(1, SITES + 1)} size=100000 address={random.randrange(1 << 40):#x}"
    elif what < 0.8:
        thing = f"kind=2 reference=1 address={random.choice(data):#x}"
    else:
        thing = f"kind=3 reference={1 + i % THREADS}"
    print(f"sample {1 + i % THREADS} {1 + place % PLACES} ip={ip:#x} loop={loops[place % 100]:#x} {thing} {end}")
print("finish")
