#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-report on what `perf mem record` leaves on Intel, AMD and Arm, and on what it must refuse.
. "$(dirname "$0")/tap.bash"

report=$REUSE_BUILDDIR/postproc/reuse-report
make_file=("$REUSE_SRCDIR/tests/integration/perf_data.py")

cat >"$work/program.c" <<'PROGRAM'
#include <stddef.h>
long counters[64];
long touch(size_t i)
{
    return counters[i]++;
}
int main(void)
{
    return (int)touch(1);
}
PROGRAM
if ! ${CC:-cc} -g -O1 -fPIE -pie -fno-inline "$work/program.c" -o "$work/program" 2>"$work/err"; then
    skip "perf.data" "no C compiler: $(head -n 1 "$work/err")"
    finish
    exit 0
fi
address() { nm "$work/program" | awk -v name="$1" '$3 == name { print $1 }'; }
code=$(address touch) data=$(address counters)

# holds FILE EXPRESSION of the JSON report r
holds() {
    python3 - "$1" "$2" 2>>"$work/err" <<'PYTHON'
import json, sys
r = json.load(open(sys.argv[1]))
def named(key, name):
    return next(x for x in r[key] if x.get("name") == name or x.get("source") == name or x.get("function") == name)
assert eval(sys.argv[2]), sys.argv[2]
PYTHON
}

for machine in intel amd arm; do
    python3 "${make_file[@]}" "$machine" "$work/$machine.data" "$work/program" "$code" "$data"
    run "$report" --format json --summary --objects --lines --sharing "$work/$machine.data"
    cp "$work/out" "$work/$machine.json"
    json=$work/$machine.json
    check "$machine: read" status_is 0
    case $machine in
    intel) unit=PEBS ;;
    amd) unit=IBS ;;
    arm) unit=SPE ;;
    esac
    check "$machine: the unit is named" holds "$json" "r['unit'] == '$unit'"
    check "$machine: accesses of user space" holds "$json" "r['samples'] == 170"
    check "$machine: kernel and losses are counted" \
        holds "$json" "r['left_out']['kernel'] == 10 and r['lost']['records'] == 17"
    check "$machine: a variable by its symbol" \
        holds "$json" "named('objects', 'counters')['samples'] == 150 and named('objects', 'counters')['kind'] == 'variable'"
    check "$machine: its loads and stores" \
        holds "$json" "named('objects', 'counters')['loads'] == 75 and named('objects', 'counters')['stores'] == 75"
    check "$machine: the heap" holds "$json" "named('objects', '[heap]')['samples'] == 20"
    check "$machine: the source line" \
        holds "$json" "r['lines'][0]['function'] == 'touch' and r['lines'][0]['file'].endswith('program.c') and r['lines'][0]['line'] in (4, 5)"
    check "$machine: latency by data source" \
        holds "$json" "named('sources', 'DRAM')['samples'] == 10 and named('sources', 'DRAM')['latency_mean'] == 300"
    check "$machine: ... nearer" \
        holds "$json" "named('sources', 'L3')['samples'] == 10 and named('sources', 'L3')['latency_p90'] == 60"
    check "$machine: the line of two threads, different words" \
        holds "$json" "len(r['shared_lines']) == 1 and r['shared_lines'][0]['threads'] == 2 and r['shared_lines'][0]['bytes'] == 'different'"
    check "$machine: ... in the variable" \
        holds "$json" "r['shared_lines'][0]['object'] == 'counters' and r['shared_lines'][0]['samples'] == 150"
done
check "intel: HITM" holds "$work/intel.json" "sum(x['modified_elsewhere'] for x in r['sources']) == 5"

run "$report" "$work/intel.data"
check "text: default sections" out_has 'counters +variable'
check "... says what it cannot tell" out_has 'no miss-ratio curves'
check "... and nothing on stderr" err_is_empty
run "$report" --sharing "$work/intel.data"
check "sharing is labelled as addresses alone" out_has 'Addresses alone: who touched which bytes'
run "$report" --thread 1002 --objects "$work/intel.data"
check "one thread" out_has 'counters +variable +50'
run "$report" --format csv --objects "$work/intel.data"
check "csv" out_has 'counters'

refused() { # NAME RE COMMAND...
    local name=$1 pattern=$2
    shift 2
    run "$@"
    check "$name" fails_with 1 "$pattern"
}
refused "curves: refused" 'cannot answer' "$report" --mrc "$work/intel.data"
refused "no such thread" 'no sampled access of thread 9' "$report" --thread 9 "$work/intel.data"
refused "two files" 'reported on alone' "$report" "$work/intel.data" "$work/amd.data"
printf 'PERFILE2\020\0\0\0\0\0\0\0more' >"$work/pipe.data"
refused "pipe" 'pipe.data was written to a pipe.*perf inject' "$report" "$work/pipe.data"
printf '2ELIFREP\0\0\0\0\0\0\0\150' >"$work/endian.data"
refused "other byte order" 'byte order' "$report" "$work/endian.data"
python3 "${make_file[@]}" intel "$work/short.data" "$work/program" "$code" "$data" --cut 90
refused "header cut off" 'short.data is damaged' "$report" "$work/short.data"
python3 "${make_file[@]}" intel "$work/empty.data" "$work/program" "$code" "$data" --cut 600
refused "no samples left" 'no sampled access' "$report" "$work/empty.data"
python3 "${make_file[@]}" intel "$work/cut.data" "$work/program" "$code" "$data" --cut 4000
run "$report" --summary "$work/cut.data"
check "cut in the middle: what is there is shown" out_has 'cut short'
python3 - "$work/intel.data" "$work/packed.data" <<'PYTHON'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
at = struct.unpack_from("<Q", b, 40)[0]
struct.pack_into("<I", b, at, 81)
open(sys.argv[2], "wb").write(b)
PYTHON
refused "compressed" 'is compressed: record it without -z' "$report" "$work/packed.data"

python3 - "$work/intel.data" "$work/newer.data" <<'PYTHON'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
at = struct.unpack_from("<Q", b, 24)[0] + 24
struct.pack_into("<Q", b, at, struct.unpack_from("<Q", b, at)[0] | 1 << 40)
open(sys.argv[2], "wb").write(b)
PYTHON
refused "fields that are not known" 'newer.data .* not known here .bits 0x10000000000 of sample_type' \
    "$report" "$work/newer.data"

# Any damage: an answer or one line, never a crash.
cat >"$work/damage.py" <<'PYTHON'
import random, subprocess, sys
report, seed, *files = sys.argv[1:]
random.seed(int(seed))
for round in range(60):
    name = files[round % len(files)]
    b = bytearray(open(name, "rb").read())
    for _ in range(random.randint(1, 30)):
        b[random.randrange(len(b))] = random.choice([0, 255, random.randrange(256)])
    b = b[:random.randint(len(b) // 2, len(b))]
    open(name + ".damaged", "wb").write(b)
    p = subprocess.run([report, "--format", "json", "--summary", "--objects", "--lines", "--contexts", "--sharing",
                        name + ".damaged"],
                       capture_output=True, timeout=60)
    if p.returncode not in (0, 1) or (p.returncode == 1 and (p.stdout or p.stderr.count(b"\n") != 1)):
        sys.exit(f"round {round} of {name}: status {p.returncode} {p.stderr[:300]}")
PYTHON
seed=${TEST_SEED:-$RANDOM}
echo "# TEST_SEED=$seed"
python3 "${make_file[@]}" intel "$work/chain.data" "$work/program" "$code" "$data" --caller "$(address main)"
run python3 "$work/damage.py" "$report" "$seed" "$work/intel.data" "$work/chain.data" "$work/amd.data" "$work/arm.data"
check "damaged files are survived" status_is 0

finish
