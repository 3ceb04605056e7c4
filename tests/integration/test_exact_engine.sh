#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-run --engine exact, end to end: counts that are known, all kinds of programs and of ends.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
run_exact="$REUSE_BUILDDIR/postproc/reuse-run --engine exact"
report=$REUSE_BUILDDIR/postproc/reuse-report
dmtvm=$REUSE_BUILDDIR/microbench/dmtvm
curve=$REUSE_BUILDDIR/tests/support/exact_curve

needs_qemu "the exact engine"
cd "$work" || exit 1
is() { [ "$1" = "$2" ]; }

# Counts of dmtvm's iterations alone: what three make more than one. Distances at 64-byte lines:
# x again after its load; m, or x after m; x after one row (1250 other lines).
counts() { "$curve" -b "$1" | awk -v low="$2" -v high="$3" '$1 >= low && $1 < high { n += $2 } END { print n + 0 }'; }
run $run_exact -o one.rprof "$dmtvm" --iterations 1
check "a program runs to its end" status_is 0
check "and prints what it prints" out_has 'iterations=1'
check "one closing line names the profile" err_has '^libreuse: exact: [0-9]+ accesses of 1 thread .*one.rprof'
run $run_exact -q -o three.rprof "$dmtvm" --iterations 3
check "quiet is quiet" err_is_empty
more() { echo $((($(counts three.rprof "$1" "$2") - $(counts one.rprof "$1" "$2")) / 2)); }
within() { awk -v a="$1" -v b="$2" -v by="$3" 'BEGIN { d = a - b; exit !(d <= by && -d <= by) }'; }
check "uses at distance 0: x's stores" within "$(more 0 1)" 2500000 200
check "uses at distance 1: m and x within their lines" within "$(more 1 2)" 4375000 6000
check "uses at one row's distance: x" within "$(more 1200 1300)" 312928 200
check "uses at m's distance" within "$(more 300000 320000)" 312564 200

run "$report" --format json one.rprof
check "reuse-report reads it" status_is 0
check "as exact" out_has '"engine": *"exact"'
check "with the source line that makes the accesses" out_has 'dmtvm\.c'

run $run_exact -o threads.rprof "$REUSE_BUILDDIR/microbench/stream" --threads 4 --bytes 1M --iterations 2
check "threads are told apart" err_has 'of 4 threads'
for thread in 1 2 3 4; do
    run "$curve" -t $thread threads.rprof
    check "thread $thread has its own curve" status_is 0
done

# A tenth of the lines, and what all of them have at 256 KiB: 4.2 % (x comes back from nearer).
run $run_exact --rate 0.1 -o rate.rprof "$dmtvm" --iterations 3
at_256k() { "$curve" "$1" | awk '$1 >= 262144 { print $2; exit }'; }
check "a sample of the lines has the same curve" within "$(at_256k rate.rprof)" "$(at_256k three.rprof)" 0.005
run $run_exact --rate 2 /bin/true
check "a bad rate is refused" err_has "--rate: '2' is not a number from 0.001 to 1"

# What four threads with arrays of their own share is one cache: its clock counts all their accesses.
run "$curve" -g 1 threads.rprof
check "the cache that the threads share has a curve" status_is 0
sum() { "$curve" "$@" threads.rprof | awk '/^#/ { print $3 }'; }
check "and sees all accesses" is "$(sum -g 1)" "$(sum)"

# Random accesses of 1 to 16 bytes at any alignment in three threads, against a list of lines.
random=$REUSE_BUILDDIR/tests/support/exact_random
memory=$(nm "$random" | awk '$3 == "memory" { print $1 }')
run $run_exact -o random.rprof --line-sizes 32,256,4096 "$random" run
for size in 32 64 256 4096; do
    "$random" expect $size >expected
    "$curve" -l $size -x "$memory" random.rprof >out
    check "random accesses, lines of $size bytes: every distance as defined" cmp -s expected out
done

# Four threads over 1000 lines each, side by side: 200 rounds, the first is cold. A line that is two
# turns ahead or behind is still in time.
run $run_exact -o shared.rprof "$REUSE_BUILDDIR/tests/support/exact_shared"
beyond() { "$curve" -b "$@" shared.rprof | awk '$1 >= 3700 && $1 < 4300 { n += $2 } END { print n + 0 }'; }
check "four threads' lines lie between two uses in the shared cache" \
    awk -v n="$(beyond -g 1)" 'BEGIN { exit !(n > 0.5 * 4 * 199 * 1000) }'
check "and not in private ones" test "$(beyond)" -lt 1000

# Transfers of known number on one line (tests/support/exact_ping_pong.c).
run $run_exact -o pong.rprof "$REUSE_BUILDDIR/tests/support/exact_ping_pong" 500
address=$(cat out)
transfers() { "$curve" -s pong.rprof | awk -v line="$address" -v what="$1" '$5 == line && $1 "->" $2 " " $3 " " $4 == what { n += $6 } END { print n + 0 }'; }
check "true RAW" is "$(transfers '1->2 RAW true')" 500
check "false RAW" is "$(transfers '1->2 RAW false')" 0
check "false WAW, there" is "$(transfers '1->2 WAW false')" 500
check "true WAW, back" is "$(transfers '2->1 WAW true')" 499
bytes() { "$curve" -s pong.rprof | awk -v line="$address" -v what="$1" '$5 == line && $1 "->" $2 " " $3 == what { print $7, $8 }'; }
check "the bytes of both accesses of a RAW" is "$(bytes '1->2 RAW')" "0+8 0+8"
check "and of a WAW" is "$(bytes '1->2 WAW')" "0+8 8+8"
check "no WAR" is "$(transfers '1->2 WAR false')$(transfers '2->1 WAR true')" 00

# The published sector-cache study: 236875 misses undivided, 156824 with m in one way; this engine's
# program also starts up and ends, which is 0.5 % more.
run $run_exact --partitions 4 --line-size 256 -o sector.rprof \
    "$REUSE_BUILDDIR/tests/support/exact_sector"
run "$curve" -p sector.rprof
m=$(nm "$REUSE_BUILDDIR/tests/support/exact_sector" | awk '$3 == "m" { print substr($1, 12) }')
check "misses of a whole cache, as published" within "$(awk '/undivided/ { print $2 }' out)" 236875 2400
check "isolating m in one way, as published" within "$(awk "/$m /"'{ print $2 }' out)" 156824 1600
check "isolating m in two ways gains nothing" within "$(awk "/$m /"'{ print $3 }' out)" 236875 2400

# Blocks that the program tells of (tests/support/exact_blocks.c).
run $run_exact -o blocks.rprof "$REUSE_BUILDDIR/tests/support/exact_blocks"
run "$curve" -o blocks.rprof
check "a large block: all its accesses" out_has '^1 1 0x0 120000 5000$'
check "a small block" out_has '^1 2 0x0 700 2$'
check "another in the same place" out_has '^1 3 0x0 300 0$'

printf '#!/no/such/shell\n' >orphan
chmod +x orphan
run $run_exact ./orphan
check "a script without its interpreter" err_has 'its interpreter /no/such/shell: No such file'
check "is not found" status_is 127
cat >illegal.c <<'END'
int main(void)
{
    __asm__ volatile("vpxorq %zmm0, %zmm0, %zmm0");
    return 0;
}
END
gcc -o illegal illegal.c
run $run_exact -o illegal.rprof ./illegal
check "AVX-512: the cause and the way out" err_has 'QEMU cannot run AVX-512; build with -march=x86-64-v3'
check "and a whole profile" "$report" illegal.rprof
if command -v aarch64-linux-gnu-gcc >/dev/null; then
    aarch64-linux-gnu-gcc -o foreign illegal.c 2>/dev/null ||
        { echo 'int main(void) { return 0; }' >foreign.c && aarch64-linux-gnu-gcc -o foreign foreign.c; }
    run $run_exact ./foreign
    check "a program for aarch64: the cause and the way out" err_has 'is a program for aarch64.*build it for x86-64'
else
    skip "a program for aarch64" "no cross compiler"
fi
run qemu-x86_64 -plugin "$REUSE_BUILDDIR/exact/.libs/libreuse-exact.so,version=0.0.1" /bin/true
check "a plugin of another version" err_has 'libreuse-exact.so is version .*, reuse-run is 0.0.1: install both'

printf '#!/bin/sh -e\necho "$0 $1"\n' >script
chmod +x script
run $run_exact -o script.rprof ./script argument
check "a script runs in its interpreter" out_has 'script argument$'
check "and is analysed" test -s script.rprof

run $run_exact -o '%e.%p.rprof' /bin/sh -c '/bin/ls / >/dev/null; exit 7'
check "the exit status is the program's" status_is 7
check "a program started by it is analysed too" test -s "$(echo ls.*.rprof)"
run $run_exact -o first.rprof /bin/sh -c 'exec /bin/echo carried over'
check "exec goes on under the engine" out_has 'carried over'
check "and keeps the first program's profile" test "$(echo first.rprof*)" != first.rprof
run env REUSE_FOLLOW=fork $run_exact -o alone.rprof /bin/sh -c 'exec /bin/echo left'
check "unless it is not to be followed" test "$(echo alone.rprof*)" = alone.rprof

mkdir elsewhere
run $run_exact -o '%e-away.rprof' /bin/sh -c 'cd elsewhere && exec /bin/echo here'
check "a profile lies where the run started" test -s echo-away.rprof

run $run_exact -o killed.rprof /bin/sh -c 'kill -SEGV $$'
check "death by a signal is passed on" test "$status" -ge 128
run "$report" killed.rprof
check "and leaves a whole profile" status_is 0

$run_exact -q -o sudden.rprof "$dmtvm" --seconds 60 >/dev/null 2>&1 &
victim=$!
# The file begins before the first results are in it.
for _ in $(seq 100); do
    "$curve" sudden.rprof >/dev/null 2>&1 && break
    sleep 0.2
done
sleep 1 # the first snapshot is several writes
kill -KILL $victim
wait $victim 2>/dev/null
run "$curve" sudden.rprof
check "a killed program leaves what was written before" status_is 0

run $run_exact -q -o python.rprof python3 -I -S -c 'import threading; t = threading.Thread(target=print, args=("thread",)); t.start(); t.join(); import os; print(sum(range(10**5)))'
check "python runs" out_has '4999950000'

mkdir empty
run env PATH="$work/empty" /bin/bash -c "$run_exact /bin/true"
check "without QEMU: status 125" status_is 125
check "and one line with the way out" err_has 'qemu-x86_64 is not in PATH; install it'
printf '#!/bin/sh\necho qemu-x86_64 version 5.2.0\n' >empty/qemu-x86_64
chmod +x empty/qemu-x86_64
run env PATH="$work/empty" /bin/bash -c "$run_exact /bin/true"
check "an old QEMU is refused" err_has 'version 5.2.0; the engine exact needs 7.2'
run $run_exact --line-sizes 64,100 /bin/true
check "bad line sizes are refused" err_has "'64,100' is not a list"
run $run_exact -o /nowhere/x.rprof /bin/echo ran
check "without a profile the program still runs" out_has '^ran$'
check "and the reason is given" err_has 'cannot create /nowhere/x.rprof'
finish
