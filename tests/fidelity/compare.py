# SPDX-License-Identifier: BSD-3-Clause
"""A report against the truth, in the measures of the table (docs/fidelity.md says what they mean).

Truth is either what a microbenchmark knows of itself (from_closed_form) or what the exact engine counted
(from_report): a dictionary with the curve, and whatever else is known of histogram, cold misses,
coherence misses, communication and objects; None where nothing is.
"""
import math
import statistics


def value_of(number):
    return number["value"] if isinstance(number, dict) else number


def from_closed_form(truth, line_size, iterations):
    entry = next((e for e in truth["line_sizes"] if e["line_size"] == line_size), None)
    if entry is None:
        raise RuntimeError(f"the truth knows no lines of {line_size} bytes")
    histogram = {}
    for bar in entry["stack_distance"]:
        octave = octave_of(bar["stack_distance_lines"])
        histogram[octave] = histogram.get(octave, 0) + bar["share"]
    return {
        "mrc": entry["mrc"],
        "accesses": (truth["accesses"]["setup"] or 0) + truth["accesses"]["per_iteration"] * iterations,
        "histogram": histogram,
        "cold": None, "coherence": None, "sharing": None,  # of endless runs; threads share nothing
        "objects": {e["name"]: e["accesses_share"] for e in entry["objects"]},
    }


def from_report(report):
    return {
        "mrc": report["mrc"],
        "accesses": value_of(report["accesses"]),
        "histogram": histogram_of(report),
        "cold": largest_level(report).get("cold"),
        "coherence": largest_level(report).get("coherence"),
        "sharing": report.get("sharing"),
        "objects": None,
    }


def octave_of(distance):
    """Bins 0, 1, 2..3, 4..7 and so on, as in the report."""
    return 0 if distance < 1 else 1 + int(math.log2(distance))


def histogram_of(report):
    """Share of the reuses at each octave of stack distance."""
    shares = {}
    for bar in report["histogram"]["stack_distance"]:
        shares[octave_of(bar["lo"])] = shares.get(octave_of(bar["lo"]), 0) + bar["share"]
    return shares


def normalised(shares):
    total = sum(shares.values())
    return {key: share / total for key, share in shares.items()} if total > 0 else {}


def overlap(a, b):
    """1 - L1/2 of two distributions."""
    a, b = normalised(a), normalised(b)
    return 1 - sum(abs(a.get(k, 0) - b.get(k, 0)) for k in a.keys() | b.keys()) / 2


def largest_level(report):
    levels = report.get("misses") or [{}]
    return max(levels, key=lambda level: level.get("bytes", 0))


# Both engines' curves may hold further sizes, those of the machine's caches.
SIZES = [1024 * 2 ** (16 * i / 47) for i in range(48)]


def at_size(curve, size):
    point = min(curve, key=lambda point: abs(point["bytes"] - size))
    if abs(point["bytes"] / size - 1) > 1e-3:
        raise RuntimeError(f"a curve lacks the point at {size:.0f} bytes")
    return point


def curve_measures(report, truth):
    errors, covered, widths = [], 0, []
    for size in SIZES:
        true, point = at_size(truth["mrc"], size)["miss_ratio"], at_size(report["mrc"], size)
        if point.get("miss_ratio") is None or point.get("beyond"):
            continue
        errors.append(100 * (point["miss_ratio"] - true))
        covered += point["lo"] - 1e-6 <= true <= point["hi"] + 1e-6
        widths.append(100 * (point["hi"] - point["lo"]))
    known = len(errors)
    return {
        "mae": statistics.fmean(map(abs, errors)) if known else None,
        "bias": statistics.fmean(errors) if known else None,
        "max": max(map(abs, errors), default=None),
        "known": known,
        "covered": 100 * covered / known if known else None,
        "width": statistics.fmean(widths) if known else None,
    }


def object_error(report, truth):
    """Largest error of an object's share of the accesses, points."""
    if not truth or not report.get("objects"):
        return None
    total = sum(value_of(entry["accesses"]) for entry in report["objects"])
    shares = {}
    for entry in report["objects"]:
        shares[entry["name"]] = shares.get(entry["name"], 0) + value_of(entry["accesses"]) / total
    return max(100 * abs(shares.get(name, 0) - share) for name, share in truth.items())


def cells(sharing, kind):
    """The matrix by ordinal numbers of threads: their ids differ from run to run, their order seldom."""
    order = sorted(range(len(sharing["threads"])), key=lambda i: sharing["threads"][i])
    matrix = sharing[kind]
    return {(a, b): value_of(matrix[i][j]) for a, i in enumerate(order) for b, j in enumerate(order)}


def sharing_measures(sharing, truth):
    """Estimated / true transfers; 1 - L1/2 of the pairs; estimated / true share of true sharing."""
    unknown = {"transfers": None, "pairs": None, "true_share": None}
    if not all(side and side.get("total") and side.get("all") for side in (sharing, truth)):
        return unknown
    true, estimated = ({kind: value_of(s["total"][kind]) for kind in ("all", "true")}
                       for s in (truth, sharing))
    if not true["all"] or estimated["all"] is None:
        return unknown
    known = {"transfers": estimated["all"] / true["all"], "pairs": None, "true_share": None}
    if estimated["all"] > 0:
        known["pairs"] = overlap(cells(sharing, "all"), cells(truth, "all"))
        known["true_share"] = 100 * (estimated["true"] / estimated["all"] - true["true"] / true["all"])
    return known


def compare_with_own_truth(report):
    """All columns of a run whose engine counted every access as well as sampling them."""
    own = report["truth"]
    unknown = dict.fromkeys(("bias", "width", "cold", "coherence", "transfers", "pairs", "true_share",
                             "accesses", "objects", "taken"))
    return unknown | {
        "samples": report["samples"],
        "mae": 100 * own["mrc_error"],
        "max": 100 * own["mrc_worst"],
        "known": own["sizes"],
        "covered": 100 * own["covered"],
        "histogram": own["stack_distance_accuracy"],
        "width": statistics.fmean(100 * (p["hi"] - p["lo"]) for p in report["mrc"] if not p["beyond"])
        if own["sizes"] else None,
    }


def compare(report, truth):
    """All columns of one run."""
    overhead, last = report["overhead"], largest_level(report)

    def points(name):
        estimated, true = last.get(name), truth[name]
        return None if estimated is None or true is None else 100 * (estimated - true)
    return {
        "samples": report["samples"],
        **curve_measures(report, truth),
        "histogram": overlap(histogram_of(report), truth["histogram"]),
        "cold": points("cold"),
        "coherence": points("coherence"),
        **sharing_measures(report.get("sharing"), truth["sharing"]),
        "accesses": value_of(report["accesses"]) / truth["accesses"],
        "objects": object_error(report, truth["objects"]),
        "taken": 100 * overhead["handler_ns"] / (overhead.get("cpu_ns") or overhead["wall_ns"]),
    }
