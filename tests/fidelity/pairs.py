# SPDX-License-Identifier: BSD-3-Clause
"""Runs of a command with and without the profiler, in pairs that take turns at being first."""
import os

import workloads


def profiled_environment(scratch, quiet):
    environment = dict(os.environ)
    environment.update(LD_PRELOAD=workloads.LIBRARY, REUSE_QUIET=str(int(quiet)),
                       REUSE_OUTPUT=os.path.join(scratch, "profiles", "%e.%p.rprof"))
    return environment


def clean_profiles(scratch):
    folder = os.path.join(scratch, "profiles")
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))


def pairs_of(command, count, scratch, quiet=True):
    """`count` pairs (plain, profiled) of runs; a first, uncounted plain run fills the caches."""
    environment = profiled_environment(scratch, quiet)
    reference = workloads.Run(command, scratch)
    pairs = []
    for i in range(count):
        runs = {}
        for profiled in ([False, True] if i % 2 == 0 else [True, False]):
            run = workloads.Run(command, scratch, environment if profiled else None)
            if (run.status, run.output) != (reference.status, reference.output):
                raise RuntimeError(f"{'profiled' if profiled else 'plain'} run: status {run.status} "
                                   f"or output differs: {run.errors[:200]}")
            runs[profiled] = run
            clean_profiles(scratch)
        pairs.append((runs[False], runs[True]))
    return pairs
