#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Recordings from elsewhere, repeated here without their hardware: those in tests/integration/tapes (made-up PEBS and IBS
# units; tapes/record makes them anew). A user's recording becomes a test by a file there and a line in `samples`: its name,
# its samples, and what was lost of them.
. "$(dirname "$0")/tap.bash"

tapes=$REUSE_SRCDIR/tests/integration/tapes
bin=$REUSE_BUILDDIR/postproc
cd "$work" || exit 1
if [ "$(uname -m)" != x86_64 ]; then
    skip "recordings of x86-64" "this is $(uname -m)"
    finish
    exit 0
fi

# holds EXPRESSION, of the JSON report r
holds() {
    python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2]))' out "$1"
}

while read -r name samples lost; do
    [ "$name" != "#" ] || continue
    gzip -dc "$tapes/$name.tape.gz" >"$name.tape"
    run "$bin/reuse-run" --replay "$name.tape" -o "$name.rprof"
    if err_has 'another way than the recorded one'; then
        skip "$name" "the runtime asks for something else now: run tests/integration/tapes/record ($(tail -n 1 err))"
        continue
    fi
    check "$name: repeated" status_is 0
    check "$name: as many samples as when it was recorded" err_has "replayed [0-9]+ signals, $samples samples"
    run "$bin/reuse-report" --format json --summary --histogram "$name.rprof"
    check "$name: the report knows engine, program and machine" \
        holds "r['engine'] == 'pmu' and r['program'] == '/mnt/microbench/sweep' and r['host'] == 'recorder'"
    check "$name: complete, and as much lost as when it was recorded" \
        holds "r['samples'] == $samples and r['complete'] and sum(r['lost'].values()) == $lost"
done <"$tapes/samples"
finish
