#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Rests on samples: see tests/run.
# reuse-doctor --silicon-test, where every access is simulated: the document that owners of machines send back.
. "${REUSE_SRCDIR:?}/tests/integration/tap.bash"
doctor=$REUSE_BUILDDIR/postproc/reuse-doctor
cd "$work" || exit 1

run "$doctor" --silicon-test --engine exact
check "an engine that is none: wrong usage" fails_with 2 "pmu, clock or simulate, not 'exact'"
mkdir machine
echo intel 6 143 >machine/processor
run env REUSE_PMU_SYSFS="$work/machine" "$doctor" --silicon-test -o none.json
check "an engine that does not run: said at once" err_has 'the engine pmu does not run here: .*engine pmu passed over'
check "... and nothing is written" bash -c '[ "$1" -eq 1 ] && [ ! -e none.json ]' - "$status"

needs_qemu "the engine simulate"
run "$doctor" --silicon-test --engine simulate --cases sweep,ping-pong -o simulated.json
check "the cases that were asked for" status_is 0
holds() {
    python3 - "$1" 2>>"$work/err" <<'PYTHON'
import json, sys
r = json.load(open("simulated.json"))
cases = {c["case"]: c for c in r["cases"]}
assert eval(sys.argv[1]), (sys.argv[1], cases)
PYTHON
}
check "what machine, what engine" holds \
    'r["schema"] == "reuse-silicon-test/1" and r["engine"] == "simulate" and r["kernel"] and "max_sample_rate" in r'
check "each case once" holds 'sorted(cases) == ["ping-pong", "sweep"] and len(r["cases"]) == 2'
# 61 passes over 65536 elements, counted access by access, and what the program's start adds.
check "accesses by closed form" holds \
    'cases["sweep"]["accesses"]["truth"] == 61 * 65536 and 1 <= cases["sweep"]["accesses"]["ratio"] < 1.2'
check "the curve is near its closed form" holds 'cases["sweep"]["curve"]["mean_error_pp"] < 4'
check "so many of its intervals hold the truth" holds \
    '0.5 * cases["sweep"]["curve"]["sizes"] <= cases["sweep"]["curve"]["covered"] <= cases["sweep"]["curve"]["sizes"]'
# Each of the 16 lines goes to and fro once in an iteration; turns are handed over beside that.
check "transfers by closed form" holds 'cases["ping-pong"]["transfers"]["all"]["truth"] > 16 * 5000'
check "estimates have intervals" holds \
    'all(t["lo"] <= t["estimate"] <= t["hi"] for t in cases["ping-pong"]["transfers"].values())'
check "losses are told" holds 'all(isinstance(c["lost"]["records"], int) for c in r["cases"])'
finish
