#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Rests on samples: see tests/run.
# Page faults as a finding: memory that goes back to the kernel and is had again, against memory that is kept.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
. "$REUSE_SRCDIR/tests/integration/findings.bash"
source=$REUSE_SRCDIR/tests/integration/programs/page_faults.c
cd "$work" || exit 1
gcc -std=gnu11 -g -O2 -fno-tree-vectorize -D_GNU_SOURCE -o page_faults "$source" || exit 1
record() { # NAME KIND TURNS
    "$reuse_run" -q -e clock --budget 10 -o "$1.rprof" ./page_faults "$2" "$3" >log 2>&1 || cat log
    run "$reuse_report" --summary --format json "$1.rprof"
}
found='found = [f for f in findings if f["pattern"] == "page faults"]'
record again again 60
check "memory that is given back: page faults, first, at the line that uses it" says "$found"'
first, lines = report["findings"][0], [at["line"] for at in found[0]["lines"]]
assert first["pattern"] == "page faults" and lines[0] == line("touch") and first["time_share"] > 0.3'
check "... and what they are, in the summary" says 's = report
assert s["page_faults"] > 60 * 4096 and s["kernel_time"] > 0.2 and s["peak_memory"] < 2 * (16 << 20)'
run "$reuse_report" --summary again.rprof
check "... with the remedy for mapped memory" out_has 'giving it back to the kernel'
record keep keep 3000
check "memory that is kept: none" says "$found"'
assert not found'
check "... and few faults" says 's = report
assert s["page_faults"] < 60 * 4096 / 4'
if [ "$(cut -d[ -f2 /sys/kernel/mm/transparent_hugepage/enabled 2>log | cut -d] -f1)" = always ]; then
    skip "blocks of the heap" "huge pages are used for all memory"
else
    # malloc() learns to keep blocks of up to 32 MiB once one was freed, but for this limit.
    export MALLOC_MMAP_THRESHOLD_=1048576
    record heap heap 40
    check "blocks of the heap: at their line, with what makes malloc keep them" says "$found"'
assert line("block") in [at["line"] for at in found[0]["lines"]] and "MALLOC_TRIM_THRESHOLD_" in found[0]["remedy"]'
    export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1
    record kept heap 200
    check "... which it does" says "$found"'
assert not found'
fi
finish
