#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# The findings of programs with one known problem each: line, object and remedy; and silence on the same
# programs without it. On simulated hardware, with small caches: the input is the same every time.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
reuse_report=$REUSE_BUILDDIR/postproc/reuse-report
source=$REUSE_SRCDIR/tests/integration/programs/patterns.c
export LC_ALL=C
cd "$work" || exit 1
cat >machine.conf <<'CONF'
name = small
cache = 1 4K   64 8 1
cache = 2 64K  64 8 1
cache = 3 256K 64 8 1
latency = 1 1
latency = 2 4
latency = 3 15
latency = memory 90
CONF
needs_qemu "findings"
gcc -std=gnu11 -g -O2 -fno-tree-vectorize -o patterns "$source" -lpthread || exit 1
line_of() { grep -n "mark: $1 " "$source" | cut -d: -f1; }
record() { # KIND SIZE TURNS
    "$reuse_run" -q -e simulate --seed 1 -p 5000 -o "$1.rprof" ./patterns "$@" >log 2>&1 || cat log
    run "$reuse_report" --summary --format json --machine machine.conf "$1.rprof"
}
# The first finding has the pattern, the marked line and the object; of several, one that goes with it.
finds() { # PATTERN MARK[,MARK...] OBJECT[,OBJECT...]
    local marks=() mark
    for mark in ${2//,/ }; do marks+=("$(line_of "$mark")"); done
    python3 - "$1" "${marks[*]}" "$3" <<'END'
import json, sys
findings = json.load(open("out"))["findings"]
for f in findings:
    print("#", f["pattern"], f["time_share"], f["file"], f["line"], f["object"], f["certain"])
pattern, pairs = sys.argv[1], list(zip(map(int, sys.argv[2].split()), sys.argv[3].split(",")))
first = findings[0]
assert first["pattern"] == pattern and first["certain"], first
lines = [at["line"] for at in first["lines"]]
names = [thing["name"] for thing in first["objects"]]
assert [line for line, name in pairs if line in lines and name in names], first
assert first["gain_lo"] <= first["gain"] <= first["gain_hi"] <= first["time_share_hi"] <= 1
END
}
silent() {
    python3 - <<'END'
import json
findings = json.load(open("out"))["findings"]
assert not [f for f in findings if f["certain"]], findings
END
}
bad() { # KIND SIZE TURNS PATTERN MARK OBJECT
    record "$1" "$2" "$3"
    check "$1: $4, at line and object" finds "$4" "$5" "$6"
}
good() { # KIND SIZE TURNS
    record "$@"
    check "$1: nothing to cure" silent
}

bad by-columns 256 8 "across lines" column grid
run "$reuse_report" --machine machine.conf by-columns.rprof
check "the first line of the screen names the problem" \
    test "$(sed -n 2p out | grep -c '^1\. Strided inner loop (each access in another cache line): worth at most')" -eq 1
check "the screen says what to do" out_has '^ +Do: interchange the loops'
check "findings fit a screen" test "$(grep -n '^== Summary' out | cut -d: -f1)" -le 25
check "latencies come from the description" out_has "^Latencies: L2 4, L3 15, memory 90, .* \(of the machine's"
run "$reuse_report" --blocking --machine machine.conf by-columns.rprof
check "hints on the same line leave the advice to the finding" out_has '^finding +[^ ]*patterns.c:'
check "... and have none of their own" test "$(grep -cE '^(block|stream|layout) ' out)" -eq 0
good by-rows 256 8
bad list 20000 20 "linked nodes" list 'nodes[i]'
good list-as-array 60000 8
bad wide-records 10000 40 "few members" record records
# One turn leaves it undecided where the stack, which the size of the environment moves, lies badly.
bad table 200000 3 anywhere table numbers
bad gather-anywhere 50000 8 indexed gather x
check "gather-anywhere: what the indexes come from is named" \
    out_has 'at indexes that come from index \(.*patterns.c:'"$(line_of gather)"
good gather-near 50000 2
# Three loops pass over a and three over b in each turn: either array is right.
bad passes 30000 24 passes third,fourth b,a
good fused 30000 6
bad product-naive 96 1 "across lines" product b
good product-blocked 64 2
good arithmetic 1 2
finish
