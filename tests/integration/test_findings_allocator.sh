#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Rests on samples: see tests/run.
# Findings on time in the allocator and in containers that grow, and silence on the same programs without.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
reuse_report=$REUSE_BUILDDIR/postproc/reuse-report
source=$REUSE_SRCDIR/tests/integration/programs/allocating.cc
export LC_ALL=C
cd "$work" || exit 1
g++ -g -O2 -o allocating "$source" || exit 1
record() { # KIND
    "$reuse_run" -q -e clock --budget 10 -o "$1.rprof" ./allocating "$1" 4 >log 2>&1 || cat log
    run "$reuse_report" --summary --format json "$1.rprof"
}
# Statements in Python on the findings, by their patterns.
says() { # STATEMENT
    python3 - "$1" "$source" <<'END'
import json, sys
findings = {f["pattern"]: f for f in json.load(open("out"))["findings"]}
def line(mark):
    return next(i for i, text in enumerate(open(sys.argv[2]), 1) if "mark: " + mark in text)
for f in findings.values():
    print("#", f["pattern"], f["time_share"], f["line"], f["bursts"])
exec(sys.argv[1])
END
}
record churn
check "blocks that come and go: the allocator, and who calls it" says '
f = findings["allocator"]
assert f["time_share"] > 0.3 and f["certain"], f
assert {line("churn"), line("free")} & {at["line"] for at in f["lines"]}, f["lines"]
assert "pool" in f["remedy"]'
record kept
check "one that is kept: nothing" says 'assert "allocator" not in findings'
record growing
check "a table that grows: reserve" says '
f = findings["growing container"]
assert line("growing") in {at["line"] for at in f["lines"]}, f["lines"]
assert "reserve" in f["remedy"]'
record reserved
check "one with room: no growth" says 'assert "growing container" not in findings'
finish
