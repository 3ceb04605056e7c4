# SPDX-License-Identifier: BSD-3-Clause
"""What fidelity and overhead are measured on, and how one run is made and measured.

The builds under test come from $REUSE_BUILDDIR, or build/ in the source tree. A workload's command holds {scratch} where files that
prepare() makes are meant, and for the microbenchmarks no --seconds or --iterations.
"""
import os
import re
import shlex
import shutil
import subprocess
import time

import inputs

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("REUSE_BUILDDIR", os.path.join(SOURCE, "build"))
MICROBENCH = os.path.join(BUILD, "microbench")
BUNDLED = os.path.join(BUILD, "tests", "fidelity", "programs")
REUSE_RUN = os.path.join(BUILD, "postproc", "reuse-run")
REUSE_REPORT = os.path.join(BUILD, "postproc", "reuse-report")
PLUGIN = os.path.join(BUILD, "exact", ".libs", "libreuse-exact.so")
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

# One of each kind, where time is short.
REPRESENTATIVE = ["sweep-1m", "store-4m", "dmtvm-vector", "spmv-banded", "spmv-power", "matmul-naive",
                  "chase", "stencil", "zipf-alias", "zipf-scatter", "phases", "mixture-2t", "stream-4t",
                  "probes"]

MATRICES = {
    "banded": ["--rows", "60000", "--bandwidth", "2000"],
    "uniform": ["--rows", "60000"],
    "power": ["--kind", "power-law", "--rows", "60000", "--exponent", "0.9"],
}

# Of the whole overhead measurement. Name: command, run in an empty directory; each takes some seconds.
LONG_PROGRAMS = {
    "python3": ["python3", "{scratch}/work.py"],
    "sqlite3": ["sqlite3", "-init", "/dev/null", "-batch", ":memory:", ".read {scratch}/work.sql"],
    "gcc": ["gcc", "-O2", "-g", "-c", "{scratch}/work.c", "-o", "work.o"],
    "xz": ["xz", "-T2", "-3", "-k", "-c", "{scratch}/data"],
    "zstd": ["zstd", "-T2", "-12", "-c", "{scratch}/data"],
    "sort": ["sort", "--parallel=2", "-k", "3n", "-k", "1n", "{scratch}/data"],
    "awk": ["awk", "{{ n[$1 % 100003] += $3 }} END {{ for (k in n) s += n[k]; print s }}",
            "{scratch}/data"],
}

# Of the comparison with the exact engine, which takes some fifty times as long: half a second to a second
# each. All have several threads (or processes), and do the same work in every run.
PROGRAMS = {
    "sort": ["sort", "--parallel=2", "-S", "64M", "-k", "3n", "-k", "1n", "{scratch}/long-data"],
    "xz": ["xz", "-T2", "-2", "--block-size=512KiB", "-k", "-c", "{scratch}/short-text"],
    "zstd": ["zstd", "-T2", "-9", "-B512KiB", "-c", "{scratch}/text"],
    "pigz": ["pigz", "-p2", "-c", "{scratch}/text"],
    "pbzip2": ["pbzip2", "-p2", "-b2", "-c", "{scratch}/short-text"],
    "sqlite3": ["sqlite3", "-init", "/dev/null", "-batch", ":memory:",
                ".read {scratch}/threads.sql"],
    "python-threads": ["python3", "{scratch}/threads.py"],
    "python-procs": ["python3", "{scratch}/processes.py"],
    "make-gcc": ["make", "-j2", "-f", "{scratch}/source/Makefile"],
    "perl-threads": ["perl", "{scratch}/work.pl", "{scratch}/text"],
    "jacobi": ["{programs}/jacobi"],
    "radix": ["{programs}/radix"],
    "cg": ["{programs}/cg"],
    "kmeans": ["{programs}/kmeans"],
    "hash-join": ["{programs}/hash-join"],
    "pipeline": ["{programs}/pipeline"],
}

# Where each run takes as long as under the exact engine.
FEW_PROGRAMS = ["pigz", "kmeans"]

# Everything by which two runs of one program would differ between engines. QEMU offers no AVX-512, so
# the C library would choose other string functions there; the sizes from which it uses rep movsb or
# goes past the caches depend on the processor. Threads that wait do so in the kernel: spinning is
# work that depends on the engine's speed.
SAME_CODE = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD:"
                      "glibc.cpu.x86_rep_movsb_threshold=0x10000000:"
                      "glibc.cpu.x86_rep_stosb_threshold=0x10000000:"
                      "glibc.cpu.x86_non_temporal_threshold=0x10000000:"
                      "glibc.cpu.x86_shared_cache_size=0x400000:"
                      "glibc.cpu.x86_data_cache_size=0x8000",
    "OMP_NUM_THREADS": "2",
    "OMP_WAIT_POLICY": "passive",
    "LC_ALL": "C",
    "PYTHONHASHSEED": "0",
    "PERL_HASH_SEED": "0",
}

# Options of the exact engine when it counts the truth of a program.
TRUTH = {"REUSE_SHARED_CACHE": "0", "REUSE_RATE": "1"}


def add_commands(commands):
    """Makes programs of whole commands; returns their names: the program, with a number where it has been."""
    names = []
    for command in commands:
        words = [word.replace("{", "{{").replace("}", "}}") for word in shlex.split(command)]
        base = os.path.basename(words[0])
        name = next(n for n in (base, *(f"{base}-{i}" for i in range(2, 1000))) if n not in PROGRAMS)
        PROGRAMS[name] = words
        names.append(name)
    return names


def chosen_microbenchmarks(full):
    return list(MICROBENCHMARKS) if full else REPRESENTATIVE


def chosen_programs(engine, full):
    return list(PROGRAMS) if full or engine != "simulate" else FEW_PROGRAMS


def prepare(scratch):
    """Makes the files that the workloads read."""
    for name, arguments in MATRICES.items():
        subprocess.run([os.path.join(MICROBENCH, "matrix-generate"), *arguments, "--output",
                        os.path.join(scratch, name + ".mtx")], check=True)
    inputs.prepare(scratch)


def command_of(name, scratch, short=False):
    """The command of a workload, or None when its program is not installed. short: of PROGRAMS."""
    if name in MICROBENCHMARKS:
        program, *arguments = MICROBENCHMARKS[name]
        command = [os.path.join(MICROBENCH, program), *arguments]
    else:
        command = (PROGRAMS if short else LONG_PROGRAMS)[name]
    command = [word.format(scratch=scratch, programs=BUNDLED) for word in command]
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
    """The number of iterations per thread that take a microbenchmark about so many CPU seconds."""
    trial = Run([*command, "--iterations", "1", "--truth", os.path.join(scratch, "truth")], scratch)
    if trial.status != 0:
        raise RuntimeError(trial.errors)
    count = 1
    while True:
        start_up = Run([*command, "--iterations", "1"], scratch).cpu
        trial = Run([*command, "--iterations", str(count)], scratch)
        used = trial.cpu - start_up
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
