#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# What reuse-report says of a profile whose truth is known, in every form.
. "$(dirname "$0")/tap.bash"
here=$(cd "$(dirname "$0")" && pwd)
report=$REUSE_BUILDDIR/postproc/reuse-report
script=$REUSE_BUILDDIR/tests/support/profile_script
source=$here/programs/report_program.c
export LC_ALL=C

make_profile() { # PROGRAM OUTPUT [SEED]
    python3 "$here/report_profile.py" "$1" "${3:-1}" | "$script" "$2"
}
line_of() { grep -n "mark: $1 " "$source" | cut -d: -f1; }

# Reads $work/out as JSON and evaluates a Python expression over r, the report.
json_says() {
    DOT=$(line_of dot) MATRIX=$(line_of matrix) python3 - "$work/out" "$1" <<'END'
import json, math, os, sys
r = json.load(open(sys.argv[1]))
dot, matrix = int(os.environ["DOT"]), int(os.environ["MATRIX"])
def near(a, b, e): return abs(a - b) <= e
def named(n): return next(o for o in r["objects"] if o["name"] == n)
sys.exit(0 if eval("(" + sys.argv[2] + ")") else 1)
END
}
narrow() { # no line of text is longer than 80 columns, or ends in a blank, or has an escape
    ! LC_ALL=C.UTF-8 grep -qE '^.{81}| $' "$work/out" && ! grep -qP '\x1b' "$work/out"
}

gcc -g -O1 -o "$work/program" "$source" || exit 1
cd "$work" || exit 1
make_profile "$work/program" p.rprof || exit 1

run piped "$report" p.rprof
check "text: succeeds, without complaint" test "$status" -eq 0 -a ! -s err
check "text: 80 columns" narrow
check "text: the run" out_has '^Program: +\./report_program \(/.*/program\)$'
check "text: bursts" out_has '^Bursts: +4000, with 8.19 M accesses \(for the miss ratio of L1 '
check "text: ... in independent accesses" out_has ' [0-9.]+( [kM])? independent ones\)$'
check "text: what bursts foresaw" out_has '^Look-ahead: +97 of 100 forecasts came true; 11 of 12 stops'
check "text: watches" out_has '^Watches: +500 begun: [0-9]+ used again, 0 never .*'
check "text: losses in words" out_has '^Lost: +5 samples without a memory access'
check "text: notes of the runtime" out_has '^engine pmu was passed over'
check "text: findings come first" test "$(head -n 1 out)" = "== Findings =="
check "text: they fit a screen" test "$(grep -n '^== Summary' out | cut -d: -f1)" -le 25
# The matrix is read in order out of L3: the line that the time goes to is named.
joined() { tr '\n' ' ' <out | grep -qE "$1"; }
check "text: the verdict says what takes the time" \
    joined "Nothing to gain from a thread.s own use of its caches. Misses take [0-9]+( to [0-9]+)? % of the CPU time"
check "text: the verdict names the line" joined "spent in dot, near [^ ]*report_program.c:$(line_of dot)"
# Those of L3 and memory may have been timed in the run.
check "text: latencies that are assumed" joined \
    'Latencies: L2 4, L3 ([0-9.]+,|and) memory [0-9.]+, another core 100 ns \((assumed|L3 and memory: [0-9]+ loads timed in the run; else assumed)\)'
printf 'defaults\nthread 7 main\ntotals 1 1000 10 0=1 stops=2\nfinish\n' | "$script" idle.rprof
run "$report" --summary idle.rprof
check "text: one loss is not many" out_has '^Lost: +1 sample without a memory access'
check "text: a line of zeros is left out" bash -c '! grep -qE "^(Watches|Look-ahead):" "$1"' - "$work/out"
run "$report" -v --summary idle.rprof
check "text: with -v it is there" bash -c 'grep -q "^Watches: *0 begun" "$1" && grep -q "^Look-ahead: *0 of 0" "$1"' - \
    "$work/out"
run "$report" p.rprof
check "text: an interval with every estimate" out_has '^L1 +32 KiB +[0-9.]+\+-[0-9.]+ '
run env LC_ALL=C.UTF-8 "$report" p.rprof
check "text: the sign is +- only where there is no other" out_has '^L1 +32 KiB +[0-9.]+±[0-9.]+ '

for section in summary:Summary 'histogram:How late' 'mrc:Miss ratio by' threads:Threads \
    'objects:Data objects' 'lines:Source lines' 'contexts:Calling contexts'; do
    run piped "$report" "--${section%%:*}" p.rprof
    # The findings are the head of the summary.
    heads=2
    test "${section%%:*}" = summary && heads=3
    check "--${section%%:*} alone" test "$(grep -c '^== ' out)" -eq "$heads" -a \
        "$(grep -c "^== ${section#*:}" out)" -eq 1
    check "--${section%%:*}: 80 columns" narrow
done
run "$report" --stdio --mrc p.rprof
check "--stdio is text; the caches are marked" out_has '^ 32 KiB .* L1 '

run "$report" --format json p.rprof
check "json: succeeds" status_is 0
check "json: top-level keys" json_says 'all(k in r for k in ("schema", "program", "command", "pid",
    "host", "engine", "line_size", "threads", "accesses", "samples", "watches", "lost", "overhead",
    "mrc", "histogram", "misses", "objects", "lines"))'
check "json: the run" json_says 'r["schema"] == "reuse-report/1" and r["pid"] == 42 and
    r["host"] == "testhost" and r["engine"] == "clock" and r["line_size"] == 64'
# 4000 samples of 1 ms at 0.4 accesses per ns; the losses of the first thread weigh its samples.
check "json: accesses" json_says 'near(r["accesses"]["value"], 4000e6 * 0.4, 0.02 * 1.6e9) and
    r["accesses"]["lo"] <= 1.6e9 <= r["accesses"]["hi"]'
check "json: watches add up" json_says 'r["watches"]["armed"] == 500 ==
    sum(r["watches"][k] for k in ("reused", "invalidated", "evicted", "ended")) and
    r["watches"]["reused"] + r["watches"]["evicted"] == 500'
check "json: losses and overhead" json_says 'r["lost"]["unreadable"] == 5 and
    r["lost"]["context"] == 3 and r["overhead"]["handler_ns"] == 40000000'
check "json: findings, and the time of misses" json_says 'r["findings"] == [] and
    0 < r["time"]["memory"]["lo"] <= r["time"]["memory"]["hi"] < 0.06 and
    r["time"]["hottest"] == "dot" and r["time"]["measured"]'
check "json: the curve falls, inside its interval" json_says 'len(r["mrc"]) >= 48 and
    all(a["bytes"] < b["bytes"] and a["miss_ratio"] >= b["miss_ratio"]
        for a, b in zip(r["mrc"], r["mrc"][1:])) and
    all(0 <= p["lo"] <= p["miss_ratio"] <= p["hi"] <= 1 for p in r["mrc"])'
# One in eight accesses leaves its line, half of those of the matrix come back after 8 MB.
check "json: misses as they were drawn" json_says '[m["level"] for m in r["misses"]] == [1, 2, 3] and
    near(r["misses"][1]["capacity"], 1 / 16, 0.02) and near(r["misses"][2]["capacity"], 0, 0.02)'
check "json: misses are the sum of their kinds" json_says 'all(near(m["cold"] + m["capacity"] +
    m["coherence"], m["miss_ratio"], 1e-6) for m in r["misses"])'
check "json: histograms are shares" json_says 'all(near(sum(b["share"] for b in h), 1, 1e-6)
    for h in r["histogram"].values()) and r["histogram"]["stack_distance"][-1]["hi"] is None'
check "json: the heap object has its variable's name" json_says 'named("matrix")["kind"] == "heap" and
    named("matrix")["size"] == 8000000 and named("matrix")["alloc"]["line"] == matrix and
    named("matrix")["alloc"]["function"] == "main" and
    named("matrix")["alloc"]["file"].endswith("programs/report_program.c")'
check "json: the global has its symbol's" json_says 'named("weights")["kind"] == "global" and
    named("weights")["size"] == 32768'
check "json: an object's misses are its own" json_says 'near(named("matrix")["misses"][1]["miss_ratio"],
    1 / 8, 0.04) and near(named("weights")["misses"][1]["miss_ratio"], 0, 0.02) and
    near(named("matrix")["accesses_share"], 0.5, 0.05)'
check "json: an object has a curve" json_says 'len(named("matrix")["mrc"]) == len(r["mrc"])'
check "json: the line, its object and its next use" json_says 'r["lines"][0]["line"] == dot and
    r["lines"][0]["function"] == "dot" and r["lines"][0]["object"] == "matrix" and
    r["lines"][0]["reuse_from"][0]["line"] == dot and
    near(r["lines"][0]["reuse_from"][0]["share"], 1, 1e-9)'
check "json: late reuse comes after the matrix" json_says '4e6 < r["lines"][0]["late_distance_bytes"] < 2e7 or
    r["lines"][0]["late_distance_bytes"] <= 1.3 * 65536'
check "json: threads" json_says '{t["tid"]: t["cpu_ns"] for t in r["threads"]} ==
    {1001: 3000000000, 1002: 1000000000} and
    near(sum(t["accesses"] for t in r["threads"]), r["accesses"]["value"], 1)'
check "json: contexts down to main" json_says 'r["contexts"][0]["frames"][-1]["function"] == "main"'
check "json: notes" json_says 'any("pmu was passed over" in n for n in r["notes"])'
check "json: rate and what it rests on" json_says 'near(r["access_rate"]["per_ns"]["value"], 0.4, 0.02)
    and r["access_rate"]["bursts"] > 3000'
cp out all.json

run "$report" --format csv p.rprof
check "csv agrees with json" python3 - out all.json <<'END'
import csv, json, sys
tables, header = {}, None
for row in csv.reader(open(sys.argv[1])):
    if not row:
        header = None
    elif header is None:
        header = row
    else:
        assert len(row) == len(header), row
        tables.setdefault(row[0], []).append(dict(zip(header, row)))
report = json.load(open(sys.argv[2]))
for name in "mrc", "objects", "lines", "threads", "misses", "contexts":
    assert len(tables[name]) == len(report[name]), name
for row, point in zip(tables["mrc"], report["mrc"]):
    assert abs(float(row["miss_ratio"]) - point["miss_ratio"]) < 1e-8
    assert abs(float(row["hi"]) - point["hi"]) < 1e-8
assert [o["name"] for o in tables["objects"]] == [o["name"] for o in report["objects"]]
assert tables["objects"][0]["alloc.line"] == str(report["objects"][0]["alloc"]["line"])
assert len(tables["objects.mrc"]) == sum(len(o["mrc"]) for o in report["objects"])
facts = {f["key"]: f for f in tables["summary"]}
assert abs(float(facts["accesses"]["lo"]) - report["accesses"]["lo"]) < 1
END
run "$report" --format csv --mrc p.rprof
# Where threads share a cache, its curves belong to the section.
check "csv: one section" test "$(grep -vE '^(table,|$)' out | cut -d, -f1 | sort -u |
    grep -vx 'shared_caches\(\.mrc\)\?')" = mrc

run "$report" --format json --mrc p.rprof
check "json: one section has the facts of the run as well" json_says '"mrc" in r and
    "objects" not in r and r["samples"] == 4000'
run "$report" --format json --line-size 128 p.rprof
check "--line-size evaluates for other lines" json_says 'r["line_size"] == 128'
run "$report" --format json --machine a64fx p.rprof
check "--machine evaluates for another machine and its lines" json_says 'r["line_size"] == 256 and
    [m["bytes"] for m in r["misses"]] == [65536, 8388608]'
printf 'name = small\ncache = 1 4096 64 4 1\ncache = 2 65536 64 8 1\n' >small.machine
run "$report" --format json --machine small.machine p.rprof
check "--machine FILE" json_says '[m["bytes"] for m in r["misses"]] == [4096, 65536]'
printf 'name = deep\ncache = 1 32768 64 8 1\ncache = 2 524288 64 8 1\ncache = 3 8388608 64 16 4\ncache = 4 134217728 64 16 64\n' >deep.machine
run piped "$report" --machine deep.machine --threads --objects --lines --contexts --mrc p.rprof
check "four levels of cache fit the page" narrow
run "$report" --format json --thread 1002 p.rprof
check "--thread: this one alone" json_says 'r["samples"] == 1000 and
    [t["tid"] for t in r["threads"]] == [1002]'
run "$report" --format json --region dot p.rprof
check "--region FUNCTION holds what is called from it" json_says 'near(r["accesses"]["value"], 1.6e9, 4e7)'
run "$report" --region main --lines p.rprof
check "--region main" out_has "report_program.c:$(line_of dot)"
run "$report" --format json --top 1 p.rprof
check "--top" json_says 'len(r["objects"]) == 1 and r["objects"][0]["name"] == "matrix"'

make_profile "$work/program" newer.rprof 2
touch -d '1 hour ago' p.rprof
run "$report" --summary
check "the newest profile is taken, and named" test "$(cat err)" = "reuse-report: newer.rprof"
mkdir empty
run env -C empty "$report"
check "no profile here" fails_with 1 'no \*\.rprof here'

run "$report" -o text.txt p.rprof
check "-o FILE: nothing on standard output" test "$status" -eq 0 -a ! -s out -a -s text.txt
run "$report" -o /nonexistent/x p.rprof
check "-o: unwritable" fails_with 1 'cannot write /nonexistent/x: No such file'
run "$report" -o /dev/full p.rprof
check "-o: full disk" fails_with 1 'cannot write /dev/full: No space left'
run bash -o pipefail -c '"$0" --format json p.rprof | head -n 1' "$report"
check "a reader that leaves is no failure" test "$status" -eq 0 -a ! -s err

run "$report" --format json p.rprof newer.rprof
check "two profiles together" json_says 'r["samples"] == 8000 and r["processes"] == 2 and
    len([o for o in r["objects"] if o["name"] == "matrix"]) == 1'
run "$report" --merge -o merged.rprof p.rprof newer.rprof
check "--merge: succeeds" test "$status" -eq 0 -a ! -s out
run "$report" --format json merged.rprof
check "a merged profile keeps its processes apart" json_says 'len(r["threads"]) == 4 and
    {t["pid"] for t in r["threads"]} == {42} and {t["host"] for t in r["threads"]} == {"testhost"}'
check "a merged profile says the same" json_says 'r["samples"] == 8000 and r["processes"] == 2 and
    named("matrix")["alloc"]["line"] == matrix and r["lines"][0]["line"] == dot'

python3 "$here/report_profile.py" "$work/program" | sed 's/^finish$/cut/' | "$script" cut.rprof
truncate -s -5 cut.rprof
run "$report" cut.rprof
check "a profile cut short is read, and said to be" out_has '^cut.rprof ends early, within a record'
run "$report" --format json cut.rprof
check "json: cut short" json_says 'r["complete"] is False and r["lost"]["bytes"] > 0 and
    r["samples"] == 4000'

# Without the file that ran, without debug information, without symbols: less is said, never wrong.
mkdir -p root/"$work" && cp program root/"$work"/program && mv program away
run "$report" p.rprof
check "a missing program is named" out_has '^File not found.*: program$'
run "$report" --sysroot "$work/root" --lines p.rprof
check "--sysroot finds it" out_has "report_program.c:$(line_of dot)"
gcc -g -O2 -o program "$source"
run "$report" --objects p.rprof
check "another build is not used" test "$(grep -c matrix out)" -eq 0
check "another build is named" err_has 'warning: .*/program is not the file that ran'
cp away program && touch -d '2000-01-01' program
run "$report" --objects p.rprof
check "a source newer than the program is not trusted" out_has '1 source file is newer'
check "a source newer than the program names nothing" test "$(grep -c '^matrix' out)" -eq 0
strip --strip-debug -o program away
run "$report" p.rprof
check "no debug information is said" out_has '^No debug information.*: program$'
check "no debug information: functions have names" out_has '^dot \(program\) '
mkdir -p debug/.build-id
id=$(readelf -n away | sed -n 's/.*Build ID: //p')
mkdir -p "debug/.build-id/${id:0:2}"
objcopy --only-keep-debug away "debug/.build-id/${id:0:2}/${id:2}.debug"
run "$report" --debug-dir "$work/debug" --lines p.rprof
check "--debug-dir finds separate debug information" out_has "report_program.c:$(line_of dot)"
strip -o program away
run "$report" p.rprof
check "a stripped program is named" out_has '^Stripped.*: program$'
check "and where names can be had from, once" test "$(grep -c '^For names and source lines: compile with -g' out)" -eq 1
run "$report" --format json p.rprof
# What nm and readelf say of the program before it was stripped.
start_of() { echo $((16#$(nm away | awk -v name="$1" '$3 == name { print $1 }'))); }
check "stripped: a function is told by its first address" json_says \
    "r['lines'][0]['function'] == 'program+' + hex($(start_of dot)) and r['lines'][0]['module'] == 'program'"
read -r section base < <(readelf -SW away | python3 -c '
import sys
at = int(sys.argv[1])
for line in sys.stdin:
    words = line.replace("[", "", 1).replace("]", " ", 1).split()
    if len(words) > 5 and words[2] in ("PROGBITS", "NOBITS"):
        low, size = int(words[3], 16), int(words[5], 16)
        if low <= at < low + size:
            print(words[1], low)' "$(start_of weights)")
check "stripped: a global is told by section and offset" json_says \
    "named('$section+' + hex($(start_of weights) - $base) + ' of program')['kind'] == 'global'"
cp out stripped.json
mkdir -p home/.cache/debuginfod_client/$id
cp "debug/.build-id/${id:0:2}/${id:2}.debug" home/.cache/debuginfod_client/$id/debuginfo
run env HOME="$work/home" XDG_CACHE_HOME= "$report" --lines p.rprof
check "debug information that debuginfod-find has fetched is used" out_has "report_program.c:$(line_of dot)"
run env HOME=/nonexistent DEBUGINFOD_CACHE_PATH="$work/home/.cache/debuginfod_client" "$report" --lines p.rprof
check "from the folder that DEBUGINFOD_CACHE_PATH names, too" out_has "report_program.c:$(line_of dot)"
printf 'another file' >home/.cache/debuginfod_client/$id/debuginfo
run env HOME="$work/home" XDG_CACHE_HOME= "$report" --format json p.rprof
check "what is there is not trusted" cmp -s out stripped.json

# Code that was made at run time is named by the map that its maker leaves.
cp away program
cat >jit.script <<END
defaults
run pid 4242
thread 1 main
probes 0x7f0000001010 reuse_ip=0x7f0000001010 0:3=1024
probes 0x7f0000009999 reuse_ip=0x7f0000009999 0:3=1024
burst 1 0
finish
END
"$script" jit.rprof <jit.script
mkdir -p root/tmp
printf '7f0000001000 100 old_name\n7f0000001000 80 jitted loop\n' >root/tmp/perf-4242.map
run "$report" --sysroot "$work/root" --lines jit.rprof
check "code made at run time has its map's name" out_has '^jitted loop '
check "code that nobody named is an address" out_has '^0x7f0000009999 '
touch -d 2001-01-01 root/tmp/perf-4242.map
run "$report" --sysroot "$work/root" --lines jit.rprof
check "a map older than the run is another process's" out_has '^0x7f0000001010 '

# An exact profile: counts, not estimates. 64-byte lines; 900 accesses at distance 0, 90 at 1000
# lines, 10 cold.
cp away program
read -r weights < <(nm away | awk '$3 == "weights" { print "0x" $1 }')
read -r load < <(objdump -d --no-show-raw-insn away | awk '/<dot>:/ { on = 1 } on && /\(%r/ && !/nop|lea/ {
    sub(":", "", $1); print "0x" $1; exit }')
cat >exact.script <<END
defaults
run engine exact
module - 0 0x10000 0 $work/program
thread 7 main
histogram 1 1 64 0 0 1000 10 0=900 1000=90
histogram 1 2 64 0 0 1000 10 1=900 5000=90
histogram 2 1 64 1 0 1000 10 0=900 1000=90
histogram 3 1 64 $((2 << 32 | 1)) $weights 1000 10 0=900 1000=90
histogram 4 1 64 $load 0 1000 10 0=900 1000=90
finish
END
"$script" exact.rprof <exact.script
run "$report" --format json exact.rprof
check "exact: counts without intervals" json_says 'r["accesses"] == {"value": 1000, "lo": 1000,
    "hi": 1000} and near(r["misses"][0]["capacity"], 0.09, 1e-9) and
    near(r["misses"][0]["cold"], 0.01, 1e-9) and near(r["misses"][1]["capacity"], 0, 1e-9)'
check "exact: objects, lines and threads" json_says 'r["objects"][0]["name"] == "weights" and
    r["lines"][0]["line"] == dot and r["threads"][0]["accesses"] == 1000'
run "$report" --format json --thread 7 exact.rprof
check "exact: lines are not counted by thread, and none are shown" json_says 'r["lines"] == [] and
    any("whole process" in n for n in r["notes"])'
run piped "$report" exact.rprof
check "exact: text says so" out_has 'Exact: every access was counted'
check "exact: 80 columns" narrow
{ printf 'lines 100\n'; cat exact.script; } | "$script" part.rprof
run "$report" part.rprof
check "a part of the lines: headings say which, and not that it is exact" bash -c '
    grep -q "^  Estimated from the accesses to 1 in 100 lines (1 % of them)" "$1" &&
    grep -q "^Engine: .*1 in 100 lines was followed" "$1" && ! grep -q "very access was counted" "$1"' - "$work/out"
finish
