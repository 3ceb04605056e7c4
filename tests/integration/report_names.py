# SPDX-License-Identifier: BSD-3-Clause
"""Writes commands for profile_script: one heap object for each allocating call of a program.

usage: report_names.py PROGRAM SOURCE LIBSTDCXX EXPECTED > COMMANDS

Calls of allocators are found in the disassembly and put on source lines by addr2line; the marks
in the source say what each block ought to be called. The contexts are those that unwinding would
have found: through operator new of the C++ library, through wrappers and strdup.
EXPECTED gets one line per object: its name, or the function and line where it is allocated.
"""
import re
import subprocess
import sys

program, source, library, expected = sys.argv[1:5]
BIAS, LIBRARY_BIAS = 0x555555554000, 0x7F0000000000


def output(*command):
    return subprocess.check_output(command, text=True)


marks = {}
for number, text in enumerate(open(source), 1):
    if match := re.search(r"(?:/\*|!) (?:name: (\S+)|(place|sites))(?: \*/)?$", text.rstrip()):
        marks[number] = match[1].split("|") if match[1] else [match[2]]

functions, name = {}, None
for line in output("objdump", "-d", "--no-show-raw-insn", program).splitlines():
    if match := re.match(r"[0-9a-f]+ <(.+)>:", line):
        name = match[1]
        functions[name] = []
    elif match := re.match(r" +([0-9a-f]+):\s+(.*)", line):
        functions[name].append((int(match[1], 16), match[2]))


def calls(pattern):
    """(function, address of the call, return address, callee) of the calls that match."""
    for function, code in functions.items():
        for (address, text), (after, _) in zip(code, code[1:]):
            match = re.search(r"call.*<(.*?)(@plt)?>", text)
            if match and re.fullmatch(pattern, match[1]):
                yield function, address, after, match[1]


def marked_line(address):
    """The line of a frame at the address that has a mark, the innermost one."""
    for line in output("addr2line", "-i", "-e", program, hex(address)).splitlines():
        place, _, number = line.split(" ")[0].rpartition(":")
        if place.endswith(source.rsplit("/", 1)[-1]) and number.isdigit() and int(number) in marks:
            return int(number)
    return None


def library_symbol(symbol):
    for line in output("nm", "-D", library).splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[2].split("@")[0] == symbol:
            return int(fields[0], 16) + LIBRARY_BIAS
    raise SystemExit(f"{library} has no {symbol}")


print("defaults")
print(f"module - {BIAS:#x} {BIAS + 0x100000:#x} {BIAS:#x} {program}")
print(f"module - {LIBRARY_BIAS:#x} {LIBRARY_BIAS + 0x1000000:#x} {LIBRARY_BIAS:#x} {library}")
print("thread 1 main")
contexts = sites = 0
ALLOCATORS = {"malloc": 1, "calloc": 2, "realloc": 3}
wanted = []


def add(allocator, frames):
    """A site whose context has the frames, innermost first, and a probe of its object."""
    global contexts, sites
    parent = 0
    for address in reversed(frames):
        print(f"context {parent} {address:#x}")
        contexts += 1
        parent = contexts
    sites += 1
    print(f"site {parent} {allocator}")
    print(f"probes 0x1000 kind=1 reference={sites} reuse_ip=0x1000 0:3=1")


seen = {}


def add_call(function, call, frames, callee, allocator, depth):
    """Follows a call outwards until it comes from a marked line."""
    line = marked_line(call)
    if line is None:
        if depth < 3:
            for outer, outer_call, after, _ in list(calls(re.escape(function))):
                add_call(outer, outer_call, frames + [after + BIAS], callee, allocator, depth + 1)
        return
    index = seen.get(line, 0)
    seen[line] = index + 1
    names = marks[line]
    name = names[min(index, len(names) - 1)]
    add(allocator, frames)
    # A procedure of a Fortran module has its module's name in that of its symbol.
    place = f"{re.sub('^__.*_MOD_', '', function)}:{line}"
    ordinal = ("1st", "2nd", "3rd")[index] if index < 3 else f"{index + 1}th"
    wanted.append({"place": place, "sites": f"{place} ({ordinal} site)"}.get(name, name))


for function, call, after, callee in list(calls("malloc|calloc|realloc|strdup|_Znwm|_Znam")):
    frames = [after + BIAS]
    if callee in ("_Znwm", "_Znam", "strdup"):
        frames.insert(0, library_symbol(callee) + 5)
    add_call(function, call, frames, callee, ALLOCATORS.get(callee, 1), 0)
print("burst 1 0\nfinish")
missing = set(marks) - set(seen)
if missing:
    raise SystemExit(f"no allocating call found for the marks of lines {sorted(missing)}")
with open(expected, "w") as stream:
    stream.write("\n".join(sorted(wanted)) + "\n")
