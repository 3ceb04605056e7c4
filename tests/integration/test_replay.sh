#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# reuse-run --record-raw and --replay: a recorded run is repeated without its program, and its profile comes
# out the same, byte for byte. Also what comes out of a recording that was cut off, damaged, or is none.
. "$(dirname "$0")/tap.bash"

use_seam
seam=$bin bin=$REUSE_BUILDDIR/postproc
micro=$REUSE_BUILDDIR/microbench
programs=$REUSE_BUILDDIR/tests/integration/programs
stand_in=$REUSE_BUILDDIR/tests/support/.libs/libpmustandin.so
array=$(nm "$library" 2>"$work/err" | awk '/self_test_array/ { print $1 }')
cd "$work" || exit 1

record() {
    rm -f tape recorded.rprof
    run "$bin/reuse-run" -e clock -o recorded.rprof --record-raw tape "$@"
}
replay() {
    rm -f replayed.rprof
    run "$bin/reuse-run" --replay "${1:-tape}" -o replayed.rprof
}
# all_the_same NAME: after record
all_the_same() {
    if [ ! -e recorded.rprof ]; then
        skip "$1" "the recorded run has no samples: $(tail -n 1 err)"
        return
    fi
    replay
    check "$1: replay succeeds" status_is 0
    check "$1: with samples" err_has 'replayed [0-9]+ signals, [1-9][0-9]* samples'
    check "$1: the profile is the same" cmp recorded.rprof replayed.rprof
}

record "$micro/sweep" --bytes 1M --seconds 0.5
if ! err_has 'clock engine, [0-9]+ samples'; then
    skip "replay" "no engine works here: $(head -n 1 err)"
    finish
    exit 0
fi
check "the recorded program's output is its own" out_has 'iterations=[0-9]+ checksum='
all_the_same "one thread"
cp tape whole
record "$micro/sweep" --bytes 256K --seconds 0.5 --threads 4
all_the_same "four threads"
record "$micro/contention" --threads 4 --seconds 0.5
all_the_same "threads that share lines"
seq 1 400000 >numbers
record sort --parallel=4 -R numbers
all_the_same "sort"
# Not what a script of that name may start: each program would record over the one before.
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
record "$python" -c '
import threading
def work():
    for turn in range(3):
        d = {i: [i] * 3 for i in range(60000)}
threads = [threading.Thread(target=work) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()'
all_the_same "python with threads that come and go"
record "$programs/target_processes" fork
check "children that are forked are not recorded, but run" status_is 7

if [ -e "$stand_in" ] && [ -n "$array" ]; then
    mkdir -p intel/cpu amd/ibs_op/format amd/cpu
    echo intel 6 143 >intel/processor
    echo 4242 | tee intel/cpu/type >amd/ibs_op/type
    echo amd 25 17 >amd/processor
    echo config:19 >amd/ibs_op/format/cnt_ctl
    echo config2:0 >amd/ibs_op/format/swfilt
    echo 4243 >amd/cpu/type
    for unit in intel amd; do
        rm -f recorded.rprof tape
        run env REUSE_PMU_SYSFS="$work/$unit" PMU_STAND_IN_ARRAY="$array" LD_PRELOAD="$stand_in" \
            "$seam/reuse-run" -e pmu --record-raw tape -o recorded.rprof -- \
            "$micro/sweep" --bytes 2M --iterations 400 --threads 2
        # The records of the made-up unit are on the tape: nothing here has them any more.
        all_the_same "hardware sampling ($unit)"
    done
else
    skip "hardware sampling" "the stand-in is not built, or libreuse.so has no symbol table"
fi

# What cannot be replayed, or not all of it.
head -c $(($(stat -c %s whole) / 2)) whole >half
replay half
check "a recording that was cut off: what is there" status_is 0
check "... gives samples" err_has 'replayed [0-9]+ signals, [1-9][0-9]* samples'
check "... in a profile that can be read" "$bin/reuse-report" --format json replayed.rprof
replay numbers
check "a file that is no recording" err_has 'numbers is no recording of reuse-run --record-raw'
check "... status 1" status_is 1
: >empty
replay empty
check "an empty file" err_has 'no replay: empty is empty'
replay nowhere
check "no such file" err_has 'cannot read nowhere .ENOENT'
run "$bin/reuse-run" --replay whole "$micro/sweep"
check "a program beside it" err_has 'runs no program'
run "$bin/reuse-run" -e clock -o p.rprof --record-raw /nowhere/tape -- "$micro/sweep" --seconds 0.1
check "a recording that cannot be made is named, the program runs" \
    bash -c "grep -q 'cannot create /nowhere/tape' err && grep -q checksum out"

if command -v qemu-x86_64 >/dev/null; then
    run "$bin/reuse-run" -e simulate -o p.rprof --record-raw none.tape -- "$micro/sweep" --bytes 4K --iterations 1
    check "an engine that is not recorded: said, and the program runs" \
        bash -c "grep -q 'engine simulate leaves --record-raw .* unused' err && grep -q checksum out && [ ! -e none.tape ]"
else
    skip "an engine that is not recorded" "qemu-x86_64 is not installed"
fi

# A tape that takes no more: one line, and both the program and its profile go on.
run "$bin/reuse-run" -e clock -o p.rprof --record-raw /dev/full -- "$micro/sweep" --bytes 256K --seconds 0.5 --threads 4
check "a full disk: status and output" bash -c "[ $status -eq 0 ] && grep -q checksum out"
check "... is told once" [ "$(grep -c 'recording ends here: cannot write it (ENOSPC)' err)" = 1 ]
check "... the profile is whole" bash -c "grep -q 'clock engine, [0-9]* samples' err && '$bin/reuse-report' p.rprof >report"
run bash -c "ulimit -f 64; exec '$bin/reuse-run' -e clock -o p.rprof --record-raw limited -- '$micro/sweep' --bytes 256K --seconds 0.5"
check "a limit of the file size: the program is not killed by SIGXFSZ" status_is 0
check "... and it is told" err_has 'recording ends here: cannot write it .EFBIG'
replay limited
check "... what is written can be replayed" err_has 'replayed [0-9]+ signals'
printf 'reusetp\1 and so on, some bytes' >old
replay old
check "a recording of an older format" err_has 'old was recorded by another version of libreuse'

python3 - <<'PYTHON'
import struct
tape = bytearray(open("whole", "rb").read())
at = 16
while at < len(tape) // 2 or tape[at] != 32:
    tag = tape[at]
    at += 1 + (8 if 32 <= tag < 48 else 64 if tag == 50 else 0 if tag >= 64
               else 4 + struct.unpack_from("<I", tape, at + 1)[0])
tape[at] = 34  # a setting in place of a clock
open("other", "wb").write(tape)
PYTHON
replay other
check "a recording that goes another way: its name and the place are told" \
    err_has 'another way than the recorded one, or .* damaged, from byte [0-9]+ of other .signal [0-9]+'
check "... status 1" status_is 1
check "damaged recordings end in order" \
    python3 "$REUSE_SRCDIR/tests/fuzz/replay.py" "600/${REUSE_REPLAY_DAMAGES:-40}" "$bin/reuse-run" . whole

finish
