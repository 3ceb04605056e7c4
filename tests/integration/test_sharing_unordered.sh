#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Threads that use one line at full speed and in no order, sampled: what is modelled of them against what
# they themselves saw, and programs that only look like it.
# Rests on samples: see tests/run. One event that is seen decides an interval that has to hold 2 transfers.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
launcher=$REUSE_BUILDDIR/postproc/reuse-run
report=$REUSE_BUILDDIR/postproc/reuse-report
program=$REUSE_BUILDDIR/tests/integration/programs/sharing_unordered
cd "$work" || exit 1
run "$launcher" -q -e clock -o u.rprof "$program" ticket 2 2
check "the program runs" out_has '^operations [0-9]+ handovers [0-9]+$'
if ! registers_trap; then
    skip "lines that threads fight over" "debug registers do not trap here"
    finish
    exit
fi
if [ "$(nproc)" -lt 2 ] || ! "$report" --sharing u.rprof >/dev/null 2>err; then
    skip "lines that threads fight over" "one CPU, or $(head -n 1 err)"
    finish
    exit
fi

# asks EXPRESSION: a Python expression on `sharing`, its `verdict`, `found` and `worthy` findings, `of` (rows
# of objects by name), the `samples`, and what the program printed: `moved`.
asks() {
    "$report" --format json --sharing u.rprof 2>report.err | python3 -c '
import json, sys
whole = json.load(sys.stdin)
sharing, samples = whole["sharing"], whole["samples"]
verdict, found = sharing["verdict"][0], sharing["false_sharing"]
of = {row["name"]: row for row in sharing["objects"]}
worthy = [f for f in found if f["worth_parting"]]
moved = int(open("out").read().split()[-1])
print(samples, "samples;", verdict, {name: (row["all"], row["all_lo"], row["all_hi"]) for name, row in of.items()}, moved)
sys.exit(not eval("(" + sys.argv[1] + ")"))' "$1"
}

# Busy machines run threads one after the other, and samples are few: what is seen has three attempts.
seen() {
    local name=$1 pattern=$2 threads=$3 expression=$4 attempt
    for attempt in 1 2 3; do
        run "$launcher" -q -e clock -o u.rprof "$program" "$pattern" "$threads" "$((attempt + 1))"
        if [ "$status" -ne 0 ]; then
            break
        fi
        if asks "$expression" >said; then
            check "$name" true
            return
        fi
        sed 's/^/# /' said
    done
    if [ "$(cut -d. -f1 /proc/loadavg)" -gt "$(($(nproc) + 1))" ]; then
        skip "$name" "other programs keep the processors busy"
    else
        check "$name" false
    fi
}

# Each thread sees whether another one came in between: the number is known. So it is true sharing.
seen "as many transfers as the threads saw themselves" ticket 2 \
    'of["ticket"]["all_lo"] <= moved <= of["ticket"]["all_hi"] and not found'
tid=$("$report" --format json --threads u.rprof | python3 -c '
import json, sys
print(json.load(sys.stdin)["threads"][1]["tid"])')
run "$report" --sharing --thread "$tid" u.rprof
check "--thread shows what one thread shares" out_has '^ticket +global +[0-9]'
for threads in 2 3 4; do
    seen "counters of $threads threads in one line" counters "$threads" \
        'worthy and worthy[0]["object"] == "counters" and worthy[0]["basis"] == "modelled"
         and worthy[0]["time_share"] > .8 and of["counters"]["waw"] == of["counters"]["all"]
         and "worth parting" in verdict and "counters[" in verdict'
done
seen "counters that are loaded and stored" plain 2 'worthy and worthy[0]["object"] == "plain"'
seen "a member that is read beside members that are counted" members 3 \
    'found and {"limit"} & {f[end].split(".")[-1] for f in found for end in ("first", "second")}
     and found[0]["transfers_hi"] > 1e4'

# not_accused NAME PATTERN OBJECT TRANSFERS: so many transfers there are: what main wrote comes to both threads.
not_accused() {
    run "$launcher" -q -e clock -o u.rprof "$program" "$2" 2 3
    check "$1: runs" status_is 0
    check "$1: nothing to part" asks "not worthy and of.get('$3', {'all_lo': 0})['all_lo'] <= $4"
}
not_accused "counters in lines of their own" padded padded 0
not_accused "a table that all read" reading table 2
not_accused "one thread after the other" turns counters 2
finish
