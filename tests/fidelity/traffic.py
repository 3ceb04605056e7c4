# SPDX-License-Identifier: BSD-3-Clause
"""Bytes that each level of a machine serves (reuse-report --traffic): estimated against counted.

Levels that less than one line in ten thousand accesses reaches are left out: what the loader does
decides there.
"""
import statistics

import workloads

LEAST_PER_ACCESS = 1e-4


def whole(report, machine):
    """The row that stands for the whole program."""
    return next(row for row in report["traffic"] if row["machine"] == machine)


def levels_of(row):
    """{level: (bytes or None, lo, hi)}; what L1 is asked for is known without caches."""
    return {level["level"]: (level["bytes"], level["bytes_lo"], level["bytes_hi"])
            for level in row["levels"][1:]}


def compare(report, counted, machine):
    """{level: (estimated / counted or None, whether the interval holds the count)}"""
    row = whole(counted, machine)
    estimated, least = levels_of(whole(report, machine)), LEAST_PER_ACCESS * row["accesses"] * row["line_size"]
    compared = {}
    for level, (count, _, _) in levels_of(row).items():
        if count is None or count < least:
            continue
        figure, low, high = estimated[level]
        compared[level] = (None if figure is None else figure / count,
                           low is not None and high is not None and low <= count <= high)
    return compared


def print_table(results):
    """results: {program: one comparison per seed}. For each level the median, the one that is farthest off, and
    how many intervals hold."""
    levels = sorted({level for runs in results.values() for run in runs for level in run},
                    key=["L2", "L3", "L4", "Mem"].index)
    rows, distances = [], {level: [] for level in levels}
    for name, runs in results.items():
        row = [name]
        for level in levels:
            known = [run[level] for run in runs if level in run]
            ratios = [ratio for ratio, _ in known if ratio is not None]
            if ratios:
                middle = statistics.median(ratios)
                distances[level].append(100 * abs(middle - 1))
                row += [f"{middle:.2f}", f"{max(ratios, key=lambda r: abs(r - 1)):.2f}"]
            else:
                row += ["bound" if known else "-", "-"]
            row.append(f"{sum(held for _, held in known)}/{len(known)}" if known else "-")
        rows.append(row)
    workloads.table(["program", *(title for level in levels for title in (level, "worst", "held"))], rows)
    for level in levels:
        if distances[level]:
            print(f"{level}: the median is off by {statistics.median(distances[level]):.0f} % (median program), "
                  f"{max(distances[level]):.0f} % (worst); within 10 %: "
                  f"{sum(d <= 10 for d in distances[level])} of {len(distances[level])}")
