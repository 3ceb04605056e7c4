#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Communication of what is gone when the run ends: files unmapped, libraries unloaded, threads by the
# thousand. Right or plainly unknown, never under a wrong name; also at line sizes that were not recorded.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
launcher=$REUSE_BUILDDIR/postproc/reuse-run
report=$REUSE_BUILDDIR/postproc/reuse-report
program=$REUSE_BUILDDIR/tests/integration/programs/sharing_gone
cd "$work" || exit 1
for name in one two; do
    echo 'long words[8] __attribute__((aligned(256))) = {1};' >$name.c
    gcc -g -shared -fPIC -o lib$name.so $name.c
done

# sharing PROFILE OPTIONS...: the key of the JSON report.
sharing() { "$report" --format json --sharing "$@" 2>report.err; }
# asks PROFILE EXPRESSION [OPTIONS...]: a Python expression on `sharing` and the transfers by object, `of`.
asks() {
    local profile=$1 expression=$2
    shift 2
    sharing "$profile" "$@" | python3 -c '
import json, sys
from collections import defaultdict
sharing, of = json.load(sys.stdin)["sharing"], defaultdict(list)
for row in sharing.get("objects", []):
    of[row["name"]].append(row["all"])
sys.exit(not eval(sys.argv[1]))' "$expression"
}

if command -v qemu-x86_64 >/dev/null; then
    run "$launcher" -q -e exact -o gone.rprof "$program" ./first.bin ./second.bin ./libone.so ./libtwo.so 1000
    check "exact: the program runs" out_has '100000$'
    check "files at one address, unmapped since" asks gone.rprof '3990 <= sum(of["mapped"]) <= 4010'
    check "variables of libraries that were unloaded" asks gone.rprof \
        'len(of["words"]) == 2 and all(any(abs(x - n) < 15 for x in of["words"]) for n in (798, 1998))'
    check "a thousand threads that came and went" asks gone.rprof '900 <= sum(of["sum"]) <= 100000'
    run piped "$report" --matrix gone.rprof
    check "... fit on a page" test "$(awk 'length > 80' out | wc -l)" -eq 0
    "$report" --matrix --csv-layout=eagermap gone.rprof >out
    check "... and are all in the matrix" test "$(wc -l <out)" -eq "$(head -1 out | tr , '\n' | wc -l)"
    run "$report" --sharing --line-size 256 gone.rprof
    check "exact transfers at a size that was not counted: one line" out_has 'holds no communication for 256-byte lines'
    run "$launcher" -q -e simulate -p 500 --line-size 64 -o model.rprof "$program" ./first.bin ./second.bin \
        ./libone.so ./libtwo.so 8
    run "$report" --sharing --line-size 256 model.rprof
    check "sampled ones are modelled, and say so" out_has '^Modelled: recorded with 64-byte lines'
    check "... with an interval" asks model.rprof \
        'sharing["line_size"] == 256 and sharing["total"]["all"]["lo"] <= sharing["total"]["all"]["value"] <= sharing["total"]["all"]["hi"]' \
        --matrix --line-size 256
    check "... as for a machine with such lines" asks model.rprof 'sharing["line_size"] == 256' --matrix --machine a64fx
    run "$report" --sharing --machine a64fx model.rprof
    check "... whose distances are told" out_has '^How far lines would move on a64fx'
    run "$report" --sharing --matrix --line-size 32 model.rprof
    check "smaller lines than the recorded ones: one line" out_has 'line size 32 is not known'
else
    skip "what is gone, in exact profiles" "qemu-x86_64 is not installed"
fi

run "$launcher" -q -e clock -o clock.rprof "$program" ./first.bin ./second.bin ./libone.so ./libtwo.so 2000
check "clock: the program runs" out_has '200000$'
if [ -e clock.rprof ]; then
    known='name in ("turn", "sum", "mapped", "words", "unknown memory", "players", "created", "threads") or name.startswith(("stack of", "untracked", "data of", "lib", "ld-")) or " of " in name or "." in name or name.startswith("_")'
    check "... nothing has a name of another" asks clock.rprof "all($known for name in of)"
    run "$report" --sharing --matrix --line-size 128 clock.rprof
    check "... at a larger line size as well" status_is 0
else
    skip "names in a sampled profile" "the run was too short for a sample"
fi
finish
