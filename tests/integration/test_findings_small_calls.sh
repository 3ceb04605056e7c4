#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Rests on samples: see tests/run.
# System calls that move a few bytes each as a finding, against the same through a buffer.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
. "$REUSE_SRCDIR/tests/integration/findings.bash"
source=$REUSE_SRCDIR/tests/integration/programs/small_calls.c
cd "$work" || exit 1
gcc -std=gnu11 -g -O2 -o small_calls "$source" || exit 1
record() { # KIND COUNT
    "$reuse_run" -q -e clock --budget 10 -o "$1.rprof" ./small_calls "$1" "$2" >log 2>&1 || cat log
    run "$reuse_report" --summary --format json "$1.rprof"
}
found='found = [f for f in findings if f["pattern"] == "small system calls"]'
if ! grep -q '^syscr:' /proc/self/io 2>log; then
    skip "small system calls" "the kernel does not count them (/proc/self/io)"
    finish
    exit
fi
record read 1500000
check "a read of 16 bytes each: at its line, first" says "$found"'
first, lines = report["findings"][0], [at["line"] for at in found[0]["lines"]]
assert first["pattern"] == "small system calls" and line("read") in lines and first["time_share"] > 0.3'
check "... and in the summary" says "s = report
assert 1500000 <= s['read_write_calls'] < 1600000 and s['read_write_bytes'] >= 16 * 1500000"
run "$reuse_report" --summary read.rprof
check "... with their number and size" out_has '1\.5[0-9]* +M +calls,'
check "... and the remedy" out_has 'read +and +write +more +at +a +time'
record flushed 1000000
check "a flush after each record: below the line of the program" says "$found"'
assert found and line("flush") in [at["line"] for at in found[0]["lines"]]'
record buffered 10000000
check "through a buffer: none" says "$found"'
assert not found'
finish
