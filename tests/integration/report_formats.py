# SPDX-License-Identifier: BSD-3-Clause
"""Checks a file of reuse-report --format, by grammar or schema of its own, and prints its totals.

usage: report_formats.py collapsed|speedscope|pprof|callgrind FILE

Prints a line "EVENT TOTAL" for each event in the file; fails with a line that says what is wrong.
"""
import gzip
import json
import re
import sys


def demand(truth, what):
    if not truth:
        raise SystemExit(f"{sys.argv[1]}: {what}")


def collapsed(path):
    totals = {}
    for line in open(path, encoding="utf-8"):
        match = re.fullmatch(r"(\w+): [^;\n]+((?:;[^;\n]+)+) ([1-9][0-9]*)\n", line)
        demand(match, f"no stack: {line!r}")
        totals[match[1]] = totals.get(match[1], 0) + int(match[3])
    return totals


def speedscope(path):
    root = json.load(open(path, encoding="utf-8"))
    demand(root["$schema"] == "https://www.speedscope.app/file-format-schema.json", "$schema")
    frames, totals = root["shared"]["frames"], {}
    for frame in frames:
        demand(set(frame) <= {"name", "file", "line", "col"}, f"keys of {frame}")
        demand(isinstance(frame["name"], str) and isinstance(frame.get("line", 1), int), f"types of {frame}")
    demand(0 <= root["activeProfileIndex"] < len(root["profiles"]), "activeProfileIndex")
    for profile in root["profiles"]:
        demand(set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}, "keys")
        demand(profile["type"] == "sampled" and profile["unit"] == "none", "type and unit")
        demand("unit: accesses" in profile["name"], "the name tells the unit")
        demand(len(profile["samples"]) == len(profile["weights"]), "as many weights as samples")
        demand(all(0 <= f < len(frames) for s in profile["samples"] for f in s), "numbers of frames")
        demand(all(isinstance(w, int) and w > 0 for w in profile["weights"]), "weights")
        demand(profile["endValue"] - profile["startValue"] == sum(profile["weights"]), "endValue")
        totals[profile["name"].split(":")[0]] = sum(profile["weights"])
    return totals


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """[(field, number or bytes)] of a message."""
    at, found = 0, []
    while at < len(data):
        tag, at = varint(data, at)
        demand(tag & 7 in (0, 2), f"wire type {tag & 7}")
        value, at = varint(data, at)
        if tag & 7 == 2:
            demand(at + value <= len(data), "a field is longer than its message")
            at, value = at + value, data[at : at + value]
        found.append((tag >> 3, value))
    return found


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


def pprof(path):
    message = fields(gzip.open(path).read())
    strings = [value.decode("utf-8") for field, value in message if field == 6]
    demand(strings[0] == "", "the first string is empty")
    named = lambda data: {field: strings[value] for field, value in fields(data) if field in (1, 2)}
    types = [named(value) for field, value in message if field == 1]
    demand(all(t[2] == "count" for t in types), "units")
    functions = {dict(fields(value))[1]: strings[dict(fields(value))[2]] for field, value in message if field == 5}
    locations = {}
    for _, value in filter(lambda item: item[0] == 4, message):
        location = dict(fields(value))
        demand(dict(fields(location[4]))[1] in functions, "a location's function")
        locations[location[1]] = functions[dict(fields(location[4]))[1]]
    totals = [0] * len(types)
    for _, value in filter(lambda item: item[0] == 2, message):
        sample = dict(fields(value))
        stack, values = packed(sample[1]), packed(sample[2])
        demand(stack and all(number in locations for number in stack), "a sample's locations")
        demand(len(values) == len(types), "as many values as types")
        demand(locations[stack[0]] != "main" or len(stack) == 1, "innermost first")
        totals = [a + b for a, b in zip(totals, values)]
    demand(any(field == 14 and strings[value] == "L2m" for field, value in message), "default type")
    comments = [strings[value] for field, value in message if field == 13]
    demand(any("unit: accesses" in comment for comment in comments), "comments tell the unit")
    return dict(zip((t[1] for t in types), totals))


def callgrind(path):
    """What callgrind_annotate does not look at: names by number, calls, inclusive costs."""
    names, events, own, call = {}, [], {}, False
    for line in open(path, encoding="utf-8").read().splitlines():
        if match := re.fullmatch(r"(fl|fn|cfi|cfn)=\((\d+)\)( .+)?", line):
            demand((match[3] is None) == (match[2] in names), f"a number is named once: {line}")
            names.setdefault(match[2], match[3])
        elif match := re.fullmatch(r"events: (.*)", line):
            events = match[1].split()
        elif re.fullmatch(r"calls=1 \d+", line):
            call = True
        elif re.fullmatch(r"\d+( \d+)+", line):
            values = [int(v) for v in line.split()[1:]]
            demand(len(values) == len(events), f"a value for each event: {line}")
            for event, value in zip(events, values):
                own[event] = own.get(event, 0) + (0 if call else value)
            call = False
        elif match := re.fullmatch(r"totals:((?: \d+)+)", line):
            demand([int(v) for v in match[1].split()] == [own.get(e, 0) for e in events], "totals")
        else:
            demand(re.fullmatch(r"|# .*|\w+: .*", line), f"unknown line {line!r}")
    return own


for event, total in {f.__name__: f for f in (collapsed, speedscope, pprof, callgrind)}[sys.argv[1]](sys.argv[2]).items():
    print(event, total)
