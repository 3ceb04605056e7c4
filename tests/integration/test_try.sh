#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# From a finding on heap blocks to a run that has it cured: reuse-run --try.
# Runs beside others.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
reuse_run=$REUSE_BUILDDIR/postproc/reuse-run
reuse_report=$REUSE_BUILDDIR/postproc/reuse-report
neighbours=$REUSE_BUILDDIR/tests/integration/programs/target_neighbours
cd "$work" || exit 1

# The lines of 64 bytes that the blocks begin in, and how far into them.
lines() { sed -nE 's/^block (0x[0-9a-f]+) .*/\1/p' err | while read -r at; do echo $((at / 64)); done; }
offsets() { sed -nE 's/^block (0x[0-9a-f]+) .*/\1/p' err | while read -r at; do echo $((at % 64)); done; }
parted() { [ "$(offsets | sort -u)" = 0 ] && [ "$(lines | sort -u | wc -l)" -eq 2 ]; }
padded() { [ "$(sed -nE 's/^block .* usable ([0-9]+)$/\1/p' err | awk '$1 < 64' | wc -l)" -eq 0 ]; }

run "$neighbours" 1000
cp out plain
check "without a trial the two share a line" [ "$(lines | sort -u | wc -l)" -eq 1 ]

# ---- the place as the linker gave it ----
behind_mallocs() {
    objdump -d --no-show-raw-insn "$neighbours" |
        awk '/^[0-9a-f]+ <.*>:$/ { inside = $2 == "<main>:"; wanted = 0 }
             wanted { sub(":", "", $1); print $1; wanted = 0 }
             inside && /(call|bl) .*<malloc@plt>/ { wanted = 1 }'
}
mapfile -t behind < <(behind_mallocs)
first=target_neighbours+0x${behind[0]} second=target_neighbours+0x${behind[1]}
both="align:$first=64,align:$second=64"
last_byte() { printf 'target_neighbours+0x%x' $((0x$1 - 1)); }
as_reported="align:$(last_byte "${behind[0]}")=64,align:$(last_byte "${behind[1]}")=64"
run "$reuse_run" -e none --try "$both" "$neighbours" 1000
check "the program runs" status_is 0
check "its output is the same" cmp -s out plain
check "each block has a line to itself" parted
check "and fills it" padded
check "a line says how many were aligned" err_has "^libreuse: 1 block of target_neighbours\+0x[0-9a-f]+ aligned to 64 bytes$"
run "$reuse_run" -q -e none --try "$both" "$neighbours" 1000
check "quiet: aligned, and nothing said" eval 'parted && ! grep -q libreuse err'
run "$reuse_run" -e none --try "align:other+0x12=64,align:$first=4096" "$neighbours" 1000
check "one of two places" eval 'grep -q "aligned to 4096 bytes" err && [ $(($(sed -nE "s/^block (0x[0-9a-f]+) .*/\1/p" err | head -n 1) % 4096)) -eq 0 ]'
check "the one that is not there is told" err_has "not loaded the module of other\+0x12"
run "$reuse_run" -e none --try "align:$(last_byte "${behind[0]}")=64" "$neighbours" 1000
check "the call's last byte will do" err_has "^libreuse: 1 block of target_neighbours.* aligned to 64 bytes$"
run "$reuse_run" -e none --try "align:target_neighbours+0x$(printf %x $((0x${behind[0]} - 2)))=64" "$neighbours" 1000
check "another of its bytes will not" err_has "nothing was changed in target_neighbours"
run "$reuse_run" -e none --try "align:target_neighbours+0x1=64" "$neighbours" 1000
check "a place without blocks: the program runs" cmp -s out plain
check "a line says that nothing was changed" err_has "nothing was changed in target_neighbours: no block was allocated at target_neighbours\+0x1 "
run "$reuse_run" -e none --try "$both" sh -c "$neighbours 1000; exit 4"
check "programs that it starts are reached" eval 'status_is 4 && parted'
run "$reuse_run" -o profiled.rprof --try "$both" "$neighbours" 1000
check "under the profiler too" eval 'status_is 0 && cmp -s out plain && parted'

# ---- what cannot be tried ----
refused() { # NAME CHANGE REASON
    run "$reuse_run" -e none --try "$2" "$neighbours" 1000
    check "$1: status 125" fails_with 125 "$3"
}
refused "a global" align:counter=64 "only heap blocks can be aligned.*globals.*alignas"
refused "a stack" "align:stack of main=64" "only heap blocks can be aligned"
refused "a folder in the name" align:./app+0x12=64 "only heap blocks"
refused "no address" align:app+0x=64 "only heap blocks"
refused "no alignment" align:app+0x12 "=BYTES is missing"
refused "a wrong alignment" align:app+0x12=48 "power of two from 16 to 4096"
refused "another verb" pad:app+0x12=64 "what can be tried is align:"
refused "an empty part" "align:app+0x12=64," "what can be tried is align:"
run "$reuse_run" -e exact --try "$both" "$neighbours" 1000
check "an engine that times nothing: status 125" fails_with 125 "not in the engines exact and simulate"
REUSE_TRY=nonsense LD_PRELOAD=$REUSE_BUILDDIR/runtime/.libs/libreuse-try.so run "$neighbours" 1000
check "the library alone: the program runs" cmp -s out plain
check "and a line says what is wrong" err_has "nothing is changed: REUSE_TRY: what can be tried"

# ---- huge pages ----
large=$REUSE_BUILDDIR/tests/integration/programs/target_large_blocks
place_in() { # FUNCTION CALLED: behind its call
    objdump -d --no-show-raw-insn "$large" |
        awk -v head="<$1>:" -v called="<$2@plt>" '$2 == head { inside = 1 } /^$/ { inside = 0 }
             wanted { sub(":", "", $1); print $1; exit } inside && /(call|bl) / && index($0, called) { wanted = 1 }'
}
huge=
for function in malloc calloc realloc; do
    huge+=${huge:+,}hugepages:target_large_blocks+0x$(place_in "from_$function" "$function")
done
setting=$(cat /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null)
run "$large"
cp out plain
case $setting in
*'[madvise]'* | *'[always]'*)
    check "without a trial nobody asks for huge pages" eval '! grep -q ", huge" err'
    run "$reuse_run" -e none --try "$huge" "$large"
    check "huge pages: the program says the same" eval 'status_is 0 && cmp -s out plain'
    for function in malloc calloc realloc; do
        check "$function: begins at 2 MiB, with huge pages asked for" err_has "^$function: aligned, huge$"
    done
    check "a small block of the same call stays as it was" err_has "^small: anywhere, small$"
    check "a line says for how many" err_has \
        "^libreuse: 1 block of target_large_blocks\+0x[0-9a-f]+ with huge pages of 2 MiB asked for$"
    run "$reuse_run" -e none --try "${huge%%,*},align:target_large_blocks+0x1=64" "$large"
    check "one of two places, of two kinds" eval 'cmp -s out plain && err_has "^malloc: aligned, huge$" &&
        ! err_has "^calloc: aligned, huge$"'
    run "$reuse_run" -e none --try "hugepages:target_neighbours+0x${behind[0]}" "$neighbours" 1000
    check "small blocks alone: a line says that nothing was changed" err_has \
        "nothing was changed in target_neighbours: no block of 2 MiB or more was allocated at "
    run "$reuse_run" -o huge.rprof --try "$huge" "$large"
    check "huge pages under the profiler" eval 'status_is 0 && cmp -s out plain && err_has "^malloc: aligned, huge$"'
    ;;
*)
    run "$reuse_run" -e none --try "$huge" "$large"
    check "a machine without huge pages: nothing is run" fails_with 125 "transparent_hugepage/enabled"
    ;;
esac
refused "huge pages of a global" hugepages:table "huge pages can be tried for heap blocks alone.*madvise"
refused "huge pages of a size" hugepages:app+0x12=64 "huge pages can be tried for heap blocks alone"

# ---- the command that the report prints ----
needs_qemu "the report's command"
"$reuse_run" -q -e exact -o neighbours.rprof "$neighbours" 1000 >/dev/null 2>&1
run "$reuse_report" neighbours.rprof
tr -s '\n ' '  ' <out >flat
check "the finding prints the command" grep -qF "reuse-run -e none --try $as_reported PROGRAM" flat
run "$reuse_report" --sharing neighbours.rprof
tr -s '\n ' '  ' <out >flat
check "and so does --sharing" grep -qF "reuse-run -e none --try $as_reported PROGRAM" flat
change=$(grep -oE -- "--try align:[^ ]+" flat | head -n 1)
run "$reuse_run" -e none ${change:---try none} "$neighbours" 1000
check "which parts the blocks" parted

# Random look-ups in 8 MiB, on a machine with small caches.
cat >table.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    size_t size = 1 << 20;
    uint64_t *numbers = malloc(size * 8), state = 88172645463325252u, sum = 0;
    memset(numbers, 1, size * 8);
    for (int i = 0; i < 1500000; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        sum += numbers[state % size];
    }
    printf("%lu\n", (unsigned long)sum);
    return 0;
}
END
printf 'name = small\ncache = 1 4K 64 8 1\ncache = 2 64K 64 8 1\ncache = 3 256K 64 8 1\nlatency = 1 1\nlatency = 2 4\nlatency = 3 15\nlatency = memory 90\n' >small.conf
gcc -g -O2 -o table table.c
"$reuse_run" -q -e simulate --seed 1 -p 5000 -o table.rprof ./table >/dev/null 2>&1
run "$reuse_report" --machine small.conf table.rprof
tr -s '\n ' '  ' <out >flat
check "random access to a large block: the finding prints the command" \
    grep -qE "To time huge pages before: reuse-run -e none --try hugepages:table\+0x[0-9a-f]+ PROGRAM" flat
# A program without names: the command calls the place what the finding calls it, and it is found there.
gcc -s -O2 -o table table.c
"$reuse_run" -q -e simulate --seed 1 -p 5000 -o table.rprof ./table >/dev/null 2>&1
run "$reuse_report" --machine small.conf table.rprof
tr -s '\n ' '  ' <out >flat
place=$(grep -oE 'hugepages:table\+0x[0-9a-f]+' flat | head -n 1)
check "without debug information: by the same name" grep -qF " on ${place#hugepages:} (heap" flat
run "$reuse_run" -e none --try "$place" ./table
check "... and the block is there" grep -qE "1 block of table\+0x[0-9a-f]+ with huge pages|never" err
finish
