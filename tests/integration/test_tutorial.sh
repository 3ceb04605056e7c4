#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Every command of docs/tutorial.md, on smaller cases: it runs, and what it writes is there. Figures differ from
# machine to machine, so that only what the commands are bound to say is looked at.
. "$(dirname "$0")/tap.bash"
tutorial=$REUSE_SRCDIR/docs/tutorial.md
PATH=$REUSE_BUILDDIR/postproc:$REUSE_BUILDDIR/microbench:$PATH
export LC_ALL=C
needs_qemu "the tutorial"

# Commands stand behind "$ "; one that ends with a backslash goes on in the next line.
sed -n '/^```console$/,/^```$/p' "$tutorial" |
    awk '/^\$ / || more { sub(/^\$ /, ""); more = sub(/\\$/, ""); printf "%s%s", $0, more ? "" : "\n" }' |
    sed 's/--size 1024/--size 400/; s/--iterations 1000/--iterations 200/' >"$work/commands"
check "there are commands" test "$(wc -l <"$work/commands")" -ge 12
check "each example compares what it changed" test "$(grep -c -- '--diff' "$work/commands")" -ge 3
cd "$work" || exit 1
# So short a run may end before its first sample, and leave no profile.
export REUSE_PERIOD=200000
before=0
while IFS= read -r command; do
    run bash -c "(exit $before); $command"
    before=$status
    case $command in
    *--fail-if*)
        check "\$ $command" test "$status" -eq 0 -o "$status" -eq 3
        continue
        ;;
    esac
    check "\$ $command" test "$status" -eq 0 -a ! -s err
    case $command in
    *--diff*) check "it compares the two" out_has '^== What changed ==$' ;;
    *--sharing*) check "it tells what moves" out_has '^== Data that moves between threads ==$' ;;
    *--topology*) check "it places four threads" out_has '^Threads: +4 to place' ;;
    *'-o pairs.map'*) check "it writes the mapping" grep -q '^thread 3 ' pairs.map ;;
    esac
done <commands
check "the first screen of the README links it" bash -c 'head -n 24 "$1" | grep -q "(docs/tutorial.md)"' - \
    "$REUSE_SRCDIR/README.md"
finish
