# SPDX-License-Identifier: BSD-3-Clause
"""What fidelity and overhead are measured on, and how one run is made and measured.

The builds under test come from $REUSE_BUILDDIR. A workload's command holds {scratch} where files that
prepare() makes are meant, and for the microbenchmarks no --seconds or --iterations.
"""
import os
import re
import shutil
import subprocess
import sys
import time

BUILD = os.environ.get("REUSE_BUILDDIR")
if not BUILD:
    sys.exit("REUSE_BUILDDIR must name the build directory")
MICROBENCH = os.path.join(BUILD, "microbench")
REUSE_RUN = os.path.join(BUILD, "postproc", "reuse-run")
REUSE_REPORT = os.path.join(BUILD, "postproc", "reuse-report")
LIBRARY = os.path.join(BUILD, "runtime", ".libs", "libreuse.so")

# Name: program of microbench/ and its arguments.
MICROBENCHMARKS = {
    "sweep-64k": ["sweep", "--bytes", "64K"],
    "sweep-1m": ["sweep", "--bytes", "1M"],
    "sweep-16m": ["sweep", "--bytes", "16M"],
    "store-4m": ["sweep", "--bytes", "4M", "--access", "store", "--stride", "16"],
    "dmtvm": ["dmtvm"],
    "dmtvm-vector": ["dmtvm-vector"],
    "spmv-banded": ["spmv", "{scratch}/banded.mtx"],
    "spmv-uniform": ["spmv", "{scratch}/uniform.mtx"],
    "spmv-power": ["spmv", "{scratch}/power.mtx"],
    "matmul-naive": ["matmul", "--naive"],
    "matmul-block": ["matmul"],
    "chase": ["chase", "--bytes", "8M"],
    "stencil": ["stencil"],
    "zipf-alias": ["zipf"],
    "zipf-scatter": ["zipf", "--scatter"],
    "zipf-float": ["zipf", "--index", "float"],
    "phases": ["phases", "--sweeps", "500", "--laps", "2"],
    "mixture": ["mixture"],
    "mixture-2t": ["mixture", "--threads", "2"],
    "stream-4t": ["stream"],
    "probes": ["probes"],
}

MATRICES = {
    "banded": ["--rows", "60000", "--bandwidth", "2000"],
    "uniform": ["--rows", "60000"],
    "power": ["--kind", "power-law", "--rows", "60000", "--exponent", "0.9"],
}

# Name: command, run in an empty directory. Each takes about two to four seconds.
PROGRAMS = {
    "python3": ["python3", "{scratch}/work.py"],
    "sqlite3": ["sqlite3", "-init", "/dev/null", "-batch", ":memory:", ".read {scratch}/work.sql"],
    "gcc": ["gcc", "-O2", "-g", "-c", "{scratch}/work.c", "-o", "work.o"],
    "xz": ["xz", "-T2", "-3", "-k", "-c", "{scratch}/data"],
    "zstd": ["zstd", "-T2", "-12", "-c", "{scratch}/data"],
    "sort": ["sort", "--parallel=2", "-k", "3n", "-k", "1n", "{scratch}/data"],
    "awk": ["awk", "{{ n[$1 % 100003] += $3 }} END {{ for (k in n) s += n[k]; print s }}",
            "{scratch}/data"],
}

WORK_PY = """
import collections, threading
def work(k):
    counts = collections.Counter()
    for i in range(600000):
        counts[i * k % 50021] += 1
    return sum(counts.values())
threads = [threading.Thread(target=work, args=(k,)) for k in (3, 7, 11)]
for t in threads: t.start()
for t in threads: t.join()
print(sum(len(str(i)) for i in range(1500000)))
"""

WORK_SQL = """
create table t(a integer, b integer, c text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 600000)
    insert into t select (i * 7919) % 1000003, i, 'text' || (i % 97) from n;
create index i on t(c, a);
select c, count(*), min(a), max(b) from t group by c order by c;
select count(*) from t x join t y on x.b = y.a;
"""


def prepare(scratch):
    """Makes the files that the workloads read."""
    for name, arguments in MATRICES.items():
        subprocess.run([os.path.join(MICROBENCH, "matrix-generate"), *arguments, "--output",
                        os.path.join(scratch, name + ".mtx")], check=True)
    with open(os.path.join(scratch, "work.py"), "w") as file:
        file.write(WORK_PY)
    with open(os.path.join(scratch, "work.sql"), "w") as file:
        file.write(WORK_SQL)
    with open(os.path.join(scratch, "work.c"), "w") as file:
        file.write("#include <stdio.h>\n#include <string.h>\n")
        for i in range(700):
            file.write(f"int f{i}(int *a, int n) {{ int s = {i}; for (int k = 0; k < n; k++) {{ "
                       f"a[k] += k * {i}; s ^= a[k] << (k & 3); switch (s % 5) {{ case 0: s += n; "
                       f"break; case 1: s -= a[0]; break; default: s *= 3; }} }} char t[32]; "
                       f"snprintf(t, sizeof t, \"%d\", s); return s + (int)strlen(t); }}\n")
    state = 12345
    with open(os.path.join(scratch, "data"), "w") as file:
        for i in range(400000):
            state = (state * 1103515245 + 12345) & 0x7fffffff
            file.write(f"{state} line {i % 211}\n")


def command_of(name, scratch):
    """The command of a workload, or None when its program is not installed."""
    if name in MICROBENCHMARKS:
        program, *arguments = MICROBENCHMARKS[name]
        command = [os.path.join(MICROBENCH, program), *arguments]
    else:
        command = PROGRAMS[name]
    command = [word.format(scratch=scratch) for word in command]
    return command if shutil.which(command[0]) else None


class Run:
    """One finished run: wall and CPU seconds, peak resident set in bytes, status, output."""

    def __init__(self, command, directory, environment=None):
        output, errors = os.path.join(directory, "out"), os.path.join(directory, "err")
        place = os.path.join(directory, "place")
        shutil.rmtree(place, ignore_errors=True)
        os.mkdir(place)
        with open(output, "wb") as out, open(errors, "wb") as err:
            start = time.monotonic()
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                     cwd=place, env=environment)
            _, status, usage = os.wait4(child.pid, 0)
            self.wall = time.monotonic() - start
            child.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = usage.ru_maxrss * 1024
        self.status = child.returncode
        with open(output, "rb") as file:
            self.output = file.read()
        with open(errors, "r", errors="replace") as file:
            self.errors = file.read().strip()

    def iterations(self):
        """What a microbenchmark says it did, all threads together."""
        found = re.search(rb"^iterations=(\d+)", self.output, re.MULTILINE)
        return int(found.group(1)) if found else None


def calibrate(command, seconds, scratch):
    """The number of iterations per thread that take a microbenchmark about so many seconds."""
    trial = Run([*command, "--iterations", "1", "--truth", os.path.join(scratch, "truth")], scratch)
    if trial.status != 0:
        raise RuntimeError(trial.errors)
    count = 1
    while True:
        start_up = Run([*command, "--iterations", "1"], scratch).wall
        trial = Run([*command, "--iterations", str(count)], scratch)
        used = trial.wall - start_up
        if used > 0.3 or count > 1 << 40:
            return max(1, round(count * seconds / used))
        count *= 2 if used > 0.1 else 8


def table(head, rows):
    """Prints aligned columns, the first to the left, the others to the right."""
    widths = [max(len(str(row[i])) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        cells = [str(row[0]).ljust(widths[0])]
        cells += [str(cell).rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())
