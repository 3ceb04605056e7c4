#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs beside others.
# Programs that count, close or use up what they have, or give it up, profiled and not.
# Rests on timing: see tests/run.
. "$REUSE_SRCDIR/tests/integration/transparency.bash"
descriptors=$programs/target_descriptors restrictions=$programs/target_restrictions

target "the program's descriptors" -- "$descriptors" list
target "close in a loop" -- "$descriptors" close-loop
target "closefrom" -- "$descriptors" closefrom
target "close_range" -- "$descriptors" close-range
target "close_range that marks, and exec" --profiles 2 -- "$descriptors" range-cloexec
target "descriptors of the program's choice" -- "$descriptors" duplicate
target "few descriptors, all used" --open-files 64 -- "$descriptors" exhaust
target "hardly any descriptors" --open-files 12 --at-least 0 --messages 1 -- "$descriptors" exhaust
target "a full disk" -- "$descriptors" full-disk
target "a limit on the size of files" --file-size 4096 --at-least 0 --messages 1 -- "$descriptors" file-size
target "no limit on the size of files" -- "$descriptors" file-size

target "a limit of memory that the program sets itself" --at-least 1 -- "$programs/target_memory_limit" space
target "... of data" --at-least 1 -- "$programs/target_memory_limit" data

target "no new privileges" -- "$restrictions" no-new-privileges
target "seccomp: forbidden calls fail" --messages 1 -- "$restrictions" seccomp-errno
target "seccomp: forbidden calls kill" --messages 1 -- "$restrictions" seccomp-kill
target "time stamp counter forbidden" -- "$restrictions" no-counter
target "a static binary" --profiles 0 -- "$programs/target_static"
if [ "$(id -u)" -eq 0 ]; then
    target "root becomes nobody" --messages 1 -- "$restrictions" nobody
else
    skip "root becomes nobody" "needs root"
fi

# A set-user-ID program, started by somebody else: the loader drops what is preloaded by path.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    cp "$restrictions" "$input/setuid"
    chmod 4755 "$input/setuid"
    chmod 755 "$input"
    # setpriv itself is a program that may be profiled.
    target "a set-user-ID binary" --at-least 0 -- \
        setpriv --reuid 65534 --regid 65534 --clear-groups "$input/setuid" who
else
    skip "a set-user-ID binary" "needs root and setpriv"
fi

# Tables that are touched here and there, beside which `cat` has no mapping of 2 MiB that can be written to.
if [ -e /sys/kernel/mm/transparent_hugepage/enabled ]; then
    REUSE_QUIET=1 REUSE_OUTPUT=$work/p.rprof LD_PRELOAD=$library cat /proc/self/smaps >"$work/smaps"
    awk '/^[0-9a-f]+-[0-9a-f]+ / { range = $1; large = 0; ours = $2 == "rw-p" && $5 == 0 }
         /^Size:/ && $2 >= 2048 { large = ours }
         /^VmFlags:/ && large { print range, / nh( |$)/ ? "small" : "any" }' "$work/smaps" >"$work/large"
    check "no huge page for what is touched here and there" \
        eval 'test "$(wc -l <"$work/large")" -ge 2 && ! grep any "$work/large"'
else
    skip "no huge page for what is touched here and there" "the kernel has none"
fi
finish
