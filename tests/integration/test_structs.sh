#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-report --structs: members of structures in C and C++, a better order where there is one, and none where
# there is not. On simulated hardware: the input is the same every time.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
reuse_report=$REUSE_BUILDDIR/postproc/reuse-report
programs=$REUSE_SRCDIR/tests/integration/programs
export LC_ALL=C
cd "$work" || exit 1
needs_qemu "structures"
gcc -std=gnu11 -g -O1 -fno-tree-vectorize -o structures "$programs/structures.c" -lpthread || exit 1
gcc -std=gnu11 -O1 -fno-tree-vectorize -s -o bare "$programs/structures.c" -lpthread || exit 1
g++ -g -O1 -o classes "$programs/structures.cc" || exit 1
record() { # PROGRAM TURNS
    "$reuse_run" -q -e simulate --seed 1 -p 3000 -o "$1.rprof" "./$1" "$2" >log 2>&1 || cat log
}
# Python that sees the structures of the report in json by their names.
structs() { # PROFILE STATEMENT
    "$reuse_report" --structs --format json "$1" >json && python3 - "$2" <<'END'
import json, sys
report = json.load(open("json"))
types = {t["type"]: t for t in report["structs"]}
def member(t, name):
    return next(m for m in types[t]["members"] if m["name"] == name)
def pair(t, a, b):
    return [p["share"] for p in types[t]["used_together"] if {p["member"], p["with"]} == {a, b}]
exec(sys.argv[1])
END
}

record structures 60
check "no -g is asked for where it was given" structs structures.rprof '
assert not any("-g" in text for text in report.get("structs_untyped", [])), report["structs_untyped"]'
check "members lie where the compiler put them" structs structures.rprof '
p = {m["name"]: (m["offset"], m["size"], m["hole_after"]) for m in types["struct particle"]["members"]}
assert p == {"mass": (0, 8, 0), "name": (8, 100, 0), "ready, busy": (108, 1, 3), "at": (112, 8, 0),
             "tail": (120, 32, 0), "hits": (152, 4, 4)}, p
assert types["struct particle"]["size"] == 160 and types["struct particle"]["padding"] == 7'
line=$(grep -n "mark: particle" "$programs/structures.c" | cut -d: -f1)
check "and where the source declares it" structs structures.rprof "
assert types['struct particle']['line'] == $line and types['struct particle']['file'].endswith('structures.c')"
check "accesses, stores and threads are those of the source" structs structures.rprof '
hits, mass = member("struct particle", "hits"), member("struct particle", "mass")
assert abs(hits["accesses_share"] - 2 / 3) < 0.03 and abs(hits["stores_share"] - 0.5) < 0.03, hits
assert mass["stores_share"] == 0 and mass["writers"] == 0 and mass["readers"] == 1, mass
assert member("struct particle", "name")["accesses"] == 0
assert member("struct pair", "left")["writers"] == 1'
check "what is used together is told" structs structures.rprof '
assert pair("struct particle", "mass", "hits")[0] > 0.9
assert not pair("struct particle", "mass", "name")'
check "a better order, and what it saves" structs structures.rprof '
t = types["struct particle"]
assert t["verdict"] == "reorder", t
assert t["lines_per_element"] > 1.9 and t["proposed"]["lines_per_element"] <= 1.3, t
assert {m["proposed_offset"] for m in t["members"] if m["name"] in ("mass", "hits")} == {0, 8}, t
assert t["proposed"]["size"] <= 160'
check "a good one is told to be good" structs structures.rprof '
t = types["struct pair"]
assert t["verdict"] == "good" and "No better order" in t["advice"], t
assert t["proposed"]["size"] is None and member("struct pair", "left")["proposed_offset"] is None'
check "unions and packed structures are left as they are" structs structures.rprof '
assert types["union either"]["verdict"] == "fixed" and "union" in types["union either"]["advice"]
assert types["struct wire"]["verdict"] == "fixed" and "Packed" in types["struct wire"]["advice"]'
check "members of different threads are not moved together" structs structures.rprof '
t = types["struct meeting"]
assert t["verdict"] == "fixed" and "Different threads" in t["advice"], t'
check "an open array is a member without end" structs structures.rprof '
data = member("struct row", "data")
assert data["kind"] == "open array" and data["accesses_share"] > 0.6 and types["struct row"]["verdict"] == "good"'

run piped "$reuse_report" --structs structures.rprof
check "the text has at most 80 columns" awk 'length($0) > 80 { exit 1 }' out
check "holes and line ends are in the text" eval \
    "grep -q '^ 109 .* 3 .*(hole)' out && grep -q -e '---- 64 ----' out && grep -q -e '---- 128 ----' out"
check "so is the order" grep -q "Better order: hits, mass\|Better order: mass, hits" out
run "$reuse_report" --html page.html structures.rprof
check "and in the page" grep -q "struct particle, 160 B" page.html

record classes 60
check "classes: base class and table in front, members of this class, no static ones" structs classes.rprof '
assert [m["name"] for m in types["Body"]["members"]] == ["(base Base)", "flag", "history", "hits"], types
assert member("Body", "(base Base)")["proposed_offset"] == 0 and types["Body"]["verdict"] == "reorder"
assert abs(member("Body", "flag")["accesses_share"] - 0.5) < 0.05, types["Body"]'
check "elements of a vector" structs classes.rprof '
assert types["struct Pair"]["objects"] == "pairs" and types["struct Pair"]["verdict"] == "good", types'
check "nodes that new makes with braces" structs classes.rprof '
assert types["struct Node"]["objects"] == "list", types
assert abs(member("struct Node", "key")["accesses_share"] - 0.5) < 0.05, types["struct Node"]'

record bare 10
check "the module without debug information is named" structs bare.rprof '
assert "without debug information (bare)" in report["structs_untyped"][0], report["structs_untyped"]'
run "$reuse_report" --structs bare.rprof
check "without debug information one line says so, and what to do" eval \
    "[ $status -eq 0 ] && grep -q 'No structure is known' out && grep -q 'Compile with' out"
"$reuse_run" -q -e exact -o exact.rprof ./structures 1 >log 2>&1 || cat log
run "$reuse_report" --structs exact.rprof
check "an exact profile tells no members, and says so" eval \
    "[ $status -eq 0 ] && grep -q 'tells no members' out"
finish
