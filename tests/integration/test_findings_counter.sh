#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Rests on samples: see tests/run.
# An atomic counter that threads write together, beside what they only read: named by what is written, and
# priced by what it costs them, against a counter for each.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
. "$REUSE_SRCDIR/tests/integration/findings.bash"
source=$REUSE_SRCDIR/tests/integration/programs/request_counter.c
cd "$work" || exit 1
gcc -std=gnu11 -g -O2 -pthread -o request_counter "$source" || exit 1
if [ "$(nproc)" -lt 2 ]; then
    skip "a counter that threads share" "one CPU"
    finish
    exit
fi
count=40000000
cpu_ms() { ./request_counter "$1" "$count" | cut -d' ' -f1; }
together=$(cpu_ms together)
apart=$(cpu_ms apart)
"$reuse_run" -q -e clock --budget 10 -o counter.rprof ./request_counter together "$count" >log 2>&1 || cat log
run "$reuse_report" --format json counter.rprof
check "the counter is a finding, and what is only read is none" says '
found = [f for f in findings if f["pattern"] == "true sharing"]
assert [f["object"] for f in found] == ["requests"], [f["object"] for f in found]
assert line("counts") in [at["line"] for at in found[0]["lines"]]'
# On a busy machine threads take turns by the kernel: nothing is to be gained there.
if [ "$((together))" -gt "$((2 * apart))" ]; then
    check "... worth what a counter for each thread saves" says "
found = findings[0]
saved = 1 - $apart / $together
print('# saved', round(saved, 2), 'expected', found['gain_lo'], found['gain_hi'])
assert found['pattern'] == 'true sharing' and found['gain_lo'] - .15 <= saved <= found['gain_hi'] + .15"
else
    skip "... worth what a counter for each thread saves" "threads hardly ran at the same time: $together and $apart ms"
fi
finish
