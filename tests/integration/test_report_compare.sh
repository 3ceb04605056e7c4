#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-report --diff and --fail-if, on profiles whose truth is known.
. "$(dirname "$0")/tap.bash"
here=$(cd "$(dirname "$0")" && pwd)
report=$REUSE_BUILDDIR/postproc/reuse-report
script=$REUSE_BUILDDIR/tests/support/profile_script
export LC_ALL=C

# The program, and the same one recompiled after an edit that moves its lines.
mkdir "$work/old" "$work/new"
cp "$here/programs/report_program.c" "$work/old"
{ printf '/* one */\n/* two */\n\n'; cat "$here/programs/report_program.c"; } >"$work/new/report_program.c"
for version in old new; do
    gcc -g -O1 -o "$work/$version/program" "$work/$version/report_program.c" || exit 1
    python3 "$here/report_profile.py" "$work/$version/program" 1 >"$work/$version/commands"
done
cd "$work" || exit 1
"$script" a.rprof <old/commands
"$script" b.rprof <new/commands
# Twice the CPU time, so that the mean of both has an interval; and another program's name.
sed 's/^totals 1 3000000000/totals 1 3300000000/' old/commands | "$script" a2.rprof
sed 's/^totals 1 3000000000/totals 1 9300000000/' new/commands | "$script" b2.rprof
sed 's/^totals 1 3000000000/totals 1 9000000000/' new/commands | "$script" b3.rprof

# Every access counted: by line, with `late` of 1000 accesses that miss in L2. ADDRESS is dot's load.
exact() { # VERSION LATE OUTPUT
    local ip
    ip=$(sed -n 's/^context 1 \(0x[0-9a-f]*\).*/\1/p' "$1/commands" | head -n 1)
    {
        printf 'defaults\nrun engine exact\nrun program %s/program\n' "$work/$1"
        grep '^module' "$1/commands"
        printf 'thread 1001 first\n'
        printf 'histogram %s 1000 0 100=%s 20000=%s\n' "1 1 64 0 0" $((1000 - $2)) "$2" \
            "4 1 64 $ip 0" $((1000 - $2)) "$2"
        printf 'finish\n'
    } | "$script" "$3"
}
exact old 500 x.rprof
exact new 100 y.rprof

says() { # evaluates a Python expression over d, what changed
    python3 - "$work/out" "$1" <<'END'
import json, math, sys
r = json.load(open(sys.argv[1]))
d = r["diff"]
def total(what): return next(t for t in d["totals"] if t["what"] == what)
sys.exit(0 if eval("(" + sys.argv[2] + ")") else 1)
END
}

run piped "$report" --diff a.rprof b.rprof
check "succeeds, without complaint" test "$status" -eq 0 -a ! -s err
check "80 columns" bash -c '! grep -qE "^.{81}| $" "$1"' - "$work/out"
check "no difference that these runs can show" out_has '^L2 misses .* none shown$'
check "CPU time of one run each has no interval" out_has '^CPU time .* one run$'
run "$report" --format json --diff a.rprof b.rprof
check "lines are matched by their text" says '[(l["name"], l["seen_before"], l["seen_after"]) for l in d["lines"]] ==
    [("dot: sum += a[i] * b[i % 4096];", True, True)]'
check "functions and objects by name" says '[f["name"] for f in d["functions"]] == ["dot"] and
    [(o["kind"], o["name"]) for o in d["objects"]][:1] == [("heap", "matrix")]'
check "each estimate has an interval" says 'all(t["before_lo"] <= t["before"] <= t["before_hi"] and
    t["change_lo"] <= 0 <= t["change_hi"] and t["relative_lo"] <= 0 for t in d["totals"] if "misses" in t["what"])'
check "a subject has all levels" says '[l["level"] for l in d["lines"][0]["levels"]] == [1, 2, 3]'
check "the same program: no remark" says '"notes" not in d'

run "$report" --format json --diff x.rprof y.rprof
check "exact: totals" says '(total("L2 misses")["before"], total("L2 misses")["after"]) == (500, 100) and
    total("L2 misses")["verdict"] == "less" and abs(total("L2 misses")["relative"] + 0.8) < 1e-9'
check "exact: no change is told from a change" says 'total("accesses")["verdict"] == "the same"'
check "exact: by line and function" says 'all((s["before"], s["after"], s["verdict"]) == (500, 100, "less")
    for s in (d["lines"][0], d["functions"][0]))'
run "$report" --diff x.rprof y.rprof
check "exact: text" out_has '^L2 misses +500 +100 +-80 % +less$'
check "the answer stands first" out_has '^Changed: L1 misses -80 %, L2 misses -80 %\. No difference'
check "exact: no CPU time" bash -c '! grep -q "^CPU time" "$1"' - "$work/out"

run "$report" --diff x.rprof x.rprof
check "what has no rows is one line and no table" bash -c 'grep -q "^L2 misses by data object" "$1" &&
    ! grep -q "(none)" "$1"' - "$work/out"

run "$report" --format json --diff a.rprof a2.rprof : b.rprof b2.rprof
check "several files: means, with an interval of the CPU time" says 'd["before"]["files"] == 2 and
    total("CPU time")["before"] == 4.15e9 and total("CPU time")["verdict"] == "none shown"'
run "$report" --format json --diff a.rprof a2.rprof : b2.rprof b3.rprof
check "several files: the mean does not grow with their number" says 'abs(total("L2 misses")["relative"]) < 0.05'
check "several files: a difference of CPU time that they show" says 'total("CPU time")["verdict"] == "more" and
    total("CPU time")["relative_lo"] > 0.4'

# A condition that holds, one that does not, and those that the interval leaves open.
run "$report" --fail-if 'l2.miss_ratio > 1%' --fail-if 'l2.misses > 1M' x.rprof
check "a condition that holds: status 3" status_is 3
check "a condition that holds: one line that says which and why" test "$(cat err)" = \
    "reuse-report: --fail-if 'l2.miss_ratio > 1%' holds: it is 50 %"
check "conditions are in the report" out_has '^l2.misses > 1M +no +500$'
run "$report" --fail-if 'diff.l2.misses > 10%' --diff y.rprof x.rprof
check "a difference that is too much" test "$status" -eq 3 -a "$(wc -l <err)" -eq 1
run "$report" --fail-if 'diff.l2.misses > 10%' --diff x.rprof y.rprof
check "a difference to the good" test "$status" -eq 0 -a ! -s err
run "$report" --fail-if 'diff.l2.misses > 0.1%' --diff a.rprof b.rprof
check "undecided: told, and no failure" test "$status" -eq 0 -a "$(grep -c "is undecided: it is .*interval" err)" -eq 1
run "$report" --fail-if 'diff.l2.misses > 0.1%' --fail-if-unsure --diff a.rprof b.rprof
check "undecided: a failure if asked for" status_is 3
run "$report" --fail-if 'diff.cpu_time > 50%' --diff a.rprof b.rprof
check "CPU time of one run each decides nothing" err_has "undecided: .* name several files on each side"
run "$report" --format json --fail-if 'false_sharing.transfers > 1M' a.rprof
check "JSON stays JSON" python3 -c 'import json; json.load(open("out"))["conditions"][0]["outcome"]'

# What can go wrong.
touch -d '+1 day' old/report_program.c
run "$report" --diff a.rprof b.rprof
check "a source that is newer than its program: said, functions are compared" test "$status" -eq 0 -a \
    "$(grep -c 'left out: .*old/report_program.c was' <(tr '\n' ' ' <out))" -eq 1
sed 's|^run program.*|run program /bin/other|' new/commands | "$script" other.rprof
run "$report" --diff a.rprof other.rprof
check "different programs: a line" out_has 'programs have different names \(program, other\)'
run "$report" --diff a.rprof
check "one profile" fails_with 2 '--diff wants two profiles'
run "$report" --diff a.rprof b.rprof a2.rprof
check "three profiles" fails_with 2 '--diff wants two profiles'
run "$report" --diff --objects a.rprof b.rprof
check "sections" fails_with 2 '--diff has tables of its own'
run "$report" --diff a.rprof missing.rprof
check "a file that is missing" fails_with 1 'missing.rprof'
run "$report" --fail-if 'l2.mises > 3' a.rprof
check "a condition that is none" fails_with 2 "condition 'l2.mises > 3': no such metric"
run "$report" --fail-if 'diff.l2.misses > 3' a.rprof
check "a difference of one run" fails_with 2 "is about two runs: it needs --diff"
run "$report" --fail-if-unsure a.rprof
check "unsure of nothing" fails_with 2 "--fail-if-unsure is for --fail-if"
printf 'defaults\nfinish\n' | "$script" empty.rprof
run "$report" --diff empty.rprof b.rprof
check "an empty profile" test "$status" -le 1 -a "$(cat out err | wc -l)" -ge 1

# Threads that hand lines over twice as often: twice the transfers, of the same object.
needs_qemu "transfers"
for rounds in 100 200; do
    run "$REUSE_BUILDDIR/postproc/reuse-run" -q -e exact -o "$rounds.rprof" \
        "$REUSE_BUILDDIR/microbench/handover" --pattern ping-pong --iterations "$rounds"
    check "handover $rounds runs" status_is 0
done
run "$report" --format json --fail-if 'diff.transfers > 50%' --diff 100.rprof 200.rprof
check "transfers: twice as many" test "$status" -eq 3
check "transfers: by object" says 'next(o for o in d["transfers"] if o["name"] == "cells")["verdict"] == "more" and
    abs(next(o for o in d["transfers"] if o["name"] == "cells")["relative"] - 1) < 0.1'
check "transfers: true and false" says 'total("true sharing")["verdict"] == "more" and
    total("false sharing")["after"] < 0.05 * total("true sharing")["after"]'
finish
