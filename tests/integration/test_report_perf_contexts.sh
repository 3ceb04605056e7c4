#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Calling contexts of perf.data: call chains, and registers with stacks, that `perf record` makes here of a CPU
# clock, against the stacks that perf prints of the same file; and call chains of sampled accesses, from a file
# that is made up.
. "$(dirname "$0")/tap.bash"

report=$REUSE_BUILDDIR/postproc/reuse-report
cat >"$work/program.c" <<'PROGRAM'
#include <stdlib.h>
#define OWN_FRAME __attribute__((noinline, noclone))
#define AFTER_CALL __asm__ volatile("")
static volatile long counters[64];
OWN_FRAME static long touch(long n)
{
    long sum = 0;
    for (long i = 0; i < n; i++)
        counters[i & 63] = sum += counters[(i + 1) & 63];
    AFTER_CALL;
    return sum;
}
OWN_FRAME static long left(long n)
{
    long sum = touch(n);
    AFTER_CALL;
    return sum;
}
OWN_FRAME static long right(long n)
{
    char space[3000];
    __asm__ volatile("" ::"r"(space) : "memory");
    long sum = touch(n);
    AFTER_CALL;
    return sum;
}
OWN_FRAME static long down(int depth, long n)
{
    long sum = depth == 0 ? left(n) + right(n) : down(depth - 1, n);
    AFTER_CALL;
    return sum;
}
static int compare(const void *a, const void *b)
{
    long sum = touch(800);
    AFTER_CALL;
    return (*(const int *)a > *(const int *)b) + (int)(sum & 0);
}
int main(void)
{
    for (int i = 0; i < 40; i++) {
        int values[300];
        down(i % 7, 2000000);
        for (int k = 0; k < 300; k++)
            values[k] = k * 7919 % 401;
        qsort(values, 300, sizeof values[0], compare);
    }
    return 0;
}
PROGRAM
if ! ${CC:-cc} -g -O1 -fPIE -pie -fno-inline -fno-optimize-sibling-calls -fno-omit-frame-pointer \
    -mno-omit-leaf-frame-pointer "$work/program.c" -o "$work/program" 2>"$work/err"; then
    skip "contexts of perf.data" "no C compiler: $(head -n 1 "$work/err")"
    finish
    exit 0
fi

# against_perf KIND: the same stacks as perf's, of a recording by that --call-graph
against_perf() {
    local kind=$1 file=$work/$1.data
    if ! perf record -q -N -e cpu-clock:u -F 997 --call-graph "$kind" -o "$file" "$work/program" \
        >"$work/out" 2>"$work/err"; then
        skip "$kind: the stacks that perf prints" "perf cannot record: $(head -n 1 "$work/err")"
        return
    fi
    run "$report" --format json --contexts --top 1000000 "$file"
    cp "$work/out" "$work/$kind.json"
    check "$kind: read" status_is 0
    if grep -q 'configured without libunwind' "$work/out"; then
        skip "$kind: the stacks that perf prints" "this build has no libunwind, and says so"
        rm "$work/$kind.json"
        return
    fi
    run python3 "$REUSE_SRCDIR/tests/integration/perf_stacks.py" "$file" "$work/$kind.json" "$work/program"
    check "$kind: the stacks that perf prints" status_is 0
    echo "# $kind: $(cat "$work/out")"
}
if command -v perf >"$work/out"; then
    against_perf fp
    against_perf dwarf
fi
if [ -e "$work/dwarf.json" ]; then
    check "dwarf: through the C library, down to main" python3 -c '
import json, sys
stacks = [[f["function"] for f in c["frames"]] for c in json.load(open(sys.argv[1]))["contexts"]]
sys.exit(not any("compare" in s and "main" in s and s.index("main") > s.index("compare") + 1 for s in stacks))' \
        "$work/dwarf.json"
    run "$report" --contexts "$work/dwarf.data"
    check "text: what was sampled, and that it is no access" \
        out_has 'samples of cpu-clock:u in user space: they are no accesses'
    check "... a context" out_has 'touch < (left|right|compare)'
    run "$report" "$work/dwarf.data"
    check "other sections need accesses" fails_with 1 'no sampled access.*--contexts shows the stacks'
    run "$report" --contexts --thread 1 "$work/dwarf.data"
    check "no such thread" fails_with 1 'no sample of thread 1$'
    # The same stacks on another kind of machine: said, not guessed.
    sed 's/x86_64\x00/riscv6\x00/g; s/aarch64\x00/riscv64\x00/g' "$work/dwarf.data" >"$work/foreign.data"
    run "$report" --contexts "$work/foreign.data"
    check "registers of another machine: refused" out_has 'are unwound on such a machine only'
fi

address() { nm "$work/program" | awk -v name="$1" '$3 == name { print $1 }'; }
python3 "$REUSE_SRCDIR/tests/integration/perf_data.py" intel "$work/chain.data" "$work/program" "$(address touch)" \
    "$(address counters)" --caller "$(address left)"
run "$report" --format json --contexts "$work/chain.data"
check "accesses: read" status_is 0
check "accesses: by calling context, with what the processor says of them" python3 -c '
import json, sys
first, second = json.load(open(sys.argv[1]))["contexts"]
names = lambda context: [frame["function"] for frame in context["frames"]]
assert names(first) == ["touch", "left"] and names(second) == ["touch"]
assert (first["samples"], first["loads"], first["stores"]) == (150, 75, 75)
assert (second["samples"], second["loads"], second["latency_mean"]) == (20, 20, 180)' "$work/out"
run "$report" --contexts --thread 1002 "$work/chain.data"
check "accesses: of one thread" out_has ' 50 +100'
python3 "$REUSE_SRCDIR/tests/integration/perf_data.py" intel "$work/plain.data" "$work/program" "$(address touch)" \
    "$(address counters)"
run "$report" --contexts "$work/plain.data"
check "a recording without stacks: says how to get them" out_has 'no stacks: record it with --call-graph fp'
finish
