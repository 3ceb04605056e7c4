#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Parallel jobs: profiles named by the job, one line for all ranks, and a report that puts the ranks
# side by side. Open MPI and MPICH are the real ones; Slurm's variables are set by hand. The figures of
# the report are exact, from runs inside QEMU.
. "$(dirname "$0")/tap.bash"
bin=$REUSE_BUILDDIR/postproc
program=$REUSE_BUILDDIR/tests/integration/programs/job_rank
for name in $(compgen -e | grep -E '^(OMPI|PMI|PMIX|MPI|HYD|SLURM|PALS|REUSE_JOB)'); do
    unset "$name"
done
cd "$work" || exit 1

# slurm JOB RANK RANKS COMMAND...: the command as a task of srun has it.
slurm() {
    local job=$1 rank=$2 ranks=$3
    shift 3
    env SLURM_JOB_ID="$job" SLURM_STEP_ID=0 SLURM_PROCID="$rank" SLURM_NTASKS="$ranks" "$@"
}

# in_order PREFIX: PREFIX0 to PREFIX3 and no other profile are here.
in_order() {
    [ "$(ls ./*.rprof)" = "$(printf "./$1%d.rprof\n" 0 1 2 3)" ]
}

# Only the ranks' own lines, and one that names the job's files.
is_quiet() {
    [ "$(sort out)" = "$(printf 'rank %d has ended\n' 0 1 2 3)" ] && [ "$(told err | wc -l)" -eq 1 ] &&
        grep -qE 'rank 0 of 4: .*look at the job with: reuse-report .*/reuse\..*\.\*\.rprof$' err
}

# answers EXPRESSION: true of `job`, that of the JSON report.
answers() {
    python3 -c 'import json, re, sys
job = json.load(open(sys.argv[1]))["job"]
sys.exit(not eval(sys.argv[2]))' "$work/out" "$1"
}

# ---- names, and what is said ----

mkdir slurm && cd slurm || exit 1
for rank in 3 2 1 0; do
    slurm 77 $rank 4 "$bin/reuse-run" "$program" none 5
done >out 2>err
check "Slurm: files are named by job, step and rank" in_order reuse.77.0.
check "... and one line is said for the job" is_quiet
slurm 77 1 4 "$bin/reuse-run" -o 'own.%j.%r.%e' "$program" none 5 >out 2>err
check "a pattern of the user's: %j is the job" test -s own.77.0.1.job_rank -a ! -s err
slurm 77 1 4 "$bin/reuse-run" -v "$program" none 5 >out 2>err
check "-v: other ranks say their line as well" grep -q 'rank 1 of 4: ' err
slurm 77 1 4 "$bin/reuse-run" -o nowhere/x "$program" none 5 >out 2>err
check "a rank's own failure is told by that rank" grep -q 'no profile: cannot create .*nowhere/x' err
slurm 77 1 4 env REUSE_ENGINE=exact LD_PRELOAD="$REUSE_BUILDDIR/runtime/.libs/libreuse.so" \
    "$program" none 5 >out 2>err
check "a failure that all ranks have is not told by each" test ! -s err
slurm 77 0 4 env REUSE_ENGINE=exact LD_PRELOAD="$REUSE_BUILDDIR/runtime/.libs/libreuse.so" \
    "$program" none 5 >out 2>err
check "... but by rank 0" grep -q 'runs unprofiled: engine exact' err
rm -f ./*
env SLURM_JOB_ID=77 SLURM_PROCID=0 SLURM_NTASKS=4 "$bin/reuse-run" "$program" none 5 >out 2>err
check "a program of the batch script itself is no rank" \
    test "$(ls ./*.rprof | grep -cE '^./reuse.job_rank.[0-9]+.rprof')" -eq 1
cd ..

# launched NAME COMPILER COMMAND...: a program of four ranks under a real launcher.
launched() {
    local name=$1 compiler=$2
    shift 2
    if ! command -v "$compiler" >/dev/null || ! command -v "$1" >/dev/null; then
        skip "$name: files are named by job and rank" "$compiler or $1 is not installed"
        return
    fi
    if ! timeout 60 "$@" -n 1 true >/dev/null 2>&1 </dev/null; then
        skip "$name: files are named by job and rank" "$1 cannot start a program here"
        return
    fi
    mkdir "$name" && cd "$name" || exit 1
    "$compiler" -O1 -g -DWITH_MPI -o rank "$REUSE_SRCDIR/tests/integration/programs/job_rank.c" || exit 1
    timeout 60 "$@" -n 4 "$bin/reuse-run" ./rank none 5 >out 2>err </dev/null
    job=$(ls ./*.rprof | sed -n 's/^.\/reuse\.\(.*\)\.0\.rprof$/\1/p')
    check "$name: files are named by job and rank" test -n "$job"
    check "... of all ranks" in_order "reuse.$job."
    check "... and one line is said for the job" is_quiet
    timeout 60 "$@" -n 2 "$bin/reuse-run" ./rank none 5 >out 2>err </dev/null
    check "... another job has another name" test "$(ls ./*.rprof | wc -l)" -eq 6
    run "$bin/reuse-report" --format json --job .
    check "... and is told apart" answers 'job["ranks"] == 4 and len(job["notes"]) == 1'
    cd ..
}

export OMPI_MCA_plm_rsh_agent=false # one machine: nothing is started by ssh
launched openmpi mpicc.openmpi mpirun.openmpi --allow-run-as-root --oversubscribe
launched mpich mpicc.mpich mpiexec.hydra

# ---- the report ----

needs_qemu "the report of a job"
mkdir job && cd job || exit 1
for rank in 0 1 2 3 4 5 6 7; do
    slurm 5 $rank 8 "$bin/reuse-run" -e exact "$program" 5 2 2>>../exact.err >/dev/null || exit 1
done
check "the engine exact says one line for the job as well" test "$(wc -l <../exact.err)" -eq 1

run "$bin/reuse-report" .
check "a folder of a job's profiles: the report has the job" out_has '^ranks: +8 of 8$'
check "... and what the ranks did together" out_has '^Processes: +8, on'
run "$bin/reuse-report" --format json --job ./*.rprof
check "the ranks are counted" answers 'job["ranks"] == 8 and job["expected_ranks"] == 8 and job["id"] == "5.0"'
check "nothing is amiss" answers 'not job.get("notes")'
check "the rank that is apart is named, at each level" \
    answers '[row["rank"] for row in job["outliers"]] in ([5, 5], [5, 5, 5])'
check "... with the object that differs" answers '"object table: " in str(job["outliers"])'
check "... and the line" answers '"line search_table: " in str(job["outliers"])'
check "ranks that behave alike are one group, the other is its own" \
    answers '[row["ranks"] for row in job["groups"]] == ["0-4,6-7", "5"]'
check "the median is that of the many, the most that of the one" \
    answers 'all(row["median"] < 0.002 and row["most"] > 0.01 and row["most_rank"] == 5 for row in job["spread"])'
check "each rank is listed" answers '[row["rank"] for row in job["rank_list"]] == list(range(8))'
check "the one node has all ranks" answers '[row["count"] for row in job["nodes"]] == [8]'
run "$bin/reuse-report" --by rank .
check "--by rank: a row for each" test "$(grep -cE '^ +[0-7]  [^ ]+  .* [12]$' "$work/out")" -eq 8
run "$bin/reuse-report" --by node .
check "--by node" out_has '^Each node$'
run "$bin/reuse-report" --by group .
check "--by group" out_has '^ +1  0-4,6-7 +7 '
# The program's path is as long as it is.
check "... no line is longer than a page is wide" test "$(grep -v '^program:' "$work/out" | wc -L)" -le 80

# ---- bad files ----

mkdir ../other && cd ../other || exit 1
slurm 6 0 2 "$bin/reuse-run" -q -e exact "$program" 5 1 >/dev/null
cp "$program" another
slurm 5 9 8 "$bin/reuse-run" -q -e exact ./another 5 1 >/dev/null
cd ../job || exit 1
cp ../other/*.rprof .
rm reuse.5.0.3.rprof
truncate -s -100 reuse.5.0.2.rprof
echo nonsense >nonsense.rprof
run "$bin/reuse-report" --format json --job .
check "files of another kind: the rest is shown" answers 'job["ranks"] == 7 and len(job["spread"]) > 1'
check "... and the status says so" status_is 1
note() { answers "len([note for note in job['notes'] if re.search('$1', note)]) == 1"; }
check "a file of another job is told" note 'reuse.6.0.0.rprof: of another job: 6.0'
check "a file of another program is told" note 'of another program: .*/another'
check "a file that is no profile is told" note 'nonsense.rprof'
check "a rank without a file is told" note '^no file of rank 3 of 8$'
check "a file that is cut short is told" note '^rank 2: .*reuse.5.0.2.rprof is cut short'
check "... each in a line, and nothing else" answers 'len(job["notes"]) == 5'

# Nothing was watched, so no miss is known. Two nodes, one with a blank in its name; one rank was killed, clocks differ by a day.
mkdir ../nodes && cd ../nodes || exit 1
for rank in 0 1 2 3 4 5; do
    {
        printf 'defaults\nrun job 3\nrun rank %d\nrun ranks 6\nrun host node %d\n' $rank $((rank / 4))
        printf 'run start_unix_ns %d000000000\n' $((1700000000 + rank / 4 * 86400))
        echo 'thread 1 main'
        printf 'probes 1 0:3=1900 open:0:0=148\nburst 1 0\n%.0s' {1..25}
        [ $rank -eq 5 ] && echo cut || echo finish
    } | "$REUSE_BUILDDIR/tests/support/profile_script" $rank.rprof || exit 1
done
run "$bin/reuse-report" .
check "two nodes: each has a row" test "$(grep -cE '^node [01] +(0-3 +4|4-5 +2) ' "$work/out")" -eq 2
check "a rank that was killed is told" out_has '^rank 5: .*5.rprof has no end: the process was killed'
check "... and is no failure" status_is 0
run "$bin/reuse-report" --format json --job .
check "where no misses are known no rank is like another" answers 'not job.get("groups") and job["ranks"] == 6'
mkdir empty
run "$bin/reuse-report" empty
check "a folder without a profile" fails_with 1 'empty is a directory without'
run "$bin/reuse-report" --job ../other/reuse.6.0.0.rprof
check "--job with one profile says what it wants" out_has "name the profiles of a job's ranks"
finish
