#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Rests on samples: see tests/run.
# Reference counts as a cause of sharing: a std::shared_ptr that two threads copy, against one that they refer to.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
. "$REUSE_SRCDIR/tests/integration/findings.bash"
source=$REUSE_SRCDIR/tests/integration/programs/reference_counts.cc
cd "$work" || exit 1
if [ "$(nproc)" -lt 2 ]; then
    skip "reference counts of threads" "one CPU"
    finish
    exit 0
fi
g++ -g -O2 -pthread -o reference_counts "$source" || exit 1
record() { # KIND TURNS
    "$reuse_run" -q -e clock --budget 10 -o "$1.rprof" ./reference_counts "$@" >log 2>&1 || cat log
    run "$reuse_report" --summary --format json "$1.rprof"
}
record copy 15000000
check "copied: true sharing, with what spares writing the counts" says '
found = [f for f in findings if f["pattern"] == "true sharing"]
assert "reference counts" in found[0]["remedy"] and found[0]["line"] == line("use")'
record refer 300000000
check "referred to: none" says 'assert not [f for f in findings if f["pattern"] == "true sharing"]'
finish
