#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-report --sector-hints and --traffic: the programs of the sector-cache study and others whose
# best division is known, from counts and from simulated samples; and questions without an answer.
# Rests on samples: see tests/run.
. "$(dirname "$0")/tap.bash"
here=$(cd "$(dirname "$0")" && pwd)
reuse_run="$REUSE_BUILDDIR/postproc/reuse-run -q"
report=$REUSE_BUILDDIR/postproc/reuse-report
script=$REUSE_BUILDDIR/tests/support/profile_script
bench=$REUSE_BUILDDIR/microbench
cd "$work" || exit 1

# json EXPRESSION: true of the report in $work/out, as d.
json() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1] + "/out"))
sys.exit(not eval(sys.argv[2]))' "$work" "$1"
}

# --- questions without an answer: one clear line, nothing invented
printf 'defaults\nthread 1 main\nprobes 1 0:3=2048\nburst 1 0\nsample 1 0 burst=1 reuse=3\nfinish\n' | "$script" bare.rprof || exit 1
run "$report" --sector-hints bare.rprof
check "a profile without object information" fails_with 1 'bare.rprof does not tell which data objects'
run "$report" --sector-hints --format json bare.rprof
check "... as json too" fails_with 1 'bare.rprof does not tell which data objects'
printf 'defaults\nthread 1 main\nfinish\n' | "$script" empty.rprof || exit 1
run "$report" --sector-hints empty.rprof
check "a profile without bursts" fails_with 1 'empty.rprof holds no bursts'
run "$report" --sector-hints --machine zen4 bare.rprof
check "a machine without a sector cache" fails_with 1 'zen4 has no sector cache.*--machine'
run "$report" --sector-hints --machine k-computer bare.rprof
check "a machine that nobody described" fails_with 1 'k-computer.*a64fx.*zen4'
printf 'name = broken\ncache = 1 64K 256 4 1\ncache = 2 8M 256 16 12\nsector = 2 17\n' >broken.conf
run "$report" --traffic --machine broken.conf bare.rprof
check "an impossible machine, with its line" fails_with 1 'broken.conf:3: L2: sectors cannot divide 17 of its 16 ways'
run "$report" --traffic --line-size 100 bare.rprof
check "a line size that is none" test "$status" -eq 2
run "$report" --merge -o all.rprof --sector-hints bare.rprof
check "a section of a merge" fails_with 2 'no section or filter'
run "$report" --traffic --format json bare.rprof
check "traffic of a profile that hardly holds anything" status_is 0
# One burst makes no figure, a rate that nobody measured none either: what is known are bounds.
check "... tells bounds, no figures" json 'all(t["accesses"] is None and t["accesses_lo"] < t["accesses_hi"] and t["mem_bytes"] is None and all(l["bytes"] is None and l["bytes_lo"] < l["bytes_hi"] / 10 for l in t["levels"]) for t in d["traffic"])'
check "... none beyond every access fetching a line" json 'all(l["bytes_hi"] <= 64 * t["accesses_hi"] for t in d["traffic"] for l in t["levels"])'
check "... of outer levels no higher than of inner ones" json 'all(a["bytes_hi"] >= b["bytes_hi"] for t in d["traffic"] for a, b in zip(t["levels"][1:], t["levels"][2:]))'
check "... and no hits or shares of what is not known" json 'all(l[k] is None for t in d["traffic"] for l in t["levels"][1:] for k in ("byte_ratio", "hit_ratio", "miss_ratio", "memory_share", "memory_impact"))'
run "$report" --traffic bare.rprof
check "... in text as well" out_has '^Mem +< [0-9.]+ [KMGTP]iB +- +-'
run "$report" --traffic --format csv bare.rprof
check "... and in CSV" test "$(grep -c '[0-9]' out)" -gt 0

# --- 200 objects, 500 bursts: how long they take is in test_report_speed.sh
python3 "$here/report_large.py" "$report" 500 | "$script" large.rprof || exit 1
run "$report" --sector-hints --format json large.rprof
check "hints for 200 objects" status_is 0
check "... have rows" json 'd["sector_hints"]'
check "... that name what to isolate" json 'all(r["data_struct"] for r in d["sector_hints"])'

needs_qemu "advice from counts"

# --- dmtvm, counted
$reuse_run -e exact --line-size 256 --partitions 4 --regions main,dmtvm -o exact.rprof \
    "$bench/dmtvm" --iterations 1 >log || exit 1
run "$report" --sector-hints exact.rprof
check "sector hints of counts" status_is 0
check "the table has the columns of the study" out_has 'region +data +cache +nways +misses sc +misses nosc +reduction'
check "the directives, for a loop" out_has '^#pragma statement scache_isolate_way L2=2 L1=1$'
check "the structure by its name" out_has '^#pragma statement scache_isolate_assign m$'
check "their end" out_has '^#pragma statement end_scache_isolate_assign$'
check "the place in the source" out_has "dmtvm.c:$(grep -n 'i < nrow' "$REUSE_SRCDIR/microbench/dmtvm.c" | cut -d: -f1), around the loop of dmtvm"
check "the environment" out_has 'FLIB_L2_SECTOR_NWAYS_INIT=12,2'
check "calls of the library" out_has '^a64fx_hpc_sectorcache_set_size_l1\(1, 1\);$'
check "how to see it on the machine" out_has 'r2a0'
check "the preconditions" out_has 'One process owns the core memory group'
check "the distances by scenario" out_has 'isolate x'
run "$report" --sector-hints --format json exact.rprof
row='next(r for r in d["sector_hints"] if r["region"] == "dmtvm" and r["cache_level"] == 1)'
check "json: the row of the study" json "abs($row[\"misses_sc\"] - 78447) < 784 and abs($row[\"misses_nosc\"] - 157277) < 1573"
check "json: what was counted is certain" json "$row[\"lo\"] == $row[\"hi\"] == $row[\"reduction_pct\"] and $row[\"basis\"] == \"exact\""
check "json: verdict and directives" json "$row[\"verdict\"] == \"isolate\" and \"scache_isolate_assign m\" in $row[\"pragma\"]"
check "json: one way more keeps too little for x" json "$row[\"neighbours\"][0][\"nways\"] == 2 and $row[\"neighbours\"][0][\"reduction_pct\"] < 1"
check "json: L2 has nothing to gain" json '[r["verdict"] for r in d["sector_hints"] if r["cache_level"] == 2] == ["nothing to gain"] * 2'
check "json: histograms of four scenarios" json '{h["scenario"] for h in d["sector_histograms"]} >= {"global", "isolate m", "isolate x"}'
check "json: x comes below L1's size when it is alone, as in the study" json \
    'sum(b["isolated"] for h in d["sector_histograms"] if h["region"] == "dmtvm" and h["scenario"] == "isolate x" for b in h["bins"] if b["lo"] and b["lo"] >= 256) < 0.001'
run "$report" --sector-hints --format csv exact.rprof
check "csv" out_has '^sector_hints,(main|dmtvm),m,1,1,'
tid=$("$report" --threads --format json exact.rprof | python3 -c 'import json,sys; print(json.load(sys.stdin)["threads"][0]["tid"])')
run "$report" --sector-hints --thread "$tid" exact.rprof
check "one thread of counts" fails_with 1 'leave out --thread'
run "$report" --traffic --line-size 32 exact.rprof
check "a line size that was not counted" fails_with 1 'no histograms for 32-byte lines'

# --- the model in place of counts: no structure was followed
$reuse_run -e exact --line-size 256 -o plain.rprof "$bench/dmtvm" --iterations 1 >log
run "$report" --sector-hints --format json plain.rprof
check "without split caches the same choice, modelled" json '(lambda r: (r["data_struct"], r["nways"], r["basis"]) == ("m", 1, "modelled") and abs(r["misses_sc"] - 156824) < 0.03 * 156824)(d["sector_hints"][0])'

# --- sparse matrix times vector on a described machine, x as large as 15 of the 16 ways of L2: what
# streams by is isolated, x is kept
printf 'name = small\ncache = 1 8K 256 4 1\ncache = 2 256K 256 16 1\nsector = 2 16\n' >small.conf
"$bench/matrix-generate" --kind uniform --rows 30000 --per-row 8 --output m.mtx >log || exit 1
$reuse_run -e exact --line-size 256 --partitions 6 --regions spmv -o spmv.rprof "$bench/spmv" --iterations 2 m.mtx >log
run "$report" --sector-hints --machine small.conf --format json --region spmv spmv.rprof
check "spmv: values and column indices, not x" json '(lambda s: {"values", "column_indices"} <= s and "x" not in s)(set(d["sector_hints"][0]["data_struct"].split(", ")))'
check "spmv: in the smallest sector" json 'd["sector_hints"][0]["nways"] == 1'
check "spmv: worth it" json 'd["sector_hints"][0]["verdict"] == "isolate" and d["sector_hints"][0]["reduction_pct"] > 40'
run "$report" --sector-hints --machine small.conf --region spmv spmv.rprof
check "the warning of a sector that is too small for x" out_has 'Do not isolate x in 1[0-9] ways or fewer of L2 \(spmv\)'

# --- a power-law matrix after a long set-up, x a little larger than the 12 ways that the streams would
# leave it: what is modelled of the whole run may not contradict what was counted of x
printf 'name = fourteen\ncache = 1 8K 256 4 1\ncache = 2 256K 256 16 12\nsector = 2 14\n' >fourteen.conf
$reuse_run -e exact --line-size 256 --partitions 6 --no-sharing --no-shared-cache --regions multiply -o power.rprof "$REUSE_BUILDDIR/tests/support/power_law_spmv" >log
run "$report" --sector-hints --machine fourteen.conf --format json power.rprof
check "power law: rows of the whole and of the function" json '[r["region"] for r in d["sector_hints"]] == ["(all)", "multiply"]'
check "power law: nothing to gain in either" json 'all(r["verdict"] == "nothing to gain" for r in d["sector_hints"])'

# --- a group that gains: modelled first, then counted by the command that the report gives
two=$REUSE_BUILDDIR/tests/support/two_streams
printf 'name = one-level\ncache = 1 64K 256 4 1\nsector = 1 4\n' >one.conf
$reuse_run -e exact --line-size 256 --partitions 4 --regions sweep -o two.rprof "$two" >log
run "$report" --sector-hints --machine one.conf --format json --region sweep two.rprof
group='next(r for r in d["sector_hints"] if r["region"] == "sweep")'
check "two streams: both of them, in one way" json "set($group[\"data_struct\"].split(\", \")) == {\"left\", \"right\"} and $group[\"nways\"] == 1"
check "two streams: modelled" json "$group[\"basis\"] == \"modelled\""
groups=$(sed -n "s/.*--partition-groups '\([^']*\)'.*/\1/p" out)
check "two streams: how to count it" test -n "$groups"
$reuse_run -e exact --line-size 256 --regions sweep --partition-groups "$groups,nobody:00000000" -o counted.rprof "$two" >log
run "$report" --sector-hints --machine one.conf --format json --region sweep counted.rprof
check "two streams: counted" json "$group[\"basis\"] == \"exact\" and set($group[\"data_struct\"].split(\", \")) == {\"left\", \"right\"}"
# 10 rounds through 2048 lines of each stream, and 160 lines of the tables once.
check "two streams: misses in closed form" json "$group[\"misses_sc\"] == 10 * 2 * 2048 + 160"
check "two streams: nothing is left to count" json '"sector_counting" not in d'
run "$report" --sector-hints --machine one.conf counted.rprof
check "two streams: a member that is not there is named" out_has 'no data object with the key 00000000'
"$report" --merge -o merged.rprof counted.rprof
run "$report" --sector-hints --machine one.conf --format json --region sweep merged.rprof
check "two streams: merging keeps groups" json "$group[\"basis\"] == \"exact\" and $group[\"misses_sc\"] == 10 * 2 * 2048 + 160"
run $reuse_run -e exact --partition-groups left+right -o bad.rprof "$two"
check "groups without keys" fails_with 125 "left\\+right.* is not groups of objects"

# --- a stencil has nothing to gain
$reuse_run -e exact --line-size 256 --partitions 4 -o stencil.rprof "$bench/stencil" --iterations 2 >log
run "$report" --sector-hints stencil.rprof
check "a stencil: nothing to gain" out_has '^Nothing to gain'
check "... and nothing to paste" test "$(grep -c pragma out)" -eq 0

# --- a stencil from samples: many watches end before L2 would have lost a line, and nothing is made of
# that; a sector that is too small is warned against only if it is too small by count, but for one way:
# the grid fills four ways to the last line
$reuse_run -e exact --line-size 256 --partitions 4 -o stencil.rprof "$bench/stencil" --iterations 6 >log
"$report" --sector-hints --format json stencil.rprof >counted.json
$reuse_run -e simulate --line-size 256 -p 1000 --seed 1 -o stencil-samples.rprof "$bench/stencil" --iterations 6 >log
run "$report" --sector-hints stencil-samples.rprof
check "stencil samples: L1 has nothing to gain" out_has '^Nothing to gain at L1:'
check "stencil samples: L2 is not known, and says why" out_has '^Not known at L2: up to [0-9]+ % of what counts as misses'
"$report" --sector-hints --format json stencil-samples.rprof >sampled.json
check "stencil samples: no warnings from what nobody saw" python3 -c '
import json, re, sys
def warned(name):
    found = {}
    for warning in json.load(open(name)).get("sector_warnings", []):
        structure, ways, level = re.match(r"Do not isolate (\S+) in (\d+) ways?.* of L(\d)", warning).groups()
        found[structure, level] = max(int(ways), found.get((structure, level), 0))
    return found
counted, sampled = warned("counted.json"), warned("sampled.json")
assert counted
sys.exit(any(ways > counted.get(where, 0) + 1 for where, ways in sampled.items()))'
check "stencil samples: the command that counts" out_has "^reuse-run -e exact --line-size 256 --partitions 8 --regions '[a-z,]*jacobi[a-z,]*' PROGRAM"
check "stencil samples: functions without what they call" out_has 'holds no calling contexts'
check "stencil samples: unseen is not called never" test "$(grep -c '^never' out)" -eq 0

# --- the same from samples of a simulated PMU, and traffic of both
# With a period of 500 misses in a sector scatter by 3 %, with this one by 2.
$reuse_run -e simulate --line-size 256 -p 150 --seed 4 -o samples256.rprof "$bench/dmtvm" --iterations 6 >log
$reuse_run -e simulate -p 500 --seed 4 -o samples.rprof "$bench/dmtvm" --iterations 6 >log
$reuse_run -e exact -o counts.rprof "$bench/dmtvm" --iterations 6 >log
$reuse_run -e exact --line-size 256 --partitions 4 --regions dmtvm -o counts256.rprof "$bench/dmtvm" --iterations 6 >log
"$report" --sector-hints --format json --region dmtvm counts256.rprof >truth.json
run "$report" --sector-hints --format json --region dmtvm samples256.rprof
truth='json.load(open("truth.json"))["sector_hints"][0]'
first='d["sector_hints"][0]'
check "samples: m, L1, 1 way" json "($first[\"data_struct\"], $first[\"cache_level\"], $first[\"nways\"]) == (\"m\", 1, 1)"
check "samples: misses as counted" json "abs($first[\"misses_sc\"] / $truth[\"misses_sc\"] - 1) < 0.08 and abs($first[\"misses_nosc\"] / $truth[\"misses_nosc\"] - 1) < 0.08"
# Each side half as long again as stated (it need not be symmetric), so that one run in some hundreds fails and not one in twenty.
check "samples: the interval holds the counted reduction" json "1.5 * $first[\"lo\"] - 0.5 * $first[\"reduction_pct\"] <= $truth[\"reduction_pct\"] <= 1.5 * $first[\"hi\"] - 0.5 * $first[\"reduction_pct\"]"
"$report" --traffic --machine skylake-sp --format json counts.rprof >truth.json
run "$report" --traffic --machine skylake-sp --format json samples.rprof
# Some 2000 of the samples miss in L1: a standard deviation of 2.2 %, three and a half of which are allowed.
check "traffic of L2 and L3 as counted" json 'all(abs(d["traffic"][0][k] / json.load(open("truth.json"))["traffic"][0][k] - 1) < 0.08 for k in ("l2_bytes", "l3_bytes"))'
back='[[l[k] for l in r["traffic"][0]["levels"][1:3]] for r, k in ((d, "write_back_bytes_lo"), (json.load(open("truth.json")), "write_back_bytes"), (d, "write_back_bytes_hi"))]'
check "traffic: what is written back lies within its bounds" json "all(0.92 * lo <= true <= 1.08 * hi and true > 0 for lo, true, hi in zip(*$back))"
check "... which samples alone do not tell better" json 'd["traffic"][0]["levels"][1]["write_back_bytes"] is None'
check "traffic: the names of the metrics" json 'all(k in d["traffic"][0] for k in ("ls_bytes", "l2_bytes", "l3_bytes", "mem_bytes", "l2_ls", "l3_ls", "mem_ls"))'
check "traffic: 8 bytes an access" json 'abs(d["traffic"][0]["ls_bytes"] / d["traffic"][0]["accesses"] - 8) < 0.1'
# Memory's part is left out where its misses are not known: the matrix is about as large as this L3.
adds_up() {
    json "(lambda parts: abs(sum(p for p in parts if p is not None) - 1) < 1e-6 or None in parts and sum(p for p in parts if p is not None) < 1)([l[\"$1\"] for l in d[\"traffic\"][0][\"levels\"]])"
}
check "traffic: shares add up" adds_up memory_share
check "traffic: impacts add up" adds_up memory_impact
if [ -d /sys/devices/system/cpu/cpu0/cache ]; then
    check "traffic: beside the machine of the run" json 'len({t["machine"] for t in d["traffic"]}) == 2'
else
    skip "traffic: beside the machine of the run" "this machine does not tell its caches"
fi
run cat truth.json
check "traffic: counted shares add up" json 'abs(sum(l["memory_share"] for l in d["traffic"][0]["levels"]) - 1) < 1e-6'
check "traffic: counted impacts add up" json 'abs(sum(l["memory_impact"] for l in d["traffic"][0]["levels"]) - 1) < 1e-6'
run "$report" --traffic --machine skylake-sp samples.rprof
check "traffic: says that nothing was measured" out_has 'Measured: nothing'
check "traffic: capacity, not conflicts" out_has 'capacity: the misses are those of a fully associative cache'
run "$report" --traffic --machine power9 samples.rprof
check "traffic with 128-byte lines" out_has 'on power9: .* 128-byte lines'
check "traffic without bandwidths says what is missing" out_has 'Impact needs the bandwidth of every level of power9'
finish
