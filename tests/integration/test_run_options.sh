#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-run: options, their variables, wrong usage.
. "$REUSE_SRCDIR/tests/integration/tap.bash"
mkdir "$work/bin" "$work/lib"
cp "$REUSE_BUILDDIR/postproc/reuse-run" "$work/bin"
cp "$REUSE_BUILDDIR/tests/support/.libs/libstandin.so" "$work/lib/libreuse.so"
reuse_run=$work/bin/reuse-run

# Wrong usage: nothing is started, status 125, one line that says what was wrong.
wrong() {
    local pattern=$1
    shift
    run "$reuse_run" "$@" touch "$work/started"
    check "refused: $*" fails_with 125 "$pattern"
}
wrong "option '--frobnicate' is unknown" --frobnicate
wrong "option '-z' is unknown" -z
wrong "option '--quiet=1' takes no value" --quiet=1
wrong "--engine: 'pin' is not an engine: auto, pmu, clock, exact, simulate or none" -e pin
wrong "--budget: '90' is not a percentage from 0.1 to 50" --budget 90
wrong "--budget: 'much' is not a percentage" --budget=much
wrong "--period: '0' is not a whole number from 1" -p 0
wrong "--line-size: '48' is not a power of two from 32 to 4096" --line-size 48
wrong "--output: 'x.%d' is not a file name" -o x.%d
wrong "--follow: 'clone' is not a list of fork and exec, or none" --follow=clone
wrong "--duration: '-1' is not a number of seconds" --duration -1
wrong "--seed: 'x' is not a whole number" --seed x
wrong "the engine simulate needs all of them" -e simulate --rate 0.5
wrong "split caches .* need all of them" -e exact --rate 0.5 --partitions 2
wrong "is not groups of objects" --partition-groups left+right
check "nothing was started by a refused command" [ ! -e "$work/started" ]
run "$reuse_run" --budget
check "an option without its value" fails_with 125 "option '--budget' needs a value"
run "$reuse_run" -q
check "no program" fails_with 125 "no program given"
run env REUSE_LINE_SIZE=63 "$reuse_run" true
check "a bad variable in the environment" fails_with 125 "REUSE_LINE_SIZE: '63' is not a power of two"

run "$reuse_run" -e clock --partitions 2 true
check "an option of another engine is named" err_has '^reuse-run: the engine clock leaves --partitions .* unused: it is of the engine exact$'
run "$reuse_run" -q -e clock --partitions 2 true
check "... but not when quiet" [ "$(grep -c unused "$work/err")" = 0 ]

# Each option sets its variable in the program's environment.
sets() {
    local variable=$1 value=$2
    shift 2
    run "$reuse_run" "$@" printenv "$variable"
    check "$* sets $variable" out_has "^$value\$"
}
sets REUSE_ENGINE clock --engine clock
sets REUSE_ENGINE clock -eclock
sets REUSE_BUDGET 2.5 --budget=2.5
sets REUSE_PERIOD 4000000 -p 4000000
sets REUSE_LINE_SIZE 256 --line-size 256
sets REUSE_OUTPUT 'a b/%e%%' -o 'a b/%e%%'
sets REUSE_FOLLOW none --follow=none
sets REUSE_EVENT LD_SPEC --event LD_SPEC
sets REUSE_DURATION 0.5 --duration 0.5
sets REUSE_SNAPSHOT SIGUSR2,60s --snapshot SIGUSR2,60s
sets REUSE_SHARING 0 --no-sharing
sets REUSE_SEED 7 --seed 7
sets REUSE_QUIET 1 -q
sets REUSE_VERBOSE 1 --verbose
run env REUSE_BUDGET=3 REUSE_SEED=1 "$reuse_run" --seed 2 sh -c 'echo $REUSE_BUDGET $REUSE_SEED'
check "variables are inherited, options win" out_has '^3 2$'
run env -u REUSE_BUDGET "$reuse_run" --budget 3 -- sh -c 'echo "$0 $*"' --budget 9 -v
check "options after the program are the program's" out_has '^--budget 9 -v$'

run "$reuse_run" --help
check "--help succeeds" status_is 0
check "--help fits 80 columns and a page" \
    awk 'length($0) > 80 { bad = 1 } END { exit bad || NR > 42 || NR < 12 }' "$work/out"
run "$reuse_run" --version
check "--version names the program" out_has '^reuse-run [0-9]+\.[0-9]+'
finish
