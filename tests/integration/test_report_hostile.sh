#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Debug information that crashes the library that reads it costs its names and not the report: what is
# told is what the same program without debug information gives.
. "$(dirname "$0")/tap.bash"
here=$(cd "$(dirname "$0")" && pwd)
report=$REUSE_BUILDDIR/postproc/reuse-report
script=$REUSE_BUILDDIR/tests/support/profile_script
cd "$work" || exit 1

gcc -g -O0 -fno-builtin -Wl,--build-id=none -o c "$here/programs/report_names.c" || exit 1
gcc -shared -fPIC -o crash.so "$here/programs/crash_dwarf.c" -ldl || exit 1
program=$(realpath c)
libc=$(realpath "$(ldd c | awk '$1 ~ /^libc.so/ { print $3 }')")
python3 "$here/report_names.py" "$program" "$here/programs/report_names.c" "$libc" expected >commands || exit 1
"$script" p.rprof <commands || exit 1

told() { "$report" --format json --objects --lines --top 100 p.rprof; }
told >whole.json || exit 1
cp c kept
strip -g c
told >symbols.json || exit 1
cp kept c
check "debug information is told where it can be read" test "$(grep -c report_names.c whole.json)" -gt 0
check "the two reports differ" test "$(cmp -s whole.json symbols.json; echo $?)" -eq 1

crashing() { # KIND
    run env CRASH="$1" CRASH_FILE="$program" LD_PRELOAD="$work/crash.so" \
        "$report" --format json --objects --lines --top 100 p.rprof
    grep -a '^reuse-report' err >said # the C library may have said something before
}

for kind in open twice recursion; do
    crashing $kind
    check "$kind: the report is made" status_is 0
    check "$kind: it is that of the symbol table" cmp out symbols.json
    check "$kind: one line names the file" test "$(grep -c "$program crashes its reader" said)" -eq 1
done
crashing lines # of each file that has debug information, so the C library's may go too
check "lines: the report is made" status_is 0
check "lines: no source line of the program is told" test "$(grep -c report_names.c out)" -eq 0
check "lines: one line names the file" test "$(grep -c "$program crashes its reader" said)" -eq 1
crashing finish
check "a crash while freeing, after the report: same status" status_is 0
check "a crash while freeing, after the report: whole report" cmp out whole.json
check "a crash while freeing, after the report: not a word" test ! -s err
crashing none
check "no crash: the report is whole" cmp out whole.json

# Programs that make fuzz found to crash Debian's libdwarf; newer ones may read them.
mkdir found
tar -xJf "$REUSE_SRCDIR/tests/fuzz/corpus/crashing-programs.tar.xz" -C found || exit 1
run python3 "$REUSE_SRCDIR/tests/fuzz/programs.py" 0 "$report" p.rprof "$program" found/*
check "programs that crash libdwarf: the reports are made" status_is 0
finish
