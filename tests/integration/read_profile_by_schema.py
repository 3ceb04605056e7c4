#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads a profile with nothing but docs/profile-format.md and the schema that the file carries.

usage: read_profile_by_schema.py FILE

Prints the same lines as tests/support/profile_dump. Knows the file header, the record header and
the grammar of the schema; every record's layout comes from the schema.
"""
import re
import struct
import sys

TYPES = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i32": "i", "i64": "q", "f64": "d", "char": "s"}


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def read_records(data):
    """(type, payload) of every whole record."""
    magic, order, major, _minor, offset, _ = struct.unpack_from("<8sIHHII", data)
    assert magic == b"\x89RPROF\r\n" and order == 0x01020304 and major == 4
    while len(data) - offset >= 16:
        kind, flags, length, sequence, checksum = struct.unpack_from("<HHIII", data, offset)
        payload = data[offset + 16:offset + 16 + length]
        header = struct.pack("<HHIII", kind, flags, length, sequence, 0)
        if len(payload) < length or crc32c(header + payload) != checksum:
            return
        yield kind, payload
        offset += 16 + length


class Layout:
    """A record or structure as the schema describes it."""

    def __init__(self, name):
        self.name, self.fields, self.format, self.tail = name, [], "<", None

    def add(self, name, kind):
        match = re.fullmatch(r"(\w+?)(?:\[(\d+)\])?", kind)
        self.fields.append((name, int(match[2]) if match[2] else 0, match[1]))
        self.format += (match[2] or "") + TYPES[match[1]]

    def parse(self, payload, layouts):
        values, position = {}, 0
        size = struct.calcsize(self.format)
        payload = payload.ljust(size, b"\0")
        numbers = struct.unpack_from(self.format, payload)
        for name, count, kind in self.fields:
            if count and kind != "char":
                values[name] = numbers[position:position + count]
                position += count
            else:
                values[name] = numbers[position]
                position += 1
        if self.tail:
            name, kind = self.tail
            values[name] = parse_tail(payload[size:], kind, values, layouts)
        return values


def low_value(bin, single, octave_log2):
    """The lowest value of a bin of distances or times."""
    if bin < single:
        return bin
    octave, within = divmod(bin - single, 1 << octave_log2)
    octave += single.bit_length() - 1
    return (1 << octave) + (within << octave - octave_log2)


def read_numbers(data):
    """LEB128 numbers, as they are asked for."""
    at = 0
    while True:
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                break
        yield value


def parse_probes(data, burst):
    """The groups of a burst's probes; "counts" by line size: (code, count)."""
    numbers = read_numbers(data[:burst["probe_size"]])
    groups, last = [], dict.fromkeys(("ip", "path", "kind", "tracked", "reference", "access", "place"), 0)

    def number():
        return next(numbers)

    def difference(origin):
        n = number()
        return origin + (n >> 1 ^ -(n & 1)) & (1 << 64) - 1

    for _ in range(burst["groups"]):
        flags, group = number(), dict(last)
        if not flags & 1:
            group["ip"] = difference(last["ip"])
        group["reuse_ip"] = 0 if flags & 16 else group["ip"] if flags & 32 else difference(group["ip"])
        if not flags & 2:
            group["path"] = difference(last["path"])
        origin = last["place"]
        if not flags & 4:
            group["kind"], group["tracked"] = divmod(number(), 32)
            group["reference"] = difference(last["reference"])
            origin = group["ip"] if group["kind"] == 2 else 0
        if not flags & 8:
            group["access"] = number()
        group["place"] = difference(origin)
        group["counts"] = []
        for size in range(4 if burst["flags"] & 1 else 1):
            counts, code = [], -1
            for _ in range(1 if size == 0 and flags & 64 else number()):
                code += 1 + number()
                counts.append((code, number()))
            group["counts"].append(counts)
        groups.append(group)
        last = group
    return groups


def print_probes(bursts):
    groups = [group for burst in bursts for group in burst["tail"]]
    counts = [count for group in groups for count in group["counts"][0]]
    print("probes.groups", len(groups))
    print("probes.count", sum(n for _, n in counts))
    print("probes.open", sum(n for code, n in counts if code & 4096))
    print("probes.distances", sum(n * low_value(code % 4096 // 32, 16, 3) for code, n in counts))
    print("probes.times", sum(n * low_value(code % 32, 4, 1) for code, n in counts))
    print("probes.wider", sum(n * code for group in groups for size in group["counts"][1:] for code, n in size))
    sums = {"ip": lambda g: g["ip"], "reuse_ip": lambda g: g["reuse_ip"], "path": lambda g: g["path"],
            "object": lambda g: g["kind"] * 1000000 + g["tracked"] * 1000 + g["reference"],
            "place": lambda g: g["place"], "access": lambda g: g["access"] // 4 * 10 + g["access"] % 4}
    for name, value in sums.items():
        print(f"probes.{name}", sum(map(value, groups)) & (1 << 64) - 1)


def parse_tail(data, kind, values, layouts):
    if kind == "text":
        return data.split(b"\0")[0].decode()
    if kind == "pairs":
        words = data.split(b"\0")
        pairs = []
        while len(words) >= 2 and words[0]:
            pairs.append((words.pop(0).decode(), words.pop(0).decode()))
        return pairs
    if kind == "probes":
        return parse_probes(data, values)
    element, count = kind.split("*")
    layout = layouts[element]
    size = struct.calcsize(layout.format)
    return [layout.parse(data[i * size:(i + 1) * size], layouts) for i in range(values[count])]


def read_schema(text):
    """Record layouts by type number, structures by name."""
    lines = text.splitlines()
    assert lines[0] == "libreuse-profile-schema 1"
    records, structures, layout = {}, {}, None
    for line in lines[1:]:
        word, *rest = line.split(" ")
        if word == "record":
            layout = records[int(rest[0])] = Layout(rest[1])
        elif word == "struct":
            layout = structures[rest[0]] = Layout(rest[0])
        elif word == "field":
            layout.add(rest[0], rest[1])
        elif word == "tail":
            layout.tail = rest[0], rest[1]
    return records, structures


def main():
    with open(sys.argv[1], "rb") as file:
        records = list(read_records(file.read()))
    schema = next(payload for kind, payload in records if kind == 1)
    layouts, structures = read_schema(schema.split(b"\0")[0].decode())
    found = {layout.name: [] for layout in layouts.values()}
    for kind, payload in records:
        layout = layouts[kind]
        found[layout.name].append(layout.parse(payload, structures))
    for name, items in found.items():
        if name == "run":
            print("run", sum(len(item["run"]) for item in items))
        elif name != "schema":
            print(name, len(items))
    print_probes(found["burst"])
    for name, field in (("sample", "burst_id"), ("sample", "address"), ("sample", "reuse_time[1]"),
                        ("sample", "watch_address"), ("sample", "words_accessed"),
                        ("watch_end", "app_ns"), ("watch_end", "reason"),
                        ("invalidation", "app_ns"), ("line_event", "elapsed_ns"),
                        ("context", "ip"),
                        ("thread", "tid"), ("totals", "armed"), ("served", "latency"),
                        ("counter", "estimate")):
        plain, _, index = field.rstrip("]").partition("[")
        values = [item[plain][int(index)] if index else item[plain] for item in found[name]]
        print(f"{name}.{field}", sum(values))
    print("progress.variables.accesses", sum(variable["accesses"] for item in found["progress"]
                                             for variable in item["variables"]))
    print("steps.steps.far", sum(step["far"] for item in found["steps"] for step in item["steps"]))
    print("timed_loads.loads.timed",
          sum(loads["timed"] for item in found["timed_loads"] for loads in item["loads"]))
    print("cache.bytes", sum(item["bytes"] for item in found["cache"]))
    print("module.path", sum(len(item["path"]) for item in found["module"]))
    print("histogram.bins.count",
          sum(bin["count"] for item in found["histogram"] for bin in item["bins"]))
    print("transfer.transfers %.3f" % sum(item["transfers"] for item in found["transfer"]))


main()
