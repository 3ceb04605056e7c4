# SPDX-License-Identifier: BSD-3-Clause
"""usage: curve_error.py REPORT.json TRUTH.json

Prints the mean absolute error of the report's miss-ratio curve in percentage points against what the
program knows of itself (--truth), and the ratio of the accesses that the report counts to the true ones.
"""
import json
import sys

report, truth = (json.load(open(name)) for name in sys.argv[1:3])
size = report["line_size"]
distances = next(line for line in truth["line_sizes"] if line["line_size"] == size)["stack_distance"]


def true_miss_ratio(cache):
    return sum(bin["share"] for bin in distances if bin["stack_distance_lines"] * size >= cache)


errors = [abs(point["miss_ratio"] - true_miss_ratio(point["bytes"])) for point in report["mrc"]
          if point["miss_ratio"] is not None]
print(f"{100 * sum(errors) / len(errors):.2f} {report['accesses']['value'] / truth['accesses']['total']:.3f}")
