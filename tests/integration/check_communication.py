#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a report says of communication against the truth of a microbenchmark.

check_communication.py TRUTH.json REPORT.json [SLACK]: SLACK transfers, and half a percent, may differ in
an object's total and ten times as many in a cell of the matrix, which holds start-up too. Prints what is
wrong; exit status 1 if anything is.
"""
import collections
import json
import re
import sys

wrong = []

# In exact profiles a pair of places is worth parting from so many transfers for each access. A thread that
# waits for its turn reads all the time: how often depends on who else uses the machine.
WORTH_PARTING = 1 / 10000

# Memory that has no name of its own in the report.
KNOWN_AS = {"stack_pairs": "stack of ", "thread_local_pairs": "unknown memory"}


def near(what, seen, low, high, slack):
    if seen < low - slack - 0.005 * low or (high is not None and seen > high + slack + 0.005 * high):
        wrong.append(f"{what}: {seen} instead of {low}" + (f" to {high}" if high != low else ""))


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def matches(event, bound):
    return (bound.get("kind", event["kind"]) == event["kind"]
            and bound.get("true", event["true"]) == event["true"])


def seen_by_kind(row):
    """Totals of an object: by kind, and by truth; both together are not in the report."""
    return {"RAW": row["raw"], "WAR": row["war"], "WAW": row["waw"], True: row["true"],
            False: row["false"], None: row["all"]}


def check_objects(truth, rows, slack):
    wanted = collections.defaultdict(collections.Counter)
    for event in truth["transfers"]:
        for key in (event["kind"], event["true"], None):
            wanted[event["object"]][key] += event["count"]
    for name, totals in wanted.items():
        if name not in rows:
            near(f"{name}, which is not in the report", 0, totals[None], totals[None], slack)
            continue
        for key, seen in seen_by_kind(rows[name]).items():
            near(f"{name} {key}", seen, totals[key], totals[key],
                 slack + (100 if name in KNOWN_AS else 0))
    for bound in truth["bounds"]:
        keys = [bound[key] for key in ("kind", "true") if key in bound]
        if len(keys) > 1 or bound["object"] not in rows:
            continue  # the report's objects have one or the other
        seen = seen_by_kind(rows[bound["object"]])[keys[0] if keys else None]
        near(f"{bound['object']} {keys}", seen, bound["lo"] or 0, bound["hi"], slack)


def check_matrix(truth_all, truth, sharing, slack):
    if not truth["transfers"]:
        return
    tid = {thread["thread"]: thread["tid"] for thread in truth_all["threads"]}
    for name, counts in (("all", lambda e: True), ("false", lambda e: not e["true"]),
                         ("raw", lambda e: e["kind"] == "RAW")):
        cells = collections.Counter()
        for event in truth["transfers"]:
            if counts(event):
                cells[tid[event["from"]], tid[event["to"]]] += event["count"]
        for i, source in enumerate(sharing["threads"]):
            for k, destination in enumerate(sharing["threads"]):
                want = cells[source, destination]
                near(f"{name} from {source} to {destination}", sharing[name][i][k], want, want,
                     10 * slack)


def plain(path):
    return re.sub(r"\[\d+\]", "", path)


def check_findings(truth, sharing, accesses):
    """Each object with false sharing is found with the members that collide, and no other."""
    enough = max(1000, 1.1 * WORTH_PARTING * accesses)
    false = collections.defaultdict(collections.Counter)
    for event in truth["transfers"]:
        if not event["true"]:
            members = frozenset(plain(event[key] or "") for key in ("from_member", "to_member"))
            false[event["object"]][members] += event["count"]
    limits = {b["object"]: b["hi"] for b in truth["bounds"] if b.get("true") is False}
    found = collections.defaultdict(list)
    for finding in sharing["false_sharing"]:
        if finding["worth_parting"]:
            found[finding["object"]].append(finding)
    for name, pairs in false.items():
        members, count = pairs.most_common(1)[0]
        if count < enough or name in KNOWN_AS:
            continue
        # On longer lines the last access was often to the neighbouring element.
        if sharing["line_size"] > 64 and any(f["collision"] == "elements" for f in found[name]):
            continue
        ends = [{plain(f["first"]), plain(f["second"])} for f in found[name]]
        if not any(all(any(end.endswith(member) for end in end_set) for member in members)
                   for end_set in ends):
            wrong.append(f"{name}: false sharing of {sorted(members)} was not found: {ends}")
    for name in found:
        known = name in false or name in limits or name.startswith(tuple(KNOWN_AS.values()))
        if not known or (name in limits and limits[name] == 0):
            wrong.append(f"{name}: false sharing where there is none")
    if "worth parting" not in sharing["verdict"][0] and any(
            max(pairs.values()) > enough for pairs in false.values()):
        wrong.append("the verdict does not speak of it: " + sharing["verdict"][0])


def main():
    truth_all, report = load(sys.argv[1]), load(sys.argv[2])
    sharing = report["sharing"]
    slack = float(sys.argv[3]) if len(sys.argv) > 3 else 5
    truth = next(c for c in truth_all["communication"] if c["line_size"] == sharing["line_size"])
    # A block has the name of the pointer that holds it; the pointer itself hardly moves.
    rows = {row["name"]: row for row in sorted(sharing["objects"], key=lambda row: row["all"])}
    for name, start in KNOWN_AS.items():
        for row in sharing["objects"]:
            if row["name"].startswith(start) and name not in rows:
                rows[name] = row
    check_objects(truth, rows, slack)
    check_matrix(truth_all, truth, sharing, slack)
    check_findings(truth, sharing, report["accesses"]["value"])
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


main()
