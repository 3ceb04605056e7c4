#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Curves of the engine clock on arm64 against closed forms. An emulated processor is slow: runs are short and the
# budget is large.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
bin=$REUSE_BUILDDIR/postproc micro=$REUSE_BUILDDIR/microbench

# curve NAME PROGRAM ARGUMENTS...: runs it with and without us
curve() {
    local name=$1
    shift
    "$micro/$@" >"$work/native"
    run "$bin/reuse-run" -q -e clock --seed 7 --budget 25 -o "$work/p.rprof" -- "$micro/$@" --truth "$work/truth"
    check "$name: same output" cmp -s "$work/out" "$work/native"
    check "$name: same status" status_is 0
    run "$bin/reuse-report" --format json "$work/p.rprof"
    cp "$work/out" "$work/report"
    run python3 "$REUSE_SRCDIR/tests/arm/curve_error.py" "$work/report" "$work/truth"
    echo "# $name: error in pp, accesses to true ones: $(cat "$work/out")"
    check "$name: the curve is within 5 pp" awk '{ exit !($1 < 5) }' "$work/out"
    check "$name: the number of accesses is within a factor of 1.6" awk '{ exit !($2 > 0.6 && $2 < 1.6) }' "$work/out"
    check "$name: what was watched was mostly reused" python3 -c '
import json, sys
w = json.load(open(sys.argv[1]))["watches"]
sys.exit(not (w["armed"] >= 5 and w["reused"] >= 0.7 * w["armed"]))' "$work/report"
}

curve "a sweep" sweep --bytes 512K --iterations 1500
curve "a stencil" stencil --rows 128 --columns 256 --iterations 1000
finish
