#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# --record-raw and --replay on 64-bit Arm: registers and vectors of the signal frame are on the tape, also those that lie
# beside it, and the profile comes out the same byte for byte.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
bin=$REUSE_BUILDDIR/postproc micro=$REUSE_BUILDDIR/microbench
cd "$work" || exit 1

# again NAME PROGRAM...: recorded, repeated, compared
again() {
    local name=$1
    shift
    rm -f tape recorded.rprof replayed.rprof
    run timeout 100 "$bin/reuse-run" -e clock --seed 5 --budget 25 -o recorded.rprof --record-raw tape -- "$@"
    check "$name: recorded" bash -c "[ $status -eq 0 ] && [ -e recorded.rprof ]"
    run timeout 100 "$bin/reuse-run" --replay tape -o replayed.rprof
    check "$name: replay succeeds" status_is 0
    check "$name: with samples" err_has 'replayed [0-9]+ signals, [1-9][0-9]* samples'
    check "$name: the profile is the same" cmp recorded.rprof replayed.rprof
}

again "one thread" "$micro/sweep" --bytes 256K --iterations 40
again "four threads" "$micro/stream" --iterations 1
again "exclusive pairs of two threads" "$REUSE_BUILDDIR/tests/arm/exclusive_counters" 2 2000
cp tape other
printf '\x3e' | dd of=other bs=1 seek=8 conv=notrunc 2>err
run "$bin/reuse-run" --replay other -o replayed.rprof
check "a tape of another processor is refused" err_has 'other was recorded on x86-64'
finish
