#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Profiles in the formats of other tools, read by these tools or by a parser of the test's own.
. "$(dirname "$0")/tap.bash"
here=$(cd "$(dirname "$0")" && pwd)
report=$REUSE_BUILDDIR/postproc/reuse-report
formats=$here/report_formats.py
export LC_ALL=C

gcc -g -O1 -o "$work/program" "$here/programs/report_program.c" || exit 1
cd "$work" || exit 1
python3 "$here/report_profile.py" "$work/program" 1 | "$REUSE_BUILDDIR/tests/support/profile_script" p.rprof ||
    exit 1
"$report" --format json --contexts p.rprof >p.json

# The totals of a file are those of the report, to the rounding of each stack.
agrees() { # FILE EVENT...
    python3 - "$work/totals" p.json "${@:2}" <<'END'
import json, sys
totals = {e: int(t) for e, t in map(str.split, open(sys.argv[1]))}
report = json.load(open(sys.argv[2]))
accesses = report["accesses"]["value"]
truth = {"Acc": accesses}
for context in report["contexts"]:
    for level in context["misses"]:
        name = f"L{level['level']}m"
        truth[name] = truth.get(name, 0) + context["accesses"] * level["miss_ratio"]
sys.exit(0 if set(totals) == set(sys.argv[3:]) and
         all(abs(totals[e] - truth[e]) <= 100 + 1e-4 * truth[e] for e in totals if e in truth) else 1)
END
}
right() { # FORMAT FILE EVENT...
    python3 "$formats" "$1" "$2" >totals 2>"$work/err" && agrees "${@:2}"
}

for format in callgrind collapsed speedscope pprof; do
    run "$report" --format "$format" -o "p.$format" p.rprof
    check "$format: succeeds, without complaint" test "$status" -eq 0 -a ! -s err
done
check "callgrind: names, calls and sums" right callgrind p.callgrind Acc L1m L2m L3m Inv
check "callgrind: each event and the unit are described" test "$(grep -c '^event: ' p.callgrind)" -eq 5 -a \
    "$(grep -c '^desc: Unit: accesses' p.callgrind)" -eq 1
check "speedscope: schema and sums" right speedscope p.speedscope Acc L1m L2m L3m Inv
check "pprof: decodes, and sums" right pprof p.pprof Acc L1m L2m L3m Inv
check "collapsed: grammar and sums" right collapsed p.collapsed L2m
run "$report" --format collapsed:Acc -o p.acc p.rprof
check "collapsed: of another event" right collapsed p.acc Acc
check "collapsed: outermost first" grep -q ';main;dot [0-9]*$' p.acc
run "$report" --format collapsed:Foo p.rprof
check "an event that there is not: a line with those that there are" fails_with 1 \
    "no event 'Foo'; there are Acc, L1m, L2m, L3m, Inv"
run "$report" --format flame p.rprof
check "a format that there is not" fails_with 2 "unknown format 'flame': text, json, csv, html, callgrind"
run "$report" --format pprof --objects p.rprof
check "no sections in other tools' formats" fails_with 2 "call stacks alone"

if command -v callgrind_annotate >/dev/null; then
    run callgrind_annotate p.callgrind
    check "callgrind_annotate opens it" test "$status" -eq 0 -a ! -s err
    check "callgrind_annotate: the function and its share" out_has '^[0-9,]+ \(100.0%\).*report_program.c:dot'
    check "callgrind_annotate: its own source, by line" out_has '^[0-9,]+ \(.*sum \+= a\[i\]'
    run callgrind_annotate --inclusive=yes p.callgrind
    check "callgrind_annotate: main holds what it calls" out_has '^[0-9,]+ \(100.0%\).*report_program.c:main'
else
    skip "callgrind_annotate" "valgrind is not installed"
fi
if HOME=$work go tool pprof --help >/dev/null 2>&1; then
    run env HOME="$work" go tool pprof -top p.pprof
    check "go tool pprof opens it" test "$status" -eq 0
    check "go tool pprof: the event that it shows first" out_has '^Type: L2m$'
    check "go tool pprof: the function" out_has ' 100% +dot$'
else
    skip "go tool pprof" "there is no go with this tool"
fi

# Every access counted: no contexts, so lines.
{
    printf 'defaults\nrun engine exact\n'
    sed -n 's/^module/module/p' <(python3 "$here/report_profile.py" "$work/program" 1)
    printf 'thread 1001 first\n'
    ip=$(python3 "$here/report_profile.py" "$work/program" 1 | sed -n 's/^context 1 \(0x[0-9a-f]*\).*/\1/p' | head -n 1)
    printf 'histogram 1 1 64 0 0 1000 10 20000=990\n'
    printf 'histogram 4 1 64 %s 0 1000 10 20000=990\n' "$ip"
    printf 'finish\n'
} | "$REUSE_BUILDDIR/tests/support/profile_script" e.rprof
for format in callgrind collapsed speedscope pprof; do
    run "$report" --format "$format" -o "e.$format" e.rprof
    check "$format: exact, by line" status_is 0
    python3 "$formats" "$format" "e.$format" >totals 2>err
    check "$format: exact: no coherence by line" test -s totals -a ! -s err -a "$(grep -c Inv totals)" -eq 0
done
finish
