#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# --timeline: misses over the run, of a program with phases and of one without.
# Rests on samples.
. "$(dirname "$0")/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
report=$REUSE_BUILDDIR/postproc/reuse-report
target=$REUSE_BUILDDIR/tests/integration/programs/target_live
cd "$work" || exit 1

# record NAME COMMAND...: the program under the profiler, with these commands.
record() {
    local name=$1
    shift
    printf '%s\n' "$@" | "$reuse_run" -q -e clock --budget 10 -o "$name.rprof" "$target" >/dev/null
    "$report" --timeline --format json "$name.rprof" >"$name.json"
}
of() { python3 -c "
import json
rows = json.load(open('$1.json'))['timeline']
known = [r for r in rows if r['misses']['level1'] is not None]
print($2)"; }

record phases 'burn 1500' 'stride 1500'
record steady 'stride 2000'
check "a phase that misses more is marked" test "$(of phases 'any(r["changed"] for r in rows)')" = True
check "... the first slice is not" test "$(of phases 'rows[0]["changed"]')" = False
check "the sweep over few lines misses seldom in the first slice" \
    test "$(of phases 'known[0]["misses"]["level1_lo"] < 0.1')" = True
check "... and every line of the large one, half of the accesses, in the last" \
    test "$(of phases '0.4 < known[-1]["misses"]["level1"] < 0.6')" = True
check "slices follow each other" \
    test "$(of phases 'all(a["to"] == b["from"] for a, b in zip(rows, rows[1:]))')" = True
check "a steady program has no change" test "$(of steady 'any(r["changed"] for r in rows)')" = False
LC_ALL=C.UTF-8 run "$report" --timeline phases.rprof
check "a line of blocks" out_has '█'
LC_ALL=C run "$report" --timeline phases.rprof
check "... or of ASCII where the locale has no others" out_has '^(L1|32 KiB) .*#.* 0 \.\.' 
run "$report" --timeline phases.rprof steady.rprof
check "several processes: said to be unknown" out_has 'clocks need not'
run "$report" --format html -o page.html --timeline phases.rprof
check "the page has it" grep -q 'Over the run' page.html
finish
