# SPDX-License-Identifier: BSD-3-Clause
"""Writes commands for profile_script: a profile of bursts at thousands of places.

usage: report_large.py PROGRAM [BURSTS] > COMMANDS

PROGRAM is any large program with debug information; its instructions are the places.
"""
import random
import re
import subprocess
import sys

program = sys.argv[1]
random.seed(3)
BURSTS = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
GROUPS = 100  # of probes, in each
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
weights = [1 / (i + 1) for i in range(len(ips))]


def thing_of(burst):
    what = random.random()
    if what < 0.5:
        return f"kind=1 reference={random.randrange(1, SITES + 1)}"
    if what < 0.8:
        return f"kind=2 reference=1 place={random.choice(data):#x}"
    return f"kind=3 reference={1 + burst % THREADS}"


def add_watch(burst, place, context, thing):
    """Of an open probe 3000 accesses before the burst's end."""
    draw = random.random()
    if draw < 0.75:
        end = f"1:{int(random.expovariate(1 / 3e7)) + 8000}:{random.choice(ips):#x}"
    else:
        end = f"{3 if draw < 0.95 else 2}:{int(random.expovariate(1 / 1e6)) + 8000}:0"
    thing = thing.replace("place", "address")
    print(f"sample {1 + burst % THREADS} {context} burst={burst + 1} flags=1 ip={ips[place]:#x}"
          f" {thing} size=100000 ahead=3000 lines_ahead=200 watch={random.choice((1, 2))} end={end}")


for burst in range(BURSTS):
    places = random.choices(range(len(ips)), weights=weights, k=GROUPS)
    watched, sizes = [], ("", "half/", "twice/", "four/") if burst % 4 == 0 else ("",)
    for i, place in enumerate(places):
        context, thing = 1 + place % PLACES, thing_of(burst)
        where = f"path={context} {thing}"
        if i % 5 < 4:
            near, later, far = random.randrange(1, 40), random.choice((5, 40, 300)), random.randrange(1, 5)
            what = " ".join(f"{size}1:2={near} {size}{later}:1000={far}" for size in sizes)
            print(f"probes {ips[place]:#x} reuse_ip={random.choice(ips):#x} {where} {what}")
        else:
            count = random.randrange(1, 5)
            what = " ".join(f"{size}open:200:3000={count}" for size in sizes)
            print(f"probes {ips[place]:#x} {where} {what}")
            watched.append((place, context, thing))
    print(f"burst {1 + burst % THREADS} 0 loop={loops[places[0] % 100]:#x}")
    for place, context, thing in random.sample(watched, 2):
        add_watch(burst, place, context, thing)
print("finish")
