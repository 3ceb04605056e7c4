#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Figures of a run for those who own the machine: --format openmetrics, and the file that --metrics
# keeps while the program runs. Read by Prometheus' own tools where they are installed.
. "$(dirname "$0")/tap.bash"
bin=$REUSE_BUILDDIR/postproc
program=$REUSE_BUILDDIR/tests/integration/programs/job_rank
for name in $(compgen -e | grep -E '^(OMPI|PMI|PMIX|MPI|HYD|SLURM|PALS|REUSE_)'); do
    case $name in REUSE_SRCDIR | REUSE_BUILDDIR) ;; *) unset "$name" ;; esac
done
cd "$work" || exit 1

# is_valid FILE: each family has its type and help before its samples and occurs once; labels are
# quoted; values are numbers; the end is marked.
is_valid() {
    python3 - "$1" <<'END'
import re, sys
text = open(sys.argv[1]).read()
assert text.endswith("\n# EOF\n")
family, seen, samples = None, [], set()
label = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
for line in text.splitlines()[:-1]:
    found = re.fullmatch(r"# (TYPE|HELP) ([a-z_:]+) (.+)", line)
    if found:
        if found[1] == "TYPE":
            family = found[2]
            assert family not in seen and found[3] == "gauge", line
            seen.append(family)
        else:
            assert found[2] == family, line
        continue
    found = re.fullmatch(r"([a-z_]+)(\{%s(?:,%s)*\})? ([-+0-9.e]+)" % (label, label), line)
    assert found and found[1] == family, line
    float(found[3])
    assert found[1] + (found[2] or "") not in samples, line
    samples.add(found[1] + (found[2] or ""))
assert len(samples) >= 5
END
}
value() { sed -n "s/^$2{.*} //p" "$1"; }

# ---- the format ----

odd='a "b"\c'
cp "$program" "$odd"
"$bin/reuse-run" -q -o p.rprof "./$odd" 5 200 >/dev/null || exit 1
run "$bin/reuse-report" --format openmetrics p.rprof
check "--format openmetrics succeeds" status_is 0
cp "$work/out" direct.prom
check "it is valid" is_valid direct.prom
check "labels are quoted" grep -qF 'program="a \"b\"\\c"' direct.prom
check "the run has ended" test "$(value direct.prom reuse_running)" = 0
run "$bin/reuse-report" --format openmetrics -o file.prom p.rprof
check "-o: the same, in a file" cmp direct.prom file.prom
check "... and nothing beside it" test "$(find . -name '*.tmp' | wc -l)" -eq 0
ln file.prom old.prom
"$bin/reuse-report" --format openmetrics -o file.prom p.rprof
check "a file is replaced, not written over" test ! file.prom -ef old.prom
run "$bin/reuse-report" --format openmetrics -o nowhere/x.prom p.rprof
check "a folder that is not there" fails_with 1 'cannot write nowhere/x.prom: No such file'
run "$bin/reuse-report" --format openmetrics --objects p.rprof
check "it takes no section" fails_with 2 'take no'
if command -v promtool >/dev/null; then
    run promtool check metrics <direct.prom
    check "promtool reads it" promtool check metrics <direct.prom
else
    skip "promtool reads it" "prometheus is not installed"
fi

# ---- beside the program ----

# A program that goes on until it is told.
cat >until.sh <<'END'
i=0
while [ ! -e stop ] && [ $i -lt 60000000 ]; do i=$((i + 1)); done
echo done
wait
END
# running FILE: soon, a run that goes on and has samples.
running() {
    for _ in $(seq 300); do
        [ "$(value "$1" reuse_running 2>/dev/null)" = 1 ] && [ "$(value "$1" reuse_bursts)" -gt 0 ] && return
        sleep 0.1
    done
    return 1
}
mkdir collector
SLURM_PROCID=3 SLURM_NTASKS=4 SLURM_JOB_ID=8 SLURM_STEP_ID=1 "$bin/reuse-run" --metrics \
    'collector/%j.%r.prom' --interval 1 -- sh until.sh >out 2>err &
pid=$!
check "while the program runs, the file has its figures" running collector/8.1.3.prom
cp collector/8.1.3.prom early.prom
check "... and is valid" is_valid early.prom
check "... with program, process, rank, job and host" grep -qE \
    "^reuse_running\{program=\"[a-z]+\",pid=\"$pid\",rank=\"3\",job=\"8.1\",host=\"$(uname -n)\"" early.prom
if command -v prometheus-node-exporter >/dev/null; then
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    prometheus-node-exporter --web.listen-address=127.0.0.1:$port --collector.disable-defaults \
        --collector.textfile --collector.textfile.directory="$work/collector" >exporter.log 2>&1 &
    exporter=$!
    for _ in $(seq 100); do
        python3 -c "import urllib.request as r; print(r.urlopen('http://127.0.0.1:$port/metrics').read().decode())" \
            >scraped 2>/dev/null && break
        sleep 0.1
    done
    kill $exporter
    check "node_exporter shows it" grep -qE '^reuse_bursts\{.*rank="3".*\} [0-9.e+]+$' scraped
    check "... without an error" grep -q '^node_textfile_scrape_error 0' scraped
else
    skip "node_exporter shows it" "prometheus-node-exporter is not installed"
fi
touch stop
wait $pid
check "the program's status and output are its own" test $? -eq 0 -a "$(cat out)" = done
for _ in $(seq 100); do
    [ "$(value collector/8.1.3.prom reuse_running)" = 0 ] && break
    sleep 0.1
done
check "after its end the file says so" test "$(value collector/8.1.3.prom reuse_running)" = 0
check "... and has all samples" test "$(value collector/8.1.3.prom reuse_bursts)" -ge "$(value early.prom reuse_bursts)"
check "nothing was said" test ! -s err
rm stop
"$bin/reuse-run" -q --metrics killed.prom --interval 1 -- sh until.sh >out 2>err &
pid=$!
check "another run" running killed.prom
kill -9 $pid
for _ in $(seq 100); do
    [ "$(value killed.prom reuse_running)" = 0 ] && break
    sleep 0.1
done
check "killed: the file says that it has ended" test "$(value killed.prom reuse_running)" = 0
run env REUSE_METRICS=env.prom "$bin/reuse-run" -q "$program" none 50
for _ in $(seq 100); do [ -s env.prom ] && break; sleep 0.1; done
check "REUSE_METRICS alone: one writing, at the end" is_valid env.prom
run "$bin/reuse-run" --metrics nowhere/x.prom "$program" none 1
check "a folder that is not there: one line, and no run" fails_with 125 'no metrics: nowhere/x.prom: No such file'
run "$bin/reuse-run" --interval 0 "$program"
check "an interval of nothing" fails_with 125 "'0' is not a whole number from 1 to 86400"
python3 - "$REUSE_SRCDIR/packaging/grafana/libreuse.json" direct.prom <<'END'
import json, re, sys
board = json.load(open(sys.argv[1]))
used = set(re.findall(r"reuse_[a-z_]+", json.dumps([p["targets"] for p in board["panels"]])))
there = set(re.findall(r"# TYPE (reuse_[a-z_]+)", open(sys.argv[2]).read()))
sys.exit(not used or bool(used - there))
END
check "the dashboard shows metrics that there are" test $? -eq 0
finish
