#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes perf.data files by the format's documentation, not with our encoders: what `perf mem record` leaves
on Intel, AMD and Arm of a program whose symbols are given.

usage: perf_data.py intel|amd|arm FILE PROGRAM CODE_ADDRESS DATA_ADDRESS [--cut N] [--caller ADDRESS]

--caller: on Intel, samples of the variable have call chains that lead to the function at that address; the
others' chains have one frame. Link-time addresses in hexadecimal. The program is mapped at BASE. Two threads: 100 loads and stores of
thread 1001 at the first word of the variable, 50 stores of thread 1002 at its second word, 20 loads of the
heap, 10 samples in the kernel."""
import struct
import sys

PID, FIRST, SECOND, BASE = 1001, 1001, 1002, 0x555555554000
HEAP, KERNEL = 0x555555800000, 0xffffffff81000000

SAMPLE_IP, SAMPLE_TID, SAMPLE_TIME, SAMPLE_ADDR, SAMPLE_RAW = 1, 2, 4, 8, 1 << 10
SAMPLE_CALLCHAIN, CONTEXT_KERNEL, CONTEXT_USER = 1 << 5, -128 & (1 << 64) - 1, -512 & (1 << 64) - 1
SAMPLE_WEIGHT, SAMPLE_DATA_SRC, SAMPLE_IDENTIFIER = 1 << 14, 1 << 15, 1 << 16


def record(kind, misc, body):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def mmap2(start, length, offset, path, identity):
    body = struct.pack("<IIQQQIIQQII", PID, PID, start, length, offset, 8, 1, 77, 0, 5, 2)
    path = path.encode() + b"\0"
    return record(10, 2, body + path + b"\0" * (-len(path) % 8) + identity)


def comm(tid, name, identity):
    return record(3, 2, struct.pack("<II", PID, tid) + name.ljust(16, b"\0") + identity)


def data_src(store, level, hitm):
    """level: 1 L1, 3 L3, 13 RAM. See perf_mem_data_src."""
    bits = {1: 0x8, 3: 0x40, 13: 0x80}[level]
    return ((4 if store else 2) | (bits | 2) << 5 | (16 if hitm else 2) << 19 | (2 | 8) << 26 | level << 33)


def accesses(code, data):
    """(tid, kernel, ip, address, store, level, latency, hitm)"""
    for i in range(100):
        store = i % 4 == 3
        yield FIRST, False, BASE + code, BASE + data, store, 1, 0 if store else 7, False
    for i in range(50):
        yield SECOND, False, BASE + code, BASE + data + 8, True, 1, 0, False
    for i in range(20):
        yield FIRST, False, BASE + code, HEAP + 64 * i, False, 3 if i < 10 else 13, 60 if i < 10 else 300, i < 5
    for i in range(10):
        yield FIRST, True, KERNEL, KERNEL + 4096, False, 1, 7, False


def ibs_raw(ip, address, store, level, latency):
    missed = level != 1
    control = 0x10000 >> 4 | 1 << 17 | 1 << 18 | 1 << 19
    data2 = {1: 0, 3: 1, 13: 3}[level] | 1 << 5
    data3 = ((2 if store else 1) | (1 << 7 | 1 << 20 if missed else 0) | 1 << 17 | 4 << 22 |
             (latency << 32 if missed else 0))
    return struct.pack("<I7Q", 0x9df & ~0x20 | 1 << 11, control, ip, 9 << 16, data2, data3, address, 0)


def spe_record(tid, ip, address, store, level, latency):
    packets = b"\xb0" + struct.pack("<Q", ip & (1 << 56) - 1 | 1 << 63 | (1 << 61 if ip >> 63 else 0))
    packets += b"\x98" + struct.pack("<H", latency or 9) + b"\x52" + struct.pack("<H", 0x16 if level == 1 else 0x1e)
    packets += b"\x49" + (b"\x01" if store else b"\x00") + b"\xb2" + struct.pack("<Q", address & (1 << 56) - 1)
    packets += b"" if store else b"\x43" + {1: b"\x00", 3: b"\x0b", 13: b"\x0e"}[level]
    packets += b"\x64" + struct.pack("<I", tid)
    return packets + b"\0" * (55 - len(packets)) + b"\x71" + struct.pack("<Q", 12345)


def chain(kernel, ip, caller):
    """As the kernel walks it: marks, the place itself, return addresses."""
    words = [CONTEXT_KERNEL, ip] if kernel else [CONTEXT_USER, ip] + ([BASE + caller + 1] if caller else [])
    return struct.pack(f"<{len(words) + 1}Q", len(words), *words)


def string(text):
    text = text.encode() + b"\0"
    text += b"\0" * (-len(text) % 64)
    return struct.pack("<I", len(text)) + text


def main():
    machine, path, program, code, data = sys.argv[1:6]
    code, data = int(code, 16), int(data, 16)
    kind, config, sample_type = {
        "intel": (4, 0x1cd, SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_ADDR | SAMPLE_WEIGHT | SAMPLE_DATA_SRC),
        "amd": (11, 1 << 19, SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_ADDR | SAMPLE_RAW),
        "arm": (8, 1 << 33, SAMPLE_TID | SAMPLE_TIME),
    }[machine]
    sample_type |= SAMPLE_IDENTIFIER
    caller = int(sys.argv[sys.argv.index("--caller") + 1], 16) if "--caller" in sys.argv else None
    if caller:
        sample_type |= SAMPLE_CALLCHAIN

    def identity(tid=PID, time=1000):
        return struct.pack("<IIQQ", PID, tid, time, 42)

    records = comm(FIRST, b"first", identity()) + comm(SECOND, b"second", identity(SECOND))
    records += mmap2(BASE, 0x200000, 0, program, identity())
    records += mmap2(HEAP, 0x100000, 0, "[heap]", identity())
    stream, time = b"", 2000
    for tid, kernel, ip, address, store, level, latency, hitm in accesses(code, data):
        time += 10
        misc = (1 if kernel else 2) | 1 << 14
        start = struct.pack("<QQIIQ", 42, ip, PID, tid, time)
        if machine == "intel":
            stack = chain(kernel, ip, caller if address < HEAP else None) if caller else b""
            served = struct.pack("<QQ", latency, data_src(store, level, hitm))
            body = start + struct.pack("<Q", address) + stack + served
            records += record(9, misc, body)
        elif machine == "amd":
            raw = ibs_raw(ip, address, store, level, latency)
            raw += b"\0" * (-(4 + len(raw)) % 8)
            records += record(9, misc, start + struct.pack("<QI", address, len(raw)) + raw)
        else:
            stream += spe_record(tid, ip, address, store, level, latency)
    if machine == "arm":
        head = struct.pack("<QQQIIII", len(stream), 0, 0, 0, 0xffffffff, 3, 0)
        records += record(70, 0, struct.pack("<II", 4, 0) + struct.pack("<QQ", 8, 0)) + record(71, 0, head) + stream
    records += record(2, 0, struct.pack("<QQ", 42, 17) + identity())

    attribute = struct.pack("<IIQQQQQ", kind, 128, config, 1000, sample_type, 0, 2 << 15 | 1 << 18)
    attribute += b"\0" * (128 - len(attribute))
    ids = struct.pack("<Q", 42)
    attributes = attribute + struct.pack("<QQ", 104, len(ids))
    at = 104 + len(ids)
    features = {3: string("somewhere"), 8: string("a processor"),
                9: string({"intel": "GenuineIntel,6,85,4", "amd": "AuthenticAMD,25,17,1",
                           "arm": "0x00000000413fd0c1"}[machine]),
                16: struct.pack("<II", 1, kind) + string({"intel": "cpu", "amd": "ibs_op", "arm": "arm_spe_0"}[machine])}
    flags = sum(1 << bit for bit in features)
    data_at = at + len(attributes)
    header = b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, len(attributes), at, len(attributes), data_at, len(records),
                                      0, 0) + struct.pack("<QQQQ", flags, 0, 0, 0)
    sections, place = b"", data_at + len(records) + 16 * len(features)
    for bit in sorted(features):
        sections += struct.pack("<QQ", place, len(features[bit]))
        place += len(features[bit])
    content = header + ids + attributes + records + sections + b"".join(features[bit] for bit in sorted(features))
    if "--cut" in sys.argv:
        content = content[:int(sys.argv[sys.argv.index("--cut") + 1])]
    with open(path, "wb") as file:
        file.write(content)


main()
